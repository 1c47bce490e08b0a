//! The network as a transition system, and its forward and backward on the rows of a batch.

use super::cell::{self, CellOutput};
use super::centroids::{self, StochasticOutput};
use super::inputs::drop_out;
use super::linear::{add, add_product, add_product_dw, add_product_dx};
use crate::key::Rng;
use crate::model::{Arch, Layout, When};
use crate::objective::StepShare;
use crate::softmax::{argmax, log_softmax};
use crate::{Batch, Dropout, IGNORE, Loss, Mode, Regime, Transition};

/// The state of a network between two steps: `(h, c)` of every layer, bottom first.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkState {
    /// h `[D]` of each layer.
    pub h: Vec<Vec<f64>>,
    /// c `[D]` of each layer; empty for a GRU.
    pub c: Vec<Vec<f64>>,
    /// α `[K]` of each layer that led to h; zero where there was no stochastic step.
    pub alpha: Vec<Vec<f64>>,
    /// u `[D]` of the top layer; zero before the first step.
    pub u: Vec<f64>,
}

/// A network as a transition system: one step at a time, from any state.
#[derive(Clone, Copy)]
pub struct Network<'a> {
    /// The architecture.
    pub arch: &'a Arch,
    /// The layout of the parameters.
    pub layout: &'a Layout,
    /// The parameters.
    pub params: &'a [f64],
}

/// One step of one layer. `stochastic` is `None` where the stochastic step is skipped.
pub(super) struct LayerStep {
    pub output: CellOutput,
    pub stochastic: Option<StochasticOutput>,
    pub h: Vec<f64>,
}

/// The gradients of a layer's outputs from the layer above and the classifier, `[T][D]` each.
struct OutputGradients {
    h: Vec<Vec<f64>>,
    u: Vec<Vec<f64>>,
    c: Vec<Vec<f64>>,
}

impl OutputGradients {
    /// Only h is read, by the layer above.
    fn from_above(h: Vec<Vec<f64>>, units: usize) -> Self {
        let zeros = vec![vec![0.0; units]; h.len()];
        OutputGradients { h, u: zeros.clone(), c: zeros }
    }
}

/// The forward pass of one row.
pub(super) struct RowForward {
    /// `[layers][T]`.
    pub layers: Vec<Vec<LayerStep>>,
    /// What the classifier read `[readouts][features]`, and its logits `[readouts][C]`.
    features: Vec<Vec<f64>>,
    pub logits: Vec<Vec<f64>>,
}

impl<'a> Network<'a> {
    /// The state before the first step: all zeros.
    pub fn initial(&self) -> NetworkState {
        let zeros = |n: usize| vec![0.0; n];
        let layers = &self.arch.layers;
        NetworkState {
            h: layers.iter().map(|l| zeros(l.units)).collect(),
            c: layers
                .iter()
                .map(|l| zeros(if l.cell.has_memory() { l.units } else { 0 }))
                .collect(),
            alpha: layers.iter().map(|l| zeros(l.centroids.map_or(0, |s| s.k))).collect(),
            u: zeros(self.arch.top().units),
        }
    }

    /// The state after reading `token` in `state`. An end token takes no stochastic step.
    ///
    /// # Panics
    /// If transitions are sampled: a state does not record how many draws came before it. Use
    /// [`trace`](crate::Runner::trace) to sample.
    pub fn advance(&self, state: &NetworkState, token: u32, mode: Mode) -> NetworkState {
        assert!(
            !matches!(mode.transition, Transition::Sample(_)),
            "single steps cannot be sampled; use trace"
        );
        let mut x = self.embedding(token).to_vec();
        let takes_step = Some(token) != self.arch.input.end();
        let mut next = self.initial();
        for l in 0..self.arch.layers.len() {
            let mut rng = mode.transition.row_rng(0, l);
            let step = self.layer_step(l, &x, &state.h[l], &state.c[l], mode, takes_step, &mut rng);
            x.clone_from(&step.h);
            next.h[l] = step.h;
            next.c[l] = step.output.c;
            next.u = step.output.u;
            if let Some(stochastic) = step.stochastic {
                next.alpha[l] = stochastic.alpha;
            }
        }
        next
    }

