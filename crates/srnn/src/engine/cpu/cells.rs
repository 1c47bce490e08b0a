//! The cells on vectors: for four rows and all units, one step forward and one step backward.
//!
//! The mathematics is `reference/cell.rs`; here is only how it is laid out. Each kind of cell
//! knows its blocks, so that the products are compiled for them.

use super::kernels::{Dots, Outer, ROWS, accumulate, rows};
use super::prepare::{Panels, Prepared};
use super::simd::{sigmoid, sigmoid_tanh, sigmoids_tanh, tanh, vectors, vectors_mut};
use crate::model::Gate;
use pulp::Simd;

/// What the four rows read in one step.
#[derive(Clone, Copy)]
pub enum Feed<'a> {
    /// Rows of the token table.
    Table([u32; ROWS]),
    /// Vectors `[ROWS, n_in_p]`.
    Vectors(&'a [f32]),
}

/// One step forward: `[ROWS, ·]` each.
pub struct Forward<'a> {
    pub feed: Feed<'a>,
    /// α or h of the step before `[ROWS, np]`.
    pub carry: &'a [f32],
    /// c of the step before `[ROWS, dp]`; empty for a GRU.
    pub c_prev: &'a [f32],
    /// c `[ROWS, dp]`.
    pub c: &'a mut [f32],
    /// What backward needs of the gates `[ROWS, Q·GATES]` vectors.
    pub gates: &'a mut [f32],
    /// u `[ROWS, dp]`.
    pub u: &'a mut [f32],
    /// Room for r∘h `[ROWS, dp]`.
    pub scratch: &'a mut [f32],
}

/// One step backward: `[ROWS, ·]` each.
pub struct Backward<'a> {
    pub carry: &'a [f32],
    pub c_prev: &'a [f32],
    pub c: &'a [f32],
    pub gates: &'a [f32],
    /// ∂/∂u `[ROWS, dp]`.
    pub du: &'a [f32],
    /// ∂/∂c of this step, replaced by the one of the step before `[ROWS, dp]`.
    pub dc: &'a mut [f32],
    /// ∂/∂ the blocks the input feeds `[ROWS, Q·INPUTS]` vectors.
    pub da_in: &'a mut [f32],
    /// ∂/∂ the blocks the carried vector feeds; empty where they are the same.
    pub da_state: &'a mut [f32],
    /// ∂/∂h that does not pass the matrix (direct form of a GRU) `[ROWS, dp]`; assigned.
    pub dh: &'a mut [f32],
    /// Room for the candidate's products `[ROWS, dp]`.
    pub scratch: &'a mut [f32],
}

/// The gradients of one layer over the steps of a segment, to be turned into those of its panels.
pub struct Segment<'a> {
    /// `[I, np]`, I = steps · ROWS.
    pub carry: &'a [f32],
    /// `[I, Q·INPUTS]` vectors.
    pub da_in: &'a [f32],
    /// `[I, Q·STATES]` vectors; empty where `da_in` serves.
    pub da_state: &'a [f32],
    /// `[I, Q·GATES]` vectors.
    pub gates: &'a [f32],
    /// Room for `[I, dp]`.
    pub scratch: &'a mut Vec<f32>,
}

/// A kind of cell.
pub trait Kind {
    /// Vectors per stretch of units that backward needs of forward.
    const GATES: usize;
    /// Blocks the input feeds.
    const INPUTS: usize;
    /// Blocks the carried vector feeds, where they are not the same; else 0.
    const STATES: usize;

    /// Gates, c and u of one step.
    fn forward<S: Simd>(simd: S, p: &Prepared, io: Forward<'_>);

    /// The adjoint of `forward` in the blocks and c; peephole gradients accumulate in `d`.
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, d: &mut Panels);

    /// ∂/∂ the carried vector through the matrix `[ROWS, np]`; assigned.
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]);

    /// ∂/∂ what was read `[ROWS, n_in_p]`; assigned.
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]);

    /// Adds the segment's gradients of state panel and biases.
    fn panel_gradients<S: Simd>(simd: S, p: &Prepared, seg: Segment<'_>, d: &mut Panels);

    /// Adds the segment's gradient of the input panel, from what was read `[I, n_in_p]`.
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &Prepared,
        read: &[f32],
        da_in: &[f32],
        d: &mut Panels,
    );
}

