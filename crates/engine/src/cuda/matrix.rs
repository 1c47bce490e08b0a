//! Products and sums on the device (`kernels/matrix.cu`).

use super::CudaError;
use super::chunks::Chunked;
use super::device::{Address, Device, Grid, Room, TRACKS, begin, launch};
use super::many::Small;
use super::plan::{Limits, Lines, Plan, Way};

/// Threads of the blocks of `sum_parts`.
const THREADS: usize = 256;
/// Sums that a block of `sum_parts` makes at a time.
const LANES: usize = 32;

/// In a list of rows: none. It is read as zeros, and nothing is written to it.
pub const NO_ROW: u32 = u32::MAX;

/// A matrix on the device: where it is and the distances between its rows and columns. Rows may
/// be looked up in a list.
#[derive(Clone, Copy)]
pub struct Matrix {
    pub at: Address,
    pub row: usize,
    pub column: usize,
    pub list: Address,
}

impl Matrix {
    /// What a product of no terms reads.
    pub const NONE: Matrix = Matrix { at: 0, row: 1, column: 1, list: 0 };

    /// Rows of `width` numbers, one after the other.
    pub fn rows(at: Address, width: usize) -> Matrix {
        Matrix { at, row: width, column: 1, list: 0 }
    }

    /// Its rows from one on.
    pub fn from(self, row: usize) -> Matrix {
        Matrix { at: self.at + 4 * (row * self.row) as u64, ..self }
    }

    /// Its transpose.
    pub fn transposed(self) -> Matrix {
        Matrix { row: self.column, column: self.row, ..self }
    }

    /// Row i is the one that the list names.
    pub fn listed(self, list: Address) -> Matrix {
        Matrix { list, ..self }
    }

    /// Whether lines so far apart begin at multiples of 16 bytes.
    pub fn is_wide(self, apart: usize) -> bool {
        self.at.is_multiple_of(16) && apart.is_multiple_of(4)
    }
}

/// `Addend` of `kernels/matrix.cu`: a matrix, or a row that is added to every row, 0 where there is
/// none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Addend {
    at: Address,
    row: i64,
    columns: i64,
}

impl Addend {
    /// Nothing.
    pub const NONE: Addend = Addend { at: 0, row: 0, columns: 0 };

    /// A row for all rows, to their first `columns` columns.
    pub fn to_all(at: Address, columns: usize) -> Addend {
        Addend { at, row: 0, columns: columns as i64 }
    }

    /// Rows of `columns` numbers, so far apart.
    pub fn rows(at: Address, apart: usize, columns: usize) -> Addend {
        Addend { at, row: apart as i64, columns: columns as i64 }
    }
}

/// A product: `C = A·B` or `C += A·B`, and addends; A is m×k, B is k×n. A list of A or C names rows by
/// m, one of B by k.
#[derive(Clone, Copy)]
pub struct Job {
    /// m, k, n.
    pub size: (usize, usize, usize),
    pub a: Matrix,
    pub b: Matrix,
    pub add: [Addend; 2],
    pub c: Matrix,
    pub into: Into,
}

impl Job {
    /// Without addends.
    pub fn new(size: (usize, usize, usize), a: Matrix, b: Matrix, c: Matrix, into: Into) -> Job {
        Job { size, a, b, add: [Addend::NONE; 2], c, into }
    }

    /// With these addends.
    pub fn plus(self, add: [Addend; 2]) -> Job {
        Job { add, ..self }
    }

    /// m×n addends, and no product.
    pub fn sum((m, n): (usize, usize), add: [Addend; 2], c: Matrix) -> Job {
        Job::new((m, 0, n), Matrix::NONE, Matrix::NONE, c, Into::Place).plus(add)
    }