    /// The embedding of a token `[E]`.
    pub fn embedding(&self, token: u32) -> &'a [f64] {
        let e = self.arch.input.width();
        &self.params[self.layout.embedding.clone()][token as usize * e..][..e]
    }

    /// Centroid `i` of layer `l` `[D]`.
    pub fn centroid(&self, l: usize, i: u32) -> &'a [f64] {
        let d = self.arch.layers[l].units;
        &self.params[self.layout.layers[l].centroids.clone()][i as usize * d..][..d]
    }

    /// α `[K]` of the memory-less layer `l` when it reads `x` `[E]` in `h` `[D]`: between
    /// centroids, one row of the matrices of Theorem 3.1.
    ///
    /// # Panics
    /// If the layer has no centroids.
    pub fn probabilities(&self, l: usize, x: &[f64], h: &[f64], mode: Mode) -> Vec<f64> {
        let mut rng = mode.transition.row_rng(0, l);
        let step = self.layer_step(l, x, h, &[], mode, true, &mut rng);
        step.stochastic.expect("a layer with centroids").alpha
    }

    /// The logits of a state, without an end token `[C]`.
    pub fn logits(&self, state: &NetworkState) -> Vec<f64> {
        let top = self.arch.layers.len() - 1;
        self.head(&self.features(&state.h[top], &state.u, &state.c[top]))
    }

    fn head(&self, features: &[f64]) -> Vec<f64> {
        let mut logits = self.params[self.layout.head_bias.clone()].to_vec();
        add_product(&mut logits, &self.params[self.layout.head_weight.clone()], features);
        logits
    }

    fn features(&self, h: &[f64], u: &[f64], c: &[f64]) -> Vec<f64> {
        let from = self.arch.readout.from;
        let mut features = Vec::with_capacity(self.arch.features());
        for (wanted, part) in [(from.h(), h), (from.u(), u), (from.c(), c)] {
            if wanted {
                features.extend_from_slice(part);
            }
        }
        features
    }

    /// Cell, stochastic component, next hidden state: one step of layer `l`.
    #[allow(clippy::too_many_arguments)]
    fn layer_step(
        &self,
        l: usize,
        x: &[f64],
        h_prev: &[f64],
        c_prev: &[f64],
        mode: Mode,
        takes_step: bool,
        rng: &mut Rng,
    ) -> LayerStep {
        let (layer, slots) = (&self.arch.layers[l], &self.layout.layers[l]);
        let output = cell::forward(layer, slots, self.params, x, h_prev, c_prev); // Eq. 1
        let Some(centroids) = layer.centroids.filter(|_| takes_step) else {
            let h = output.u.clone();
            return LayerStep { output, stochastic: None, h };
        };
        let s = &self.params[slots.centroids.clone()];
        let tau = centroids.tau.get() * mode.tau;
        let stochastic = centroids::forward(&centroids, s, tau, &output.u); // Eqs. 2–4
        let h = centroids::transition(mode.transition, s, &output.u, &stochastic, mode.lambda, rng);
        LayerStep { output, stochastic: Some(stochastic), h }
    }

    pub(super) fn forward(
        &self,
        batch: &Batch,
        b: usize,
        mode: Mode,
        dropout: &Dropout,
    ) -> RowForward {
        let mut xs = self.inputs(batch, b, dropout);
        let end = self.arch.input.end().is_some();
        let steps = xs.len();
        let mut layers = Vec::with_capacity(self.arch.layers.len());
        for l in 0..self.arch.layers.len() {
            let mut rng = mode.transition.row_rng(b, l);
            let mut outputs: Vec<LayerStep> = Vec::with_capacity(steps);
            let (h_first, c_first) = self.row_start(batch, b, l);
            for (t, x) in xs.iter().enumerate() {
                let last = outputs.last();
                let h_prev = last.map_or(&h_first, |step| &step.h);
                let c_prev = last.map_or(&c_first, |step| &step.output.c);
                let takes_step = !(end && t + 1 == steps);
                outputs.push(self.layer_step(l, x, h_prev, c_prev, mode, takes_step, &mut rng));
            }
            xs = outputs.iter().map(|step| step.h.clone()).collect();
            layers.push(outputs);
        }
        let mut features = self.read_out(layers.last().expect("at least one layer"));
        let first = self.first_readout(batch, b) * self.arch.features();
        let masks = (first..).step_by(self.arch.features());
        features.iter_mut().zip(masks).for_each(|(x, at)| drop_out(dropout.readout_mask(), at, x));
        let logits = features.iter().map(|f| self.head(f)).collect();
        RowForward { layers, features, logits }
    }

    /// What the classifier reads `[readouts][features]`; an empty row reads the initial state.
    fn read_out(&self, top: &[LayerStep]) -> Vec<Vec<f64>> {
        let read = |step: &LayerStep| self.features(&step.h, &step.output.u, &step.output.c);
        match self.arch.readout.when {
            When::EveryStep => top.iter().map(read).collect(),
            When::Last => vec![top.last().map_or_else(|| vec![0.0; self.arch.features()], read)],
        }
    }

    /// The adjoint of [`Network::forward`] followed by the loss.
    pub(super) fn backward(
        &self,
        batch: &Batch,
        b: usize,
        regime: &Regime,
        run: &RowForward,
        loss: &mut Loss,
        grads: &mut [f64],
    ) {
        let d_features = self.head_backward(batch, b, regime, run, loss, grads);
        let share = StepShare::of(batch, self.arch);
        let top = run.layers.len() - 1;
        let mut out = self.split_features(&d_features, run.layers[top].len());
        for l in (0..run.layers.len()).rev() {
            let dx = self.layer_backward(l, &run.layers[l], &out, regime, share, loss, grads);
            out = OutputGradients::from_above(
                dx,
                if l > 0 { self.arch.layers[l - 1].units } else { 0 },
            );
        }
        self.embedding_backward(batch, b, out.h, &regime.dropout, grads);
    }

    /// Adds the cross-entropy to the loss; returns the gradient of what the classifier read.
    fn head_backward(
        &self,
        batch: &Batch,
        b: usize,
        regime: &Regime,
        run: &RowForward,
        loss: &mut Loss,
        grads: &mut [f64],
    ) -> Vec<Vec<f64>> {
        let total = batch.total_weight();
        let first = self.first_readout(batch, b);
        let mut d_features = vec![vec![0.0; self.arch.features()]; run.logits.len()];
        for (i, (logits, features)) in run.logits.iter().zip(&run.features).enumerate() {
            let target = batch.target_ids().get(first + i).copied().unwrap_or(IGNORE);
            if target == IGNORE {
                continue;
            }
            let weight = batch.class_weight(target) / total;
            let mut shifted = logits.clone();
            shifted[target as usize] -= regime.margin;
            let log_p = log_softmax(&shifted);
            loss.task -= weight * log_p[target as usize];
            loss.counted += 1;
            loss.correct += (argmax(logits) == target as usize) as usize;
            let mut d_logits: Vec<f64> = log_p.iter().map(|l| weight * l.exp()).collect();
            d_logits[target as usize] -= weight;
            add_product_dw(&mut grads[self.layout.head_weight.clone()], &d_logits, features);
            add(&mut grads[self.layout.head_bias.clone()], &d_logits);
            let head = &self.params[self.layout.head_weight.clone()];
            add_product_dx(&mut d_features[i], head, &d_logits);
            let at = (first + i) * self.arch.features();
            drop_out(regime.dropout.readout_mask(), at, &mut d_features[i]);
        }
        d_features
    }

    /// The index of the first read-out of row `b` among those of the batch.
    fn first_readout(&self, batch: &Batch, b: usize) -> usize {
        match self.arch.readout.when {
            When::Last => b,
            When::EveryStep => batch.row(b).start,
        }
    }

    /// The gradients of the features, assigned to the steps they were read from.
    fn split_features(&self, d_features: &[Vec<f64>], steps: usize) -> OutputGradients {
        let d = self.arch.top().units;
        let from = self.arch.readout.from;
        let mut out = OutputGradients::from_above(vec![vec![0.0; d]; steps], d);
        if steps == 0 {
            return out;
        }
        for (i, features) in d_features.iter().enumerate() {
            let t = if self.arch.readout.when == When::Last { steps - 1 } else { i };
            let mut parts = features.chunks_exact(d);
            for (wanted, into) in
                [(from.h(), &mut out.h), (from.u(), &mut out.u), (from.c(), &mut out.c)]
            {
                if wanted {
                    add(&mut into[t], parts.next().expect("a part of the features"));
                }
            }
        }
        out
    }

    /// The adjoint of one layer's forward pass; returns the gradient of its input.
    #[allow(clippy::too_many_arguments)]
    fn layer_backward(
        &self,
        l: usize,
        steps: &[LayerStep],
        out: &OutputGradients,
        regime: &Regime,
        share: StepShare,
        loss: &mut Loss,
        grads: &mut [f64],
    ) -> Vec<Vec<f64>> {
        let (layer, slots) = (&self.arch.layers[l], &self.layout.layers[l]);
        let (d, weights) = (layer.units, share.weights(regime));
        let (mut dh_next, mut dc_next) = (vec![0.0; d], vec![0.0; d]);
        let mut dx = vec![vec![]; steps.len()];
        for (t, step) in steps.iter().enumerate().rev() {
            let dh: Vec<f64> = (0..d).map(|j| out.h[t][j] + dh_next[j]).collect();
            let mut du = out.u[t].clone();
            match (&step.stochastic, layer.centroids) {
                (Some(stochastic), Some(centroids)) => {
                    let u = &step.output.u;
                    if weights.commitment != 0.0 {
                        loss.commitment += share.stochastic * commitment(u, stochastic);
                    }
                    if weights.entropy != 0.0 {
                        loss.entropy += share.stochastic * centroids::entropy(stochastic);
                    }
                    let s = &self.params[slots.centroids.clone()];
                    let tau = centroids.tau.get() * regime.tau;
                    let d_mixture: Vec<f64> = dh.iter().map(|dh| regime.lambda * dh).collect();
                    let ds = &mut grads[slots.centroids.clone()];
                    let from_alpha = centroids::backward(
                        &centroids, s, tau, u, stochastic, &d_mixture, weights, ds,
                    );
                    (0..d).for_each(|j| du[j] += from_alpha[j] + (1.0 - regime.lambda) * dh[j]);
                }
                _ => add(&mut du, &dh),
            }
            let dc: Vec<f64> = (0..d).map(|j| out.c[t][j] + dc_next[j]).collect();
            let (a, penalty) = (&step.output, weights.of_gates(d));
            let per_unit = share.all / d as f64;
            if penalty.saturation != 0.0 {
                loss.saturation += per_unit * cell::unsaturated(layer, a);
            }
            if penalty.writing != 0.0 {
                loss.writing += per_unit * cell::write_amount(layer, a);
            }
            let inputs = cell::backward(layer, slots, self.params, grads, a, &du, &dc, penalty);
            dx[t] = inputs.x;
            dh_next = inputs.h_prev;
            if layer.cell.has_memory() {
                dc_next = inputs.c_prev;
            }
        }
        dx
    }
}

/// Mean over the units of (u − αS)².
fn commitment(u: &[f64], stochastic: &StochasticOutput) -> f64 {
    let squares = u.iter().zip(&stochastic.mixture).map(|(u, m)| (u - m) * (u - m));
    squares.sum::<f64>() / u.len() as f64
}