#[inline(always)]
fn gate<S: Simd>(simd: S, kind: Gate, x: S::f32s) -> S::f32s {
    match kind {
        Gate::Sigmoid => sigmoid(simd, x),
        Gate::HardSigmoid => {
            let (zero, half) = (simd.splat_f32s(0.0), simd.splat_f32s(0.5));
            let y = simd.mul_add_e_f32s(simd.splat_f32s(0.2), x, half);
            simd.max_f32s(zero, simd.min_f32s(simd.splat_f32s(1.0), y))
        }
    }
}

/// A gate and a tanh.
#[inline(always)]
fn gate_tanh<S: Simd>(simd: S, kind: Gate, x: S::f32s, y: S::f32s) -> (S::f32s, S::f32s) {
    match kind {
        Gate::Sigmoid => sigmoid_tanh(simd, x, y),
        Gate::HardSigmoid => (gate(simd, kind, x), tanh(simd, y)),
    }
}

/// Two gates and a tanh.
#[inline(always)]
fn gates_tanh<S: Simd>(simd: S, kind: Gate, x: S::f32s, y: S::f32s, z: S::f32s) -> [S::f32s; 3] {
    match kind {
        Gate::Sigmoid => sigmoids_tanh(simd, x, y, z),
        Gate::HardSigmoid => [gate(simd, kind, x), gate(simd, kind, y), tanh(simd, z)],
    }
}

/// `dy · ∂gate/∂x`, from the gate's value y.
#[inline(always)]
fn through_gate<S: Simd>(simd: S, kind: Gate, y: S::f32s, dy: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let slope = match kind {
        Gate::Sigmoid => simd.mul_f32s(y, simd.sub_f32s(one, y)),
        Gate::HardSigmoid => {
            let zero = simd.splat_f32s(0.0);
            let inside =
                simd.and_m32s(simd.greater_than_f32s(y, zero), simd.less_than_f32s(y, one));
            simd.select_f32s(inside, simd.splat_f32s(0.2), zero)
        }
    };
    simd.mul_f32s(dy, slope)
}

/// `dy · (1 − y²)`: through a tanh, from its value.
#[inline(always)]
fn through_tanh<S: Simd>(simd: S, y: S::f32s, dy: S::f32s) -> S::f32s {
    simd.mul_f32s(dy, simd.negate_mul_add_e_f32s(y, y, simd.splat_f32s(1.0)))
}

/// Where the vectors of row r lie in a `[ROWS, Q·nb]` buffer, stretch q.
#[inline(always)]
fn place(r: usize, q: usize, nb: usize, q_count: usize) -> usize {
    (r * q_count + q) * nb
}

/// The input's share of the blocks: table row or bias, and the product with what is read.
#[inline(always)]
fn input_blocks<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    p: &Prepared,
    feed: Feed<'_>,
    q: usize,
    first: usize,
) -> [[S::f32s; NB]; TILE] {
    let q_count = p.dp / S::F32_LANES;
    let input = vectors::<S>(&p.panels.input);
    match feed {
        Feed::Table(ids) => std::array::from_fn(|r| {
            let at = place(ids[first + r] as usize, q, NB, q_count);
            *input[at..].first_chunk().expect("a table row")
        }),
        Feed::Vectors(x) => {
            let bias = &vectors::<S>(&p.panels.bias)[q * 4..];
            let mut acc = [*bias.first_chunk().expect("a bias"); TILE];
            let x = rows(x, p.n_in_p);
            let panel = &input[q * p.n_in * NB..][..p.n_in * NB];
            accumulate(simd, &mut acc, std::array::from_fn(|r| x[first + r]), panel);
            acc
        }
    }
}

/// The carried vector's share of the blocks, added to `acc`.
#[inline(always)]
fn state_blocks<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    p: &Prepared,
    carry: &[f32],
    q: usize,
    first: usize,
    acc: &mut [[S::f32s; NB]; TILE],
) {
    let carry = rows(carry, p.np);
    let panel = &vectors::<S>(&p.panels.state)[q * p.n * NB..][..p.n * NB];
    accumulate(simd, acc, std::array::from_fn(|r| carry[first + r]), panel);
}

