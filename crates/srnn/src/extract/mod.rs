//! Extraction of automata from trained networks.
//!
//! There are four methods ([`ExtractionMethod`]). [`extract`] runs all of them:
//!
//! | method | explores | result |
//! |---|---|---|
//! | counting on a soft run | the runs of the data | the paper's algorithm as its code does it: the mixture is fed back, the most probable centroids are counted |
//! | counting on a hard run | the runs of the data | the paper's algorithm as its text describes it: the most probable centroid is fed back |
//! | hard table | the hard network | every reachable transition δ(centroids, token), exactly |
//! | cover | the soft network | its reachable states up to a tolerance; this one is kept, because the soft network is deployed |
//!
//! The automata output class numbers. Agreement with the deployed network is measured
//! ([`agreement`]), not proved.

mod agreement;
mod classify;
mod counting;
mod cover;
mod explore;
mod extraction;
mod hard_table;
pub mod json;
mod probabilistic;
mod refine;
#[cfg(test)]
mod test_networks;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trained_tests;
mod transition_system;

pub(crate) use agreement::TruthComparison;
pub use agreement::{Agreement, agreement};
pub use classify::{ClassifiedWords, WordSet, classify_short_words, classify_words, word_logits};
pub use counting::Tie;
pub(crate) use counting::{TransitionCounts, automaton_from_counts, count_transitions};
pub(crate) use cover::{ClosedCover, Cover, cover};
pub(crate) use explore::SoftSystem;
pub use extraction::{EvaluatedAutomaton, ExtractConfig, ExtractRequest, Extraction, extract};
pub(crate) use extraction::{EvaluatedCounts, in_double_precision};
pub use hard_table::first_divergence;
pub(crate) use hard_table::hard_table;
pub use probabilistic::{ProbabilisticAutomaton, probabilistic_automaton};
pub use refine::{CoverStatus, KeptCover};
pub(crate) use refine::{RefineConfig, RefinedCover, refine};
pub use transition_system::{ExtractError, TransitionSystem};

use crate::engine::reference::{NetworkState, argmax};
use srnn_automata::{Dfa, Incomplete, Moore, Partial};
use std::collections::BTreeSet;

/// How an automaton was extracted from a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExtractionMethod {
    /// A cover of the soft states.
    Cover {
        /// The tolerance of the cover.
        tolerance: f64,
    },
    /// The transition table of the hard network.
    HardTable,
    /// Counted transitions, with the mixture fed back.
    CountedSoft,
    /// Counted transitions, with the centroid fed back.
    CountedHard,
}

/// A state of the network, named by its most probable centroids as in the paper.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CentroidState {
    /// The initial state of a network without a start token. It is not a centroid.
    Initial,
    /// One centroid per layer, bottom layer first.
    Tuple(Vec<u32>),
}

impl CentroidState {
    /// The most probable centroid of each layer; the lowest index wins a tie.
    pub fn of(state: &NetworkState) -> CentroidState {
        // Only the initial state has an all-zero α: a softmax never gives zeros only.
        if state.alpha[0].iter().all(|&a| a == 0.0) {
            return CentroidState::Initial;
        }
        CentroidState::Tuple(state.alpha.iter().map(|alpha| argmax(alpha) as u32).collect())
    }
}

/// An automaton extracted from a network. Its outputs are classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractedAutomaton {
    /// The centroids of each state of `automaton`; several states may have the same.
    pub centroid_states: Vec<CentroidState>,
    /// The automaton before minimisation. Transitions that were never observed are unknown.
    pub automaton: Partial<u32>,
    /// The minimal automaton, or the unknown transitions that prevent minimisation.
    pub minimal: Result<Moore<u32>, Incomplete>,
    /// Centroids used before minimisation.
    pub used_centroids: UsedCentroids,
}

/// How many distinct centroids an automaton uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedCentroids {
    /// Distinct centroids per layer, bottom first; empty if only the initial state is known.
    pub layers: Vec<usize>,
    /// Distinct tuples of centroids.
    pub tuples: usize,
}

impl ExtractedAutomaton {
    /// Minimises the automaton and counts its centroids.
    pub fn new(centroid_states: Vec<CentroidState>, automaton: Partial<u32>) -> Self {
        let minimal = automaton.to_moore().map(|moore| moore.minimize());
        let used_centroids = used_centroids(&centroid_states);
        ExtractedAutomaton { centroid_states, automaton, minimal, used_centroids }
    }

    /// The centroids of the start state.
    pub fn start(&self) -> &CentroidState {
        &self.centroid_states[self.automaton.start().index()]
    }
}

/// The DFA of a two-class automaton: class 1 accepts.
pub fn acceptor(automaton: &Moore<u32>) -> Dfa {
    automaton.map_outputs(|&class| class == 1)
}

fn used_centroids(states: &[CentroidState]) -> UsedCentroids {
    let tuples: BTreeSet<&Vec<u32>> = states
        .iter()
        .filter_map(|state| match state {
            CentroidState::Initial => None,
            CentroidState::Tuple(tuple) => Some(tuple),
        })
        .collect();
    let layers = tuples.first().map_or(0, |tuple| tuple.len());
    let distinct = |l: usize| tuples.iter().map(|tuple| tuple[l]).collect::<BTreeSet<_>>().len();
    UsedCentroids { layers: (0..layers).map(distinct).collect(), tuples: tuples.len() }
}
