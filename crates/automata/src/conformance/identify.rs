//! Words that tell states apart.

use super::{Minimal, in_order};
use crate::alphabet::Word;
use crate::moore::Moore;
use std::collections::HashMap;
use std::hash::Hash;

/// W: for any two states it has a word after which their outputs differ. It begins with ε, holds
/// every suffix of its words and at most as many words as there are states, in
/// length-lexicographic order.
pub fn characterization_set<O: Eq + Hash>(specification: &Minimal<O>) -> Vec<Word> {
    in_order(separate(specification, usize::MAX).expect("no limit").words)
}

/// W_s for every state s: words of the characterization set, one for every other state after which
/// its output differs from that of s; none can be spared. In length-lexicographic order.
pub fn state_identifiers<O: Eq + Hash>(specification: &Minimal<O>) -> Vec<Vec<Word>> {
    let separation = separate(specification, usize::MAX).expect("no limit");
    let words = |places: Vec<usize>| {
        in_order(places.into_iter().map(|place| separation.words[place].clone()).collect())
    };
    separation.identifiers().into_iter().map(words).collect()
}

/// How states were told apart.
pub(super) struct Separation {
    /// W, shorter words first; the first is ε.
    pub words: Vec<Word>,
    /// What states answer, numbered: `[words, states]`.
    answers: Vec<Vec<u32>>,
    /// For every state the words that split a class with it: together they tell it from all others.
    splitters: Vec<Vec<usize>>,
}

impl Separation {
    /// W_s for every state s, as places in `words`.
    pub fn identifiers(&self) -> Vec<Vec<usize>> {
        (0..self.splitters.len()).map(|state| self.identifier(state)).collect()
    }

    /// The splitters of a state, without those that the others make superfluous; long words go
    /// first.
    fn identifier(&self, state: usize) -> Vec<usize> {
        let differs =
            |word: usize, other: usize| self.answers[word][state] != self.answers[word][other];
        let mut kept = self.splitters[state].clone();
        let states = 0..self.splitters.len();
        let mut witnesses: Vec<usize> = states
            .clone()
            .map(|other| kept.iter().filter(|&&word| differs(word, other)).count())
            .collect();
        for word in self.splitters[state].iter().copied().rev() {
            let told = || states.clone().filter(|&other| differs(word, other));
            if told().all(|other| witnesses[other] > 1) {
                told().for_each(|other| witnesses[other] -= 1);
                kept.retain(|&other| other != word);
            }
        }
        kept
    }
}

/// Refines the classes of states with equal answers: a·w is tried for every symbol a and every w
/// that is in W already. When none splits a class any more, classes are closed under transitions
/// and have one output each, as ε is in W: they are the classes of equivalence, here single states.
///
/// `Err` is how many words there are as soon as they and the states give more than `most` pairs.
pub(super) fn separate<O: Eq + Hash>(
    specification: &Minimal<O>,
    most: usize,
) -> Result<Separation, usize> {
    let automaton = specification.automaton();
    let states = automaton.state_count();
    let mut classes = StateClasses { of: vec![0; states], count: 1 };
    let first = numbered(automaton);
    let mut found = Separation { words: vec![], answers: vec![], splitters: vec![vec![]; states] };
    found.add(Word::new(), first, &mut classes);
    let mut tried = 0;
    while tried < found.words.len() && classes.count < states {
        for symbol in automaton.alphabet().symbols() {
            let after = &found.answers[tried];
            let answers: Vec<u32> =
                automaton.states().map(|s| after[automaton.next(s, symbol).index()]).collect();
            if classes.are_split_by(&answers) {
                let word = [&[symbol], &found.words[tried][..]].concat();
                found.add(word, answers, &mut classes);
            }
        }
        if found.words.len().saturating_mul(states) > most {
            return Err(found.words.len());
        }
        tried += 1;
    }
    assert_eq!(classes.count, states, "two states of a minimal automaton are equivalent");
    Ok(found)
}

impl Separation {
    fn add(&mut self, word: Word, answers: Vec<u32>, classes: &mut StateClasses) {
        for state in classes.split(&answers) {
            self.splitters[state].push(self.words.len());
        }
        self.words.push(word);
        self.answers.push(answers);
    }
}

/// A partition of the states.
struct StateClasses {
    of: Vec<usize>,
    count: usize,
}

impl StateClasses {
    fn are_split_by(&self, answers: &[u32]) -> bool {
        let mut first = vec![None; self.count];
        let pairs = self.of.iter().zip(answers);
        pairs.into_iter().any(|(&class, answer)| *first[class].get_or_insert(answer) != answer)
    }

    /// Divides classes by answers, and gives the states whose class was divided.
    fn split(&mut self, answers: &[u32]) -> Vec<usize> {
        let mut parts: HashMap<(usize, u32), usize> = HashMap::new();
        let mut parts_of = vec![0; self.count];
        let before = self.of.clone();
        for (class, &answer) in self.of.iter_mut().zip(answers) {
            let next = parts.len();
            let whole = *class;
            *class = *parts.entry((whole, answer)).or_insert(next);
            parts_of[whole] += usize::from(*class == next);
        }
        self.count = parts.len();
        (0..before.len()).filter(|&state| parts_of[before[state]] > 1).collect()
    }
}

/// The output of every state, equal numbers for equal outputs.
fn numbered<O: Eq + Hash>(automaton: &Moore<O>) -> Vec<u32> {
    let mut numbers = HashMap::new();
    let mut number = |output| {
        let next = numbers.len() as u32;
        *numbers.entry(output).or_insert(next)
    };
    automaton.outputs().iter().map(&mut number).collect()
}