/// Adds `blocks` vectors per stretch of each of the I rows into the `[Q][4]` bias panel, from
/// block `from` of `da` to block `to`.
#[inline(always)]
fn add_bias<S: Simd>(
    simd: S,
    p: &Prepared,
    bias: &mut [f32],
    da: &[f32],
    blocks: usize,
    (from, to, count): (usize, usize, usize),
) {
    let q_count = p.dp / S::F32_LANES;
    let bias = vectors_mut::<S>(bias);
    for row in vectors::<S>(da).chunks_exact(q_count * blocks) {
        for q in 0..q_count {
            for b in 0..count {
                let into = &mut bias[q * 4 + to + b];
                *into = simd.add_f32s(*into, row[q * blocks + from + b]);
            }
        }
    }
}

/// LSTM, with or without peepholes, in either form.
pub struct Lstm;

impl Lstm {
    #[inline(always)]
    fn stretch<S: Simd, const TILE: usize>(simd: S, p: &Prepared, io: &mut Forward<'_>, q: usize) {
        let q_count = p.dp / S::F32_LANES;
        let peephole = &vectors::<S>(&p.panels.peephole)[q * 3..][..3];
        let c_prev = vectors::<S>(io.c_prev);
        for first in (0..ROWS).step_by(TILE) {
            let mut a = input_blocks::<S, 4, TILE>(simd, p, io.feed, q, first);
            state_blocks(simd, p, io.carry, q, first, &mut a);
            for (r, a) in a.into_iter().enumerate() {
                let at = (first + r) * q_count + q;
                let c_prev = c_prev[at];
                let a_i = simd.mul_add_e_f32s(peephole[0], c_prev, a[0]);
                let a_f = simd.mul_add_e_f32s(peephole[1], c_prev, a[1]);
                let [i, f, g] = gates_tanh(simd, p.gate, a_i, a_f, a[2]);
                let c = simd.mul_add_e_f32s(f, c_prev, simd.mul_f32s(i, g));
                let a_o = simd.mul_add_e_f32s(peephole[2], c, a[3]);
                let (o, tanh_c) = gate_tanh(simd, p.gate, a_o, c);
                vectors_mut::<S>(io.c)[at] = c;
                vectors_mut::<S>(io.u)[at] = simd.mul_f32s(o, tanh_c);
                let gates = &mut vectors_mut::<S>(io.gates)[at * Self::GATES..][..Self::GATES];
                gates.copy_from_slice(&[i, f, g, o, tanh_c]);
            }
        }
    }
}

