//! Keyed randomness: every draw is a function of a seed and of what it is drawn for.
//!
//! A [`Key`] is a value. `key.child("batch", 17)` always gives the same draws, whatever was drawn
//! before and by whichever thread. So a resumed run needs no replay, and results do not depend on the
//! order of work.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use sha2::{Digest as _, Sha256};

/// The seed of one random number generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// The key from which all others of a run are derived.
    pub fn new(seed: u64) -> Self {
        Key([0; 32]).child("srnn", seed)
    }

    /// The key for one purpose, and one index within it.
    pub fn child(&self, purpose: &str, index: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(index.to_le_bytes());
        hash.update(purpose.as_bytes());
        Key(hash.finalize().into())
    }

    /// The generator of this key, before its first draw.
    pub fn rng(&self) -> Rng {
        Rng(ChaCha8Rng::from_seed(self.0))
    }
}

/// A random number generator. The distributions are implemented here, so that a new version of a
/// library cannot change what a seed gives.
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "a draw from the empty range 0..0");
        let n = n as u64;
        // Rejects the incomplete last interval, so that every value is equally likely.
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let bits = self.bits();
            if bits < limit {
                return (bits % n) as usize;
            }
        }
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `[low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Shuffles `items` in place (Fisher–Yates).
    pub fn shuffle<A>(&mut self, items: &mut [A]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_the_key_alone() {
        let key = Key::new(7);
        let first: Vec<u64> = (0..4).map(|i| key.child("batch", i).rng().bits()).collect();
        let mut again: Vec<u64> =
            (0..4).rev().map(|i| key.child("batch", i).rng().bits()).collect();
        again.reverse();
        assert_eq!(first, again);
        assert_ne!(key.child("batch", 0), key.child("init", 0));
        assert_ne!(Key::new(7), Key::new(8));
    }

    #[test]
    fn draws_stay_in_range_and_look_uniform() {
        let mut rng = Key::new(1).rng();
        let mut counts = [0usize; 7];
        for _ in 0..7_000 {
            counts[rng.below(7)] += 1;
            let x = rng.uniform(-0.5, 0.5);
            assert!((-0.5..0.5).contains(&x));
        }
        assert!(counts.iter().all(|&c| (850..1150).contains(&c)), "{counts:?}");
    }
}
