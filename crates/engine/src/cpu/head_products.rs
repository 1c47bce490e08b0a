//! The products of the classifier with the read-outs of four rows. The classes are cut into blocks,
//! whose weights stay in a cache while all read-outs are multiplied with them.

use super::add_product::StridedMatrix;
use super::kernels::{PerRow, ROWS};
use super::lane_sums::lane_sums;
use super::simd::{vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// Classes of a block, at most. It divides into tiles of four and of five.
pub const CLASS_BLOCK: usize = 80;

/// The indices of the classes in a block.
pub const BLOCK_ROWS: [usize; CLASS_BLOCK] = {
    let (mut all, mut i) = ([0; CLASS_BLOCK], 0);
    while i < CLASS_BLOCK {
        all[i] = i;
        i += 1;
    }
    all
};

/// The first class and the number of classes of every block.
pub fn class_blocks(classes: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..classes).step_by(CLASS_BLOCK).map(move |first| (first, CLASS_BLOCK.min(classes - first)))
}

/// Some rows of a matrix whose rows have `width` numbers, a multiple of the vector width.
#[derive(Clone, Copy)]
pub struct SelectedRows<'a> {
    pub values: &'a [f32],
    pub rows: &'a [usize],
}

/// Adds `⟨features, weights⟩` to the logits of a block of classes.
pub struct AddDots<'a> {
    /// `[features, stride]`; the first numbers of each row are those of the block.
    pub logits: &'a mut [f32],
    pub stride: usize,
    pub features: SelectedRows<'a>,
    /// `[classes of the block, width]`.
    pub weights: &'a [f32],
    pub width: usize,
}

impl WithSimd for AddDots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let classes = self.weights.len() / self.width;
        for first in (0..self.features.rows.len()).step_by(ROWS) {
            let mut class = 0;
            while S::F32_LANES == 16 && class + 5 <= classes {
                self.tile::<S, 5>(simd, first, class);
                class += 5;
            }
            while class + 4 <= classes {
                self.tile::<S, 4>(simd, first, class);
                class += 4;
            }
            while class < classes {
                self.tile::<S, 1>(simd, first, class);
                class += 1;
            }
        }
    }
}

impl AddDots<'_> {
    /// Four rows, or those that are left, and TILE classes.
    #[inline(always)]
    fn tile<S: Simd, const TILE: usize>(&mut self, simd: S, first: usize, class: usize) {
        let AddDots { features: SelectedRows { values, rows }, weights, width, .. } = *self;
        let rows = &rows[first..rows.len().min(first + ROWS)];
        let x: PerRow<&[S::f32s]> = std::array::from_fn(|r| {
            // Rows that are missing repeat the last one.
            vectors::<S>(&values[rows[r.min(rows.len() - 1)] * width..][..width])
        });
        let w: [&[S::f32s]; TILE] =
            std::array::from_fn(|j| vectors::<S>(&weights[(class + j) * width..][..width]));
        let (n, mut acc) = (width / S::F32_LANES, [[simd.splat_f32s(0.0); TILE]; ROWS]);
        let (x, w) = (x.map(|x| &x[..n]), w.map(|w| &w[..n]));
        for q in 0..n {
            for j in 0..TILE {
                for r in 0..ROWS {
                    acc[r][j] = simd.mul_add_e_f32s(w[j][q], x[r][q], acc[r][j]);
                }
            }
        }
        let mut sums = [0.0; ROWS * TILE_WIDTH];
        lane_sums(simd, &acc, &mut sums, TILE_WIDTH);
        for (r, sums) in sums.chunks_exact(TILE_WIDTH).take(rows.len()).enumerate() {
            let logits = &mut self.logits[(first + r) * self.stride + class..][..TILE];
            logits.iter_mut().zip(sums).for_each(|(logit, sum)| *logit += sum);
        }
    }
}

/// Numbers between the rows of a tile's sums.
const TILE_WIDTH: usize = 8;

/// `C += A·B` for some rows of B and C. The terms are added to each number of C in their order.
pub struct OrderedProduct<'a> {
    pub c: &'a mut [f32],
    pub c_rows: &'a [usize],
    pub a: StridedMatrix<'a>,
    pub b: SelectedRows<'a>,
    pub width: usize,
}

impl WithSimd for OrderedProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (lanes, mut column) = (S::F32_LANES, 0);
        while column + 4 * lanes <= self.width {
            self.columns::<S, 4>(simd, column);
            column += 4 * lanes;
        }
        match (self.width - column) / lanes {
            0 => {}
            1 => self.columns::<S, 1>(simd, column),
            2 => self.columns::<S, 2>(simd, column),
            _ => self.columns::<S, 3>(simd, column),
        }
    }
}

impl OrderedProduct<'_> {
    /// COLUMNS vectors of every row of C.
    // PERF: columns outermost, so that those of B stay in a first-level cache.
    #[inline(always)]
    fn columns<S: Simd, const COLUMNS: usize>(&mut self, simd: S, column: usize) {
        let (count, mut row) = (self.c_rows.len(), 0);
        while row + 4 <= count {
            self.tile::<S, 4, COLUMNS>(simd, row, column);
            row += 4;
        }
        while row + 2 <= count {
            self.tile::<S, 2, COLUMNS>(simd, row, column);
            row += 2;
        }
        if row < count {
            self.tile::<S, 1, COLUMNS>(simd, row, column);
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const TILE: usize, const COLUMNS: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
    ) {
        let OrderedProduct { a, b, width, .. } = *self;
        let c_rows: [usize; TILE] = std::array::from_fn(|r| self.c_rows[row + r]);
        let mut acc = [[simd.splat_f32s(0.0); COLUMNS]; TILE];
        for r in 0..TILE {
            let c = &self.c[c_rows[r] * width + column..][..COLUMNS * S::F32_LANES];
            acc[r] = *vectors::<S>(c).first_chunk().expect("the columns");
        }
        for (t, &b_row) in b.rows.iter().enumerate() {
            let b = &b.values[b_row * width + column..][..COLUMNS * S::F32_LANES];
            let b: &[S::f32s; COLUMNS] = vectors::<S>(b).first_chunk().expect("the columns");
            for (r, acc) in acc.iter_mut().enumerate() {
                let x = simd.splat_f32s(a.values[(row + r) * a.row + t * a.next]);
                for j in 0..COLUMNS {
                    acc[j] = simd.mul_add_e_f32s(x, b[j], acc[j]);
                }
            }
        }
        for r in 0..TILE {
            let c = &mut self.c[c_rows[r] * width + column..][..COLUMNS * S::F32_LANES];
            vectors_mut::<S>(c).copy_from_slice(&acc[r]);
        }
    }
}