impl Kind for Lstm {
    const GATES: usize = 5;
    const INPUTS: usize = 4;
    const STATES: usize = 0;

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &Prepared, mut io: Forward<'_>) {
        for q in 0..p.dp / S::F32_LANES {
            // PERF: 16 sums need the 32 registers of AVX-512; with 16 registers two rows at a
            // time keep everything in them.
            if S::F32_LANES == 16 {
                Self::stretch::<S, 4>(simd, p, &mut io, q);
            } else {
                Self::stretch::<S, 2>(simd, p, &mut io, q);
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, d: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, c, c_prev) = (vectors::<S>(io.du), vectors::<S>(io.c), vectors::<S>(io.c_prev));
        let (dc, da) = (vectors_mut::<S>(io.dc), vectors_mut::<S>(io.da_in));
        let all_gates = vectors::<S>(io.gates);
        for q in 0..q_count {
            let peephole = &vectors::<S>(&p.panels.peephole)[q * 3..][..3];
            let d_peephole = &mut vectors_mut::<S>(&mut d.peephole)[q * 3..][..3];
            for r in 0..ROWS {
                let at = r * q_count + q;
                let gates = &all_gates[at * Self::GATES..][..Self::GATES];
                let (i, f, g, o, tanh_c) = (gates[0], gates[1], gates[2], gates[3], gates[4]);
                let da_o = through_gate(simd, p.gate, o, simd.mul_f32s(du[at], tanh_c));
                let d_tanh = through_tanh(simd, tanh_c, simd.mul_f32s(du[at], o));
                let dc_now = simd.add_f32s(dc[at], d_tanh);
                let dc_now = simd.mul_add_e_f32s(da_o, peephole[2], dc_now);
                let da_i = through_gate(simd, p.gate, i, simd.mul_f32s(dc_now, g));
                let da_f = through_gate(simd, p.gate, f, simd.mul_f32s(dc_now, c_prev[at]));
                let da_g = through_tanh(simd, g, simd.mul_f32s(dc_now, i));
                let back = simd.mul_add_e_f32s(da_i, peephole[0], simd.mul_f32s(dc_now, f));
                dc[at] = simd.mul_add_e_f32s(da_f, peephole[1], back);
                d_peephole[0] = simd.mul_add_e_f32s(da_i, c_prev[at], d_peephole[0]);
                d_peephole[1] = simd.mul_add_e_f32s(da_f, c_prev[at], d_peephole[1]);
                d_peephole[2] = simd.mul_add_e_f32s(da_o, c[at], d_peephole[2]);
                da[at * 4..][..4].copy_from_slice(&[da_i, da_f, da_g, da_o]);
            }
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<4> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<4> {
            out,
            width: p.n_in_p,
            n: p.n_in,
            y: da_in,
            panel: &p.panels.input,
        });
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(simd: S, p: &Prepared, seg: Segment<'_>, d: &mut Panels) {
        simd.vectorize(Outer::<4> {
            d_panel: &mut d.state,
            n: p.n,
            v: seg.carry,
            width: p.np,
            da: seg.da_in,
        });
        if p.n_in > 0 {
            add_bias(simd, p, &mut d.bias, seg.da_in, 4, (0, 0, 4));
        }
    }

    #[inline(always)]
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &Prepared,
        read: &[f32],
        da_in: &[f32],
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<4> {
            d_panel: &mut d.input,
            n: p.n_in,
            v: read,
            width: p.n_in_p,
            da: da_in,
        });
    }
}

/// What the GRUs share: the input feeds r, z, n.
#[inline(always)]
fn gru_input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
    simd.vectorize(Dots::<3> { out, width: p.n_in_p, n: p.n_in, y: da_in, panel: &p.panels.input });
}

/// The biases of r, z and n, where no table holds them.
#[inline(always)]
fn add_gru_input_bias<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], d: &mut Panels) {
    if p.n_in > 0 {
        add_bias(simd, p, &mut d.bias, da_in, 3, (0, 0, 3));
    }
}

/// GRU with the reset gate after the matrix. NS = 4: the carried vector is α, and S is a fourth
/// block that gives h; NS = 3: the carried vector is h.
pub struct Gru<const NS: usize>;

impl<const NS: usize> Gru<NS> {
    #[inline(always)]
    fn stretch<S: Simd, const TILE: usize>(simd: S, p: &Prepared, io: &mut Forward<'_>, q: usize) {
        let q_count = p.dp / S::F32_LANES;
        let one = simd.splat_f32s(1.0);
        let zero = simd.splat_f32s(0.0);
        let candidate_bias = vectors::<S>(&p.panels.bias)[q * 4 + 3];
        for first in (0..ROWS).step_by(TILE) {
            let a = input_blocks::<S, 3, TILE>(simd, p, io.feed, q, first);
            let mut s = [[zero; NS]; TILE];
            s.iter_mut().for_each(|s| s[2] = candidate_bias);
            state_blocks(simd, p, io.carry, q, first, &mut s);
            for (r, (a, s)) in a.into_iter().zip(s).enumerate() {
                let at = (first + r) * q_count + q;
                let h = if NS == 4 { s[NS - 1] } else { vectors::<S>(io.carry)[at] };
                let reset = gate(simd, p.gate, simd.add_f32s(a[0], s[0]));
                let a_n = simd.mul_add_e_f32s(reset, s[2], a[2]);
                let (z, n) = gate_tanh(simd, p.gate, simd.add_f32s(a[1], s[1]), a_n);
                let u = simd.mul_add_e_f32s(z, h, simd.mul_f32s(simd.sub_f32s(one, z), n));
                vectors_mut::<S>(io.u)[at] = u;
                let gates = &mut vectors_mut::<S>(io.gates)[at * Self::GATES..][..Self::GATES];
                gates.copy_from_slice(&[reset, z, n, s[2], h]);
            }
        }
    }
}

