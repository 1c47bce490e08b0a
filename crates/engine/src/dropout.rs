//! Dropout: which numbers an update sets to zero.
//!
//! A mask is a function of a seed and an index, computed where it is needed. So all engines drop the
//! same numbers, whatever the order in which they compute, and nothing is stored or uploaded.

/// Dropout of one update. A number is set to zero with the given probability and otherwise divided
/// by the probability of keeping it. Traces never drop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Probability for each number that the classifier reads: h, u or c of a read-out.
    pub readout: f64,
    /// Probability for each number of an embedding. All steps of a batch that read a token see the
    /// same mask.
    // PERF: a mask per step would need a product with W per step instead of one per distinct token.
    pub embedding: f64,
    /// Selects the masks; should differ from update to update.
    pub seed: u64,
}

impl Dropout {
    /// Drops nothing.
    pub const NONE: Dropout = Dropout { readout: 0.0, embedding: 0.0, seed: 0 };

    /// The masks of the classifier's features; the index is `readout · features + feature`.
    pub(crate) fn readout_mask(&self) -> DropoutMask {
        DropoutMask::new(self.readout, self.seed)
    }

    /// The masks of the embedding; the index is that of the number in the embedding.
    pub(crate) fn embedding_mask(&self) -> DropoutMask {
        // Another constant than that of the features, so that the masks are independent.
        DropoutMask::new(self.embedding, self.seed ^ 0x6a09_e667_f3bc_c908)
    }
}

/// The factors of numbers by index. `dropout_factor` in `cuda/kernels/dropout.cuh` computes the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropoutMask {
    pub seed: u64,
    /// An index is dropped if its random number of 32 bits is below.
    pub threshold: u32,
    /// The factor of the indices that are kept.
    pub kept: f32,
}

impl DropoutMask {
    fn new(rate: f64, seed: u64) -> DropoutMask {
        // Saturates for rates from 1 on.
        let threshold = (rate * (1u64 << 32) as f64) as u32;
        DropoutMask { seed, threshold, kept: (1.0 / (1.0 - rate)) as f32 }
    }

    /// Whether anything is dropped.
    pub fn is_active(&self) -> bool {
        self.threshold > 0
    }

    /// 0, or the factor of a kept number.
    #[inline(always)]
    pub fn factor(&self, index: u64) -> f32 {
        if random_word(self.seed, index) < self.threshold { 0.0 } else { self.kept }
    }

    /// Multiplies consecutive numbers by the factors of the indices from `first` on.
    pub fn apply(&self, first: u64, values: &mut [f32]) {
        if self.is_active() {
            let indexed = values.iter_mut().zip(first..);
            indexed.for_each(|(value, index)| *value *= self.factor(index));
        }
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014) as a function of its counter: the upper half of an output.
#[inline(always)]
fn random_word(seed: u64, index: u64) -> u32 {
    let mut x = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of kept indices below `count`, and of those kept by both masks.
    fn kept(mask: DropoutMask, other: DropoutMask, count: u64) -> (usize, usize) {
        let keeps = |mask: DropoutMask, index: u64| mask.factor(index) > 0.0;
        let own = (0..count).filter(|&index| keeps(mask, index));
        let both = own.clone().filter(|&index| keeps(other, index));
        (own.count(), both.count())
    }

    #[test]
    fn masks_keep_the_given_share_and_are_independent_of_each_other() {
        let dropout = |seed| Dropout { readout: 0.3, embedding: 0.3, seed };
        let mask = dropout(1).readout_mask();
        // Four standard deviations of 100,000 draws: 0.0058 and 0.0064.
        for other in [dropout(2).readout_mask(), dropout(1).embedding_mask()] {
            let (own, both) = kept(mask, other, 100_000);
            assert!((own as f64 / 1e5 - 0.7).abs() < 0.0058, "{own}");
            assert!((both as f64 / 1e5 - 0.49).abs() < 0.0064, "{both}");
        }
    }

    #[test]
    fn kept_numbers_are_scaled_so_that_the_mean_stays() {
        let mask = Dropout { readout: 0.75, ..Dropout::NONE }.readout_mask();
        assert!(mask.is_active() && !Dropout::NONE.readout_mask().is_active());
        let factors: Vec<f32> = (0..50).map(|index| mask.factor(index)).collect();
        assert!(factors.iter().all(|&factor| factor == 0.0 || factor == 4.0));
        assert!(factors.contains(&0.0) && factors.contains(&4.0));
        let mut values = vec![1.0; 30];
        mask.apply(20, &mut values);
        assert_eq!(values, factors[20..]);
    }
}
