//! Matrix products and sums on the device (`kernels/matrix.cu`).

use super::CudaError;
use super::chunks::ChunkArgs;
use super::gpu::{
    Address, Buffer, GpuStream, LaunchConfig, STREAMS, launch, launch_with_completion_event,
};
use super::grouped::GroupedProducts;
use super::product_plan::{GpuLimits, OperandLayout, ProductKernel, ProductPlan};
use super::sums::add_parts;

/// Threads per block of the product kernels.
const THREADS: usize = 256;

/// Marks a missing row in a row list: it reads as zeros and is not written.
pub const NO_ROW: u32 = u32::MAX;

/// A matrix on the device: its address and strides, and an optional list that maps rows.
#[derive(Clone, Copy)]
pub struct DeviceMatrix {
    pub at: Address,
    pub row: usize,
    pub column: usize,
    pub list: Address,
}

impl DeviceMatrix {
    /// The operand of a product with no terms.
    pub const NONE: DeviceMatrix = DeviceMatrix { at: 0, row: 1, column: 1, list: 0 };

    /// Contiguous rows of `width` numbers.
    pub fn rows(at: Address, width: usize) -> DeviceMatrix {
        DeviceMatrix { at, row: width, column: 1, list: 0 }
    }

    /// The matrix from row `row` on.
    pub fn from(self, row: usize) -> DeviceMatrix {
        DeviceMatrix { at: self.at + 4 * (row * self.row) as u64, ..self }
    }

    pub fn transposed(self) -> DeviceMatrix {
        DeviceMatrix { row: self.column, column: self.row, ..self }
    }

    /// The same with row i read from the row that `list` names.
    pub fn listed(self, list: Address) -> DeviceMatrix {
        DeviceMatrix { list, ..self }
    }

    /// Whether contiguous lines with this stride are aligned to 16 bytes.
    pub fn is_aligned_16(self, apart: usize) -> bool {
        self.at.is_multiple_of(16) && apart.is_multiple_of(4)
    }
}

/// `Addend` of `kernels/matrix.cu`: a matrix, or one row that is added to every row; address 0 for
/// none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Addend {
    at: Address,
    row: i64,
    columns: i64,
}

impl Addend {
    pub const NONE: Addend = Addend { at: 0, row: 0, columns: 0 };

    /// One row, added to the first `columns` columns of every row.
    pub fn to_all(at: Address, columns: usize) -> Addend {
        Addend { at, row: 0, columns: columns as i64 }
    }

    /// A matrix with rows of `columns` numbers, `apart` numbers apart.
    pub fn rows(at: Address, apart: usize, columns: usize) -> Addend {
        Addend { at, row: apart as i64, columns: columns as i64 }
    }
}

/// A product `C = A·B` or `C += A·B`, plus addends; A is m×k, B is k×n. Row lists of A and C are
/// indexed by m, one of B by k.
#[derive(Clone, Copy)]
pub struct ProductSpec {
    /// m, k, n.
    pub size: (usize, usize, usize),
    pub a: DeviceMatrix,
    pub b: DeviceMatrix,
    pub add: [Addend; 2],
    pub c: DeviceMatrix,
    pub into: WriteMode,
}

impl ProductSpec {
    /// A product without addends.
    pub fn new(
        size: (usize, usize, usize),
        a: DeviceMatrix,
        b: DeviceMatrix,
        c: DeviceMatrix,
        into: WriteMode,
    ) -> ProductSpec {
        ProductSpec { size, a, b, add: [Addend::NONE; 2], c, into }
    }

    /// The same product with these addends.
    pub fn plus(self, add: [Addend; 2]) -> ProductSpec {
        ProductSpec { add, ..self }
    }

    /// The sum of m×n addends, without a product.
    pub fn sum((m, n): (usize, usize), add: [Addend; 2], c: DeviceMatrix) -> ProductSpec {
        ProductSpec::new((m, 0, n), DeviceMatrix::NONE, DeviceMatrix::NONE, c, WriteMode::Overwrite)
            .plus(add)
    }