impl<const NS: usize> Kind for Gru<NS> {
    const GATES: usize = 5;
    const INPUTS: usize = 3;
    const STATES: usize = NS;

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &Prepared, mut io: Forward<'_>) {
        for q in 0..p.dp / S::F32_LANES {
            if S::F32_LANES == 16 {
                Self::stretch::<S, 4>(simd, p, &mut io, q);
            } else {
                Self::stretch::<S, 2>(simd, p, &mut io, q);
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, _: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, gates) = (vectors::<S>(io.du), vectors::<S>(io.gates));
        let (da_in, da_state) = (vectors_mut::<S>(io.da_in), vectors_mut::<S>(io.da_state));
        let dh = vectors_mut::<S>(io.dh);
        let one = simd.splat_f32s(1.0);
        for at in 0..ROWS * q_count {
            let gates = &gates[at * Self::GATES..][..Self::GATES];
            let (r, z, n, candidate, h) = (gates[0], gates[1], gates[2], gates[3], gates[4]);
            let du = du[at];
            let dn = through_tanh(simd, n, simd.mul_f32s(du, simd.sub_f32s(one, z)));
            let dz = through_gate(simd, p.gate, z, simd.mul_f32s(du, simd.sub_f32s(h, n)));
            let dr = through_gate(simd, p.gate, r, simd.mul_f32s(dn, candidate));
            da_in[at * 3..][..3].copy_from_slice(&[dr, dz, dn]);
            let state = &mut da_state[at * NS..][..NS];
            state[..3].copy_from_slice(&[dr, dz, simd.mul_f32s(dn, r)]);
            let through = simd.mul_f32s(du, z);
            if NS == 4 {
                state[NS - 1] = through;
            } else {
                dh[at] = through;
            }
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<NS> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
        gru_input_gradient(simd, p, da_in, out);
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(simd: S, p: &Prepared, seg: Segment<'_>, d: &mut Panels) {
        simd.vectorize(Outer::<NS> {
            d_panel: &mut d.state,
            n: p.n,
            v: seg.carry,
            width: p.np,
            da: seg.da_state,
        });
        add_gru_input_bias(simd, p, seg.da_in, d);
        add_bias(simd, p, &mut d.bias, seg.da_state, NS, (2, 3, 1));
    }

    #[inline(always)]
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &Prepared,
        read: &[f32],
        da_in: &[f32],
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<3> {
            d_panel: &mut d.input,
            n: p.n_in,
            v: read,
            width: p.n_in_p,
            da: da_in,
        });
    }
}

/// GRU with the reset gate before the matrix: the carried vector is h, and the candidate needs a
/// product of its own.
pub struct GruResetBefore;

impl Kind for GruResetBefore {
    const GATES: usize = 3;
    const INPUTS: usize = 3;
    const STATES: usize = 2;

