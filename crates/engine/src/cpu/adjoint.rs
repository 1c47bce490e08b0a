//! The adjoint of `prepare`: from the gradients of what the scan reads to those of the parameters.

use super::panels::Panels;
use super::prepare::{LayerParams, PreparedLayer, ReadSource, rows_of};
use super::thread_pool::Executor;
use super::token_table::{EmbeddingGradients, TokenInputs};
use crate::form::{Recurrence, state_blocks};
use crate::model::{Arch, Layout};
use std::ops::Range;

/// Computes the gradients of the parameters from those of the panels and of the token table, if
/// there is one. `layout`, `params` and `grads` are of all parameters but the embedding, which is
/// separate.
#[allow(clippy::too_many_arguments)]
pub fn compute_parameter_gradients(
    arch: &Arch,
    layout: &Layout,
    params: &[f32],
    inputs: &TokenInputs<'_>,
    layers: &[PreparedLayer],
    (adjoints, d_table): (&[Panels], &[f32]),
    executor: Executor<'_>,
    (mut rows, grads): (EmbeddingGradients<'_>, &mut [f32]),
) {
    for (l, (prepared, d)) in layers.iter().zip(adjoints).enumerate() {
        let layer = &arch.layers[l];
        let own = LayerParams::new(layer, &layout.layers[l], params, executor);
        match prepared.source {
            ReadSource::Table => {
                let end = own.slots.w_ih.end;
                let rest_slots = own.slots.rebased(end);
                debug_assert_eq!(own.slots.w_ih.start, 0, "W comes first after the embedding");
                let rest = LayerParams::new(layer, &rest_slots, &params[end..], executor);
                let (d_w, d_rest) = grads.split_at_mut(end);
                let mut bias_sums = vec![];
                let state = || {
                    d_rest.fill(0.0);
                    rest.state_adjoint(prepared, d, d_rest);
                    rest.small_adjoints(prepared, d, d_rest);
                };
                let input = || bias_sums = own.table_adjoint(inputs, d_table, &mut rows, d_w);
                own.run_state_and_input(inputs.tokens, state, input);
                rest.table_bias_adjoint(&bias_sums, d_rest);
            }
            _ => {
                if l == 0 {
                    grads.fill(0.0);
                }
                own.state_adjoint(prepared, d, grads);
                own.small_adjoints(prepared, d, grads);
                let below = (prepared.source == ReadSource::Carry
                    && layers[l - 1].form == Recurrence::LowRank)
                    .then(|| layout.layers[l - 1].centroids.clone());
                own.input_adjoint(prepared.n_in, below, d, grads);
            }
        }
    }
}

impl LayerParams<'_> {
    fn state_adjoint(&self, prepared: &PreparedLayer, d_panels: &Panels, grads: &mut [f32]) {
        let (d, blocks, n) = (self.layer.units, self.layer.cell.blocks(), prepared.n);
        let packed = state_blocks(self.layer.cell, prepared.form);
        let (r, s) = (self.slots.w_hh.clone(), self.slots.centroids.clone());
        match prepared.form {
            Recurrence::LowRank => {
                if packed > blocks {
                    let h_block = (blocks, packed);
                    self.packing.add_rows(&d_panels.state, h_block, &mut grads[s.clone()]);
                }
                self.panel_adjoints(&d_panels.state, packed, (s, r), grads);
            }
            Recurrence::Direct => {
                let d_r = &mut grads[r];
                self.packing.unpack(&d_panels.state, n, packed, |j, b, u, value| {
                    d_r[(b * d + u) * d + j] += value;
                });
                self.packing.unpack(&d_panels.candidate, d, 1, |j, _, u, value| {
                    d_r[(2 * d + u) * d + j] += value;
                });
            }
        }
    }

    /// Centroids, peepholes and biases. The input biases of a layer with a table come from the
    /// table's gradient instead ([`LayerParams::table_bias_adjoint`]).
    fn small_adjoints(&self, prepared: &PreparedLayer, d_panels: &Panels, grads: &mut [f32]) {
        let (d, slots) = (self.layer.units, self.slots);
        self.packing.add_rows(&d_panels.s, (0, 1), &mut grads[slots.centroids.clone()]);
        if self.layer.cell.has_peephole() {
            let dp = &mut grads[slots.peephole.clone()];
            self.packing.unpack(&d_panels.peephole, 1, 3, |_, b, u, value| dp[b * d + u] += value);
        }
        if self.layer.bias {
            let (blocks, has_table) =
                (self.layer.cell.blocks(), prepared.source == ReadSource::Table);
            self.packing.unpack(&d_panels.bias, 1, 4, |_, b, u, value| {
                if b < blocks && !has_table {
                    self.add_input_bias_gradient(b, u, value, grads);
                } else if b >= blocks && self.candidate_bias_apart() {
                    grads[slots.b_hh.start + 2 * d + u] += value;
                }
            });
        }
    }

    /// Adds the gradient of one entry of the input biases.
    pub(super) fn add_input_bias_gradient(
        &self,
        b: usize,
        u: usize,
        value: f32,
        grads: &mut [f32],
    ) {
        let at = b * self.layer.units + u;
        grads[self.slots.b_ih.start + at] += value;
        if !(self.candidate_bias_apart() && b == 2) {
            grads[self.slots.b_hh.start + at] += value;
        }
    }

    fn input_adjoint(
        &self,
        n_in: usize,
        below: Option<Range<usize>>,
        d_panels: &Panels,
        grads: &mut [f32],
    ) {
        let (d, blocks, w) = (self.layer.units, self.layer.cell.blocks(), self.slots.w_ih.clone());
        let e = w.len() / (blocks * d);
        let Some(s) = below else {
            let d_w = &mut grads[w];
            self.packing.unpack(&d_panels.input, n_in, blocks, |j, b, u, value| {
                d_w[(b * d + u) * e + j] += value;
            });
            return;
        };
        self.panel_adjoints(&d_panels.input, blocks, (s, w), grads);
    }

    /// The adjoint of `rows·Wᵀ` from the gradient of the first blocks of a panel `[Q][n][of]`; adds
    /// to the gradients of rows and weights, which are both parameters.
    fn panel_adjoints(
        &self,
        d_panel: &[f32],
        of: usize,
        (rows, w): (Range<usize>, Range<usize>),
        grads: &mut [f32],
    ) {
        let e = w.len() / (self.layer.cell.blocks() * self.layer.units);
        let strides = self.products.panel_strides(rows.len() / e, of);
        let factors = (&*rows_of(&self.params[rows.clone()], e), &self.params[w.clone()]);
        let [d_rows, d_w] = grads.get_disjoint_mut([rows, w]).expect("parameters do not overlap");
        let d_rows = d_rows.chunks_exact_mut(e).collect();
        self.products.adjoint((d_panel, strides), factors, (d_rows, d_w));
    }
}
