//! The products outside the scan: `rows·Wᵀ`, and its adjoint.
//!
//! Weights W are `[NB·D, E]`, as the parameters are stored. The product of m rows of E numbers, which
//! may lie anywhere, is computed as a *table* `[m][Q][NB]` of vectors, or as the first blocks of a
//! panel `[Q][m][of]`. Its gradient is read in either layout.
//!
//! Threads split the output by rows or strips; how they do changes no bit.

use super::add_product::{AddProduct, StridedMatrix, TermRange};
use super::kernels::accumulate;
use super::panels::add;
use super::simd::{AlignedVec, padded, vectors, vectors_mut, without_denormals};
use super::thread_pool::Executor;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Rows of a gradient that one task computes, at most.
// PERF: they share weights that are in a second-level cache.
const ROWS_PER_TASK: usize = 16;
/// The smallest number of multiplications that is split over threads.
// PERF: splitting fewer products gains nothing on cores with a shared cache. Without one it takes
// three times as long (T=100, d=100, k=5, 28 symbols: a million).
const MIN_PARALLEL_PRODUCTS: usize = 1 << 24;
/// The smallest number of additions that is split over threads: more than a second-level cache
/// holds.
const MIN_PARALLEL_ADDITIONS: usize = 1 << 20;
/// Terms that are summed in registers at a time.
// PERF: the data of this many rows stay in a second-level cache.
const DEPTH: usize = 256;

/// Products with weights of `blocks` blocks of `units` units.
#[derive(Clone, Copy)]
pub struct WeightProducts<'a> {
    pub executor: Executor<'a>,
    pub units: usize,
    pub blocks: usize,
}

/// Applied to every row of a product: `(x + shift)·scale`, `[Q][NB]` vectors each.
pub struct RowTransform {
    pub shift: AlignedVec,
    pub scale: AlignedVec,
}

impl RowTransform {
    /// Leaves rows unchanged.
    fn identity(width: usize) -> RowTransform {
        let (mut shift, mut scale) = (AlignedVec::zeros(width), AlignedVec::zeros(width));
        // x + (−0) is x for every x, including both zeros.
        shift.fill(-0.0);
        scale.fill(1.0);
        RowTransform { shift, scale }
    }
}

/// The distances between the rows of a product, and between the strips of a row.
#[derive(Clone, Copy)]
pub struct ProductStrides {
    row: usize,
    strip: usize,
}

