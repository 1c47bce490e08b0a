//! How a product is made: by which kernel, and into how many parts its sum is cut.

use super::device::Device;
use super::matrix::Matrix;

/// The edge of a block's tile in `kernels/matrix.cu`.
const TILE: usize = 128;
/// Its edge in `kernels/many.cu`, and the terms that a block of it adds at a time.
pub const EDGE: usize = 32;
const PART: usize = 64;
/// Threads of the blocks there, each a row where B has few columns.
const THREADS: usize = 256;
/// A long sum is cut into parts of at least so many terms.
const SHORTEST_PART: usize = 32;
/// Columns of B that are few, by kernel, and terms that are many.
const THIN: [usize; 3] = [1, 4, 16];
const LONG: usize = 1024;
/// Rows of C that a thread of theirs makes, where A can be read four numbers at a time.
const FOUR: usize = 4;

/// In `kernels/tensor.cu`: rows of a tile, its columns, terms of a stage, and stages at a time.
pub const ROWS: [usize; 2] = [128, 64];
pub const COLUMNS: usize = 128;
const DEEP: usize = 32;
const STAGES: usize = 3;
/// Below these, most of a tile's columns are empty, most of its rows, or there is little to do. Empty
/// rows cost little: a warp leaves them out by sixteens.
const LEAST_COLUMNS: usize = 24;
const LEAST_ROWS: usize = 8;
const LEAST_WORK: usize = 1 << 25;

/// Which way the contiguous lines of A and B go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Along m and n.
    Mn,
    /// Along k and n.
    Kn,
    /// Both along k.
    Kk,
    /// Otherwise, or by a list across them.
    Other,
}

/// The kernel of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `product_128`.
    Plain,
    /// One of several `products` in a launch.
    Small,
    /// `thin_1`, `thin_4`, `thin_16`, `thin_any`.
    Thin { kernel: usize },
    /// On the tensor cores; by the index of the tile's rows, and by its lines.
    Tensor { tile: usize, lines: Lines },
}

/// A kernel and its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub way: Way,
    /// Rows and columns of a tile.
    pub tile: (usize, usize),
    pub splits: usize,
    /// Bytes of shared memory of a block.
    pub shared: usize,
}

/// What a plan needs to know of a GPU.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Multiprocessors.
    pub processors: usize,
    /// Bytes of shared memory that a block may have.
    pub shared: usize,
    /// Whether four warps multiply together (`kernels/warpgroup.cu`).
    pub warpgroups: bool,
}

impl Limits {
    /// Those of a GPU of which so many multiprocessors are to be used, or one.
    pub fn of(device: &Device, processors: usize) -> Limits {
        let gpu = &device.gpu;
        Limits { processors: processors.max(1), shared: gpu.shared, warpgroups: gpu.warpgroups }
    }

    /// Whether tiles of these rows and lines are made by four warps together.
    fn together(&self, tile: usize, lines: Lines) -> bool {
        self.warpgroups && (tile == 0 || lines == Lines::Mn)
    }
}

impl Lines {
    pub fn of(a: Matrix, b: Matrix) -> Lines {
        // A list names rows of A by m, rows of B by k: lines go along the other axis.
        let (a_k, a_m) = (a.column == 1, a.row == 1 && a.list == 0);
        let (b_n, b_k) = (b.column == 1, b.row == 1 && b.list == 0);
        match (a_k, b_n) {
            (true, true) => Lines::Kn,
            (true, false) if b_k => Lines::Kk,
            (false, true) if a_m => Lines::Mn,
            _ => Lines::Other,
        }
    }

    /// Whether the lines of A, and of B, go along k.
    pub fn along_k(self) -> (bool, bool) {
        (matches!(self, Lines::Kn | Lines::Kk), self == Lines::Kk)
    }
}

