//! The recurrent component f (Eq. 1): GRU and LSTM, one equation a line, each forward beside its
//! backward.

use super::linear::{add, add_product, add_product_dw, add_product_dx};
use crate::model::{Cell, Gate, Layer, LayerSlots, Reset};
use crate::objective::GatePenalty;

/// Inputs and outputs of one application of a cell.
#[derive(Clone, Debug)]
pub struct CellOutput {
    /// x `[E]`.
    pub x: Vec<f64>,
    /// h of the step before `[D]`.
    pub h_prev: Vec<f64>,
    /// c of the step before `[D]`; empty for a GRU.
    pub c_prev: Vec<f64>,
    /// Gates after their nonlinearity `[blocks·D]`: r, z, n or i, f, g, o.
    pub gates: Vec<f64>,
    /// `R_n h + b` of a GRU, before the reset gate acts on it `[D]`; empty otherwise.
    pub candidate: Vec<f64>,
    /// c `[D]`; empty for a GRU.
    pub c: Vec<f64>,
    /// u `[D]`.
    pub u: Vec<f64>,
}

/// Gradients of the inputs of a cell.
pub struct CellInputGradients {
    pub x: Vec<f64>,
    pub h_prev: Vec<f64>,
    pub c_prev: Vec<f64>,
}

/// `u_t = f(h_{t−1}, c_{t−1}, x_t)` (Eq. 1).
pub fn forward(
    layer: &Layer,
    slots: &LayerSlots,
    params: &[f64],
    x: &[f64],
    h_prev: &[f64],
    c_prev: &[f64],
) -> CellOutput {
    let step = ForwardPass { layer, slots, params, x, h_prev, c_prev };
    match layer.cell {
        Cell::Gru { reset: Reset::AfterMatrix } => step.gru_reset_after(),
        Cell::Gru { reset: Reset::BeforeMatrix } => step.gru_reset_before(),
        Cell::Lstm { .. } => step.lstm(),
    }
}

/// The distance of the gates from 0 and 1 and of the candidate from ±1, summed over units:
/// `Σ y(1 − y) + (1 − g²)/4`.
pub fn unsaturated(layer: &Layer, a: &CellOutput) -> f64 {
    let blocks = a.gates.chunks_exact(layer.units).enumerate();
    let far = |block: usize, y: f64| match block {
        CANDIDATE => (1.0 - y * y) / 4.0,
        _ => y * (1.0 - y),
    };
    blocks.flat_map(|(block, gates)| gates.iter().map(move |&y| far(block, y))).sum()
}

/// The candidate's block, in GRU and LSTM alike.
const CANDIDATE: usize = 2;

/// The write gate, summed over units: i of an LSTM, 1 − z of a GRU.
pub fn write_amount(layer: &Layer, a: &CellOutput) -> f64 {
    let d = layer.units;
    match layer.cell {
        Cell::Gru { .. } => a.gates[d..2 * d].iter().map(|z| 1.0 - z).sum(),
        Cell::Lstm { .. } => a.gates[..d].iter().sum(),
    }
}

/// The adjoint of [`forward`], and of [`unsaturated`] and [`write_amount`] with the weights of
/// `penalty`: from du `[D]` and dc `[D]`. Parameter gradients accumulate in `grads`.
#[allow(clippy::too_many_arguments)]
pub fn backward(
    layer: &Layer,
    slots: &LayerSlots,
    params: &[f64],
    grads: &mut [f64],
    a: &CellOutput,
    du: &[f64],
    dc: &[f64],
    penalty: GatePenalty<f64>,
) -> CellInputGradients {
    let step = BackwardPass { layer, slots, params, a, du, dc, penalty };
    match layer.cell {
        Cell::Gru { reset: Reset::AfterMatrix } => step.gru_reset_after(grads),
        Cell::Gru { reset: Reset::BeforeMatrix } => step.gru_reset_before(grads),
        Cell::Lstm { .. } => step.lstm(grads),
    }
}

