//! From a trained network to the automaton it has learned.
//!
//! Four ways, none of which is defaulted to another:
//!
//! | way | follows | what it is |
//! |---|---|---|
//! | [`count`] a soft run | the data's runs | the paper's algorithm as its code runs it: the mixture is fed back, the most probable centroids are counted |
//! | [`count`] a hard run | the data's runs | the paper's algorithm as its text says it: the network is moved to the most probable centroid |
//! | [`hard_table`] | the hard network | every reachable δ(centroids, token), exactly |
//! | [`cover`] | the soft network | its reachable states up to a tolerance: what is kept, because the soft network is what is deployed |
//!
//! Answers are automata over class numbers. How far each agrees with the deployed network is
//! measured ([`agreement`]), not proved.

mod agreement;
mod answers;
mod counting;
mod cover;
mod explore;
mod hard;
pub mod json;
mod machine;
mod probabilistic;
mod refine;
mod study;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trained;

pub use agreement::{Agreement, Verdict, agreement};
pub use answers::{Answers, Words, ask, read_out, walk};
pub use counting::{Counted, Counts, Move, Tie, automaton_of_counts, count, count_words};
pub use cover::{Closed, Cover, Open, SoftCell, cover};
pub use hard::{first_divergence, hard_table};
pub use machine::{Memoryless, Refusal};
pub use probabilistic::{ProbabilisticAutomaton, probabilistic_automaton};
pub use refine::{Attempt, ClosedAttempt, Kept, Refine, Refined, Standing, refine};
pub use study::{Config, Extraction, Judged, JudgedCounts, Question, extract};

use crate::engine::reference::{State, argmax};
use srnn_automata::{Dfa, Incomplete, Moore, Partial};
use std::collections::BTreeSet;

/// Where a network stands, as the paper names it: by centroids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The initial state of a network without a start token; it is no centroid.
    Outside,
    /// A centroid per layer, bottom first.
    At(Vec<u32>),
}

impl Place {
    /// The most probable centroid of each layer, the first of equals.
    pub fn of(state: &State) -> Place {
        // No stochastic step led to the initial state, and a softmax is never all zero.
        if state.alpha[0].iter().all(|&a| a == 0.0) {
            return Place::Outside;
        }
        Place::At(state.alpha.iter().map(|alpha| argmax(alpha) as u32).collect())
    }
}

/// An automaton read off a network. Outputs are classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Extracted {
    /// What each state of `automaton` stands for; several states may share a place.
    pub places: Vec<Place>,
    /// Before minimising. What was never seen is unknown.
    pub automaton: Partial<u32>,
    /// The smallest automaton of the same outputs, or the unknown transitions in its way.
    pub minimal: Result<Moore<u32>, Incomplete>,
    /// Centroids used before minimising.
    pub used: Used,
}

/// How many centroids a set of places uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// Distinct centroids of each layer, bottom first; empty if only the initial state is known.
    pub layers: Vec<usize>,
    /// Distinct tuples of them.
    pub tuples: usize,
}

impl Extracted {
    /// Minimises, and counts the centroids.
    pub fn new(places: Vec<Place>, automaton: Partial<u32>) -> Extracted {
        let minimal = automaton.to_moore().map(|moore| moore.minimize());
        let used = used(&places);
        Extracted { places, automaton, minimal, used }
    }

    /// The place in which every word begins.
    pub fn start(&self) -> &Place {
        &self.places[self.automaton.start().index()]
    }
}

/// The acceptor of a two-class automaton: class 1 accepts.
pub fn acceptor(automaton: &Moore<u32>) -> Dfa {
    automaton.map_outputs(|&class| class == 1)
}

fn used(places: &[Place]) -> Used {
    let tuples: BTreeSet<&Vec<u32>> = places
        .iter()
        .filter_map(|place| match place {
            Place::Outside => None,
            Place::At(tuple) => Some(tuple),
        })
        .collect();
    let layers = tuples.first().map_or(0, |tuple| tuple.len());
    let distinct = |l: usize| tuples.iter().map(|tuple| tuple[l]).collect::<BTreeSet<_>>().len();
    Used { layers: (0..layers).map(distinct).collect(), tuples: tuples.len() }
}