impl Plan {
    /// The plan for A, m×k, times B, k×n.
    pub fn of(limits: Limits, size: (usize, usize, usize), a: Matrix, b: Matrix) -> Plan {
        let (m, k, n) = size;
        let lines = Lines::of(a, b);
        if n <= THIN[2] && k >= LONG && a.row == 1 && a.list == 0 && b.list == 0 {
            return Plan::thin(limits, size, a);
        }
        let fills = m >= LEAST_ROWS && n >= LEAST_COLUMNS;
        let large = fills && m * n * k >= LEAST_WORK && lines != Lines::Other;
        let tensor = if large { Plan::tensor(limits, size, lines) } else { None };
        tensor.unwrap_or_else(|| Plan::plain(limits, size))
    }

    fn thin(limits: Limits, (m, k, n): (usize, usize, usize), a: Matrix) -> Plan {
        let columns = THIN.iter().position(|&columns| n <= columns).expect("few columns");
        let wide = a.is_wide(a.column) && m.is_multiple_of(FOUR);
        let (kernel, rows) = if wide { (columns, FOUR * THREADS) } else { (THIN.len(), THREADS) };
        let splits = (4 * limits.processors).div_ceil(m.div_ceil(rows)).min(k / 64).max(1);
        Plan { way: Way::Thin { kernel }, tile: (rows, THIN[2]), splits, shared: 0 }
    }

    fn plain(limits: Limits, (m, k, n): (usize, usize, usize)) -> Plan {
        let tiles = |edge: usize| m.div_ceil(edge) * n.div_ceil(edge);
        // Few tiles leave the device idle: the sum is cut, so that there are enough blocks. Of the
        // large ones a multiprocessor takes one at a time.
        if tiles(TILE) * (k / 256).max(1) >= limits.processors {
            let wanted = (limits.processors + tiles(TILE) / 2) / tiles(TILE);
            let splits = wanted.min(k / SHORTEST_PART).max(1);
            return Plan { way: Way::Plain, tile: (TILE, TILE), splits, shared: 0 };
        }
        let wanted = (4 * limits.processors / tiles(EDGE)).clamp(1, k.div_ceil(PART).max(1));
        // As many as have something to add.
        let per = k.div_ceil(wanted).next_multiple_of(PART).max(PART);
        let splits = k.div_ceil(per).max(1);
        Plan { way: Way::Small, tile: (EDGE, EDGE), splits, shared: 0 }
    }

    /// The fastest by estimate, if one fits the GPU.
    fn tensor(limits: Limits, size: (usize, usize, usize), lines: Lines) -> Option<Plan> {
        let most = (size.1 / (4 * DEEP)).clamp(1, 128);
        let plans = (0..ROWS.len()).flat_map(|tile| (1..=most).map(move |splits| (tile, splits)));
        let plans = plans.map(|(tile, splits)| Plan {
            way: Way::Tensor { tile, lines },
            tile: (ROWS[tile], COLUMNS),
            splits,
            shared: match limits.together(tile, lines) {
                true => wide_bytes(tile, lines),
                false => bytes(ROWS[tile], lines),
            },
        });
        plans
            .filter(|plan| plan.shared <= limits.shared && plan.suits(limits, size))
            .min_by(|a, b| a.microseconds(limits, size).total_cmp(&b.microseconds(limits, size)))
    }

    /// Tiles of few rows that four warps make together are for C of few rows.
    fn suits(&self, limits: Limits, (m, _, _): (usize, usize, usize)) -> bool {
        !self.together(limits) || m <= ROWS[1] || self.tile.0 > ROWS[1]
    }

    fn together(&self, limits: Limits) -> bool {
        match self.way {
            Way::Tensor { tile, lines } => limits.together(tile, lines),
            Way::Plain | Way::Small | Way::Thin { .. } => false,
        }
    }