    /// The kernel arguments, with the sum over k cut into `splits` parts.
    pub(super) fn args(&self, splits: usize) -> ProductArgs {
        let ProductSpec { size: (m, k, n), a, b, add, c, into } = *self;
        let (a_k, b_k) = OperandLayout::of(a, b).along_k();
        ProductArgs {
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
            accumulate: (into == WriteMode::Accumulate) as i32,
            a_aligned: a.is_aligned_16(if a_k { a.row } else { a.column }) as i32,
            b_aligned: b.is_aligned_16(if b_k { b.column } else { b.row }) as i32,
        }
    }
}

/// `ProductArgs` of `kernels/matrix.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ProductArgs {
    a: Address,
    b: Address,
    pub c: Address,
    add: [Addend; 2],
    a_rows: Address,
    b_rows: Address,
    c_rows: Address,
    a_m: i64,
    a_k: i64,
    b_k: i64,
    b_n: i64,
    c_m: i64,
    pub m: i32,
    pub n: i32,
    k: i32,
    pub splits: i32,
    accumulate: i32,
    a_aligned: i32,
    b_aligned: i32,
}

impl ProductArgs {
    /// Number of square tiles of C with this edge.
    pub fn tiles(&self, edge: usize) -> usize {
        (self.m as usize).div_ceil(edge) * (self.n as usize).div_ceil(edge)
    }
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// Replaces the old value.
    Overwrite,
    /// Adds to the old value.
    Accumulate,
}

/// Whether a chunked product was launched.
pub enum ChunkedLaunch {
    Launched,
    Unsupported,
}

/// Runs products and sums; each stream has its own buffers for partial sums.
#[derive(Default)]
pub struct MatrixOps {
    pub(super) parts: [Buffer<f32>; STREAMS],
    small: [GroupedProducts; STREAMS],
}

impl MatrixOps {
    /// Runs one product.
    pub fn run(
        &mut self,
        stream: &GpuStream,
        size: (usize, usize, usize),
        a: DeviceMatrix,
        b: DeviceMatrix,
        c: DeviceMatrix,
        into: WriteMode,
    ) -> Result<(), CudaError> {
        self.run_all(stream, &[ProductSpec::new(size, a, b, c, into)])
    }

    /// Runs independent products: the small ones in one launch, large ones in two streams.
    pub fn run_all(
        &mut self,
        stream: &GpuStream,
        products: &[ProductSpec],
    ) -> Result<(), CudaError> {
        let (small, large) = planned(GpuLimits::of(stream, stream.gpu.processors), products);
        if large.len() + small.len().min(1) < 2 {
            return self.run_each(stream, &small, &large);
        }
        let side = stream.fork()?;
        let streams = [stream, &side];
        // Blocks of the next product fill multiprocessors that the previous one leaves idle.
        for (i, (product, plan)) in large.iter().enumerate() {
            self.run_large(streams[i % 2], product, *plan)?;
        }
        self.run_each(streams[large.len() % 2], &small, &[])?;
        stream.join()
    }

    /// Runs independent products in one stream, planned for `processors` multiprocessors: the small
    /// ones in one launch, then the large ones in turn.
    pub fn in_sequence(
        &mut self,
        stream: &GpuStream,
        processors: usize,
        products: &[ProductSpec],
    ) -> Result<(), CudaError> {
        let (small, large) = planned(GpuLimits::of(stream, processors), products);
        self.run_each(stream, &small, &large)
    }

