//! Interval matrices as midpoints and radii, and their products. Entries that are exactly 0 are not
//! stored: nearly all weights of a network that was made from an automaton are 0.

use super::interval::{Interval, round_up};
use std::ops::Range;

/// An interval matrix `[rows, columns]`: a stored entry lies within `rad` of `mid`, all other
/// entries are exactly 0.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalMatrix {
    /// Number of columns.
    pub columns: usize,
    /// End of each row in the stored entries `[rows]`.
    ends: Vec<usize>,
    /// Column of each stored entry; ascending in a row.
    places: Vec<usize>,
    /// Midpoints of the stored entries, row after row.
    pub mid: Vec<f64>,
    /// Radii of the stored entries.
    pub rad: Vec<f64>,
}

impl IntervalMatrix {
    /// A matrix of exact zeros.
    pub fn zeros(rows: usize, columns: usize) -> IntervalMatrix {
        IntervalMatrix { columns, ends: vec![0; rows], places: vec![], mid: vec![], rad: vec![] }
    }

    /// A matrix with these entries, row-major, and radii 0.
    pub fn exact(columns: usize, entries: &[f64]) -> IntervalMatrix {
        let mut matrix = IntervalMatrix::zeros(0, columns);
        for row in entries.chunks_exact(columns) {
            for (place, &x) in row.iter().enumerate().filter(|&(_, &x)| x != 0.0) {
                matrix.push(place, x, 0.0);
            }
            matrix.end_row();
        }
        matrix
    }

    /// The transpose of the matrix with these entries, row-major, and radii 0.
    pub fn exact_transposed(columns: usize, entries: &[f64]) -> IntervalMatrix {
        let mut lists = vec![vec![]; columns];
        for (row, values) in entries.chunks_exact(columns).enumerate() {
            for (list, &x) in lists.iter_mut().zip(values).filter(|&(_, &x)| x != 0.0) {
                list.push((row, x));
            }
        }
        let mut matrix = IntervalMatrix::zeros(0, entries.len() / columns);
        for list in lists {
            list.into_iter().for_each(|(row, x)| matrix.push(row, x, 0.0));
            matrix.end_row();
        }
        matrix
    }

    /// The matrix of the intervals `entries`, row-major.
    pub fn of(columns: usize, entries: &[Interval]) -> IntervalMatrix {
        let mut matrix = IntervalMatrix::zeros(0, columns);
        for row in entries.chunks_exact(columns) {
            for (place, x) in row.iter().enumerate() {
                if x.lo != 0.0 || x.hi != 0.0 {
                    matrix.push(place, x.mid(), x.rad());
                }
            }
            matrix.end_row();
        }
        matrix
    }

    /// Adds an entry to the row that is being written, right of its other entries.
    pub fn push(&mut self, place: usize, mid: f64, rad: f64) {
        self.places.push(place);
        self.mid.push(mid);
        self.rad.push(rad);
    }

    /// Adds a row without zeros.
    pub fn push_full_row(&mut self, mid: &[f64], rad: &[f64]) {
        self.places.extend(0..self.columns);
        self.mid.extend_from_slice(mid);
        self.rad.extend_from_slice(rad);
        self.end_row();
    }

    /// Reserves space for a row of `entries`, and for as many such rows as there are and 64 more.
    // PERF: few large allocations; each one is copied and returned to the system.
    fn reserve_like_row(&mut self, entries: usize) {
        if self.places.capacity() < self.places.len() + entries {
            let more = entries * (self.ends.len() + 64);
            self.places.reserve_exact(more);
            self.mid.reserve_exact(more);
            self.rad.reserve_exact(more);
        }
    }

    /// Ends the row that is being written.
    pub fn end_row(&mut self) {
        self.ends.push(self.places.len());
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.ends.len()
    }

    fn stored(&self, row: usize) -> Range<usize> {
        let first = if row == 0 { 0 } else { self.ends[row - 1] };
        first..self.ends[row]
    }

