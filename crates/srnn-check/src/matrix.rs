//! Interval matrices as midpoints and radii: a product takes three products of doubles.

use crate::interval::{Interval, UpperBound};

/// An interval matrix `[rows, cols]`, row-major: entry i lies within `rad[i]` of `mid[i]`.
#[derive(Clone, Debug)]
pub struct IntervalMatrix {
    pub rows: usize,
    pub cols: usize,
    pub mid: Vec<f64>,
    pub rad: Vec<f64>,
}

/// Above the loss by underflow of a sum of fewer than 2⁶⁰ products.
const UNDERFLOW: f64 = 1e-300;

impl IntervalMatrix {
    /// A matrix with these entries and radii 0.
    pub fn exact(rows: usize, cols: usize, mid: Vec<f64>) -> IntervalMatrix {
        assert_eq!(mid.len(), rows * cols, "entries of a [{rows}, {cols}] matrix");
        IntervalMatrix { rows, cols, rad: vec![0.0; mid.len()], mid }
    }

    /// The matrix whose entries are `at(row, col)`.
    pub fn from_fn(
        rows: usize,
        cols: usize,
        at: impl Fn(usize, usize) -> Interval,
    ) -> IntervalMatrix {
        let entry = |i: usize| at(i / cols, i % cols).mid_rad();
        let (mid, rad) = (0..rows * cols).map(entry).unzip();
        IntervalMatrix { rows, cols, mid, rad }
    }

    /// One entry.
    pub fn get(&self, row: usize, col: usize) -> Interval {
        let (mid, rad) = (self.mid[row * self.cols + col], self.rad[row * self.cols + col]);
        if rad == 0.0 {
            Interval::point(mid)
        } else {
            Interval::point(mid).widen(UpperBound::new(rad))
        }
    }

    /// One row.
    pub fn row(&self, row: usize) -> Vec<Interval> {
        (0..self.cols).map(|col| self.get(row, col)).collect()
    }

    /// The transpose.
    pub fn transposed(&self) -> IntervalMatrix {
        IntervalMatrix::from_fn(self.cols, self.rows, |row, col| self.get(col, row))
    }

    /// `|entry|` of a matrix with radii 0.
    pub fn absolute(&self) -> IntervalMatrix {
        let mid = self.mid.iter().map(|x| x.abs()).collect();
        IntervalMatrix { rows: self.rows, cols: self.cols, mid, rad: self.rad.clone() }
    }

    /// `Σ_rows |entry|` of each column.
    pub fn column_sums(&self) -> Vec<UpperBound> {
        let mut sums = vec![UpperBound::ZERO; self.cols];
        for row in 0..self.rows {
            for (col, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + self.magnitude(row, col);
            }
        }
        sums
    }

    /// `|entry|`.
    pub fn magnitude(&self, row: usize, col: usize) -> UpperBound {
        let at = row * self.cols + col;
        UpperBound::new(self.mid[at].abs()) + UpperBound::new(self.rad[at])
    }

    /// `self · other`, rounding included.
    pub fn times(&self, other: &IntervalMatrix) -> IntervalMatrix {
        assert_eq!(self.cols, other.rows, "columns of the left and rows of the right factor");
        let (n, cols) = (self.cols, other.cols);
        let gamma = gamma(n);
        let with_rounding = |(m, r): (&f64, &f64)| r + gamma * m.abs() + f64::MIN_POSITIVE;
        let per_mid: Vec<f64> = other.mid.iter().zip(&other.rad).map(with_rounding).collect();
        let per_rad: Vec<f64> =
            other.mid.iter().zip(&other.rad).map(|(m, r)| m.abs() + r).collect();
        let (mut mid, mut rad) = (vec![0.0; self.rows * cols], vec![0.0; self.rows * cols]);
        for row in 0..self.rows {
            let (mid, rad) = (&mut mid[row * cols..][..cols], &mut rad[row * cols..][..cols]);
            for i in 0..n {
                let (m, r) = (self.mid[row * n + i], self.rad[row * n + i]);
                if m != 0.0 {
                    add_scaled(mid, m, &other.mid[i * cols..]);
                    add_scaled(rad, m.abs(), &per_mid[i * cols..]);
                }
                if r != 0.0 {
                    add_scaled(rad, r, &per_rad[i * cols..]);
                }
            }
        }
        IntervalMatrix::rounded(self.rows, cols, mid, rad, n)
    }

    /// A result whose radii are sums of at most 2n non-negative terms of a few operations each.
    /// Enlarges the radii by their own rounding error; an entry that overflowed becomes unbounded.
    pub fn rounded(
        rows: usize,
        cols: usize,
        mut mid: Vec<f64>,
        mut rad: Vec<f64>,
        n: usize,
    ) -> IntervalMatrix {
        for (m, r) in mid.iter_mut().zip(&mut rad) {
            *r = *r * (1.0 + 4.0 * gamma(n)) + UNDERFLOW;
            if !(m.is_finite() && r.is_finite()) {
                (*m, *r) = (0.0, f64::INFINITY);
            }
        }
        IntervalMatrix { rows, cols, mid, rad }
    }

    /// `self + other`.
    pub fn plus(&self, other: &IntervalMatrix) -> IntervalMatrix {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols), "shapes of a sum");
        IntervalMatrix::from_fn(self.rows, self.cols, |row, col| {
            self.get(row, col) + other.get(row, col)
        })
    }

    /// The matrix extended to `rows` rows by zeros.
    pub fn with_rows(mut self, rows: usize) -> IntervalMatrix {
        self.rows = rows;
        self.mid.resize(rows * self.cols, 0.0);
        self.rad.resize(rows * self.cols, 0.0);
        self
    }

    /// The `count` columns from `first` on.
    pub fn columns(&self, first: usize, count: usize) -> IntervalMatrix {
        IntervalMatrix::from_fn(self.rows, count, |row, col| self.get(row, first + col))
    }
}

/// A sum of n products has an error of at most n·2⁻⁵³·(1 + …)·Σ|terms|, in any order. Twice that
/// and four more terms cover the rounding of the bounds themselves.
pub fn gamma(n: usize) -> f64 {
    (n as f64 + 4.0) * f64::EPSILON
}

/// `y += a x`.
fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_contains_the_products_of_what_the_factors_contain() {
        // Corners of the interval matrix: their products must lie in the interval product.
        let a = IntervalMatrix::from_fn(1, 3, |_, i| Interval::new(i as f64 - 1.0, i as f64 + 1.0));
        let b = IntervalMatrix::from_fn(3, 2, |i, j| {
            Interval::point(0.1 * (i as f64 + 1.0) - j as f64)
        });
        let c = a.times(&b);
        for corner in 0..8 {
            let x: Vec<f64> =
                (0..3).map(|i| i as f64 + if corner >> i & 1 == 0 { -1.0 } else { 1.0 }).collect();
            for j in 0..2 {
                let exact: f64 = (0..3).map(|i| x[i] * b.mid[i * 2 + j]).sum();
                let found = c.get(0, j);
                assert!(found.lo <= exact && exact <= found.hi, "{exact} outside {found:?}");
            }
        }
        assert!(c.rad[0] < 0.6 + 1e-12, "mid-radius is exact for a point matrix: {}", c.rad[0]);
    }
}