impl WeightProducts<'_> {
    /// The strides of a table `[m][Q][NB]`.
    pub fn table_strides(&self) -> ProductStrides {
        ProductStrides { row: self.width(), strip: self.blocks * self.lanes() }
    }

    /// The strides of the first NB blocks of a panel `[Q][m][of]`.
    pub fn panel_strides(&self, m: usize, of: usize) -> ProductStrides {
        let row = of * self.lanes();
        ProductStrides { row, strip: m * row }
    }

    /// `(rows·Wᵀ + shift)·scale` as a table. `table` is empty or was computed here with the same
    /// layout: strips without units are not written and stay zero.
    pub fn table(
        &self,
        transform: &RowTransform,
        rows: &[&[f32]],
        w: &[f32],
        table: &mut AlignedVec,
    ) {
        let width = self.width();
        table.resize(rows.len() * width);
        let per_thread = rows.len().div_ceil(self.threads(rows, w));
        self.executor.pool.for_each_chunk(table, per_thread * width, |i, table| {
            let rows = &rows[i * per_thread..][..table.len() / width];
            self.strips(transform, rows, w, 0..self.count(), (table, self.table_strides()));
        });
    }

    /// `rows·Wᵀ` as the first blocks of a panel `[Q][m][of]`.
    pub fn panel(&self, rows: &[&[f32]], w: &[f32], of: usize) -> AlignedVec {
        let mut panel = AlignedVec::zeros(rows.len() * of * padded(self.units));
        let transform = RowTransform::identity(self.width());
        let at = self.panel_strides(rows.len(), of);
        let per_thread = self.count().div_ceil(self.threads(rows, w));
        let with_units = &mut panel[..self.count() * at.strip];
        self.executor.pool.for_each_chunk(with_units, per_thread * at.strip, |i, panel| {
            let strips = i * per_thread..i * per_thread + panel.len() / at.strip;
            self.strips(&transform, rows, w, strips, (panel, at));
        });
        panel
    }

    /// Some strips of `(rows·Wᵀ + shift)·scale`.
    fn strips(
        &self,
        transform: &RowTransform,
        rows: &[&[f32]],
        w: &[f32],
        strips: Range<usize>,
        (into, at): (&mut [f32], ProductStrides),
    ) {
        let level = self.executor.level;
        let mut weights = AlignedVec::zeros(self.inputs(w) * self.blocks * self.lanes());
        for (i, q) in strips.enumerate() {
            self.transpose(w, q, &mut weights);
            let (into, row, weights) = (&mut into[i * at.strip..], at.row, &weights);
            match self.blocks {
                3 => level.run(RowsTimesWeights::<3> { into, row, q, rows, weights, transform }),
                4 => level.run(RowsTimesWeights::<4> { into, row, q, rows, weights, transform }),
                blocks => unreachable!("cells have 3 or 4 blocks, not {blocks}"),
            }
        }
    }

    /// Strip q of Wᵀ `[E][NB]`.
    fn transpose(&self, w: &[f32], q: usize, panel: &mut [f32]) {
        let (e, lanes) = (self.inputs(w), self.lanes());
        let (first, end) = (q * lanes, ((q + 1) * lanes).min(self.units));
        if end - first < lanes {
            panel.fill(0.0);
        }
        for b in 0..self.blocks {
            let rows = &w[(b * self.units + first) * e..(b * self.units + end) * e];
            for (i, rows) in rows.chunks(4 * e).enumerate() {
                let into = &mut panel[b * lanes + 4 * i..];
                if rows.len() == 4 * e {
                    let rows: [_; 4] = std::array::from_fn(|r| &rows[r * e..][..e]);
                    write_columns(rows, into, self.blocks * lanes);
                } else {
                    for (r, row) in rows.chunks(e).enumerate() {
                        write_columns([row], &mut into[r..], self.blocks * lanes);
                    }
                }
            }
        }
    }

    /// Whether the product of this many rows, and its adjoint, are computed by one thread.
    pub fn is_small(&self, rows: usize, w: &[f32]) -> bool {
        rows * w.len() < MIN_PARALLEL_PRODUCTS && rows * self.width() < MIN_PARALLEL_ADDITIONS
    }

    /// The number of threads that split the product.
    fn threads(&self, rows: &[&[f32]], w: &[f32]) -> usize {
        if self.is_small(rows.len(), w) { 1 } else { self.executor.pool.workers() }
    }

    /// Floats in a vector.
    fn lanes(&self) -> usize {
        self.executor.level.lanes()
    }

    /// The number of strips that have units.
    fn count(&self) -> usize {
        self.units.div_ceil(self.lanes())
    }

    /// E.
    fn inputs(&self, w: &[f32]) -> usize {
        w.len() / (self.blocks * self.units)
    }

    /// Floats in a row of a table.
    fn width(&self) -> usize {
        self.blocks * padded(self.units)
    }

    /// The adjoint of `rows·Wᵀ`: adds to the gradients of rows and weights, from the gradient `d` of
    /// the product.
    pub fn adjoint(
        &self,
        (d, at): (&[f32], ProductStrides),
        (rows, w): (&[&[f32]], &[f32]),
        (d_rows, d_w): (Vec<&mut [f32]>, &mut [f32]),
    ) {
        let e = self.inputs(w);
        let rows_of_w: Vec<&[f32]> = w.chunks_exact(e).collect();
        let (all_units, all_rows) = ([self.all_units(at)], all_rows(rows.len(), at.row));
        let mut sums = vec![];
        let mut d_rows = d_rows.into_iter();
        for first in (0..rows.len()).step_by(ROWS_PER_TASK) {
            let c = d_rows.by_ref().take(ROWS_PER_TASK).collect();
            let a = StridedMatrix { values: &d[first * at.row..], row: at.row, next: 1 };
            sums.push(AddProduct { c, e, a, b: &rows_of_w, terms: &all_units });
        }
        let lanes = self.lanes();
        for (b, d_w) in d_w.chunks_mut(self.units * e).enumerate() {
            for (q, c) in d_w.chunks_mut(lanes * e).enumerate() {
                let first = (q * at.strip + b * lanes).min(d.len());
                let a = StridedMatrix { values: &d[first..], row: 1, next: at.row };
                let c = c.chunks_exact_mut(e).collect();
                sums.push(AddProduct { c, e, a, b: rows, terms: &all_rows });
            }
        }
        let level = self.executor.level;
        if self.threads(rows, w) > 1 {
            self.executor.pool.for_each(sums, |sum| level.run(sum));
        } else {
            without_denormals(|| sums.into_iter().for_each(|sum| level.run(sum)));
        }
    }

    /// The sum of a table's rows.
    // Threads split the columns, so each column is summed in the order of the rows.
    pub fn sum_of_rows(&self, table: &[f32]) -> Vec<f32> {
        let (width, pool) = (self.width(), self.executor.pool);
        let threads = if table.len() >= MIN_PARALLEL_ADDITIONS { pool.workers() } else { 1 };
        let (mut sum, columns) = (vec![0.0; width], width.div_ceil(threads));
        pool.for_each_chunk(&mut sum, columns, |i, sum| {
            table.chunks_exact(width).for_each(|row| add(sum, &row[i * columns..]));
        });
        sum
    }

    /// The terms of a sum over all units of a row, strip by strip and block by block.
    fn all_units(&self, at: ProductStrides) -> Vec<TermRange> {
        let lanes = self.lanes();
        let block = |i: usize| {
            let (q, b) = (i / self.blocks, i % self.blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            let a = q * at.strip + b * lanes;
            TermRange { a, b: b * self.units + units.start, count: units.len() }
        };
        (0..self.count() * self.blocks).map(block).collect()
    }
}

