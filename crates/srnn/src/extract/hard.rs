//! The hard network, exhaustively: δ(centroid, token) for every tuple of centroids that a run with
//! `Transition::Argmax` can reach. Complete, and exactly the network's limit τ → 0 (Theorem 3.2);
//! whether the deployed soft network follows it is another question.

use super::explore::{Cells, explore};
use super::{Extracted, Memoryless, Place, Refusal};
use crate::engine::reference::State;
use crate::engine::{Mode, Transition};
use srnn_automata::{Word, shortlex};
use std::collections::HashMap;

/// The automaton of the hard network. A state is a tuple of centroids and the decision in it: the
/// two go together unless the classifier reads u without an end token, where one tuple can carry
/// several decisions. Refuses beyond `cap` states.
pub fn hard_table(machine: &Memoryless, cap: usize) -> Result<Extracted, Refusal> {
    let mode = Mode { transition: Transition::Argmax, ..Mode::default() };
    let found = explore(machine, mode, cap, &mut Tuples::default());
    match found.pending {
        0 => Ok(found.extracted(machine)),
        pending => Err(Refusal::TooManyStates { cap, pending }),
    }
}

/// The first word up to `longest` symbols, shorter ones first, at whose end the mixture's most
/// probable centroids are not those the hard network has moved to, with all temperatures
/// multiplied by `tau`: Theorem 3.2 says that there is none for a `tau` small enough, unless two
/// centroids tie.
pub fn first_divergence(machine: &Memoryless, tau: f64, longest: usize) -> Option<Word> {
    let symbols = machine.alphabet().len() as u32;
    let soft = Mode { tau, ..Mode::default() };
    let hard = Mode { transition: Transition::Argmax, ..soft };
    let end = |word: &Word, mode| {
        let start = machine.start(mode);
        Place::of(&word.iter().fold(start, |state, &x| machine.next(&state, x, mode)))
    };
    shortlex(symbols, longest).find(|word| end(word, soft) != end(word, hard))
}

#[derive(Default)]
struct Tuples {
    numbers: HashMap<(Place, u32), usize>,
}

impl Cells for Tuples {
    fn find(&mut self, state: &State, decision: u32) -> Option<usize> {
        self.numbers.get(&(Place::of(state), decision)).copied()
    }

    fn open(&mut self, state: &State, decision: u32) {
        let number = self.numbers.len();
        self.numbers.insert((Place::of(state), decision), number);
    }
}
