//! Interval matrices as midpoints and radii, and their products.

use super::interval::{Interval, round_up};

/// An interval matrix `[rows, columns]`: every entry lies within `rad` of `mid`.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalMatrix {
    /// Number of columns.
    pub columns: usize,
    /// Midpoints, row-major.
    pub mid: Vec<f64>,
    /// Radii, row-major.
    pub rad: Vec<f64>,
}

impl IntervalMatrix {
    /// A matrix of exact zeros.
    pub fn zeros(rows: usize, columns: usize) -> IntervalMatrix {
        IntervalMatrix { columns, mid: vec![0.0; rows * columns], rad: vec![0.0; rows * columns] }
    }

    /// A matrix with these entries and radii 0.
    pub fn exact(columns: usize, mid: Vec<f64>) -> IntervalMatrix {
        let rad = vec![0.0; mid.len()];
        IntervalMatrix { columns, mid, rad }
    }

    /// The matrix of the intervals `entries`, row-major.
    pub fn of(columns: usize, entries: &[Interval]) -> IntervalMatrix {
        let mid = entries.iter().map(|entry| entry.mid()).collect();
        let rad = entries.iter().map(|entry| entry.rad()).collect();
        IntervalMatrix { columns, mid, rad }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.mid.len().checked_div(self.columns).unwrap_or(0)
    }

    /// The transpose.
    pub fn transposed(&self) -> IntervalMatrix {
        let (rows, columns) = (self.rows(), self.columns);
        let transpose = |values: &[f64]| {
            (0..columns).flat_map(|c| (0..rows).map(move |r| values[r * columns + c])).collect()
        };
        IntervalMatrix { columns: rows, mid: transpose(&self.mid), rad: transpose(&self.rad) }
    }

    /// Upper bounds on the sum of magnitudes of each column.
    pub fn column_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for (mid, rad) in
            self.mid.chunks_exact(self.columns).zip(self.rad.chunks_exact(self.columns))
        {
            sums.iter_mut().zip(mid.iter().zip(rad)).for_each(|(s, (m, r))| *s += m.abs() + r);
        }
        sums.iter().map(|&sum| round_up(sum, 2 * self.rows())).collect()
    }

    /// Upper bounds on the sum of radii of each column.
    pub fn column_radii(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for rad in self.rad.chunks_exact(self.columns) {
            sums.iter_mut().zip(rad).for_each(|(sum, r)| *sum += r);
        }
        sums.iter().map(|&sum| round_up(sum, self.rows())).collect()
    }

    /// The `n` columns from `first` on.
    pub fn columns(&self, first: usize, n: usize) -> IntervalMatrix {
        let cut = |values: &[f64]| {
            let rows = values.chunks_exact(self.columns);
            rows.flat_map(|row| row[first..first + n].iter().copied()).collect()
        };
        IntervalMatrix { columns: n, mid: cut(&self.mid), rad: cut(&self.rad) }
    }

    /// This matrix and, to its right, the first `n` columns of `other`.
    pub fn beside(&self, other: &IntervalMatrix, n: usize) -> IntervalMatrix {
        let join = |a: &[f64], b: &[f64]| {
            let rows = a.chunks_exact(self.columns).zip(b.chunks_exact(other.columns));
            rows.flat_map(|(a, b)| a.iter().chain(&b[..n]).copied().collect::<Vec<f64>>()).collect()
        };
        IntervalMatrix {
            columns: self.columns + n,
            mid: join(&self.mid, &other.mid),
            rad: join(&self.rad, &other.rad),
        }
    }
}

/// The right factor B `[n,p]` of products A·B, with its part of the radius computed in advance.
///
/// The product of the midpoints has an error of at most γ_n |A||B| in any order of summation. So
/// the radius of `A·B` is `|A|·(B° + γ|B|) + A°·(|B| + B°)`, where ° marks radii. All terms are
/// non-negative.
#[derive(Clone, Debug)]
pub struct RightFactor {
    columns: usize,
    mid: Vec<f64>,
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
            columns: b.columns,
            mid: b.mid.clone(),
            rad_per_mid: pairs().map(|(m, r)| round_up(r + gamma * m.abs(), 2)).collect(),
            magnitude: pairs().map(|(m, r)| round_up(m.abs() + r, 2)).collect(),
        }
    }

    /// Upper bounds on the magnitudes of the entries, row-major.
    pub fn magnitudes(&self) -> &[f64] {
        &self.magnitude
    }

    fn rows(&self) -> usize {
        self.mid.len() / self.columns
    }
}

/// `A·B`, A `[m,n]`, B `[n,p]`.
pub fn product(a: &IntervalMatrix, b: &RightFactor) -> IntervalMatrix {
    let (n, p) = (a.columns, b.columns);
    assert_eq!(n, b.rows(), "product of [{},{n}] and [{},{p}]", a.rows(), b.rows());
    let mut c = IntervalMatrix::zeros(a.rows(), p);
    for i in 0..a.rows() {
        let (mid, rad) = (&mut c.mid[i * p..][..p], &mut c.rad[i * p..][..p]);
        for j in 0..n {
            let (x, r) = (a.mid[i * n + j], a.rad[i * n + j]);
            // PERF: a generator of a cell has two non-zero entries in a row.
            if x != 0.0 {
                add_scaled(mid, x, &b.mid[j * p..][..p]);
                add_scaled(rad, x.abs(), &b.rad_per_mid[j * p..][..p]);
            }
            if r != 0.0 {
                add_scaled(rad, r, &b.magnitude[j * p..][..p]);
            }
        }
        rad.iter_mut().for_each(|rad| *rad = round_up(*rad, 2 * n));
    }
    c
}

/// `v·B` for a vector of intervals `[n]`.
pub fn row_product(v: &[Interval], b: &RightFactor) -> Vec<Interval> {
    let c = product(&IntervalMatrix::of(v.len(), v), b);
    c.mid.iter().zip(&c.rad).map(|(&mid, &rad)| Interval::point(mid).widen(rad)).collect()
}

/// Upper bound on `v·B` for non-negative v and B.
pub fn upper_product(v: &[f64], b: &[f64], columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for (&v, row) in v.iter().zip(b.chunks_exact(columns)) {
        add_scaled(&mut sums, v, row);
    }
    sums.iter().map(|&sum| round_up(sum, v.len())).collect()
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
        let mut rng = Key::new(1).child("test", 0).rng();
        let mut entry = || ((rng.unit() * 4.0 - 2.0) * unit).round() as i64;
        let (m, n, p) = (3, 40, 5);
        let a: Vec<i64> = (0..m * n).map(|_| entry()).collect();
        let b: Vec<i64> = (0..n * p).map(|_| entry()).collect();
        let real = |v: &[i64]| v.iter().map(|&x| x as f64 / unit).collect::<Vec<f64>>();
        let c = product(
            &IntervalMatrix::exact(n, real(&a)),
            &RightFactor::new(&IntervalMatrix::exact(p, real(&b))),
        );
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
        let a = IntervalMatrix { columns: 1, mid: vec![2.0], rad: vec![0.5] };
        let b = IntervalMatrix { columns: 1, mid: vec![-3.0], rad: vec![0.25] };
        let c = product(&a, &RightFactor::new(&b));
        // Farthest: 2.5 · −3.25 = −8.125, which is 2.125 from −6.
        assert_eq!(c.mid, [-6.0]);
        assert!((2.125..2.125 + 1e-12).contains(&c.rad[0]), "{:?}", c.rad);
    }
}
