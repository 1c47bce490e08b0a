//! Breadth-first search over a network's states, shared by the hard table and the cover. The two
//! differ only in which states they merge.

use super::{CentroidState, ExtractedAutomaton, TransitionSystem};
use crate::engine::Mode;
use crate::engine::reference::NetworkState;
use srnn_automata::{self as automata, Alphabet, Partial, Symbol};

/// Decides which network states are merged into one automaton state.
pub(super) trait StateIndex {
    /// The index of the automaton state that represents a network state of this class, if any.
    fn find(&mut self, state: &NetworkState, class: u32) -> Option<usize>;
    /// Adds an automaton state for a network state that [`find`](Self::find) did not find. Indices
    /// are given in this order.
    fn insert(&mut self, state: &NetworkState, class: u32);
}

/// A network as a transition system over soft states; see [`TransitionSystem`].
pub(crate) trait SoftSystem {
    /// The names of the symbols.
    fn alphabet(&self) -> &Alphabet;
    /// The state in which the first symbol is read.
    fn start(&self, mode: Mode) -> NetworkState;
    /// The state after `symbol`.
    fn next(&self, state: &NetworkState, symbol: Symbol, mode: Mode) -> NetworkState;
    /// The class of a word that ends in `state`.
    fn classify(&self, state: &NetworkState) -> u32;
}

impl SoftSystem for TransitionSystem<'_> {
    fn alphabet(&self) -> &Alphabet {
        TransitionSystem::alphabet(self)
    }

    fn start(&self, mode: Mode) -> NetworkState {
        TransitionSystem::start(self, mode)
    }

    fn next(&self, state: &NetworkState, symbol: Symbol, mode: Mode) -> NetworkState {
        TransitionSystem::next(self, state, symbol, mode)
    }

    fn classify(&self, state: &NetworkState) -> u32 {
        TransitionSystem::classify(self, state)
    }
}

/// The result of a search.
pub(super) struct Exploration {
    /// The network state that each automaton state was inserted for. It is exactly the state after
    /// the first shortest word that leads there, because only such states are expanded.
    pub states: Vec<NetworkState>,
    pub classes: Vec<u32>,
    /// `[states, symbols]` for the states that were expanded.
    pub successors: Vec<automata::State>,
    /// States that were not expanded. The search is complete if there are none.
    pub pending: usize,
}

/// Searches from the start over all symbols until no new state is reached, or until there are more
/// than `cap` states.
pub(super) fn explore(
    system: &impl SoftSystem,
    mode: Mode,
    cap: usize,
    index: &mut impl StateIndex,
) -> Exploration {
    let mut found = Exploration { states: vec![], classes: vec![], successors: vec![], pending: 0 };
    found.visit(system, system.start(mode), index);
    let mut expanded = 0;
    while expanded < found.states.len() && found.states.len() <= cap {
        let state = found.states[expanded].clone();
        for symbol in system.alphabet().symbols() {
            let to = found.visit(system, system.next(&state, symbol, mode), index);
            found.successors.push(automata::State(to as u32));
        }
        expanded += 1;
    }
    found.pending = found.states.len() - expanded;
    found
}

impl Exploration {
    fn visit(
        &mut self,
        system: &impl SoftSystem,
        state: NetworkState,
        index: &mut impl StateIndex,
    ) -> usize {
        let class = system.classify(&state);
        index.find(&state, class).unwrap_or_else(|| {
            index.insert(&state, class);
            self.states.push(state);
            self.classes.push(class);
            self.states.len() - 1
        })
    }

    /// The automaton of a complete search.
    pub fn extracted(&self, system: &impl SoftSystem) -> ExtractedAutomaton {
        let centroid_states = self.states.iter().map(CentroidState::of).collect();
        let table = self.successors.iter().map(|&to| Some(to)).collect();
        let (alphabet, start) = (system.alphabet().clone(), automata::State(0));
        let automaton = Partial::new(alphabet, start, self.classes.clone(), table)
            .expect("a complete search has a successor for every state and symbol");
        ExtractedAutomaton::new(centroid_states, automaton)
    }
}