/// Writes N rows as the columns of a matrix whose rows lie `width` numbers apart.
// PERF: four rows at a time, whose numbers are stored together (R of d=100: 11 µs, 16 one by one).
fn write_columns<const N: usize>(rows: [&[f32]; N], into: &mut [f32], width: usize) {
    let e = rows[0].len();
    let rows = rows.map(|row| &row[..e]);
    for (j, into) in into.chunks_mut(width).enumerate() {
        for r in 0..N {
            into[r] = rows[r][j];
        }
    }
}

/// The terms of a sum over m rows that lie `apart` numbers apart, [`DEPTH`] at a time.
fn all_rows(m: usize, apart: usize) -> Vec<Vec<TermRange>> {
    let part = |i: usize| vec![TermRange { a: i * apart, b: i, count: DEPTH.min(m - i) }];
    (0..m).step_by(DEPTH).map(part).collect()
}

/// Strip q of `(rows·Wᵀ + shift)·scale`, from a panel of weights `[E][NB]`.
struct RowsTimesWeights<'a, const NB: usize> {
    into: &'a mut [f32],
    /// The distance between rows of the output.
    row: usize,
    q: usize,
    rows: &'a [&'a [f32]],
    weights: &'a [f32],
    transform: &'a RowTransform,
}

impl<const NB: usize> WithSimd for RowsTimesWeights<'_, NB> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let RowsTimesWeights { into, row, q, rows, weights, transform } = self;
        let (into, weights) = (vectors_mut::<S>(into), vectors::<S>(weights));
        let of = |all: &[f32]| *vectors::<S>(all)[q * NB..].first_chunk().expect("a strip");
        let transform = [of(&transform.shift), of(&transform.scale)];
        let (row, m, mut i) = (row / S::F32_LANES, rows.len(), 0);
        while i + 4 <= m {
            times_tile::<S, NB, 4>(simd, &mut into[i * row..], row, &rows[i..], weights, transform);
            i += 4;
        }
        while i < m {
            times_tile::<S, NB, 1>(simd, &mut into[i * row..], row, &rows[i..], weights, transform);
            i += 1;
        }
    }
}

