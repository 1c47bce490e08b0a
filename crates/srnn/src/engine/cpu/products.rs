//! The products outside the scan: rows with weights, and the adjoint of that.
//!
//! Weights W are `[NB·D, E]`, as parameters are kept. `rows·Wᵀ` of m rows of E numbers, wherever
//! they are, is made as a *table* `[m][Q][NB]` of vectors, and so is its gradient.
//!
//! Workers take rows of what is made: which, changes no bit of them.

use super::kernels::accumulate;
use super::panels::add;
use super::prepare::Machine;
use super::simd::{Aligned, padded, vectors, vectors_mut, without_denormals};
use pulp::{Simd, WithSimd};

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

impl Products<'_> {
    /// `rows·Wᵀ`.
    pub fn table(&self, rows: &[&[f32]], w: &[f32]) -> Aligned {
        let mut table = Aligned::default();
        let (mut shift, mut scale) = (Aligned::zeros(self.width()), Aligned::zeros(self.width()));
        // Whatever is added to −0 stays what it is, also a zero with its sign.
        shift.fill(-0.0);
        scale.fill(1.0);
        self.table_along(&Line { shift, scale }, rows, w, &mut table);
        table
    }

    /// `(rows·Wᵀ + shift)·scale` in memory of none or of such a table: stretches without units are
    /// not written, and stay zero.
    pub fn table_along(&self, line: &Line, rows: &[&[f32]], w: &[f32], table: &mut Aligned) {
        table.resize(rows.len() * self.width());
        match self.blocks {
            3 => self.table_of::<3>(line, rows, w, table),
            4 => self.table_of::<4>(line, rows, w, table),
            blocks => unreachable!("cells have 3 or 4 blocks, not {blocks}"),
        }
    }

    fn table_of<const NB: usize>(
        &self,
        line: &Line,
        rows: &[&[f32]],
        w: &[f32],
        table: &mut [f32],
    ) {
        let (e, width, Machine { level, workers }) = (self.inputs(w), self.width(), self.machine);
        let shares = if self.is_worth_sharing(rows, w) { workers.count() } else { 1 };
        let at_once = rows.len().div_ceil(shares);
        workers.on_pieces(table, at_once * width, |i, table| {
            let rows = &rows[i * at_once..];
            let mut panel = Aligned::zeros(e * NB * level.lanes());
            for q in 0..self.units.div_ceil(level.lanes()) {
                self.transpose(w, q, &mut panel);
                level.run(Times::<NB> { table, q, width, rows, panel: &panel, line });
            }
        });
    }

    /// Stretch q of Wᵀ `[E][NB]`.
    fn transpose(&self, w: &[f32], q: usize, panel: &mut [f32]) {
        let (e, lanes) = (self.inputs(w), self.machine.level.lanes());
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

    /// Whether a second thread is worth its way to another core's cache.
    fn is_worth_sharing(&self, rows: &[&[f32]], w: &[f32]) -> bool {
        rows.len() * w.len() >= WORTH_SHARING
    }

    /// E.
    fn inputs(&self, w: &[f32]) -> usize {
        w.len() / (self.blocks * self.units)
    }

    /// Numbers in a row of a table.
    fn width(&self) -> usize {
        self.blocks * padded(self.units)
    }

    /// The adjoint of [`Products::table`]: adds to the gradients of weights and rows.
    pub fn adjoint(
        &self,
        d_table: &[f32],
        (rows, w): (&[&[f32]], &[f32]),
        (d_rows, d_w): (Vec<&mut [f32]>, &mut [f32]),
    ) {
        let (e, width) = (self.inputs(w), self.width());
        let rows_of_w: Vec<&[f32]> = w.chunks_exact(e).collect();
        let mut sums = vec![];
        let mut d_rows = d_rows.into_iter();
        for a in d_table.chunks(ROWS_AT_ONCE * width) {
            let c = d_rows.by_ref().take(ROWS_AT_ONCE).collect();
            let a = Factors { all: a, row: width, next: 1 };
            sums.push(Sum { c, e, a, b: &rows_of_w, terms: vec![self.all_units()] });
        }
        let lanes = self.machine.level.lanes();
        for (b, d_w) in d_w.chunks_mut(self.units * e).enumerate() {
            for (q, c) in d_w.chunks_mut(lanes * e).enumerate() {
                let first = ((q * self.blocks + b) * lanes).min(d_table.len());
                let a = Factors { all: &d_table[first..], row: 1, next: width };
                let c = c.chunks_exact_mut(e).collect();
                sums.push(Sum { c, e, a, b: rows, terms: all_rows(rows.len(), width) });
            }
        }
        let level = self.machine.level;
        if self.is_worth_sharing(rows, w) {
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

    /// The terms of a sum over all units, block by block, as a table has them.
    fn all_units(&self) -> Vec<Terms> {
        let lanes = self.machine.level.lanes();
        let stretch = |at: usize| {
            let (q, b) = (at / self.blocks, at % self.blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            Terms { a: at * lanes, b: b * self.units + units.start, count: units.len() }
        };
        (0..self.units.div_ceil(lanes) * self.blocks).map(stretch).collect()
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

/// The terms of a sum over m rows, in portions.
fn all_rows(m: usize, width: usize) -> Vec<Vec<Terms>> {
    let portion = |i: usize| vec![Terms { a: i * width, b: i, count: DEPTH.min(m - i) }];
    (0..m).step_by(DEPTH).map(portion).collect()
}

/// Stretch q of some rows of a table, from a panel `[E][NB]`.
struct Times<'a, const NB: usize> {
    table: &'a mut [f32],
    q: usize,
    width: usize,
    rows: &'a [&'a [f32]],
    panel: &'a [f32],
    line: &'a Line,
}

impl<const NB: usize> WithSimd for Times<'_, NB> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Times { table, q, width, rows, panel, line } = self;
        let (table, panel) = (vectors_mut::<S>(table), vectors::<S>(panel));
        let of = |all: &[f32]| *vectors::<S>(all)[q * NB..].first_chunk().expect("a stretch");
        let line = [of(&line.shift), of(&line.scale)];
        let width = width / S::F32_LANES;
        let (m, mut i) = (table.len() / width, 0);
        while i + 4 <= m {
            let table = &mut table[i * width + q * NB..];
            times_tile::<S, NB, 4>(simd, table, width, &rows[i..], panel, line);
            i += 4;
        }
        while i < m {
            let table = &mut table[i * width + q * NB..];
            times_tile::<S, NB, 1>(simd, table, width, &rows[i..], panel, line);
            i += 1;
        }
    }
}

#[inline(always)]
fn times_tile<S: Simd, const NB: usize, const TILE: usize>(
    simd: S,
    table: &mut [S::f32s],
    width: usize,
    rows: &[&[f32]],
    panel: &[S::f32s],
    [shift, scale]: [[S::f32s; NB]; 2],
) {
    let mut acc = [[simd.splat_f32s(0.0); NB]; TILE];
    accumulate(simd, &mut acc, *rows.first_chunk().expect("a tile"), panel);
    for r in 0..TILE {
        let into = &mut table[r * width..][..NB];
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
    terms: Vec<Vec<Terms>>,
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
        for terms in std::mem::take(&mut self.terms) {
            let (lanes, mut column) = (S::F32_LANES, 0);
            while column + 4 * lanes <= self.e {
                self.columns::<S, 4, false>(simd, &terms, column);
                column += 4 * lanes;
            }
            match (self.e - column).div_ceil(lanes) {
                0 => {}
                1 => self.columns::<S, 1, true>(simd, &terms, column),
                2 => self.columns::<S, 2, true>(simd, &terms, column),
                3 => self.columns::<S, 3, true>(simd, &terms, column),
                _ => self.columns::<S, 4, true>(simd, &terms, column),
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
    use super::super::pack::Packing;
    use super::super::simd::Level;
    use super::super::workers::Workers;
    use super::*;

    const UNITS: usize = 21;

    fn numbers(len: usize, by: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * by).sin()).collect()
    }

    /// The table, and the gradients of rows and weights that it has itself as a gradient.
    fn all(level: Level, threads: usize, [blocks, m, e]: [usize; 3]) -> [Vec<f32>; 3] {
        let workers = Workers::new(threads);
        let products =
            Products { machine: Machine { level, workers: &workers }, units: UNITS, blocks };
        let (numbers_of_rows, w) = (numbers(m * e, 0.7), numbers(blocks * UNITS * e, 0.3));
        let rows: Vec<&[f32]> = numbers_of_rows.chunks_exact(e).collect();
        let table = products.table(&rows, &w);
        let (mut d_rows, mut d_w) = (vec![1.0; m * e], vec![1.0; w.len()]);
        let into = (d_rows.chunks_exact_mut(e).collect(), &mut d_w[..]);
        products.adjoint(&table, (&rows, &w), into);
        let packing = Packing { units: UNITS, lanes: level.lanes() };
        let mut product = vec![0.0; m * blocks * UNITS];
        for (i, row) in table.chunks_exact(products.width()).enumerate() {
            packing.unpack(row, 1, blocks, |_, b, u, x| {
                product[(i * blocks + b) * UNITS + u] = x;
            });
        }
        [product, d_rows, d_w]
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
                for (found, exact) in all(level, 1, sizes).iter().zip(&exact) {
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
        let alone = all(Level::best(), 1, sizes);
        assert!((2..5).all(|threads| all(Level::best(), threads, sizes) == alone));
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
