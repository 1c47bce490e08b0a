//! What is computed once per batch: the parameters in the form in which the scan reads them.
//!
//! With `h = αS` the recurrence needs only `G = S·Rᵀ` (K rows instead of D) and one row
//! `E·Wᵀ + b` per distinct token of the batch: the low-rank form. Where h is not a mixture of few
//! centroids, the scan carries h itself and reads R: the direct form.

use super::panels::{Packing, Panels};
use super::products::WeightProducts;
use super::simd::{AlignedVec, padded};
use super::thread_pool::{Executor, ThreadPool};
use super::token_table::{TokenInputs, TokenTable};
use crate::form::{Recurrence, recurrence, state_blocks};
use crate::layer_state::RowStart;
use crate::model::{Arch, Cell, Gate, Input, Layer, LayerSlots, Layout, Reset, Score};
use crate::tokens::BatchTokens;

/// What a layer reads at each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSource {
    /// A row of the token table.
    Table,
    /// A vector of the batch.
    Real,
    /// What the layer below carries: its α or its h.
    Carry,
    /// The h of the layer below. It carries α but may skip the stochastic step, so h is computed
    /// for the layer above.
    Hidden,
}

/// One layer as the scan reads it. The token table is separate.
#[derive(Clone)]
pub struct PreparedLayer {
    /// The recurrent component.
    pub cell: Cell,
    /// The gates' nonlinearity.
    pub gate: Gate,
    /// How u is compared with centroids, and 1/τ; `None` for a vanilla layer.
    pub stochastic: Option<(Score, f32)>,
    /// λ of the homotopy; 1 in the low-rank form.
    pub lambda: f32,
    /// What is carried.
    pub form: Recurrence,
    /// What is read.
    pub source: ReadSource,
    /// D.
    pub d: usize,
    /// D padded to whole vectors.
    pub dp: usize,
    /// K, or 0.
    pub k: usize,
    /// K padded.
    pub kp: usize,
    /// 1 for each centroid, then 0 `[kp]`.
    pub is_one: AlignedVec,
    /// Numbers carried: K or D.
    pub n: usize,
    /// The same, padded.
    pub np: usize,
    /// Numbers read per step; 0 for a table.
    pub n_in: usize,
    /// The same, padded.
    pub n_in_p: usize,
    /// The parameters.
    pub panels: Panels,
    /// The parameters of an LSTM with its blocks scaled, for the forward pass; else empty.
    pub scaled: Panels,
}

impl PreparedLayer {
    /// The panels that the forward pass reads.
    #[inline(always)]
    pub fn forward_panels(&self) -> &Panels {
        if matches!(self.cell, Cell::Lstm { .. }) { &self.scaled } else { &self.panels }
    }

    /// A copy for another core to read; reuses the memory of the given panels.
    fn copied_for_workers(&self, [mut panels, mut scaled]: [Panels; 2]) -> PreparedLayer {
        for (into, from) in [(&mut panels, &self.panels), (&mut scaled, &self.scaled)] {
            into.copy_non_temporal(from);
            into.input.copy_non_temporal(&from.input);
        }
        PreparedLayer { panels, scaled, is_one: self.is_one.clone(), ..*self }
    }

    /// Floats in a row of the token table.
    pub fn table_row(&self) -> usize {
        self.dp * self.cell.blocks()
    }
}

/// How the layers are run.
#[derive(Clone, Copy)]
pub struct LayerMode {
    pub lambda: f64,
    /// Multiplies every layer's temperature.
    pub tau: f64,
    pub start: RowStart,
}

