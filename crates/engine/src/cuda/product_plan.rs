//! Chooses the kernel of a product and the number of parts of its sum.

use super::gpu::GpuStream;
use super::matrix::DeviceMatrix;

/// Edge of a block's tile in `kernels/matrix.cu`.
const TILE: usize = 128;
/// Edge of a tile in `kernels/grouped.cu`, and terms that a block adds at a time.
pub const GROUP_TILE: usize = 32;
const GROUP_K: usize = 64;
/// Threads per block there; for thin products one row per thread.
const THREADS: usize = 256;
/// Least number of terms of a part of a split sum.
const SHORTEST_PART: usize = 32;
/// Columns of B up to which a product is thin, by kernel, and least number of terms.
const THIN: [usize; 3] = [1, 4, 16];
const THIN_K: usize = 1024;
/// Rows of C per thread of a thin product, where A is aligned to 16 bytes.
const THIN_ROWS: usize = 4;

/// In `kernels/tensor.cu`: rows and columns of a tile, terms of a stage, and stages in flight.
pub const ROWS: [usize; 2] = [128, 64];
pub const COLUMNS: usize = 128;
const STAGE_K: usize = 32;
const STAGES: usize = 3;
/// Least sizes for the tensor cores. Below them, most columns or rows of a tile are empty, or there
/// is little to do. Empty rows cost little: a warp skips them by sixteens.
const LEAST_COLUMNS: usize = 24;
const LEAST_ROWS: usize = 8;
const LEAST_WORK: usize = 1 << 25;

/// The axes along which A and B are contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandLayout {
    /// A along m, B along n.
    Mn,
    /// A along k, B along n.
    Kn,
    /// Both along k.
    Kk,
    /// Neither, or a row list maps the contiguous axis.
    Other,
}

/// The kernel of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductKernel {
    /// `tiled_product`.
    Tiled,
    /// One of several products in a launch of `grouped_products`.
    Grouped,
    /// `thin_1`, `thin_4`, `thin_16`, `thin_unaligned`, by index.
    Thin { kernel: usize },
    /// On the tensor cores, by tile height (an index of `ROWS`) and layout.
    TensorCore { tile: usize, layout: OperandLayout },
}

/// A kernel and its launch parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductPlan {
    pub kernel: ProductKernel,
    /// Rows and columns of a tile.
    pub tile: (usize, usize),
    pub splits: usize,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: usize,
}

/// The properties of a GPU that a plan depends on.
#[derive(Clone, Copy)]
pub struct GpuLimits {
    /// Number of multiprocessors to plan for.
    pub processors: usize,
    /// Largest shared memory of a block, in bytes.
    pub shared: usize,
    /// Whether warpgroup products are supported (`kernels/warpgroup.cu`).
    pub warpgroups: bool,
}

impl GpuLimits {
    /// The limits of a GPU, planning for `processors` multiprocessors, at least one.
    pub fn of(stream: &GpuStream, processors: usize) -> GpuLimits {
        let gpu = &stream.gpu;
        GpuLimits { processors: processors.max(1), shared: gpu.shared, warpgroups: gpu.warpgroups }
    }

    /// Whether warpgroups compute tiles of this height and layout.
    fn uses_warpgroups(&self, tile: usize, layout: OperandLayout) -> bool {
        self.warpgroups && (tile == 0 || layout == OperandLayout::Mn)
    }
}

impl OperandLayout {
    pub fn of(a: DeviceMatrix, b: DeviceMatrix) -> OperandLayout {
        // Row lists map m of A and k of B, so the contiguous axis must be the other one.
        let (a_k, a_m) = (a.column == 1, a.row == 1 && a.list == 0);
        let (b_n, b_k) = (b.column == 1, b.row == 1 && b.list == 0);
        match (a_k, b_n) {
            (true, true) => OperandLayout::Kn,
            (true, false) if b_k => OperandLayout::Kk,
            (false, true) if a_m => OperandLayout::Mn,
            _ => OperandLayout::Other,
        }
    }

    /// Whether A, and B, are contiguous along k.
    pub fn along_k(self) -> (bool, bool) {
        (matches!(self, OperandLayout::Kn | OperandLayout::Kk), self == OperandLayout::Kk)
    }
}

impl ProductPlan {
    /// The plan for A (m×k) times B (k×n).
    pub fn of(
        limits: GpuLimits,
        size: (usize, usize, usize),
        a: DeviceMatrix,
        b: DeviceMatrix,
    ) -> ProductPlan {
        let (m, k, n) = size;
        let layout = OperandLayout::of(a, b);
        if n <= THIN[2] && k >= THIN_K && a.row == 1 && a.list == 0 && b.list == 0 {
            return ProductPlan::thin(limits, size, a);
        }
        let fills = m >= LEAST_ROWS && n >= LEAST_COLUMNS;
        let large = fills && m * n * k >= LEAST_WORK && layout != OperandLayout::Other;
        let tensor_core = if large { ProductPlan::tensor_core(limits, size, layout) } else { None };
        tensor_core.unwrap_or_else(|| ProductPlan::tiled(limits, size))
    }

