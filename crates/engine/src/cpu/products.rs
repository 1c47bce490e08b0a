//! The products outside the scan: rows with weights, and the adjoint of that.
//!
//! Weights W are `[NB·D, E]`, as parameters are kept. `rows·Wᵀ` of m rows of E numbers, wherever
//! they are, is made as a *table* `[m][Q][NB]` of vectors, or as the first blocks of a panel
//! `[Q][m][of]`; and its gradient is read as either.
//!
//! Workers take rows or stretches of what is made: which, changes no bit of them.

use super::kernels::accumulate;
use super::panels::add;
use super::prepare::Machine;
use super::simd::{Aligned, padded, vectors, vectors_mut, without_denormals};
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Rows that a worker takes at a time, at most.
// PERF: so many meet weights in a second-level cache before the next ones are read from further.
const ROWS_AT_ONCE: usize = 16;
/// Multiplications that are worth a second thread.
// PERF: fewer (T=100, d=100, k=5, 28 symbols: a million) gain nothing where cores share a cache,
// and where they do not, take three times as long.
const WORTH_SHARING: usize = 1 << 24;
/// Numbers to add up that are worth a second thread: more than a second-level cache holds.
const WORTH_ADDING: usize = 1 << 20;
/// Numbers that are added in registers before the next rows' are looked at.
// PERF: what is read of so many rows stays in a second-level cache.
const DEPTH: usize = 256;

/// What is multiplied: weights of `blocks` blocks of units.
#[derive(Clone, Copy)]
pub struct Products<'a> {
    pub machine: Machine<'a>,
    pub units: usize,
    pub blocks: usize,
}

/// What becomes of a row of a product: `(x + shift)·scale`, `[Q][NB]` vectors each.
pub struct Line {
    pub shift: Aligned,
    pub scale: Aligned,
}

impl Line {
    /// Rows as they are.
    fn nothing(width: usize) -> Line {
        let (mut shift, mut scale) = (Aligned::zeros(width), Aligned::zeros(width));
        // Whatever is added to −0 stays what it is, also a zero with its sign.
        shift.fill(-0.0);
        scale.fill(1.0);
        Line { shift, scale }
    }
}

/// How far apart the rows of a product lie, and the stretches of a row.
#[derive(Clone, Copy)]
pub struct Grid {
    row: usize,
    stretch: usize,
}

