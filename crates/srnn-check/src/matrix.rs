//! Interval matrices as midpoints and radii, without the entries that are exactly zero.
//!
//! A network that was made from an automaton has one unit for each transition, and nearly all of
//! its weights are 0. Leaving them out is exact: a sum of products with exact zeros is 0.

use crate::interval::{Interval, UpperBound};

/// An interval matrix `[rows, cols]`: a stored entry lies within its radius of its midpoint, and
/// every other entry is exactly 0.
#[derive(Clone, Debug)]
pub struct IntervalMatrix {
    pub cols: usize,
    /// The first stored entry of each row, and the number of stored entries `[rows+1]`.
    starts: Vec<usize>,
    /// The column of each stored entry, ascending within a row.
    at: Vec<u32>,
    mid: Vec<f64>,
    rad: Vec<f64>,
}

/// The stored entries of one row.
#[derive(Clone, Copy)]
struct Row<'a> {
    at: &'a [u32],
    mid: &'a [f64],
    rad: &'a [f64],
}

/// Above the loss by underflow of a sum of fewer than 2⁶⁰ products.
const UNDERFLOW: f64 = 1e-300;

impl IntervalMatrix {
    /// A matrix of exact zeros.
    pub fn zeros(rows: usize, cols: usize) -> IntervalMatrix {
        IntervalMatrix { cols, starts: vec![0; rows + 1], at: vec![], mid: vec![], rad: vec![] }
    }

    /// A matrix with these entries, row-major, and radii 0.
    pub fn exact(cols: usize, entries: &[f64]) -> IntervalMatrix {
        let mut matrix = IntervalMatrix::zeros(0, cols);
        for row in entries.chunks_exact(cols) {
            let stored = row.iter().enumerate().filter(|&(_, &x)| x != 0.0);
            matrix.push_row(stored.map(|(at, &x)| (at, x, 0.0)));
        }
        matrix
    }

    /// The transpose of the matrix with these entries, row-major, and radii 0.
    pub fn exact_transposed(cols: usize, entries: &[f64]) -> IntervalMatrix {
        let stored = || {
            let rows = entries.chunks_exact(cols).enumerate();
            rows.flat_map(|(row, x)| x.iter().enumerate().map(move |(col, &x)| (row, col, x)))
                .filter(|&(_, _, x)| x != 0.0)
        };
        let mut starts = vec![0; cols + 1];
        stored().for_each(|(_, col, _)| starts[col + 1] += 1);
        (0..cols).for_each(|col| starts[col + 1] += starts[col]);
        let (mut at, mut mid) = (vec![0; starts[cols]], vec![0.0; starts[cols]]);
        let mut next = starts.clone();
        for (row, col, x) in stored() {
            (at[next[col]], mid[next[col]]) = (row as u32, x);
            next[col] += 1;
        }
        let rad = vec![0.0; mid.len()];
        IntervalMatrix { cols: entries.len() / cols, starts, at, mid, rad }
    }

    /// The matrix of one row.
    pub fn of_row(entries: &[Interval]) -> IntervalMatrix {
        let mut matrix = IntervalMatrix::zeros(0, entries.len());
        let stored = entries.iter().enumerate().filter(|&(_, x)| *x != Interval::ZERO);
        matrix.push_row(stored.map(|(at, x)| {
            let (mid, rad) = x.mid_rad();
            (at, mid, rad)
        }));
        matrix
    }

    /// Adds a row of entries (column, midpoint, radius) in ascending order of their columns.
    pub fn push_row(&mut self, entries: impl Iterator<Item = (usize, f64, f64)>) {
        for (at, mid, rad) in entries {
            self.at.push(at as u32);
            self.mid.push(mid);
            self.rad.push(rad);
        }
        self.starts.push(self.at.len());
    }

    /// Adds the row `row` of `other`.
    pub fn push_row_of(&mut self, other: &IntervalMatrix, row: usize) {
        let Row { at, mid, rad } = other.stored(row);
        self.at.extend(at);
        self.mid.extend(mid);
        self.rad.extend(rad);
        self.starts.push(self.at.len());
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    fn stored(&self, row: usize) -> Row<'_> {
        let range = self.starts[row]..self.starts[row + 1];
        Row { at: &self.at[range.clone()], mid: &self.mid[range.clone()], rad: &self.rad[range] }
    }