    /// As the kernels read it, its sum cut into so many parts.
    fn arguments(&self, splits: usize) -> Arguments {
        let Job { size: (m, k, n), a, b, add, c, into } = *self;
        let (a_k, b_k) = Lines::of(a, b).along_k();
        Arguments {
            a: a.at,
            b: b.at,
            c: c.at,
            add,
            a_rows: a.list,
            b_rows: b.list,
            c_rows: c.list,
            a_m: a.row as i64,
            a_k: a.column as i64,
            b_k: b.row as i64,
            b_n: b.column as i64,
            c_m: c.row as i64,
            m: m as i32,
            n: n as i32,
            k: k as i32,
            splits: splits as i32,
            accumulate: (into == Into::Sum) as i32,
            a_wide: a.is_wide(if a_k { a.row } else { a.column }) as i32,
            b_wide: b.is_wide(if b_k { b.column } else { b.row }) as i32,
        }
    }
}

/// `Product` of `kernels/matrix.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Arguments {
    a: Address,
    b: Address,
    c: Address,
    add: [Addend; 2],
    a_rows: Address,
    b_rows: Address,
    c_rows: Address,
    a_m: i64,
    a_k: i64,
    b_k: i64,
    b_n: i64,
    c_m: i64,
    m: i32,
    n: i32,
    k: i32,
    pub splits: i32,
    accumulate: i32,
    a_wide: i32,
    b_wide: i32,
}

impl Arguments {
    /// Square tiles of C.
    pub fn tiles(&self, edge: usize) -> usize {
        (self.m as usize).div_ceil(edge) * (self.n as usize).div_ceil(edge)
    }
}

/// What becomes of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// It replaces what was there.
    Place,
    /// It is added to what was there.
    Sum,
}

/// Whether a product is made in chunks.
pub enum InChunks {
    Begun,
    Never,
}

/// Products, and the room that each track has for their parts.
#[derive(Default)]
pub struct Products {
    parts: [Room<f32>; TRACKS],
    small: [Small; TRACKS],
}

impl Products {
    /// One product.
    pub fn product(
        &mut self,
        device: &Device,
        size: (usize, usize, usize),
        a: Matrix,
        b: Matrix,
        c: Matrix,
        into: Into,
    ) -> Result<(), CudaError> {
        self.make(device, &[Job::new(size, a, b, c, into)])
    }

    /// Products that do not depend on each other: the small ones in one launch, large ones side by
    /// side.
    pub fn make(&mut self, device: &Device, jobs: &[Job]) -> Result<(), CudaError> {
        let (small, large) = planned(Limits::of(device, device.gpu.processors), jobs);
        if large.len() + small.len().min(1) < 2 {
            return self.each(device, &small, &large);
        }
        let beside = device.fork()?;
        let tracks = [device, &beside];
        // Side by side: the next one's blocks begin where the last ones of another leave room.
        for (i, (job, plan)) in large.iter().enumerate() {
            self.large(tracks[i % 2], job, *plan)?;
        }
        self.each(tracks[large.len() % 2], &small, &[])?;
        device.join()
    }

    /// The same in one track, on so many multiprocessors at most: the small ones in one launch, then
    /// one after the other.
    pub fn one_by_one(
        &mut self,
        device: &Device,
        processors: usize,
        jobs: &[Job],
    ) -> Result<(), CudaError> {
        let (small, large) = planned(Limits::of(device, processors), jobs);
        self.each(device, &small, &large)
    }

    /// A product whose rows are made in the order of chunks, on so many multiprocessors, if there is a
    /// kernel for that: another track waits only until that has begun.
    pub fn in_chunks(
        &self,
        device: &Device,
        other: &Device,
        processors: usize,
        job: &Job,
        chunks: Chunked,
    ) -> Result<InChunks, CudaError> {
        let (gpu, arguments) = (&device.gpu, job.arguments(1));
        let plan = Plan::of(Limits::of(device, gpu.processors), job.size, job.a, job.b);
        let way = Way::Tensor { tile: 0, lines: Lines::Kk };
        let suits = plan.way == way && plan.splits == 1 && processors > 0;
        let (Some(kernel), true) = (&gpu.kernels.product_in_chunks, suits) else {
            return Ok(InChunks::Never);
        };
        let grid = Grid::of(processors, THREADS).shared(plan.shared);
        begin!(device, other, kernel, grid; arguments, chunks)?;
        Ok(InChunks::Begun)
    }

