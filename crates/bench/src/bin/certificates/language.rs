//! Training and validation words of a known automaton.

use srnn::key::{Key, Rng};
use srnn::task::{Dataset, Sequence, Split};
use srnn_automata::{Moore, State, Symbol, Word};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// What words there are.
pub struct Sample {
    /// Lengths of the training words.
    pub train: RangeInclusive<usize>,
    /// Lengths of the validation words; none is a training length.
    pub valid: RangeInclusive<usize>,
    /// At most so many distinct words of each length and class, uniformly.
    pub each: usize,
    /// And so many that walk from state to state: every next state is as likely as any other,
    /// however few symbols lead there.
    pub walks: usize,
}

/// About 2,000 training words of up to 20 symbols for two classes, and 2,000 longer ones.
impl Default for Sample {
    fn default() -> Sample {
        Sample { train: 0..=20, valid: 21..=40, each: 50, walks: 0 }
    }
}

impl Sample {
    pub fn draw(&self, truth: &Moore<u32>, key: &Key) -> Split {
        let ways = Ways::new(truth, *self.train.end().max(self.valid.end()));
        let set = |lengths: &RangeInclusive<usize>, key: Key| {
            let of_length =
                |length| self.of_length(&ways, length, &key.child("length", length as u64));
            Dataset {
                alphabet: truth.alphabet().names().to_vec(),
                classes: ["reject", "accept"].map(String::from).to_vec(),
                sequences: lengths.clone().flat_map(of_length).collect(),
            }
        };
        let train = set(&self.train, key.child("train", 0));
        Split { train, valid: set(&self.valid, key.child("valid", 0)), test: None }
    }

    fn of_length(&self, ways: &Ways, length: usize, key: &Key) -> Vec<Sequence> {
        let of_class = |label: u32| {
            let mut stream = key.child("class", label as u64).rng();
            let drawn = (0..TRIES * self.each).map_while(|_| ways.draw(length, label, &mut stream));
            let mut words = first(self.each, drawn);
            let mut stream = key.child("walks", label as u64).rng();
            let walks = (0..TRIES * self.walks).map(|_| ways.walk(length, &mut stream));
            let walks = walks.filter(|word| *ways.automaton.output_of(word) == label);
            words.extend(first(self.walks, walks));
            words.into_iter().map(move |word| sequence(&word, label))
        };
        (0..2).flat_map(of_class).collect()
    }
}

/// The first so many distinct words.
fn first(many: usize, words: impl Iterator<Item = Word>) -> BTreeSet<Word> {
    let mut distinct = BTreeSet::new();
    for word in words {
        distinct.insert(word);
        if distinct.len() == many {
            break;
        }
    }
    distinct
}

/// Draws for one wanted word: where there are few words nearly all of them are found.
const TRIES: usize = 20;

fn sequence(word: &[Symbol], label: u32) -> Sequence {
    Sequence { tokens: word.iter().map(|symbol| symbol.0).collect(), label }
}

/// How many words of each length lead from each state to each class, `[class][length][state]`.
struct Ways<'a> {
    automaton: &'a Moore<u32>,
    counts: [Vec<Vec<f64>>; 2],
}

impl<'a> Ways<'a> {
    fn new(automaton: &'a Moore<u32>, longest: usize) -> Ways<'a> {
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
        Ways { automaton, counts }
    }

    /// A word of this length and class, each equally likely, if there is one.
    fn draw(&self, length: usize, class: u32, stream: &mut Rng) -> Option<Word> {
        let counts = &self.counts[class as usize];
        let mut state = self.automaton.start();
        if counts[length][state.index()] == 0.0 {
            return None;
        }
        let mut word = Word::new();
        for left in (0..length).rev() {
            let successors = self.automaton.successors(state);
            let weights: Vec<f64> = successors.iter().map(|s| counts[left][s.index()]).collect();
            let symbol = choose(&weights, stream);
            word.push(Symbol(symbol as u32));
            state = successors[symbol];
        }
        Some(word)
    }

    /// A word of this length that goes to every next state with the same probability.
    fn walk(&self, length: usize, stream: &mut Rng) -> Word {
        let mut state = self.automaton.start();
        let step = |_| {
            let successors = self.automaton.successors(state);
            let next: Vec<State> =
                BTreeSet::from_iter(successors.iter().copied()).into_iter().collect();
            state = next[stream.below(next.len())];
            let symbols: Vec<usize> =
                (0..successors.len()).filter(|&x| successors[x] == state).collect();
            Symbol(symbols[stream.below(symbols.len())] as u32)
        };
        (0..length).map(step).collect()
    }
}

/// An index, by weight.
fn choose(weights: &[f64], stream: &mut Rng) -> usize {
    let mut left = stream.unit() * weights.iter().sum::<f64>();
    for (index, &weight) in weights.iter().enumerate() {
        left -= weight;
        if weight > 0.0 && left < 0.0 {
            return index;
        }
    }
    weights.iter().rposition(|&weight| weight > 0.0).expect("a way on")
}
