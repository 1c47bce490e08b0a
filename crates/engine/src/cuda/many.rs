//! Several products or sums in one launch (`kernels/many.cu`).

use super::CudaError;
use super::device::{Address, Device, Grid, Room, launch};
use super::matrix::{Arguments, Into, Matrix};
use super::plan::EDGE;

/// Products or sums of a launch, at most.
pub const JOBS: usize = 8;
/// Threads of the blocks, and sums that a block of them makes.
const THREADS: usize = 256;
const LANES: usize = 32;
/// The first block of what is not there.
const NEVER: i32 = i32::MAX;

/// `Jobs` of `kernels/many.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Jobs {
    of: [Arguments; JOBS],
    first: [i32; JOBS],
    parts: Address,
    arrived: Address,
}

/// The memory of small products: their parts, and how many of each are there.
#[derive(Default)]
pub struct Small {
    parts: Room<f32>,
    arrived: Counts,
}

/// Numbers that kernels count up from zero, and leave at zero.
#[derive(Default)]
pub struct Counts {
    room: Room<u32>,
    /// So many have been cleared.
    cleared: usize,
}

impl Counts {
    pub fn fit(&mut self, device: &Device, count: usize) -> Result<Address, CudaError> {
        if count > self.cleared {
            self.cleared = count.next_power_of_two();
            self.room.clear(device, self.cleared)?;
            // Another track may be the first to count.
            device.wait()?;
        }
        Ok(self.room.address(device))
    }
}

/// From here on everything waits until so many have arrived at a count.
pub fn await_all(device: &Device, arrived: Address, all: usize) -> Result<(), CudaError> {
    launch!(device, &device.gpu.kernels.await_all, Grid::of(1, 1); arrived, all as u32)?;
    Ok(())
}

impl Small {
    /// Products that do not depend on each other, in one launch for every [`JOBS`] of them.
    pub fn products(&mut self, device: &Device, all: &[Arguments]) -> Result<(), CudaError> {
        for all in all.chunks(JOBS) {
            let mut jobs = Jobs {
                of: [Arguments::default(); JOBS],
                first: [NEVER; JOBS],
                parts: 0,
                arrived: 0,
            };
            let mut blocks = 0;
            for (i, product) in all.iter().enumerate() {
                (jobs.of[i], jobs.first[i]) = (*product, blocks as i32);
                blocks += product.tiles(EDGE) * product.splits as usize;
            }
            jobs.parts = self.parts.fit(device, blocks * EDGE * EDGE)?;
            jobs.arrived = self.arrived.fit(device, blocks)?;
            launch!(device, &device.gpu.kernels.products, Grid::of(blocks, THREADS); jobs)?;
        }
        Ok(())
    }
}

/// `Sum` of `kernels/many.cu`: what blocks have left, and where its sum belongs.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Sum {
    parts: Address,
    apart: i64,
    from_row: i64,
    to: Address,
    also: Address,
    to_row: i64,
    to_column: i64,
    count: i32,
    columns: i32,
    size: i32,
    doubles: i32,
    accumulate: i32,
    first: i32,
}

impl Sum {
    /// Of `count` blocks that left `rows` rows of `columns` numbers each.
    pub fn of(
        parts: Address,
        count: usize,
        (rows, columns): (usize, usize),
        to: Matrix,
        into: Into,
    ) -> Sum {
        Sum {
            parts,
            apart: (rows * columns) as i64,
            from_row: columns as i64,
            to: to.at,
            also: 0,
            to_row: to.row as i64,
            to_column: to.column as i64,
            count: count as i32,
            columns: columns as i32,
            size: (rows * columns) as i32,
            doubles: 0,
            accumulate: (into == Into::Sum) as i32,
            first: NEVER,
        }
    }

    /// Of `count` blocks that left `size` doubles each.
    pub fn of_doubles(parts: Address, count: usize, size: usize, to: Address) -> Sum {
        let to = Matrix::rows(to, size);
        Sum { doubles: 1, ..Sum::of(parts, count, (1, size), to, Into::Place) }
    }

