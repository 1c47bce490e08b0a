//! What the bottom layer reads: embeddings or real numbers, and dropout.

use super::linear::add;
use super::network::Network;
use crate::dropout::DropoutMask;
use crate::{Batch, Dropout, Inputs};

impl Network<'_> {
    /// The inputs of row `b` `[T][E]`.
    pub(super) fn inputs(&self, batch: &Batch, b: usize, dropout: &Dropout) -> Vec<Vec<f64>> {
        let e = self.arch.input.width();
        let read = |n: usize| match &batch.input {
            Inputs::Tokens(ids) => {
                let mut x = self.embedding(ids[n]).to_vec();
                drop_out(dropout.embedding_mask(), ids[n] as usize * e, &mut x);
                x
            }
            Inputs::Real(x) => x[n * e..][..e].iter().map(|&x| x as f64).collect(),
        };
        batch.row(b).map(read).collect()
    }

    /// The adjoint of [`Network::inputs`]; `dx` is `[T][E]`.
    pub(super) fn embedding_backward(
        &self,
        batch: &Batch,
        b: usize,
        dx: Vec<Vec<f64>>,
        dropout: &Dropout,
        grads: &mut [f64],
    ) {
        let Inputs::Tokens(ids) = &batch.input else { return };
        let e = self.arch.input.width();
        let d_embedding = &mut grads[self.layout.embedding.clone()];
        for (&id, mut dx) in ids[batch.row(b)].iter().zip(dx) {
            drop_out(dropout.embedding_mask(), id as usize * e, &mut dx);
            add(&mut d_embedding[id as usize * e..][..e], &dx);
        }
    }
}

/// Multiplies numbers by the mask's factors from index `first` on. It is its own adjoint.
pub(super) fn drop_out(mask: DropoutMask, first: usize, values: &mut [f64]) {
    if mask.is_active() {
        let indexed = values.iter_mut().zip(first as u64..);
        indexed.for_each(|(value, index)| *value *= f64::from(mask.factor(index)));
    }
}
