//! The learning pipeline in one call: train several seeds, select the best, extract its automaton,
//! prove that the two agree.
//!
//! If no network fits all labels, an automaton is selected by description length (MDL). If it
//! contradicts only a few labels, these are corrected and networks are retrained: see
//! [`LabelVerdict`].
//!
//! Nothing here prints or reads a clock. [`LearnCallbacks`] provide checkpoints, progress and the
//! time of each stage. `Learned::save` is in [`report`](crate::report).

mod candidates;
mod data;
mod label_check;
mod retrain;
mod select;

pub use candidates::{
    Candidate, CandidateKind, CandidatePlan, Comparison, Feature, HeldOutMeasure, HeldOutScore,
    KeepReason, MAX_READABLE_STATES, NgramFile, NgramFileError, NgramModel, Preference,
};
pub use data::LearnData;
pub use label_check::{Correction, LabelPolicy, LabelVerdict, NotCorrected};

use crate::certify::{ProofSearch, Verdict, check_proof};
use crate::engine::cpu::Cpu;
use crate::engine::{DeviceError, Hardware, Mode, Optimiser, Trainer};
use crate::extract::{
    ExtractConfig, ExtractError, ExtractRequest, Extraction, RefineConfig, extract,
};
use crate::model::{Model, ModelFile};
use crate::noise::suspected_labels;
use crate::task::{Dataset, Split};
use crate::train::{
    CheckpointStore, Control, Evaluation, NoCheckpoints, NoObserver, Observer, Recipe, SeedOutcome,
    SeedPlan, Selection, SelectionReason, Sizes, Stop, TrainContext, TrainError, evaluate,
    recipe_default, select, train_seeds,
};
use retrain::{Retrained, retrain};
use select::{assess_quality, search_proof};
use srnn_automata::{Alphabet, InvalidAlphabet, Moore, Symbol, Word};

/// The data to learn from, and all settings.
#[derive(Clone, Debug)]
pub struct LearnRequest<'a> {
    /// The data. Transitions are counted over training and validation words.
    pub data: &'a LearnData,
    /// Architecture, initialisation and training. Default: an SR-GRU of 100 units and 50 centroids.
    pub recipe: Recipe,
    /// One network is trained per seed; must not be empty. Default: seed 1.
    pub seeds: Vec<u64>,
    /// The training device, and the number of threads. Automata are extracted on the CPU. Default:
    /// one CPU thread.
    pub hardware: Hardware,
    /// Settings of the extraction. Default: [`default_extract_config`].
    pub extraction: ExtractConfig,
    /// Whether labels may be corrected. Default: they are checked.
    pub label_policy: LabelPolicy,
    /// Limits of the proof search.
    pub proof: ProofSearch,
    /// Other kinds of models to compare with the recipe's. Default: none.
    pub candidates: Option<CandidatePlan>,
}

impl<'a> LearnRequest<'a> {
    /// A request with the default recipe for the data, one seed and one thread.
    pub fn new(data: &'a LearnData) -> LearnRequest<'a> {
        let Dataset { alphabet, classes, .. } = &data.split.train;
        LearnRequest {
            data,
            recipe: recipe_default(&Sizes::of(alphabet.len(), classes.len())),
            seeds: vec![1],
            hardware: Hardware::cpu(1),
            extraction: default_extract_config(alphabet.len()),
            label_policy: LabelPolicy::default(),
            proof: ProofSearch::default(),
            candidates: None,
        }
    }

    fn engine(&self, model: &Model<f32>) -> Cpu {
        Cpu::new(model, self.hardware.threads)
    }
}

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Every seed is trained.
    Train,
    /// Wrong labels are searched for, because no network fits all of them.
    CheckLabels,
    /// Seeds are retrained with corrected labels.
    Retrain,
    /// Automata and proofs of the most accurate networks are compared, and one network is selected.
    Select,
    /// Automata are extracted from the selected network.
    Extract,
    /// A proof is searched for that the network equals an automaton on every word.
    Certify,
    /// A candidate besides the recipe's network is fitted.
    Candidate(CandidateKind),
}

