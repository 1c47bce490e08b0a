//! Matrices of midpoints and radii, and their products.

use super::interval::{Interval, up};

/// An interval matrix `[rows, columns]`: every entry lies within `rad` of `mid`.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Entries in a row.
    pub columns: usize,
    /// Midpoints, row-major.
    pub mid: Vec<f64>,
    /// Radii, row-major.
    pub rad: Vec<f64>,
}

impl Matrix {
    /// Zeros.
    pub fn zeros(rows: usize, columns: usize) -> Matrix {
        Matrix { columns, mid: vec![0.0; rows * columns], rad: vec![0.0; rows * columns] }
    }

    /// Doubles, exactly.
    pub fn exact(columns: usize, mid: Vec<f64>) -> Matrix {
        let rad = vec![0.0; mid.len()];
        Matrix { columns, mid, rad }
    }

    /// Of intervals.
    pub fn of(columns: usize, entries: &[Interval]) -> Matrix {
        let mid = entries.iter().map(|entry| entry.mid()).collect();
        let rad = entries.iter().map(|entry| entry.rad()).collect();
        Matrix { columns, mid, rad }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.mid.len().checked_div(self.columns).unwrap_or(0)
    }

    /// The transpose.
    pub fn transposed(&self) -> Matrix {
        let (rows, columns) = (self.rows(), self.columns);
        let turn = |values: &[f64]| {
            (0..columns).flat_map(|c| (0..rows).map(move |r| values[r * columns + c])).collect()
        };
        Matrix { columns: rows, mid: turn(&self.mid), rad: turn(&self.rad) }
    }

    /// For each column, at least the sum of the magnitudes of its entries.
    pub fn column_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for (mid, rad) in
            self.mid.chunks_exact(self.columns).zip(self.rad.chunks_exact(self.columns))
        {
            sums.iter_mut().zip(mid.iter().zip(rad)).for_each(|(s, (m, r))| *s += m.abs() + r);
        }
        sums.iter().map(|&sum| up(sum, 2 * self.rows())).collect()
    }

    /// For each column, at least the sum of its radii.
    pub fn column_radii(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for rad in self.rad.chunks_exact(self.columns) {
            sums.iter_mut().zip(rad).for_each(|(sum, r)| *sum += r);
        }
        sums.iter().map(|&sum| up(sum, self.rows())).collect()
    }
}

/// A matrix `[n,p]` made ready to be multiplied with from the left.
///
/// The midpoint product errs by at most γ_n |A||B| in any order of summation. With that the radius
/// of `A·B` is `|A|·(B° + γ|B|) + A°·(|B| + B°)`, ° marking radii: sums of non-negative numbers.
#[derive(Clone, Debug)]
pub struct Factor {
    columns: usize,
    mid: Vec<f64>,
    /// B° + γ|B|.
    beside: Vec<f64>,
    /// |B| + B°.
    whole: Vec<f64>,
}

impl Factor {
    /// Of a matrix.
    pub fn new(b: &Matrix) -> Factor {
        let gamma = up(2.0 * b.rows() as f64 * f64::EPSILON, 4);
        let pairs = || b.mid.iter().zip(&b.rad);
        Factor {
            columns: b.columns,
            mid: b.mid.clone(),
            beside: pairs().map(|(m, r)| up(r + gamma * m.abs(), 2)).collect(),
            whole: pairs().map(|(m, r)| up(m.abs() + r, 2)).collect(),
        }
    }

    /// At least the magnitudes, row-major.
    pub fn sizes(&self) -> &[f64] {
        &self.whole
    }

    fn rows(&self) -> usize {
        self.mid.len() / self.columns
    }
}

/// `A·B`, A `[m,n]`, B `[n,p]`.
pub fn product(a: &Matrix, b: &Factor) -> Matrix {
    let (n, p) = (a.columns, b.columns);
    assert_eq!(n, b.rows(), "a product of [{},{n}] and [{},{p}]", a.rows(), b.rows());
    let mut c = Matrix::zeros(a.rows(), p);
    for i in 0..a.rows() {
        let (mid, rad) = (&mut c.mid[i * p..][..p], &mut c.rad[i * p..][..p]);
        for j in 0..n {
            let (x, r) = (a.mid[i * n + j], a.rad[i * n + j]);
            // Generators of a cell have two entries in a row.
            if x != 0.0 {
                add_scaled(mid, x, &b.mid[j * p..][..p]);
                add_scaled(rad, x.abs(), &b.beside[j * p..][..p]);
            }
            if r != 0.0 {
                add_scaled(rad, r, &b.whole[j * p..][..p]);
            }
        }
        rad.iter_mut().for_each(|rad| *rad = up(*rad, 2 * n));
    }
    c
}

/// `v·B` for a vector of intervals `[n]`.
pub fn row_product(v: &[Interval], b: &Factor) -> Vec<Interval> {
    let c = product(&Matrix::of(v.len(), v), b);
    c.mid.iter().zip(&c.rad).map(|(&mid, &rad)| Interval::point(mid).widen(rad)).collect()
}

/// At least `v·B` for non-negative numbers.
pub fn upper_product(v: &[f64], b: &[f64], columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for (&v, row) in v.iter().zip(b.chunks_exact(columns)) {
        add_scaled(&mut sums, v, row);
    }
    sums.iter().map(|&sum| up(sum, v.len())).collect()
}

fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn products_contain_what_exact_integers_give() {
        // Entries are multiples of 2⁻²⁰ below 2, so that i128 is exact.
        let unit = (1u64 << 20) as f64;
        let mut draw = Key::new(1).child("test", 0).rng();
        let mut entry = || ((draw.unit() * 4.0 - 2.0) * unit).round() as i64;
        let (m, n, p) = (3, 40, 5);
        let a: Vec<i64> = (0..m * n).map(|_| entry()).collect();
        let b: Vec<i64> = (0..n * p).map(|_| entry()).collect();
        let real = |v: &[i64]| v.iter().map(|&x| x as f64 / unit).collect::<Vec<f64>>();
        let c = product(&Matrix::exact(n, real(&a)), &Factor::new(&Matrix::exact(p, real(&b))));
        for i in 0..m {
            for j in 0..p {
                let exact: i128 = (0..n).map(|l| a[i * n + l] as i128 * b[l * p + j] as i128).sum();
                let exact = exact as f64 / (unit * unit);
                let (mid, rad) = (c.mid[i * p + j], c.rad[i * p + j]);
                assert!((mid - exact).abs() <= rad && rad < 1e-10, "{mid} ± {rad}: {exact}");
            }
        }
    }

    #[test]
    fn radii_of_both_factors_reach_the_product() {
        let a = Matrix { columns: 1, mid: vec![2.0], rad: vec![0.5] };
        let b = Matrix { columns: 1, mid: vec![-3.0], rad: vec![0.25] };
        let c = product(&a, &Factor::new(&b));
        // Farthest: 2.5 · −3.25 = −8.125, which is 2.125 from −6.
        assert_eq!(c.mid, [-6.0]);
        assert!((2.125..2.125 + 1e-12).contains(&c.rad[0]), "{:?}", c.rad);
    }
}
