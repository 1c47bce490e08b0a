//! Several small products, or several sums over blocks, in one launch (`kernels/grouped.cu`).

use super::CudaError;
use super::gpu::{Address, Buffer, GpuStream, LaunchConfig, launch};
use super::matrix::{DeviceMatrix, ProductArgs, WriteMode};
use super::product_plan::GROUP_TILE;

/// Largest number of products or sums per launch.
pub const MAX_GROUP: usize = 8;
/// Threads per block, and sums per block.
const THREADS: usize = 256;
const LANES: usize = 32;
/// The first block of an unused entry.
const UNUSED: i32 = i32::MAX;

/// `GroupedProducts` of `kernels/grouped.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct GroupedArgs {
    of: [ProductArgs; MAX_GROUP],
    first: [i32; MAX_GROUP],
    parts: Address,
    arrived: Address,
}

/// Buffers of grouped products: their partial sums, and arrival counters.
#[derive(Default)]
pub struct GroupedProducts {
    parts: Buffer<f32>,
    arrived: Counters,
}

/// Counters that kernels increment from zero and reset to zero.
#[derive(Default)]
pub struct Counters {
    buffer: Buffer<u32>,
    /// Number of counters that have been zeroed.
    zeroed: usize,
}

impl Counters {
    pub fn reserve(&mut self, stream: &GpuStream, count: usize) -> Result<Address, CudaError> {
        if count > self.zeroed {
            self.zeroed = count.next_power_of_two();
            self.buffer.reserve_zeroed(stream, self.zeroed)?;
            // Another stream may use the counters first.
            stream.synchronize()?;
        }
        Ok(self.buffer.address(stream))
    }
}

/// Orders later work of the stream after the counter has reached `all`; resets the counter.
pub fn wait_for_count(stream: &GpuStream, arrived: Address, all: usize) -> Result<(), CudaError> {
    launch!(stream, &stream.gpu.kernels.wait_for_count, LaunchConfig::linear(1, 1); arrived, all as u32)?;
    Ok(())
}

impl GroupedProducts {
    /// Runs independent products, in one launch for every [`MAX_GROUP`] of them.
    pub fn run(&mut self, stream: &GpuStream, all: &[ProductArgs]) -> Result<(), CudaError> {
        for all in all.chunks(MAX_GROUP) {
            let mut group = GroupedArgs {
                of: [ProductArgs::default(); MAX_GROUP],
                first: [UNUSED; MAX_GROUP],
                parts: 0,
                arrived: 0,
            };
            let mut blocks = 0;
            for (i, product) in all.iter().enumerate() {
                (group.of[i], group.first[i]) = (*product, blocks as i32);
                blocks += product.tiles(GROUP_TILE) * product.splits as usize;
            }
            group.parts = self.parts.reserve(stream, blocks * GROUP_TILE * GROUP_TILE)?;
            group.arrived = self.arrived.reserve(stream, blocks)?;
            launch!(stream, &stream.gpu.kernels.grouped_products, LaunchConfig::linear(blocks, THREADS); group)?;
        }
        Ok(())
    }
}

/// `SumOverBlocks` of `kernels/grouped.cu`: the partial results of blocks, and where their sum is
/// written.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct SumOverBlocks {
    parts: Address,
    block_stride: i64,
    row_stride: i64,
    to: Address,
    also_to: Address,
    to_row: i64,
    to_column: i64,
    count: i32,
    columns: i32,
    size: i32,
    is_double: i32,
    accumulate: i32,
    first: i32,
}

impl SumOverBlocks {
    /// The sum over `count` blocks, each with `rows` rows of `columns` numbers.
    pub fn of(
        parts: Address,
        count: usize,
        (rows, columns): (usize, usize),
        to: DeviceMatrix,
        into: WriteMode,
    ) -> SumOverBlocks {
        SumOverBlocks {
            parts,
            block_stride: (rows * columns) as i64,
            row_stride: columns as i64,
            to: to.at,
            also_to: 0,
            to_row: to.row as i64,
            to_column: to.column as i64,
            count: count as i32,
            columns: columns as i32,
            size: (rows * columns) as i32,
            is_double: 0,
            accumulate: (into == WriteMode::Accumulate) as i32,
            first: UNUSED,
        }
    }