impl Products<'_> {
    /// The grid of a table `[m][Q][NB]`.
    pub fn in_table(&self) -> Grid {
        Grid { row: self.width(), stretch: self.blocks * self.lanes() }
    }

    /// The grid of the first NB blocks of a panel `[Q][m][of]`.
    pub fn in_panel(&self, m: usize, of: usize) -> Grid {
        let row = of * self.lanes();
        Grid { row, stretch: m * row }
    }

    /// `(rows·Wᵀ + shift)·scale` as a table, in memory of none or of such a table: stretches without
    /// units are not written, and stay zero.
    pub fn table(&self, line: &Line, rows: &[&[f32]], w: &[f32], table: &mut Aligned) {
        let (width, workers) = (self.width(), self.machine.workers);
        table.resize(rows.len() * width);
        let at_once = rows.len().div_ceil(self.shares(rows, w));
        workers.on_pieces(table, at_once * width, |i, table| {
            let rows = &rows[i * at_once..][..table.len() / width];
            self.stretches(line, rows, w, 0..self.count(), (table, self.in_table()));
        });
    }

    /// `rows·Wᵀ` as the first blocks of a panel `[Q][m][of]`.
    pub fn panel(&self, rows: &[&[f32]], w: &[f32], of: usize) -> Aligned {
        let mut panel = Aligned::zeros(rows.len() * of * padded(self.units));
        let (line, at) = (Line::nothing(self.width()), self.in_panel(rows.len(), of));
        let at_once = self.count().div_ceil(self.shares(rows, w));
        let with_units = &mut panel[..self.count() * at.stretch];
        self.machine.workers.on_pieces(with_units, at_once * at.stretch, |i, panel| {
            let stretches = i * at_once..i * at_once + panel.len() / at.stretch;
            self.stretches(&line, rows, w, stretches, (panel, at));
        });
        panel
    }

    /// `(rows·Wᵀ + shift)·scale`, these stretches of them.
    fn stretches(
        &self,
        line: &Line,
        rows: &[&[f32]],
        w: &[f32],
        stretches: Range<usize>,
        (into, at): (&mut [f32], Grid),
    ) {
        let level = self.machine.level;
        let mut weights = Aligned::zeros(self.inputs(w) * self.blocks * self.lanes());
        for (i, q) in stretches.enumerate() {
            self.transpose(w, q, &mut weights);
            let (into, weights) = (&mut into[i * at.stretch..], &weights);
            match self.blocks {
                3 => level.run(Times::<3> { into, row: at.row, q, rows, weights, line }),
                4 => level.run(Times::<4> { into, row: at.row, q, rows, weights, line }),
                blocks => unreachable!("cells have 3 or 4 blocks, not {blocks}"),
            }
        }
    }

    /// Stretch q of Wᵀ `[E][NB]`.
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
                    columns_of(rows, into, self.blocks * lanes);
                } else {
                    for (r, row) in rows.chunks(e).enumerate() {
                        columns_of([row], &mut into[r..], self.blocks * lanes);
                    }
                }
            }
        }
    }

    /// Whether all that is made of so many rows, and of its gradient, is one thread's.
    pub fn is_small(&self, rows: usize, w: &[f32]) -> bool {
        rows * w.len() < WORTH_SHARING && rows * self.width() < WORTH_ADDING
    }

    /// How many threads are worth their way to another core's cache.
    fn shares(&self, rows: &[&[f32]], w: &[f32]) -> usize {
        if self.is_small(rows.len(), w) { 1 } else { self.machine.workers.count() }
    }

    /// Numbers in a vector.
    fn lanes(&self) -> usize {
        self.machine.level.lanes()
    }

    /// How many stretches have units.
    fn count(&self) -> usize {
        self.units.div_ceil(self.lanes())
    }

    /// E.
    fn inputs(&self, w: &[f32]) -> usize {
        w.len() / (self.blocks * self.units)
    }

    /// Numbers in a row of a table.
    fn width(&self) -> usize {
        self.blocks * padded(self.units)
    }

    /// The adjoint of `rows·Wᵀ`: adds to the gradients of weights and rows, from the product's.
    pub fn adjoint(
        &self,
        (d, at): (&[f32], Grid),
        (rows, w): (&[&[f32]], &[f32]),
        (d_rows, d_w): (Vec<&mut [f32]>, &mut [f32]),
    ) {
        let e = self.inputs(w);
        let rows_of_w: Vec<&[f32]> = w.chunks_exact(e).collect();
        let (all_units, all_rows) = ([self.all_units(at)], all_rows(rows.len(), at.row));
        let mut sums = vec![];
        let mut d_rows = d_rows.into_iter();
        for first in (0..rows.len()).step_by(ROWS_AT_ONCE) {
            let c = d_rows.by_ref().take(ROWS_AT_ONCE).collect();
            let a = Factors { all: &d[first * at.row..], row: at.row, next: 1 };
            sums.push(Sum { c, e, a, b: &rows_of_w, terms: &all_units });
        }
        let lanes = self.lanes();
        for (b, d_w) in d_w.chunks_mut(self.units * e).enumerate() {
            for (q, c) in d_w.chunks_mut(lanes * e).enumerate() {
                let first = (q * at.stretch + b * lanes).min(d.len());
                let a = Factors { all: &d[first..], row: 1, next: at.row };
                let c = c.chunks_exact_mut(e).collect();
                sums.push(Sum { c, e, a, b: rows, terms: &all_rows });
            }
        }
        let level = self.machine.level;
        if self.shares(rows, w) > 1 {
            self.machine.workers.on_each(sums, |sum| level.run(sum));
        } else {
            without_denormals(|| sums.into_iter().for_each(|sum| level.run(sum)));
        }
    }

    /// The sum of a table's rows.
    // PERF: threads share the columns, so that each is summed in the rows' order.
    pub fn sum_of_rows(&self, table: &[f32]) -> Vec<f32> {
        let (width, workers) = (self.width(), self.machine.workers);
        let shares = if table.len() >= WORTH_ADDING { workers.count() } else { 1 };
        let (mut sum, columns) = (vec![0.0; width], width.div_ceil(shares));
        workers.on_pieces(&mut sum, columns, |i, sum| {
            table.chunks_exact(width).for_each(|row| add(sum, &row[i * columns..]));
        });
        sum
    }

    /// The terms of a sum over all units of a row, stretch by stretch and block by block.
    fn all_units(&self, at: Grid) -> Vec<Terms> {
        let lanes = self.lanes();
        let block = |i: usize| {
            let (q, b) = (i / self.blocks, i % self.blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            let a = q * at.stretch + b * lanes;
            Terms { a, b: b * self.units + units.start, count: units.len() }
        };
        (0..self.count() * self.blocks).map(block).collect()
    }
}