    /// The stored entries of a row: column, midpoint, radius.
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        self.stored(row).map(|i| (self.places[i], self.mid[i], self.rad[i]))
    }

    /// The matrix with `rows` rows; those that are added are 0.
    pub fn with_rows(mut self, rows: usize) -> IntervalMatrix {
        self.ends.resize(rows, self.places.len());
        self
    }

    /// Upper bounds on the sum of magnitudes of each column.
    pub fn column_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for row in 0..self.rows() {
            let row = self.stored(row);
            let magnitudes = self.mid[row.clone()].iter().zip(&self.rad[row.clone()]);
            let magnitudes = magnitudes.map(|(mid, rad)| mid.abs() + rad);
            if row.len() == self.columns {
                sums.iter_mut().zip(magnitudes).for_each(|(sum, x)| *sum += x);
            } else {
                let places = &self.places[row];
                places.iter().zip(magnitudes).for_each(|(&place, x)| sums[place] += x);
            }
        }
        sums.iter().map(|&sum| round_up(sum, 2 * self.rows())).collect()
    }

    /// Upper bounds on the sum of radii of each column.
    pub fn column_radii(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        self.places.iter().zip(&self.rad).for_each(|(&place, rad)| sums[place] += rad);
        sums.iter().map(|&sum| round_up(sum, self.rows())).collect()
    }

    /// The `n` columns from `first` on.
    pub fn columns(&self, first: usize, n: usize) -> IntervalMatrix {
        let mut part = IntervalMatrix::zeros(0, n);
        for row in 0..self.rows() {
            for (place, mid, rad) in self.entries(row) {
                if (first..first + n).contains(&place) {
                    part.push(place - first, mid, rad);
                }
            }
            part.end_row();
        }
        part
    }

    /// This matrix and, to its right, `other`; the shorter one is extended by zeros.
    pub fn beside(&self, other: &IntervalMatrix) -> IntervalMatrix {
        let mut both = IntervalMatrix::zeros(0, self.columns + other.columns);
        for row in 0..self.rows().max(other.rows()) {
            if row < self.rows() {
                self.entries(row).for_each(|(place, mid, rad)| both.push(place, mid, rad));
            }
            if row < other.rows() {
                let shifted =
                    other.entries(row).map(|(at, mid, rad)| (self.columns + at, mid, rad));
                shifted.for_each(|(place, mid, rad)| both.push(place, mid, rad));
            }
            both.end_row();
        }
        both
    }

    /// The magnitudes of the midpoints, with radii 0.
    pub fn absolute_midpoints(&self) -> IntervalMatrix {
        let mid = self.mid.iter().map(|x| x.abs()).collect();
        IntervalMatrix { mid, rad: vec![0.0; self.rad.len()], ..self.clone() }
    }
}

/// The right factor B `[n,p]` of products A·B, with its part of the radius computed in advance.
///
/// The product of the midpoints has an error of at most γ_n |A||B| in any order of summation. So
/// the radius of `A·B` is `|A|·(B° + γ|B|) + A°·(|B| + B°)`, where ° marks radii. All terms are
/// non-negative.
#[derive(Clone, Debug)]
pub struct RightFactor {
    matrix: IntervalMatrix,
    /// B° + γ|B|.
    rad_per_mid: Vec<f64>,
    /// |B| + B°.
    magnitude: Vec<f64>,
}

impl RightFactor {
    /// Prepares `b`.
    pub fn new(b: &IntervalMatrix) -> RightFactor {
        let gamma = round_up(2.0 * b.rows() as f64 * f64::EPSILON, 4);
        let pairs = || b.mid.iter().zip(&b.rad);
        RightFactor {
            rad_per_mid: pairs().map(|(m, r)| round_up(r + gamma * m.abs(), 2)).collect(),
            magnitude: pairs().map(|(m, r)| round_up(m.abs() + r, 2)).collect(),
            matrix: b.clone(),
        }
    }

    /// The matrix.
    pub fn matrix(&self) -> &IntervalMatrix {
        &self.matrix
    }
}

/// A row of a product, with a list of the columns that are not exactly 0.
struct RowSum {
    mid: Vec<f64>,
    rad: Vec<f64>,
    listed: Vec<bool>,
    list: Vec<usize>,
}

