//! Random training and validation words of a known automaton.

use srnn::engine::key::{Key, Rng};
use srnn::task::{Dataset, Sequence, Split};
use srnn_automata::{Moore, State, Symbol, Word};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Lengths and numbers of words.
pub struct WordSample {
    /// Lengths of the training words.
    pub train: RangeInclusive<usize>,
    /// Lengths of the validation words; disjoint from the training lengths.
    pub valid: RangeInclusive<usize>,
    /// Largest number of distinct words of each length and class, drawn uniformly.
    pub each: usize,
    /// Largest number of additional words from random walks in which every next state is equally
    /// likely, however few symbols lead to it.
    pub walks: usize,
}

/// About 2,000 training words of up to 20 symbols for two classes, and 2,000 longer ones.
impl Default for WordSample {
    fn default() -> WordSample {
        WordSample { train: 0..=20, valid: 21..=40, each: 50, walks: 0 }
    }
}

impl WordSample {
    pub fn draw(&self, truth: &Moore<u32>, key: &Key) -> Split {
        let path_counts = PathCounts::new(truth, *self.train.end().max(self.valid.end()));
        let set = |lengths: &RangeInclusive<usize>, key: Key| {
            let of_length =
                |length| self.of_length(&path_counts, length, &key.child("length", length as u64));
            Dataset {
                alphabet: truth.alphabet().names().to_vec(),
                classes: ["reject", "accept"].map(String::from).to_vec(),
                sequences: lengths.clone().flat_map(of_length).collect(),
            }
        };
        let train = set(&self.train, key.child("train", 0));
        Split { train, valid: set(&self.valid, key.child("valid", 0)), test: None }
    }

    fn of_length(&self, path_counts: &PathCounts, length: usize, key: &Key) -> Vec<Sequence> {
        let of_class = |label: u32| {
            let mut rng = key.child("class", label as u64).rng();
            let drawn = (0..DRAWS_PER_WORD * self.each)
                .map_while(|_| path_counts.draw(length, label, &mut rng));
            let mut words = first_distinct(self.each, drawn);
            let mut rng = key.child("walks", label as u64).rng();
            let walks =
                (0..DRAWS_PER_WORD * self.walks).map(|_| path_counts.walk(length, &mut rng));
            let walks = walks.filter(|word| *path_counts.automaton.output_of(word) == label);
            words.extend(first_distinct(self.walks, walks));
            words.into_iter().map(move |word| sequence(&word, label))
        };
        (0..2).flat_map(of_class).collect()
    }
}

/// The first `count` distinct words.
fn first_distinct(count: usize, words: impl Iterator<Item = Word>) -> BTreeSet<Word> {
    let mut distinct = BTreeSet::new();
    for word in words {
        distinct.insert(word);
        if distinct.len() == count {
            break;
        }
    }
    distinct
}

/// Draws for each wanted word: enough to find nearly all words if there are few.
const DRAWS_PER_WORD: usize = 20;

fn sequence(word: &[Symbol], label: u32) -> Sequence {
    Sequence { tokens: word.iter().map(|symbol| symbol.0).collect(), label }
}

/// The number of words of each length that lead from each state to each class:
/// `[class][length][state]`.
struct PathCounts<'a> {
    automaton: &'a Moore<u32>,
    counts: [Vec<Vec<f64>>; 2],
}

impl<'a> PathCounts<'a> {
    fn new(automaton: &'a Moore<u32>, longest: usize) -> PathCounts<'a> {
        let counts = [0, 1].map(|class| {
            let end = |state| f64::from(u8::from(*automaton.output(state) == class));
            let mut counts: Vec<Vec<f64>> = vec![automaton.states().map(end).collect()];
            for length in 0..longest {
                let sum = |state: State| {
                    automaton.successors(state).iter().map(|s| counts[length][s.index()]).sum()
                };
                counts.push(automaton.states().map(sum).collect());
            }
            counts
        });
        PathCounts { automaton, counts }
    }

    /// A uniformly drawn word of this length and class; `None` if there is none.
    fn draw(&self, length: usize, class: u32, rng: &mut Rng) -> Option<Word> {
        let counts = &self.counts[class as usize];
        let mut state = self.automaton.start();
        if counts[length][state.index()] == 0.0 {
            return None;
        }
        let mut word = Word::new();
        for left in (0..length).rev() {
            let successors = self.automaton.successors(state);
            let weights: Vec<f64> = successors.iter().map(|s| counts[left][s.index()]).collect();
            let symbol = choose(&weights, rng);
            word.push(Symbol(symbol as u32));
            state = successors[symbol];
        }
        Some(word)
    }

    /// A random walk of this length in which every next state is equally likely.
    fn walk(&self, length: usize, rng: &mut Rng) -> Word {
        let mut state = self.automaton.start();
        let step = |_| {
            let successors = self.automaton.successors(state);
            let next: Vec<State> =
                BTreeSet::from_iter(successors.iter().copied()).into_iter().collect();
            state = next[rng.below(next.len())];
            let symbols: Vec<usize> =
                (0..successors.len()).filter(|&x| successors[x] == state).collect();
            Symbol(symbols[rng.below(symbols.len())] as u32)
        };
        (0..length).map(step).collect()
    }
}

/// A random index, drawn in proportion to the weights.
fn choose(weights: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.unit() * weights.iter().sum::<f64>();
    for (index, &weight) in weights.iter().enumerate() {
        left -= weight;
        if weight > 0.0 && left < 0.0 {
            return index;
        }
    }
    weights.iter().rposition(|&weight| weight > 0.0).expect("a positive weight")
}
