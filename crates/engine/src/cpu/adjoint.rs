//! The adjoint of `prepare`: from the gradients of what the scan reads to those of the parameters.

use super::panels::Panels;
use super::prepare::{At, Machine, Prepared, Source, rows_of};
use super::table::RowGradients;
use crate::form::{Form, state_blocks};
use crate::model::{Arch, Layout};
use crate::tokens::Tokens;
use std::ops::Range;

/// From the gradients of the panels, and of the table of tokens if there is one, those of the
/// parameters. Layout and parameters are those behind the embedding, which is apart.
#[allow(clippy::too_many_arguments)]
pub fn finish(
    arch: &Arch,
    layout: &Layout,
    (embedding, params): (&[f32], &[f32]),
    tokens: &Tokens,
    layers: &[Prepared],
    (adjoints, d_table): (&[Panels], &[f32]),
    machine: Machine<'_>,
    (mut rows, grads): (RowGradients<'_>, &mut [f32]),
) {
    for (l, (prepared, d)) in layers.iter().zip(adjoints).enumerate() {
        let layer = &arch.layers[l];
        let at = At::new(layer, &layout.layers[l], params, machine);
        match prepared.source {
            Source::Table => {
                let (end, behind) = (at.slots.w_ih.end, at.slots.behind(at.slots.w_ih.end));
                debug_assert_eq!(at.slots.w_ih.start, 0, "W is first behind the embedding");
                let of_state = At::new(layer, &behind, &params[end..], machine);
                let (d_w, others) = grads.split_at_mut(end);
                let mut biases = vec![];
                let state = || {
                    others.fill(0.0);
                    of_state.state_adjoint(prepared, d, others);
                    of_state.small_adjoints(prepared, d, others);
                };
                let input =
                    || biases = at.table_adjoint(embedding, tokens, d_table, &mut rows, d_w);
                at.beside(tokens, state, input);
                of_state.table_bias_adjoint(&biases, others);
            }
            _ => {
                if l == 0 {
                    grads.fill(0.0);
                }
                at.state_adjoint(prepared, d, grads);
                at.small_adjoints(prepared, d, grads);
                let below = (prepared.source == Source::Carry
                    && layers[l - 1].form == Form::LowRank)
                    .then(|| layout.layers[l - 1].centroids.clone());
                at.input_adjoint(prepared.n_in, below, d, grads);
            }
        }
    }
}

impl At<'_> {
    fn state_adjoint(&self, prepared: &Prepared, d_panels: &Panels, grads: &mut [f32]) {
        let (d, blocks, n) = (self.layer.units, self.layer.cell.blocks(), prepared.n);
        let packed = state_blocks(self.layer.cell, prepared.form);
        let (r, s) = (self.slots.w_hh.clone(), self.slots.centroids.clone());
        match prepared.form {
            Form::LowRank => {
                if packed > blocks {
                    let h_block = (blocks, packed);
                    self.packing.add_rows(&d_panels.state, h_block, &mut grads[s.clone()]);
                }
                self.panel_adjoints(&d_panels.state, packed, (s, r), grads);
            }
            Form::Direct => {
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

    /// Centroids, peepholes and the biases that the panels hold.
    fn small_adjoints(&self, prepared: &Prepared, d_panels: &Panels, grads: &mut [f32]) {
        let (d, slots) = (self.layer.units, self.slots);
        self.packing.add_rows(&d_panels.s, (0, 1), &mut grads[slots.centroids.clone()]);
        if self.layer.cell.has_peephole() {
            let dp = &mut grads[slots.peephole.clone()];
            self.packing.unpack(&d_panels.peephole, 1, 3, |_, b, u, value| dp[b * d + u] += value);
        }
        if self.layer.bias {
            let from_table = prepared.source == Source::Table;
            self.packing.unpack(&d_panels.bias, 1, 4, |_, b, u, value| {
                self.add_bias_gradient(b, u, value, from_table, grads);
            });
        }
    }

    /// The gradient of one entry of the bias panel; those of a table come with the table.
    pub(super) fn add_bias_gradient(
        &self,
        b: usize,
        u: usize,
        value: f32,
        table: bool,
        grads: &mut [f32],
    ) {
        let d = self.layer.units;
        let (ih, hh) = (self.slots.b_ih.start, self.slots.b_hh.start);
        let apart = self.candidate_bias_apart();
        if b >= self.layer.cell.blocks() {
            if apart {
                grads[hh + 2 * d + u] += value;
            }
        } else if !table {
            grads[ih + b * d + u] += value;
            if !(apart && b == 2) {
                grads[hh + b * d + u] += value;
            }
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

    /// Adds the gradients of rows and weights that the first blocks of a panel `[Q][n][of]` were
    /// made of, both parameters.
    fn panel_adjoints(
        &self,
        d_panel: &[f32],
        of: usize,
        (rows, w): (Range<usize>, Range<usize>),
        grads: &mut [f32],
    ) {
        let e = w.len() / (self.layer.cell.blocks() * self.layer.units);
        let at = self.products.in_panel(rows.len() / e, of);
        let factors = (&*rows_of(&self.params[rows.clone()], e), &self.params[w.clone()]);
        let [d_rows, d_w] = grads.get_disjoint_mut([rows, w]).expect("parameters do not overlap");
        let d_rows = d_rows.chunks_exact_mut(e).collect();
        self.products.adjoint((d_panel, at), factors, (d_rows, d_w));
    }
}
