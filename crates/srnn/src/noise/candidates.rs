//! Automata to begin from: every way of extraction, each with at most so many states.

use crate::engine::Real;
use crate::engine::{Mode, Runner, Transition};
use crate::extract::{
    Cover, Memoryless, Words, automaton_of_counts, count_words, cover, hard_table,
};
use srnn_automata::{Alphabet, Moore, Word};
use std::convert::Infallible;

/// How an automaton was read off a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// A cover of its soft states.
    Cover {
        /// With this tolerance.
        tolerance: f64,
    },
    /// The hard network.
    HardTable,
    /// Counting, with the mixture fed back.
    CountedSoft,
    /// Counting, with the centroid fed back.
    CountedHard,
}

/// An automaton of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// How it was read off.
    pub way: Way,
    /// Minimal. What counting never saw leads to a state that is never left.
    pub automaton: Moore<u32>,
}

/// The tolerances of covers, coarse ones first: a cover that does not close has no finer one that
/// does.
const TOLERANCES: [f64; 4] = [0.8, 0.4, 0.2, 0.1];

/// The automata of a network with at most `cap` states before minimising; none for a network
/// whose states are not its centroids'. Transitions are counted over `words`.
pub fn candidates<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    alphabet: &Alphabet,
    words: &[Word],
    cap: usize,
) -> Vec<Candidate> {
    let Ok(model) = engine.model();
    let model = crate::model::Model {
        arch: model.arch,
        params: model.params.into_iter().map(Real::to).collect(),
    };
    let Ok(machine) = Memoryless::new(&model, alphabet) else { return vec![] };
    let mut found = covers(&machine, cap);
    let table = hard_table(&machine, cap).ok().and_then(|table| table.minimal.ok());
    found.extend(table.map(|automaton| Candidate { way: Way::HardTable, automaton }));
    let words = Words::List(words.to_vec());
    for (way, transition) in
        [(Way::CountedSoft, Transition::Mixture), (Way::CountedHard, Transition::Argmax)]
    {
        let mode = Mode { transition, ..Mode::default() };
        let counts = count_words(engine, &words, mode).ok();
        let counted = counts.and_then(|counts| automaton_of_counts(&counts, &machine).ok());
        let automaton = counted.map(|c| c.extracted.automaton.complete(0).minimize());
        found.extend(automaton.map(|automaton| Candidate { way, automaton }));
    }
    found
}

fn covers(machine: &Memoryless, cap: usize) -> Vec<Candidate> {
    let closed = TOLERANCES.iter().map_while(|&tolerance| match cover(machine, tolerance, cap) {
        Cover::Closed(closed) => Some((tolerance, closed.extracted.minimal.ok()?)),
        Cover::Open(_) => None,
    });
    let candidate = |(tolerance, automaton)| Candidate { way: Way::Cover { tolerance }, automaton };
    closed.map(candidate).collect()
}
