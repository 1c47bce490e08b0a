//! Sums over rows on the device (`kernels/sums.cu`).

use super::CudaError;
use super::gpu::{Address, GpuStream, LaunchConfig, launch};
use super::matrix::{DeviceMatrix, MatrixOps, ProductArgs, ProductSpec, WriteMode};

/// Threads per block of `sum_parts`.
const THREADS: usize = 256;
/// Sums that a block of `sum_parts` computes at a time.
const LANES: usize = 32;

impl MatrixOps {
    /// `C[place] = Σ rows` over the steps of that place. `steps` is sorted by place; those of place
    /// i start at `first[i]`.
    pub fn sum_by_token(
        &mut self,
        stream: &GpuStream,
        rows: Address,
        (count, width): (usize, usize),
        (steps, first, places): (Address, Address, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        // A thread reads four numbers at a time where rows are aligned.
        let across = width.div_ceil(if width.is_multiple_of(4) { 1024 } else { 256 });
        let wanted = (8 * stream.gpu.processors).div_ceil(places * across.max(1));
        let splits = wanted.min(count / places.max(1) / 16).clamp(1, 128);
        let parts = match splits {
            1 => into,
            _ => self.parts[stream.id as usize].reserve(stream, splits * places * width)?,
        };
        let config = LaunchConfig::grid_3d(places, splits, across, 256);
        launch!(stream, &stream.gpu.kernels.sum_by_token, config;
            rows, steps, first, places as i32, width as i32, parts)?;
        if splits == 1 {
            return Ok(());
        }
        let c = DeviceMatrix::rows(into, width);
        sum_parts(stream, (parts, splits), (places, width), c, WriteMode::Overwrite)
    }

    /// Adds the sum of `count` rows to `into`.
    pub fn sum_rows(
        &mut self,
        stream: &GpuStream,
        rows: Address,
        (count, width): (usize, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        let splits = (count / 64).clamp(1, 256);
        let parts = self.parts[stream.id as usize].reserve(stream, splits * width)?;
        let config = LaunchConfig::grid_3d(width.div_ceil(128), splits, 1, 128);
        launch!(stream, &stream.gpu.kernels.sum_rows, config; rows, count as i32, width as i32, parts)?;
        sum_parts(
            stream,
            (parts, splits),
            (1, width),
            DeviceMatrix::rows(into, width),
            WriteMode::Accumulate,
        )
    }

    /// Adds the gradients of the centroids for the Euclidean score: `Σ slope · (u − s)`.
    pub fn euclidean_centroid_grads(
        &mut self,
        stream: &GpuStream,
        (slopes, u, s): (Address, Address, Address),
        (count, k, d): (usize, usize, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        let splits = (count / 64).clamp(1, 64);
        let parts = self.parts[stream.id as usize].reserve(stream, splits * k * d)?;
        let config = LaunchConfig::grid_3d(k, splits, 1, 128);
        launch!(stream, &stream.gpu.kernels.euclidean_centroid_grads, config;
            slopes, u, s, count as i32, k as i32, d as i32, parts)?;
        sum_parts(
            stream,
            (parts, splits),
            (k, d),
            DeviceMatrix::rows(into, d),
            WriteMode::Accumulate,
        )
    }
}

/// Adds `splits` parts `[m][n]` in order, without a product.
fn sum_parts(
    stream: &GpuStream,
    (parts, splits): (Address, usize),
    (m, n): (usize, usize),
    c: DeviceMatrix,
    into: WriteMode,
) -> Result<(), CudaError> {
    let product = ProductSpec::new((m, 0, n), DeviceMatrix::NONE, DeviceMatrix::NONE, c, into);
    let mut args = product.args(splits);
    args.c = parts;
    add_parts(stream, args, c.at)
}

/// Adds the parts `[splits][m][n]` of a product into C, in order.
pub fn add_parts(stream: &GpuStream, product: ProductArgs, c: Address) -> Result<(), CudaError> {
    let size = product.m as usize * product.n as usize;
    let blocks = size.div_ceil(LANES).clamp(1, 8 * stream.gpu.processors);
    launch!(stream, &stream.gpu.kernels.sum_parts, LaunchConfig::linear(blocks, THREADS); product, c)?;
    Ok(())
}