/// The labels and sequences that networks are trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Round {
    /// The training set as given.
    Given,
    /// The training set with corrected labels.
    Corrected,
    /// Training and validation set together, with corrected labels.
    CorrectedAll,
    /// A candidate besides the recipe's network, with the labels as given.
    Candidate(CandidateKind),
}

/// Hooks into the pipeline. The defaults do nothing.
pub trait LearnCallbacks: Sync {
    /// The store of a seed's checkpoints. Training continues from the newest one in it.
    fn checkpoints(&self, _round: Round, _seed: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        Box::new(NoCheckpoints)
    }
    /// Receives the events of a seed's training.
    fn observer(&self, _round: Round, _seed: u64) -> Box<dyn Observer + '_> {
        Box::new(NoObserver)
    }
    /// Called before each stage; returns whether to continue.
    fn stage(&self, _stage: Stage) -> Control {
        Control::Continue
    }
}

/// Callbacks that do nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCallbacks;

impl LearnCallbacks for NoCallbacks {}

/// The result of [`learn`].
#[derive(Clone, Debug, PartialEq)]
pub struct Learned<'a> {
    /// The data of the request.
    pub data: &'a LearnData,
    /// The training device, with its instruction set or its name.
    pub device: String,
    /// Whether labels were trusted or corrected.
    pub label_verdict: LabelVerdict,
    /// All seeds of the round that was kept, in the order of training.
    pub outcomes: Vec<SeedOutcome<f32>>,
    /// Their round.
    pub round: Round,
    /// The seeds of candidates that were not kept.
    pub other_rounds: Vec<(Round, Vec<SeedOutcome<f32>>)>,
    /// The selected seed, and the criterion.
    pub selection: Selection,
    /// The selected network on the validation set, with the labels as given.
    pub valid: Evaluation,
    /// The selected network on the test set, if there is one.
    pub test: Option<Evaluation>,
    /// The automata of the selected network, or why there is none.
    pub extraction: Result<Extraction, ExtractError>,
    /// The result of the proof search; `None` if the network cannot have an automaton.
    pub verdict: Option<Verdict>,
    /// The candidates, if several kinds of models were compared.
    pub comparison: Option<Comparison>,
    /// The kept model, if it is the baseline and not a network.
    pub ngrams: Option<NgramModel>,
}

impl Learned<'_> {
    /// The selected seed.
    pub fn kept(&self) -> &SeedOutcome<f32> {
        &self.outcomes[self.selection.index]
    }

    /// The automaton of the selected network: the one it is proved equal to, or else the minimal
    /// automaton of its closed cover.
    pub fn automaton(&self) -> Option<&Moore<u32>> {
        if let Some(proof) = self.verdict.as_ref().and_then(Verdict::proof) {
            return Some(&proof.automaton);
        }
        self.extraction.as_ref().ok()?.cover.kept.as_ref().map(|kept| &kept.minimal)
    }

    /// The selected network with its vocabulary.
    pub fn model_file(&self) -> ModelFile {
        self.data.model_file(self.kept().model.clone())
    }

    /// Whether the network is proved equal to its automaton on every word.
    pub fn is_proved(&self) -> bool {
        self.verdict.as_ref().and_then(Verdict::proof).is_some()
    }
}

/// Why [`learn`] has no result.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The tokens of the data are not a valid alphabet.
    #[error("the tokens are not a valid alphabet: {0}")]
    Alphabet(InvalidAlphabet),
    /// Training could not start or could not continue.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The callbacks asked to stop. Training can be resumed from their checkpoints.
    #[error("interrupted")]
    Interrupted,
    /// The independent checker rejects the proof that was found.
    #[error("the checker rejects the proof that was found; this is a bug: {0}")]
    Refused(srnn_check::Refused),
    /// No seed finished training.
    #[error("no seed has a result; seed {seed}: {stop}")]
    NoResult {
        /// The first seed.
        seed: u64,
        /// Why its training ended.
        stop: Stop,
    },
}