fn gate(kind: Gate, x: f64) -> f64 {
    match kind {
        Gate::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Gate::HardSigmoid => (0.2 * x + 0.5).clamp(0.0, 1.0),
    }
}

/// The derivative of [`gate`] from its value; 0 at the kinks of the hard sigmoid.
fn gate_slope(kind: Gate, y: f64) -> f64 {
    match kind {
        Gate::Sigmoid => y * (1.0 - y),
        Gate::HardSigmoid if y > 0.0 && y < 1.0 => 0.2,
        Gate::HardSigmoid => 0.0,
    }
}

struct ForwardPass<'a> {
    layer: &'a Layer,
    slots: &'a LayerSlots,
    params: &'a [f64],
    x: &'a [f64],
    h_prev: &'a [f64],
    c_prev: &'a [f64],
}

impl ForwardPass<'_> {
    /// `W x + b_ih` `[blocks·D]`.
    fn input_part(&self) -> Vec<f64> {
        let mut a = vec![0.0; self.layer.cell.blocks() * self.layer.units];
        add_product(&mut a, &self.params[self.slots.w_ih.clone()], self.x);
        add(&mut a, &self.params[self.slots.b_ih.clone()]);
        a
    }

    /// `R h + b_hh` for the blocks from `first` on `[(blocks−first)·D]`.
    fn recurrent_part(&self, first: usize, h: &[f64]) -> Vec<f64> {
        let d = self.layer.units;
        let mut a = vec![0.0; (self.layer.cell.blocks() - first) * d];
        add_product(&mut a, &self.params[self.slots.w_hh.clone()][first * d * d..], h);
        let bias = &self.params[self.slots.b_hh.clone()];
        add(&mut a, bias.get(first * d..).unwrap_or(&[]));
        a
    }

    fn output(&self, gates: Vec<f64>, candidate: Vec<f64>, c: Vec<f64>, u: Vec<f64>) -> CellOutput {
        let (x, h_prev, c_prev) = (self.x.to_vec(), self.h_prev.to_vec(), self.c_prev.to_vec());
        CellOutput { x, h_prev, c_prev, gates, candidate, c, u }
    }

    fn gru_reset_after(&self) -> CellOutput {
        let (d, sigma) = (self.layer.units, |x| gate(self.layer.gate, x));
        let (a, q) = (self.input_part(), self.recurrent_part(0, self.h_prev));
        let r: Vec<f64> = (0..d).map(|j| sigma(a[j] + q[j])).collect();
        let z: Vec<f64> = (0..d).map(|j| sigma(a[d + j] + q[d + j])).collect();
        let n: Vec<f64> = (0..d).map(|j| (a[2 * d + j] + r[j] * q[2 * d + j]).tanh()).collect();
        let u = (0..d).map(|j| (1.0 - z[j]) * n[j] + z[j] * self.h_prev[j]).collect();
        self.output([r, z, n].concat(), q[2 * d..].to_vec(), vec![], u)
    }

    fn gru_reset_before(&self) -> CellOutput {
        let (d, sigma) = (self.layer.units, |x| gate(self.layer.gate, x));
        let (a, q) = (self.input_part(), self.recurrent_part(0, self.h_prev));
        let r: Vec<f64> = (0..d).map(|j| sigma(a[j] + q[j])).collect();
        let z: Vec<f64> = (0..d).map(|j| sigma(a[d + j] + q[d + j])).collect();
        let rh: Vec<f64> = (0..d).map(|j| r[j] * self.h_prev[j]).collect();
        let q_n = self.recurrent_part(2, &rh);
        let n: Vec<f64> = (0..d).map(|j| (a[2 * d + j] + q_n[j]).tanh()).collect();
        let u = (0..d).map(|j| (1.0 - z[j]) * n[j] + z[j] * self.h_prev[j]).collect();
        self.output([r, z, n].concat(), q_n, vec![], u)
    }

    fn lstm(&self) -> CellOutput {
        let (d, sigma) = (self.layer.units, |x| gate(self.layer.gate, x));
        let mut a = self.input_part();
        add(&mut a, &self.recurrent_part(0, self.h_prev));
        let zero = vec![0.0; 3 * d];
        let peephole = &self.params[self.slots.peephole.clone()];
        let p = if peephole.is_empty() { &zero[..] } else { peephole };
        let (p_i, p_f, p_o) = (&p[..d], &p[d..2 * d], &p[2 * d..]);
        let i: Vec<f64> = (0..d).map(|j| sigma(a[j] + p_i[j] * self.c_prev[j])).collect();
        let f: Vec<f64> = (0..d).map(|j| sigma(a[d + j] + p_f[j] * self.c_prev[j])).collect();
        let g: Vec<f64> = (0..d).map(|j| a[2 * d + j].tanh()).collect();
        let c: Vec<f64> = (0..d).map(|j| f[j] * self.c_prev[j] + i[j] * g[j]).collect();
        let o: Vec<f64> = (0..d).map(|j| sigma(a[3 * d + j] + p_o[j] * c[j])).collect();
        let u = (0..d).map(|j| o[j] * c[j].tanh()).collect();
        self.output([i, f, g, o].concat(), vec![], c, u)
    }
}