    /// The sum over `count` blocks, each with `size` doubles.
    pub fn of_doubles(parts: Address, count: usize, size: usize, to: Address) -> SumOverBlocks {
        let to = DeviceMatrix::rows(to, size);
        SumOverBlocks {
            is_double: 1,
            ..SumOverBlocks::of(parts, count, (1, size), to, WriteMode::Overwrite)
        }
    }

    /// The same with this distance between blocks.
    pub fn block_stride(self, block_stride: usize) -> SumOverBlocks {
        SumOverBlocks { block_stride: block_stride as i64, ..self }
    }

    /// Also writes the sum to a second address.
    pub fn also_to(self, also_to: Address) -> SumOverBlocks {
        SumOverBlocks { also_to, ..self }
    }
}

/// Runs independent sums, in one launch for every [`MAX_GROUP`] of them.
pub fn run_sums(stream: &GpuStream, all: &[SumOverBlocks]) -> Result<(), CudaError> {
    for all in all.chunks(MAX_GROUP) {
        let mut group = [SumOverBlocks { first: UNUSED, ..SumOverBlocks::default() }; MAX_GROUP];
        let mut blocks = 0;
        for (i, sum) in all.iter().enumerate() {
            group[i] = SumOverBlocks { first: blocks as i32, ..*sum };
            blocks += (sum.size as usize).div_ceil(LANES);
        }
        launch!(stream, &stream.gpu.kernels.grouped_sums, LaunchConfig::linear(blocks, THREADS); group)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::gpu::gpu_for_tests;
    use super::super::matrix::{Addend, MatrixOps, ProductSpec};
    use super::*;
    use crate::key::Key;

    /// Absolute, for numbers below ten.
    const TOLERANCE: f64 = 1e-5;

    #[test]
    fn products_and_sums_of_one_launch_do_not_interfere() {
        let Some(gpu) = gpu_for_tests() else { return };
        let stream = GpuStream::new(&gpu).unwrap();
        let mut rng = Key::new(3).rng();
        let values: Vec<f32> = (0..400 * 400).map(|_| rng.unit() as f32 - 0.5).collect();
        let (mut from, mut to) = (Buffer::<f32>::default(), Buffer::<f32>::default());
        let at = from.write(&stream, &values).unwrap();
        let rows = DeviceMatrix::rows(at, 400);
        let x = |i: usize, j: usize| values[i * 400 + j] as f64;
        // Two small products, a copy and a large product; then sums of 20 parts of 10 rows of 37.
        let sizes = [(37, 300, 45), (70, 50, 33), (5, 0, 40), (400, 400, 400)];
        let places: Vec<usize> = (0..4).map(|i| i * 160_000).collect();
        let into = to.reserve_zeroed(&stream, 640_000).unwrap();
        let c = |i: usize| DeviceMatrix::rows(into + 4 * places[i] as u64, 400);
        let group = sizes.iter().enumerate().map(|(i, &size)| {
            let product = ProductSpec::new(size, rows, rows, c(i), WriteMode::Accumulate);
            product.plus([Addend::to_all(at, 20), Addend::rows(at + 4, 400, 399)])
        });
        let mut ops = MatrixOps::default();
        ops.run_all(&stream, &group.collect::<Vec<_>>()).unwrap();
        let made = stream.read(&to, 640_000).unwrap();
        for (&(m, k, n), &place) in sizes.iter().zip(&places) {
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let product: f64 = (0..k).map(|q| x(i, q) * x(q, j)).sum();
                let row = if j < 20 { x(0, j) } else { 0.0 };
                let own = if j < 399 { x(i, j + 1) } else { 0.0 };
                let error = (made[place + i * 400 + j] as f64 - product - row - own).abs();
                assert!(error <= TOLERANCE, "{m}×{k}×{n} at {i}, {j}: {error:e}");
            }
        }
        // Into columns, at two addresses.
        let to_columns = DeviceMatrix::rows(into, 10).transposed();
        let sum = SumOverBlocks::of(at, 20, (10, 37), to_columns, WriteMode::Overwrite)
            .also_to(into + 4 * 1000);
        run_sums(&stream, &[sum]).unwrap();
        let made = stream.read(&to, 2000).unwrap();
        for (i, j) in (0..10).flat_map(|i| (0..37).map(move |j| (i, j))) {
            let sum: f64 = (0..20).map(|b| values[b * 370 + i * 37 + j] as f64).sum();
            for first in [0, 1000] {
                let error = (made[first + j * 10 + i] as f64 - sum).abs();
                assert!(error <= TOLERANCE, "sum at {i}, {j}: {error:e}");
            }
        }
    }
}
