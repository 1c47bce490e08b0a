//! Palindromes ww⁻¹ over the letters `a` to `z`, and two kinds of negative strings.

use super::{Dataset, Sequence, Split};
use crate::key::{Key, Rng};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Lengths of w in training.
pub(crate) const TRAIN_HALVES: RangeInclusive<usize> = 1..=25;
/// Lengths of w in validation.
pub(crate) const VALID_HALVES: RangeInclusive<usize> = 26..=50;
/// The smallest length of test strings.
pub(crate) const SHORTEST: usize = 50;

/// The number of words w drawn of each length, before duplicates are removed.
// PAPER: not stated; these numbers give the stated sizes of the sets.
const TRAIN_DRAWS: usize = 5_000;
const VALID_DRAWS: usize = 1_000;
/// The size of the alphabet.
pub(crate) const SYMBOLS: usize = 26;

/// How negative strings are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PalindromeNegatives {
    /// Each letter of a palindrome is replaced with probability 1/2 by any of the 26. Comparing only
    /// the first letter with the last is wrong in one of seven. *A* in tables.
    Corrupted,
    /// One letter of a palindrome is replaced by another, so that exactly one pair differs. *B* in
    /// tables.
    OnePair,
}

impl PalindromeNegatives {
    /// Both kinds.
    pub const ALL: [PalindromeNegatives; 2] =
        [PalindromeNegatives::Corrupted, PalindromeNegatives::OnePair];

    /// The letter in tables.
    pub fn letter(self) -> &'static str {
        match self {
            PalindromeNegatives::Corrupted => "A",
            PalindromeNegatives::OnePair => "B",
        }
    }

    /// A negative string from a palindrome; `None` if the result is a palindrome.
    fn corrupt(self, palindrome: &[u32], rng: &mut Rng) -> Option<Vec<u32>> {
        let mut made = palindrome.to_vec();
        match self {
            PalindromeNegatives::Corrupted => {
                for letter in &mut made {
                    *letter = if rng.below(2) == 0 { *letter } else { random_letter(rng) };
                }
            }
            PalindromeNegatives::OnePair => {
                let position = rng.below(made.len());
                let other = 1 + rng.below(SYMBOLS - 1) as u32;
                made[position] = (made[position] + other) % SYMBOLS as u32;
            }
        }
        Some(made).filter(|made| !is_palindrome(made))
    }
}

fn random_letter(rng: &mut Rng) -> u32 {
    rng.below(SYMBOLS) as u32
}

/// Whether a string equals its reverse.
pub(crate) fn is_palindrome(string: &[u32]) -> bool {
    outer_pairs_agree(string, string.len() / 2)
}

/// Whether the outermost `pairs` of letters are equal: all that a model can decide that remembers
/// only `pairs` letters.
pub(crate) fn outer_pairs_agree(string: &[u32], pairs: usize) -> bool {
    string.iter().zip(string.iter().rev()).take(pairs.min(string.len() / 2)).all(|(a, b)| a == b)
}

/// The error rate of the baseline that compares only the outermost `pairs` of letters.
#[cfg(test)]
fn baseline(set: &Dataset, pairs: usize) -> f64 {
    let wrong = |s: &&Sequence| outer_pairs_agree(&s.tokens, pairs) != (s.label == 1);
    set.sequences.iter().filter(wrong).count() as f64 / set.sequences.len().max(1) as f64
}

/// Training and validation sets, made as in the paper. Classes are `reject` and `accept`; no
/// palindrome occurs twice.
pub(crate) fn sets(negatives: PalindromeNegatives, key: &Key) -> Split {
    let set = |halves: RangeInclusive<usize>, draws, key: Key| {
        let mut rng = key.rng();
        let mut seen = HashSet::new();
        let drawn = halves.flat_map(|half| std::iter::repeat_n(half, draws));
        let drawn: Vec<Vec<u32>> = drawn.map(|half| palindrome(2 * half, &mut rng)).collect();
        let accepted: Vec<_> = drawn.into_iter().filter(|s| seen.insert(s.clone())).collect();
        let rejected = accepted.iter().filter_map(|s| negatives.corrupt(s, &mut rng)).collect();
        dataset(accepted, rejected)
    };
    Split {
        train: set(TRAIN_HALVES, TRAIN_DRAWS, key.child("palindrome train", 0)),
        valid: set(VALID_HALVES, VALID_DRAWS, key.child("palindrome valid", 0)),
        test: None,
    }
}