    fn thin(limits: GpuLimits, (m, k, n): (usize, usize, usize), a: DeviceMatrix) -> ProductPlan {
        let columns = THIN.iter().position(|&columns| n <= columns).expect("few columns");
        let wide = a.is_aligned_16(a.column) && m.is_multiple_of(THIN_ROWS);
        let (kernel, rows) =
            if wide { (columns, THIN_ROWS * THREADS) } else { (THIN.len(), THREADS) };
        let splits = (4 * limits.processors).div_ceil(m.div_ceil(rows)).min(k / 64).max(1);
        ProductPlan {
            kernel: ProductKernel::Thin { kernel },
            tile: (rows, THIN[2]),
            splits,
            shared: 0,
        }
    }

    fn tiled(limits: GpuLimits, (m, k, n): (usize, usize, usize)) -> ProductPlan {
        let tiles = |edge: usize| m.div_ceil(edge) * n.div_ceil(edge);
        // Few tiles leave the device idle, so the sum is split to get enough blocks. A
        // multiprocessor runs one large tile at a time.
        if tiles(TILE) * (k / 256).max(1) >= limits.processors {
            let wanted = (limits.processors + tiles(TILE) / 2) / tiles(TILE);
            let splits = wanted.min(k / SHORTEST_PART).max(1);
            return ProductPlan {
                kernel: ProductKernel::Tiled,
                tile: (TILE, TILE),
                splits,
                shared: 0,
            };
        }
        let wanted =
            (4 * limits.processors / tiles(GROUP_TILE)).clamp(1, k.div_ceil(GROUP_K).max(1));
        // Only parts with at least one term.
        let per = k.div_ceil(wanted).next_multiple_of(GROUP_K).max(GROUP_K);
        let splits = k.div_ceil(per).max(1);
        ProductPlan {
            kernel: ProductKernel::Grouped,
            tile: (GROUP_TILE, GROUP_TILE),
            splits,
            shared: 0,
        }
    }

    /// The plan with the least estimated time, or `None` if no tile fits the GPU.
    fn tensor_core(
        limits: GpuLimits,
        size: (usize, usize, usize),
        layout: OperandLayout,
    ) -> Option<ProductPlan> {
        let most = (size.1 / (4 * STAGE_K)).clamp(1, 128);
        let plans = (0..ROWS.len()).flat_map(|tile| (1..=most).map(move |splits| (tile, splits)));
        let plans = plans.map(|(tile, splits)| ProductPlan {
            kernel: ProductKernel::TensorCore { tile, layout },
            tile: (ROWS[tile], COLUMNS),
            splits,
            shared: match limits.uses_warpgroups(tile, layout) {
                true => warpgroup_bytes(tile, layout),
                false => bytes(ROWS[tile], layout),
            },
        });
        plans
            .filter(|plan| plan.shared <= limits.shared && plan.suits(limits, size))
            .min_by(|a, b| a.microseconds(limits, size).total_cmp(&b.microseconds(limits, size)))
    }

    /// Warpgroups use tiles of 64 rows only where C has few rows.
    fn suits(&self, limits: GpuLimits, (m, _, _): (usize, usize, usize)) -> bool {
        !self.uses_warpgroups(limits) || m <= ROWS[1] || self.tile.0 > ROWS[1]
    }

    fn uses_warpgroups(&self, limits: GpuLimits) -> bool {
        match self.kernel {
            ProductKernel::TensorCore { tile, layout } => limits.uses_warpgroups(tile, layout),
            ProductKernel::Tiled | ProductKernel::Grouped | ProductKernel::Thin { .. } => false,
        }
    }

    /// Estimated time of a product on the tensor cores of a large GPU, in microseconds.
    fn microseconds(&self, limits: GpuLimits, (m, k, n): (usize, usize, usize)) -> f64 {
        let blocks = m.div_ceil(self.tile.0) * n.div_ceil(self.tile.1) * self.splits;
        // The start and end of a block cost about two stages.
        let stages = k.div_ceil(self.splits).div_ceil(STAGE_K) + 2;
        // For an H200. Small tiles load more per product, and two of them fit on a multiprocessor:
        // a lone one waits for its own copies.
        let each = blocks.div_ceil(limits.processors);
        let large = self.tile.0 == ROWS[0];
        let stage = match (large, self.uses_warpgroups(limits)) {
            (true, true) => 1.0,
            (true, false) => 1.4,
            (false, true) => 0.5,
            (false, false) => 0.8,
        };
        let alone = if each == 1 && !large { 1.3 } else { 1.0 };
        let numbers = if self.splits > 1 { (self.splits + 1) * m * n } else { 0 };
        let sum = if self.splits > 1 { 3.0 + numbers as f64 / 500e3 } else { 0.0 };
        alone * (each * stages) as f64 * stage + sum
    }
}