/// Writes rows as columns, each row of which is `width` numbers after the one before.
// PERF: four rows at a time, whose numbers leave together (R of d=100: 11 µs, 16 one by one).
fn columns_of<const N: usize>(rows: [&[f32]; N], into: &mut [f32], width: usize) {
    let e = rows[0].len();
    let rows = rows.map(|row| &row[..e]);
    for (j, into) in into.chunks_mut(width).enumerate() {
        for r in 0..N {
            into[r] = rows[r][j];
        }
    }
}

/// The terms of a sum over m rows that lie `apart`, in portions.
fn all_rows(m: usize, apart: usize) -> Vec<Vec<Terms>> {
    let portion = |i: usize| vec![Terms { a: i * apart, b: i, count: DEPTH.min(m - i) }];
    (0..m).step_by(DEPTH).map(portion).collect()
}

/// Stretch q of some rows, from a panel of weights `[E][NB]`.
struct Times<'a, const NB: usize> {
    into: &'a mut [f32],
    /// How far apart the rows lie.
    row: usize,
    q: usize,
    rows: &'a [&'a [f32]],
    weights: &'a [f32],
    line: &'a Line,
}

impl<const NB: usize> WithSimd for Times<'_, NB> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Times { into, row, q, rows, weights, line } = self;
        let (into, weights) = (vectors_mut::<S>(into), vectors::<S>(weights));
        let of = |all: &[f32]| *vectors::<S>(all)[q * NB..].first_chunk().expect("a stretch");
        let line = [of(&line.shift), of(&line.scale)];
        let (row, m, mut i) = (row / S::F32_LANES, rows.len(), 0);
        while i + 4 <= m {
            times_tile::<S, NB, 4>(simd, &mut into[i * row..], row, &rows[i..], weights, line);
            i += 4;
        }
        while i < m {
            times_tile::<S, NB, 1>(simd, &mut into[i * row..], row, &rows[i..], weights, line);
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

/// `C += A·B`, B and C by their rows of E numbers.
struct Sum<'a> {
    c: Vec<&'a mut [f32]>,
    e: usize,
    a: Factors<'a>,
    b: &'a [&'a [f32]],
    /// What is summed up; those of each portion in registers.
    terms: &'a [Vec<Terms>],
}

/// The numbers of A, and how far apart those of neighbouring rows and terms are.
#[derive(Clone, Copy)]
struct Factors<'a> {
    all: &'a [f32],
    row: usize,
    next: usize,
}

/// Some terms in a row: where the first has its number of A and its row of B.
#[derive(Clone, Copy)]
struct Terms {
    a: usize,
    b: usize,
    count: usize,
}

impl WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for terms in self.terms {
            let (lanes, mut column) = (S::F32_LANES, 0);
            while column + 4 * lanes <= self.e {
                self.columns::<S, 4, false>(simd, terms, column);
                column += 4 * lanes;
            }
            match (self.e - column).div_ceil(lanes) {
                0 => {}
                1 => self.columns::<S, 1, true>(simd, terms, column),
                2 => self.columns::<S, 2, true>(simd, terms, column),
                3 => self.columns::<S, 3, true>(simd, terms, column),
                _ => self.columns::<S, 4, true>(simd, terms, column),
            }
        }
    }
}

