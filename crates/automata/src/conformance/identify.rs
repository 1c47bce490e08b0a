//! Characterization set and state identifiers.

use super::{Minimal, sorted};
use crate::alphabet::Word;
use crate::moore::Moore;
use std::collections::HashMap;
use std::hash::Hash;

/// W: for any two states it contains a word that distinguishes them. It begins with ε, contains every
/// suffix of its words, has at most as many words as there are states, and is in length-lexicographic
/// order.
pub fn characterization_set<O: Eq + Hash>(specification: &Minimal<O>) -> Vec<Word> {
    sorted(separate(specification, usize::MAX).expect("no limit").words)
}

/// W_s for every state s: a subset of the characterization set that distinguishes s from every other
/// state. No word can be removed. In length-lexicographic order.
pub fn state_identifiers<O: Eq + Hash>(specification: &Minimal<O>) -> Vec<Vec<Word>> {
    let separation = separate(specification, usize::MAX).expect("no limit");
    let words = |indices: Vec<usize>| {
        sorted(indices.into_iter().map(|i| separation.words[i].clone()).collect())
    };
    separation.identifiers().into_iter().map(words).collect()
}

/// Words that distinguish all states, and the outputs they give.
pub(super) struct Separation {
    /// W, shorter words first; the first is ε.
    pub words: Vec<Word>,
    /// The output of each word from each state, as a number: `[words, states]`.
    outputs: Vec<Vec<u32>>,
    /// The words that split a class that contains the state, for every state: together they distinguish
    /// it from all others.
    splitters: Vec<Vec<usize>>,
}

impl Separation {
    /// W_s for every state s, as indices into `words`.
    pub fn identifiers(&self) -> Vec<Vec<usize>> {
        (0..self.splitters.len()).map(|state| self.identifier(state)).collect()
    }

    /// The splitters of a state without the redundant ones; longer words are removed first.
    fn identifier(&self, state: usize) -> Vec<usize> {
        let differs =
            |word: usize, other: usize| self.outputs[word][state] != self.outputs[word][other];
        let mut kept = self.splitters[state].clone();
        let states = 0..self.splitters.len();
        let mut witnesses: Vec<usize> = states
            .clone()
            .map(|other| kept.iter().filter(|&&word| differs(word, other)).count())
            .collect();
        for word in self.splitters[state].iter().copied().rev() {
            let distinguished = || states.clone().filter(|&other| differs(word, other));
            if distinguished().all(|other| witnesses[other] > 1) {
                distinguished().for_each(|other| witnesses[other] -= 1);
                kept.retain(|&other| other != word);
            }
        }
        kept
    }
}

/// Refines the classes of states with equal outputs: a·w is tried for every symbol a and every w that is
/// already in W. If no such word splits a class, the classes are closed under transitions. They have one
/// output each, because ε is in W. So they are the equivalence classes, here single states.
///
/// Fails with the number of words as soon as words × states exceeds `most`.
pub(super) fn separate<O: Eq + Hash>(
    specification: &Minimal<O>,
    most: usize,
) -> Result<Separation, usize> {
    let automaton = specification.automaton();
    let states = automaton.state_count();
    let mut classes = StateClasses { of: vec![0; states], count: 1 };
    let first = output_numbers(automaton);
    let mut found = Separation { words: vec![], outputs: vec![], splitters: vec![vec![]; states] };
    found.add(Word::new(), first, &mut classes);
    let mut tried = 0;
    while tried < found.words.len() && classes.count < states {
        for symbol in automaton.alphabet().symbols() {
            let after = &found.outputs[tried];
            let outputs: Vec<u32> =
                automaton.states().map(|s| after[automaton.next(s, symbol).index()]).collect();
            if classes.are_split_by(&outputs) {
                let word = [&[symbol], &found.words[tried][..]].concat();
                found.add(word, outputs, &mut classes);
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
    fn add(&mut self, word: Word, outputs: Vec<u32>, classes: &mut StateClasses) {
        for state in classes.split(&outputs) {
            self.splitters[state].push(self.words.len());
        }
        self.words.push(word);
        self.outputs.push(outputs);
    }
}

/// A partition of the states.
struct StateClasses {
    of: Vec<usize>,
    count: usize,
}

impl StateClasses {
    fn are_split_by(&self, outputs: &[u32]) -> bool {
        let mut first = vec![None; self.count];
        let pairs = self.of.iter().zip(outputs);
        pairs.into_iter().any(|(&class, output)| *first[class].get_or_insert(output) != output)
    }

    /// Splits the classes by output, and returns the states whose class was split.
    fn split(&mut self, outputs: &[u32]) -> Vec<usize> {
        let mut parts: HashMap<(usize, u32), usize> = HashMap::new();
        let mut parts_of = vec![0; self.count];
        let before = self.of.clone();
        for (class, &output) in self.of.iter_mut().zip(outputs) {
            let next = parts.len();
            let whole = *class;
            *class = *parts.entry((whole, output)).or_insert(next);
            parts_of[whole] += usize::from(*class == next);
        }
        self.count = parts.len();
        (0..before.len()).filter(|&state| parts_of[before[state]] > 1).collect()
    }
}

/// The outputs of all states as numbers: equal numbers for equal outputs.
fn output_numbers<O: Eq + Hash>(automaton: &Moore<O>) -> Vec<u32> {
    let mut numbers = HashMap::new();
    let mut number = |output| {
        let next = numbers.len() as u32;
        *numbers.entry(output).or_insert(next)
    };
    automaton.outputs().iter().map(&mut number).collect()
}