    /// Launches a product that computes its rows in the order of chunks on `processors`
    /// multiprocessors, if a kernel supports it. `other` waits only until the kernel has started.
    pub fn run_in_chunks(
        &self,
        stream: &GpuStream,
        other: &GpuStream,
        processors: usize,
        product: &ProductSpec,
        chunks: ChunkArgs,
    ) -> Result<ChunkedLaunch, CudaError> {
        let (gpu, args) = (&stream.gpu, product.args(1));
        let plan = ProductPlan::of(
            GpuLimits::of(stream, gpu.processors),
            product.size,
            product.a,
            product.b,
        );
        let kernel = ProductKernel::TensorCore { tile: 0, layout: OperandLayout::Kk };
        let suits = plan.kernel == kernel && plan.splits == 1 && processors > 0;
        let (Some(kernel), true) = (&gpu.kernels.warpgroup_in_chunks, suits) else {
            return Ok(ChunkedLaunch::Unsupported);
        };
        let config = LaunchConfig::linear(processors, THREADS).shared(plan.shared);
        launch_with_completion_event!(stream, other, kernel, config; args, chunks)?;
        Ok(ChunkedLaunch::Launched)
    }

    fn run_each(
        &mut self,
        stream: &GpuStream,
        small: &[ProductArgs],
        large: &[(ProductSpec, ProductPlan)],
    ) -> Result<(), CudaError> {
        self.small[stream.id as usize].run(stream, small)?;
        large.iter().try_for_each(|(product, plan)| self.run_large(stream, product, *plan))
    }

    /// Runs one large product; if it is split, a second launch adds the parts in order.
    fn run_large(
        &mut self,
        stream: &GpuStream,
        product: &ProductSpec,
        plan: ProductPlan,
    ) -> Result<(), CudaError> {
        let ((m, _, n), splits) = (product.size, plan.splits);
        let mut args = product.args(splits);
        if splits > 1 {
            args.c = self.parts[stream.id as usize].reserve(stream, splits * m * n)?;
        }
        let (rows, columns) = plan.tile;
        let config = LaunchConfig::grid_3d(n.div_ceil(columns), m.div_ceil(rows), splits, THREADS);
        let kernels = &stream.gpu.kernels;
        let kernel = match plan.kernel {
            ProductKernel::Tiled => &kernels.tiled_product,
            ProductKernel::Grouped => unreachable!("small products run in one launch"),
            ProductKernel::Thin { kernel } => &kernels.product_thin[kernel],
            ProductKernel::TensorCore { tile, layout } => {
                &kernels.product_large[tile][layout as usize]
            }
        };
        launch!(stream, kernel, config.shared(plan.shared); args)?;
        if splits > 1 {
            add_parts(stream, args, product.c.at)?;
        }
        Ok(())
    }
}

/// The arguments of small products, and the large products with their plans.
fn planned(
    limits: GpuLimits,
    products: &[ProductSpec],
) -> (Vec<ProductArgs>, Vec<(ProductSpec, ProductPlan)>) {
    let plan = |product: &ProductSpec| {
        (*product, ProductPlan::of(limits, product.size, product.a, product.b))
    };
    let products =
        products.iter().filter(|product| product.size.0 > 0 && product.size.2 > 0).map(plan);
    let (small, large): (Vec<_>, Vec<_>) =
        products.partition(|(_, plan)| plan.kernel == ProductKernel::Grouped);
    (small.iter().map(|(product, plan)| product.args(plan.splits)).collect(), large)
}

#[cfg(test)]
mod tests {
    use super::super::gpu::gpu_for_tests;
    use super::*;
    use crate::key::{Key, Rng};

    /// Relative to the largest number: the rounding error of sums of a few thousand floats.
    const TOLERANCE: f64 = 2e-6;

    /// An operand in memory: `before` NaNs, then lines with NaNs between them; with or without a
    /// list of lines.
    struct Operand {
        values: Vec<f32>,
        apart: usize,
        before: usize,
        list: Vec<u32>,
    }