/// All layers as the scan reads them. Writes the token table to `table`, whose memory is reused.
pub fn prepare(
    arch: &Arch,
    layout: &Layout,
    params: &[f32],
    inputs: &TokenInputs<'_>,
    mode: LayerMode,
    table: &mut TokenTable,
    executor: Executor<'_>,
) -> Vec<PreparedLayer> {
    let mut layers: Vec<PreparedLayer> = Vec::with_capacity(arch.layers.len());
    for (l, layer) in arch.layers.iter().enumerate() {
        let source = match (&arch.input, layers.last()) {
            (Input::Tokens { .. }, None) => ReadSource::Table,
            (Input::Real { .. }, None) => ReadSource::Real,
            (input, Some(below)) if below.form == Recurrence::LowRank && input.end().is_some() => {
                ReadSource::Hidden
            }
            (_, Some(_)) => ReadSource::Carry,
        };
        let own = LayerParams::new(layer, &layout.layers[l], params, executor);
        let mut prepared = None;
        let mut panels = || {
            prepared = Some(own.prepared(recurrence(layer, mode.lambda, mode.start), source, mode))
        };
        match source {
            ReadSource::Table => {
                let table = || {
                    own.compute_table(inputs, &mut table.computed);
                    match own.is_small(inputs.tokens) && executor.pool.workers() > 1 {
                        true => table.copy_for_workers(),
                        false => table.discard_copy(),
                    }
                };
                own.run_state_and_input(inputs.tokens, panels, table);
            }
            _ => panels(),
        }
        let mut prepared = prepared.expect("the panels were computed");
        prepared.n_in = match source {
            ReadSource::Table => 0,
            ReadSource::Real | ReadSource::Hidden => arch.width_below(l),
            ReadSource::Carry => layers[l - 1].n,
        };
        prepared.n_in_p = padded(prepared.n_in);
        let below = (source == ReadSource::Carry && layers[l - 1].form == Recurrence::LowRank)
            .then(|| &params[layout.layers[l - 1].centroids.clone()]);
        prepared.panels.input = match source {
            ReadSource::Table => AlignedVec::default(),
            _ => own.input_panel(prepared.n_in, below),
        };
        if matches!(layer.cell, Cell::Lstm { .. }) {
            prepared.scaled = prepared.panels.scaled(prepared.gate, executor.level.lanes());
        }
        layers.push(prepared);
    }
    layers
}

/// Layers of more floats than this are not copied: a cache would not hold the copy.
const MAX_COPIED: usize = 1 << 20;

/// Whether copying the layers for the other workers pays.
pub fn worth_copying(layers: &[PreparedLayer], pool: &ThreadPool) -> bool {
    let floats: usize = layers.iter().map(|p| p.panels.len() + p.scaled.len()).sum();
    pool.workers() > 1 && floats <= MAX_COPIED
}

/// Copies the layers for the other workers where that pays; else leaves `copies` empty.
pub fn copy_for_workers(
    layers: &[PreparedLayer],
    copies: &mut Vec<PreparedLayer>,
    pool: &ThreadPool,
) {
    let mut memory = std::mem::take(copies).into_iter().map(|p| [p.panels, p.scaled]);
    if worth_copying(layers, pool) {
        let copy =
            |layer: &PreparedLayer| layer.copied_for_workers(memory.next().unwrap_or_default());
        *copies = layers.iter().map(copy).collect();
    }
}

/// One layer's parameters, their layout in panels, and their products.
pub struct LayerParams<'a> {
    pub(super) layer: &'a Layer,
    pub(super) slots: &'a LayerSlots,
    pub(super) params: &'a [f32],
    pub(super) packing: Packing,
    pub(super) products: WeightProducts<'a>,
}