    #[inline(always)]
    fn forward<S: Simd>(simd: S, p: &Prepared, io: Forward<'_>) {
        let q_count = p.dp / S::F32_LANES;
        let h = vectors::<S>(io.carry);
        let gates = vectors_mut::<S>(io.gates);
        for q in 0..q_count {
            let a = input_blocks::<S, 3, ROWS>(simd, p, io.feed, q, 0);
            let mut s = [[simd.splat_f32s(0.0); 2]; ROWS];
            state_blocks(simd, p, io.carry, q, 0, &mut s);
            for r in 0..ROWS {
                let at = r * q_count + q;
                let reset = gate(simd, p.gate, simd.add_f32s(a[r][0], s[r][0]));
                let z = gate(simd, p.gate, simd.add_f32s(a[r][1], s[r][1]));
                gates[at * 3..][..3].copy_from_slice(&[reset, z, a[r][2]]);
                vectors_mut::<S>(io.scratch)[at] = simd.mul_f32s(reset, h[at]);
            }
        }
        let reset_h = rows(io.scratch, p.dp);
        let u = vectors_mut::<S>(io.u);
        let one = simd.splat_f32s(1.0);
        for q in 0..q_count {
            let mut acc = [[simd.splat_f32s(0.0); 1]; ROWS];
            let panel = &vectors::<S>(&p.panels.candidate)[q * p.d..][..p.d];
            accumulate(simd, &mut acc, reset_h, panel);
            for (r, [product]) in acc.into_iter().enumerate() {
                let at = r * q_count + q;
                let n = tanh(simd, simd.add_f32s(gates[at * 3 + 2], product));
                let z = gates[at * 3 + 1];
                gates[at * 3 + 2] = n;
                u[at] = simd.mul_add_e_f32s(z, h[at], simd.mul_f32s(simd.sub_f32s(one, z), n));
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, _: &mut Panels) {
        let q_count = p.dp / S::F32_LANES;
        let (du, gates, h) = (vectors::<S>(io.du), vectors::<S>(io.gates), vectors::<S>(io.carry));
        let (da_in, da_state) = (vectors_mut::<S>(io.da_in), vectors_mut::<S>(io.da_state));
        let one = simd.splat_f32s(1.0);
        for at in 0..ROWS * q_count {
            let (z, n) = (gates[at * 3 + 1], gates[at * 3 + 2]);
            let dn = through_tanh(simd, n, simd.mul_f32s(du[at], simd.sub_f32s(one, z)));
            da_in[at * 3 + 2] = dn;
            vectors_mut::<S>(io.scratch)[at] = dn;
        }
        // d(r∘h) in place of dh, until the gates have taken their share.
        io.dh.fill(0.0);
        simd.vectorize(Dots::<1> {
            out: io.dh,
            width: p.dp,
            n: p.d,
            y: io.scratch,
            panel: &p.panels.candidate,
        });
        let dh = vectors_mut::<S>(io.dh);
        for at in 0..ROWS * q_count {
            let (r, z, n) = (gates[at * 3], gates[at * 3 + 1], gates[at * 3 + 2]);
            let d_reset_h = dh[at];
            let dr = through_gate(simd, p.gate, r, simd.mul_f32s(d_reset_h, h[at]));
            let dz = simd.mul_f32s(du[at], simd.sub_f32s(h[at], n));
            let dz = through_gate(simd, p.gate, z, dz);
            da_in[at * 3..][..2].copy_from_slice(&[dr, dz]);
            da_state[at * 2..][..2].copy_from_slice(&[dr, dz]);
            dh[at] = simd.mul_add_e_f32s(d_reset_h, r, simd.mul_f32s(du[at], z));
        }
    }

    #[inline(always)]
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]) {
        simd.vectorize(Dots::<2> { out, width: p.np, n: p.n, y: da, panel: &p.panels.state });
    }

    #[inline(always)]
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]) {
        gru_input_gradient(simd, p, da_in, out);
    }

    #[inline(always)]
    fn panel_gradients<S: Simd>(simd: S, p: &Prepared, seg: Segment<'_>, d: &mut Panels) {
        simd.vectorize(Outer::<2> {
            d_panel: &mut d.state,
            n: p.n,
            v: seg.carry,
            width: p.np,
            da: seg.da_state,
        });
        add_gru_input_bias(simd, p, seg.da_in, d);
        // The candidate's matrix meets r∘h, and the third block of da.
        let lanes = S::F32_LANES;
        let cells = seg.da_in.len() / (3 * lanes);
        seg.scratch.resize(2 * cells * lanes, 0.0);
        let (reset_h, dn) = seg.scratch.split_at_mut(cells * lanes);
        let (gates, da_in, h) =
            (vectors::<S>(seg.gates), vectors::<S>(seg.da_in), vectors::<S>(seg.carry));
        for at in 0..cells {
            vectors_mut::<S>(reset_h)[at] = simd.mul_f32s(gates[at * 3], h[at]);
            vectors_mut::<S>(dn)[at] = da_in[at * 3 + 2];
        }
        simd.vectorize(Outer::<1> {
            d_panel: &mut d.candidate,
            n: p.d,
            v: reset_h,
            width: p.dp,
            da: dn,
        });
    }

    #[inline(always)]
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &Prepared,
        read: &[f32],
        da_in: &[f32],
        d: &mut Panels,
    ) {
        simd.vectorize(Outer::<3> {
            d_panel: &mut d.input,
            n: p.n_in,
            v: read,
            width: p.n_in_p,
            da: da_in,
        });
    }
}
