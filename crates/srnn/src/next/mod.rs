//! Sequences without labels: models that predict the next token, and how surprising each step of a
//! sequence is to them.
//!
//! [`learn_next`] fits an n-gram model, trains networks, makes an automaton with probabilities of one
//! of them, compares all on validation sequences, and keeps the most readable one within one standard
//! error of the best. [`AnomalyThresholds`] say from which surprise on a sequence is anomalous.

mod automaton;
mod choose;
mod file;
mod model;
mod ngrams;
mod plan;
mod report;
mod surprise;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod thresholds;

pub use automaton::{TokenAutomaton, TokenState};
pub use file::{NextFile, NextFileError};
pub use model::{NextModel, NextVocabulary};
pub use ngrams::{TokenContext, TokenNgrams};
pub use plan::NextPlan;
pub use report::NextReport;
pub use surprise::{NextScore, SequenceSurprise, StepSurprise};
pub use thresholds::{AnomalyFlags, AnomalyThresholds};

use crate::engine::Hardware;
use crate::learn::{
    CandidateKind, KeepReason, LearnCallbacks, LearnError, MAX_READABLE_STATES, Preference, Round,
    RoundContext, Stage, worker_count,
};
use crate::task::files::LoadedTokens;
use crate::train::{Control, Recipe, SeedOutcome, SeedPlan, Stop, train_seeds};
use serde::{Deserialize, Serialize};

/// A kind of model that predicts the next token. The order is that of readability, the most readable
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextKind {
    /// The frequencies of the tokens. They are shown, and kept only if nothing is better.
    Frequencies,
    /// An automaton with probabilities, of the SR-GRU's states.
    Automaton,
    /// Counts of what followed the last tokens.
    Ngrams,
    /// The SR-GRU.
    SrGru,
    /// An SR-LSTM with peepholes.
    SrLstmP,
    /// A plain LSTM.
    Lstm,
}

impl NextKind {
    /// The kinds that are networks, in the order of their training.
    pub const NETWORKS: [NextKind; 3] = [NextKind::SrGru, NextKind::SrLstmP, NextKind::Lstm];

    /// The name in files.
    pub fn key(self) -> &'static str {
        match self {
            NextKind::Frequencies => "frequencies",
            NextKind::Automaton => "automaton",
            NextKind::Ngrams => "ngrams",
            NextKind::SrGru => "sr-gru",
            NextKind::SrLstmP => "sr-lstm-p",
            NextKind::Lstm => "lstm",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            NextKind::Frequencies => "token frequencies",
            NextKind::Automaton => "automaton (SR-GRU)",
            NextKind::Ngrams => "n-grams",
            NextKind::SrGru => "SR-GRU",
            NextKind::SrLstmP => "SR-LSTM-P",
            NextKind::Lstm => "plain LSTM",
        }
    }

    /// The stage and the round of a network or of the n-gram model.
    fn stage_kind(self) -> CandidateKind {
        match self {
            NextKind::SrGru | NextKind::Automaton => CandidateKind::SrGru,
            NextKind::SrLstmP => CandidateKind::SrLstmP,
            NextKind::Lstm => CandidateKind::Lstm,
            NextKind::Frequencies | NextKind::Ngrams => CandidateKind::Ngrams,
        }
    }
}

/// The data to learn from, and all settings.
#[derive(Clone, Debug)]
pub struct NextRequest<'a> {
    /// The sequences.
    pub data: &'a LoadedTokens,
    /// What is trained and how one model is chosen.
    pub plan: NextPlan,
    /// The training device, and the number of threads.
    pub hardware: Hardware,
}

/// A candidate with its scores.
#[derive(Clone, Debug, PartialEq)]
pub struct NextCandidate {
    /// The kind of model.
    pub kind: NextKind,
    /// The model, if there is one.
    pub model: Option<NextModel>,
    /// The score on the validation set.
    pub valid: Option<NextScore>,
    /// The score on the test set, if there is one. It is never used to choose.
    pub test: Option<NextScore>,
    /// The thresholds, from the validation set.
    pub thresholds: Option<AnomalyThresholds>,
    /// The seed and its updates, if it is a network.
    pub seed: Option<(u64, u64)>,
    /// Why there is no model, or why it cannot be kept.
    pub note: Option<String>,
}