    /// The same of blocks whose numbers begin so far from each other.
    pub fn apart(self, apart: usize) -> Sum {
        Sum { apart: apart as i64, ..self }
    }

    /// Into a second place too.
    pub fn also(self, also: Address) -> Sum {
        Sum { also, ..self }
    }
}

/// Sums into places of their own, in one launch for every [`JOBS`] of them.
pub fn sums(device: &Device, all: &[Sum]) -> Result<(), CudaError> {
    for all in all.chunks(JOBS) {
        let mut jobs = [Sum { first: NEVER, ..Sum::default() }; JOBS];
        let mut blocks = 0;
        for (i, sum) in all.iter().enumerate() {
            jobs[i] = Sum { first: blocks as i32, ..*sum };
            blocks += (sum.size as usize).div_ceil(LANES);
        }
        launch!(device, &device.gpu.kernels.sums, Grid::of(blocks, THREADS); jobs)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::device::gpu_for_tests;
    use super::super::matrix::{Addend, Job, Products};
    use super::*;
    use crate::key::Key;

    /// Of numbers below ten.
    const TOLERANCE: f64 = 1e-5;

    #[test]
    fn products_and_sums_of_one_launch_do_not_meet() {
        let Some(gpu) = gpu_for_tests() else { return };
        let device = Device::new(&gpu).unwrap();
        let mut stream = Key::new(3).rng();
        let values: Vec<f32> = (0..400 * 400).map(|_| stream.unit() as f32 - 0.5).collect();
        let (mut from, mut to) = (Room::<f32>::default(), Room::<f32>::default());
        let at = from.write(&device, &values).unwrap();
        let rows = Matrix::rows(at, 400);
        let x = |i: usize, j: usize| values[i * 400 + j] as f64;
        // Two small products, a copy, and a large one; then sums of 20 parts of 10 rows of 37.
        let sizes = [(37, 300, 45), (70, 50, 33), (5, 0, 40), (400, 400, 400)];
        let places: Vec<usize> = (0..4).map(|i| i * 160_000).collect();
        let into = to.clear(&device, 640_000).unwrap();
        let c = |i: usize| Matrix::rows(into + 4 * places[i] as u64, 400);
        let jobs = sizes.iter().enumerate().map(|(i, &size)| {
            let job = Job::new(size, rows, rows, c(i), Into::Sum);
            job.plus([Addend::to_all(at, 20), Addend::rows(at + 4, 400, 399)])
        });
        let mut products = Products::default();
        products.make(&device, &jobs.collect::<Vec<_>>()).unwrap();
        let made = device.read(&to, 640_000).unwrap();
        for (&(m, k, n), &place) in sizes.iter().zip(&places) {
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let product: f64 = (0..k).map(|q| x(i, q) * x(q, j)).sum();
                let row = if j < 20 { x(0, j) } else { 0.0 };
                let own = if j < 399 { x(i, j + 1) } else { 0.0 };
                let error = (made[place + i * 400 + j] as f64 - product - row - own).abs();
                assert!(error <= TOLERANCE, "{m}×{k}×{n} at {i}, {j}: {error:e}");
            }
        }
        // Into columns, twice.
        let to_columns = Matrix::rows(into, 10).transposed();
        let sum = Sum::of(at, 20, (10, 37), to_columns, Into::Place).also(into + 4 * 1000);
        sums(&device, &[sum]).unwrap();
        let made = device.read(&to, 2000).unwrap();
        for (i, j) in (0..10).flat_map(|i| (0..37).map(move |j| (i, j))) {
            let sum: f64 = (0..20).map(|b| values[b * 370 + i * 37 + j] as f64).sum();
            for first in [0, 1000] {
                let error = (made[first + j * 10 + i] as f64 - sum).abs();
                assert!(error <= TOLERANCE, "sum at {i}, {j}: {error:e}");
            }
        }
    }
}