    fn each(
        &mut self,
        device: &Device,
        small: &[Arguments],
        large: &[(Job, Plan)],
    ) -> Result<(), CudaError> {
        self.small[device.track as usize].products(device, small)?;
        large.iter().try_for_each(|(job, plan)| self.large(device, job, *plan))
    }

    /// A product in a launch of its own; a second one adds its parts, in order.
    fn large(&mut self, device: &Device, job: &Job, plan: Plan) -> Result<(), CudaError> {
        let ((m, _, n), splits) = (job.size, plan.splits);
        let mut arguments = job.arguments(splits);
        if splits > 1 {
            arguments.c = self.parts[device.track as usize].fit(device, splits * m * n)?;
        }
        let (rows, columns) = plan.tile;
        let grid = Grid::over(n.div_ceil(columns), m.div_ceil(rows), splits, THREADS);
        let kernels = &device.gpu.kernels;
        let kernel = match plan.way {
            Way::Plain => &kernels.product,
            Way::Small => unreachable!("small products are made together"),
            Way::Thin { kernel } => &kernels.product_thin[kernel],
            Way::Tensor { tile, lines } => &kernels.product_large[tile][lines as usize],
        };
        launch!(device, kernel, grid.shared(plan.shared); arguments)?;
        if splits > 1 {
            add_parts(device, arguments, job.c.at)?;
        }
        Ok(())
    }

