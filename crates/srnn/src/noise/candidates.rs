//! Candidate automata: the results of every extraction method, up to a number of states.

use crate::engine::Real;
use crate::engine::{Mode, Runner, Transition};
use crate::extract::{
    Cover, ExtractionMethod, TransitionSystem, WordSet, automaton_from_counts, count_transitions,
    cover, hard_table, in_double_precision,
};
use srnn_automata::{Alphabet, Moore, Word};
use std::convert::Infallible;

/// An automaton of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateAutomaton {
    /// How it was extracted.
    pub method: ExtractionMethod,
    /// The minimal automaton. Transitions that counting never observed lead to a sink of class 0.
    pub automaton: Moore<u32>,
}

/// The tolerances of covers, coarsest first: if a cover does not close, no finer one does.
const TOLERANCES: [f64; 4] = [0.8, 0.4, 0.2, 0.1];

/// The automata of a network with at most `cap` states before minimisation. Transitions are counted
/// over `words`. Empty for a network that is not a [`TransitionSystem`].
pub fn candidate_automata<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    alphabet: &Alphabet,
    words: &[Word],
    cap: usize,
) -> Vec<CandidateAutomaton> {
    let Ok(model) = engine.model();
    let model = in_double_precision(model);
    let Ok(system) = TransitionSystem::new(&model, alphabet) else { return vec![] };
    let mut found = covers(&system, cap);
    let table = hard_table(&system, cap).ok().and_then(|table| table.minimal.ok());
    let method = ExtractionMethod::HardTable;
    found.extend(table.map(|automaton| CandidateAutomaton { method, automaton }));
    let words = WordSet::List(words.to_vec());
    for (method, transition) in [
        (ExtractionMethod::CountedSoft, Transition::Mixture),
        (ExtractionMethod::CountedHard, Transition::Argmax),
    ] {
        let mode = Mode { transition, ..Mode::default() };
        let counts = count_transitions(engine, &words, mode).ok();
        let counted = counts.and_then(|counts| automaton_from_counts(&counts, &system).ok());
        let automaton = counted.map(|c| c.extracted.automaton.complete(0).minimize());
        found.extend(automaton.map(|automaton| CandidateAutomaton { method, automaton }));
    }
    found
}

fn covers(system: &TransitionSystem, cap: usize) -> Vec<CandidateAutomaton> {
    let closed = TOLERANCES.iter().map_while(|&tolerance| match cover(system, tolerance, cap) {
        Cover::Closed(closed) => Some((tolerance, closed.extracted.minimal.ok()?)),
        Cover::Open(_) => None,
    });
    let candidate = |(tolerance, automaton)| CandidateAutomaton {
        method: ExtractionMethod::Cover { tolerance },
        automaton,
    };
    closed.map(candidate).collect()
}