impl<'a> LayerParams<'a> {
    pub(super) fn new(
        layer: &'a Layer,
        slots: &'a LayerSlots,
        params: &'a [f32],
        executor: Executor<'a>,
    ) -> LayerParams<'a> {
        let units = layer.units;
        let packing = Packing { units, lanes: executor.level.lanes() };
        let products = WeightProducts { executor, units, blocks: layer.cell.blocks() };
        LayerParams { layer, slots, params, packing, products }
    }

    /// Whether no product of a layer that reads these tokens is worth two threads.
    fn is_small(&self, tokens: &BatchTokens) -> bool {
        let (w, r) = (&self.params[self.slots.w_ih.clone()], &self.params[self.slots.w_hh.clone()]);
        let centroids = self.layer.centroids.map_or(0, |s| s.k);
        self.products.is_small(tokens.distinct.len(), w) && self.products.is_small(centroids, r)
    }

    /// Runs two closures: `state` on the parameters that multiply the carried vector, `input` on
    /// those that multiply the input. For a small layer they run in parallel, `input` on worker 1,
    /// which also updates these parameters.
    // PERF: so they stay in its cache (d=100, k=50, two threads: 1.13 ms a step, 1.17 all by the
    // caller).
    pub(super) fn run_state_and_input(
        &self,
        tokens: &BatchTokens,
        state: impl FnOnce() + Send,
        input: impl FnOnce() + Send,
    ) {
        if self.is_small(tokens) {
            return self.products.executor.pool.join(state, input);
        }
        state();
        input();
    }

    fn prepared(
        &self,
        form: Recurrence,
        source: ReadSource,
        LayerMode { lambda, tau, .. }: LayerMode,
    ) -> PreparedLayer {
        let layer = self.layer;
        let (d, k) = (layer.units, layer.centroids.map_or(0, |s| s.k));
        let n = if form == Recurrence::LowRank { k } else { d };
        let stochastic = layer.centroids.map(|s| (s.score, (1.0 / (s.tau.get() * tau)) as f32));
        let lambda = if layer.centroids.is_some() { lambda as f32 } else { 0.0 };
        let panels = self.panels(form);
        let (cell, gate) = (layer.cell, layer.gate);
        let (dp, kp, np) = (padded(d), padded(k), padded(n));
        let mut is_one = AlignedVec::zeros(kp);
        is_one[..k].fill(1.0);
        #[rustfmt::skip]
        return PreparedLayer {
            cell, gate, stochastic, lambda, form, source, d, dp, k, kp, is_one, n, np,
            n_in: 0, n_in_p: 0, panels, scaled: Panels::default(),
        };
    }

    fn panels(&self, form: Recurrence) -> Panels {
        let (d, slots, p) = (self.layer.units, self.slots, self.params);
        let (r, s) = (&p[slots.w_hh.clone()], &p[slots.centroids.clone()]);
        let blocks = self.layer.cell.blocks();
        let s_panel = self.packing.pack_rows(s);
        let state = match form {
            Recurrence::LowRank => {
                let of = state_blocks(self.layer.cell, form);
                let mut g = self.products.panel(&rows_of(s, d), r, of);
                let strips = g.chunks_exact_mut(of * self.packing.lanes);
                for (into, s) in strips.zip(s_panel.chunks_exact(self.packing.lanes)) {
                    // The fourth block of a GRU, if there is one.
                    into.chunks_exact_mut(s.len()).skip(blocks).for_each(|h| h.copy_from_slice(s));
                }
                g
            }
            Recurrence::Direct => {
                self.packing
                    .pack(d, state_blocks(self.layer.cell, form), |j, b, u| r[(b * d + u) * d + j])
            }
        };
        let candidate = match self.layer.cell {
            Cell::Gru { reset: Reset::BeforeMatrix } => {
                self.packing.pack(d, 1, |j, _, u| r[(2 * d + u) * d + j])
            }
            _ => AlignedVec::default(),
        };
        let b_hh = &p[slots.b_hh.clone()];
        let input_bias = self.input_bias();
        let bias = self.packing.pack(1, 4, |_, b, u| match b < blocks {
            true => input_bias(b, u),
            false if self.candidate_bias_apart() => b_hh.get(2 * d + u).copied().unwrap_or(0.0),
            false => 0.0,
        });
        let peepholes = &p[slots.peephole.clone()];
        let peephole =
            self.packing.pack(1, 3, |_, b, u| peepholes.get(b * d + u).copied().unwrap_or(0.0));
        Panels { state, candidate, input: AlignedVec::default(), bias, peephole, s: s_panel }
    }

    /// Whether the candidate's recurrent bias is inside `r ∘ (·)`, apart from the input bias.
    pub(super) fn candidate_bias_apart(&self) -> bool {
        self.layer.cell == Cell::Gru { reset: Reset::AfterMatrix }
    }

    /// The sum of the biases of an input block, as a function of block and unit.
    pub(super) fn input_bias(&self) -> impl Fn(usize, usize) -> f32 {
        let d = self.layer.units;
        let (b_ih, b_hh) =
            (&self.params[self.slots.b_ih.clone()], &self.params[self.slots.b_hh.clone()]);
        let apart = self.candidate_bias_apart();
        move |b, u| match b_ih.is_empty() {
            true => 0.0,
            false if apart && b == 2 => b_ih[2 * d + u],
            false => b_ih[b * d + u] + b_hh[b * d + u],
        }
    }

    /// `Wᵀ` `[Q][n_in][NI]`, or `S·Wᵀ` where the layer below carries α.
    fn input_panel(&self, n_in: usize, below: Option<&[f32]>) -> AlignedVec {
        let (d, blocks, w) =
            (self.layer.units, self.layer.cell.blocks(), &self.params[self.slots.w_ih.clone()]);
        let e = w.len() / (blocks * d);
        match below {
            None => self.packing.pack(n_in, blocks, |j, b, u| w[(b * d + u) * e + j]),
            Some(s) => self.products.panel(&rows_of(s, e), w, blocks),
        }
    }
}

/// All rows of a matrix with E columns.
pub(super) fn rows_of(all: &[f32], e: usize) -> Vec<&[f32]> {
    all.chunks_exact(e).collect()
}
