//! Strings that are not balanced, made from strings that are.

use super::{CLOSE, OPEN, SYMBOLS, has_equal_counts, is_balanced};
use crate::key::Rng;
use serde::{Deserialize, Serialize};

/// How strings that are not balanced are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Negatives {
    /// Each symbol replaced with probability 1/2 by any of the 28; kept if the numbers of `(` and
    /// `)` differ. To tell these apart it is enough to compare two counts. *A* in tables.
    // PAPER: not stated; this is how the authors made them.
    UnequalCounts,
    /// As near to balanced as can be: either a `(` and a later `)` change places, which leaves the
    /// counts equal, or one symbol is replaced, put in or left out. *B* in tables.
    Near,
}

/// A corruption is tried so often before a string is given up.
const TRIES: usize = 1_000;

impl Negatives {
    /// Both kinds.
    pub const ALL: [Negatives; 2] = [Negatives::UnequalCounts, Negatives::Near];

    /// The letter in tables.
    pub fn letter(self) -> &'static str {
        match self {
            Negatives::UnequalCounts => "A",
            Negatives::Near => "B",
        }
    }

    /// A negative of a set that is made in one go: the authors' corruption is tried once, a small
    /// change until it gives a negative.
    pub(super) fn once(self, string: &[u32], longest: usize, stream: &mut Rng) -> Option<Vec<u32>> {
        match self {
            Negatives::UnequalCounts => self.make(string, stream),
            Negatives::Near => self.until(string, longest, stream),
        }
    }

    /// A negative from a balanced string, no longer than `longest`, however many tries it takes.
    pub(super) fn until(
        self,
        string: &[u32],
        longest: usize,
        stream: &mut Rng,
    ) -> Option<Vec<u32>> {
        let fits = |made: &Vec<u32>| made.len() <= longest;
        (0..TRIES).find_map(|_| self.make(string, stream).filter(fits))
    }

    /// One corruption, if it gives a negative.
    fn make(self, string: &[u32], stream: &mut Rng) -> Option<Vec<u32>> {
        match self {
            Negatives::UnequalCounts => {
                Some(replaced(string, stream)).filter(|made| !has_equal_counts(made))
            }
            Negatives::Near => {
                let made = match stream.below(2) {
                    0 => swapped(string, stream),
                    _ => Some(edited(string, stream)),
                };
                made.filter(|made| !is_balanced(made))
            }
        }
    }
}

fn symbol(stream: &mut Rng) -> u32 {
    stream.below(SYMBOLS) as u32
}

fn replaced(string: &[u32], stream: &mut Rng) -> Vec<u32> {
    let replace = |&old| if stream.below(2) == 0 { old } else { symbol(stream) };
    string.iter().map(replace).collect()
}

/// A `(` and a later `)` change places.
fn swapped(string: &[u32], stream: &mut Rng) -> Option<Vec<u32>> {
    let places = |wanted, from: usize| {
        let places = string.iter().enumerate().skip(from).filter(move |&(_, &s)| s == wanted);
        places.map(|(place, _)| place).collect::<Vec<usize>>()
    };
    let open = any(&places(OPEN, 0), stream)?;
    let close = any(&places(CLOSE, open), stream)?;
    let mut made = string.to_vec();
    made.swap(open, close);
    Some(made)
}

fn any(places: &[usize], stream: &mut Rng) -> Option<usize> {
    (!places.is_empty()).then(|| places[stream.below(places.len())])
}

/// One symbol replaced, put in or left out.
fn edited(string: &[u32], stream: &mut Rng) -> Vec<u32> {
    let mut made = string.to_vec();
    match stream.below(3) {
        0 => made[stream.below(string.len())] = symbol(stream),
        1 => made.insert(stream.below(string.len() + 1), symbol(stream)),
        _ => drop(made.remove(stream.below(string.len()))),
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
        let mut stream = Key::new(1).rng();
        let mut equal = 0;
        for _ in 0..1_000 {
            let made = Negatives::Near.until(&STRING, 100, &mut stream).unwrap();
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
        let mut stream = Key::new(2).rng();
        let mut changed = 0;
        for _ in 0..1_000 {
            let made = Negatives::UnequalCounts.until(&STRING, 100, &mut stream).unwrap();
            assert!(!has_equal_counts(&made) && made.len() == STRING.len());
            changed += differences(&made);
        }
        // Given unequal counts, more than the 27/56 of a symbol on its own.
        assert!((4_000..5_500).contains(&changed), "{changed} of 9,000");
    }

    #[test]
    fn a_string_without_parentheses_can_still_be_spoilt() {
        let mut stream = Key::new(3).rng();
        for negatives in Negatives::ALL {
            let made = negatives.until(&[5], 100, &mut stream).unwrap();
            assert!(!is_balanced(&made));
        }
    }
}
