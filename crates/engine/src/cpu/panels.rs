//! Parameters in the order in which the scan reads them, or their gradients.

use super::cells::scales;
use super::simd::Aligned;
use crate::model::Gate;

/// Parameters, or their gradients, as panels (`kernels.rs`); Q·lanes = Dp.
#[derive(Clone, Default)]
pub struct Panels {
    /// `[Q][n][NS]`: from the carried vector to i, f, g, o; to r, z, R_n h (and h itself in the
    /// low-rank form); or to r, z where the reset gate acts before the matrix.
    pub state: Aligned,
    /// `[Q][D]`: from r∘h to the candidate; only where the reset gate acts before the matrix.
    pub candidate: Aligned,
    /// `[Q][n_in][NI]`, or the gradient of a table `[U][Q][NI]`: to i, f, g, o or r, z, n.
    pub input: Aligned,
    /// `[Q][4]`: i, f, g, o or r, z, n and the candidate's recurrent bias.
    pub bias: Aligned,
    /// `[Q][3]`: i, f, o.
    pub peephole: Aligned,
    /// S: `[Q][K]`.
    pub s: Aligned,
}

impl Panels {
    /// Makes these zeros of the sizes of others; of the input, `input` numbers.
    pub fn clear_like(&mut self, other: &Panels, input: usize) {
        for (part, other) in self.parts_mut().into_iter().zip(other.parts()) {
            part.clear(other.len());
        }
        self.input.clear(input);
    }

    /// Every part but the input, for sums.
    pub fn parts_mut(&mut self) -> [&mut Aligned; 5] {
        let Panels { state, candidate, bias, peephole, s, .. } = self;
        [state, candidate, bias, peephole, s]
    }

    /// Every part but the input.
    pub fn parts(&self) -> [&Aligned; 5] {
        let Panels { state, candidate, bias, peephole, s, .. } = self;
        [state, candidate, bias, peephole, s]
    }

    /// Makes every part but the input that of another, for another core to read.
    pub fn receive(&mut self, from: &Panels) {
        for (into, from) in self.parts_mut().into_iter().zip(from.parts()) {
            into.receive(from);
        }
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.input.len() + self.parts().iter().map(|part| part.len()).sum::<usize>()
    }

    /// Those of an LSTM with its blocks scaled, for forward.
    pub fn scaled(&self, gate: Gate, lanes: usize) -> Panels {
        let scales = scales(gate);
        Panels {
            state: multiplied(&self.state, lanes, &scales),
            input: multiplied(&self.input, lanes, &scales),
            bias: multiplied(&self.bias, lanes, &scales),
            peephole: multiplied(&self.peephole, lanes, &scales[..1]),
            ..Panels::default()
        }
    }
}

/// A panel with the blocks of every stretch multiplied, each with its own number.
fn multiplied(panel: &[f32], lanes: usize, by: &[f32]) -> Aligned {
    let mut product = Aligned::zeros(panel.len());
    let vectors = product.chunks_exact_mut(lanes).zip(panel.chunks_exact(lanes));
    for ((into, from), by) in vectors.zip(by.iter().cycle()) {
        into.iter_mut().zip(from).for_each(|(into, from)| *into = from * by);
    }
    product
}

/// `into += from`.
pub fn add(into: &mut [f32], from: &[f32]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
}
