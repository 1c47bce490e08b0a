//! The path of a word through an automaton, and where it leaves what the training words have taken.

use serde::Serialize;
use srnn_automata::{Partial, State, Symbol};

/// The path of a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputPath {
    /// The states from the start state `[T+1]`; shorter if the word takes an unknown transition.
    pub states: Vec<u32>,
    /// The class of each of these states.
    pub classes: Vec<u32>,
    /// The place of the token whose transition is unknown, counted from 0.
    pub unknown: Option<usize>,
}

/// How often words take each transition and end in each state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TransitionSupport {
    /// The number of words that end in each state.
    pub ends: Vec<u64>,
    /// The number of times that words are in each state, the start included.
    pub visits: Vec<u64>,
    /// The number of times that each transition is taken `[states][symbols]`.
    pub taken: Vec<Vec<u64>>,
}

/// Where a word first does what no training word does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Unsupported {
    /// The token at this place takes a transition that no training word takes.
    Transition {
        /// The place, counted from 0.
        at: usize,
    },
    /// Every transition has support, but no training word ends in the last state.
    End,
}

/// The path of a word.
///
/// # Panics
/// If a token is not a symbol of the automaton.
pub fn input_path(automaton: &Partial<u32>, word: &[u32]) -> InputPath {
    let mut states = vec![automaton.start()];
    for &token in word {
        let from = *states.last().expect("the start state");
        let Some(to) = automaton.next(from, Symbol(token)) else { break };
        states.push(to);
    }
    InputPath {
        classes: states.iter().map(|&state| *automaton.output(state)).collect(),
        unknown: (states.len() <= word.len()).then(|| states.len() - 1),
        states: states.into_iter().map(|state| state.0).collect(),
    }
}

impl InputPath {
    /// The class of the word; `None` after an unknown transition.
    pub fn class(&self) -> Option<u32> {
        self.classes.last().copied().filter(|_| self.unknown.is_none())
    }

    /// The places of the tokens after which the class is another one than before.
    pub fn turning_points(&self) -> Vec<usize> {
        let turns = self.classes.windows(2).enumerate();
        turns.filter(|(_, pair)| pair[0] != pair[1]).map(|(at, _)| at).collect()
    }

    /// Where the word first leaves the support; `None` if it does not.
    pub fn unsupported(&self, word: &[u32], counts: &TransitionSupport) -> Option<Unsupported> {
        let taken = |(at, &state): (usize, &u32)| {
            let token = *word.get(at)? as usize;
            (counts.taken[state as usize][token] == 0).then_some(Unsupported::Transition { at })
        };
        let last = *self.states.last().expect("the start state") as usize;
        let ends = self.unknown.is_some() || counts.ends[last] > 0;
        let transition = self.states.iter().enumerate().find_map(taken);
        transition.or((!ends).then_some(Unsupported::End))
    }
}

/// The class of a word without each of its tokens; `None` for a token without which the word takes an
/// unknown transition. Empty for words of more than 3,000 tokens: the time grows with the square.
pub fn classes_without(automaton: &Partial<u32>, word: &[u32]) -> Vec<Option<u32>> {
    const MAX_TOKENS: usize = 3000;
    let path = input_path(automaton, word);
    let without = |at: usize| {
        let mut rest = word[at + 1..].iter();
        let state = State(*path.states.get(at)?);
        let end = rest.try_fold(state, |state, &token| automaton.next(state, Symbol(token)))?;
        Some(*automaton.output(end))
    };
    (0..word.len()).filter(|_| word.len() <= MAX_TOKENS).map(without).collect()
}

/// Counts the transitions of words, until one is unknown.
pub fn transition_support<'w>(
    automaton: &Partial<u32>,
    words: impl IntoIterator<Item = &'w [u32]>,
) -> TransitionSupport {
    let states = automaton.state_count();
    let mut counts = TransitionSupport {
        ends: vec![0; states],
        visits: vec![0; states],
        taken: vec![vec![0; automaton.alphabet().len()]; states],
    };
    for word in words {
        let mut state = Some(automaton.start());
        for &token in word {
            let Some(from) = state else { break };
            counts.visits[from.index()] += 1;
            state = automaton.next(from, Symbol(token));
            counts.taken[from.index()][token as usize] += u64::from(state.is_some());
        }
        if let Some(State(last)) = state {
            counts.visits[last as usize] += 1;
            counts.ends[last as usize] += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn_automata::Alphabet;

    /// `a` leads forward through classes 0, 0, 1; `b` stays; `a` at the end is unknown.
    fn automaton() -> Partial<u32> {
        let next = [Some(1), Some(0), Some(2), Some(1), None, Some(2)].map(|to| to.map(State));
        let alphabet = Alphabet::of_chars("ab").unwrap();
        Partial::new(alphabet, State(0), vec![0, 0, 1], next.to_vec()).unwrap()
    }

    #[test]
    fn a_path_has_states_classes_and_the_tokens_after_which_the_class_changes() {
        let path = input_path(&automaton(), &[1, 0, 0, 1]);
        assert_eq!(
            (&path.states[..], &path.classes[..]),
            (&[0, 0, 1, 2, 2][..], &[0, 0, 0, 1, 1][..])
        );
        assert_eq!((path.class(), path.turning_points()), (Some(1), vec![2]));
        let lost = input_path(&automaton(), &[0, 0, 0, 1]);
        assert_eq!((lost.class(), lost.unknown, lost.states.len()), (None, Some(2), 3));
    }

    #[test]
    fn the_class_without_a_token_is_that_of_the_shorter_word() {
        let word = [0, 1, 0, 1];
        let shorter = |at: usize| {
            let rest = [&word[..at], &word[at + 1..]].concat();
            input_path(&automaton(), &rest).class()
        };
        let expected: Vec<Option<u32>> = (0..4).map(shorter).collect();
        assert_eq!(classes_without(&automaton(), &word), expected);
        assert_eq!(expected, [Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(classes_without(&automaton(), &[0, 0, 0, 0])[0], None);
    }

    #[test]
    fn the_first_transition_without_support_is_found_and_an_end_without_support() {
        let words: [&[u32]; 2] = [&[0, 0], &[0, 0, 0]];
        let counts = transition_support(&automaton(), words);
        assert_eq!((&counts.ends[..], &counts.visits[..]), (&[0, 0, 1][..], &[2, 2, 2][..]));
        assert_eq!(counts.taken, [[2, 0], [2, 0], [0, 0]]);
        let unsupported = |word: &[u32]| input_path(&automaton(), word).unsupported(word, &counts);
        assert_eq!(unsupported(&[0, 0]), None);
        assert_eq!(unsupported(&[0, 1, 0]), Some(Unsupported::Transition { at: 1 }));
        assert_eq!(unsupported(&[0]), Some(Unsupported::End));
        assert_eq!(unsupported(&[0, 0, 0]), Some(Unsupported::Transition { at: 2 }));
    }
}
