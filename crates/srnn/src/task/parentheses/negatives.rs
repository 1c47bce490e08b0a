//! Negative strings, made from balanced ones.

use super::{CLOSE, OPEN, SYMBOLS, has_equal_counts, is_balanced};
use crate::key::Rng;
use serde::{Deserialize, Serialize};

/// How negative strings are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParenthesesNegatives {
    /// Each symbol is replaced with probability 1/2 by any of the 28; the result is kept if the
    /// numbers of `(` and `)` differ. Comparing the two counts solves the task. *A* in tables.
    // PAPER: not stated; the authors made them this way.
    UnequalCounts,
    /// Nearly balanced: either a `(` and a later `)` are swapped, which keeps the counts equal, or
    /// one symbol is replaced, inserted or removed. *B* in tables.
    Near,
}

/// The number of corruptions that are tried on one string.
const MAX_TRIES: usize = 1_000;

impl ParenthesesNegatives {
    /// Both kinds.
    pub const ALL: [ParenthesesNegatives; 2] =
        [ParenthesesNegatives::UnequalCounts, ParenthesesNegatives::Near];

    /// The letter in tables.
    pub fn letter(self) -> &'static str {
        match self {
            ParenthesesNegatives::UnequalCounts => "A",
            ParenthesesNegatives::Near => "B",
        }
    }

    /// A negative for training and validation sets: [`Self::UnequalCounts`] is tried once, as the
    /// authors did, [`Self::Near`] until it gives a negative.
    pub(super) fn corrupt_once(
        self,
        string: &[u32],
        longest: usize,
        rng: &mut Rng,
    ) -> Option<Vec<u32>> {
        match self {
            ParenthesesNegatives::UnequalCounts => self.try_corrupt(string, rng),
            ParenthesesNegatives::Near => self.corrupt(string, longest, rng),
        }
    }

    /// A negative from a balanced string, no longer than `longest`. Tries several times.
    pub(super) fn corrupt(self, string: &[u32], longest: usize, rng: &mut Rng) -> Option<Vec<u32>> {
        let fits = |made: &Vec<u32>| made.len() <= longest;
        (0..MAX_TRIES).find_map(|_| self.try_corrupt(string, rng).filter(fits))
    }

    /// One corruption; `None` if the result is no negative.
    fn try_corrupt(self, string: &[u32], rng: &mut Rng) -> Option<Vec<u32>> {
        match self {
            ParenthesesNegatives::UnequalCounts => {
                Some(with_random_replacements(string, rng)).filter(|made| !has_equal_counts(made))
            }
            ParenthesesNegatives::Near => {
                let made = match rng.below(2) {
                    0 => with_swap(string, rng),
                    _ => Some(with_edit(string, rng)),
                };
                made.filter(|made| !is_balanced(made))
            }
        }
    }
}

fn random_symbol(rng: &mut Rng) -> u32 {
    rng.below(SYMBOLS) as u32
}

fn with_random_replacements(string: &[u32], rng: &mut Rng) -> Vec<u32> {
    let replace = |&old| if rng.below(2) == 0 { old } else { random_symbol(rng) };
    string.iter().map(replace).collect()
}

/// Swaps a `(` with a later `)`.
fn with_swap(string: &[u32], rng: &mut Rng) -> Option<Vec<u32>> {
    let positions = |wanted, from: usize| {
        let found = string.iter().enumerate().skip(from).filter(move |&(_, &s)| s == wanted);
        found.map(|(position, _)| position).collect::<Vec<usize>>()
    };
    let open = random_element(&positions(OPEN, 0), rng)?;
    let close = random_element(&positions(CLOSE, open), rng)?;
    let mut made = string.to_vec();
    made.swap(open, close);
    Some(made)
}

fn random_element(elements: &[usize], rng: &mut Rng) -> Option<usize> {
    (!elements.is_empty()).then(|| elements[rng.below(elements.len())])
}

/// Replaces, inserts or removes one symbol.
fn with_edit(string: &[u32], rng: &mut Rng) -> Vec<u32> {
    let mut made = string.to_vec();
    match rng.below(3) {
        0 => made[rng.below(string.len())] = random_symbol(rng),
        1 => made.insert(rng.below(string.len() + 1), random_symbol(rng)),
        _ => drop(made.remove(rng.below(string.len()))),
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::task::parentheses::depths;

    /// `((a)(b))c`
    const STRING: [u32; 9] = [0, 0, 2, 1, 0, 3, 1, 1, 4];

    fn differences(made: &[u32]) -> usize {
        made.iter().zip(STRING).filter(|&(&a, b)| a != b).count()
    }

    #[test]
    fn near_negatives_are_one_edit_or_one_swap_away_and_both_occur() {
        let mut rng = Key::new(1).rng();
        let mut equal = 0;
        for _ in 0..1_000 {
            let made = ParenthesesNegatives::Near.corrupt(&STRING, 100, &mut rng).unwrap();
            assert!(!is_balanced(&made));
            assert!(made.len().abs_diff(STRING.len()) <= 1);
            if has_equal_counts(&made) {
                assert_eq!(differences(&made), 2, "{made:?}");
                assert!(depths(&made).any(|open| open < 0));
                equal += 1;
            }
        }
        assert!((250..700).contains(&equal), "{equal} of 1,000 with equal counts");
    }

    #[test]
    fn the_authors_negatives_have_unequal_counts_and_about_half_their_symbols_changed() {
        let mut rng = Key::new(2).rng();
        let mut changed = 0;
        for _ in 0..1_000 {
            let made = ParenthesesNegatives::UnequalCounts.corrupt(&STRING, 100, &mut rng).unwrap();
            assert!(!has_equal_counts(&made) && made.len() == STRING.len());
            changed += differences(&made);
        }
        // Given unequal counts, more than the 27/56 of a symbol on its own.
        assert!((4_000..5_500).contains(&changed), "{changed} of 9,000");
    }

    #[test]
    fn a_string_without_parentheses_can_still_be_corrupted() {
        let mut rng = Key::new(3).rng();
        for negatives in ParenthesesNegatives::ALL {
            let made = negatives.corrupt(&[5], 100, &mut rng).unwrap();
            assert!(!is_balanced(&made));
        }
    }
}
