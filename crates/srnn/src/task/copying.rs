//! The copying memory task: remember ten symbols over many blanks.
//!
//! A sequence has T + 20 steps. The input is ten symbols drawn from 1..=8, T − 1 blanks (0), the
//! marker (9), ten blanks; the target is blank for the first T + 10 steps, then the ten symbols:
//!
//! ```text
//! input   3 1 7 … 2 | 0 0 0 …… 0 | 9 | 0 0 0 … 0
//! target  0 0 0 … 0 | 0 0 0 …… 0 | 0 | 3 1 7 … 2
//! ```
//!
//! There are nine classes, the blank and the eight symbols: the marker is never a target. Only the
//! ten symbols of a sequence are stored. The other steps are generated batch by batch, because
//! 100,000 sequences of 520 steps are 52 million tokens.

use super::Split;
use crate::engine::hex::hex;
use crate::key::Key;
use sha2::{Digest as _, Sha256};
use std::num::NonZeroUsize;

/// The number of symbols to remember.
pub(crate) const REMEMBERED: usize = 10;

/// The size of the alphabet: the blank, eight symbols, the marker.
pub(crate) const SYMBOLS: usize = 10;

/// The number of classes: the blank and the eight symbols, with the ids of the alphabet.
pub(crate) const CLASSES: usize = 9;

/// The blank, as a token and as a class.
pub(crate) const BLANK: u32 = 0;

/// The token after which the symbols must be output.
pub(crate) const MARKER: u32 = 9;

/// A set of copying sequences, all of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copying {
    /// T: the number of steps from the last symbol to the marker.
    pub delay: NonZeroUsize,
    /// The symbols of each sequence, from 1 to 8.
    pub remembered: Vec<[u8; REMEMBERED]>,
}

/// The number of sequences of each set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyingSizes {
    /// The training set. Default 100,000, as in the paper.
    pub train: usize,
    /// The validation set. Default 1,000.
    pub valid: usize,
    /// The test set. Default 10,000, as in the paper.
    pub test: usize,
}

impl Default for CopyingSizes {
    fn default() -> Self {
        CopyingSizes { train: 100_000, valid: 1_000, test: 10_000 }
    }
}

impl Copying {
    /// Draws `count` sequences of delay T.
    pub fn draw(delay: NonZeroUsize, count: usize, key: &Key) -> Copying {
        let mut rng = key.child("copying", 0).rng();
        let mut symbol = |_| 1 + rng.below(CLASSES - 1) as u8;
        let remembered = (0..count).map(|_| std::array::from_fn(&mut symbol)).collect();
        Copying { delay, remembered }
    }

    /// The length of every sequence: T + 20.
    pub fn steps(&self) -> usize {
        steps(self.delay)
    }

    /// The input tokens of sequence `index`.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn tokens(&self, index: usize) -> impl Iterator<Item = u32> + '_ {
        self.symbols(index)
            .chain(std::iter::repeat_n(BLANK, self.delay.get() - 1))
            .chain([MARKER])
            .chain([BLANK; REMEMBERED])
    }

    /// The target classes of sequence `index`.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn targets(&self, index: usize) -> impl Iterator<Item = u32> + '_ {
        let before = self.delay.get() + REMEMBERED;
        std::iter::repeat_n(BLANK, before).chain(self.symbols(index))
    }

    /// The SHA-256 of a canonical encoding, in hex.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"srnn copying 1\n");
        hash.update((self.delay.get() as u64).to_le_bytes());
        hash.update(self.remembered.as_flattened());
        hex(&hash.finalize())
    }

    fn symbols(&self, index: usize) -> impl Iterator<Item = u32> + '_ {
        self.remembered[index].iter().map(|&symbol| u32::from(symbol))
    }
}