/// The result of [`learn_next`].
#[derive(Clone, Debug, PartialEq)]
pub struct NextLearned<'a> {
    /// The data of the request.
    pub data: &'a LoadedTokens,
    /// The tokens of all models.
    pub vocabulary: NextVocabulary,
    /// All candidates, the most readable first.
    pub candidates: Vec<NextCandidate>,
    /// The index of the kept candidate.
    pub kept: usize,
    /// Why it is kept.
    pub reason: KeepReason,
}

impl NextLearned<'_> {
    /// The kept candidate.
    pub fn kept(&self) -> &NextCandidate {
        &self.candidates[self.kept]
    }

    /// The candidate with the least bits on the validation set, the most readable of equal ones.
    pub fn best(&self) -> &NextCandidate {
        &self.candidates[choose::best(&self.candidates).expect("n-grams always have a score")]
    }

    /// The candidate of a kind.
    pub fn of(&self, kind: NextKind) -> Option<&NextCandidate> {
        self.candidates.iter().find(|candidate| candidate.kind == kind)
    }

    /// The automaton, if it has more than one state and is small enough to be read.
    pub fn readable_automaton(&self) -> Option<&TokenAutomaton> {
        let candidate = self.of(NextKind::Automaton)?;
        match &candidate.model {
            Some(NextModel::Automaton(found)) if candidate.note.is_none() => Some(found),
            _ => None,
        }
    }
}

/// Fits all candidates and keeps one. Equal requests have equal results, whatever the number of
/// threads.
///
/// # Errors
/// If training fails, or the callbacks ask to stop. Training can be resumed from their checkpoints.
///
/// # Panics
/// If the plan has no seeds.
pub fn learn_next<'a, C: LearnCallbacks>(
    request: &NextRequest<'a>,
    callbacks: &C,
) -> Result<NextLearned<'a>, LearnError> {
    let NextRequest { data, plan, .. } = request;
    assert!(!plan.seeds.is_empty(), "a plan needs at least one seed");
    let pipeline = NextPipeline { request, callbacks, vocabulary: vocabulary(data) };
    // The cheapest candidates come first.
    pipeline.begin(NextKind::Ngrams)?;
    let (train, valid) = (&data.split.train, &data.split.valid);
    let frequencies = TokenNgrams::frequencies(train);
    let base = frequencies.distribution(&[]);
    let mut candidates = vec![
        pipeline.scored(NextKind::Frequencies, NextModel::Ngrams(frequencies)),
        pipeline.scored(NextKind::Ngrams, NextModel::Ngrams(TokenNgrams::fit(train, valid))),
    ];
    for (kind, recipe) in &plan.networks {
        let trained = pipeline.train(*kind, recipe)?;
        if *kind == NextKind::SrGru {
            candidates.push(pipeline.best_automaton(&trained, &base));
        }
        candidates.push(pipeline.best_network(*kind, trained));
    }
    candidates.sort_by_key(|candidate| candidate.kind);
    let (kept, reason) = choose::choose(&candidates, plan.preference);
    Ok(NextLearned { data, vocabulary: pipeline.vocabulary, candidates, kept, reason })
}

fn vocabulary(data: &LoadedTokens) -> NextVocabulary {
    let alphabet = data.split.train.alphabet.to_vec();
    NextVocabulary { alphabet, unknown_in_training: data.unknown_in_training }
}

/// A request with the values that all candidates share.
struct NextPipeline<'r, 'a, C> {
    request: &'r NextRequest<'a>,
    callbacks: &'r C,
    vocabulary: NextVocabulary,
}

impl<C: LearnCallbacks> NextPipeline<'_, '_, C> {
    fn begin(&self, kind: NextKind) -> Result<Control, LearnError> {
        match self.callbacks.stage(Stage::Candidate(kind.stage_kind())) {
            Control::Interrupt => Err(LearnError::Interrupted),
            control => Ok(control),
        }
    }

    /// A candidate with the scores and thresholds of a model.
    fn scored(&self, kind: NextKind, model: NextModel) -> NextCandidate {
        let split = &self.request.data.split;
        let threads = self.request.hardware.threads;
        let surprises =
            |sequences: &[Vec<u32>]| model.surprises(sequences, &self.vocabulary, threads);
        let valid = surprises(&split.valid.sequences);
        let thresholds = AnomalyThresholds::fit(&valid, self.request.plan.flagged);
        let score = |found: &[SequenceSurprise]| NextScore::new(found, thresholds.top_g);
        NextCandidate {
            valid: Some(score(&valid)),
            test: split.test.as_ref().map(|test| score(&surprises(&test.sequences))),
            thresholds: Some(thresholds),
            model: Some(model),
            ..missing(kind, None)
        }
    }

