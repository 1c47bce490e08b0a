//! The whole job in one call: train several seeds, keep the best, extract its automaton, prove that
//! the two agree.
//!
//! If no network is right on all labels and an automaton explains that by a few wrong ones, networks
//! are trained again with the labels of that automaton: see [`Labels`].
//!
//! Nothing here prints or reads a clock. [`LearnCallbacks`] provide checkpoints, progress and the
//! time of each stage. `Learned::save` is in [`report`](crate::report).

mod data;
mod doubt;
mod retrain;
mod select;

pub use data::LearnData;
pub use doubt::{Correction, Labels, Trust, Unexplained};

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
use select::{judge, prove};
use srnn_automata::{Alphabet, InvalidAlphabet, Moore, Symbol, Word};

/// What is to be learned, and how.
#[derive(Clone, Debug)]
pub struct LearnRequest<'a> {
    /// The data. Transitions are counted over training and validation words.
    pub data: &'a LearnData,
    /// Architecture, initialisation, training. Default: an SR-GRU of 100 units and 50 centroids.
    pub recipe: Recipe,
    /// One network each. Default: 1.
    pub seeds: Vec<u64>,
    /// The device for training, and threads. Automata are extracted on the CPU. Default: one thread
    /// of the CPU.
    pub hardware: Hardware,
    /// How automata are extracted.
    pub extraction: ExtractConfig,
    /// Whether labels may be wrong.
    pub trust: Trust,
    /// Limits of the search for a proof.
    pub proof: ProofSearch,
}

impl<'a> LearnRequest<'a> {
    /// The default recipe for the data: one seed, one thread.
    pub fn new(data: &'a LearnData) -> LearnRequest<'a> {
        let Dataset { alphabet, classes, .. } = &data.split.train;
        LearnRequest {
            data,
            recipe: recipe_default(&Sizes::of(alphabet.len(), classes.len())),
            seeds: vec![1],
            hardware: Hardware::cpu(1),
            extraction: extraction_for(alphabet.len()),
            trust: Trust::default(),
            proof: ProofSearch::default(),
        }
    }

    fn engine(&self, model: &Model<f32>) -> Cpu {
        Cpu::new(model, self.hardware.threads)
    }
}

/// A stage of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Every seed is trained.
    Train,
    /// No network is right on all labels: an automaton is looked for that says why.
    Doubt,
    /// Every seed is trained again, with the labels believed.
    Retrain,
    /// The best are tried for an automaton, and one is kept.
    Select,
    /// Automata are read off the one kept.
    Extract,
    /// A proof is looked for that it equals an automaton on every word.
    Certify,
}

/// Which labels and rows networks are trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Round {
    /// The training set.
    Given,
    /// The training set, with the labels an automaton believes.
    Believed,
    /// Training and validation set, with the labels it believes.
    Whole,
}

/// Hooks into a job. The defaults do nothing.
pub trait LearnCallbacks: Sync {
    /// Where a seed's checkpoints go. Training continues from the newest one there.
    fn checkpoints(&self, _round: Round, _seed: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        Box::new(NoCheckpoints)
    }
    /// Receives the events of a seed's training.
    fn observer(&self, _round: Round, _seed: u64) -> Box<dyn Observer + '_> {
        Box::new(NoObserver)
    }
    /// Called when a stage begins; returns whether to continue.
    fn stage(&self, _stage: Stage) -> Control {
        Control::Continue
    }
}

/// No callbacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCallbacks;

impl LearnCallbacks for NoCallbacks {}

/// The result of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned<'a> {
    /// What was learned from.
    pub data: &'a LearnData,
    /// What trained, with its instruction set or its name.
    pub device: String,
    /// Whether labels were trusted or corrected.
    pub labels: Labels,
    /// Every seed of the last round, in order.
    pub outcomes: Vec<SeedOutcome<f32>>,
    /// Which of them is kept, and why.
    pub selection: Selection,
    /// The kept network on the validation set, by the labels given.
    pub valid: Evaluation,
    /// The kept network on the test set, if there is one.
    pub test: Option<Evaluation>,
    /// The automata of the kept network, or why there is none.
    pub extraction: Result<Extraction, ExtractError>,
    /// What was proved; `None` if the network cannot have an automaton.
    pub verdict: Option<Verdict>,
}

impl Learned<'_> {
    /// The seed that is kept.
    pub fn kept(&self) -> &SeedOutcome<f32> {
        &self.outcomes[self.selection.index]
    }

    /// The automaton of the deployed network: the one it is proved equal to, or else the minimal
    /// one of its closed cover.
    pub fn automaton(&self) -> Option<&Moore<u32>> {
        if let Some(proof) = self.verdict.as_ref().and_then(Verdict::proof) {
            return Some(&proof.automaton);
        }
        self.extraction.as_ref().ok()?.cover.kept.as_ref().map(|kept| &kept.minimal)
    }

    /// The kept network with its vocabulary.
    pub fn model_file(&self) -> ModelFile {
        self.data.model_file(self.kept().model.clone())
    }

    /// Whether the network is proved equal to its automaton on every word.
    pub fn is_proved(&self) -> bool {
        self.verdict.as_ref().and_then(Verdict::proof).is_some()
    }
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// Names of symbols that make no alphabet.
    #[error("the tokens make no alphabet: {0}")]
    Alphabet(InvalidAlphabet),
    /// A run that could not be, or could not go on.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The watch asked to stop; what it keeps can be gone on from.
    #[error("interrupted")]
    Interrupted,
    /// The independent checker refuses the proof that was found.
    #[error("the checker refuses the proof that was found, which is a bug: {0}")]
    Refused(srnn_check::Refused),
    /// No seed has a result.
    #[error("no seed has a result; seed {seed}: {stop}")]
    NoResult {
        /// The first of them.
        seed: u64,
        /// Why it ended.
        stop: Stop,
    },
}

