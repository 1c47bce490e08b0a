//! The table of a layer that reads tokens: one row of `E·Wᵀ + b` per distinct token of the batch,
//! and the adjoint of that.

use super::cells::scales;
use super::pack::{gemm_nn, gemm_nt, gemm_tn};
use super::panels::{Panels, add};
use super::prepare::At;
use super::simd::{Aligned, padded};
use crate::engine::tokens::Tokens;
use crate::model::Cell;

impl At<'_> {
    /// `E·Wᵀ + b`, a row per distinct token `[U][Q][NI]`; scaled for an LSTM.
    pub(super) fn table(&self, embedding: &[f32], tokens: &Tokens) -> Aligned {
        let (w, e) = self.input_weights_in_order();
        let (count, width) = (tokens.distinct.len(), w.len() / e);
        let mut table = Aligned::zeros(count * width);
        gemm_nt(
            self.workers,
            [count, e, width],
            &gather(embedding, e, &tokens.distinct),
            &w,
            &mut table,
        );
        let bias =
            self.packing.pack(1, self.layer.cell.blocks(), |_, b, u| self.input_bias()(b, u));
        let by = self.packing.pack(1, self.layer.cell.blocks(), |_, b, _| self.table_scale(b));
        for row in table.chunks_exact_mut(width) {
            for ((x, bias), by) in row.iter_mut().zip(&*bias).zip(&*by) {
                *x = (*x + bias) * by;
            }
        }
        table
    }

    /// What block b of a table is multiplied with: only forward reads it.
    fn table_scale(&self, b: usize) -> f32 {
        match self.layer.cell {
            Cell::Lstm { .. } => scales(self.layer.gate)[b],
            Cell::Gru { .. } => 1.0,
        }
    }

    /// W with its rows in the order of a table's numbers `[Q·NI·lanes, E]`, so that products with
    /// it need not be packed; and E.
    fn input_weights_in_order(&self) -> (Vec<f32>, usize) {
        let w = &self.params[self.slots.w_ih.clone()];
        let e = w.len() / (self.layer.cell.blocks() * self.layer.units);
        let mut ordered = vec![0.0; padded(self.layer.units) * self.layer.cell.blocks() * e];
        for (row, from) in w.chunks_exact(e).enumerate() {
            ordered[self.place_in_table(row) * e..][..e].copy_from_slice(from);
        }
        (ordered, e)
    }

    /// Where row b·D + u of W is in a row of the table.
    fn place_in_table(&self, row: usize) -> usize {
        let (b, u) = (row / self.layer.units, row % self.layer.units);
        let lanes = self.packing.lanes;
        (u / lanes * self.layer.cell.blocks() + b) * lanes + u % lanes
    }

    /// Adds the gradients of embedding, W and biases.
    pub(super) fn table_adjoint(
        &self,
        embedding: &std::ops::Range<usize>,
        tokens: &Tokens,
        d_panels: &Panels,
        grads: &mut [f32],
    ) {
        let (w, e) = self.input_weights_in_order();
        let (dx, count, width) = (&d_panels.input, tokens.distinct.len(), w.len() / e);
        if self.layer.bias {
            let mut sum = vec![0.0; width];
            dx.chunks_exact(width).for_each(|row| add(&mut sum, row));
            self.packing.unpack(&sum, 1, self.layer.cell.blocks(), |_, b, u, value| {
                self.add_bias_gradient(b, u, value, false, grads);
            });
        }
        let rows = gather(&self.params[embedding.clone()], e, &tokens.distinct);
        let mut d_w = vec![0.0; width * e];
        gemm_tn(self.workers, [width, count, e], dx, &rows, &mut d_w);
        for (row, into) in grads[self.slots.w_ih.clone()].chunks_exact_mut(e).enumerate() {
            add(into, &d_w[self.place_in_table(row) * e..][..e]);
        }
        let mut d_rows = rows;
        d_rows.fill(0.0);
        gemm_nn(self.workers, [count, width, e], dx, &w, &mut d_rows);
        for (&id, row) in tokens.distinct.iter().zip(d_rows.chunks_exact(e)) {
            add(&mut grads[embedding.start + id as usize * e..][..e], row);
        }
    }
}

fn gather(embedding: &[f32], e: usize, ids: &[u32]) -> Vec<f32> {
    ids.iter().flat_map(|&id| &embedding[id as usize * e..][..e]).copied().collect()
}
