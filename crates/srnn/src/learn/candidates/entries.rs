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
        let classes = self.data.split.train.classes.len();
        self.held_out(|set| {
            let row = |word: Vec<Symbol>| {
                let class = *automaton.output_of(&word) as usize;
                (0..classes).map(|c| f64::from(c == class)).collect()
            };
            let words = set.sequences.iter().map(|s| s.tokens.iter().map(|&t| Symbol(t)).collect());
            words.map(row).collect()
        })
    }

    /// The score of a classifier that always gives the most frequent class.
    pub fn majority_score(&self) -> f64 {
        majority(self).candidate.valid.map_or(0.0, |score| score.value)
    }
}

/// A candidate without a score.
pub(super) fn empty(kind: CandidateKind, note: Option<String>) -> Candidate {
    Candidate { kind, valid: None, test: None, states: None, proved: false, note, remark: None }
}

fn evaluation(set: &Dataset, logits: &[Vec<f64>]) -> Evaluation {
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

/// The most frequent class.
pub(super) fn majority(scale: &Scale<'_>) -> Entry {
    let counts = scale.data.split.train.class_counts();
    // The first class wins a tie.
    let top = (0..counts.len()).rev().max_by_key(|&class| counts[class]).unwrap_or(0);
    let logits: Vec<f64> = (0..counts.len()).map(|class| f64::from(class == top)).collect();
    let held_out = scale.held_out(|set| vec![logits.clone(); set.sequences.len()]);
    scale.entry(CandidateKind::Majority, held_out, None)
}
