//! How matrices are laid out for the scan.

use super::simd::{Aligned, padded};

/// The layout of panels `[Q][n][blocks]` for `units` units in vectors of `lanes` numbers.
#[derive(Clone, Copy)]
pub struct Packing {
    pub units: usize,
    pub lanes: usize,
}

impl Packing {
    /// A panel `[Q][n][blocks]` from its entries (row j, block b, unit u).
    pub fn pack(
        &self,
        n: usize,
        blocks: usize,
        value: impl Fn(usize, usize, usize) -> f32,
    ) -> Aligned {
        let mut panel = Aligned::zeros(n * blocks * padded(self.units));
        let lanes = self.lanes;
        for (at, vector) in panel.chunks_exact_mut(lanes).enumerate() {
            let (q, j, b) = (at / (n * blocks), at / blocks % n, at % blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            vector.iter_mut().zip(units).for_each(|(v, u)| *v = value(j, b, u));
        }
        panel
    }

    /// The entries of a panel `[Q][n][blocks]`, the padding left out.
    pub fn unpack(
        &self,
        panel: &[f32],
        n: usize,
        blocks: usize,
        mut put: impl FnMut(usize, usize, usize, f32),
    ) {
        let lanes = self.lanes;
        for (at, vector) in panel.chunks_exact(lanes).enumerate() {
            let (q, j, b) = (at / (n * blocks), at / blocks % n, at % blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            vector.iter().zip(units).for_each(|(&v, u)| put(j, b, u, v));
        }
    }

    /// The first `blocks` of a panel's `of` blocks, as a table `[n][Q][blocks]`.
    pub fn table_of(&self, panel: &[f32], n: usize, blocks: usize, of: usize) -> Aligned {
        let mut table = Aligned::zeros(n * blocks * padded(self.units));
        let width = blocks * self.lanes;
        for (at, from) in panel.chunks_exact(of * self.lanes).enumerate() {
            let place = self.in_table(at, n) * width;
            table[place..][..width].copy_from_slice(&from[..width]);
        }
        table
    }

    /// A panel of `of` blocks, the first `blocks` of which are those of a table.
    pub fn panel_of(&self, table: &[f32], n: usize, blocks: usize, of: usize) -> Aligned {
        let mut panel = Aligned::zeros(n * of * padded(self.units));
        let width = blocks * self.lanes;
        for (at, into) in panel.chunks_exact_mut(of * self.lanes).enumerate() {
            let place = self.in_table(at, n) * width;
            into[..width].copy_from_slice(&table[place..][..width]);
        }
        panel
    }

    /// Which stretch of a table `[n][Q]` is number `at` of a panel `[Q][n]`.
    fn in_table(&self, at: usize, n: usize) -> usize {
        let (q, j) = (at / n, at % n);
        j * (padded(self.units) / self.lanes) + q
    }
}