impl RowSum {
    fn new(columns: usize) -> RowSum {
        let (mid, rad) = (vec![0.0; columns], vec![0.0; columns]);
        RowSum { mid, rad, listed: vec![false; columns], list: vec![] }
    }

    fn add(&mut self, places: &[usize]) {
        // PERF: a row of a trained network is full after its first term.
        if self.list.len() == self.mid.len() {
            return;
        }
        for &place in places {
            if !self.listed[place] {
                self.listed[place] = true;
                self.list.push(place);
            }
        }
    }

    /// Writes the row, whose radii are sums of `terms` terms, and clears it.
    fn end(&mut self, into: &mut IntervalMatrix, terms: usize) {
        // PERF: sorting costs more than a pass over all columns unless few are listed.
        match self.list.len() < self.mid.len() / 16 {
            true => self.list.sort_unstable(),
            false => {
                self.list.clear();
                self.list.extend((0..self.listed.len()).filter(|&place| self.listed[place]));
            }
        }
        into.reserve_like_row(self.list.len());
        if self.list.len() == self.mid.len() {
            into.places.append(&mut self.list);
            into.mid.extend_from_slice(&self.mid);
            into.rad.extend(self.rad.iter().map(|&rad| round_up(rad, terms)));
            self.mid.fill(0.0);
            self.rad.fill(0.0);
            self.listed.fill(false);
        }
        for place in self.list.drain(..) {
            into.push(place, self.mid[place], round_up(self.rad[place], terms));
            (self.mid[place], self.rad[place], self.listed[place]) = (0.0, 0.0, false);
        }
        into.end_row();
    }
}

/// `A·B`, A `[m,n]`, B `[n,p]`.
pub fn product(a: &IntervalMatrix, b: &RightFactor) -> IntervalMatrix {
    let (n, p) = (a.columns, b.matrix.columns);
    assert_eq!(n, b.matrix.rows(), "product of [{},{n}] and [{},{p}]", a.rows(), b.matrix.rows());
    let (mut c, mut sum) = (IntervalMatrix::zeros(0, p), RowSum::new(p));
    for i in 0..a.rows() {
        for (j, x, r) in a.entries(i) {
            let row = b.matrix.stored(j);
            let places = &b.matrix.places[row.clone()];
            sum.add(places);
            if x != 0.0 {
                add_scaled(&mut sum.mid, places, x, &b.matrix.mid[row.clone()]);
                add_scaled(&mut sum.rad, places, x.abs(), &b.rad_per_mid[row.clone()]);
            }
            if r != 0.0 {
                add_scaled(&mut sum.rad, places, r, &b.magnitude[row]);
            }
        }
        sum.end(&mut c, 2 * n);
    }
    c
}

/// `Σ coefficients ∘ matrix` of up to four matrices, column by column.
pub fn combine(terms: &[(&[Interval], &IntervalMatrix)]) -> IntervalMatrix {
    let (_, first) = terms[0];
    let (mut total, mut sum) =
        (IntervalMatrix::zeros(0, first.columns), RowSum::new(first.columns));
    let split = |of: &[Interval]| of.iter().map(|c| (c.mid(), c.rad())).collect::<Vec<_>>();
    let split: Vec<Vec<(f64, f64)>> = terms.iter().map(|&(of, _)| split(of)).collect();
    for row in 0..first.rows() {
        for ((_, matrix), coefficients) in terms.iter().zip(&split) {
            sum.add(&matrix.places[matrix.stored(row)]);
            for (j, from, from_rad) in matrix.entries(row) {
                let (mid, rad) = coefficients[j];
                let term = mid * from;
                sum.mid[j] += term;
                // The product rounds once, and a sum of up to four terms at most three times. Each
                // rounding is at most half a unit of a magnitude that is part of Σ|terms|.
                sum.rad[j] += mid.abs() * from_rad
                    + rad * (from.abs() + from_rad)
                    + 2.0 * f64::EPSILON * term.abs();
            }
        }
        sum.end(&mut total, terms.len() * 6);
    }
    total
}

