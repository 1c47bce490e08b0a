//! How matrices are laid out for the scan, and the products outside it.

use super::simd::{Aligned, padded};
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

/// `C [m,n] = A [m,k] · Bᵀ`, B `[n,k]`.
pub fn gemm_nt(m: usize, k: usize, n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    product([m, k, n], (a, [k, 1]), (b, [1, k]), c);
}

/// `C [m,n] += A [m,k] · B [k,n]`.
pub fn gemm_nn(m: usize, k: usize, n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    product([m, k, n], (a, [k, 1]), (b, [n, 1]), c);
}

/// `C [m,n] += Aᵀ · B`, A `[k,m]`, B `[k,n]`.
pub fn gemm_tn(m: usize, k: usize, n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    product([m, k, n], (a, [1, m]), (b, [n, 1]), c);
}

fn product([m, k, n]: [usize; 3], a: (&[f32], [usize; 2]), b: (&[f32], [usize; 2]), c: &mut [f32]) {
    assert_eq!((a.0.len(), b.0.len(), c.len()), (m * k, k * n, m * n), "sizes of a product");
    let [[ra, ca], [rb, cb]] = [a.1, b.1].map(|strides| strides.map(|s| s as isize));
    let (a, b, c, rc) = (a.0.as_ptr(), b.0.as_ptr(), c.as_mut_ptr(), n as isize);
    // SAFETY: the three slices have exactly the sizes of their matrices (asserted), each pair of
    // strides walks such a slice row by row or column by column, and c is borrowed exclusively.
    unsafe { sgemm(m, k, n, 1.0, a, ra, ca, b, rb, cb, 1.0, c, rc, 1) };
}
