//! The cells on vectors: for four rows and all units, one step forward and one step backward.
//!
//! The mathematics is `reference/cell.rs`; here is only how it is laid out. Each kind of cell
//! knows its blocks, so that the products are compiled for them.

mod gru;
mod lstm;

pub use gru::{Gru, GruResetBefore};
pub use lstm::{Lstm, scales};

use super::functions::{SIGMOID, TANH, between, sigmoids, sigmoids_tanh, tanh};
use super::kernels::{ROWS, accumulate, rows};
use super::panels::Panels;
use super::prepare::Prepared;
use super::simd::vectors;
use crate::model::Gate;
use pulp::Simd;

/// What the four rows read in one step.
#[derive(Clone, Copy)]
pub enum Feed<'a> {
    /// Rows of the token table `[U][Q][NI]`.
    Table(&'a [f32], [u32; ROWS]),
    /// Vectors `[ROWS, n_in_p]`.
    Vectors(&'a [f32]),
}

/// One step forward: `[ROWS, ·]` each.
pub struct Forward<'a> {
    pub feed: Feed<'a>,
    /// α or h of the step before `[ROWS, np]`.
    pub carry: &'a [f32],
    /// Whether that is the initial state: zeros, whose products need not be made.
    pub begins: bool,
    /// c of the step before `[ROWS, dp]`; empty for a GRU.
    pub c_prev: &'a [f32],
    /// c `[ROWS, dp]`.
    pub c: &'a mut [f32],
    /// What backward needs of the gates `[ROWS, Q·GATES]` vectors; empty where it will compute
    /// them again.
    pub gates: &'a mut [f32],
    /// u `[ROWS, dp]`.
    pub u: &'a mut [f32],
    /// Room for r∘h `[ROWS, dp]`.
    pub scratch: &'a mut [f32],
}

/// What acts on the gates of a row, besides the loss of what they lead to: the weights of one
/// unit's terms.
#[derive(Clone, Copy, Default)]
pub struct Press {
    pub saturation: f32,
    pub writing: f32,
}

impl Press {
    /// Whether anything presses.
    fn is_some(&self) -> bool {
        self.saturation != 0.0 || self.writing != 0.0
    }
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
    /// What acts on the gates of each row `[ROWS]`.
    pub press: [Press; ROWS],
    /// ∂/∂ the blocks the input feeds `[ROWS, Q·INPUTS]` vectors.
    pub da_in: &'a mut [f32],
    /// ∂/∂ the blocks the carried vector feeds; empty where they are the same.
    pub da_state: &'a mut [f32],
    /// ∂/∂h that does not pass the matrix (direct form of a GRU) `[ROWS, dp]`; assigned.
    pub dh: &'a mut [f32],
    /// Room for the candidate's products `[ROWS, dp]`.
    pub scratch: &'a mut [f32],
}

/// The gradients of one layer over the I rows of a segment's steps, to be turned into those of its
/// panels.
pub struct Segment<'a> {
    /// `[I, np]`.
    pub carry: &'a [f32],
    /// How many of the first items carry the initial state, zeros.
    pub begins: usize,
    /// The rows of the table's gradient that the items are added to `[I]`; empty where no table is
    /// read.
    pub places: &'a [u32],
    /// `[I, Q·INPUTS]` vectors.
    pub da_in: &'a [f32],
    /// `[I, Q·STATES]` vectors; empty where `da_in` serves.
    pub da_state: &'a [f32],
    /// `[I, Q·GATES]` vectors.
    pub gates: &'a [f32],
    /// Room for `[I, dp]`.
    pub scratch: &'a mut Vec<f32>,
}

/// The block of the candidate, whose nonlinearity is a tanh, in GRU and LSTM alike.
const CANDIDATE: usize = 2;

/// What lets the candidate in.
pub enum Writes {
    /// The first block: i of an LSTM.
    Input,
    /// One minus the second: 1 − z of a GRU.
    NotUpdate,
}

/// A kind of cell.
pub trait Kind {
    /// Vectors per stretch of units that backward needs of forward.
    const GATES: usize;
    /// Blocks the input feeds: the first of the vectors above are these, after their
    /// nonlinearity.
    const INPUTS: usize;
    /// What lets the candidate in.
    const WRITES: Writes;
    /// Blocks the carried vector feeds, where they are not the same; else 0.
    const STATES: usize;

    /// Whether `forward` can do without room for the gates.
    fn may_drop(gate: Gate) -> bool;

