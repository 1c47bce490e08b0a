//! The table of a layer that reads tokens: one row of `E·Wᵀ + b` per distinct token of the batch,
//! and the adjoint of that.

use super::cells::scales;
use super::panels::Panels;
use super::prepare::At;
use super::products::Line;
use super::simd::Aligned;
use crate::engine::tokens::Tokens;
use crate::model::Cell;
use std::ops::Range;

impl At<'_> {
    /// `E·Wᵀ + b`, a row per distinct token `[U][Q][NI]`, in memory used again; scaled for an LSTM.
    pub(super) fn table(&self, embedding: &[f32], tokens: &Tokens, mut table: Aligned) -> Aligned {
        let (w, e) = self.input_weights();
        let rows = rows_of(embedding, e, &tokens.distinct);
        let (blocks, bias) = (self.layer.cell.blocks(), self.input_bias());
        let line = Line {
            shift: self.packing.pack(1, blocks, |_, b, u| bias(b, u)),
            scale: self.packing.pack(1, blocks, |_, b, _| self.table_scale(b)),
        };
        self.products.table_along(&line, &rows, w, &mut table);
        table
    }

    /// What block b of a table is multiplied with: only forward reads it.
    fn table_scale(&self, b: usize) -> f32 {
        match self.layer.cell {
            Cell::Lstm { .. } => scales(self.layer.gate)[b],
            Cell::Gru { .. } => 1.0,
        }
    }

    /// W, and E.
    fn input_weights(&self) -> (&[f32], usize) {
        let w = &self.params[self.slots.w_ih.clone()];
        (w, w.len() / (self.layer.cell.blocks() * self.layer.units))
    }

    /// Adds the gradients of embedding, W and biases.
    pub(super) fn table_adjoint(
        &self,
        embedding: &Range<usize>,
        tokens: &Tokens,
        d_panels: &Panels,
        grads: &mut [f32],
    ) {
        let ((w, e), dx) = (self.input_weights(), &d_panels.input);
        if self.layer.bias {
            let sum = self.products.sum_of_rows(dx);
            self.packing.unpack(&sum, 1, self.layer.cell.blocks(), |_, b, u, value| {
                self.add_bias_gradient(b, u, value, false, grads);
            });
        }
        let rows = rows_of(&self.params[embedding.clone()], e, &tokens.distinct);
        let into = [embedding.clone(), self.slots.w_ih.clone()];
        let [d_rows, d_w] = grads.get_disjoint_mut(into).expect("parameters do not overlap");
        let d_rows = rows_of_mut(d_rows, e, &tokens.distinct);
        self.products.adjoint(dx, (&rows, w), (d_rows, d_w));
    }
}

/// Some rows of E numbers.
fn rows_of<'a>(all: &'a [f32], e: usize, ids: &[u32]) -> Vec<&'a [f32]> {
    ids.iter().map(|&id| &all[id as usize * e..][..e]).collect()
}

/// Some rows of E numbers, ascending.
fn rows_of_mut<'a>(all: &'a mut [f32], e: usize, ids: &[u32]) -> Vec<&'a mut [f32]> {
    let mut rows = (0u32..).zip(all.chunks_exact_mut(e));
    let row = |id: &u32| rows.find(|(i, _)| i == id).expect("distinct tokens ascend").1;
    ids.iter().map(row).collect()
}
