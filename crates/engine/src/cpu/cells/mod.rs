//! The cells on vectors: for four rows and all units, one step forward and one step backward.
//!
//! The equations are in `reference/cell.rs`; this is their layout on vectors. Each kernel has its
//! numbers of blocks as constants, so that the products are compiled for them.

mod gru;
mod lstm;

pub use gru::{Gru, GruResetBefore};
pub use lstm::{Lstm, scales};

use super::functions::{SIGMOID, TANH, between, sigmoids, sigmoids_tanh, tanh};
use super::kernels::{ROWS, accumulate, rows};
use super::panels::Panels;
use super::prepare::PreparedLayer;
use super::simd::vectors;
use crate::model::Gate;
use crate::objective::GatePenalty;
use pulp::Simd;

/// What the four rows read in one step.
#[derive(Clone, Copy)]
pub enum StepInput<'a> {
    /// Rows of the token table `[U][Q][NI]`.
    Table(&'a [f32], [u32; ROWS]),
    /// Vectors `[ROWS, n_in_p]`.
    Vectors(&'a [f32]),
}

/// Inputs and outputs of one step forward, `[ROWS, ·]` each.
pub struct ForwardArgs<'a> {
    pub input: StepInput<'a>,
    /// α or h of the step before `[ROWS, np]`.
    pub carry: &'a [f32],
    /// Whether `carry` is the zero state, whose products are skipped.
    pub from_zero: bool,
    /// c of the step before `[ROWS, dp]`; empty for a GRU.
    pub c_prev: &'a [f32],
    /// c `[ROWS, dp]`.
    pub c: &'a mut [f32],
    /// What the backward pass needs of the gates, `[ROWS, Q·GATES]` vectors; empty where it
    /// recomputes them.
    pub gates: &'a mut [f32],
    /// u `[ROWS, dp]`.
    pub u: &'a mut [f32],
    /// Scratch for r∘h `[ROWS, dp]`.
    pub scratch: &'a mut [f32],
}

impl GatePenalty<f32> {
    fn is_some(&self) -> bool {
        self.saturation != 0.0 || self.writing != 0.0
    }
}

/// Inputs and outputs of one step backward, `[ROWS, ·]` each.
pub struct BackwardArgs<'a> {
    pub carry: &'a [f32],
    pub c_prev: &'a [f32],
    pub c: &'a [f32],
    pub gates: &'a [f32],
    /// ∂/∂u `[ROWS, dp]`.
    pub du: &'a [f32],
    /// ∂/∂c of this step `[ROWS, dp]`; replaced by that of the step before.
    pub dc: &'a mut [f32],
    /// The penalty on the gates of each row.
    pub penalties: [GatePenalty<f32>; ROWS],
    /// ∂/∂ the blocks the input feeds `[ROWS, Q·INPUTS]` vectors.
    pub da_in: &'a mut [f32],
    /// ∂/∂ the blocks the carried vector feeds; empty where they are the same.
    pub da_state: &'a mut [f32],
    /// ∂/∂h that bypasses the matrix (direct form of a GRU) `[ROWS, dp]`; assigned.
    pub dh: &'a mut [f32],
    /// Scratch for the candidate's products `[ROWS, dp]`.
    pub scratch: &'a mut [f32],
}

/// Block gradients of one layer over I items (rows × steps). Panel gradients are computed from
/// them.
pub struct SegmentGradients<'a> {
    /// `[I, np]`.
    pub carry: &'a [f32],
    /// The first items whose carried vector is the initial state: zeros.
    pub initial_items: usize,
    /// The row of the table's gradient that each item is added to `[I]`; empty without a table.
    pub table_rows: &'a [u32],
    /// `[I, Q·INPUTS]` vectors.
    pub da_in: &'a [f32],
    /// `[I, Q·STATES]` vectors; empty where `da_in` is used instead.
    pub da_state: &'a [f32],
    /// `[I, Q·GATES]` vectors.
    pub gates: &'a [f32],
    /// Scratch for `[2·I, dp]`.
    pub scratch: &'a mut Vec<f32>,
}

/// The block of the candidate, in GRU and LSTM alike. Its nonlinearity is tanh.
const CANDIDATE: usize = 2;

/// The gate that scales the candidate.
pub enum WriteGate {
    /// The first block: i of an LSTM.
    Input,
    /// One minus the second: 1 − z of a GRU.
    OneMinusUpdate,
}