    /// The stored entries of a row: column, midpoint and radius.
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        let Row { at, mid, rad } = self.stored(row);
        at.iter().zip(mid).zip(rad).map(|((&at, &mid), &rad)| (at as usize, mid, rad))
    }

    /// Whether all entries of a row are exactly 0.
    pub fn is_zero_row(&self, row: usize) -> bool {
        self.stored(row).at.is_empty()
    }

    /// One row.
    pub fn row(&self, row: usize) -> Vec<Interval> {
        let mut entries = vec![Interval::ZERO; self.cols];
        for (at, mid, rad) in self.entries(row) {
            let point = Interval::point(mid);
            entries[at] = if rad == 0.0 { point } else { point.widen(UpperBound::new(rad)) };
        }
        entries
    }

    /// `|entry|` of a matrix with radii 0.
    pub fn absolute(&self) -> IntervalMatrix {
        let mid = self.mid.iter().map(|x| x.abs()).collect();
        IntervalMatrix { mid, ..self.clone() }
    }

    /// `Σ_rows |entry|` of each column.
    pub fn column_sums(&self) -> Vec<UpperBound> {
        let mut sums = vec![0.0; self.cols];
        for ((&at, mid), rad) in self.at.iter().zip(&self.mid).zip(&self.rad) {
            sums[at as usize] += mid.abs() + rad;
        }
        upper_sums(sums, self.rows())
    }

    /// `Σ_rows radius` of each column.
    pub fn column_radii(&self) -> Vec<UpperBound> {
        let mut sums = vec![0.0; self.cols];
        self.at.iter().zip(&self.rad).for_each(|(&at, rad)| sums[at as usize] += rad);
        upper_sums(sums, self.rows())
    }

    /// `self · other`, rounding included.
    pub fn times(&self, other: &IntervalMatrix) -> IntervalMatrix {
        assert_eq!(self.cols, other.rows(), "columns of the left and rows of the right factor");
        let gamma = gamma(self.cols);
        let entries = || other.mid.iter().zip(&other.rad);
        let per_mid: Vec<f64> =
            entries().map(|(m, r)| r + gamma * m.abs() + f64::MIN_POSITIVE).collect();
        let per_rad: Vec<f64> = entries().map(|(m, r)| m.abs() + r).collect();
        let mut product = IntervalMatrix::zeros(0, other.cols);
        let mut sum = RowSum::new(other.cols);
        for row in 0..self.rows() {
            for (i, m, r) in self.entries(row) {
                let range = other.starts[i]..other.starts[i + 1];
                let at = sum.touch(&other.at[range.clone()]);
                if m != 0.0 {
                    add_scaled(&mut sum.mid, at, m, &other.mid[range.clone()]);
                    add_scaled(&mut sum.rad, at, m.abs(), &per_mid[range.clone()]);
                }
                if r != 0.0 {
                    add_scaled(&mut sum.rad, at, r, &per_rad[range]);
                }
            }
            sum.move_to(&mut product, self.cols);
        }
        product
    }

    /// `Σ_terms coefficient ∘ matrix`, column by column: the sum of up to four matrices, each
    /// multiplied by one interval for each column.
    pub fn weighted_sum(terms: &[(&[Interval], &IntervalMatrix)]) -> IntervalMatrix {
        let (_, first) = terms[0];
        let split = |of: &[Interval]| of.iter().map(|c| c.mid_rad()).collect::<Vec<_>>();
        let weights: Vec<Vec<(f64, f64)>> = terms.iter().map(|&(c, _)| split(c)).collect();
        let mut total = IntervalMatrix::zeros(0, first.cols);
        let mut sum = RowSum::new(first.cols);
        for row in 0..first.rows() {
            for ((_, matrix), weights) in terms.iter().zip(&weights) {
                sum.touch(matrix.stored(row).at);
                for (at, m, r) in matrix.entries(row) {
                    let (weight, off) = weights[at];
                    let term = weight * m;
                    sum.mid[at] += term;
                    // The product rounds once and the sum at most three times.
                    sum.rad[at] +=
                        weight.abs() * r + off * (m.abs() + r) + 4.0 * f64::EPSILON * term.abs();
                }
            }
            sum.move_to(&mut total, 4 * terms.len());
        }
        total
    }

    /// The matrix extended to `rows` rows by zeros.
    pub fn with_rows(mut self, rows: usize) -> IntervalMatrix {
        self.starts.resize(rows + 1, self.at.len());
        self
    }

    /// The `count` columns from `first` on.
    pub fn columns(&self, first: usize, count: usize) -> IntervalMatrix {
        let mut part = IntervalMatrix::zeros(0, count);
        for row in 0..self.rows() {
            let Row { at, .. } = self.stored(row);
            let from = at.partition_point(|&at| (at as usize) < first);
            let to = at.partition_point(|&at| (at as usize) < first + count);
            let entries = self.entries(row).skip(from).take(to - from);
            part.push_row(entries.map(|(at, mid, rad)| (at - first, mid, rad)));
        }
        part
    }

    /// Every entry divided by a positive number.
    pub fn divided_by(mut self, by: f64) -> IntervalMatrix {
        for (mid, rad) in self.mid.iter_mut().zip(&mut self.rad) {
            *mid /= by;
            (*mid, *rad) = rounded(*mid, *rad / by + f64::EPSILON * mid.abs(), 2);
        }
        self
    }
}