/// Training, validation and test set for delay T.
pub(crate) fn sets(delay: NonZeroUsize, sizes: &CopyingSizes, key: &Key) -> Split<Copying> {
    let key = key.child("copying sets", delay.get() as u64);
    Split {
        train: Copying::draw(delay, sizes.train, &key.child("train", 0)),
        valid: Copying::draw(delay, sizes.valid, &key.child("valid", 0)),
        test: Some(Copying::draw(delay, sizes.test, &key.child("test", 0))),
    }
}

/// The mean cross-entropy of the memoryless baseline, which is certain of the blanks and guesses
/// each symbol with probability 1/8: 10·ln 8 / (T + 20).
pub(crate) fn baseline(delay: NonZeroUsize) -> f64 {
    REMEMBERED as f64 * ((CLASSES - 1) as f64).ln() / steps(delay) as f64
}

fn steps(delay: NonZeroUsize) -> usize {
    delay.get() + 2 * REMEMBERED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(steps: usize) -> NonZeroUsize {
        NonZeroUsize::new(steps).unwrap()
    }

    #[test]
    fn a_sequence_is_ten_symbols_blanks_the_marker_and_ten_blanks() {
        for t in [1, 2, 100, 500] {
            let set = Copying::draw(delay(t), 20, &Key::new(1));
            for index in 0..20 {
                let tokens: Vec<u32> = set.tokens(index).collect();
                let targets: Vec<u32> = set.targets(index).collect();
                assert_eq!([tokens.len(), targets.len(), set.steps()], [t + 20; 3]);
                assert!(tokens[..10].iter().all(|token| (1..=8).contains(token)));
                assert_eq!(tokens[10..t + 9], vec![0; t - 1]);
                assert_eq!(tokens[t + 9], 9);
                assert_eq!(tokens[t + 10..], [0; 10]);
                assert_eq!(targets[..t + 10], vec![0; t + 10]);
                assert_eq!(targets[t + 10..], tokens[..10]);
            }
        }
    }

    #[test]
    fn symbols_are_uniform_at_every_position() {
        let set = Copying::draw(delay(5), 8_000, &Key::new(2));
        let mut counts = [[0usize; 8]; REMEMBERED];
        for remembered in &set.remembered {
            for (place, &symbol) in remembered.iter().enumerate() {
                counts[place][symbol as usize - 1] += 1;
            }
        }
        // Five standard deviations around the expected 1,000.
        assert!(
            counts.as_flattened().iter().all(|count| (850..1_150).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn the_baseline_is_that_of_the_paper() {
        assert!((baseline(delay(100)) - 0.1733).abs() < 5e-5);
        assert!((baseline(delay(500)) - 0.0400).abs() < 5e-5);
    }

    #[test]
    fn sets_have_the_sizes_asked_for_and_are_a_function_of_delay_and_key() {
        let wanted = CopyingSizes { train: 50, valid: 20, test: 30 };
        let split = |t, seed| sets(delay(t), &wanted, &Key::new(seed));
        let Split { train, valid, test } = split(7, 1);
        let test = test.unwrap();
        let sizes = [&train, &valid, &test].map(|set| set.remembered.len());
        assert_eq!(sizes, [50, 20, 30]);
        assert_eq!(split(7, 1), split(7, 1));
        assert_ne!(split(7, 1).train.remembered, split(7, 2).train.remembered);
        assert_ne!(train.remembered[..20], valid.remembered);
        assert_ne!(test.remembered[..20], valid.remembered);
    }

    #[test]
    fn the_digest_changes_with_delay_and_symbols() {
        let set = Copying::draw(delay(5), 3, &Key::new(1));
        let later = Copying { delay: delay(6), ..set.clone() };
        let mut other = set.clone();
        other.remembered[2][9] ^= 1;
        let digests = [&set, &later, &other].map(Copying::digest);
        assert_eq!(digests[0], set.clone().digest());
        assert!(digests[0] != digests[1] && digests[0] != digests[2] && digests[1] != digests[2]);
    }
}
