//! The table of a layer that reads tokens: one row of `E·Wᵀ + b` per distinct token of the batch,
//! and the adjoint of that.

use super::cells::scales;
use super::panels::{Panels, add};
use super::prepare::At;
use super::simd::{Aligned, padded};
use crate::engine::tokens::Tokens;
use crate::model::Cell;

/// The rows of an embedding that a gradient has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All of them.
    All,
    /// Those of the batch's distinct tokens.
    Met,
}

impl Rows {
    /// How many they are, of a vocabulary.
    pub fn count(self, tokens: &Tokens, vocabulary: usize) -> usize {
        match self {
            Rows::All => vocabulary,
            Rows::Met => tokens.distinct.len(),
        }
    }

    /// Which of them is that of the batch's token i.
    fn place(self, i: usize, tokens: &Tokens) -> usize {
        match self {
            Rows::All => tokens.distinct[i] as usize,
            Rows::Met => i,
        }
    }
}

/// The gradients of an embedding's rows.
pub struct RowGradients<'a> {
    /// Of which.
    pub of: Rows,
    /// One row after the other.
    pub values: &'a mut [f32],
}

impl At<'_> {
    /// `E·Wᵀ + b`, a row per distinct token `[U][Q][NI]`; scaled for an LSTM.
    pub(super) fn table(&self, embedding: &[f32], tokens: &Tokens) -> Aligned {
        let (w, e) = self.input_weights();
        let mut table = self.products.table(&gather(embedding, e, &tokens.distinct), w);
        let bias =
            self.packing.pack(1, self.layer.cell.blocks(), |_, b, u| self.input_bias()(b, u));
        let by = self.packing.pack(1, self.layer.cell.blocks(), |_, b, _| self.table_scale(b));
        for row in table.chunks_exact_mut(bias.len()) {
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

    /// W, and E.
    fn input_weights(&self) -> (&[f32], usize) {
        let w = &self.params[self.slots.w_ih.clone()];
        (w, w.len() / (self.layer.cell.blocks() * self.layer.units))
    }

    /// Adds the gradients of embedding, W and biases.
    pub(super) fn table_adjoint(
        &self,
        embedding: &[f32],
        tokens: &Tokens,
        d_panels: &Panels,
        into: &mut RowGradients<'_>,
        grads: &mut [f32],
    ) {
        let ((w, e), dx) = (self.input_weights(), &d_panels.input);
        if self.layer.bias {
            let mut sum = vec![0.0; self.layer.cell.blocks() * padded(self.layer.units)];
            dx.chunks_exact(sum.len()).for_each(|row| add(&mut sum, row));
            self.packing.unpack(&sum, 1, self.layer.cell.blocks(), |_, b, u, value| {
                self.add_bias_gradient(b, u, value, false, grads);
            });
        }
        let rows = gather(embedding, e, &tokens.distinct);
        let (mut d_rows, d_w) = (vec![0.0; rows.len()], &mut grads[self.slots.w_ih.clone()]);
        self.products.adjoint(dx, (&rows, w), (&mut d_rows, d_w));
        for (i, row) in d_rows.chunks_exact(e).enumerate() {
            let place = into.of.place(i, tokens);
            add(&mut into.values[place * e..][..e], row);
        }
    }
}

fn gather(embedding: &[f32], e: usize, ids: &[u32]) -> Vec<f32> {
    // PERF: row by row. Number by number it was 5 % of a step (32×100 tokens out of 400,000, E = 64),
    // so less than 1.
    let mut rows = Vec::with_capacity(ids.len() * e);
    ids.iter().for_each(|&id| rows.extend_from_slice(&embedding[id as usize * e..][..e]));
    rows
}
