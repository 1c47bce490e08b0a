//! Balanced parentheses over `(`, `)` and the letters `a` to `z`: strings of the grammar
//! `S → (S) | SS | letter`, and two kinds of negative strings.

mod grammar;
mod negatives;

use super::{Dataset, Sequence, Split};
use crate::key::{Key, Rng};
use grammar::DepthDistribution;
use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

pub use negatives::ParenthesesNegatives;

/// The token `(`.
pub(crate) const OPEN: u32 = 0;
/// The token `)`.
pub(crate) const CLOSE: u32 = 1;
/// The tokens `a` to `z`.
pub(crate) const LETTERS: Range<u32> = 2..28;
/// The size of the alphabet.
const SYMBOLS: usize = 28;

/// Depths of training strings.
pub(crate) const TRAIN_DEPTHS: RangeInclusive<usize> = 1..=5;
/// Depths of validation strings.
pub(crate) const VALID_DEPTHS: RangeInclusive<usize> = 6..=10;
/// The largest length of training and validation strings.
const LONGEST: usize = 100;
/// A test set fails after this many draws for each of its strings.
const MAX_DRAWS: usize = 10_000;

/// The size of the training set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainingSize {
    /// About 600 positive training strings.
    Small,
    /// About 13,000.
    Large,
}

impl TrainingSize {
    /// The number of strings drawn from the grammar, before duplicates and other depths are removed.
    // PAPER: not stated; these numbers give the stated sizes of the sets.
    fn draws(self) -> usize {
        match self {
            TrainingSize::Small => 2_000,
            TrainingSize::Large => 51_000,
        }
    }
}

/// The depths and lengths of a test set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestShape {
    /// Nesting depths.
    pub depths: RangeInclusive<usize>,
    /// The largest length.
    pub longest: usize,
}

/// A test set that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "only {found} of {count} strings of depth {} to {} and length up to {} were found: \
     allow longer strings, or ask for fewer", shape.depths.start(), shape.depths.end(), shape.longest
)]
pub struct TooFew {
    /// The requested strings.
    pub shape: TestShape,
    /// The requested number.
    pub count: usize,
    /// The number found.
    pub found: usize,
}

/// The maximum nesting depth, for balanced strings.
pub(crate) fn depth(string: &[u32]) -> usize {
    depths(string).max().unwrap_or(0).max(0) as usize
}

/// The number of open parentheses after each symbol; negative after a surplus `)`.
pub(crate) fn depths(string: &[u32]) -> impl Iterator<Item = i64> + '_ {
    string.iter().scan(0, |open, &symbol| {
        *open += i64::from(symbol == OPEN) - i64::from(symbol == CLOSE);
        Some(*open)
    })
}

/// Whether every `(` is closed by a later `)`, and every `)` closes one.
pub(crate) fn is_balanced(string: &[u32]) -> bool {
    depths(string).all(|open| open >= 0) && has_equal_counts(string)
}

/// Whether there are as many `(` as `)`.
pub(crate) fn has_equal_counts(string: &[u32]) -> bool {
    depths(string).last().unwrap_or(0) == 0
}

/// Training and validation sets, made as in the paper. Classes are `reject` and `accept`; no string
/// occurs twice. At most one negative is made from each positive.
pub(crate) fn sets(size: TrainingSize, negatives: ParenthesesNegatives, key: &Key) -> Split {
    let mut rng = key.child("parentheses", 0).rng();
    let drawn =
        (0..size.draws()).filter_map(|_| DepthDistribution::draw_any_string(LONGEST, &mut rng));
    let mut seen = HashSet::new();
    let positives: Vec<Vec<u32>> = drawn.filter(|string| seen.insert(string.clone())).collect();
    let mut rng = key.child("parentheses negatives", 0).rng();
    let mut set = |depths: RangeInclusive<usize>| {
        let of_depth = |string: &&Vec<u32>| depths.contains(&depth(string));
        let accepted: Vec<Vec<u32>> = positives.iter().filter(of_depth).cloned().collect();
        let rejected =
            accepted.iter().filter_map(|string| negatives.corrupt_once(string, LONGEST, &mut rng));
        let rejected: Vec<_> = rejected.filter(|string| seen.insert(string.clone())).collect();
        dataset(accepted, rejected)
    };
    Split { train: set(TRAIN_DEPTHS), valid: set(VALID_DEPTHS), test: None }
}

/// `count` different strings of a shape that are not in `seen`. One half is balanced, drawn from the
/// grammar given the shape; the other half is made from these.
pub(crate) fn test(
    shape: &TestShape,
    negatives: ParenthesesNegatives,
    count: usize,
    seen: &Split,
    key: &Key,
) -> Result<Dataset, TooFew> {
    let sets = [&seen.train, &seen.valid].map(|set| &set.sequences);
    let mut taken: HashSet<Vec<u32>> =
        sets.into_iter().flatten().map(|s| s.tokens.clone()).collect();
    let mut rng = key.child("parentheses test", 0).rng();
    let depths = DepthDistribution::up_to(*shape.depths.end());
    let (mut accepted, mut rejected) = (Vec::new(), Vec::new());
    for _ in 0..count.saturating_mul(MAX_DRAWS) {
        if accepted.len() + rejected.len() >= count {
            break;
        }
        let Some(string) = shape.draw(&depths, &mut rng) else { continue };
        let negative = negatives.corrupt(&string, shape.longest, &mut rng);
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

impl TestShape {
    fn draw(&self, depths: &DepthDistribution, rng: &mut Rng) -> Option<Vec<u32>> {
        let depth = depths.draw_depth(&self.depths, rng);
        depths.draw_string(depth, self.longest, rng)
    }
}

/// Positives come first.
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
            assert!(off <= part, "{found} strings, but the paper has {paper}");
        }
    }

    #[test]
    fn sets_have_about_the_papers_sizes() {
        for seed in 1..=3 {
            let small =
                sets(TrainingSize::Small, ParenthesesNegatives::UnequalCounts, &Key::new(seed));
            near(counts(&small.train), [601, 407], 0.1);
            near(counts(&small.valid), [142, 126], 0.3);
        }
        let large = sets(TrainingSize::Large, ParenthesesNegatives::UnequalCounts, &Key::new(1));
        near(counts(&large.train), [13_025, 9_261], 0.02);
        near(counts(&large.valid), [3_582, 3_122], 0.04);
    }

    #[test]
    fn labels_depths_and_lengths_are_as_specified_and_no_string_repeats() {
        for negatives in [ParenthesesNegatives::UnequalCounts, ParenthesesNegatives::Near] {
            let split = sets(TrainingSize::Small, negatives, &Key::new(4));
            let shape = TestShape { depths: 10..=12, longest: 150 };
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
                    assert!(tokens.len() <= longest, "length reveals the label");
                    assert!(seen.insert(tokens.clone()), "duplicate: {tokens:?}");
                }
            }
        }
    }

    #[test]
    fn strings_that_cannot_be_found_are_an_error_with_the_numbers() {
        let seen = sets(TrainingSize::Small, ParenthesesNegatives::Near, &Key::new(1));
        let shape = TestShape { depths: 30..=30, longest: 60 };
        let error = test(&shape, ParenthesesNegatives::Near, 3, &seen, &Key::new(1)).unwrap_err();
        assert!(error.to_string().contains("0 of 3 strings of depth 30"), "{error}");
    }

    #[test]
    fn sets_are_a_function_of_the_key() {
        let digest = |seed| {
            sets(TrainingSize::Small, ParenthesesNegatives::Near, &Key::new(seed)).train.digest()
        };
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }
}