    /// Gates, c and u of one step.
    fn forward<S: Simd>(simd: S, p: &Prepared, io: Forward<'_>);

    /// The adjoint of `forward` in the blocks and c; peephole gradients accumulate in `d`.
    fn backward<S: Simd>(simd: S, p: &Prepared, io: Backward<'_>, d: &mut Panels);

    /// ∂/∂ the carried vector through the matrix `[ROWS, np]`; assigned.
    fn carry_gradient<S: Simd>(simd: S, p: &Prepared, da: &[f32], out: &mut [f32]);

    /// ∂/∂ what was read `[ROWS, n_in_p]`; assigned.
    fn input_gradient<S: Simd>(simd: S, p: &Prepared, da_in: &[f32], out: &mut [f32]);

    /// Adds the segment's gradients of state panel and biases, and of a table that is read.
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

/// Gates, each from its argument.
#[inline(always)]
fn gates<S: Simd, const N: usize>(simd: S, kind: Gate, mut x: [S::f32s; N]) -> [S::f32s; N] {
    let (half, fifth) = (simd.splat_f32s(0.5), simd.splat_f32s(HARD_SLOPE));
    for x in &mut x {
        *x = match kind {
            Gate::Sigmoid => simd.mul_f32s(*x, simd.splat_f32s(SIGMOID)),
            Gate::HardSigmoid => cut(simd, simd.mul_add_e_f32s(fifth, *x, half)),
        };
    }
    match kind {
        Gate::Sigmoid => sigmoids(simd, x),
        Gate::HardSigmoid => x,
    }
}

/// The slope of a hard sigmoid.
const HARD_SLOPE: f32 = 0.2;

/// x, or the nearer of 0 and 1.
#[inline(always)]
fn cut<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    between(simd, simd.splat_f32s(0.0), x, simd.splat_f32s(1.0))
}

/// A gate and a tanh.
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
fn through_gate<S: Simd>(simd: S, kind: Gate, y: S::f32s, dy: S::f32s) -> S::f32s {
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

/// `dy · (1 − y²)`: through a tanh, from its value.
#[inline(always)]
fn through_tanh<S: Simd>(simd: S, y: S::f32s, dy: S::f32s) -> S::f32s {
    simd.mul_f32s(dy, simd.negate_mul_add_e_f32s(y, y, simd.splat_f32s(1.0)))
}

/// `dy` with the gradient of `w·y(1 − y)` added, for a gate y.
#[inline(always)]
fn pressed_gate<S: Simd>(simd: S, w: S::f32s, y: S::f32s, dy: S::f32s) -> S::f32s {
    let slope = simd.negate_mul_add_e_f32s(simd.splat_f32s(2.0), y, simd.splat_f32s(1.0));
    simd.mul_add_e_f32s(w, slope, dy)
}

/// Both: through a gate that is pressed.
// PERF: a function, for a closure of this is not inlined, and what is not inlined into `vectorize`
// has no vector instructions: training steps of an SR-LSTM-P took 3.0 times as long.
#[inline(always)]
fn through_pressed_gate<S: Simd>(
    simd: S,
    kind: Gate,
    w: S::f32s,
    y: S::f32s,
    dy: S::f32s,
) -> S::f32s {
    through_gate(simd, kind, y, pressed_gate(simd, w, y, dy))
}

/// `dy` with the gradient of `w·(1 − y²)/4` added, for a candidate y.
#[inline(always)]
fn pressed_candidate<S: Simd>(simd: S, w: S::f32s, y: S::f32s, dy: S::f32s) -> S::f32s {
    simd.negate_mul_add_e_f32s(simd.mul_f32s(w, simd.splat_f32s(0.5)), y, dy)
}

/// How far the gates of one row `[Q·GATES]` are from saturation, and how much it writes, summed
/// over its `d` units.
#[inline(always)]
pub fn measure_gates<S: Simd, C: Kind>(simd: S, d: usize, gates: &[f32]) -> (f32, f32) {
    let (one, half) = (simd.splat_f32s(1.0), simd.splat_f32s(0.5));
    let (mut unsaturated, mut written) = (simd.splat_f32s(0.0), simd.splat_f32s(0.0));
    let stretches = vectors::<S>(gates).chunks_exact(C::GATES);
    // Lanes without a unit have a pre-activation of 0: y = 1/2 in every block.
    let idle = (stretches.len() * S::F32_LANES - d) as f32;
    for gates in stretches {
        for (block, &y) in gates[..C::INPUTS].iter().enumerate() {
            // (1 − g²)/4 is y(1 − y) of y = (1 + g)/2.
            let y = if block == CANDIDATE { simd.mul_add_e_f32s(half, y, half) } else { y };
            unsaturated = simd.mul_add_e_f32s(y, simd.sub_f32s(one, y), unsaturated);
        }
        let written_here = match C::WRITES {
            Writes::Input => gates[0],
            Writes::NotUpdate => simd.sub_f32s(one, gates[1]),
        };
        written = simd.add_f32s(written, written_here);
    }
    let blocks = C::INPUTS as f32;
    (
        simd.reduce_sum_f32s(unsaturated) - 0.25 * blocks * idle,
        simd.reduce_sum_f32s(written) - 0.5 * idle,
    )
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
    match feed {
        Feed::Table(table, ids) => std::array::from_fn(|r| {
            let at = place(ids[first + r] as usize, q, NB, q_count);
            *vectors::<S>(table)[at..].first_chunk().expect("a table row")
        }),
        Feed::Vectors(x) => {
            let bias = &vectors::<S>(&p.ahead().bias)[q * 4..];
            let mut acc = [*bias.first_chunk().expect("a bias"); TILE];
            let x = rows(x, p.n_in_p);
            let panel = &vectors::<S>(&p.ahead().input)[q * p.n_in * NB..][..p.n_in * NB];
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
    let panel = &vectors::<S>(&p.ahead().state)[q * p.n * NB..][..p.n * NB];
    accumulate(simd, acc, std::array::from_fn(|r| carry[first + r]), panel);
}