    /// Trains all seeds of a network. Returns those with a result, or why there is none.
    fn train(&self, kind: NextKind, recipe: &Recipe) -> Result<TrainedSeeds, LearnError> {
        if self.begin(kind)? == Control::TimeUp {
            return Ok(Err("not tried: the budget is used up"));
        }
        let NextRequest { data, plan, hardware } = self.request;
        let workers = worker_count(plan.seeds.len(), hardware.threads);
        let round = Round::Candidate(kind.stage_kind());
        let context = RoundContext {
            callbacks: self.callbacks,
            round,
            hardware: hardware.shared_by(workers),
        };
        let seeds = SeedPlan { recipe, split: &data.split, seeds: &plan.seeds, workers };
        let outcomes: Vec<SeedOutcome<f32>> =
            train_seeds(&seeds, &context).into_iter().collect::<Result<_, _>>()?;
        if outcomes.iter().any(|outcome| outcome.run.stop == Stop::Interrupted) {
            return Err(LearnError::Interrupted);
        }
        let loss = |outcome: &SeedOutcome<f32>| match &outcome.run.final_evaluation {
            Some(end) if end.valid.loss.is_finite() => Some(end.valid.loss),
            _ => None,
        };
        let finished: Vec<_> =
            outcomes.into_iter().filter_map(|o| loss(&o).map(|loss| (loss, o))).collect();
        Ok(if finished.is_empty() { Err("training diverged") } else { Ok(finished) })
    }

    /// The network with the lowest validation loss, the first of equal ones.
    fn best_network(&self, kind: NextKind, trained: TrainedSeeds) -> NextCandidate {
        let networks = match trained {
            Ok(networks) => networks.into_iter(),
            Err(why) => return missing(kind, Some(why.into())),
        };
        let best = networks.reduce(|best, next| if next.0 < best.0 { next } else { best });
        let (_, SeedOutcome { seed, run, model, .. }) = best.expect("a network has a result");
        NextCandidate {
            seed: Some((seed, run.updates)),
            ..self.scored(kind, NextModel::Network(Box::new(model)))
        }
    }

    /// The automaton with the fewest bits among those of all networks, the first of equal ones.
    fn best_automaton(&self, trained: &TrainedSeeds, frequencies: &[f64]) -> NextCandidate {
        let kind = NextKind::Automaton;
        let networks = match trained {
            Ok(networks) => networks,
            Err(why) => return missing(kind, Some(why.to_string())),
        };
        let train = &self.request.data.split.train;
        let mut best: Option<(f64, NextCandidate)> = None;
        for (_, SeedOutcome { seed, run, model, .. }) in networks {
            let Ok(found) = TokenAutomaton::extract(model, train, frequencies.to_vec()) else {
                continue;
            };
            let seed = Some((*seed, run.updates));
            let candidate = NextCandidate { seed, ..self.automaton(found) };
            let bits = candidate.valid.map_or(f64::INFINITY, |score| score.bits);
            if best.as_ref().is_none_or(|(least, _)| bits < *least) {
                best = Some((bits, candidate));
            }
        }
        let too_many = || missing(kind, Some("the SR-GRU has too many transitions".into()));
        best.map_or_else(too_many, |(_, candidate)| candidate)
    }

    fn automaton(&self, automaton: TokenAutomaton) -> NextCandidate {
        let note = match automaton.visited() {
            1 => Some("one state: it forgets every token".into()),
            n if n > MAX_READABLE_STATES => {
                Some(format!("{n} states, more than {MAX_READABLE_STATES}: too many to read"))
            }
            _ => None,
        };
        NextCandidate { note, ..self.scored(NextKind::Automaton, NextModel::Automaton(automaton)) }
    }
}

/// The networks of all seeds with their validation losses, or why there is none.
type TrainedSeeds = Result<Vec<(f64, SeedOutcome<f32>)>, &'static str>;

/// A candidate without a model.
fn missing(kind: NextKind, note: Option<String>) -> NextCandidate {
    let (model, valid, test, thresholds, seed) = (None, None, None, None, None);
    NextCandidate { kind, model, valid, test, thresholds, seed, note }
}

/// The preferences that choose among these candidates.
pub const NEXT_PREFERENCES: [Preference; 2] = [Preference::Readable, Preference::Accuracy];
