//! How matrices are laid out for the scan.

use super::panels::add;
use super::simd::{Aligned, padded};
use std::ops::Range;

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

    /// A panel `[Q][n]` of a matrix `[n, units]`.
    pub fn pack_rows(&self, matrix: &[f32]) -> Aligned {
        let n = matrix.len() / self.units;
        let mut panel = Aligned::zeros(n * padded(self.units));
        for (q, stretch) in panel.chunks_exact_mut((n * self.lanes).max(1)).enumerate() {
            let units = self.units_of(q);
            for (row, into) in matrix.chunks(self.units).zip(stretch.chunks_exact_mut(self.lanes)) {
                into[..units.len()].copy_from_slice(&row[units.clone()]);
            }
        }
        panel
    }

    /// Adds block b of a panel `[Q][n][blocks]` to a matrix `[n, units]`.
    pub fn add_rows(&self, panel: &[f32], (b, blocks): (usize, usize), matrix: &mut [f32]) {
        let (n, width) = (matrix.len() / self.units, blocks * self.lanes);
        for (q, stretch) in panel.chunks_exact((n * width).max(1)).enumerate() {
            let units = self.units_of(q);
            for (row, from) in matrix.chunks_mut(self.units).zip(stretch.chunks_exact(width)) {
                add(&mut row[units.clone()], &from[b * self.lanes..]);
            }
        }
    }

    /// The units of stretch q.
    fn units_of(&self, q: usize) -> Range<usize> {
        let unit = |q: usize| (q * self.lanes).min(self.units);
        unit(q)..unit(q + 1)
    }
}
