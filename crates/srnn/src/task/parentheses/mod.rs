//! Balanced parentheses over `(`, `)` and the letters `a` to `z`: strings of the grammar
//! `S → (S) | SS | letter`, and two kinds of strings that are not balanced.

mod grammar;
mod negatives;

use super::{Dataset, Sequence, Split};
use crate::key::{Key, Rng};
use grammar::Odds;
use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

pub use negatives::Negatives;

/// The token `(`.
pub const OPEN: u32 = 0;
/// The token `)`.
pub const CLOSE: u32 = 1;
/// The tokens `a` to `z`.
pub const LETTERS: Range<u32> = 2..28;
/// All tokens.
const SYMBOLS: usize = 28;

/// Depths of training strings.
pub const TRAIN_DEPTHS: RangeInclusive<usize> = 1..=5;
/// Depths of validation strings.
pub const VALID_DEPTHS: RangeInclusive<usize> = 6..=10;
/// Training and validation strings are no longer than this.
const LONGEST: usize = 100;
/// A test set is given up after so many draws for each string it should have.
const PATIENCE: usize = 10_000;

/// How much data there is to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// About 600 positive training strings.
    Small,
    /// About 13,000.
    Large,
}

impl Size {
    /// Strings drawn from the grammar, before repetitions and other depths are left out.
    // PAPER: not stated; these give the sizes that are.
    fn draws(self) -> usize {
        match self {
            Size::Small => 2_000,
            Size::Large => 51_000,
        }
    }
}

/// Which strings a test set has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nesting depths.
    pub depths: RangeInclusive<usize>,
    /// No string is longer.
    pub longest: usize,
}

/// The paper's test sets.
pub const SHAPES: [Shape; 6] = [
    Shape { depths: 1..=10, longest: 100 },
    Shape { depths: 10..=20, longest: 100 },
    Shape { depths: 10..=20, longest: 200 },
    Shape { depths: 5..=5, longest: 200 },
    Shape { depths: 10..=10, longest: 200 },
    Shape { depths: 20..=20, longest: 1_000 },
];

/// A test set that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "only {found} of {count} strings of depth {} to {} and length up to {} were found: \
     allow longer strings, or ask for fewer", shape.depths.start(), shape.depths.end(), shape.longest
)]
pub struct TooFew {
    /// What was asked for.
    pub shape: Shape,
    /// How many.
    pub count: usize,
    /// How many there are.
    pub found: usize,
}

/// The deepest nesting. Meant for balanced strings; a `)` too many counts below 0.
pub fn depth(string: &[u32]) -> usize {
    depths(string).max().unwrap_or(0).max(0) as usize
}

/// Open parentheses after each symbol; below 0 where more are closed than were opened.
pub fn depths(string: &[u32]) -> impl Iterator<Item = i64> + '_ {
    string.iter().scan(0, |open, &symbol| {
        *open += i64::from(symbol == OPEN) - i64::from(symbol == CLOSE);
        Some(*open)
    })
}

/// Whether every parenthesis has its partner.
pub fn is_balanced(string: &[u32]) -> bool {
    depths(string).all(|open| open >= 0) && has_equal_counts(string)
}

/// Whether there are as many `(` as `)`.
pub(crate) fn has_equal_counts(string: &[u32]) -> bool {
    depths(string).last().unwrap_or(0) == 0
}

/// Training and validation sets made as the paper's. Classes are `reject` and `accept`; no string
/// occurs twice. Negatives are made from the positives, one from each, where one can be.
pub fn sets(size: Size, negatives: Negatives, key: &Key) -> Split {
    let mut stream = key.child("parentheses", 0).rng();
    let drawn = (0..size.draws()).filter_map(|_| Odds::any_string(LONGEST, &mut stream));
    let mut seen = HashSet::new();
    let positives: Vec<Vec<u32>> = drawn.filter(|string| seen.insert(string.clone())).collect();
    let mut stream = key.child("parentheses negatives", 0).rng();
    let mut set = |depths: RangeInclusive<usize>| {
        let of_depth = |string: &&Vec<u32>| depths.contains(&depth(string));
        let accepted: Vec<Vec<u32>> = positives.iter().filter(of_depth).cloned().collect();
        let rejected =
            accepted.iter().filter_map(|string| negatives.once(string, LONGEST, &mut stream));
        let rejected: Vec<_> = rejected.filter(|string| seen.insert(string.clone())).collect();
        dataset(accepted, rejected)
    };
    Split { train: set(TRAIN_DEPTHS), valid: set(VALID_DEPTHS), test: None }
}