/// Trains every seed, selects the best, extracts its automata and searches for a proof.
///
/// # Panics
/// If the request has no seeds.
pub fn learn<'a, C: LearnCallbacks>(
    request: &LearnRequest<'a>,
    callbacks: &C,
) -> Result<Learned<'a>, LearnError> {
    assert!(!request.seeds.is_empty(), "a request needs at least one seed");
    let pipeline = Pipeline::new(request, callbacks)?;
    let Some(plan) = &request.candidates else { return learn_automaton(&pipeline) };
    // The cheapest candidate comes first.
    let split = &request.data.split;
    pipeline.begin(Stage::Candidate(CandidateKind::Ngrams))?;
    let ngrams = NgramModel::fit(&split.train, &split.valid);
    let learned = learn_automaton(&pipeline)?;
    candidates::compare(&pipeline, plan, ngrams, learned)
}

/// Learns with the recipe of the request.
fn learn_automaton<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
) -> Result<Learned<'a>, LearnError> {
    let request = pipeline.request;
    pipeline.begin(Stage::Train)?;
    let (recipe, split) = (&request.recipe, &request.data.split);
    let outcomes = pipeline.train(recipe, &request.seeds, Round::Given, split)?;
    if request.label_policy == LabelPolicy::Trust || label_check::any_fits(&outcomes) {
        return pipeline.finish(outcomes, LabelVerdict::Trusted);
    }
    pipeline.begin(Stage::CheckLabels)?;
    let selected = match label_check::check_labels(pipeline, &outcomes) {
        Err(why) => return pipeline.finish(outcomes, LabelVerdict::NotCorrected(why)),
        Ok(selected) => selected,
    };
    pipeline.begin(Stage::Retrain)?;
    let Retrained { mut rounds, reproduced } = retrain(pipeline, &selected.simplified.automaton)?;
    rounds.insert(0, (Round::Given, outcomes));
    let (round, last) = rounds.pop().expect("there is a retraining round");
    let suspects = suspected_labels(&selected.simplified.automaton, &request.data.split);
    let correction = Correction { selected, suspects, earlier_rounds: rounds, round, reproduced };
    pipeline.finish(last, LabelVerdict::Corrected(Box::new(correction)))
}

/// A request with the values that all stages share.
struct Pipeline<'r, 'a, C> {
    request: &'r LearnRequest<'a>,
    callbacks: &'r C,
    alphabet: Alphabet,
    /// Training and validation words.
    words: Vec<Word>,
}

impl<'r, 'a, C: LearnCallbacks> Pipeline<'r, 'a, C> {
    fn new(request: &'r LearnRequest<'a>, callbacks: &'r C) -> Result<Self, LearnError> {
        let names = request.data.split.train.alphabet.clone();
        let alphabet = Alphabet::new(names).map_err(LearnError::Alphabet)?;
        Ok(Pipeline { request, callbacks, alphabet, words: words(&request.data.split) })
    }

    fn begin(&self, stage: Stage) -> Result<(), LearnError> {
        match self.callbacks.stage(stage) {
            Control::Continue => Ok(()),
            Control::Interrupt | Control::TimeUp => Err(LearnError::Interrupted),
        }
    }

    fn train(
        &self,
        recipe: &Recipe,
        seeds: &[u64],
        round: Round,
        split: &Split,
    ) -> Result<Vec<SeedOutcome<f32>>, LearnError> {
        let hardware = &self.request.hardware;
        let workers = worker_count(seeds.len(), hardware.threads);
        let hardware = hardware.shared_by(workers);
        let context = RoundContext { callbacks: self.callbacks, round, hardware };
        let outcomes = train_seeds(&SeedPlan { recipe, split, seeds, workers }, &context);
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        match outcomes.iter().any(|outcome| outcome.run.stop == Stop::Interrupted) {
            true => Err(LearnError::Interrupted),
            false => Ok(outcomes),
        }
    }

    /// Has `srnn-check` verify a proof, before anything is called certified.
    fn check(&self, model: &Model<f32>, verdict: Option<&Verdict>) -> Result<(), LearnError> {
        let Some(proof) = verdict.and_then(Verdict::proof) else { return Ok(()) };
        let file = self.request.data.model_file(model.clone());
        check_proof(&file, proof).map(drop).map_err(LearnError::Refused)
    }