impl Sum<'_> {
    /// COLUMNS vectors of every row of C; if LAST, the last of them may not be whole.
    #[inline(always)]
    fn columns<S: Simd, const COLUMNS: usize, const LAST: bool>(
        &mut self,
        simd: S,
        terms: &[Terms],
        column: usize,
    ) {
        let (rows, mut row) = (self.c.len(), 0);
        while row + 4 <= rows {
            self.tile::<S, 4, COLUMNS, LAST>(simd, terms, row, column);
            row += 4;
        }
        while row < rows {
            self.tile::<S, 1, COLUMNS, LAST>(simd, terms, row, column);
            row += 1;
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const ROWS: usize, const COLUMNS: usize, const LAST: bool>(
        &mut self,
        simd: S,
        terms: &[Terms],
        row: usize,
        column: usize,
    ) {
        let width = if LAST { self.e - column } else { COLUMNS * S::F32_LANES };
        let mut acc = [[simd.splat_f32s(0.0); COLUMNS]; ROWS];
        for &Terms { a, b, count } in terms {
            for (t, b) in self.b[b..][..count].iter().enumerate() {
                let b = load::<S, COLUMNS, LAST>(simd, &b[column..][..width]);
                for (r, acc) in acc.iter_mut().enumerate() {
                    let x = self.a.all[a + (row + r) * self.a.row + t * self.a.next];
                    let x = simd.splat_f32s(x);
                    for j in 0..COLUMNS {
                        acc[j] = simd.mul_add_e_f32s(x, b[j], acc[j]);
                    }
                }
            }
        }
        for (r, acc) in acc.into_iter().enumerate() {
            let into = &mut self.c[row + r][column..][..width];
            let mut sum = load::<S, COLUMNS, LAST>(simd, into);
            for (sum, acc) in sum.iter_mut().zip(acc) {
                *sum = simd.add_f32s(*sum, acc);
            }
            store::<S, COLUMNS, LAST>(simd, into, sum);
        }
    }
}

/// COLUMNS vectors; if LAST, of the last the numbers there are, and zeros.
#[inline(always)]
fn load<S: Simd, const COLUMNS: usize, const LAST: bool>(
    simd: S,
    from: &[f32],
) -> [S::f32s; COLUMNS] {
    let mut all = [simd.splat_f32s(0.0); COLUMNS];
    for (j, into) in all.iter_mut().enumerate() {
        let from = &from[j * S::F32_LANES..];
        *into = match LAST && j + 1 == COLUMNS {
            true => simd.partial_load_f32s(from),
            false => vectors::<S>(from)[0],
        };
    }
    all
}

/// Writes what [`load`] reads.
#[inline(always)]
fn store<S: Simd, const COLUMNS: usize, const LAST: bool>(
    simd: S,
    into: &mut [f32],
    all: [S::f32s; COLUMNS],
) {
    for (j, from) in all.into_iter().enumerate() {
        let into = &mut into[j * S::F32_LANES..];
        match LAST && j + 1 == COLUMNS {
            true => simd.partial_store_f32s(into, from),
            false => vectors_mut::<S>(into)[0] = from,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::Level;
    use super::super::workers::Workers;
    use super::*;

    const UNITS: usize = 21;

    fn numbers(len: usize, by: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * by).sin()).collect()
    }

    /// The product, and the gradients of rows and weights where it is its own gradient; a panel
    /// where it has so many blocks.
    fn all(
        level: Level,
        threads: usize,
        [blocks, m, e]: [usize; 3],
        panel_of: Option<usize>,
    ) -> [Vec<f32>; 3] {
        let workers = Workers::new(threads);
        let products =
            Products { machine: Machine { level, workers: &workers }, units: UNITS, blocks };
        let (numbers_of_rows, w) = (numbers(m * e, 0.7), numbers(blocks * UNITS * e, 0.3));
        let rows: Vec<&[f32]> = numbers_of_rows.chunks_exact(e).collect();
        let (made, at) = match panel_of {
            Some(of) => (products.panel(&rows, &w, of), products.in_panel(m, of)),
            None => {
                let mut table = Aligned::default();
                products.table(&Line::nothing(products.width()), &rows, &w, &mut table);
                (table, products.in_table())
            }
        };
        let (mut d_rows, mut d_w) = (vec![1.0; m * e], vec![1.0; w.len()]);
        let into = (d_rows.chunks_exact_mut(e).collect(), &mut d_w[..]);
        products.adjoint((&made, at), (&rows, &w), into);
        let lanes = level.lanes();
        let place = |i: usize, u: usize| i * at.row + u / lanes * at.stretch + u % lanes;
        let number = |n: usize| {
            let (i, b, u) = (n / (blocks * UNITS), n / UNITS % blocks, n % UNITS);
            made[place(i, u) + b * lanes]
        };
        [(0..m * blocks * UNITS).map(number).collect(), d_rows, d_w]
    }

    /// The same, number by number.
    fn plainly([blocks, m, e]: [usize; 3]) -> [Vec<f32>; 3] {
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
            let exact = plainly(sizes);
            for level in Level::available() {
                let found = all(level, 1, sizes, None);
                for of in sizes[0]..5 {
                    assert_eq!(all(level, 1, sizes, Some(of)), found, "{level:?} {sizes:?}");
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
        assert!(sizes.iter().product::<usize>() * UNITS >= WORTH_SHARING);
        for level in Level::available() {
            let alone = all(level, 1, sizes, None);
            for threads in 1..5 {
                assert!(all(level, threads, sizes, None) == alone, "{level:?}");
                assert!(all(level, threads, sizes, Some(4)) == alone, "{level:?}");
            }
        }
    }

    #[test]
    fn the_sum_of_a_tables_rows_is_theirs_in_order_for_any_number_of_threads() {
        let level = Level::best();
        for threads in 1..4 {
            let machine = Machine { level, workers: &Workers::new(threads) };
            let products = Products { machine, units: UNITS, blocks: 3 };
            let width = products.width();
            let table = numbers(WORTH_ADDING.next_multiple_of(width), 0.1);
            let sum = |column: usize| {
                table.chunks_exact(width).fold(0.0f32, |sum, row| sum + row[column])
            };
            let expected: Vec<f32> = (0..width).map(sum).collect();
            assert_eq!(products.sum_of_rows(&table), expected);
        }
    }
}