/// Trains every seed, keeps the best, extracts its automata and looks for a proof.
///
/// # Panics
/// If the request has no seeds.
pub fn learn<'a, C: LearnCallbacks>(
    request: &LearnRequest<'a>,
    callbacks: &C,
) -> Result<Learned<'a>, LearnError> {
    assert!(!request.seeds.is_empty(), "a request without seeds");
    let job = Job::new(request, callbacks)?;
    job.begin(Stage::Train)?;
    let outcomes = job.train(&request.seeds, Round::Given, &request.data.split)?;
    if request.trust == Trust::Always || doubt::fits(&outcomes) {
        return job.finish(outcomes, Labels::Trusted);
    }
    job.begin(Stage::Doubt)?;
    let belief = match doubt::doubt(&job, &outcomes) {
        Err(why) => return job.finish(outcomes, Labels::Unexplained(why)),
        Ok(belief) => belief,
    };
    job.begin(Stage::Retrain)?;
    let Retrained { mut rounds, reached } = retrain(&job, &belief.simplified.automaton)?;
    rounds.insert(0, (Round::Given, outcomes));
    let (round, last) = rounds.pop().expect("networks were trained again");
    let suspects = suspected_labels(&belief.simplified.automaton, &request.data.split);
    let correction = Correction { belief, suspects, before: rounds, round, reached };
    job.finish(last, Labels::Corrected(Box::new(correction)))
}

/// A request with what all stages need of it.
struct Job<'r, 'a, C> {
    request: &'r LearnRequest<'a>,
    callbacks: &'r C,
    alphabet: Alphabet,
    /// Training and validation words.
    words: Vec<Word>,
}

impl<'r, 'a, C: LearnCallbacks> Job<'r, 'a, C> {
    fn new(request: &'r LearnRequest<'a>, callbacks: &'r C) -> Result<Self, LearnError> {
        let names = request.data.split.train.alphabet.clone();
        let alphabet = Alphabet::new(names).map_err(LearnError::Alphabet)?;
        Ok(Job { request, callbacks, alphabet, words: words(&request.data.split) })
    }

    fn begin(&self, stage: Stage) -> Result<(), LearnError> {
        match self.callbacks.stage(stage) {
            Control::Continue => Ok(()),
            Control::Interrupt | Control::TimeUp => Err(LearnError::Interrupted),
        }
    }

    fn train(
        &self,
        seeds: &[u64],
        round: Round,
        split: &Split,
    ) -> Result<Vec<SeedOutcome<f32>>, LearnError> {
        let LearnRequest { recipe, hardware, .. } = self.request;
        let workers = workers(seeds.len(), hardware.threads);
        let context =
            Context { callbacks: self.callbacks, round, hardware: hardware.shared_by(workers) };
        let outcomes = train_seeds(&SeedPlan { recipe, split, seeds, workers }, &context);
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        match outcomes.iter().any(|outcome| outcome.run.stop == Stop::Interrupted) {
            true => Err(LearnError::Interrupted),
            false => Ok(outcomes),
        }
    }

    /// Keeps the best of the last round, extracts its automata and looks for a proof.
    fn finish(
        &self,
        mut outcomes: Vec<SeedOutcome<f32>>,
        labels: Labels,
    ) -> Result<Learned<'a>, LearnError> {
        let LearnRequest { data, hardware, extraction, .. } = self.request;
        self.begin(Stage::Select)?;
        let mut proofs = judge(self, &mut outcomes);
        let selection = match &labels {
            Labels::Corrected(correction) if correction.reached => {
                Some(Selection { index: outcomes.len() - 1, reason: SelectionReason::Believed })
            }
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
        let question = ExtractRequest { alphabet: &self.alphabet, data: &self.words, truth };
        let extraction = extract(&mut engine, &question, extraction);
        self.begin(Stage::Certify)?;
        let verdict = match proofs.remove(&selection.index) {
            Some(proved) => Some(proved),
            None => prove(&model.to_f64(), &self.alphabet, &self.request.proof),
        };
        if let Some(proof) = verdict.as_ref().and_then(Verdict::proof) {
            check_proof(&data.model_file(model.clone()), proof).map_err(LearnError::Refused)?;
        }
        let device = hardware.device.to_string();
        Ok(Learned { data, device, labels, outcomes, selection, valid, test, extraction, verdict })
    }
}

/// How automata are extracted unless something else is said. With a large alphabet the cap on
/// states is lower, because every state is followed under every symbol.
pub fn extraction_for(symbols: usize) -> ExtractConfig {
    const MOST_STEPS: usize = 200_000;
    let cap = (MOST_STEPS / symbols.max(1)).clamp(64, 4096);
    let usual = ExtractConfig::default();
    ExtractConfig { hard_cap: cap, refine: RefineConfig { cap, ..usual.refine }, ..usual }
}

/// How many of the seeds are trained at the same time with so many threads.
pub fn workers(seeds: usize, threads: usize) -> usize {
    threads.clamp(1, seeds.max(1))
}

/// What `train_seeds` asks for.
struct Context<'r, C> {
    callbacks: &'r C,
    round: Round,
    /// Of each trainer.
    hardware: Hardware,
}

impl<C: LearnCallbacks> TrainContext<f32> for Context<'_, C> {
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
