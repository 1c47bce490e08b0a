//! What is computed once per batch: the parameters in the form the scan reads them, and the
//! adjoint of that.
//!
//! With `h = αS` the recurrence needs only `G = S·Rᵀ` (K rows instead of D) and one row
//! `E·Wᵀ + b` per distinct token of the batch: the low-rank form. Where h is not a mixture of few
//! centroids, the scan carries h itself and reads R: the direct form.

use super::pack::Packing;
use super::panels::Panels;
use super::products::Products;
use super::simd::{Aligned, Level, padded};
use super::table::Table;
use super::workers::Workers;
use crate::form::{Form, form, state_blocks};
use crate::model::{Arch, Cell, Gate, Input, Layer, LayerSlots, Layout, Reset, Score};
use crate::tokens::Tokens;

/// What a layer reads at each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A row of a table, by token.
    Table,
    /// A vector of the batch.
    Real,
    /// What the layer below carries: its α or its h.
    Carry,
    /// The h of the layer below, formed for this purpose: it carries α but may skip a step.
    Hidden,
}

/// One layer as the scan sees it, but for the table of tokens, which is apart.
#[derive(Clone)]
pub struct Prepared {
    /// The recurrent component.
    pub cell: Cell,
    /// The gates' nonlinearity.
    pub gate: Gate,
    /// How u is compared with centroids, and 1/τ; `None` for a vanilla layer.
    pub stochastic: Option<(Score, f32)>,
    /// λ of the homotopy; 1 in the low-rank form.
    pub lambda: f32,
    /// What is carried.
    pub form: Form,
    /// What is read.
    pub source: Source,
    /// D, and padded.
    pub d: usize,
    /// D padded to whole vectors.
    pub dp: usize,
    /// K, or 0.
    pub k: usize,
    /// K padded.
    pub kp: usize,
    /// 1 for each centroid, then 0 `[kp]`.
    pub is_one: Aligned,
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
    /// Those of an LSTM with its blocks scaled, for forward.
    pub scaled: Panels,
}

impl Prepared {
    /// What forward multiplies with.
    #[inline(always)]
    pub fn ahead(&self) -> &Panels {
        if matches!(self.cell, Cell::Lstm { .. }) { &self.scaled } else { &self.panels }
    }

    /// The same layer, for another core to read, in memory of one.
    fn handed_out(&self, [mut panels, mut scaled]: [Panels; 2]) -> Prepared {
        for (into, from) in [(&mut panels, &self.panels), (&mut scaled, &self.scaled)] {
            into.receive(from);
            into.input.receive(&from.input);
        }
        Prepared { panels, scaled, is_one: self.is_one.clone(), ..*self }
    }

    /// Numbers in a row of the table.
    pub fn table_row(&self) -> usize {
        self.dp * self.cell.blocks()
    }
}

/// What it is computed with.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The instruction set.
    pub level: Level,
    /// Threads.
    pub workers: &'a Workers,
}

/// All layers, as the scan reads them, and the table of tokens, in memory of none or of another.
pub fn prepare(
    arch: &Arch,
    layout: &Layout,
    params: &[f32],
    tokens: &Tokens,
    (lambda, tau): (f64, f64),
    table: &mut Table,
    machine: Machine<'_>,
) -> Vec<Prepared> {
    let mut layers: Vec<Prepared> = Vec::with_capacity(arch.layers.len());
    for (l, layer) in arch.layers.iter().enumerate() {
        let source = match (&arch.input, layers.last()) {
            (Input::Tokens { .. }, None) => Source::Table,
            (Input::Real { .. }, None) => Source::Real,
            (input, Some(below)) if below.form == Form::LowRank && input.end().is_some() => {
                Source::Hidden
            }
            (_, Some(_)) => Source::Carry,
        };
        let at = At::new(layer, &layout.layers[l], params, machine);
        let mut prepared = None;
        let mut panels = || prepared = Some(at.prepared(form(layer, lambda), source, lambda, tau));
        match source {
            Source::Table => {
                let embedding = &params[layout.embedding.clone()];
                let table = || {
                    at.table(embedding, tokens, &mut table.made);
                    match at.is_small(tokens) && machine.workers.count() > 1 {
                        true => table.hand_out(),
                        false => table.keep(),
                    }
                };
                at.beside(tokens, panels, table);
            }
            _ => panels(),
        }
        let mut prepared = prepared.expect("the panels were made");
        prepared.n_in = match source {
            Source::Table => 0,
            Source::Real | Source::Hidden => arch.width_below(l),
            Source::Carry => layers[l - 1].n,
        };
        prepared.n_in_p = padded(prepared.n_in);
        let below = (source == Source::Carry && layers[l - 1].form == Form::LowRank)
            .then(|| &params[layout.layers[l - 1].centroids.clone()]);
        prepared.panels.input = match source {
            Source::Table => Aligned::default(),
            _ => at.input_panel(prepared.n_in, below),
        };
        if matches!(layer.cell, Cell::Lstm { .. }) {
            prepared.scaled = prepared.panels.scaled(prepared.gate, machine.level.lanes());
        }
        layers.push(prepared);
    }
    layers
}

/// Numbers of layers that are worth copying for every core.
const LARGEST_COPIES: usize = 1 << 20;

/// Whether layers are worth copying for workers that did not make them: there are some, and a cache
/// holds the copy.
pub fn worth_copying(layers: &[Prepared], workers: &Workers) -> bool {
    let numbers: usize = layers.iter().map(|p| p.panels.len() + p.scaled.len()).sum();
    workers.count() > 1 && numbers <= LARGEST_COPIES
}

