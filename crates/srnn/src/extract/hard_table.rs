//! The transition table of the hard network: δ(centroids, token) for every tuple of centroids that a
//! run with `Transition::Argmax` can reach. It is complete and equals the limit τ → 0 of the network
//! (Theorem 3.2). Whether the deployed soft network follows it is a separate question.

use super::explore::{StateIndex, explore};
use super::{CentroidState, ExtractError, ExtractedAutomaton, TransitionSystem};
use crate::engine::reference::NetworkState;
use crate::engine::{Mode, Transition};
use srnn_automata::{Word, shortlex};
use std::collections::HashMap;

/// The automaton of the hard network. A state is a tuple of centroids and its class. The tuple
/// determines the class, unless the classifier reads u without an end token. Fails beyond `cap`
/// states.
pub fn hard_table(
    system: &TransitionSystem,
    cap: usize,
) -> Result<ExtractedAutomaton, ExtractError> {
    let mode = Mode { transition: Transition::Argmax, ..Mode::default() };
    let found = explore(system, mode, cap, &mut TupleIndex::default());
    match found.pending {
        0 => Ok(found.extracted(system)),
        pending => Err(ExtractError::TooManyStates { cap, pending }),
    }
}

/// The first word of at most `longest` symbols, in length-lexicographic order, after which the most
/// probable centroids of the soft network differ from those of the hard one. All temperatures are
/// multiplied by `tau`. By Theorem 3.2 there is no such word for a `tau` small enough, unless two
/// centroids tie.
pub fn first_divergence(system: &TransitionSystem, tau: f64, longest: usize) -> Option<Word> {
    let symbols = system.alphabet().len() as u32;
    let soft = Mode { tau, ..Mode::default() };
    let hard = Mode { transition: Transition::Argmax, ..soft };
    let end = |word: &Word, mode| {
        let start = system.start(mode);
        CentroidState::of(&word.iter().fold(start, |state, &x| system.next(&state, x, mode)))
    };
    shortlex(symbols, longest).find(|word| end(word, soft) != end(word, hard))
}

/// Merges states with equal centroids and equal class.
#[derive(Default)]
struct TupleIndex {
    indices: HashMap<(CentroidState, u32), usize>,
}

impl StateIndex for TupleIndex {
    fn find(&mut self, state: &NetworkState, class: u32) -> Option<usize> {
        self.indices.get(&(CentroidState::of(state), class)).copied()
    }

    fn insert(&mut self, state: &NetworkState, class: u32) {
        let index = self.indices.len();
        self.indices.insert((CentroidState::of(state), class), index);
    }
}
