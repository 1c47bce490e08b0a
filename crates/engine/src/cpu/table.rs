//! The table of a layer that reads tokens: one row of `E·Wᵀ + b` per distinct token of the batch,
//! and the adjoint of that.

use super::cells::scales;
use super::prepare::At;
use super::products::Line;
use super::simd::Aligned;
use crate::model::Cell;
use crate::tokens::Tokens;

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
}

/// The gradients of an embedding's rows.
pub struct RowGradients<'a> {
    /// Of which.
    pub of: Rows,
    /// One row after the other.
    pub values: &'a mut [f32],
}

impl RowGradients<'_> {
    /// Those of the batch's distinct tokens, which ascend.
    fn rows_mut(&mut self, e: usize, tokens: &Tokens) -> Vec<&mut [f32]> {
        let mut rows = self.values.chunks_exact_mut(e);
        match self.of {
            Rows::Met => rows.collect(),
            Rows::All => {
                let mut passed = 0;
                let row = |&id: &u32| {
                    let between = id - std::mem::replace(&mut passed, id + 1);
                    rows.nth(between as usize).expect("a row of the vocabulary")
                };
                tokens.distinct.iter().map(row).collect()
            }
        }
    }
}

/// A table, or its memory.
#[derive(Default)]
pub struct Table {
    /// As it was made.
    pub made: Aligned,
    /// A copy of a small one, for other cores than the one that made it.
    handed: Aligned,
}

impl Table {
    /// What every worker reads.
    pub fn read(&self) -> &Aligned {
        if self.handed.is_empty() { &self.made } else { &self.handed }
    }

    /// Has everyone read a copy.
    pub fn hand_out(&mut self) {
        self.handed.receive(&self.made);
    }

    /// Has everyone read what was made.
    pub fn keep(&mut self) {
        self.handed.clear(0);
    }
}

impl At<'_> {
    /// `E·Wᵀ + b`, a row per distinct token `[U][Q][NI]`; scaled for an LSTM, for only forward reads
    /// it.
    pub(super) fn table(&self, embedding: &[f32], tokens: &Tokens, table: &mut Aligned) {
        let (w, e) = self.input_weights();
        let rows = rows_of(embedding, e, &tokens.distinct);
        let (blocks, bias) = (self.layer.cell.blocks(), self.input_bias());
        let line = Line {
            shift: self.packing.pack(1, blocks, |_, b, u| bias(b, u)),
            scale: self.packing.pack(1, blocks, |_, b, _| self.table_scale(b)),
        };
        self.products.table(&line, &rows, w, table);
    }

    /// What block b of a table is multiplied with.
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

    /// The gradients of embedding and W, from the table's; and the sum of its rows, for the biases.
    pub(super) fn table_adjoint(
        &self,
        embedding: &[f32],
        tokens: &Tokens,
        dx: &[f32],
        into: &mut RowGradients<'_>,
        d_w: &mut [f32],
    ) -> Vec<f32> {
        let (w, e) = self.input_weights();
        let rows = rows_of(embedding, e, &tokens.distinct);
        let at = self.products.in_table();
        into.values.fill(0.0);
        d_w.fill(0.0);
        self.products.adjoint((dx, at), (&rows, w), (into.rows_mut(e, tokens), d_w));
        self.products.sum_of_rows(dx)
    }

    /// Adds the gradients of the biases, from the sum of a table's rows.
    pub(super) fn table_bias_adjoint(&self, sum: &[f32], grads: &mut [f32]) {
        if self.layer.bias {
            self.packing.unpack(sum, 1, self.layer.cell.blocks(), |_, b, u, value| {
                self.add_bias_gradient(b, u, value, false, grads);
            });
        }
    }
}

/// Some rows of E numbers.
fn rows_of<'a>(all: &'a [f32], e: usize, ids: &[u32]) -> Vec<&'a [f32]> {
    ids.iter().map(|&id| &all[id as usize * e..][..e]).collect()
}
