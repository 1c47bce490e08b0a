//! The kernels for few centroids (`kernels/few.cuh`), compiled for each layer.

use super::CudaError;
use super::call::{Definition, flag};
use super::chunks::{Chunked, Cut};
use super::compile::{CELL, FEW, FEW_BACKWARD, FEW_FORWARD, SCAN_ARGUMENTS, WARP};
use super::device::{Address, Device, Grid, launch};
use super::gradients::Weighed;
use super::layer::{Call, OnDevice, Reads, Shape};
use super::many::{Sum, sums};
use super::matrix::{Into, Job, Matrix, Products};
use super::scan::{MEASURED, SUMS, Scan};
use super::upload::Placed;
use crate::Transition;
use crate::form::{Recurrence, recurrence};
use crate::model::Score;
use cudarc::driver::CudaFunction;

/// Centroids that are few: beyond that backward has too few registers.
const MOST: usize = 20;
/// Threads of a block, at most: a unit each, and room for what each has asked for.
const MOST_THREADS: usize = 480;
/// Numbers read per step that are multiplied inside the scan, at most.
const NARROW: usize = 4;
/// Registers of a multiprocessor, and of a thread.
pub const REGISTERS: usize = 65536;
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
    /// How a layer reads vectors of `width` numbers, or tokens of which there may be many.
    pub fn of(reads: Reads, width: usize) -> Input {
        match reads {
            Reads::Tokens { .. } => Input::ListedRows,
            Reads::Vectors { bottom: true, .. } if width <= NARROW => Input::Vectors,
            Reads::Vectors { .. } => Input::Rows,
        }
    }

    /// As kernels are told it; the width matters only to those that multiply by it.
    pub fn definitions(self, width: usize) -> [Definition; 2] {
        let width = if self == Input::Vectors { width } else { 1 };
        [("INPUT", (self as u8).to_string()), ("WIDTH", width.to_string())]
    }

    /// Whether the scan leaves the gradients of every step.
    pub fn leaves_steps(self) -> bool {
        matches!(self, Input::Rows | Input::ListedRows)
    }
}

/// `Few` of `kernels/few.cuh`.
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
    pub chunks: Chunked,
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
    let (Some(centroids), Recurrence::LowRank) = (layer.centroids, recurrence(layer, call.lambda))
    else {
        return Ok(None);
    };
    let (d, k) = (layer.units, centroids.k);
    let threads = d.next_multiple_of(32);
    // Backward holds 5 weights and 5 sums a centroid, and some 80 numbers besides.
    let registers = (10 * k + 80).min(MOST_REGISTERS);
    let fits = threads <= MOST_THREADS && threads * registers <= REGISTERS && k <= MOST;
    if !fits || centroids.score != Score::Dot || call.transition != Transition::Mixture {
        return Ok(None);
    }
    let input = match reads {
        Reads::Tokens { .. }
            if shape.cut == Cut::WhereItPays
                && token_bytes(placed.distinct, d) <= device.gpu.shared / 2 =>
        {
            Input::FewTokens
        }
        _ => Input::of(reads, shape.width),
    };
    let Some(mut definitions) = shape.definitions() else { return Ok(None) };
    definitions.extend([
        ("K", k.to_string()),
        ("END", flag(shape.end)),
        ("COMMITS", flag(call.commits)),
        ("ENTROPY", flag(call.weighs_entropy)),
        ("PRESSES", flag(call.presses)),
        ("EVERY", flag(call.keeps_every_step())),
    ]);
    definitions.extend(input.definitions(shape.width));
    let sources = [WARP, CELL, SCAN_ARGUMENTS, FEW, FEW_FORWARD, FEW_BACKWARD];
    let kernels = device.gpu.compiled(&sources, &definitions, &["few_forward", "few_backward"])?;
    let [forward, backward] = kernels.try_into().expect("two kernels");
    let (forward_threads, _) = forward_threads(d);
    Ok(Some(Compiled { input, forward_threads, backward_threads: threads, forward, backward }))
}

impl OnDevice {
    /// The arguments of the kernels for few centroids.
    pub fn few(
        &mut self,
        device: &Device,
        params: Address,
        scan: Scan,
        placed: &Placed,
        reads: Reads,
        call: Call,
    ) -> Result<Few, CudaError> {
        let Shape { layer, slots, .. } = &self.shape;
        let (d, steps) = (layer.units, placed.steps);
        // Only backward reads what is kept.
        let (gates, cells) = match (call.learns, layer.cell.has_memory()) {
            (false, _) => (0, 0),
            (true, memory) => (
                self.rooms.gates.fit(device, steps * 4 * kept(d))?,
                self.rooms.cells.fit(device, if memory { steps * kept(d) } else { 0 })?,
            ),
        };
        Ok(Few {
            scan,
            gates,
            cells,
            vectors: match reads {
                Reads::Vectors { at, .. } => at,
                Reads::Tokens { .. } => 0,
            },
            w: params + 4 * slots.w_ih.start as u64,
            bias: if layer.bias { self.rooms.bias.address(device) } else { 0 },
            tokens: placed.distinct as i32,
            keep_h: call.keep_h as i32,
            keep_u: call.keep_u as i32,
            keep_c: call.keep_c as i32,
            ..Few::default()
        })
    }

    /// The scan forward.
    #[allow(clippy::too_many_arguments)]
    pub fn few_forward(
        &mut self,
        device: &Device,
        params: Address,
        placed: &Placed,
        reads: Reads,
        call: Call,
        few: &Compiled,
        scan: Scan,
    ) -> Result<(), CudaError> {
        let arguments = self.few(device, params, scan, placed, reads, call)?;
        let grid = Grid::of(self.row_blocks(device, placed), few.forward_threads);
        Ok(launch!(device, &few.forward, grid; arguments)?)
    }