#[inline(always)]
fn times_tile<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    into: &mut [S::f32s],
    row: usize,
    rows: &[&[f32]],
    weights: &[S::f32s],
    [shift, scale]: [[S::f32s; NB]; 2],
) {
    let mut acc = [[simd.splat_f32s(0.0); NB]; TILE];
    accumulate(simd, &mut acc, *rows.first_chunk().expect("a tile"), weights);
    for r in 0..TILE {
        let into = &mut into[r * row..][..NB];
        for b in 0..NB {
            into[b] = simd.mul_f32s(simd.add_f32s(acc[r][b], shift[b]), scale[b]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::SimdLevel;
    use super::super::thread_pool::ThreadPool;
    use super::*;

    const UNITS: usize = 21;

    fn numbers(len: usize, by: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * by).sin()).collect()
    }

    /// The product, and the gradients of rows and weights if the product is its own gradient;
    /// computed as a panel of `panel_of` blocks or as a table.
    fn product_and_gradients(
        level: SimdLevel,
        threads: usize,
        [blocks, m, e]: [usize; 3],
        panel_of: Option<usize>,
    ) -> [Vec<f32>; 3] {
        let pool = ThreadPool::new(threads);
        let products =
            WeightProducts { executor: Executor { level, pool: &pool }, units: UNITS, blocks };
        let (numbers_of_rows, w) = (numbers(m * e, 0.7), numbers(blocks * UNITS * e, 0.3));
        let rows: Vec<&[f32]> = numbers_of_rows.chunks_exact(e).collect();
        let (product, at) = match panel_of {
            Some(of) => (products.panel(&rows, &w, of), products.panel_strides(m, of)),
            None => {
                let mut table = AlignedVec::default();
                products.table(&RowTransform::identity(products.width()), &rows, &w, &mut table);
                (table, products.table_strides())
            }
        };
        let (mut d_rows, mut d_w) = (vec![1.0; m * e], vec![1.0; w.len()]);
        let into = (d_rows.chunks_exact_mut(e).collect(), &mut d_w[..]);
        products.adjoint((&product, at), (&rows, &w), into);
        let lanes = level.lanes();
        let place = |i: usize, u: usize| i * at.row + u / lanes * at.strip + u % lanes;
        let number = |n: usize| {
            let (i, b, u) = (n / (blocks * UNITS), n / UNITS % blocks, n % UNITS);
            product[place(i, u) + b * lanes]
        };
        [(0..m * blocks * UNITS).map(number).collect(), d_rows, d_w]
    }

    /// The same, entry by entry in double precision.
    fn naive([blocks, m, e]: [usize; 3]) -> [Vec<f32>; 3] {
        let (n, rows) = (blocks * UNITS, numbers(m * e, 0.7));
        let w = numbers(n * e, 0.3);
        let sum = |terms: &mut dyn Iterator<Item = f64>| terms.sum::<f64>() as f32;
        let of = |a: f32, b: f32| a as f64 * b as f64;
        let product: Vec<f32> = (0..m * n)
            .map(|at| sum(&mut (0..e).map(|j| of(rows[at / n * e + j], w[at % n * e + j]))))
            .collect();
        let d_rows = (0..m * e).map(|at| {
            1.0 + sum(&mut (0..n).map(|u| of(product[at / e * n + u], w[u * e + at % e])))
        });
        let d_w = (0..n * e).map(|at| {
            1.0 + sum(&mut (0..m).map(|i| of(product[i * n + at / e], rows[i * e + at % e])))
        });
        [product.clone(), d_rows.collect(), d_w.collect()]
    }

    #[test]
    fn products_and_their_adjoints_are_sums_of_products() {
        for sizes in [[4, 1, 1], [3, 5, 16], [4, 30, 100], [3, 300, 37], [4, 7, 120], [4, 0, 9]] {
            let exact = naive(sizes);
            for level in SimdLevel::available() {
                let found = product_and_gradients(level, 1, sizes, None);
                for of in sizes[0]..5 {
                    assert_eq!(
                        product_and_gradients(level, 1, sizes, Some(of)),
                        found,
                        "{level:?} {sizes:?}"
                    );
                }
                for (found, exact) in found.iter().zip(&exact) {
                    assert_eq!(found.len(), exact.len());
                    let largest = exact.iter().fold(0f32, |most, x| most.max(x.abs()));
                    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-6 * largest;
                    assert!(found.iter().zip(exact).all(close), "{level:?} {sizes:?}");
                }
            }
        }
    }

    #[test]
    fn threads_change_no_bit_of_a_product() {
        let sizes = [4, 1003, 201];
        assert!(sizes.iter().product::<usize>() * UNITS >= MIN_PARALLEL_PRODUCTS);
        for level in SimdLevel::available() {
            let alone = product_and_gradients(level, 1, sizes, None);
            for threads in 1..5 {
                assert!(product_and_gradients(level, threads, sizes, None) == alone, "{level:?}");
                assert!(
                    product_and_gradients(level, threads, sizes, Some(4)) == alone,
                    "{level:?}"
                );
            }
        }
    }

    #[test]
    fn the_rows_of_a_table_are_summed_in_order_by_any_number_of_threads() {
        let level = SimdLevel::best();
        for threads in 1..4 {
            let executor = Executor { level, pool: &ThreadPool::new(threads) };
            let products = WeightProducts { executor, units: UNITS, blocks: 3 };
            let width = products.width();
            let table = numbers(MIN_PARALLEL_ADDITIONS.next_multiple_of(width), 0.1);
            let sum = |column: usize| {
                table.chunks_exact(width).fold(0.0f32, |sum, row| sum + row[column])
            };
            let expected: Vec<f32> = (0..width).map(sum).collect();
            assert_eq!(products.sum_of_rows(&table), expected);
        }
    }
}
