//! Random words of a language.

use srnn_automata::{Moore, State, Symbol, Word};
use std::collections::BTreeSet;

/// A word and its class.
pub type LabelledWord = (Word, u32);

/// A stream of random numbers (SplitMix64) that depends on the seed only.
pub fn stream(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0xD134_2543_DE82_EF95);
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// A number below `n`.
pub fn below(n: usize, bits: &mut impl FnMut() -> u64) -> usize {
    ((u128::from(bits()) * n as u128) >> 64) as usize
}

/// A number in [0, 1).
pub fn unit(bits: &mut impl FnMut() -> u64) -> f64 {
    (bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// A uniform random word of a uniform random length.
pub fn uniform_word(symbols: usize, longest: usize, bits: &mut impl FnMut() -> u64) -> Word {
    let length = below(longest + 1, bits);
    (0..length).map(|_| Symbol(below(symbols, bits) as u32)).collect()
}

/// Distinct words that `next` makes, with their classes. Fewer than `count` if new ones get rare.
pub fn distinct(
    truth: &Moore<u32>,
    count: usize,
    mut next: impl FnMut() -> Option<Word>,
) -> Vec<LabelledWord> {
    let mut seen = BTreeSet::new();
    let mut words = vec![];
    for _ in 0..60 * count {
        if words.len() == count {
            break;
        }
        if let Some(word) = next().filter(|word| seen.insert(word.clone())) {
            let class = *truth.output_of(&word);
            words.push((word, class));
        }
    }
    words
}

/// Random words of a given class and length, each with the same probability.
pub struct ClassSampler<'a> {
    truth: &'a Moore<u32>,
    /// How many words of a length lead from a state to the class: `[classes, lengths, states]`.
    counts: [Vec<Vec<f64>>; 2],
}

impl<'a> ClassSampler<'a> {
    pub fn new(truth: &'a Moore<u32>, longest: usize) -> ClassSampler<'a> {
        let of_class = |class: u32| {
            let mut counts: Vec<Vec<f64>> =
                vec![truth.outputs().iter().map(|&o| f64::from(u8::from(o == class))).collect()];
            for length in 0..longest {
                let sum = |state: State| {
                    truth.successors(state).iter().map(|to| counts[length][to.index()]).sum()
                };
                counts.push(truth.states().map(sum).collect());
            }
            counts
        };
        ClassSampler { truth, counts: [of_class(0), of_class(1)] }
    }

    /// `None` if no word of this length has the class.
    pub fn word(&self, class: u32, length: usize, bits: &mut impl FnMut() -> u64) -> Option<Word> {
        let counts = &self.counts[class as usize];
        let mut state = self.truth.start();
        if counts[length][state.index()] == 0.0 {
            return None;
        }
        let mut word = Word::new();
        for left in (0..length).rev() {
            let weight = |to: &State| counts[left][to.index()];
            let mut rest = unit(bits) * counts[left + 1][state.index()];
            let possible = self.truth.successors(state).iter().enumerate();
            let mut possible = possible.filter(|(_, to)| weight(to) > 0.0);
            let mut chosen = possible.next()?;
            for next in possible {
                rest -= weight(chosen.1);
                if rest < 0.0 {
                    break;
                }
                chosen = next;
            }
            word.push(Symbol(chosen.0 as u32));
            state = *chosen.1;
        }
        Some(word)
    }
}
