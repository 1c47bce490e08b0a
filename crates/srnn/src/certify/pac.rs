//! The fallback without a proof: a PAC bound on how often an automaton and a network differ on
//! random words.

use crate::engine::Real;
use crate::engine::{Mode, Runner};
use crate::extract::{WordSet, agreement, classify_words};
use crate::key::Key;
use srnn_automata::{Partial, Symbol, Word};
use std::convert::Infallible;

/// Random words: a length drawn uniformly from 0 to `longest`, then symbols drawn uniformly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// Number of symbols in the alphabet.
    pub symbols: usize,
    /// The largest length.
    pub longest: usize,
}

impl Distribution {
    /// Draws `count` words. The same key gives the same words.
    pub fn draw(&self, count: usize, key: &Key) -> Vec<Word> {
        let mut rng = key.child("words of a distribution", 0).rng();
        let word = |_| {
            let length = rng.below(self.longest + 1);
            (0..length).map(|_| Symbol(rng.below(self.symbols) as u32)).collect()
        };
        (0..count).map(word).collect()
    }
}

/// A bound with confidence 1 − δ: network and automaton differ with probability at most ε on a word
/// drawn from `distribution`. It says nothing about any single word.
#[derive(Clone, Debug, PartialEq)]
pub struct Pac {
    /// The distribution of the words.
    pub distribution: Distribution,
    /// Number of words drawn.
    pub words: usize,
    /// Number of drawn words on which network and automaton differ.
    pub differences: usize,
    /// The first of these words.
    pub first: Option<Word>,
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
}

/// Draws words and bounds the probability of a difference with confidence 1 − `delta`.
pub fn pac<F: Real, E: Runner<F, Error = Infallible>>(
    engine: &mut E,
    automaton: &Partial<u32>,
    distribution: Distribution,
    words: usize,
    delta: f64,
    key: &Key,
) -> Pac {
    let drawn = WordSet::List(distribution.draw(words, key));
    let found = agreement(&classify_words(engine, drawn, Mode::default()), automaton);
    let differences = words - found.equal;
    let epsilon = upper_bound(words, differences, delta);
    Pac { distribution, words, differences, first: found.difference, epsilon, delta }
}

/// The largest ε for which at most `differences` of `words` have probability δ or more: the upper
/// confidence bound of Clopper and Pearson.
fn upper_bound(words: usize, differences: usize, delta: f64) -> f64 {
    if differences >= words {
        return 1.0;
    }
    let (mut low, mut high) = (differences as f64 / words as f64, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        match at_most(words, differences, middle) > delta {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// `P[Binomial(n, p) ≤ k]`.
fn at_most(n: usize, k: usize, p: f64) -> f64 {
    let (ln_p, ln_q) = (p.ln(), (1.0 - p).ln());
    let mut ln_choose = 0.0;
    let mut sum = 0.0;
    for i in 0..=k {
        sum += (ln_choose + i as f64 * ln_p + (n - i) as f64 * ln_q).exp();
        ln_choose += ((n - i) as f64).ln() - ((i + 1) as f64).ln();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_difference_the_bound_is_the_rule_of_three() {
        // (1 − ε)ⁿ = δ.
        let exact = |n: f64, delta: f64| 1.0 - delta.powf(1.0 / n);
        for (n, delta) in [(100, 0.05), (10_000, 0.01), (1_000_000, 1e-6)] {
            let (found, exact) = (upper_bound(n, 0, delta), exact(n as f64, delta));
            assert!((found / exact - 1.0).abs() < 1e-6, "{n} {delta}: {found} {exact}");
        }
    }

    #[test]
    fn the_bound_has_the_values_of_the_tables() {
        // Clopper–Pearson, one-sided 95 %: 1 of 10 gives 0.39416, 5 of 20 gives 0.45558.
        assert!((upper_bound(10, 1, 0.05) - 0.394_163).abs() < 1e-5);
        assert!((upper_bound(20, 5, 0.05) - 0.455_582).abs() < 1e-5);
        assert_eq!(upper_bound(7, 7, 0.05), 1.0);
    }

    #[test]
    fn words_are_drawn_with_every_length_and_symbol_and_the_same_for_a_key() {
        let distribution = Distribution { symbols: 3, longest: 4 };
        let words = distribution.draw(500, &Key::new(1));
        assert_eq!(words, distribution.draw(500, &Key::new(1)));
        assert_ne!(words, distribution.draw(500, &Key::new(2)));
        for length in 0..=4 {
            let share = words.iter().filter(|word| word.len() == length).count();
            assert!((60..140).contains(&share), "{share} words of length {length}");
        }
        assert!((0..3).all(|symbol| words.iter().any(|word| word.contains(&Symbol(symbol)))));
    }
}