    /// About how long a product takes on the tensor cores of a large GPU.
    fn microseconds(&self, limits: Limits, (m, k, n): (usize, usize, usize)) -> f64 {
        let blocks = m.div_ceil(self.tile.0) * n.div_ceil(self.tile.1) * self.splits;
        // A block begins and ends while nothing is multiplied, as long as two stages take.
        let stages = k.div_ceil(self.splits).div_ceil(DEEP) + 2;
        // For an H200. Small tiles read more for each product, and there is room for two of them on a
        // multiprocessor: one that is alone waits for its own copies.
        let each = blocks.div_ceil(limits.processors);
        let large = self.tile.0 == ROWS[0];
        let stage = match (large, self.together(limits)) {
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

/// Bytes of shared memory of a block: its stages, of two pieces each, as `kernels/tensor.cu` has
/// them.
fn bytes(rows: usize, lines: Lines) -> usize {
    let piece = |edge: usize, along_k: bool| match along_k {
        true => edge * (DEEP + 4),
        false => DEEP * (edge + 8),
    };
    let (a, b) = lines.along_k();
    4 * STAGES * (piece(rows, a) + piece(COLUMNS, b))
}

/// The same in `kernels/warpgroup.cu`: beside the stages there are the numbers twice that the tensor
/// cores read from there, of B or of few rows of A, and what is left of them. Where their lines go
/// along k they are not padded, and are read where they came, so that one stage more has room.
fn wide_bytes(tile: usize, lines: Lines) -> usize {
    let (_, along_k) = lines.along_k();
    let piece = [COLUMNS, ROWS[1]][tile] * DEEP;
    let stages = bytes(ROWS[tile], lines);
    if !along_k {
        return stages + 4 * (4 * piece);
    }
    let padding = 4 * STAGES * COLUMNS * 4;
    (stages - padding) / STAGES * (STAGES + 1) + 4 * (2 * piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Limits = Limits { processors: 132, shared: 227 << 10, warpgroups: true };

    fn plan((m, k, n): (usize, usize, usize), a: Matrix, b: Matrix) -> Plan {
        Plan::of(H200, (m, k, n), a, b)
    }

    #[test]
    fn long_sums_of_many_centroids_keep_every_multiprocessor_busy() {
        let (alpha, da) = (Matrix::rows(256, 100).transposed(), Matrix::rows(256, 1024));
        let few =
            plan((10, 100_352, 256), Matrix::rows(256, 10).transposed(), Matrix::rows(256, 256));
        assert_eq!(few.way, Way::Tensor { tile: 1, lines: Lines::Mn });
        let plan = plan((100, 100_352, 1024), alpha, da);
        assert_eq!(plan.way, Way::Tensor { tile: 0, lines: Lines::Mn });
        assert!(8 * plan.splits >= 128, "{plan:?}");
    }

    #[test]
    fn small_products_and_few_columns_have_kernels_of_their_own() {
        let rows = |width| Matrix::rows(256, width);
        let small = plan((5, 100, 400), rows(100), rows(100).transposed());
        assert_eq!((small.way, small.splits), (Way::Small, 2));
        let thin = plan((1024, 100_352, 1), rows(1024).transposed(), rows(1));
        assert_eq!(thin.way, Way::Thin { kernel: 0 });
        let odd = plan((1023, 100_352, 10), rows(1023).transposed(), rows(10));
        assert_eq!(odd.way, Way::Thin { kernel: 3 });
    }

    #[test]
    fn a_gpu_with_less_shared_memory_gets_smaller_tiles_or_none() {
        let with = |shared| {
            let rows = Matrix::rows(256, 1024);
            Plan::of(
                Limits { shared, warpgroups: false, ..H200 },
                (4096, 1024, 1024),
                rows,
                rows.transposed(),
            )
            .way
        };
        assert_eq!(with(227 << 10), Way::Tensor { tile: 0, lines: Lines::Kk });
        assert_eq!(with(99 << 10), Way::Tensor { tile: 1, lines: Lines::Kk });
        assert_eq!(with(48 << 10), Way::Plain);
    }

    #[test]
    fn lines_that_a_list_goes_across_are_not_contiguous() {
        let rows = Matrix::rows(256, 64);
        assert_eq!(Lines::of(rows.listed(1), rows.listed(1)), Lines::Kn);
        assert_eq!(Lines::of(rows.transposed().listed(1), rows), Lines::Other);
        assert_eq!(Lines::of(rows, rows.transposed().listed(1)), Lines::Other);
    }
}
