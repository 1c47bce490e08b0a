//! Scans as one launch per product and step (`kernels/stepwise.cu`): for LSTM layers in the direct
//! form whose rows start from given states.
// PERF: at D = 300, K = 1,000 and 64 rows the generic kernels run 16 blocks, and each reads all of R
// and S in every step (records/lm/2026-11-18-h200).

use super::CudaError;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::layer::{CudaLayer, LayerCall, LayerShape};
use super::scan_args::{LOSS_TERMS, SUMS, ScanArgs};
use super::upload::DeviceBatch;
use crate::Transition;
use crate::layer_state::RowStart;
use crate::model::{Cell, Score};

/// The tile of a product, as in the kernels.
const TILE_ROWS: usize = 32;
const TILE_COLUMNS: usize = 16;
const TILE_UNITS: usize = TILE_COLUMNS / 4;
/// Threads of the kernels with one block per row.
const SOFTMAX_THREADS: usize = 256;

/// The step kernels, as functions of type `F`.
pub struct StepKernels<F> {
    first: F,
    cell_forward: F,
    scores: F,
    softmax: F,
    mix: F,
    alpha_backward: F,
    softmax_backward: F,
    cell_backward: F,
    carry_backward: F,
}

impl<F> StepKernels<F> {
    /// The kernels, looked up by the names in their source.
    pub fn by_name<E>(kernel: impl Fn(&'static str) -> Result<F, E>) -> Result<StepKernels<F>, E> {
        Ok(StepKernels {
            first: kernel("step_first")?,
            cell_forward: kernel("step_cell_forward")?,
            scores: kernel("step_scores")?,
            softmax: kernel("step_softmax")?,
            mix: kernel("step_mix")?,
            alpha_backward: kernel("step_alpha_backward")?,
            softmax_backward: kernel("step_softmax_backward")?,
            cell_backward: kernel("step_cell_backward")?,
            carry_backward: kernel("step_carry_backward")?,
        })
    }
}

/// `StepArgs` of the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct StepArgs {
    scan: ScanArgs,
    dv: Address,
    dc: Address,
    t: i32,
}

/// Whether the step kernels can run this call.
pub fn suits(shape: &LayerShape, call: LayerCall) -> bool {
    let no_terms = !call.has_commitment && !call.has_entropy && !call.gate_penalty;
    call.start == RowStart::Given
        && call.transition == Transition::Mixture
        && no_terms
        && matches!(shape.layer.cell, Cell::Lstm { .. })
        && shape.layer.centroids.is_none_or(|centroids| centroids.score == Score::Dot)
}

/// Blocks that write parameter sums in the backward scan.
pub fn row_tiles(rows: usize) -> usize {
    rows.div_ceil(TILE_ROWS)
}

/// A grid of tiles over all rows and this many columns.
fn tiles(rows: usize, columns: usize, tile: usize) -> LaunchConfig {
    LaunchConfig::grid_3d(columns.div_ceil(tile), row_tiles(rows), 1, TILE_ROWS * TILE_COLUMNS)
}

impl CudaLayer {
    /// The forward scan.
    pub fn stepwise_forward(
        &self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        scan: ScanArgs,
    ) -> Result<(), CudaError> {
        let (kernels, rows) = (&stream.gpu.kernels.stepwise, batch.rows);
        let (d, k) = (scan.d as usize, scan.k as usize);
        let args = StepArgs { scan, dv: 0, dc: 0, t: 0 };
        launch!(stream, &kernels.first, LaunchConfig::linear(rows, 128); args)?;
        for t in 0..batch.longest {
            let args = StepArgs { t: t as i32, ..args };
            launch!(stream, &kernels.cell_forward, tiles(rows, d, TILE_UNITS); args)?;
            if k > 0 {
                launch!(stream, &kernels.scores, tiles(rows, k, TILE_COLUMNS); args)?;
                launch!(stream, &kernels.softmax, block_per_row(rows); args)?;
                launch!(stream, &kernels.mix, tiles(rows, d, TILE_COLUMNS); args)?;
            }
        }
        Ok(())
    }

    /// The backward scan. Sums over steps are zero before it.
    pub fn stepwise_backward(
        &mut self,
        stream: &GpuStream,
        batch: &DeviceBatch,
        scan: &mut ScanArgs,
    ) -> Result<(), CudaError> {
        let (kernels, rows) = (&stream.gpu.kernels.stepwise, batch.rows);
        let (d, k) = (scan.d as usize, scan.k as usize);
        let buffers = &mut self.buffers;
        scan.sums = buffers.sums.reserve_zeroed(stream, row_tiles(rows) * SUMS * d)?;
        scan.loss_terms =
            buffers.loss_terms.reserve_zeroed(stream, row_tiles(rows) * LOSS_TERMS)?;
        let dv = buffers.d_carry.reserve(stream, rows * d)?;
        let dc = buffers.d_cell.reserve(stream, rows * d)?;
        for t in (0..batch.longest).rev() {
            let args = StepArgs { scan: *scan, dv, dc, t: t as i32 };
            if k > 0 {
                launch!(stream, &kernels.alpha_backward, tiles(rows, k, TILE_COLUMNS); args)?;
                launch!(stream, &kernels.softmax_backward, block_per_row(rows); args)?;
            }
            launch!(stream, &kernels.cell_backward, tiles(rows, d, TILE_COLUMNS); args)?;
            if t > 0 {
                launch!(stream, &kernels.carry_backward, tiles(rows, d, TILE_COLUMNS); args)?;
            }
        }
        Ok(())
    }
}

/// A grid with one block per row.
fn block_per_row(rows: usize) -> LaunchConfig {
    LaunchConfig::linear(rows, SOFTMAX_THREADS)
}
