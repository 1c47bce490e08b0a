//! Matrices of intervals, kept as midpoints and radii, so that a product is three products of
//! doubles.

use crate::interval::{Interval, Up};

/// A matrix `[rows, cols]`, row-major; entry i is some number within `rad[i]` of `mid[i]`.
#[derive(Clone, Debug)]
pub struct Balls {
    pub rows: usize,
    pub cols: usize,
    pub mid: Vec<f64>,
    pub rad: Vec<f64>,
}

/// More than all that underflow can take from a sum of fewer than 2⁶⁰ products.
const UNDERFLOW: f64 = 1e-300;

impl Balls {
    /// These numbers, exactly.
    pub fn exact(rows: usize, cols: usize, mid: Vec<f64>) -> Balls {
        assert_eq!(mid.len(), rows * cols, "{rows} x {cols}");
        Balls { rows, cols, rad: vec![0.0; mid.len()], mid }
    }

    /// Entry by entry.
    pub fn from_fn(rows: usize, cols: usize, at: impl Fn(usize, usize) -> Interval) -> Balls {
        let entry = |i: usize| at(i / cols, i % cols).ball();
        let (mid, rad) = (0..rows * cols).map(entry).unzip();
        Balls { rows, cols, mid, rad }
    }

    /// One entry.
    pub fn get(&self, row: usize, col: usize) -> Interval {
        let (mid, rad) = (self.mid[row * self.cols + col], self.rad[row * self.cols + col]);
        if rad == 0.0 { Interval::point(mid) } else { Interval::point(mid).widen(Up::new(rad)) }
    }

    /// One row.
    pub fn row(&self, row: usize) -> Vec<Interval> {
        (0..self.cols).map(|col| self.get(row, col)).collect()
    }

    /// Rows and columns exchanged.
    pub fn transposed(&self) -> Balls {
        Balls::from_fn(self.cols, self.rows, |row, col| self.get(col, row))
    }

    /// `|entry|`, for exact matrices.
    pub fn absolute(&self) -> Balls {
        let mid = self.mid.iter().map(|x| x.abs()).collect();
        Balls { rows: self.rows, cols: self.cols, mid, rad: self.rad.clone() }
    }

    /// `Σ_rows |entry|`, column by column.
    pub fn column_sums(&self) -> Vec<Up> {
        let mut sums = vec![Up::ZERO; self.cols];
        for row in 0..self.rows {
            for (col, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + self.magnitude(row, col);
            }
        }
        sums
    }

    /// `|entry|`.
    pub fn magnitude(&self, row: usize, col: usize) -> Up {
        let at = row * self.cols + col;
        Up::new(self.mid[at].abs()) + Up::new(self.rad[at])
    }

    /// `self · other`, rounding included.
    pub fn times(&self, other: &Balls) -> Balls {
        assert_eq!(self.cols, other.rows, "columns and rows of a product");
        let (n, cols) = (self.cols, other.cols);
        let gamma = gamma(n);
        let charged = |(m, r): (&f64, &f64)| r + gamma * m.abs() + f64::MIN_POSITIVE;
        let per_mid: Vec<f64> = other.mid.iter().zip(&other.rad).map(charged).collect();
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
        Balls::rounded(self.rows, cols, mid, rad, n)
    }

    /// Results whose radii are sums of at most 2n terms, none negative, of a few operations each:
    /// what these lost by rounding is put back, and what overflowed is unknown.
    pub fn rounded(
        rows: usize,
        cols: usize,
        mut mid: Vec<f64>,
        mut rad: Vec<f64>,
        n: usize,
    ) -> Balls {
        for (m, r) in mid.iter_mut().zip(&mut rad) {
            *r = *r * (1.0 + 4.0 * gamma(n)) + UNDERFLOW;
            if !(m.is_finite() && r.is_finite()) {
                (*m, *r) = (0.0, f64::INFINITY);
            }
        }
        Balls { rows, cols, mid, rad }
    }

    /// `self + other`.
    pub fn plus(&self, other: &Balls) -> Balls {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols), "shapes of a sum");
        Balls::from_fn(self.rows, self.cols, |row, col| self.get(row, col) + other.get(row, col))
    }

    /// With rows of zeros below, up to `rows`.
    pub fn with_rows(mut self, rows: usize) -> Balls {
        self.rows = rows;
        self.mid.resize(rows * self.cols, 0.0);
        self.rad.resize(rows * self.cols, 0.0);
        self
    }

    /// The columns from `first` on, `count` of them.
    pub fn columns(&self, first: usize, count: usize) -> Balls {
        Balls::from_fn(self.rows, count, |row, col| self.get(row, first + col))
    }
}

/// A sum of n products is within n·2⁻⁵³·(1 + …) of Σ|terms|, in any order. Twice that and four
/// terms more leave room for the rounding of the bounds themselves.
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
        // The corners ±1 of a ball of radius 1 around ±0.1: products lie in known extremes.
        let a = Balls::from_fn(1, 3, |_, i| Interval::new(i as f64 - 1.0, i as f64 + 1.0));
        let b = Balls::from_fn(3, 2, |i, j| Interval::point(0.1 * (i as f64 + 1.0) - j as f64));
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