/// `count` strings, half of them palindromes, with even lengths drawn uniformly from 50 to
/// `longest`.
///
/// # Panics
/// If `longest` is below 50.
pub(crate) fn test(
    longest: usize,
    negatives: PalindromeNegatives,
    count: usize,
    key: &Key,
) -> Dataset {
    assert!(longest >= SHORTEST, "test strings have at least {SHORTEST} letters");
    let mut rng = key.child("palindrome test", 0).rng();
    let mut draw = || {
        let length = SHORTEST + 2 * rng.below((longest - SHORTEST) / 2 + 1);
        let string = palindrome(length, &mut rng);
        let negative = std::iter::repeat_with(|| negatives.corrupt(&string, &mut rng));
        let negative = negative.flatten().next().expect("some corruption gives a negative");
        (string, negative)
    };
    let (mut accepted, mut rejected): (Vec<_>, Vec<_>) =
        (0..count.div_ceil(2)).map(|_| draw()).unzip();
    accepted.truncate(count.div_ceil(2));
    rejected.truncate(count / 2);
    dataset(accepted, rejected)
}

fn palindrome(length: usize, rng: &mut Rng) -> Vec<u32> {
    let mut string: Vec<u32> = (0..length / 2).map(|_| random_letter(rng)).collect();
    string.extend_from_within(..);
    string[length / 2..].reverse();
    string
}

/// Positives come first.
fn dataset(accepted: Vec<Vec<u32>>, rejected: Vec<Vec<u32>>) -> Dataset {
    let with = |label| move |tokens| Sequence { tokens, label };
    let (accepted, rejected) =
        (accepted.into_iter().map(with(1)), rejected.into_iter().map(with(0)));
    Dataset {
        alphabet: ('a'..='z').map(String::from).collect(),
        classes: ["reject", "accept"].map(String::from).to_vec(),
        sequences: accepted.chain(rejected).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_about_the_papers_sizes_and_the_right_labels() {
        let split = sets(PalindromeNegatives::Corrupted, &Key::new(1));
        let counts = [&split.train, &split.valid].map(|set| set.class_counts());
        assert!(counts[0][1].abs_diff(115_040) < 150, "{counts:?}");
        assert!(counts[0][0].abs_diff(229_984 - 115_040) < 300, "{counts:?}");
        assert_eq!(counts[1], [25_000, 25_000]);
        for (set, halves) in [(&split.train, TRAIN_HALVES), (&split.valid, VALID_HALVES)] {
            for Sequence { tokens, label } in &set.sequences {
                assert_eq!(is_palindrome(tokens), *label == 1);
                assert!(tokens.len() % 2 == 0 && halves.contains(&(tokens.len() / 2)));
            }
        }
    }

    #[test]
    fn test_strings_are_of_all_lengths_and_half_of_them_palindromes() {
        for negatives in PalindromeNegatives::ALL {
            let set = test(200, negatives, 1_001, &Key::new(2));
            assert_eq!(set.class_counts(), [500, 501]);
            let lengths: HashSet<usize> = set.sequences.iter().map(|s| s.tokens.len()).collect();
            assert!(lengths.iter().all(|l| l % 2 == 0 && (50..=200).contains(l)));
            assert!(lengths.len() > 70, "{} of 76 lengths", lengths.len());
            assert!(set.sequences.iter().all(|s| is_palindrome(&s.tokens) == (s.label == 1)));
        }
    }

    #[test]
    fn one_pair_differs_and_it_may_be_any_pair() {
        let set = test(100, PalindromeNegatives::OnePair, 2_000, &Key::new(3));
        let mut places = [0usize; 2];
        for Sequence { tokens, .. } in set.sequences.iter().filter(|s| s.label == 0) {
            let half = tokens.len() / 2;
            let differ: Vec<usize> =
                (0..half).filter(|&i| tokens[i] != tokens[tokens.len() - 1 - i]).collect();
            assert_eq!(differ.len(), 1);
            places[usize::from(differ[0] >= half / 2)] += 1;
        }
        assert!(places.iter().all(|&count| (400..600).contains(&count)), "{places:?}");
    }

    #[test]
    fn the_baseline_of_the_outermost_pairs_has_the_expected_error() {
        let set = test(500, PalindromeNegatives::Corrupted, 20_000, &Key::new(4));
        // A pair of a corrupted palindrome is still equal with probability 1/4 + 3/4·1/26.
        let equal: f64 = 0.25 + 0.75 / 26.0;
        assert!((baseline(&set, 1) - equal / 2.0).abs() < 0.01);
        assert!((baseline(&set, 2) - equal * equal / 2.0).abs() < 0.01);
    }

    #[test]
    fn sets_are_a_function_of_the_key() {
        let digest = |seed| test(100, PalindromeNegatives::OnePair, 50, &Key::new(seed)).digest();
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }
}
