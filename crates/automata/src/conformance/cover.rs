//! Words that reach every state, take every transition, and go a little further.

use super::{Minimal, in_order};
use crate::alphabet::{Symbol, Word};
use crate::moore::State;

/// A word and the state of the specification in which it ends.
#[derive(Clone, Debug)]
pub(super) struct ReachedState {
    pub word: Word,
    pub state: State,
}

/// Q: for every state the first shortest word that leads there, in length-lexicographic order. It
/// holds ε, and every prefix of its words.
pub fn state_cover<O>(specification: &Minimal<O>) -> Vec<Word> {
    in_order(reached(specification).into_iter().map(|reached| reached.word).collect())
}

/// P: the state cover, and each of its words with each symbol after it, in length-lexicographic
/// order.
pub fn transition_cover<O>(specification: &Minimal<O>) -> Vec<Word> {
    let states = reached(specification);
    let more = leaving(specification, &states);
    in_order(states.into_iter().chain(more).map(|reached| reached.word).collect())
}

/// Q, by state.
pub(super) fn reached<O>(specification: &Minimal<O>) -> Vec<ReachedState> {
    let automaton = specification.automaton();
    let words = automaton.access_words().into_iter();
    let reached = |(word, state): (Option<Word>, State)| ReachedState {
        word: word.expect("a minimal automaton reaches its states"),
        state,
    };
    words.zip(automaton.states()).map(reached).collect()
}

/// R = P − Q: as Q holds every prefix of its words, each word of Q·Σ⁺ that is not in Q has exactly
/// one prefix in R, and no word is met twice on the way outwards.
pub(super) fn leaving<O>(specification: &Minimal<O>, cover: &[ReachedState]) -> Vec<ReachedState> {
    let mut next = further(specification, cover);
    next.retain(|reached| reached.word != cover[reached.state.index()].word);
    next
}

/// All words one symbol longer.
pub(super) fn further<O>(specification: &Minimal<O>, words: &[ReachedState]) -> Vec<ReachedState> {
    let automaton = specification.automaton();
    let step = |from: &ReachedState, symbol: Symbol| ReachedState {
        word: [&from.word[..], &[symbol]].concat(),
        state: automaton.next(from.state, symbol),
    };
    let steps = |from| automaton.alphabet().symbols().map(move |symbol| step(from, symbol));
    words.iter().flat_map(steps).collect()
}
