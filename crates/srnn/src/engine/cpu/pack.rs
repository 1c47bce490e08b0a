//! How matrices are laid out for the scan, and the products outside it.

use super::simd::{Aligned, padded};
use super::workers::Workers;
use matrixmultiply::sgemm;

/// The layout of panels `[Q][n][blocks]` for `units` units in vectors of `lanes` numbers.
#[derive(Clone, Copy)]
pub struct Packing {
    pub units: usize,
    pub lanes: usize,
}

impl Packing {
    /// A panel `[Q][n][blocks]` from its entries (row j, block b, unit u).
    pub fn pack(
        &self,
        n: usize,
        blocks: usize,
        value: impl Fn(usize, usize, usize) -> f32,
    ) -> Aligned {
        let mut panel = Aligned::zeros(n * blocks * padded(self.units));
        self.scatter(&mut panel, n, blocks, value);
        panel
    }

    /// Fills a panel from its entries.
    pub fn scatter(
        &self,
        panel: &mut [f32],
        n: usize,
        blocks: usize,
        value: impl Fn(usize, usize, usize) -> f32,
    ) {
        let lanes = self.lanes;
        for (at, vector) in panel.chunks_exact_mut(lanes).enumerate() {
            let (q, j, b) = (at / (n * blocks), at / blocks % n, at % blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            vector.iter_mut().zip(units).for_each(|(v, u)| *v = value(j, b, u));
        }
    }

    /// The entries of a panel `[Q][n][blocks]`, the padding left out.
    pub fn unpack(
        &self,
        panel: &[f32],
        n: usize,
        blocks: usize,
        mut put: impl FnMut(usize, usize, usize, f32),
    ) {
        let lanes = self.lanes;
        for (at, vector) in panel.chunks_exact(lanes).enumerate() {
            let (q, j, b) = (at / (n * blocks), at / blocks % n, at % blocks);
            let units = q * lanes..((q + 1) * lanes).min(self.units);
            vector.iter().zip(units).for_each(|(&v, u)| put(j, b, u, v));
        }
    }
}

/// `C [m,n] += A [m,k] · Bᵀ`, B `[n,k]`.
pub fn gemm_nt(w: &Workers, [m, k, n]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
    product(w, [m, k, n], (a, [k, 1]), (b, [1, k]), c);
}

/// `C [m,n] += A [m,k] · B [k,n]`.
pub fn gemm_nn(w: &Workers, [m, k, n]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
    product(w, [m, k, n], (a, [k, 1]), (b, [n, 1]), c);
}

/// `C [m,n] += Aᵀ · B`, A `[k,m]`, B `[k,n]`.
pub fn gemm_tn(w: &Workers, [m, k, n]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32]) {
    product(w, [m, k, n], (a, [1, m]), (b, [n, 1]), c);
}

/// Products of fewer multiplications are not worth a second thread: both pack all of B.
const WORTH_SHARING: usize = 1 << 24;

/// Workers take rows of C: which, changes no bit of them.
fn product(
    workers: &Workers,
    [m, k, n]: [usize; 3],
    a: (&[f32], [usize; 2]),
    b: (&[f32], [usize; 2]),
    c: &mut [f32],
) {
    assert_eq!((a.0.len(), b.0.len(), c.len()), (m * k, k * n, m * n), "sizes of a product");
    if m * k * n == 0 {
        return;
    }
    let [[ra, ca], [rb, cb]] = [a.1, b.1].map(|strides| strides.map(|s| s as isize));
    let rows = if m * k * n < WORTH_SHARING { m } else { m.div_ceil(workers.count()) };
    workers.on_pieces(c, rows * n, |piece, c| {
        let (rows_here, a) = (c.len() / n, &a.0[piece * rows * a.1[0]..]);
        let (a, b, c, rc) = (a.as_ptr(), b.0.as_ptr(), c.as_mut_ptr(), n as isize);
        // SAFETY: the three slices have exactly the sizes of their matrices (asserted), each pair
        // of strides walks such a slice row by row or column by column; a begins at the row of A
        // that belongs to the first of c, of which there are no more than c has; and c is
        // borrowed exclusively.
        unsafe { sgemm(rows_here, k, n, 1.0, a, ra, ca, b, rb, cb, 1.0, c, rc, 1) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_change_no_bit_of_a_product() {
        let [m, k, n] = [403, 330, 197];
        let numbers = |len: usize| -> Vec<f32> { (0..len).map(|i| (i as f32).sin()).collect() };
        let (a, b) = (numbers(m * k), numbers(k * n));
        type Product = fn(&Workers, [usize; 3], &[f32], &[f32], &mut [f32]);
        for product in [gemm_nt as Product, gemm_nn, gemm_tn] {
            let with = |threads: usize| {
                let mut c = vec![1.0; m * n];
                product(&Workers::new(threads), [m, k, n], &a, &b, &mut c);
                c
            };
            let alone = with(1);
            assert!((2..5).all(|threads| with(threads) == alone));
        }
    }
}