    /// Selects the best network of the last round, extracts its automata and searches for a proof.
    fn finish(
        &self,
        mut outcomes: Vec<SeedOutcome<f32>>,
        label_verdict: LabelVerdict,
    ) -> Result<Learned<'a>, LearnError> {
        let LearnRequest { data, hardware, extraction, .. } = self.request;
        self.begin(Stage::Select)?;
        let mut proofs = assess_quality(self, &mut outcomes)?;
        let selection = match &label_verdict {
            LabelVerdict::Corrected(correction) if correction.reproduced => Some(Selection {
                index: outcomes.len() - 1,
                reason: SelectionReason::ExplainsLabels,
            }),
            _ => select(&outcomes),
        };
        let selection = selection.ok_or_else(|| no_result(&outcomes))?;
        let model = &outcomes[selection.index].model;
        self.begin(Stage::Extract)?;
        let mut engine = self.request.engine(model);
        let mut evaluated = |set: &Dataset| {
            let Ok(evaluation) = evaluate(&mut engine, set, Mode::default());
            evaluation
        };
        let valid = evaluated(&data.split.valid);
        let test = data.split.test.as_ref().filter(|test| !test.sequences.is_empty());
        let test = test.map(&mut evaluated);
        let truth = data.truth.as_ref();
        let extract_request = ExtractRequest { alphabet: &self.alphabet, data: &self.words, truth };
        let extraction = extract(&mut engine, &extract_request, extraction);
        self.begin(Stage::Certify)?;
        let verdict = match proofs.remove(&selection.index) {
            Some(proved) => Some(proved),
            None => {
                let found = search_proof(&model.to_f64(), &self.alphabet, &self.request.proof);
                self.check(model, found.as_ref())?;
                found
            }
        };
        let device = hardware.device.to_string();
        let round = match &label_verdict {
            LabelVerdict::Corrected(correction) => correction.round,
            LabelVerdict::Trusted | LabelVerdict::NotCorrected(_) => Round::Given,
        };
        Ok(Learned {
            data,
            device,
            label_verdict,
            outcomes,
            round,
            other_rounds: vec![],
            selection,
            valid,
            test,
            extraction,
            verdict,
            comparison: None,
            ngrams: None,
        })
    }
}

/// The default settings of extraction for an alphabet size. A larger alphabet has a lower cap on
/// states, because every state has a transition for every symbol.
pub fn default_extract_config(symbols: usize) -> ExtractConfig {
    const MAX_TRANSITIONS: usize = 200_000;
    let cap = (MAX_TRANSITIONS / symbols.max(1)).clamp(64, 4096);
    let config = ExtractConfig::default();
    ExtractConfig { hard_cap: cap, refine: RefineConfig { cap, ..config.refine }, ..config }
}

/// How many seeds are trained at the same time with this number of threads.
pub fn worker_count(seeds: usize, threads: usize) -> usize {
    threads.clamp(1, seeds.max(1))
}

/// Provides trainers, checkpoints and observers for one round of training.
pub(crate) struct RoundContext<'r, C> {
    pub callbacks: &'r C,
    pub round: Round,
    /// The share of one trainer.
    pub hardware: Hardware,
}

impl<C: LearnCallbacks> TrainContext<f32> for RoundContext<'_, C> {
    fn trainer(
        &self,
        model: &Model<f32>,
        optimiser: Optimiser,
    ) -> Result<Box<dyn Trainer<f32> + Send>, DeviceError> {
        self.hardware.trainer(model, optimiser)
    }
    fn checkpoints(&self, seed: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        self.callbacks.checkpoints(self.round, seed)
    }
    fn observer(&self, seed: u64) -> Box<dyn Observer + '_> {
        self.callbacks.observer(self.round, seed)
    }
}

/// Training and validation words.
fn words(split: &Split) -> Vec<Word> {
    let of = |set: &Dataset| -> Vec<Word> {
        set.sequences.iter().map(|s| s.tokens.iter().map(|&t| Symbol(t)).collect()).collect()
    };
    [of(&split.train), of(&split.valid)].concat()
}

fn no_result(outcomes: &[SeedOutcome<f32>]) -> LearnError {
    match outcomes.first() {
        Some(first) => LearnError::NoResult { seed: first.seed, stop: first.run.stop.clone() },
        None => unreachable!("a request has seeds"),
    }
}

#[cfg(test)]
mod tests;
