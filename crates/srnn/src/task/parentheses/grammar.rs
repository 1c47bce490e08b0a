//! Random balanced strings: `S → (S) | SS | letter`, each rule with probability 1/3.
//!
//! The grammar is a critical branching process, so deep strings are rare, and rejection sampling
//! would be slow. With q(d) the probability of a depth of at most d and p(d) of exactly d,
//!
//! ```text
//! q(d) = (1 + q(d−1) + q(d)²) / 3          p(d) = q(d) − q(d−1)
//! ```
//!
//! and a string of exactly depth d is drawn top down, each rule by its probability given d. The
//! strings have the distribution of the grammar given the depth.

use super::{CLOSE, LETTERS, OPEN};
use crate::key::Rng;
use std::ops::RangeInclusive;

/// The probabilities of depths.
pub(super) struct DepthDistribution {
    /// `[d]`: 1 − q(d). Not q, which is nearly 1 for large d.
    above: Vec<f64>,
}

/// A symbol of the derivation that is not yet written: a nonterminal with a depth, or `)`.
#[derive(Clone, Copy)]
enum PendingSymbol {
    Any,
    AtMost(usize),
    Exactly(usize),
    Close,
}

/// A rule of the grammar, with the depths of its nonterminals.
enum Production {
    Letter,
    Nest(PendingSymbol),
    Pair(PendingSymbol, PendingSymbol),
}

impl DepthDistribution {
    /// The probabilities of depths up to `deepest`.
    pub(super) fn up_to(deepest: usize) -> DepthDistribution {
        let mut above = Vec::with_capacity(deepest + 1);
        let mut last = 1.0f64;
        for _ in 0..=deepest {
            // The smaller root of the equation above, for r = 1 − q, without cancellation.
            last = 2.0 * last / ((1.0 + 4.0 * last).sqrt() + 1.0);
            above.push(last);
        }
        DepthDistribution { above }
    }

    fn at_most(&self, depth: usize) -> f64 {
        1.0 - self.above[depth]
    }

    fn at_most_before(&self, depth: usize) -> f64 {
        depth.checked_sub(1).map_or(0.0, |before| self.at_most(before))
    }

    fn exactly(&self, depth: usize) -> f64 {
        depth.checked_sub(1).map_or(1.0, |before| self.above[before]) - self.above[depth]
    }

    /// Draws a depth of the range by its probability.
    pub(super) fn draw_depth(&self, range: &RangeInclusive<usize>, rng: &mut Rng) -> usize {
        let weights: Vec<f64> = range.clone().map(|depth| self.exactly(depth)).collect();
        range.start() + draw_index(&weights, rng)
    }

    fn draw_rule(&self, symbol: PendingSymbol, rng: &mut Rng) -> Production {
        match symbol {
            PendingSymbol::Any => match rng.below(3) {
                0 => Production::Nest(PendingSymbol::Any),
                1 => Production::Pair(PendingSymbol::Any, PendingSymbol::Any),
                _ => Production::Letter,
            },
            PendingSymbol::Exactly(depth @ 1..) => {
                let (exactly, before) = (self.exactly(depth), self.at_most_before(depth));
                let one = exactly * before;
                let nest = self.exactly(depth - 1);
                let (this, less) =
                    (PendingSymbol::Exactly(depth), PendingSymbol::AtMost(depth - 1));
                match draw_index(&[nest, exactly * exactly, one, one], rng) {
                    0 => Production::Nest(PendingSymbol::Exactly(depth - 1)),
                    1 => Production::Pair(this, this),
                    2 => Production::Pair(this, less),
                    _ => Production::Pair(less, this),
                }
            }
            PendingSymbol::AtMost(depth) => {
                let most = self.at_most(depth);
                match draw_index(&[1.0, most * most, self.at_most_before(depth)], rng) {
                    0 => Production::Letter,
                    1 => Production::Pair(symbol, symbol),
                    _ => Production::Nest(PendingSymbol::AtMost(depth - 1)),
                }
            }
            PendingSymbol::Exactly(0) => self.draw_rule(PendingSymbol::AtMost(0), rng),
            PendingSymbol::Close => unreachable!("a parenthesis has no rule"),
        }
    }

