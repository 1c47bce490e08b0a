//! Random balanced strings: `S → (S) | SS | letter`, each rule with probability 1/3.
//!
//! The grammar is a critical branching process, so deep strings are rare. They are not waited
//! for: with q(d) the probability of a depth of at most d and p(d) of exactly d,
//!
//! ```text
//! q(d) = (1 + q(d−1) + q(d)²) / 3          p(d) = q(d) − q(d−1)
//! ```
//!
//! and a string of exactly depth d is drawn top down, each rule by its probability given d. What
//! comes out has the distribution of the grammar given the depth.

use super::{CLOSE, LETTERS, OPEN};
use crate::key::Rng;
use std::ops::RangeInclusive;

/// How probable depths are.
pub(super) struct Odds {
    /// `[d]`: 1 − q(d). Kept instead of q, which is nearly 1 for large d.
    deeper: Vec<f64>,
}

/// What is still to be written.
#[derive(Clone, Copy)]
enum Todo {
    Any,
    AtMost(usize),
    Exactly(usize),
    Close,
}

/// A rule, with what its parts must be.
enum Rule {
    Letter,
    Nest(Todo),
    Pair(Todo, Todo),
}

impl Odds {
    /// For depths up to `deepest`.
    pub(super) fn up_to(deepest: usize) -> Odds {
        let mut deeper = Vec::with_capacity(deepest + 1);
        let mut last = 1.0f64;
        for _ in 0..=deepest {
            // The smaller root of the equation above, for r = 1 − q, without cancellation.
            last = 2.0 * last / ((1.0 + 4.0 * last).sqrt() + 1.0);
            deeper.push(last);
        }
        Odds { deeper }
    }

    fn at_most(&self, depth: usize) -> f64 {
        1.0 - self.deeper[depth]
    }

    fn at_most_before(&self, depth: usize) -> f64 {
        depth.checked_sub(1).map_or(0.0, |before| self.at_most(before))
    }

    fn exactly(&self, depth: usize) -> f64 {
        depth.checked_sub(1).map_or(1.0, |before| self.deeper[before]) - self.deeper[depth]
    }

    /// A depth of the range, by its probability.
    pub(super) fn depth(&self, range: &RangeInclusive<usize>, stream: &mut Rng) -> usize {
        let weights: Vec<f64> = range.clone().map(|depth| self.exactly(depth)).collect();
        range.start() + choose(&weights, stream)
    }

    fn rule(&self, todo: Todo, stream: &mut Rng) -> Rule {
        match todo {
            Todo::Any => match stream.below(3) {
                0 => Rule::Nest(Todo::Any),
                1 => Rule::Pair(Todo::Any, Todo::Any),
                _ => Rule::Letter,
            },
            Todo::Exactly(depth @ 1..) => {
                let (exactly, before) = (self.exactly(depth), self.at_most_before(depth));
                let one = exactly * before;
                let nest = self.exactly(depth - 1);
                let (this, less) = (Todo::Exactly(depth), Todo::AtMost(depth - 1));
                match choose(&[nest, exactly * exactly, one, one], stream) {
                    0 => Rule::Nest(Todo::Exactly(depth - 1)),
                    1 => Rule::Pair(this, this),
                    2 => Rule::Pair(this, less),
                    _ => Rule::Pair(less, this),
                }
            }
            Todo::AtMost(depth) => {
                let most = self.at_most(depth);
                match choose(&[1.0, most * most, self.at_most_before(depth)], stream) {
                    0 => Rule::Letter,
                    1 => Rule::Pair(todo, todo),
                    _ => Rule::Nest(Todo::AtMost(depth - 1)),
                }
            }
            Todo::Exactly(0) => self.rule(Todo::AtMost(0), stream),
            Todo::Close => unreachable!("a parenthesis is written, not derived"),
        }
    }

    /// A string of exactly this depth, unless it gets longer than `longest`.
    pub(super) fn string(
        &self,
        depth: usize,
        longest: usize,
        stream: &mut Rng,
    ) -> Option<Vec<u32>> {
        self.derive(Todo::Exactly(depth), longest, stream)
    }

    /// A string of any depth, unless it gets longer than `longest`.
    pub(super) fn any_string(longest: usize, stream: &mut Rng) -> Option<Vec<u32>> {
        Odds { deeper: vec![] }.derive(Todo::Any, longest, stream)
    }

    /// Leftmost derivation. What is written and what is to be written only ever get longer
    /// together, so a string that is too long is given up early.
    fn derive(&self, start: Todo, longest: usize, stream: &mut Rng) -> Option<Vec<u32>> {
        let (mut written, mut todo) = (Vec::new(), vec![start]);
        while let Some(next) = todo.pop() {
            if written.len() + todo.len() + 1 > longest {
                return None;
            }
            if let Todo::Close = next {
                written.push(CLOSE);
                continue;
            }
            match self.rule(next, stream) {
                Rule::Letter => written.push(LETTERS.start + stream.below(LETTERS.len()) as u32),
                Rule::Pair(left, right) => todo.extend([right, left]),
                Rule::Nest(inside) => {
                    written.push(OPEN);
                    todo.extend([Todo::Close, inside]);
                }
            }
        }
        Some(written)
    }
}

/// An index, by its weight.
fn choose(weights: &[f64], stream: &mut Rng) -> usize {
    let mut left = stream.unit() * weights.iter().sum::<f64>();
    let found = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    // Rounding may leave a little over: it belongs to the last that can be chosen.
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
        let odds = Odds::up_to(9);
        let mut stream = Key::new(1).rng();
        let mut counts = [0usize; 10];
        let draws = 40_000;
        for _ in 0..draws {
            // A string of 2,000 symbols is deeper than 9 nearly always.
            let found = Odds::any_string(2_000, &mut stream).map_or(10, |string| depth(&string));
            counts.get_mut(found).into_iter().for_each(|count| *count += 1);
        }
        for (depth, &count) in counts.iter().enumerate() {
            let expected = odds.exactly(depth) * draws as f64;
            let spread = 5.0 * expected.sqrt();
            assert!((count as f64 - expected).abs() < spread, "{depth}: {count}, {expected}");
        }
    }

    #[test]
    fn strings_have_the_depth_asked_for_and_the_lengths_of_strings_that_were_waited_for() {
        let odds = Odds::up_to(3);
        let mut stream = Key::new(2).rng();
        let mut asked = Vec::new();
        while asked.len() < 3_000 {
            let Some(string) = odds.string(3, 60, &mut stream) else { continue };
            assert!(is_balanced(&string) && depth(&string) == 3 && string.len() <= 60);
            asked.push(string.len());
        }
        let mut waited = Vec::new();
        while waited.len() < 3_000 {
            let string = Odds::any_string(60, &mut stream);
            waited.extend(string.filter(|string| depth(string) == 3).map(|string| string.len()));
        }
        let mean = |lengths: &[usize]| lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        // Five standard errors of the difference: lengths spread by about 12.
        let difference = (mean(&asked) - mean(&waited)).abs();
        assert!(difference < 5.0 * 12.0 * (2.0f64 / 3_000.0).sqrt(), "{difference}");
    }
}