struct BackwardPass<'a> {
    layer: &'a Layer,
    slots: &'a LayerSlots,
    params: &'a [f64],
    a: &'a CellOutput,
    du: &'a [f64],
    dc: &'a [f64],
    penalty: GatePenalty<f64>,
}

impl BackwardPass<'_> {
    /// From the gradient of a gate y to that of its pre-activation.
    fn gate(&self, y: f64, dy: f64) -> f64 {
        (dy + self.penalty.saturation * (1.0 - 2.0 * y)) * gate_slope(self.layer.gate, y)
    }

    /// From the gradient of a candidate y to that of its pre-activation.
    fn candidate(&self, y: f64, dy: f64) -> f64 {
        (dy - self.penalty.saturation * y / 2.0) * (1.0 - y * y)
    }

    /// The adjoint of the input part: from da `[blocks·D]` to dx.
    fn input_part(&self, grads: &mut [f64], da: &[f64]) -> Vec<f64> {
        let mut dx = vec![0.0; self.a.x.len()];
        add_product_dx(&mut dx, &self.params[self.slots.w_ih.clone()], da);
        add_product_dw(&mut grads[self.slots.w_ih.clone()], da, &self.a.x);
        add(&mut grads[self.slots.b_ih.clone()], da);
        dx
    }

    /// The adjoint of the recurrent part of the blocks from `first` on: from dq to dh.
    fn recurrent_part(&self, grads: &mut [f64], first: usize, dq: &[f64], h: &[f64]) -> Vec<f64> {
        let d = self.layer.units;
        let mut dh = vec![0.0; d];
        add_product_dx(&mut dh, &self.params[self.slots.w_hh.clone()][first * d * d..], dq);
        add_product_dw(&mut grads[self.slots.w_hh.clone()][first * d * d..], dq, h);
        if !self.slots.b_hh.is_empty() {
            add(&mut grads[self.slots.b_hh.clone()][first * d..], dq);
        }
        dh
    }

    fn gru_reset_after(&self, grads: &mut [f64]) -> CellInputGradients {
        let (d, a, du) = (self.layer.units, self.a, self.du);
        let (r, z, n) = (&a.gates[..d], &a.gates[d..2 * d], &a.gates[2 * d..]);
        let dn = |j: usize| self.candidate(n[j], du[j] * (1.0 - z[j]));
        let dz = |j: usize| self.gate(z[j], du[j] * (a.h_prev[j] - n[j]) - self.penalty.writing);
        let dr = |j: usize| self.gate(r[j], dn(j) * a.candidate[j]);
        let gates: Vec<f64> = (0..d).map(dr).chain((0..d).map(dz)).collect();
        let da = [gates.clone(), (0..d).map(dn).collect()].concat();
        let dq = [gates, (0..d).map(|j| dn(j) * r[j]).collect()].concat();
        let x = self.input_part(grads, &da);
        let mut h_prev = self.recurrent_part(grads, 0, &dq, &a.h_prev);
        (0..d).for_each(|j| h_prev[j] += du[j] * z[j]);
        CellInputGradients { x, h_prev, c_prev: vec![] }
    }

    fn gru_reset_before(&self, grads: &mut [f64]) -> CellInputGradients {
        let (d, a, du) = (self.layer.units, self.a, self.du);
        let (r, z, n) = (&a.gates[..d], &a.gates[d..2 * d], &a.gates[2 * d..]);
        let dn: Vec<f64> = (0..d).map(|j| self.candidate(n[j], du[j] * (1.0 - z[j]))).collect();
        let rh: Vec<f64> = (0..d).map(|j| r[j] * a.h_prev[j]).collect();
        let drh = self.recurrent_part(grads, 2, &dn, &rh);
        let dr = (0..d).map(|j| self.gate(r[j], drh[j] * a.h_prev[j]));
        let dz =
            (0..d).map(|j| self.gate(z[j], du[j] * (a.h_prev[j] - n[j]) - self.penalty.writing));
        let gates: Vec<f64> = dr.chain(dz).collect();
        // The candidate's block was added above: its dq here is zero.
        let dq = [gates.clone(), vec![0.0; d]].concat();
        let mut h_prev = self.recurrent_part(grads, 0, &dq, &a.h_prev);
        (0..d).for_each(|j| h_prev[j] += drh[j] * r[j] + du[j] * z[j]);
        let x = self.input_part(grads, &[gates, dn].concat());
        CellInputGradients { x, h_prev, c_prev: vec![] }
    }

    fn lstm(&self, grads: &mut [f64]) -> CellInputGradients {
        let (d, a, du) = (self.layer.units, self.a, self.du);
        let gates = &a.gates;
        let (i, f, g, o) = (&gates[..d], &gates[d..2 * d], &gates[2 * d..3 * d], &gates[3 * d..]);
        let zero = vec![0.0; 3 * d];
        let peephole = &self.params[self.slots.peephole.clone()];
        let p = if peephole.is_empty() { &zero[..] } else { peephole };
        let (p_i, p_f, p_o) = (&p[..d], &p[d..2 * d], &p[2 * d..]);
        let tanh_c: Vec<f64> = a.c.iter().map(|c| c.tanh()).collect();
        let da_o: Vec<f64> = (0..d).map(|j| self.gate(o[j], du[j] * tanh_c[j])).collect();
        let dc: Vec<f64> = (0..d)
            .map(|j| self.dc[j] + du[j] * o[j] * (1.0 - tanh_c[j] * tanh_c[j]) + da_o[j] * p_o[j])
            .collect();
        let da_i: Vec<f64> =
            (0..d).map(|j| self.gate(i[j], dc[j] * g[j] + self.penalty.writing)).collect();
        let da_f: Vec<f64> = (0..d).map(|j| self.gate(f[j], dc[j] * a.c_prev[j])).collect();
        let da_g: Vec<f64> = (0..d).map(|j| self.candidate(g[j], dc[j] * i[j])).collect();
        let c_prev = (0..d).map(|j| dc[j] * f[j] + da_i[j] * p_i[j] + da_f[j] * p_f[j]).collect();
        if !peephole.is_empty() {
            let dp = &mut grads[self.slots.peephole.clone()];
            (0..d).for_each(|j| dp[j] += da_i[j] * a.c_prev[j]);
            (0..d).for_each(|j| dp[d + j] += da_f[j] * a.c_prev[j]);
            (0..d).for_each(|j| dp[2 * d + j] += da_o[j] * a.c[j]);
        }
        let da = [da_i, da_f, da_g, da_o].concat();
        let x = self.input_part(grads, &da);
        let h_prev = self.recurrent_part(grads, 0, &da, &a.h_prev);
        CellInputGradients { x, h_prev, c_prev }
    }
}
