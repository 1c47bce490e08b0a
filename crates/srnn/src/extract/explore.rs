//! Breadth-first search over a network's states, shared by the hard table and the cover: they
//! differ only in when two states count as one.

use super::{Extracted, Memoryless, Place};
use crate::engine::Mode;
use crate::engine::reference::State;
use srnn_automata::{self as automata, Moore, Partial};

/// When two states count as one.
pub(super) trait Cells {
    /// The cell a state with this decision belongs to, if one is open.
    fn find(&mut self, state: &State, decision: u32) -> Option<usize>;
    /// Opens a cell for a state that belongs to none; cells are numbered in this order.
    fn open(&mut self, state: &State, decision: u32);
}

/// What was reached.
pub(super) struct Explored {
    /// The state that opened each cell. It is exactly the network's state after the first shortest
    /// word that leads there, because only such states are ever expanded.
    pub states: Vec<State>,
    pub decisions: Vec<u32>,
    /// `[cells, symbols]` for the cells that were expanded.
    pub successors: Vec<automata::State>,
    /// Cells that were not expanded; zero is closed.
    pub pending: usize,
}

/// Follows all words from the start until nothing new is reached, or until more than `cap` cells
/// are open.
pub(super) fn explore(
    machine: &Memoryless,
    mode: Mode,
    cap: usize,
    cells: &mut impl Cells,
) -> Explored {
    let mut found = Explored { states: vec![], decisions: vec![], successors: vec![], pending: 0 };
    found.visit(machine, machine.start(mode), cells);
    let mut expanded = 0;
    while expanded < found.states.len() && found.states.len() <= cap {
        let state = found.states[expanded].clone();
        for symbol in machine.alphabet().symbols() {
            let to = found.visit(machine, machine.next(&state, symbol, mode), cells);
            found.successors.push(automata::State(to as u32));
        }
        expanded += 1;
    }
    found.pending = found.states.len() - expanded;
    found
}

impl Explored {
    fn visit(&mut self, machine: &Memoryless, state: State, cells: &mut impl Cells) -> usize {
        let decision = machine.decide(&state);
        cells.find(&state, decision).unwrap_or_else(|| {
            cells.open(&state, decision);
            self.states.push(state);
            self.decisions.push(decision);
            self.states.len() - 1
        })
    }

    /// The automaton of a closed search.
    pub fn extracted(&self, machine: &Memoryless) -> Extracted {
        let places = self.states.iter().map(Place::of).collect();
        let (outputs, table) = (self.decisions.clone(), self.successors.clone());
        let start = automata::State(0);
        let moore = Moore::new(machine.alphabet().clone(), start, outputs, table)
            .expect("a closed search has a successor for every cell and symbol");
        Extracted::new(places, Partial::from(&moore))
    }
}