/// Copies layers for workers that did not make them, where that is worth it.
pub fn hand_out(layers: &[Prepared], copies: &mut Vec<Prepared>, workers: &Workers) {
    let mut before = std::mem::take(copies).into_iter().map(|p| [p.panels, p.scaled]);
    if worth_copying(layers, workers) {
        let copy = |layer: &Prepared| layer.handed_out(before.next().unwrap_or_default());
        *copies = layers.iter().map(copy).collect();
    }
}

/// One layer's parameters, and how they are packed.
pub struct At<'a> {
    pub(super) layer: &'a Layer,
    pub(super) slots: &'a LayerSlots,
    pub(super) params: &'a [f32],
    pub(super) packing: Packing,
    pub(super) products: Products<'a>,
}

impl<'a> At<'a> {
    pub(super) fn new(
        layer: &'a Layer,
        slots: &'a LayerSlots,
        params: &'a [f32],
        machine: Machine<'a>,
    ) -> At<'a> {
        let units = layer.units;
        let packing = Packing { units, lanes: machine.level.lanes() };
        let products = Products { machine, units, blocks: layer.cell.blocks() };
        At { layer, slots, params, packing, products }
    }

    /// Whether nothing of a layer that reads these tokens is worth two threads.
    fn is_small(&self, tokens: &Tokens) -> bool {
        let (w, r) = (&self.params[self.slots.w_ih.clone()], &self.params[self.slots.w_hh.clone()]);
        let centroids = self.layer.centroids.map_or(0, |s| s.k);
        self.products.is_small(tokens.distinct.len(), w) && self.products.is_small(centroids, r)
    }

    /// Makes something of what the carried vector meets, and of what is read; of a small layer the
    /// caller the first, another worker the second, who also updates the parameters it is made of.
    // PERF: so they are in his cache (d=100, k=50, two threads: 1.13 ms a step, 1.17 all by the
    // caller).
    pub(super) fn beside(
        &self,
        tokens: &Tokens,
        state: impl FnOnce() + Send,
        input: impl FnOnce() + Send,
    ) {
        if self.is_small(tokens) {
            return self.products.machine.workers.both(state, input);
        }
        state();
        input();
    }

    fn prepared(&self, form: Form, source: Source, lambda: f64, tau: f64) -> Prepared {
        let layer = self.layer;
        let (d, k) = (layer.units, layer.centroids.map_or(0, |s| s.k));
        let n = if form == Form::LowRank { k } else { d };
        let stochastic = layer.centroids.map(|s| (s.score, (1.0 / (s.tau.get() * tau)) as f32));
        let lambda = if layer.centroids.is_some() { lambda as f32 } else { 0.0 };
        let panels = self.panels(form);
        let (cell, gate) = (layer.cell, layer.gate);
        let (dp, kp, np) = (padded(d), padded(k), padded(n));
        let mut is_one = Aligned::zeros(kp);
        is_one[..k].fill(1.0);
        #[rustfmt::skip]
        return Prepared {
            cell, gate, stochastic, lambda, form, source, d, dp, k, kp, is_one, n, np,
            n_in: 0, n_in_p: 0, panels, scaled: Panels::default(),
        };
    }

    fn panels(&self, form: Form) -> Panels {
        let (d, slots, p) = (self.layer.units, self.slots, self.params);
        let (r, s) = (&p[slots.w_hh.clone()], &p[slots.centroids.clone()]);
        let blocks = self.layer.cell.blocks();
        let s_panel = self.packing.pack_rows(s);
        let state = match form {
            Form::LowRank => {
                let of = state_blocks(self.layer.cell, form);
                let mut g = self.products.panel(&rows_of(s, d), r, of);
                let stretches = g.chunks_exact_mut(of * self.packing.lanes);
                for (into, s) in stretches.zip(s_panel.chunks_exact(self.packing.lanes)) {
                    // The fourth block of a GRU, if there is one.
                    into.chunks_exact_mut(s.len()).skip(blocks).for_each(|h| h.copy_from_slice(s));
                }
                g
            }
            Form::Direct => self
                .packing
                .pack(d, state_blocks(self.layer.cell, form), |j, b, u| r[(b * d + u) * d + j]),
        };
        let candidate = match self.layer.cell {
            Cell::Gru { reset: Reset::BeforeMatrix } => {
                self.packing.pack(d, 1, |j, _, u| r[(2 * d + u) * d + j])
            }
            _ => Aligned::default(),
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
        Panels { state, candidate, input: Aligned::default(), bias, peephole, s: s_panel }
    }

    /// Whether the candidate's recurrent bias stays inside `r ∘ (·)`.
    pub(super) fn candidate_bias_apart(&self) -> bool {
        self.layer.cell == Cell::Gru { reset: Reset::AfterMatrix }
    }

    /// The bias of an input block.
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
    fn input_panel(&self, n_in: usize, below: Option<&[f32]>) -> Aligned {
        let (d, blocks, w) =
            (self.layer.units, self.layer.cell.blocks(), &self.params[self.slots.w_ih.clone()]);
        let e = w.len() / (blocks * d);
        match below {
            None => self.packing.pack(n_in, blocks, |j, b, u| w[(b * d + u) * e + j]),
            Some(s) => self.products.panel(&rows_of(s, e), w, blocks),
        }
    }
}

/// All rows of E numbers.
pub(super) fn rows_of(all: &[f32], e: usize) -> Vec<&[f32]> {
    all.chunks_exact(e).collect()
}