/// Shared memory of a block, in bytes: its stages, of two operands each, as in `kernels/tensor.cu`.
fn bytes(rows: usize, layout: OperandLayout) -> usize {
    let piece = |edge: usize, along_k: bool| match along_k {
        true => edge * (STAGE_K + 4),
        false => STAGE_K * (edge + 8),
    };
    let (a, b) = layout.along_k();
    4 * STAGES * (piece(rows, a) + piece(COLUMNS, b))
}

/// Shared memory of a block of `kernels/warpgroup.cu`, in bytes. Besides the stages there are high
/// and low parts of B (or of A with few rows), twice. If B is contiguous along k, it is unpadded
/// and its high parts are read in place, which leaves space for one more stage.
fn warpgroup_bytes(tile: usize, layout: OperandLayout) -> usize {
    let (_, along_k) = layout.along_k();
    let piece = [COLUMNS, ROWS[1]][tile] * STAGE_K;
    let stages = bytes(ROWS[tile], layout);
    if !along_k {
        return stages + 4 * (4 * piece);
    }
    let padding = 4 * STAGES * COLUMNS * 4;
    (stages - padding) / STAGES * (STAGES + 1) + 4 * (2 * piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: GpuLimits = GpuLimits { processors: 132, shared: 227 << 10, warpgroups: true };

    fn plan((m, k, n): (usize, usize, usize), a: DeviceMatrix, b: DeviceMatrix) -> ProductPlan {
        ProductPlan::of(H200, (m, k, n), a, b)
    }

    #[test]
    fn long_sums_of_many_centroids_keep_every_multiprocessor_busy() {
        let (alpha, da) =
            (DeviceMatrix::rows(256, 100).transposed(), DeviceMatrix::rows(256, 1024));
        let small_k = plan(
            (10, 100_352, 256),
            DeviceMatrix::rows(256, 10).transposed(),
            DeviceMatrix::rows(256, 256),
        );
        assert_eq!(
            small_k.kernel,
            ProductKernel::TensorCore { tile: 1, layout: OperandLayout::Mn }
        );
        let plan = plan((100, 100_352, 1024), alpha, da);
        assert_eq!(plan.kernel, ProductKernel::TensorCore { tile: 0, layout: OperandLayout::Mn });
        assert!(8 * plan.splits >= 128, "{plan:?}");
    }

    #[test]
    fn small_products_and_few_columns_have_kernels_of_their_own() {
        let rows = |width| DeviceMatrix::rows(256, width);
        let small = plan((5, 100, 400), rows(100), rows(100).transposed());
        assert_eq!((small.kernel, small.splits), (ProductKernel::Grouped, 2));
        let thin = plan((1024, 100_352, 1), rows(1024).transposed(), rows(1));
        assert_eq!(thin.kernel, ProductKernel::Thin { kernel: 0 });
        let odd = plan((1023, 100_352, 10), rows(1023).transposed(), rows(10));
        assert_eq!(odd.kernel, ProductKernel::Thin { kernel: 3 });
    }

    #[test]
    fn a_gpu_with_less_shared_memory_gets_smaller_tiles_or_none() {
        let with = |shared| {
            let rows = DeviceMatrix::rows(256, 1024);
            ProductPlan::of(
                GpuLimits { shared, warpgroups: false, ..H200 },
                (4096, 1024, 1024),
                rows,
                rows.transposed(),
            )
            .kernel
        };
        assert_eq!(
            with(227 << 10),
            ProductKernel::TensorCore { tile: 0, layout: OperandLayout::Kk }
        );
        assert_eq!(
            with(99 << 10),
            ProductKernel::TensorCore { tile: 1, layout: OperandLayout::Kk }
        );
        assert_eq!(with(48 << 10), ProductKernel::Tiled);
    }

    #[test]
    fn lines_that_a_list_goes_across_are_not_contiguous() {
        let rows = DeviceMatrix::rows(256, 64);
        assert_eq!(OperandLayout::of(rows.listed(1), rows.listed(1)), OperandLayout::Kn);
        assert_eq!(OperandLayout::of(rows.transposed().listed(1), rows), OperandLayout::Other);
        assert_eq!(OperandLayout::of(rows, rows.transposed().listed(1)), OperandLayout::Other);
    }
}
