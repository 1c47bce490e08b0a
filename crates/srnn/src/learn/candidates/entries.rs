//! Candidates with their scores, and with what it takes to keep them.

use super::merged::MergedNetwork;
use super::{Candidate, CandidateKind, HeldOutMeasure, HeldOutScore, NgramModel};
use crate::engine::reference::{argmax, log_softmax};
use crate::learn::{LearnData, Round};
use crate::model::Model;
use crate::task::Dataset;
use crate::task::files::HeldOutIssues;
use crate::train::{Evaluation, SeedOutcome, Selection};
use srnn_automata::{Moore, Symbol};

/// A trained candidate that is no automaton.
pub(super) enum Trained {
    /// The network of lowest validation loss among those that an SR-GRU passed through.
    Phase { seed: usize, update: u64, model: Box<Model<f32>> },
    /// The automaton of state merging in its network.
    Compiled(Box<MergedNetwork>),
    /// Networks of an architecture, and the selected one.
    Network { round: Round, outcomes: Vec<SeedOutcome<f32>>, selection: Selection },
    /// The baseline.
    Ngrams(NgramModel),
}

/// A candidate with what it takes to keep it.
pub(super) struct Entry {
    pub candidate: Candidate,
    pub held_out: Option<HeldOut>,
    pub trained: Option<Trained>,
}

/// A model on the held-out sets.
pub(super) struct HeldOut {
    pub valid: Evaluation,
    pub test: Option<Evaluation>,
}

/// What every candidate is scored by.
pub(super) struct Scale<'a> {
    pub measure: HeldOutMeasure,
    pub data: &'a LearnData,
    /// The weight of each class in the loss; empty for ones.
    pub class_weights: Vec<f32>,
}

impl Scale<'_> {
    pub fn entry(&self, kind: CandidateKind, held_out: HeldOut, trained: Option<Trained>) -> Entry {
        let data = self.data;
        let score = |evaluation: &Evaluation, issues: &HeldOutIssues| -> HeldOutScore {
            self.measure.score(&data.confusion(evaluation, issues))
        };
        let candidate = Candidate {
            valid: Some(score(&held_out.valid, &data.valid)),
            test: held_out.test.as_ref().map(|test| score(test, &data.test)),
            ..empty(kind, None)
        };
        Entry { candidate, held_out: Some(held_out), trained }
    }

    /// Classifies the held-out sequences with a function from sequences to logits.
    pub fn held_out(&self, logits: impl Fn(&Dataset) -> Vec<Vec<f64>>) -> HeldOut {
        let split = &self.data.split;
        let test = split.test.as_ref().filter(|test| !test.sequences.is_empty());
        let evaluated = |set: &Dataset| evaluation(set, &logits(set));
        HeldOut { valid: evaluated(&split.valid), test: test.map(evaluated) }
    }

    /// The classes that an automaton gives.
    pub fn answers_of(&self, automaton: &Moore<u32>) -> HeldOut {
        self.held_out(|set| answers(automaton, set))
    }
}

/// A candidate without a score.
pub(super) fn empty(kind: CandidateKind, note: Option<String>) -> Candidate {
    let (valid, cross_validated, test, states, remark) = (None, None, None, None, None);
    Candidate { kind, valid, cross_validated, test, states, proved: false, note, remark }
}

/// A candidate that was not tried, or has no result.
pub(super) fn missing(kind: CandidateKind, why: &str) -> Entry {
    Entry { candidate: empty(kind, Some(why.into())), held_out: None, trained: None }
}

/// The classes that an automaton gives to the sequences of a set, as logits.
pub(super) fn answers(automaton: &Moore<u32>, set: &Dataset) -> Vec<Vec<f64>> {
    let row = |word: Vec<Symbol>| {
        let class = *automaton.output_of(&word) as usize;
        (0..set.classes.len()).map(|c| f64::from(c == class)).collect()
    };
    let words = set.sequences.iter().map(|s| s.tokens.iter().map(|&t| Symbol(t)).collect());
    words.map(row).collect()
}

pub(super) fn evaluation(set: &Dataset, logits: &[Vec<f64>]) -> Evaluation {
    let classes = set.classes.len();
    let mut confusion = vec![vec![0; classes]; classes];
    let (mut loss, mut correct) = (0.0, 0u64);
    for (sequence, logits) in set.sequences.iter().zip(logits) {
        let (truth, predicted) = (sequence.label as usize, argmax(logits));
        loss -= log_softmax(logits)[truth];
        correct += u64::from(truth == predicted);
        confusion[truth][predicted] += 1;
    }
    let total = set.sequences.len().max(1) as f64;
    Evaluation { accuracy: correct as f64 / total, loss: loss / total, confusion }
}

/// The most frequent class of a set as logits; the first class wins a tie.
pub(super) fn majority_class(train: &Dataset) -> Vec<f64> {
    let counts = train.class_counts();
    let top = (0..counts.len()).rev().max_by_key(|&class| counts[class]).unwrap_or(0);
    (0..counts.len()).map(|class| f64::from(class == top)).collect()
}

/// The most frequent class.
pub(super) fn majority(scale: &Scale<'_>) -> Entry {
    let logits = majority_class(&scale.data.split.train);
    let held_out = scale.held_out(|set| vec![logits.clone(); set.sequences.len()]);
    scale.entry(CandidateKind::Majority, held_out, None)
}
