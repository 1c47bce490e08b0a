//! The shortest edit of a word that changes the answer of an automaton.

use serde::Serialize;
use srnn_automata::{Partial, State, Symbol};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A change of one token. Places count the tokens of the unedited word from 0. Edits are ordered by
/// place, then kind, then token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Edit {
    /// Another token in place of a token.
    Replace {
        /// The place.
        at: usize,
        /// The new token.
        token: u32,
    },
    /// A token is left out.
    Delete {
        /// The place.
        at: usize,
    },
    /// A token before the token at `at`; after the last one if `at` is the length of the word.
    Insert {
        /// The place.
        at: usize,
        /// The new token.
        token: u32,
    },
}

/// An edited word whose class differs from that of the unedited one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// The edits, by their places.
    pub edits: Vec<Edit>,
    /// The edited word.
    pub word: Vec<u32>,
    /// Its class.
    pub class: u32,
}

/// The table of the search would be too large: the word is too long for this number of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{tokens} tokens and {states} states are too many for the search (limit: {MAX_CELLS} pairs)"
)]
pub struct FlipTooLarge {
    /// The length of the word.
    pub tokens: usize,
    /// The number of states.
    pub states: usize,
}

/// The largest number of pairs of a place and a state; the table has four bytes for each.
const MAX_CELLS: usize = 1 << 25;
/// The distance of pairs from which no other class is reachable.
const NEVER: u32 = u32::MAX;

impl Edit {
    /// The place of the edit.
    pub fn at(&self) -> usize {
        match *self {
            Edit::Replace { at, .. } | Edit::Delete { at } | Edit::Insert { at, .. } => at,
        }
    }

    fn is_insert(&self) -> bool {
        matches!(self, Edit::Insert { .. })
    }

    fn key(&self) -> (usize, u8, u32) {
        match *self {
            Edit::Replace { at, token } => (at, 0, token),
            Edit::Delete { at } => (at, 1, 0),
            Edit::Insert { at, token } => (at, 2, token),
        }
    }
}

