//! Parameters, or their gradients, in the order in which the scan reads them.

use super::cells::scales;
use super::simd::{AlignedVec, padded};
use crate::model::Gate;
use std::ops::Range;

/// Parameters, or their gradients, as panels (`kernels.rs`); Q·lanes = Dp.
#[derive(Clone, Default)]
pub struct Panels {
    /// `[Q][n][NS]`: from the carried vector to i, f, g, o; to r, z, R_n h (and h itself in the
    /// low-rank form); or to r, z where the reset gate acts before the matrix.
    pub state: AlignedVec,
    /// `[Q][D]`: from r∘h to the candidate; only where the reset gate acts before the matrix.
    pub candidate: AlignedVec,
    /// `[Q][n_in][NI]`, or the gradient of a table `[U][Q][NI]`: to i, f, g, o or r, z, n.
    pub input: AlignedVec,
    /// `[Q][4]`: i, f, g, o or r, z, n and the candidate's recurrent bias.
    pub bias: AlignedVec,
    /// `[Q][3]`: i, f, o.
    pub peephole: AlignedVec,
    /// S: `[Q][K]`.
    pub s: AlignedVec,
}

impl Panels {
    /// Resizes every panel to the size of `other`'s, the input to `input` numbers; all zeros.
    pub fn clear_like(&mut self, other: &Panels, input: usize) {
        for (part, other) in self.parts_mut().into_iter().zip(other.parts()) {
            part.clear(other.len());
        }
        self.input.clear(input);
    }

    /// Every panel but the input.
    pub fn parts_mut(&mut self) -> [&mut AlignedVec; 5] {
        let Panels { state, candidate, bias, peephole, s, .. } = self;
        [state, candidate, bias, peephole, s]
    }

    /// Every panel but the input.
    pub fn parts(&self) -> [&AlignedVec; 5] {
        let Panels { state, candidate, bias, peephole, s, .. } = self;
        [state, candidate, bias, peephole, s]
    }

    /// Copies every panel but the input with non-temporal stores, for another core to read.
    pub fn copy_non_temporal(&mut self, from: &Panels) {
        for (into, from) in self.parts_mut().into_iter().zip(from.parts()) {
            into.copy_non_temporal(from);
        }
    }

    /// The number of floats in all panels.
    pub fn len(&self) -> usize {
        self.input.len() + self.parts().iter().map(|part| part.len()).sum::<usize>()
    }

    /// The panels of an LSTM with its blocks scaled ([`scales`]), for the forward pass.
    pub fn scaled(&self, gate: Gate, lanes: usize) -> Panels {
        let scales = scales(gate);
        Panels {
            state: scaled_blocks(&self.state, lanes, &scales),
            input: scaled_blocks(&self.input, lanes, &scales),
            bias: scaled_blocks(&self.bias, lanes, &scales),
            peephole: scaled_blocks(&self.peephole, lanes, &scales[..1]),
            ..Panels::default()
        }
    }
}

/// A panel with each block of a strip multiplied by its scale.
fn scaled_blocks(panel: &[f32], lanes: usize, scales: &[f32]) -> AlignedVec {
    let mut product = AlignedVec::zeros(panel.len());
    let vectors = product.chunks_exact_mut(lanes).zip(panel.chunks_exact(lanes));
    for ((into, from), scale) in vectors.zip(scales.iter().cycle()) {
        into.iter_mut().zip(from).for_each(|(into, from)| *into = from * scale);
    }
    product
}

/// `into += from`.
pub fn add(into: &mut [f32], from: &[f32]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
}

/// The layout of panels `[Q][n][blocks]` for `units` units in vectors of `lanes` numbers.
#[derive(Clone, Copy)]
pub struct Packing {
    pub units: usize,
    pub lanes: usize,
}

impl Packing {
    /// A panel `[Q][n][blocks]` from its entries `value(row, block, unit)`.
    pub fn pack(
        &self,
        n: usize,
        blocks: usize,
        value: impl Fn(usize, usize, usize) -> f32,
    ) -> AlignedVec {
        let mut panel = AlignedVec::zeros(n * blocks * padded(self.units));
        let lanes = self.lanes;
        for (at, vector) in panel.chunks_exact_mut(lanes).enumerate() {
            let (q, j, b) = (at / (n * blocks), at / blocks % n, at % blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            vector.iter_mut().zip(units).for_each(|(v, u)| *v = value(j, b, u));
        }
        panel
    }

    /// Calls `put(row, block, unit, value)` for the entries of a panel `[Q][n][blocks]`, padding
    /// left out.
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
    pub fn pack_rows(&self, matrix: &[f32]) -> AlignedVec {
        let n = matrix.len() / self.units;
        let mut panel = AlignedVec::zeros(n * padded(self.units));
        for (q, strip) in panel.chunks_exact_mut((n * self.lanes).max(1)).enumerate() {
            let units = self.units_of(q);
            for (row, into) in matrix.chunks(self.units).zip(strip.chunks_exact_mut(self.lanes)) {
                into[..units.len()].copy_from_slice(&row[units.clone()]);
            }
        }
        panel
    }

    /// Adds block b of a panel `[Q][n][blocks]` to a matrix `[n, units]`.
    pub fn add_rows(&self, panel: &[f32], (b, blocks): (usize, usize), matrix: &mut [f32]) {
        let (n, width) = (matrix.len() / self.units, blocks * self.lanes);
        for (q, strip) in panel.chunks_exact((n * width).max(1)).enumerate() {
            let units = self.units_of(q);
            for (row, from) in matrix.chunks_mut(self.units).zip(strip.chunks_exact(width)) {
                add(&mut row[units.clone()], &from[b * self.lanes..]);
            }
        }
    }

    /// The units of strip q.
    fn units_of(&self, q: usize) -> Range<usize> {
        let unit = |q: usize| (q * self.lanes).min(self.units);
        unit(q)..unit(q + 1)
    }
}
