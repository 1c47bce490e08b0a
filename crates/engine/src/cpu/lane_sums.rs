//! Sums over the lanes of many vectors at a time.

use super::kernels::{PerRow, ROWS};
use pulp::Simd;

/// Writes the lane sums of each row's vectors to the first TILE columns of `out` `[ROWS, width]`.
#[inline(always)]
pub fn lane_sums<S: Simd, const TILE: usize>(
    simd: S,
    acc: &PerRow<[S::f32s; TILE]>,
    out: &mut [f32],
    width: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = super::simd::avx512(simd) {
        return avx512::sums::<S, TILE>(simd, acc, out, width);
    }
    for r in 0..ROWS {
        for j in 0..TILE {
            out[r * width + j] = simd.reduce_sum_f32s(acc[r][j]);
        }
    }
}

/// Every level reduces four vectors to one, so that no lane is unused. Each sum is computed in the
/// order of `reduce_sum_f32s`.
// PERF: 2.8 instructions a sum; one sum after the other takes 9 (T=16, d=100, k=50, two threads:
// 1.197 ms a step, 1.230 without).
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    use pulp::bytemuck::cast;
    use pulp::x86::V4;
    use std::arch::x86_64::__m512;

    // PERF: no closures: they are not inlined, and what is not inlined into `vectorize` has no vector
    // instructions.
    #[inline(always)]
    pub fn sums<S: Simd, const TILE: usize>(
        simd: V4,
        acc: &PerRow<[S::f32s; TILE]>,
        out: &mut [f32],
        width: usize,
    ) {
        const { assert!(TILE == 1 || TILE == 4 || TILE == 5) };
        if TILE >= 4 {
            let a = over_quarters::<S, TILE>(simd, acc, 0);
            let b = over_quarters::<S, TILE>(simd, acc, 1);
            let c = over_quarters::<S, TILE>(simd, acc, 2);
            let d = over_quarters::<S, TILE>(simd, acc, 3);
            let [a, b, c, d] = in_quarters(simd, [a, b, c, d]);
            out[..4].copy_from_slice(&a);
            out[width..][..4].copy_from_slice(&b);
            out[2 * width..][..4].copy_from_slice(&c);
            out[3 * width..][..4].copy_from_slice(&d);
        }
        if TILE % 4 == 1 {
            let last = over_quarters::<S, TILE>(simd, acc, TILE - 1);
            let [a, b, c, d] = in_quarters(simd, [last; 4]);
            out[TILE - 1] = a[0];
            out[width + TILE - 1] = b[0];
            out[2 * width + TILE - 1] = c[0];
            out[3 * width + TILE - 1] = d[0];
        }
    }

    /// For vector j of each row, the sum of its quarters; in quarter r for row r.
    #[inline(always)]
    fn over_quarters<S: Simd, const TILE: usize>(
        simd: V4,
        acc: &PerRow<[S::f32s; TILE]>,
        j: usize,
    ) -> __m512 {
        let avx512 = simd.avx512f;
        let (a, b, c, d): (__m512, __m512, __m512, __m512) =
            (cast(acc[0][j]), cast(acc[1][j]), cast(acc[2][j]), cast(acc[3][j]));
        let lower = avx512._mm512_shuffle_f32x4::<0b01_00_01_00>(a, b);
        let a = avx512._mm512_add_ps(lower, avx512._mm512_shuffle_f32x4::<0b11_10_11_10>(a, b));
        let lower = avx512._mm512_shuffle_f32x4::<0b01_00_01_00>(c, d);
        let b = avx512._mm512_add_ps(lower, avx512._mm512_shuffle_f32x4::<0b11_10_11_10>(c, d));
        let lower = avx512._mm512_shuffle_f32x4::<0b10_00_10_00>(a, b);
        avx512._mm512_add_ps(lower, avx512._mm512_shuffle_f32x4::<0b11_01_11_01>(a, b))
    }

    /// The lane sum of each quarter of four vectors; four sums per row.
    #[inline(always)]
    fn in_quarters(simd: V4, [a, b, c, d]: [__m512; 4]) -> PerRow<[f32; 4]> {
        let avx512 = simd.avx512f;
        let lower = avx512._mm512_shuffle_ps::<0b01_00_01_00>(a, b);
        let a = avx512._mm512_add_ps(lower, avx512._mm512_shuffle_ps::<0b11_10_11_10>(a, b));
        let lower = avx512._mm512_shuffle_ps::<0b01_00_01_00>(c, d);
        let b = avx512._mm512_add_ps(lower, avx512._mm512_shuffle_ps::<0b11_10_11_10>(c, d));
        let lower = avx512._mm512_shuffle_ps::<0b10_00_10_00>(a, b);
        let all = avx512._mm512_add_ps(lower, avx512._mm512_shuffle_ps::<0b11_01_11_01>(a, b));
        [
            cast(avx512._mm512_castps512_ps128(all)),
            cast(avx512._mm512_extractf32x4_ps::<1>(all)),
            cast(avx512._mm512_extractf32x4_ps::<2>(all)),
            cast(avx512._mm512_extractf32x4_ps::<3>(all)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::SimdLevel;
    use super::*;
    use pulp::WithSimd;

    /// The sums computed together, and one after the other.
    struct Compare<const TILE: usize>;

    impl<const TILE: usize> WithSimd for Compare<TILE> {
        type Output = [Vec<f32>; 2];

        fn with_simd<S: Simd>(self, simd: S) -> [Vec<f32>; 2] {
            let number = |i: usize| (i as f32 * 0.7).sin() * 10f32.powi(i as i32 % 7 - 3);
            let vector = |at: usize| {
                let numbers: Vec<f32> =
                    (0..S::F32_LANES).map(|lane| number(at * S::F32_LANES + lane)).collect();
                simd.partial_load_f32s(&numbers)
            };
            let acc: PerRow<[S::f32s; TILE]> =
                std::array::from_fn(|r| std::array::from_fn(|j| vector(r * TILE + j)));
            let width = TILE + 3;
            let (mut found, mut expected) = (vec![9.0; ROWS * width], vec![9.0; ROWS * width]);
            lane_sums(simd, &acc, &mut found, width);
            for (r, acc) in acc.iter().enumerate() {
                for (j, &acc) in acc.iter().enumerate() {
                    expected[r * width + j] = simd.reduce_sum_f32s(acc);
                }
            }
            [found, expected]
        }
    }

    #[test]
    fn sums_computed_together_have_the_bits_of_single_sums() {
        for level in SimdLevel::available() {
            let all = [level.run(Compare::<1>), level.run(Compare::<4>), level.run(Compare::<5>)];
            for [found, expected] in all {
                assert_eq!(found, expected, "{level:?}");
            }
        }
    }
}