/// `v·B` for a vector of intervals `[n]`.
pub fn row_product(v: &[Interval], b: &RightFactor) -> Vec<Interval> {
    let c = product(&IntervalMatrix::of(v.len(), v), b);
    let mut row = vec![Interval::point(0.0); c.columns];
    c.entries(0).for_each(|(at, mid, rad)| row[at] = Interval::point(mid).widen(rad));
    row
}

/// Upper bound on `v·|B|` for non-negative v.
pub fn upper_product(v: &[f64], b: &RightFactor) -> Vec<f64> {
    let mut sums = vec![0.0; b.matrix.columns];
    for (row, &v) in v.iter().enumerate() {
        let stored = b.matrix.stored(row);
        add_scaled(&mut sums, &b.matrix.places[stored.clone()], v, &b.magnitude[stored]);
    }
    sums.iter().map(|&sum| round_up(sum, v.len())).collect()
}

/// `y += a x` at the columns `places`.
fn add_scaled(y: &mut [f64], places: &[usize], a: f64, x: &[f64]) {
    if places.len() == y.len() {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
    } else {
        places.iter().zip(x).for_each(|(&place, x)| y[place] += a * x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn products_contain_what_exact_integers_give() {
        // Entries are multiples of 2⁻²⁰ below 2, so that i128 is exact.
        let unit = (1u64 << 20) as f64;
        let mut rng = Key::new(1).child("test", 0).rng();
        for zeros in [0, 5, 9] {
            let mut entry = || match rng.below(10) < zeros {
                true => 0,
                false => ((rng.unit() * 4.0 - 2.0) * unit).round() as i64,
            };
            let (m, n, p) = (3, 40, 40);
            let a: Vec<i64> = (0..m * n).map(|_| entry()).collect();
            let b: Vec<i64> = (0..n * p).map(|_| entry()).collect();
            let real = |v: &[i64]| v.iter().map(|&x| x as f64 / unit).collect::<Vec<f64>>();
            let right = IntervalMatrix::exact(p, &real(&b));
            let c = product(&IntervalMatrix::exact(n, &real(&a)), &RightFactor::new(&right));
            let transposed: Vec<i64> = (0..n * p).map(|i| b[i % n * p + i / n]).collect();
            assert_eq!(IntervalMatrix::exact_transposed(n, &real(&transposed)), right);
            let mut stored = 0;
            for i in 0..m {
                for (j, mid, rad) in c.entries(i) {
                    let exact: i128 =
                        (0..n).map(|l| a[i * n + l] as i128 * b[l * p + j] as i128).sum();
                    let exact = exact as f64 / (unit * unit);
                    assert!((mid - exact).abs() <= rad && rad < 1e-10, "{mid} ± {rad}: {exact}");
                    stored += 1;
                }
            }
            assert!(stored > m * p / 4, "{stored} entries");
        }
    }

    #[test]
    fn radii_of_both_factors_reach_the_product() {
        let a = IntervalMatrix::of(1, &[Interval::new(1.5, 2.5)]);
        let b = IntervalMatrix::of(1, &[Interval::new(-3.25, -2.75)]);
        let c = product(&a, &RightFactor::new(&b));
        // Farthest: 2.5 · −3.25 = −8.125, which is 2.125 from −6.
        assert_eq!(c.mid, [-6.0]);
        assert!((2.125..2.125 + 1e-12).contains(&c.rad[0]), "{:?}", c.rad);
    }

    #[test]
    fn entries_that_receive_no_term_stay_exactly_zero() {
        let a = IntervalMatrix::exact(2, &[1.0, 0.0, 0.0, 1.0]);
        let b = IntervalMatrix::exact(3, &[0.0, 0.1, 0.0, 0.0, 0.0, 0.2]);
        let c = product(&a, &RightFactor::new(&b));
        assert_eq!(c.entries(0).map(|(at, ..)| at).collect::<Vec<_>>(), [1]);
        assert_eq!(c.entries(1).map(|(at, ..)| at).collect::<Vec<_>>(), [2]);
        let both = a.beside(&c.with_rows(1));
        assert_eq!((both.columns, both.rows(), both.entries(1).count()), (5, 2, 1));
    }
}