    /// Draws a string of exactly this depth; `None` if it is longer than `longest`.
    pub(super) fn draw_string(
        &self,
        depth: usize,
        longest: usize,
        rng: &mut Rng,
    ) -> Option<Vec<u32>> {
        self.derive(PendingSymbol::Exactly(depth), longest, rng)
    }

    /// Draws a string of any depth; `None` if it is longer than `longest`.
    pub(super) fn draw_any_string(longest: usize, rng: &mut Rng) -> Option<Vec<u32>> {
        DepthDistribution { above: vec![] }.derive(PendingSymbol::Any, longest, rng)
    }

    /// Leftmost derivation. The number of written and pending symbols never shrinks, so a string
    /// that is too long is given up early.
    fn derive(&self, start: PendingSymbol, longest: usize, rng: &mut Rng) -> Option<Vec<u32>> {
        let (mut written, mut pending) = (Vec::new(), vec![start]);
        while let Some(next) = pending.pop() {
            if written.len() + pending.len() + 1 > longest {
                return None;
            }
            if let PendingSymbol::Close = next {
                written.push(CLOSE);
                continue;
            }
            match self.draw_rule(next, rng) {
                Production::Letter => written.push(LETTERS.start + rng.below(LETTERS.len()) as u32),
                Production::Pair(left, right) => pending.extend([right, left]),
                Production::Nest(inside) => {
                    written.push(OPEN);
                    pending.extend([PendingSymbol::Close, inside]);
                }
            }
        }
        Some(written)
    }
}

/// Draws an index by its weight.
fn draw_index(weights: &[f64], rng: &mut Rng) -> usize {
    let mut left = rng.unit() * weights.iter().sum::<f64>();
    let found = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave a small rest: it belongs to the last index with a weight.
    let last = || weights.iter().rposition(|&weight| weight > 0.0).expect("a weight above 0");
    found.unwrap_or_else(last)
}

#[cfg(test)]
mod tests {
    use super::super::{depth, is_balanced};
    use super::*;
    use crate::key::Key;

    #[test]
    fn depths_have_the_probabilities_of_the_grammar() {
        let depths = DepthDistribution::up_to(9);
        let mut rng = Key::new(1).rng();
        let mut counts = [0usize; 10];
        let draws = 40_000;
        for _ in 0..draws {
            // A string of 2,000 symbols is nearly always deeper than 9.
            let found = DepthDistribution::draw_any_string(2_000, &mut rng)
                .map_or(10, |string| depth(&string));
            counts.get_mut(found).into_iter().for_each(|count| *count += 1);
        }
        for (depth, &count) in counts.iter().enumerate() {
            let expected = depths.exactly(depth) * draws as f64;
            let spread = 5.0 * expected.sqrt();
            assert!((count as f64 - expected).abs() < spread, "{depth}: {count}, {expected}");
        }
    }

    #[test]
    fn strings_have_the_requested_depth_and_the_lengths_of_rejection_sampling() {
        let depths = DepthDistribution::up_to(3);
        let mut rng = Key::new(2).rng();
        let mut direct = Vec::new();
        while direct.len() < 3_000 {
            let Some(string) = depths.draw_string(3, 60, &mut rng) else { continue };
            assert!(is_balanced(&string) && depth(&string) == 3 && string.len() <= 60);
            direct.push(string.len());
        }
        let mut rejection = Vec::new();
        while rejection.len() < 3_000 {
            let string = DepthDistribution::draw_any_string(60, &mut rng);
            rejection.extend(string.filter(|string| depth(string) == 3).map(|string| string.len()));
        }
        let mean = |lengths: &[usize]| lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        // Five standard errors of the difference: lengths spread by about 12.
        let difference = (mean(&direct) - mean(&rejection)).abs();
        assert!(difference < 5.0 * 12.0 * (2.0f64 / 3_000.0).sqrt(), "{difference}");
    }
}
