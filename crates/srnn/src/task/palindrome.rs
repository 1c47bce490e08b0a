//! Palindromes ww⁻¹ over the letters `a` to `z`, and two kinds of strings that are not.

use super::{Dataset, Sequence, Split};
use crate::key::{Key, Rng};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Lengths of w in training.
pub const TRAIN_HALVES: RangeInclusive<usize> = 1..=25;
/// Lengths of w in validation.
pub const VALID_HALVES: RangeInclusive<usize> = 26..=50;
/// Test strings are no shorter than this.
pub const SHORTEST: usize = 50;
/// Longest strings of the paper's test sets.
pub const LONGEST: [usize; 3] = [100, 200, 500];

/// Words w drawn of each length, before repetitions are left out.
// PAPER: not stated; these give the sizes that are.
const TRAIN_DRAWS: usize = 5_000;
const VALID_DRAWS: usize = 1_000;
/// Letters.
pub const SYMBOLS: usize = 26;

/// How strings that are no palindromes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Negatives {
    /// Each letter of a palindrome replaced with probability 1/2 by any of the 26. Whoever
    /// compares the first letter with the last is wrong in one of seven. *A* in tables.
    Corrupted,
    /// One letter of a palindrome replaced by another: one pair differs, any pair. *B* in tables.
    OnePair,
}

impl Negatives {
    /// Both kinds.
    pub const ALL: [Negatives; 2] = [Negatives::Corrupted, Negatives::OnePair];

    /// The letter in tables.
    pub fn letter(self) -> &'static str {
        match self {
            Negatives::Corrupted => "A",
            Negatives::OnePair => "B",
        }
    }

    /// A string made from a palindrome, unless it is a palindrome still.
    fn make(self, palindrome: &[u32], stream: &mut Rng) -> Option<Vec<u32>> {
        let mut made = palindrome.to_vec();
        match self {
            Negatives::Corrupted => {
                for letter in &mut made {
                    *letter = if stream.below(2) == 0 { *letter } else { any(stream) };
                }
            }
            Negatives::OnePair => {
                let place = stream.below(made.len());
                let other = 1 + stream.below(SYMBOLS - 1) as u32;
                made[place] = (made[place] + other) % SYMBOLS as u32;
            }
        }
        Some(made).filter(|made| !is_palindrome(made))
    }
}

fn any(stream: &mut Rng) -> u32 {
    stream.below(SYMBOLS) as u32
}

/// Whether a string reads the same from both ends.
pub fn is_palindrome(string: &[u32]) -> bool {
    outer_pairs_agree(string, string.len() / 2)
}

/// Whether the outermost `pairs` of letters are pairs of equals: what those who remember only
/// so many letters can know.
pub fn outer_pairs_agree(string: &[u32], pairs: usize) -> bool {
    string.iter().zip(string.iter().rev()).take(pairs.min(string.len() / 2)).all(|(a, b)| a == b)
}

/// The part of a set that is judged wrongly by its outermost `pairs` of letters.
pub fn baseline(set: &Dataset, pairs: usize) -> f64 {
    let wrong = |s: &&Sequence| outer_pairs_agree(&s.tokens, pairs) != (s.label == 1);
    set.sequences.iter().filter(wrong).count() as f64 / set.sequences.len().max(1) as f64
}

/// Training and validation sets made as the paper's. Classes are `reject` and `accept`; no
/// palindrome occurs twice.
pub fn sets(negatives: Negatives, key: &Key) -> Split {
    let set = |halves: RangeInclusive<usize>, draws, key: Key| {
        let mut stream = key.rng();
        let mut seen = HashSet::new();
        let drawn = halves.flat_map(|half| std::iter::repeat_n(half, draws));
        let drawn: Vec<Vec<u32>> = drawn.map(|half| palindrome(2 * half, &mut stream)).collect();
        let accepted: Vec<_> = drawn.into_iter().filter(|s| seen.insert(s.clone())).collect();
        let rejected = accepted.iter().filter_map(|s| negatives.make(s, &mut stream)).collect();
        dataset(accepted, rejected)
    };
    Split {
        train: set(TRAIN_HALVES, TRAIN_DRAWS, key.child("palindrome train", 0)),
        valid: set(VALID_HALVES, VALID_DRAWS, key.child("palindrome valid", 0)),
        test: None,
    }
}

/// `count` strings, lengths uniform over the even ones from 50 to `longest`; one half palindromes.
///
/// # Panics
/// If `longest` is below 50.
pub fn test(longest: usize, negatives: Negatives, count: usize, key: &Key) -> Dataset {
    assert!(longest >= SHORTEST, "test strings have at least {SHORTEST} letters");
    let mut stream = key.child("palindrome test", 0).rng();
    let mut draw = || {
        let length = SHORTEST + 2 * stream.below((longest - SHORTEST) / 2 + 1);
        let string = palindrome(length, &mut stream);
        let negative = std::iter::repeat_with(|| negatives.make(&string, &mut stream));
        let negative = negative.flatten().next().expect("some corruption leaves no palindrome");
        (string, negative)
    };
    let (mut accepted, mut rejected): (Vec<_>, Vec<_>) =
        (0..count.div_ceil(2)).map(|_| draw()).unzip();
    accepted.truncate(count.div_ceil(2));
    rejected.truncate(count / 2);
    dataset(accepted, rejected)
}

fn palindrome(length: usize, stream: &mut Rng) -> Vec<u32> {
    let mut string: Vec<u32> = (0..length / 2).map(|_| any(stream)).collect();
    string.extend_from_within(..);
    string[length / 2..].reverse();
    string
}

/// Palindromes first.
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
        let split = sets(Negatives::Corrupted, &Key::new(1));
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
        for negatives in Negatives::ALL {
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
        let set = test(100, Negatives::OnePair, 2_000, &Key::new(3));
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
    fn whoever_compares_the_outermost_pairs_is_as_wrong_as_chance_allows() {
        let set = test(500, Negatives::Corrupted, 20_000, &Key::new(4));
        // A pair of a corrupted palindrome is still equal with probability 1/4 + 3/4·1/26.
        let equal: f64 = 0.25 + 0.75 / 26.0;
        assert!((baseline(&set, 1) - equal / 2.0).abs() < 0.01);
        assert!((baseline(&set, 2) - equal * equal / 2.0).abs() < 0.01);
    }

    #[test]
    fn sets_are_a_function_of_the_key() {
        let digest = |seed| test(100, Negatives::OnePair, 50, &Key::new(seed)).digest();
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }
}
