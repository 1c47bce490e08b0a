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
mod rounds;
mod select;

pub use candidates::{
    Candidate, CandidateKind, CandidatePlan, Comparison, Feature, HeldOutMeasure, HeldOutScore,
    KeepReason, MAX_READABLE_STATES, NgramFile, NgramFileError, NgramModel, Preference,
};
pub use data::LearnData;
pub use label_check::{Correction, LabelPolicy, LabelVerdict, NotCorrected};

use crate::certify::{ProofSearch, Verdict};
use crate::engine::cpu::Cpu;
use crate::engine::{DeviceError, Hardware, Mode, Optimiser, Trainer};
use crate::extract::{
    ExtractConfig, ExtractError, ExtractRequest, Extraction, RefineConfig, extract,
};
use crate::model::{Model, ModelFile};
use crate::task::{Dataset, Split};
use crate::train::{
    CheckpointStore, Control, Evaluation, NoCheckpoints, NoObserver, Observer, Recipe, SeedOutcome,
    SeedPlan, Selection, SelectionReason, Sizes, Stop, TrainContext, TrainError, evaluate,
    recipe_default, select, train_seeds,
};
use rounds::learn_automaton;
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
    /// Updates of a short training of the first two seeds, which is tried before the full one; 0 for
    /// none. If it yields a proved network that fits all labels, the full training is left out.
    /// Default: 1,000.
    pub short_updates: u64,
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
            short_updates: SHORT_UPDATES,
            candidates: None,
        }
    }

    fn engine(&self, model: &Model<f32>) -> Cpu {
        Cpu::new(model, self.hardware.threads)
    }
}

/// Default of [`LearnRequest::short_updates`]: enough for five of the seven Tomita grammars.
pub const SHORT_UPDATES: u64 = 1_000;

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
    /// The training set as given, for a few updates.
    Short,
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
    /// Seeds of the request that were not trained, because an earlier one fits all labels and is
    /// proved.
    pub untrained: Vec<u64>,
    /// The networks of rounds that were not kept: of a short training, and of other candidates.
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
    match &request.candidates {
        None => learn_automaton(&Pipeline::new(request, callbacks)?),
        Some(plan) => {
            let limited = plan.limit_states(request);
            candidates::compare(&Pipeline::new(&limited, callbacks)?, plan)
        }
    }
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

    /// Selects the best network of the last round, extracts its automata and searches for a proof.
    fn finish(
        &self,
        round: Round,
        mut outcomes: Vec<SeedOutcome<f32>>,
        label_verdict: LabelVerdict,
    ) -> Result<Learned<'a>, LearnError> {
        let LearnRequest { data, hardware, extraction, .. } = self.request;
        self.begin(Stage::Select)?;
        let mut proofs = assess_quality(self, &mut outcomes);
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
            None => search_proof(self, model, &self.request.proof),
        };
        let device = hardware.device.to_string();
        Ok(Learned {
            data,
            device,
            label_verdict,
            outcomes,
            round,
            untrained: vec![],
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
struct RoundContext<'r, C> {
    callbacks: &'r C,
    round: Round,
    /// The share of one trainer.
    hardware: Hardware,
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
