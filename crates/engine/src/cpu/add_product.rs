//! `C += A·B` on vectors, for the adjoints of the products outside the scan.

use super::simd::{vectors, vectors_mut};
use pulp::{Simd, WithSimd};

/// `C += A·B`; B and C are given by their rows of E numbers.
pub struct AddProduct<'a> {
    pub c: Vec<&'a mut [f32]>,
    pub e: usize,
    pub a: StridedMatrix<'a>,
    pub b: &'a [&'a [f32]],
    /// The terms of the sum. The terms of each part are summed in registers.
    pub terms: &'a [Vec<TermRange>],
}

/// A matrix with the distances between neighbouring rows and between neighbouring terms.
#[derive(Clone, Copy)]
pub struct StridedMatrix<'a> {
    pub values: &'a [f32],
    pub row: usize,
    pub next: usize,
}

/// Consecutive terms of a sum.
#[derive(Clone, Copy)]
pub struct TermRange {
    /// The offset of the first term's entry of A.
    pub a: usize,
    /// The first term's row of B.
    pub b: usize,
    pub count: usize,
}

impl WithSimd for AddProduct<'_> {
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

impl AddProduct<'_> {
    /// COLUMNS vectors of every row of C; if LAST, the last of them may be partial.
    #[inline(always)]
    fn columns<S: Simd, const COLUMNS: usize, const LAST: bool>(
        &mut self,
        simd: S,
        terms: &[TermRange],
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
        terms: &[TermRange],
        row: usize,
        column: usize,
    ) {
        let width = if LAST { self.e - column } else { COLUMNS * S::F32_LANES };
        let mut acc = [[simd.splat_f32s(0.0); COLUMNS]; ROWS];
        for &TermRange { a, b, count } in terms {
            for (t, b) in self.b[b..][..count].iter().enumerate() {
                let b = load::<S, COLUMNS, LAST>(simd, &b[column..][..width]);
                for (r, acc) in acc.iter_mut().enumerate() {
                    let x = self.a.values[a + (row + r) * self.a.row + t * self.a.next];
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

/// Loads COLUMNS vectors; if LAST, the last one is padded with zeros.
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

/// Stores what [`load`] loads.
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