/// `count` strings of a shape, none of them in `seen`, and none twice: one half balanced, drawn
/// from the grammar given the shape; the other half made from these.
pub fn test(
    shape: &Shape,
    negatives: Negatives,
    count: usize,
    seen: &Split,
    key: &Key,
) -> Result<Dataset, TooFew> {
    let sets = [&seen.train, &seen.valid].map(|set| &set.sequences);
    let mut taken: HashSet<Vec<u32>> =
        sets.into_iter().flatten().map(|s| s.tokens.clone()).collect();
    let mut stream = key.child("parentheses test", 0).rng();
    let odds = Odds::up_to(*shape.depths.end());
    let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
    for _ in 0..count.saturating_mul(PATIENCE) {
        if accepted.len() + rejected.len() >= count {
            break;
        }
        let Some(string) = shape.draw(&odds, &mut stream) else { continue };
        let negative = negatives.until(&string, shape.longest, &mut stream);
        if accepted.len() < count.div_ceil(2) && taken.insert(string.clone()) {
            accepted.push(string);
        }
        let negative = negative.filter(|_| rejected.len() < count / 2);
        rejected.extend(negative.filter(|string| taken.insert(string.clone())));
    }
    let found = accepted.len() + rejected.len();
    if found < count {
        return Err(TooFew { shape: shape.clone(), count, found });
    }
    Ok(dataset(accepted, rejected))
}

impl Shape {
    fn draw(&self, odds: &Odds, stream: &mut Rng) -> Option<Vec<u32>> {
        let depth = odds.depth(&self.depths, stream);
        odds.string(depth, self.longest, stream)
    }
}

/// Positives first.
fn dataset(accepted: Vec<Vec<u32>>, rejected: Vec<Vec<u32>>) -> Dataset {
    let letters = ('a'..='z').map(String::from);
    let with = |label| move |tokens| Sequence { tokens, label };
    Dataset {
        alphabet: ["(", ")"].map(String::from).into_iter().chain(letters).collect(),
        classes: ["reject", "accept"].map(String::from).to_vec(),
        sequences: accepted
            .into_iter()
            .map(with(1))
            .chain(rejected.into_iter().map(with(0)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(set: &Dataset) -> [usize; 2] {
        let counts = set.class_counts();
        [counts[1], counts[0]]
    }

    fn near(found: [usize; 2], paper: [usize; 2], part: f64) {
        for (found, paper) in found.into_iter().zip(paper) {
            let off = (found as f64 - paper as f64).abs() / paper as f64;
            assert!(off <= part, "{found} strings where the paper has {paper}");
        }
    }

    #[test]
    fn sets_have_about_the_papers_sizes() {
        for seed in 1..=3 {
            let small = sets(Size::Small, Negatives::UnequalCounts, &Key::new(seed));
            near(counts(&small.train), [601, 407], 0.1);
            near(counts(&small.valid), [142, 126], 0.3);
        }
        let large = sets(Size::Large, Negatives::UnequalCounts, &Key::new(1));
        near(counts(&large.train), [13_025, 9_261], 0.02);
        near(counts(&large.valid), [3_582, 3_122], 0.04);
    }

    #[test]
    fn labels_depths_and_lengths_are_what_they_should_be_and_nothing_repeats() {
        for negatives in [Negatives::UnequalCounts, Negatives::Near] {
            let split = sets(Size::Small, negatives, &Key::new(4));
            let shape = Shape { depths: 10..=12, longest: 150 };
            let test = test(&shape, negatives, 201, &split, &Key::new(4)).unwrap();
            assert_eq!(counts(&test), [101, 100]);
            let sets = [
                (&split.train, TRAIN_DEPTHS, LONGEST),
                (&split.valid, VALID_DEPTHS, LONGEST),
                (&test, shape.depths, shape.longest),
            ];
            let mut seen = HashSet::new();
            for (set, depths, longest) in sets {
                for Sequence { tokens, label } in &set.sequences {
                    assert_eq!(is_balanced(tokens), *label == 1);
                    assert!(*label == 0 || depths.contains(&depth(tokens)));
                    assert!(tokens.len() <= longest, "length tells the label");
                    assert!(seen.insert(tokens.clone()), "twice: {tokens:?}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_found_is_an_error_with_the_numbers() {
        let seen = sets(Size::Small, Negatives::Near, &Key::new(1));
        let shape = Shape { depths: 30..=30, longest: 60 };
        let error = test(&shape, Negatives::Near, 3, &seen, &Key::new(1)).unwrap_err();
        assert!(error.to_string().contains("0 of 3 strings of depth 30"), "{error}");
    }

    #[test]
    fn sets_are_a_function_of_the_key() {
        let digest = |seed| sets(Size::Small, Negatives::Near, &Key::new(seed)).train.digest();
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }
}