    impl Operand {
        fn new(rng: &mut Rng, (lines, long): (usize, usize), case: &Case) -> Operand {
            let (apart, before) = (long + case.gap, case.before);
            let count = before + (lines + 3) * apart;
            let value = |i: usize| match i >= before && (i - before) % apart < long {
                true => rng.unit() as f32 - 0.5,
                false => f32::NAN,
            };
            let values = (0..count).map(value).collect();
            let list = (0..lines).map(|_| rng.below(lines + 3) as u32);
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

        fn send(
            &self,
            stream: &GpuStream,
            buffers: &mut (Buffer<f32>, Buffer<u32>),
        ) -> DeviceMatrix {
            let at = buffers.0.write(stream, &self.values).unwrap() + 4 * self.before as u64;
            let list = buffers.1.write(stream, &self.list).unwrap();
            let list = if self.list.is_empty() { 0 } else { list };
            DeviceMatrix::rows(at, self.apart).listed(list)
        }
    }

    #[derive(Clone, Copy, Debug)]
    struct Case {
        size: (usize, usize, usize),
        /// Whether the lines of A and B run along k.
        along_k: (bool, bool),
        gap: usize,
        before: usize,
        lists: bool,
        into: WriteMode,
    }

    /// The largest error relative to the largest number of the product.
    fn worst(gpu: &std::sync::Arc<crate::cuda::Gpu>, case: Case) -> f64 {
        let stream = GpuStream::new(gpu).unwrap();
        let ((m, k, n), (a_k, b_k)) = (case.size, case.along_k);
        let mut rng = Key::new(7).child("product", (m * k + n) as u64).rng();
        // Row lists are indexed by m for A and by k for B; lines along the other axis have none.
        let unlisted = Case { lists: false, ..case };
        let (a_case, b_case) =
            (if a_k { case } else { unlisted }, if b_k { unlisted } else { case });
        let a = Operand::new(&mut rng, if a_k { (m, k) } else { (k, m) }, &a_case);
        let b = Operand::new(&mut rng, if b_k { (n, k) } else { (k, n) }, &b_case);
        let bias: Vec<f32> = (0..n).map(|_| rng.unit() as f32).collect();
        // The rows of C in reverse order, one of them missing.
        let c_list: Vec<u32> =
            (0..m as u32).rev().map(|i| if i == 3 { NO_ROW } else { i }).collect();
        let before = vec![0.25f32; m * (n + 1)];
        let (mut a_buffer, mut b_buffer, mut c_buffer, mut list_buffer, mut bias_buffer) =
            Default::default();
        let (a_at, b_at) = (a.send(&stream, &mut a_buffer), b.send(&stream, &mut b_buffer));
        let bias_at = Buffer::write(&mut bias_buffer, &stream, &bias).unwrap();
        let c_at =
            DeviceMatrix::rows(Buffer::write(&mut c_buffer, &stream, &before).unwrap(), n + 1);
        let c_at = match case.lists {
            true => c_at.listed(Buffer::write(&mut list_buffer, &stream, &c_list).unwrap()),
            false => c_at,
        };
        let a_at = if a_k { a_at } else { a_at.transposed() };
        let b_at = if b_k { b_at.transposed() } else { b_at };
        let mut ops = MatrixOps::default();
        let product = ProductSpec::new(case.size, a_at, b_at, c_at, case.into);
        let add = [Addend::to_all(bias_at, n), Addend::NONE];
        ops.run_all(&stream, &[product.plus(add)]).unwrap();
        let c = stream.read(&c_buffer, m * (n + 1)).unwrap();
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
                let before = if case.into == WriteMode::Accumulate { *into } else { 0.0 };
                *into = before + sum + bias[j] as f64;
            }
        }
        let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let errors = c.iter().zip(&expected).map(|(&c, x)| (c as f64 - x).abs() / largest);
        // NaN counts as the largest error.
        errors.fold(0.0, |most, error| if error <= most { most } else { error })
    }

    #[test]
    fn products_of_any_size_and_layout_match_double_precision() {
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
                    for (lists, into) in
                        [(false, WriteMode::Overwrite), (true, WriteMode::Accumulate)]
                    {
                        let case = Case { size, along_k, gap, before, lists, into };
                        let worst = worst(&gpu, case);
                        assert!(worst <= TOLERANCE, "{case:?}: {worst:e}");
                    }
                }
            }
        }
    }
}
