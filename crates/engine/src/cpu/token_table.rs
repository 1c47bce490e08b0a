//! The table of a layer that reads tokens, one row of `E·Wᵀ + b` per distinct token of the batch, and
//! its adjoint.

use super::cells::scales;
use super::prepare::LayerParams;
use super::products::RowTransform;
use super::simd::AlignedVec;
use crate::Dropout;
use crate::dropout::DropoutMask;
use crate::model::{Arch, Cell};
use crate::tokens::BatchTokens;

/// What a layer that reads tokens needs of a batch: its tokens, and their rows of the embedding.
pub struct TokenInputs<'a> {
    pub tokens: &'a BatchTokens,
    embedding: &'a [f32],
    /// E.
    width: usize,
    mask: DropoutMask,
    /// The rows of the distinct tokens with dropped numbers set to zero; empty without dropout.
    masked_rows: Vec<f32>,
}

impl<'a> TokenInputs<'a> {
    pub fn new(
        arch: &Arch,
        tokens: &'a BatchTokens,
        embedding: &'a [f32],
        dropout: &Dropout,
    ) -> TokenInputs<'a> {
        let (width, mask) = (arch.input.width(), dropout.embedding_mask());
        let mut inputs = TokenInputs { tokens, embedding, width, mask, masked_rows: vec![] };
        if mask.is_active() {
            let mut masked_rows = inputs.rows().concat();
            drop_out(mask, width, &tokens.distinct, masked_rows.chunks_exact_mut(width));
            inputs.masked_rows = masked_rows;
        }
        inputs
    }

    /// The rows that the table is computed from, one per distinct token.
    fn rows(&self) -> Vec<&[f32]> {
        if self.masked_rows.is_empty() {
            let row = |&id: &u32| &self.embedding[id as usize * self.width..][..self.width];
            return self.tokens.distinct.iter().map(row).collect();
        }
        self.masked_rows.chunks_exact(self.width).collect()
    }
}

/// Multiplies the embedding rows of tokens by their masks.
fn drop_out<'r>(
    mask: DropoutMask,
    width: usize,
    ids: &[u32],
    rows: impl Iterator<Item = &'r mut [f32]>,
) {
    ids.iter().zip(rows).for_each(|(&id, row)| mask.apply(u64::from(id) * width as u64, row));
}

/// The rows of an embedding that a gradient covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingRows {
    /// All of them.
    All,
    /// The rows of the batch's distinct tokens.
    InBatch,
}

impl EmbeddingRows {
    /// The number of rows.
    pub fn count(self, tokens: &BatchTokens, vocabulary: usize) -> usize {
        match self {
            EmbeddingRows::All => vocabulary,
            EmbeddingRows::InBatch => tokens.distinct.len(),
        }
    }
}

/// The gradient of an embedding.
pub struct EmbeddingGradients<'a> {
    pub rows: EmbeddingRows,
    /// One row after the other.
    pub values: &'a mut [f32],
}

impl EmbeddingGradients<'_> {
    /// The rows of the batch's distinct tokens, whose ids ascend.
    fn rows_mut(&mut self, e: usize, tokens: &BatchTokens) -> Vec<&mut [f32]> {
        let mut rows = self.values.chunks_exact_mut(e);
        match self.rows {
            EmbeddingRows::InBatch => rows.collect(),
            EmbeddingRows::All => {
                let mut next = 0;
                let row = |&id: &u32| {
                    let skipped = id - std::mem::replace(&mut next, id + 1);
                    rows.nth(skipped as usize).expect("a row of the vocabulary")
                };
                tokens.distinct.iter().map(row).collect()
            }
        }
    }
}

/// The token table of a batch; kept for its memory.
#[derive(Default)]
pub struct TokenTable {
    /// The table in the memory of the core that computed it.
    pub computed: AlignedVec,
    /// A copy of a small table for the other cores; empty if they read `computed`.
    copy: AlignedVec,
}

impl TokenTable {
    /// The table that every worker reads.
    pub fn read(&self) -> &AlignedVec {
        if self.copy.is_empty() { &self.computed } else { &self.copy }
    }

    /// Copies the table with non-temporal stores for all workers to read.
    pub fn copy_for_workers(&mut self) {
        self.copy.copy_non_temporal(&self.computed);
    }

    /// Lets all workers read the table as computed.
    pub fn discard_copy(&mut self) {
        self.copy.clear(0);
    }
}

impl LayerParams<'_> {
    /// Computes `E·Wᵀ + b`, one row per distinct token `[U][Q][NI]`. An LSTM's is scaled, because only
    /// the forward pass reads it.
    pub(super) fn compute_table(&self, inputs: &TokenInputs<'_>, table: &mut AlignedVec) {
        let (w, rows) = (self.input_weights(), inputs.rows());
        let (blocks, bias) = (self.layer.cell.blocks(), self.input_bias());
        let transform = RowTransform {
            shift: self.packing.pack(1, blocks, |_, b, u| bias(b, u)),
            scale: self.packing.pack(1, blocks, |_, b, _| self.table_scale(b)),
        };
        self.products.table(&transform, &rows, w, table);
    }

    /// The factor of block b of a table.
    fn table_scale(&self, b: usize) -> f32 {
        match self.layer.cell {
            Cell::Lstm { .. } => scales(self.layer.gate)[b],
            Cell::Gru { .. } => 1.0,
        }
    }

    /// W.
    fn input_weights(&self) -> &[f32] {
        &self.params[self.slots.w_ih.clone()]
    }

    /// Assigns the gradients of embedding and W from the table's gradient `dx`. Returns the sum of the
    /// rows of `dx`, for [`LayerParams::table_bias_adjoint`].
    pub(super) fn table_adjoint(
        &self,
        inputs: &TokenInputs<'_>,
        dx: &[f32],
        into: &mut EmbeddingGradients<'_>,
        d_w: &mut [f32],
    ) -> Vec<f32> {
        let TokenInputs { tokens, width, mask, .. } = *inputs;
        let (w, rows) = (self.input_weights(), inputs.rows());
        let strides = self.products.table_strides();
        into.values.fill(0.0);
        d_w.fill(0.0);
        let d_rows = into.rows_mut(width, tokens);
        self.products.adjoint((dx, strides), (&rows, w), (d_rows, d_w));
        drop_out(mask, width, &tokens.distinct, into.rows_mut(width, tokens).into_iter());
        self.products.sum_of_rows(dx)
    }

    /// Adds the gradients of the biases, from the sum of the rows of the table's gradient.
    pub(super) fn table_bias_adjoint(&self, sum: &[f32], grads: &mut [f32]) {
        if self.layer.bias {
            self.packing.unpack(sum, 1, self.layer.cell.blocks(), |_, b, u, value| {
                self.add_input_bias_gradient(b, u, value, grads);
            });
        }
    }
}