impl Ord for Edit {
    fn cmp(&self, other: &Edit) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Edit {
    fn partial_cmp(&self, other: &Edit) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The edited word. Insertions at a place come before its token, in their order.
///
/// # Panics
/// If a place is outside the word.
pub fn edited(word: &[u32], edits: &[Edit]) -> Vec<u32> {
    let mut result = Vec::with_capacity(word.len() + edits.len());
    for at in 0..=word.len() {
        let here = || edits.iter().filter(|edit| edit.at() == at);
        result.extend(here().filter_map(|edit| match *edit {
            Edit::Insert { token, .. } => Some(token),
            _ => None,
        }));
        let change = here().find(|edit| !edit.is_insert());
        match change {
            None => result.extend(word.get(at)),
            Some(&Edit::Replace { token, .. }) if at < word.len() => result.push(token),
            Some(Edit::Delete { .. }) if at < word.len() => {}
            Some(edit) => panic!("{edit:?} in a word of {} tokens", word.len()),
        }
    }
    assert!(edits.iter().all(|edit| edit.at() <= word.len()), "{edits:?} beyond the end");
    result
}

/// The fewest edits after which the automaton gives another class; `None` if no word has another one.
/// Among as few edits, the first edit is as early as possible, then the second, and so on; at one
/// place replacements come before deletions before insertions, and tokens in the order of the alphabet.
/// Edited words take known transitions only. A word that takes an unknown transition has no class, so
/// that any class is another one.
///
/// # Errors
/// If the word is too long for the number of states.
pub fn shortest_flip(automaton: &Partial<u32>, word: &[u32]) -> Result<Option<Flip>, FlipTooLarge> {
    let (tokens, states) = (word.len(), automaton.state_count());
    if (tokens + 1).saturating_mul(states) > MAX_CELLS {
        return Err(FlipTooLarge { tokens, states });
    }
    let symbols: Vec<Symbol> = word.iter().map(|&token| Symbol(token)).collect();
    let class = automaton.run(&symbols).map(|end| *automaton.output(end));
    let distances = Distances::of(automaton, &symbols, class);
    if distances.at(0, automaton.start()) == NEVER {
        return Ok(None);
    }
    let edits = earliest_edits(automaton, &symbols, &distances);
    let word = edited(word, &edits);
    let end = automaton.run(&word.iter().map(|&token| Symbol(token)).collect::<Vec<_>>());
    let class = *automaton.output(end.expect("edited words take known transitions"));
    Ok(Some(Flip { edits, word, class }))
}

/// The fewest edits of the rest of the word from each place and state, so that it ends in a state of
/// another class.
struct Distances {
    states: usize,
    /// `[T+1, states]`.
    cells: Vec<u32>,
}

impl Distances {
    fn of(automaton: &Partial<u32>, word: &[Symbol], class: Option<u32>) -> Distances {
        let states = automaton.state_count();
        let (successors, predecessors) = neighbours(automaton);
        let mut cells = vec![NEVER; (word.len() + 1) * states];
        let (_, last) = cells.split_at_mut(word.len() * states);
        for state in automaton.states() {
            let other = Some(*automaton.output(state)) != class;
            last[state.index()] = if other { 0 } else { NEVER };
        }
        relax_insertions(last, &predecessors);
        for place in (0..word.len()).rev() {
            let (front, rest) = cells.split_at_mut((place + 1) * states);
            let (here, next) = (&mut front[place * states..], &rest[..states]);
            for state in automaton.states() {
                let kept = automaton.next(state, word[place]).map(|to| next[to.index()]);
                let replaced = successors[state.index()].iter().map(|to| next[to.index()]);
                let deleted = next[state.index()];
                let changed = replaced.chain([deleted]).min().unwrap_or(NEVER).saturating_add(1);
                here[state.index()] = kept.unwrap_or(NEVER).min(changed);
            }
            relax_insertions(here, &predecessors);
        }
        Distances { states, cells }
    }

    fn at(&self, place: usize, state: State) -> u32 {
        self.cells[place * self.states + state.index()]
    }
}

/// The distinct successors and predecessors of each state.
fn neighbours(automaton: &Partial<u32>) -> (Vec<Vec<State>>, Vec<Vec<State>>) {
    let mut predecessors = vec![vec![]; automaton.state_count()];
    let of = |state: State| {
        let mut to: Vec<State> = automaton.successors(state).iter().copied().flatten().collect();
        to.sort_unstable();
        to.dedup();
        to
    };
    let successors: Vec<Vec<State>> = automaton.states().map(of).collect();
    for (state, to) in automaton.states().zip(&successors) {
        to.iter().for_each(|to| predecessors[to.index()].push(state));
    }
    (successors, predecessors)
}

/// Lowers the distances of one place by insertions, each of which costs 1 (Dijkstra).
fn relax_insertions(distances: &mut [u32], predecessors: &[Vec<State>]) {
    let finite = distances.iter().enumerate().filter(|&(_, &distance)| distance != NEVER);
    let mut waiting: BinaryHeap<Reverse<(u32, usize)>> =
        finite.map(|(state, &distance)| Reverse((distance, state))).collect();
    while let Some(Reverse((distance, state))) = waiting.pop() {
        if distance > distances[state] {
            continue;
        }
        for from in &predecessors[state] {
            if distance + 1 < distances[from.index()] {
                distances[from.index()] = distance + 1;
                waiting.push(Reverse((distance + 1, from.index())));
            }
        }
    }
}

/// Follows the distances from the start. An edit is taken wherever one is on a shortest way, so that
/// each edit is as early as possible.
fn earliest_edits(automaton: &Partial<u32>, word: &[Symbol], distances: &Distances) -> Vec<Edit> {
    let (mut at, mut state, mut edits) = (0, automaton.start(), vec![]);
    while distances.at(at, state) > 0 {
        match best_edit(automaton, word, distances, (at, state)) {
            Some((edit, place, to)) => {
                edits.push(edit);
                (at, state) = (place, to);
            }
            None => {
                state = automaton.next(state, word[at]).expect("a kept token has a transition");
                at += 1;
            }
        }
    }
    edits
}

/// The first edit at a place that is on a shortest way, and the pair after it.
fn best_edit(
    automaton: &Partial<u32>,
    word: &[Symbol],
    distances: &Distances,
    (at, state): (usize, State),
) -> Option<(Edit, usize, State)> {
    let wanted = distances.at(at, state).checked_sub(1)?;
    let shortens = |place: usize, to: &State| distances.at(place, *to) == wanted;
    let targets = || {
        let symbols = automaton.alphabet().symbols();
        symbols.filter_map(|symbol| Some((symbol, automaton.next(state, symbol)?)))
    };
    if at < word.len() {
        let found = targets().find(|(symbol, to)| *symbol != word[at] && shortens(at + 1, to));
        if let Some((symbol, to)) = found {
            return Some((Edit::Replace { at, token: symbol.0 }, at + 1, to));
        }
        if shortens(at + 1, &state) {
            return Some((Edit::Delete { at }, at + 1, state));
        }
    }
    let (symbol, to) = targets().find(|(_, to)| shortens(at, to))?;
    Some((Edit::Insert { at, token: symbol.0 }, at, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn_automata::{Alphabet, random_dfa};

    fn bits(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ (state >> 31)
        }
    }

    /// A random automaton of a few states, some transitions unknown.
    fn random_partial(seed: u64, holes: bool) -> Partial<u32> {
        let mut bits = bits(seed);
        let alphabet =
            Alphabet::of_chars(if seed.is_multiple_of(2) { "ab" } else { "abc" }).unwrap();
        let states = 1 + (bits() >> 40) as u32 % 5;
        let dfa = random_dfa(states, &alphabet, 0.4, &mut bits);
        let mut keep = || !holes || !(bits() >> 40).is_multiple_of(4);
        let next = dfa.states().flat_map(|s| dfa.successors(s).to_vec()).collect::<Vec<_>>();
        let next = next.into_iter().map(|to| keep().then_some(to)).collect();
        let outputs = dfa.outputs().iter().map(|&accepts| u32::from(accepts)).collect();
        Partial::new(alphabet, State(0), outputs, next).unwrap()
    }

    fn class(automaton: &Partial<u32>, word: &[u32]) -> Option<u32> {
        let symbols: Vec<Symbol> = word.iter().map(|&token| Symbol(token)).collect();
        automaton.run(&symbols).map(|end| *automaton.output(end))
    }

    /// The first list of `count` edits, in the documented order, that gives another class: by trying
    /// all of them.
    fn by_force(automaton: &Partial<u32>, word: &[u32], count: usize) -> Option<Vec<Edit>> {
        let given = class(automaton, word);
        let symbols = automaton.alphabet().len() as u32;
        let mut edits = vec![];
        fn extend(
            edits: &mut Vec<Edit>,
            (from, length): (usize, usize),
            (symbols, left): (u32, usize),
            word: &[u32],
            flips: &dyn Fn(&[Edit]) -> bool,
        ) -> bool {
            if left == 0 {
                return flips(edits);
            }
            for at in from..=length {
                let replace = (0..symbols).map(|token| Edit::Replace { at, token });
                let replace = replace.filter(|edit| match edit {
                    Edit::Replace { at, token } => word.get(*at).is_some_and(|t| t != token),
                    _ => false,
                });
                let delete = (at < length).then_some(Edit::Delete { at });
                let insert = (0..symbols).map(|token| Edit::Insert { at, token });
                for edit in replace.chain(delete).chain(insert).collect::<Vec<_>>() {
                    edits.push(edit);
                    let next = if edit.is_insert() { at } else { at + 1 };
                    if extend(edits, (next, length), (symbols, left - 1), word, flips) {
                        return true;
                    }
                    edits.pop();
                }
            }
            false
        }
        let flips = |edits: &[Edit]| {
            let class = class(automaton, &edited(word, edits));
            class.is_some() && class != given
        };
        extend(&mut edits, (0, word.len()), (symbols, count), word, &flips).then_some(edits)
    }

    #[test]
    fn the_shortest_edit_is_the_first_one_that_trying_all_edits_finds() {
        let mut found = [0; 4];
        for seed in 0..1200 {
            let automaton = random_partial(seed, seed.is_multiple_of(3));
            let mut bits = bits(seed + 1000);
            let symbols = automaton.alphabet().len() as u32;
            let length = (bits() >> 40) as usize % 5;
            let word: Vec<u32> = (0..length).map(|_| (bits() >> 40) as u32 % symbols).collect();
            let flip = shortest_flip(&automaton, &word).unwrap();
            let expected = (1..=3).find_map(|count| by_force(&automaton, &word, count));
            match (&flip, &expected) {
                (Some(flip), Some(edits)) => {
                    assert_eq!(&flip.edits, edits, "seed {seed}, word {word:?}");
                    assert_eq!(Some(flip.class), class(&automaton, &flip.word));
                    assert_ne!(Some(flip.class), class(&automaton, &word));
                    found[edits.len()] += 1;
                }
                (Some(flip), None) => assert!(flip.edits.len() > 3, "seed {seed}: {flip:?}"),
                (None, Some(edits)) => panic!("seed {seed}: {edits:?} is not found"),
                (None, None) => found[0] += 1,
            }
        }
        assert!(found.iter().all(|&count| count >= 8), "all cases occur: {found:?}");
    }

    #[test]
    fn a_single_class_cannot_be_left() {
        let alphabet = Alphabet::of_chars("a").unwrap();
        let one = Partial::new(alphabet, State(0), vec![0], vec![Some(State(0))]).unwrap();
        assert_eq!(shortest_flip(&one, &[0, 0]), Ok(None));
    }

    #[test]
    fn several_insertions_at_the_end_keep_their_order() {
        // Only `ab` is of class 1.
        let (a, b, c) = (Some(State(1)), Some(State(2)), Some(State(3)));
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let next = vec![a, c, c, b, c, c, c, c];
        let only_ab = Partial::new(alphabet, State(0), vec![0, 0, 1, 0], next).unwrap();
        let flip = shortest_flip(&only_ab, &[]).unwrap().unwrap();
        let edits = [Edit::Insert { at: 0, token: 0 }, Edit::Insert { at: 0, token: 1 }];
        assert_eq!((&flip.edits[..], &flip.word[..], flip.class), (&edits[..], &[0, 1][..], 1));
    }

    #[test]
    fn words_that_are_too_long_are_refused_with_the_numbers() {
        let alphabet = Alphabet::of_chars("a").unwrap();
        let one = Partial::new(alphabet, State(0), vec![0], vec![Some(State(0))]).unwrap();
        let error = shortest_flip(&one, &vec![0; MAX_CELLS]).unwrap_err();
        assert_eq!((error.tokens, error.states), (MAX_CELLS, 1));
    }
}