/// Bounds on `Σ_i v_i matrix_ij`, v and the matrix non-negative.
pub fn upper_times(v: &[UpperBound], matrix: &IntervalMatrix) -> Vec<UpperBound> {
    assert_eq!(v.len(), matrix.rows(), "factors of the rows");
    let mut sums = vec![0.0; matrix.cols];
    for (row, v) in v.iter().enumerate() {
        // 0·∞ is 0 here: an exact zero.
        if v.get() > 0.0 {
            for (at, mid, rad) in matrix.entries(row) {
                sums[at] += v.get() * (mid.abs() + rad) + f64::MIN_POSITIVE;
            }
        }
    }
    upper_sums(sums, v.len())
}

/// Bounds on sums of at most `terms` non-negative terms of up to four operations each. A NaN
/// becomes infinite.
fn upper_sums(sums: Vec<f64>, terms: usize) -> Vec<UpperBound> {
    let slack = 1.0 + 4.0 * gamma(terms);
    sums.into_iter().map(|sum| UpperBound::new(sum * slack)).collect()
}

/// An entry whose radius is a sum of at most 2n non-negative terms of a few operations each.
/// Enlarges the radius by its own rounding error; an entry that overflowed becomes unbounded.
pub fn rounded(mid: f64, rad: f64, n: usize) -> (f64, f64) {
    let rad = rad * (1.0 + 4.0 * gamma(n)) + UNDERFLOW;
    if mid.is_finite() && rad.is_finite() { (mid, rad) } else { (0.0, f64::INFINITY) }
}

/// A sum of n products has an error of at most n·2⁻⁵³·(1 + …)·Σ|terms|, in any order. Twice that
/// and four more terms cover the rounding of the bounds themselves.
pub fn gamma(n: usize) -> f64 {
    (n as f64 + 4.0) * f64::EPSILON
}

/// `y += a x` at the columns `at`, or at all columns.
fn add_scaled(y: &mut [f64], at: Option<&[u32]>, a: f64, x: &[f64]) {
    match at {
        None => y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x),
        Some(at) => at.iter().zip(x).for_each(|(&at, x)| y[at as usize] += a * x),
    }
}

/// A row that is being summed, and the columns that received a term.
struct RowSum {
    mid: Vec<f64>,
    rad: Vec<f64>,
    is_touched: Vec<bool>,
    touched: Vec<u32>,
    is_full: bool,
}

impl RowSum {
    fn new(cols: usize) -> RowSum {
        RowSum {
            mid: vec![0.0; cols],
            rad: vec![0.0; cols],
            is_touched: vec![false; cols],
            touched: vec![],
            is_full: false,
        }
    }

