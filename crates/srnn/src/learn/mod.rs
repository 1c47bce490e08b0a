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
mod pipeline;
mod retrain;
mod rounds;
mod select;

pub use candidates::{
    Candidate, CandidateKind, CandidatePlan, Comparison, Feature, FoldPlan, HeldOutMeasure,
    HeldOutScore, KeepReason, MAX_READABLE_STATES, NgramFile, NgramFileError, NgramModel,
    NgramReader, Preference, SearchLimits,
};
pub use data::LearnData;
pub use label_check::{Correction, LabelPolicy, LabelVerdict, NotCorrected};

use crate::certify::{ProofSearch, Verdict};
use crate::compile::CompiledNetwork;
use crate::engine::Hardware;
use crate::engine::cpu::Cpu;
use crate::extract::{ExtractConfig, ExtractError, Extraction, RefineConfig};
use crate::model::{Model, ModelFile};
use crate::noise::SuspectedLabel;
use crate::task::Dataset;
use crate::train::{
    CheckpointStore, Control, Evaluation, NoCheckpoints, NoObserver, Observer, Recipe, SeedOutcome,
    Selection, Sizes, Stop, TrainError, recipe_default,
};
use pipeline::Pipeline;
pub(crate) use pipeline::RoundContext;
use rounds::{SEEDS_AT_A_TIME, learn_automaton};
use srnn_automata::{InvalidAlphabet, Moore};

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
    /// A network is trained once per fold.
    CrossValidate(CandidateKind),
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
    /// Receives the events of a training for cross-validation. It has no checkpoints, and several may
    /// run at the same time.
    fn fold_observer(&self, _kind: CandidateKind) -> Box<dyn Observer + '_> {
        Box::new(NoObserver)
    }
    /// Called while networks are compared for selection: so many of them are done.
    fn selecting(&self, _done: usize, _all: usize) {}
    /// Called before each stage; returns whether to continue.
    fn stage(&self, _stage: Stage) -> Control {
        Control::Continue
    }
}

/// Callbacks that do nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCallbacks;

impl LearnCallbacks for NoCallbacks {}

/// The model that [`learn`] keeps.
#[derive(Clone, Debug, PartialEq)]
pub enum KeptModel {
    /// The network of the selected seed.
    Network,
    /// The network that the automaton of state merging was written into; nothing was trained.
    Compiled {
        /// The network and the automaton.
        network: Box<CompiledNetwork>,
        /// Labels that the automaton contradicts, if they are few enough to be mistakes.
        suspects: Vec<SuspectedLabel>,
    },
    /// N-grams; there is no network.
    Ngrams(NgramModel),
}

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
    /// Which model is kept.
    pub model: KeptModel,
}

impl Learned<'_> {
    /// The selected seed.
    pub fn kept(&self) -> &SeedOutcome<f32> {
        &self.outcomes[self.selection.index]
    }

    /// The automaton of the kept network: the one it was written from or is proved equal to, or else
    /// the minimal automaton of its closed cover.
    pub fn automaton(&self) -> Option<&Moore<u32>> {
        if let KeptModel::Compiled { network, .. } = &self.model {
            return Some(&network.automaton);
        }
        if let Some(proof) = self.verdict.as_ref().and_then(Verdict::proof) {
            return Some(&proof.automaton);
        }
        self.extraction.as_ref().ok()?.cover.kept.as_ref().map(|kept| &kept.minimal)
    }

    /// The labels that are suspected to be wrong; empty if labels are trusted.
    pub fn suspects(&self) -> &[SuspectedLabel] {
        match (&self.model, &self.label_verdict) {
            (KeptModel::Compiled { suspects, .. }, _) => suspects,
            (_, LabelVerdict::Corrected(correction)) => &correction.suspects,
            _ => &[],
        }
    }

    /// The kept network with its vocabulary; the selected one if no network is kept.
    pub fn model_file(&self) -> ModelFile {
        self.data.model_file(match &self.model {
            KeptModel::Compiled { network, .. } => network.file.model.clone(),
            KeptModel::Network | KeptModel::Ngrams(_) => self.kept().model.clone(),
        })
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
    #[error("no seed has a result; {0}")]
    NoResult(Box<NoResult>),
}

/// A training of which no seed has a result.
#[derive(Clone, Debug, PartialEq)]
pub struct NoResult {
    /// Its round.
    pub round: Round,
    /// Its seeds; there is at least one.
    pub outcomes: Vec<SeedOutcome<f32>>,
}

impl NoResult {
    /// Why the training of the first seed ended.
    pub fn stop(&self) -> &Stop {
        &self.outcomes[0].run.stop
    }
}

impl std::fmt::Display for NoResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {}: {}", self.outcomes[0].seed, self.stop())
    }
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
            let limited = plan.limited(request);
            candidates::compare(&Pipeline::new(&limited, callbacks)?, plan)
        }
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

#[cfg(test)]
mod tests;
