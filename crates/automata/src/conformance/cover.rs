//! State cover and transition cover.

use super::{Minimal, sorted};
use crate::alphabet::{Symbol, Word};
use crate::moore::State;

/// A word and the state of the specification in which it ends.
#[derive(Clone, Debug)]
pub(super) struct AccessWord {
    pub word: Word,
    pub state: State,
}

/// Q: the first shortest word that leads to each state, in length-lexicographic order. It contains ε and
/// every prefix of its words.
pub fn state_cover<O>(specification: &Minimal<O>) -> Vec<Word> {
    sorted(access_words(specification).into_iter().map(|access| access.word).collect())
}

/// P: the state cover and all its extensions by one symbol, in length-lexicographic order.
pub fn transition_cover<O>(specification: &Minimal<O>) -> Vec<Word> {
    let states = access_words(specification);
    let more = outside_cover(specification, &states);
    sorted(states.into_iter().chain(more).map(|access| access.word).collect())
}

/// Q, in the order of the states.
pub(super) fn access_words<O>(specification: &Minimal<O>) -> Vec<AccessWord> {
    let automaton = specification.automaton();
    let words = automaton.access_words().into_iter();
    let access = |(word, state): (Option<Word>, State)| AccessWord {
        word: word.expect("states of a minimal automaton are reachable"),
        state,
    };
    words.zip(automaton.states()).map(access).collect()
}

/// R = P − Q. Q contains every prefix of its words, so each word of Q·Σ⁺ that is not in Q has exactly one
/// prefix in R. Repeated extension of R therefore gives no word twice.
pub(super) fn outside_cover<O>(
    specification: &Minimal<O>,
    cover: &[AccessWord],
) -> Vec<AccessWord> {
    let mut next = extended(specification, cover);
    next.retain(|access| access.word != cover[access.state.index()].word);
    next
}

/// All extensions by one symbol.
pub(super) fn extended<O>(specification: &Minimal<O>, words: &[AccessWord]) -> Vec<AccessWord> {
    let automaton = specification.automaton();
    let step = |from: &AccessWord, symbol: Symbol| AccessWord {
        word: [&from.word[..], &[symbol]].concat(),
        state: automaton.next(from.state, symbol),
    };
    let steps = |from| automaton.alphabet().symbols().map(move |symbol| step(from, symbol));
    words.iter().flat_map(steps).collect()
}
