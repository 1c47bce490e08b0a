//! Candidates: kinds of models from readable to free, trained on the same data and compared on the
//! validation set.
//!
//! State regularization costs accuracy on some data. A comparison shows how much, and by default
//! keeps the most readable candidate that is within one standard error of the best.

mod choose;
mod compare;
mod entries;
mod folds;
mod keep;
mod measure;
mod merged;
mod networks;
mod ngram_file;
mod ngrams;
mod plan;

pub use choose::{KeepReason, Preference};
pub(super) use compare::compare;
pub use measure::{HeldOutMeasure, HeldOutScore};
pub use ngram_file::{NgramFile, NgramFileError};
pub use ngrams::{Feature, NgramModel, NgramReader};
pub use plan::{CandidatePlan, FoldPlan, SearchLimits};

use crate::train::ArchName;
use serde::{Deserialize, Serialize};

/// A kind of model. The order is that of readability, the most readable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateKind {
    /// Always the most frequent class. It is shown, and never kept.
    Majority,
    /// The automaton of a hardened SR-GRU.
    Automaton,
    /// The automaton of state merging, written into a network.
    Merged,
    /// An SR-GRU whose states need not form an automaton.
    SrGru,
    /// An SR-LSTM with peepholes.
    SrLstmP,
    /// Logistic regression on n-grams.
    Ngrams,
    /// A plain GRU.
    Gru,
    /// A plain LSTM.
    Lstm,
}

impl CandidateKind {
    /// All kinds, the most readable first.
    pub const ALL: [CandidateKind; 8] = [
        CandidateKind::Majority,
        CandidateKind::Automaton,
        CandidateKind::Merged,
        CandidateKind::SrGru,
        CandidateKind::SrLstmP,
        CandidateKind::Ngrams,
        CandidateKind::Gru,
        CandidateKind::Lstm,
    ];

    /// The kinds that are networks of their own, trained after the SR-GRU.
    pub const NETWORKS: [(CandidateKind, ArchName); 3] = [
        (CandidateKind::SrLstmP, ArchName::SrLstmP),
        (CandidateKind::Gru, ArchName::Gru),
        (CandidateKind::Lstm, ArchName::Lstm),
    ];

    /// The name in files.
    pub fn key(self) -> &'static str {
        match self {
            CandidateKind::Majority => "majority",
            CandidateKind::Automaton => "automaton",
            CandidateKind::Merged => "merged",
            CandidateKind::SrGru => "sr-gru",
            CandidateKind::SrLstmP => "sr-lstm-p",
            CandidateKind::Gru => "gru",
            CandidateKind::Lstm => "lstm",
            CandidateKind::Ngrams => "ngrams",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            CandidateKind::Majority => "majority class",
            CandidateKind::Automaton => "automaton (SR-GRU)",
            CandidateKind::Merged => "automaton (state merging)",
            CandidateKind::SrGru => "SR-GRU",
            CandidateKind::SrLstmP => "SR-LSTM-P",
            CandidateKind::Gru => "plain GRU",
            CandidateKind::Lstm => "plain LSTM",
            CandidateKind::Ngrams => "n-grams (logistic regression)",
        }
    }
}

/// A candidate and its scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The kind of model.
    pub kind: CandidateKind,
    /// The score on the validation set, with the labels as given; `None` if it was not tried.
    pub valid: Option<HeldOutScore>,
    /// The score of a cross-validation over training and validation set, if there was one.
    pub cross_validated: Option<HeldOutScore>,
    /// The score on the test set, if there is one. It is never used to choose.
    pub test: Option<HeldOutScore>,
    /// The number of states, if it is an automaton.
    pub states: Option<usize>,
    /// Whether it is proved equal to its automaton on every word.
    pub proved: bool,
    /// Why it was not tried, or cannot be kept.
    pub note: Option<String>,
    /// How it was trained, if not as its recipe says.
    pub remark: Option<String>,
}

impl Candidate {
    /// The score that decides: that of the cross-validation if there was one, else that on the
    /// validation set.
    pub fn score(&self) -> Option<HeldOutScore> {
        self.cross_validated.or(self.valid)
    }

    /// Whether it can be kept.
    pub fn is_eligible(&self) -> bool {
        self.valid.is_some() && self.note.is_none() && self.kind != CandidateKind::Majority
    }
}

/// The candidates of a run, and which one is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is measured on held-out sequences.
    pub measure: HeldOutMeasure,
    /// How the kept one was chosen.
    pub preference: Preference,
    /// The number of folds, if candidates were cross-validated.
    pub folds: Option<usize>,
    /// The weight of each class in the losses; empty for ones.
    pub class_weights: Vec<f32>,
    /// All candidates, the most readable first.
    pub candidates: Vec<Candidate>,
    /// The index of the kept candidate.
    pub kept: usize,
    /// Why it is kept.
    pub reason: KeepReason,
}

impl Comparison {
    /// The kept candidate.
    pub fn kept(&self) -> &Candidate {
        &self.candidates[self.kept]
    }

    /// The candidate with the highest score, the most readable of equal ones.
    pub fn best(&self) -> &Candidate {
        &self.candidates[choose::best(&self.candidates).expect("one candidate is kept")]
    }

    /// The candidate of a kind.
    pub fn of(&self, kind: CandidateKind) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.kind == kind)
    }
}

/// Automata with more states are not readable, and not kept by default.
pub const MAX_READABLE_STATES: usize = 50;