    /// `C[place] = Σ rows` over the steps that have the place: `steps` in the order of places,
    /// those of place i from `first[i]` on.
    pub fn sum_by_token(
        &mut self,
        device: &Device,
        rows: Address,
        (count, width): (usize, usize),
        (steps, first, places): (Address, Address, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        // Numbers are taken by fours.
        let across = width.div_ceil(if width.is_multiple_of(4) { 1024 } else { 256 });
        let wanted = (8 * device.gpu.processors).div_ceil(places * across.max(1));
        let splits = wanted.min(count / places.max(1) / 16).clamp(1, 128);
        let parts = match splits {
            1 => into,
            _ => self.parts[device.track as usize].fit(device, splits * places * width)?,
        };
        let grid = Grid::over(places, splits, across, 256);
        launch!(device, &device.gpu.kernels.sum_by_token, grid;
            rows, steps, first, places as i32, width as i32, parts)?;
        if splits == 1 {
            return Ok(());
        }
        let c = Matrix::rows(into, width);
        sum_parts(device, (parts, splits), (places, width), c, Into::Place)
    }

    /// Adds the sum of `count` rows to `into`.
    pub fn sum_rows(
        &mut self,
        device: &Device,
        rows: Address,
        (count, width): (usize, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        let splits = (count / 64).clamp(1, 256);
        let parts = self.parts[device.track as usize].fit(device, splits * width)?;
        let grid = Grid::over(width.div_ceil(128), splits, 1, 128);
        launch!(device, &device.gpu.kernels.sum_rows, grid; rows, count as i32, width as i32, parts)?;
        sum_parts(device, (parts, splits), (1, width), Matrix::rows(into, width), Into::Sum)
    }

    /// Adds to the gradients of centroids what slopes along u − s pull.
    pub fn pull_centroids(
        &mut self,
        device: &Device,
        (slopes, u, s): (Address, Address, Address),
        (count, k, d): (usize, usize, usize),
        into: Address,
    ) -> Result<(), CudaError> {
        let splits = (count / 64).clamp(1, 64);
        let parts = self.parts[device.track as usize].fit(device, splits * k * d)?;
        let grid = Grid::over(k, splits, 1, 128);
        launch!(device, &device.gpu.kernels.pull_centroids, grid;
            slopes, u, s, count as i32, k as i32, d as i32, parts)?;
        sum_parts(device, (parts, splits), (k, d), Matrix::rows(into, d), Into::Sum)
    }
}

/// The small ones as their launch is told of them, and the others with their plans.
fn planned(limits: Limits, jobs: &[Job]) -> (Vec<Arguments>, Vec<(Job, Plan)>) {
    let plan = |job: &Job| (*job, Plan::of(limits, job.size, job.a, job.b));
    let jobs = jobs.iter().filter(|job| job.size.0 > 0 && job.size.2 > 0).map(plan);
    let (small, large): (Vec<_>, Vec<_>) = jobs.partition(|(_, plan)| plan.way == Way::Small);
    (small.iter().map(|(job, plan)| job.arguments(plan.splits)).collect(), large)
}

/// Adds so many parts `[m][n]` that no product has left, in order.
fn sum_parts(
    device: &Device,
    (parts, splits): (Address, usize),
    (m, n): (usize, usize),
    c: Matrix,
    into: Into,
) -> Result<(), CudaError> {
    let job = Job::new((m, 0, n), Matrix::NONE, Matrix::NONE, c, into);
    add_parts(device, Arguments { c: parts, ..job.arguments(splits) }, c.at)
}

/// Adds the parts `[splits][m][n]` of a product into C, in order.
fn add_parts(device: &Device, product: Arguments, c: Address) -> Result<(), CudaError> {
    let size = product.m as usize * product.n as usize;
    let blocks = size.div_ceil(LANES).clamp(1, 8 * device.gpu.processors);
    launch!(device, &device.gpu.kernels.sum_parts, Grid::of(blocks, THREADS); product, c)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::device::gpu_for_tests;
    use super::*;
    use crate::key::{Key, Rng};

    /// Of the largest number: what sums of a few thousand floats lose.
    const TOLERANCE: f64 = 2e-6;

    /// An operand as it lies in memory: lines of numbers, some more apart than they are long, after
    /// `before` that are none, as are those between the lines; a list of lines, or none.
    struct Operand {
        values: Vec<f32>,
        apart: usize,
        before: usize,
        list: Vec<u32>,
    }

    impl Operand {
        fn new(stream: &mut Rng, (lines, long): (usize, usize), case: &Case) -> Operand {
            let (apart, before) = (long + case.gap, case.before);
            let count = before + (lines + 3) * apart;
            let value = |i: usize| match i >= before && (i - before) % apart < long {
                true => stream.unit() as f32 - 0.5,
                false => f32::NAN,
            };
            let values = (0..count).map(value).collect();
            let list = (0..lines).map(|_| stream.below(lines + 3) as u32);
            let list = list.enumerate().map(|(i, row)| if i % 7 == 5 { NO_ROW } else { row });
            let list = if case.lists { list.collect() } else { vec![] };
            Operand { values, apart, before, list }
        }

        fn number(&self, line: usize, at: usize) -> f64 {
            match self.list.get(line) {
                Some(&NO_ROW) => 0.0,
                Some(&row) => self.values[self.before + row as usize * self.apart + at] as f64,
                None => self.values[self.before + line * self.apart + at] as f64,
            }
        }

        fn send(&self, device: &Device, rooms: &mut (Room<f32>, Room<u32>)) -> Matrix {
            let at = rooms.0.write(device, &self.values).unwrap() + 4 * self.before as u64;
            let list = rooms.1.write(device, &self.list).unwrap();
            let list = if self.list.is_empty() { 0 } else { list };
            Matrix::rows(at, self.apart).listed(list)
        }
    }

    #[derive(Clone, Copy, Debug)]
    struct Case {
        size: (usize, usize, usize),
        /// Whether the lines of A and B go along k.
        along_k: (bool, bool),
        gap: usize,
        before: usize,
        lists: bool,
        into: Into,
    }

    /// The worst error, as a share of the largest number of the product.
    fn worst(gpu: &std::sync::Arc<crate::cuda::Gpu>, case: Case) -> f64 {
        let device = Device::new(gpu).unwrap();
        let ((m, k, n), (a_k, b_k)) = (case.size, case.along_k);
        let mut stream = Key::new(7).child("product", (m * k + n) as u64).rng();
        // A list names rows by m of A, by k of B: lines that go the other way have none.
        let plain = Case { lists: false, ..case };
        let (a_case, b_case) = (if a_k { case } else { plain }, if b_k { plain } else { case });
        let a = Operand::new(&mut stream, if a_k { (m, k) } else { (k, m) }, &a_case);
        let b = Operand::new(&mut stream, if b_k { (n, k) } else { (k, n) }, &b_case);
        let bias: Vec<f32> = (0..n).map(|_| stream.unit() as f32).collect();
        // Rows of C backwards, and one of them nowhere.
        let c_list: Vec<u32> =
            (0..m as u32).rev().map(|i| if i == 3 { NO_ROW } else { i }).collect();
        let before = vec![0.25f32; m * (n + 1)];
        let (mut a_room, mut b_room, mut c_room, mut list_room, mut bias_room) = Default::default();
        let (a_at, b_at) = (a.send(&device, &mut a_room), b.send(&device, &mut b_room));
        let bias_at = Room::write(&mut bias_room, &device, &bias).unwrap();
        let c_at = Matrix::rows(Room::write(&mut c_room, &device, &before).unwrap(), n + 1);
        let c_at = match case.lists {
            true => c_at.listed(Room::write(&mut list_room, &device, &c_list).unwrap()),
            false => c_at,
        };
        let a_at = if a_k { a_at } else { a_at.transposed() };
        let b_at = if b_k { b_at.transposed() } else { b_at };
        let mut products = Products::default();
        let job = Job::new(case.size, a_at, b_at, c_at, case.into);
        let add = [Addend::to_all(bias_at, n), Addend::NONE];
        products.make(&device, &[job.plus(add)]).unwrap();
        let c = device.read(&c_room, m * (n + 1)).unwrap();
        let mut expected: Vec<f64> = before.iter().map(|&x| x as f64).collect();
        for (i, &listed) in c_list.iter().enumerate() {
            let row = if case.lists { listed } else { i as u32 };
            for j in (0..n).filter(|_| row != NO_ROW) {
                let at = |of: &Operand, along_k: bool, x: usize, k: usize| match along_k {
                    true => of.number(x, k),
                    false => of.number(k, x),
                };
                let sum: f64 = (0..k).map(|q| at(&a, a_k, i, q) * at(&b, b_k, j, q)).sum();
                let into = &mut expected[row as usize * (n + 1) + j];
                let before = if case.into == Into::Sum { *into } else { 0.0 };
                *into = before + sum + bias[j] as f64;
            }
        }
        let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let errors = c.iter().zip(&expected).map(|(&c, x)| (c as f64 - x).abs() / largest);
        // Not a number is the worst.
        errors.fold(0.0, |most, error| if error <= most { most } else { error })
    }

    #[test]
    fn products_of_any_size_and_lines_are_those_of_double_precision() {
        let Some(gpu) = gpu_for_tests() else { return };
        let sizes = [
            (100, 4099, 130),
            (517, 260, 257),
            (41, 8192, 101),
            (10, 16_500, 205),
            (300, 5000, 13),
            (302, 2000, 3),
            (512, 1100, 1),
            (33, 70, 45),
        ];
        for size in sizes {
            for along_k in [(false, false), (true, false), (true, true), (false, true)] {
                for (gap, before) in [(0, 0), (3, 0), (3, 1)] {
                    for (lists, into) in [(false, Into::Place), (true, Into::Sum)] {
                        let case = Case { size, along_k, gap, before, lists, into };
                        let worst = worst(&gpu, case);
                        assert!(worst <= TOLERANCE, "{case:?}: {worst:e}");
                    }
                }
            }
        }
    }
}
