//! The kernels for few centroids (`kernels/few.cu`), compiled for each layer.

use super::CudaError;
use super::compile::{CELL, FEW, SCAN_ARGUMENTS, WARP};
use super::device::{Address, Device};
use super::layer::{Call, Reads, Shape};
use super::scan::Scan;
use super::upload::Placed;
use crate::engine::Transition;
use crate::engine::form::{Form, form};
use crate::model::{Cell, Gate, Reset, Score};
use cudarc::driver::CudaFunction;

/// Centroids that are few: beyond that backward has too few registers.
const MOST: usize = 20;
/// Threads of a block, at most: a unit each.
const MOST_THREADS: usize = 512;
/// Numbers read per step that are multiplied inside the scan, at most.
const NARROW: usize = 4;
/// Registers of a multiprocessor, and of a thread.
const REGISTERS: usize = 65536;
const MOST_REGISTERS: usize = 255;

/// How a layer reads its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Rows that are products already, one a step.
    Rows,
    /// The same, a row for each token, of which there are so few that a block sums their gradients
    /// itself.
    FewTokens,
    /// Vectors of few numbers, multiplied inside the scan.
    Vectors,
    /// Rows that are products already, one for each token.
    ListedRows,
}

impl Input {
    /// Whether the scan leaves the gradients of every step.
    pub fn leaves_steps(self) -> bool {
        matches!(self, Input::Rows | Input::ListedRows)
    }
}

/// `Few` of `kernels/few.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Few {
    pub scan: Scan,
    pub vectors: Address,
    pub w: Address,
    pub bias: Address,
    pub gates: Address,
    pub cells: Address,
    pub d_m: Address,
    pub d_s: Address,
    pub d_x: Address,
    pub tokens: i32,
    pub keep_h: i32,
    pub keep_u: i32,
    pub keep_c: i32,
}

/// Kernels for a layer and a call.
pub struct Compiled {
    pub input: Input,
    pub forward_threads: usize,
    pub backward_threads: usize,
    pub forward: CudaFunction,
    pub backward: CudaFunction,
}

/// Bytes of shared memory in which a block sums the gradients of `tokens` tokens.
pub fn token_bytes(tokens: usize, d: usize) -> usize {
    tokens * d.next_multiple_of(32) * 16
}

/// Threads of forward, and the units it has room for: two a thread where there are many.
fn forward_threads(d: usize) -> (usize, usize) {
    let units = if d > 128 { 2 } else { 1 };
    let threads = d.div_ceil(units).next_multiple_of(32);
    (threads, threads * units)
}

/// Numbers kept of each step for every block of a cell.
pub fn kept(d: usize) -> usize {
    forward_threads(d).1
}

/// Kernels for a layer, where its centroids are few.
pub fn compiled(
    device: &Device,
    shape: &Shape,
    placed: &Placed,
    reads: Reads,
    call: Call,
) -> Result<Option<Compiled>, CudaError> {
    let layer = &shape.layer;
    let (Some(centroids), Form::LowRank) = (layer.centroids, form(layer, call.lambda)) else {
        return Ok(None);
    };
    let (d, k) = (layer.units, centroids.k);
    let threads = d.next_multiple_of(32);
    // Backward holds 5 weights and 5 sums a centroid, and some 80 numbers besides.
    let registers = (10 * k + 80).min(MOST_REGISTERS);
    let fits = threads <= MOST_THREADS && threads * registers <= REGISTERS && k <= MOST;
    if !shape.special
        || !fits
        || centroids.score != Score::Dot
        || call.transition != Transition::Mixture
    {
        return Ok(None);
    }
    let input = match reads {
        Reads::Tokens { .. } if token_bytes(placed.distinct, d) <= device.gpu.shared / 2 => {
            Input::FewTokens
        }
        Reads::Tokens { .. } => Input::ListedRows,
        Reads::Vectors { bottom: true, .. } if shape.width <= NARROW => Input::Vectors,
        Reads::Vectors { .. } => Input::Rows,
    };
    let cell = match layer.cell {
        Cell::Lstm { .. } => "LSTM",
        Cell::Gru { reset: Reset::AfterMatrix } => "GRU_AFTER",
        Cell::Gru { reset: Reset::BeforeMatrix } => unreachable!("has no low-rank form"),
    };
    let flag = |is: bool| (is as u8).to_string();
    let definitions = [
        ("QUICK", flag(true)),
        ("D", d.to_string()),
        ("K", k.to_string()),
        ("CELL", cell.to_string()),
        ("HARD", flag(layer.gate == Gate::HardSigmoid)),
        ("PEEPHOLE", flag(layer.cell.has_peephole())),
        ("END", flag(shape.end)),
        ("INPUT", format!("{}", input as u8)),
        ("WIDTH", if input == Input::Vectors { shape.width } else { 1 }.to_string()),
        ("COMMITS", flag(call.commits)),
        ("ENTROPY", flag(call.weighs_entropy)),
        ("PRESSES", flag(call.presses)),
    ];
    let sources = [WARP, CELL, SCAN_ARGUMENTS, FEW];
    let kernels = device.gpu.compiled(&sources, &definitions, &["few_forward", "few_backward"])?;
    let [forward, backward] = kernels.try_into().expect("two kernels");
    let (forward_threads, _) = forward_threads(d);
    Ok(Some(Compiled { input, forward_threads, backward_threads: threads, forward, backward }))
}