    /// Registers the columns of terms; `None` if these are all columns.
    fn touch<'a>(&mut self, at: &'a [u32]) -> Option<&'a [u32]> {
        if at.len() == self.mid.len() {
            self.is_full = true;
            return None;
        }
        if !self.is_full {
            for &at in at {
                if !std::mem::replace(&mut self.is_touched[at as usize], true) {
                    self.touched.push(at);
                }
            }
        }
        Some(at)
    }

    /// Adds the row to `matrix` and starts the next one. The sums have at most `n` terms.
    fn move_to(&mut self, matrix: &mut IntervalMatrix, n: usize) {
        let touched = &mut self.touched;
        if self.is_full {
            touched.clear();
            touched.extend(0..self.mid.len() as u32);
        } else {
            touched.sort_unstable();
        }
        if self.is_full {
            matrix.at.append(touched);
            for (&mid, &rad) in self.mid.iter().zip(&self.rad) {
                let (mid, rad) = rounded(mid, rad, n);
                matrix.mid.push(mid);
                matrix.rad.push(rad);
            }
            self.mid.fill(0.0);
            self.rad.fill(0.0);
            self.is_touched.fill(false);
        }
        for at in touched.drain(..) {
            let i = at as usize;
            let (mid, rad) = rounded(self.mid[i], self.rad[i], n);
            matrix.at.push(at);
            matrix.mid.push(mid);
            matrix.rad.push(rad);
            (self.mid[i], self.rad[i], self.is_touched[i]) = (0.0, 0.0, false);
        }
        matrix.starts.push(matrix.at.len());
        self.is_full = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::common::Random;

    /// Multiples of 2⁻²⁰ below 2, of which a share is exactly 0: products are exact in i128.
    fn integers(n: usize, zeros: usize, random: &mut Random) -> Vec<i64> {
        let mut entry = || match random.below(10) < zeros {
            true => 0,
            false => random.below(1 << 22) as i64 - (1 << 21),
        };
        (0..n).map(|_| entry()).collect()
    }

    fn real(x: &[i64]) -> Vec<f64> {
        x.iter().map(|&x| x as f64 / f64::from(1 << 20)).collect()
    }

    #[test]
    fn products_of_dense_and_sparse_matrices_contain_the_exact_integers() {
        let mut random = Random(3);
        for zeros in [0, 5, 9] {
            let (m, n, p) = (4, 30, 7);
            let a = integers(m * n, zeros, &mut random);
            let b = integers(n * p, 9 - zeros, &mut random);
            let right = IntervalMatrix::exact(p, &real(&b));
            let c = IntervalMatrix::exact(n, &real(&a)).times(&right);
            let transposed: Vec<i64> = (0..n * p).map(|i| b[i % n * p + i / n]).collect();
            let again = IntervalMatrix::exact_transposed(n, &real(&transposed));
            assert_eq!(
                (&again.at, &again.mid, &again.starts),
                (&right.at, &right.mid, &right.starts)
            );
            for (i, j) in (0..m * p).map(|at| (at / p, at % p)) {
                let exact: i128 =
                    (0..n).map(|l| i128::from(a[i * n + l]) * i128::from(b[l * p + j])).sum();
                let exact = exact as f64 / 2f64.powi(40);
                let found = c.row(i)[j];
                assert!(found.lo <= exact && exact <= found.hi, "{exact} outside {found:?}");
                assert!(found.hi - found.lo < 1e-10, "{found:?}");
            }
        }
    }

    #[test]
    fn a_product_contains_the_products_of_what_the_factors_contain() {
        // Corners of the interval matrix: their products must lie in the interval product.
        let a: Vec<Interval> =
            (0..3).map(|i| Interval::new(f64::from(i) - 1.0, f64::from(i) + 1.0)).collect();
        let b: Vec<f64> = (0..6).map(|i| 0.1 * f64::from(i / 2 + 1) - f64::from(i % 2)).collect();
        let c = IntervalMatrix::of_row(&a).times(&IntervalMatrix::exact(2, &b));
        for corner in 0..8 {
            let x: Vec<f64> = (0..3)
                .map(|i| f64::from(i) + if corner >> i & 1 == 0 { -1.0 } else { 1.0 })
                .collect();
            for j in 0..2 {
                let exact: f64 = (0..3).map(|i| x[i] * b[i * 2 + j]).sum();
                let found = c.row(0)[j];
                assert!(found.lo <= exact && exact <= found.hi, "{exact} outside {found:?}");
            }
        }
        assert!(c.rad[0] < 0.6 + 1e-12, "mid-radius is exact for a point matrix: {}", c.rad[0]);
    }

    #[test]
    fn weighted_sums_contain_the_sums_of_the_corners() {
        let mut random = Random(4);
        let cols = 9;
        let matrices: Vec<Vec<f64>> =
            (0..3).map(|_| real(&integers(2 * cols, 5, &mut random))).collect();
        let weights: Vec<Vec<Interval>> = (0..3)
            .map(|_| (0..cols).map(|_| Interval::new(-random.unit(), random.unit())).collect())
            .collect();
        let stored: Vec<IntervalMatrix> =
            matrices.iter().map(|x| IntervalMatrix::exact(cols, x)).collect();
        let terms: Vec<(&[Interval], &IntervalMatrix)> =
            weights.iter().map(|w| &w[..]).zip(&stored).collect();
        let sum = IntervalMatrix::weighted_sum(&terms);
        for corner in 0..8 {
            for at in 0..2 * cols {
                let end = |t: usize| {
                    let w = weights[t][at % cols];
                    if corner >> t & 1 == 0 { w.lo } else { w.hi }
                };
                let exact: f64 = (0..3).map(|t| end(t) * matrices[t][at]).sum();
                let found = sum.row(at / cols)[at % cols].widen(UpperBound::new(1e-15));
                assert!(found.lo <= exact && exact <= found.hi, "{exact} outside {found:?}");
            }
        }
    }
}