/// The vector code of one kind of cell.
pub trait CellKernel {
    /// Vectors per strip of units that the backward pass needs of the forward pass.
    const GATES: usize;
    /// Blocks the input feeds. After their nonlinearity they are the first of the vectors above.
    const INPUTS: usize;
    /// The gate that scales the candidate.
    const WRITE_GATE: WriteGate;
    /// Blocks the carried vector feeds, where they are not the same; else 0.
    const STATES: usize;

    /// Whether `forward` works without memory for the gates.
    fn can_drop_gates(gate: Gate) -> bool;

    /// Gates, c and u of one step.
    fn forward<S: Simd>(simd: S, p: &PreparedLayer, args: ForwardArgs<'_>);

    /// The adjoint of `forward` in the blocks and c; peephole gradients accumulate in `d`.
    fn backward<S: Simd>(simd: S, p: &PreparedLayer, args: BackwardArgs<'_>, d: &mut Panels);

    /// ∂/∂ the carried vector through the matrix `[ROWS, np]`; assigned.
    fn carry_gradient<S: Simd>(simd: S, p: &PreparedLayer, da: &[f32], out: &mut [f32]);

    /// ∂/∂ what was read `[ROWS, n_in_p]`; assigned.
    fn input_gradient<S: Simd>(simd: S, p: &PreparedLayer, da_in: &[f32], out: &mut [f32]);

    /// Adds to the gradients of state panel and biases, and of a table if there is one.
    fn panel_gradients<S: Simd>(
        simd: S,
        p: &PreparedLayer,
        gradients: SegmentGradients<'_>,
        d: &mut Panels,
    );

    /// Adds to the gradient of the input panel, from what was read `[I, n_in_p]`.
    fn input_panel_gradient<S: Simd>(
        simd: S,
        p: &PreparedLayer,
        read: &[f32],
        da_in: &[f32],
        d: &mut Panels,
    );
}

/// The gates of some pre-activations.
#[inline(always)]
fn gates<S: Simd, const N: usize>(simd: S, kind: Gate, mut x: [S::f32s; N]) -> [S::f32s; N] {
    let (half, fifth) = (simd.splat_f32s(0.5), simd.splat_f32s(HARD_SLOPE));
    for x in &mut x {
        *x = match kind {
            Gate::Sigmoid => simd.mul_f32s(*x, simd.splat_f32s(SIGMOID)),
            Gate::HardSigmoid => clamp_unit(simd, simd.mul_add_e_f32s(fifth, *x, half)),
        };
    }
    match kind {
        Gate::Sigmoid => sigmoids(simd, x),
        Gate::HardSigmoid => x,
    }
}

/// The slope of a hard sigmoid.
const HARD_SLOPE: f32 = 0.2;

/// x clamped to [0, 1].
#[inline(always)]
fn clamp_unit<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    between(simd, simd.splat_f32s(0.0), x, simd.splat_f32s(1.0))
}

/// The gate of x and the tanh of y.
#[inline(always)]
fn gate_tanh<S: Simd>(simd: S, kind: Gate, x: S::f32s, y: S::f32s) -> [S::f32s; 2] {
    let y = simd.mul_f32s(y, simd.splat_f32s(TANH));
    match kind {
        Gate::Sigmoid => sigmoids_tanh(simd, [simd.mul_f32s(x, simd.splat_f32s(SIGMOID)), y]),
        Gate::HardSigmoid => [gates(simd, kind, [x])[0], tanh(simd, y)],
    }
}

/// `dy · ∂gate/∂x`, from the gate's value y.
#[inline(always)]
fn gate_backward<S: Simd>(simd: S, kind: Gate, y: S::f32s, dy: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let slope = match kind {
        Gate::Sigmoid => simd.negate_mul_add_e_f32s(y, y, y),
        Gate::HardSigmoid => {
            let zero = simd.splat_f32s(0.0);
            let inside =
                simd.and_m32s(simd.greater_than_f32s(y, zero), simd.less_than_f32s(y, one));
            simd.select_f32s(inside, simd.splat_f32s(HARD_SLOPE), zero)
        }
    };
    simd.mul_f32s(dy, slope)
}

/// `dy · ∂tanh/∂x = dy · (1 − y²)`, from the value y.
#[inline(always)]
fn tanh_backward<S: Simd>(simd: S, y: S::f32s, dy: S::f32s) -> S::f32s {
    simd.mul_f32s(dy, simd.negate_mul_add_e_f32s(y, y, simd.splat_f32s(1.0)))
}

/// `dy` plus the gradient of `w·y(1 − y)`, for a gate y.
#[inline(always)]
fn add_gate_penalty<S: Simd>(simd: S, w: S::f32s, y: S::f32s, dy: S::f32s) -> S::f32s {
    let slope = simd.negate_mul_add_e_f32s(simd.splat_f32s(2.0), y, simd.splat_f32s(1.0));
    simd.mul_add_e_f32s(w, slope, dy)
}

/// [`gate_backward`] of a gate with a penalty of weight w.
// PERF: a function, because a closure of this is not inlined, and what is not inlined into
// `vectorize` has no vector instructions: training steps of an SR-LSTM-P took 3.0 times as long.
#[inline(always)]
fn penalised_gate_backward<S: Simd>(
    simd: S,
    kind: Gate,
    w: S::f32s,
    y: S::f32s,
    dy: S::f32s,
) -> S::f32s {
    gate_backward(simd, kind, y, add_gate_penalty(simd, w, y, dy))
}

/// `dy` plus the gradient of `w·(1 − y²)/4`, for a candidate y.
#[inline(always)]
fn add_candidate_penalty<S: Simd>(simd: S, w: S::f32s, y: S::f32s, dy: S::f32s) -> S::f32s {
    simd.negate_mul_add_e_f32s(simd.mul_f32s(w, simd.splat_f32s(0.5)), y, dy)
}

/// The distance from saturation of the gates of one row `[Q·GATES]`, and its write gate, each summed
/// over the `d` units.
#[inline(always)]
pub fn gate_sums<S: Simd, C: CellKernel>(simd: S, d: usize, gates: &[f32]) -> (f32, f32) {
    let (one, half) = (simd.splat_f32s(1.0), simd.splat_f32s(0.5));
    let (mut unsaturated, mut written) = (simd.splat_f32s(0.0), simd.splat_f32s(0.0));
    let strips = vectors::<S>(gates).chunks_exact(C::GATES);
    // Lanes without a unit have a pre-activation of 0: y = 1/2 in every block.
    let unused = (strips.len() * S::F32_LANES - d) as f32;
    for gates in strips {
        for (block, &y) in gates[..C::INPUTS].iter().enumerate() {
            // (1 − g²)/4 is y(1 − y) of y = (1 + g)/2.
            let y = if block == CANDIDATE { simd.mul_add_e_f32s(half, y, half) } else { y };
            unsaturated = simd.mul_add_e_f32s(y, simd.sub_f32s(one, y), unsaturated);
        }
        let write_gate = match C::WRITE_GATE {
            WriteGate::Input => gates[0],
            WriteGate::OneMinusUpdate => simd.sub_f32s(one, gates[1]),
        };
        written = simd.add_f32s(written, write_gate);
    }
    let blocks = C::INPUTS as f32;
    (
        simd.reduce_sum_f32s(unsaturated) - 0.25 * blocks * unused,
        simd.reduce_sum_f32s(written) - 0.5 * unused,
    )
}

/// The index of the vectors of row r in strip q of a `[ROWS, Q·nb]` buffer.
#[inline(always)]
fn place(r: usize, q: usize, nb: usize, q_count: usize) -> usize {
    (r * q_count + q) * nb
}

/// The input's part of the blocks: the table row, or the bias plus the product with what is read.
#[inline(always)]
fn input_blocks<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    p: &PreparedLayer,
    input: StepInput<'_>,
    q: usize,
    first: usize,
) -> [[S::f32s; NB]; TILE] {
    let q_count = p.dp / S::F32_LANES;
    match input {
        StepInput::Table(table, ids) => std::array::from_fn(|r| {
            let at = place(ids[first + r] as usize, q, NB, q_count);
            *vectors::<S>(table)[at..].first_chunk().expect("a table row")
        }),
        StepInput::Vectors(x) => {
            let bias = &vectors::<S>(&p.forward_panels().bias)[q * 4..];
            let mut acc = [*bias.first_chunk().expect("a bias"); TILE];
            let x = rows(x, p.n_in_p);
            let panel = &vectors::<S>(&p.forward_panels().input)[q * p.n_in * NB..][..p.n_in * NB];
            accumulate(simd, &mut acc, std::array::from_fn(|r| x[first + r]), panel);
            acc
        }
    }
}

/// Adds the carried vector's part of the blocks to `acc`.
#[inline(always)]
fn state_blocks<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    p: &PreparedLayer,
    carry: &[f32],
    q: usize,
    first: usize,
    acc: &mut [[S::f32s; NB]; TILE],
) {
    let carry = rows(carry, p.np);
    let panel = &vectors::<S>(&p.forward_panels().state)[q * p.n * NB..][..p.n * NB];
    accumulate(simd, acc, std::array::from_fn(|r| carry[first + r]), panel);
}