    /// [`backward`](OnDevice::backward) where centroids are few: the scan sums the gradients of M,
    /// S and a narrow input itself.
    #[allow(clippy::too_many_arguments)]
    pub fn few_backward(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        placed: &Placed,
        reads: Reads,
        call: Call,
        few: &Compiled,
        scan: Scan,
        report: Address,
    ) -> Result<(), CudaError> {
        let blocks = self.row_blocks(device, placed);
        // Numbers whose gradients the scan sums.
        let rows = match few.input {
            Input::Rows | Input::ListedRows => 0,
            Input::FewTokens => placed.distinct,
            Input::Vectors => self.shape.width,
        };
        let scan = self.fit_few(device, placed, few, scan, (blocks, rows))?;
        let rooms = &self.rooms;
        let at = [&rooms.d_m_parts, &rooms.d_s_parts, &rooms.d_x_parts].map(|r| r.address(device));
        let [d_m, d_s, d_x] = at;
        let arguments =
            Few { d_m, d_s, d_x, ..self.few(device, both.0, scan, placed, reads, call)? };
        let shared = match few.input {
            Input::FewTokens => token_bytes(rows, scan.d as usize),
            Input::Rows | Input::ListedRows | Input::Vectors => 0,
        };
        let grid = Grid::of(blocks, few.backward_threads).shared(shared);
        let (left, jobs) = self.few_left(device, both, &arguments, blocks, report)?;
        if let Reads::Tokens { embedding } = reads
            && placed.chunks.is_cut()
        {
            let (by, rest) = ((few, grid, arguments), (&left[..], &jobs[..]));
            return self.few_backward_cut(device, products, both, placed, embedding, by, rest);
        }
        launch!(device, &few.backward, grid; arguments)?;
        let what = (placed, reads, few.input, &arguments);
        self.few_after(device, products, both, what, rows, (left, jobs))
    }

    /// Room for what so many blocks leave, with the gradients of so many numbers of the input.
    fn fit_few(
        &mut self,
        device: &Device,
        placed: &Placed,
        few: &Compiled,
        scan: Scan,
        (blocks, rows): (usize, usize),
    ) -> Result<Scan, CudaError> {
        let (d, k, wide) = (scan.d as usize, scan.k as usize, (scan.ni * scan.d) as usize);
        let rooms = &mut self.rooms;
        rooms.d_m_parts.fit(device, blocks * k * 4 * d)?;
        rooms.d_s_parts.fit(device, blocks * k * d)?;
        rooms.d_x_parts.fit(device, blocks * rows * wide)?;
        let da_in = match few.input.leaves_steps() {
            true => rooms.da_in.fit(device, placed.steps * wide)?,
            false => 0,
        };
        let sums = rooms.sums.fit(device, blocks * SUMS * d)?;
        let measured = rooms.measured.fit(device, blocks * MEASURED)?;
        Ok(Scan { da_in, sums, measured, ..scan })
    }

    /// What is to be added up of what the blocks leave, and multiplied then.
    fn few_left(
        &mut self,
        device: &Device,
        both: (Address, Address),
        arguments: &Few,
        blocks: usize,
        report: Address,
    ) -> Result<(Vec<Sum>, Vec<Job>), CudaError> {
        let Few { scan, d_m: d_m_parts, d_s: d_s_parts, .. } = arguments;
        let (d, k) = (scan.d as usize, scan.k as usize);
        let d_s = Matrix::rows(both.1 + 4 * self.shape.slots.centroids.start as u64, d);
        let d_m = Matrix::rows(self.rooms.d_m.fit(device, k * 4 * d)?, 4 * d);
        let mut left = self.sums(both.1, scan, blocks, Weighed::ByProduct);
        left.extend([
            Sum::of_doubles(scan.measured, blocks, MEASURED, report),
            Sum::of(*d_s_parts, blocks, (k, d), d_s, Into::Sum),
            Sum::of(*d_m_parts, blocks, (k, 4 * d), d_m, Into::Place),
        ]);
        Ok((left, self.low_rank_gradients(both, scan, d_m).to_vec()))
    }

    /// What follows a scan of one launch.
    fn few_after(
        &mut self,
        device: &Device,
        products: &mut Products,
        both: (Address, Address),
        (placed, reads, input, arguments): (&Placed, Reads, Input, &Few),
        rows: usize,
        (mut left, mut jobs): (Vec<Sum>, Vec<Job>),
    ) -> Result<(), CudaError> {
        let Few { scan, d_x: parts, .. } = arguments;
        let (wide, blocks) = ((scan.ni * scan.d) as usize, self.row_blocks(device, placed));
        let sum = |to: Matrix| Sum::of(*parts, blocks, (rows, wide), to, Into::Place);
        match reads {
            _ if input.leaves_steps() => {
                sums(&device.fork()?, &left)?;
                jobs.extend(self.input_gradients(device, products, both, placed, scan, reads)?);
                device.join()?;
            }
            Reads::Tokens { embedding } => {
                let d_x = Matrix::rows(self.rooms.d_x.fit(device, rows * wide)?, wide);
                left.push(sum(d_x));
                sums(device, &left)?;
                let what = (embedding, 0..rows, Into::Place);
                jobs.push(self.w_of_tokens(both, placed, d_x, what));
                jobs.push(self.embeddings_of_tokens(both, placed, d_x, (embedding, 0..rows)));
            }
            Reads::Vectors { .. } => {
                let Shape { slots, width, .. } = &self.shape;
                let d_w = Matrix::rows(both.1 + 4 * slots.w_ih.start as u64, *width);
                left.push(sum(d_w.transposed()));
                sums(device, &left)?;
            }
        }
        products.make(device, &jobs)
    }
}
