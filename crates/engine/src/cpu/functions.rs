//! The transcendental functions on vectors: exp, σ and tanh.

#[cfg(target_arch = "x86_64")]
use super::simd::avx512;
use pulp::Simd;
#[cfg(target_arch = "x86_64")]
use pulp::bytemuck::cast;

/// `eˣ`, relative error below 3e-7; arguments are clamped to ±86.
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let (limit, magic) = (simd.splat_f32s(86.0), simd.splat_f32s(MAGIC));
    let x = between(simd, simd.neg_f32s(limit), x, limit);
    // x = n·ln 2 + r, with ln 2 in two parts.
    let shifted = simd.mul_add_e_f32s(x, simd.splat_f32s(std::f32::consts::LOG2_E), magic);
    let n = simd.sub_f32s(shifted, magic);
    let r = simd.mul_add_e_f32s(n, simd.splat_f32s(-0.693_359_4), x);
    let r = simd.mul_add_e_f32s(n, simd.splat_f32s(2.121_944_4e-4), r);
    // (eʳ − 1 − r)/r² on |r| ≤ ½ ln 2: minimax, relative error of eʳ 1.1e-7.
    let mut p = simd.splat_f32s(0.008_312_518);
    for c in [0.041_890_156, 0.166_671_14, 0.499_992_3] {
        p = simd.mul_add_e_f32s(r, p, simd.splat_f32s(c));
    }
    let line = simd.add_f32s(r, simd.splat_f32s(1.0));
    times_power(simd, simd.mul_add_e_f32s(simd.mul_f32s(r, r), p, line), shifted)
}

/// Rounds to the nearest integer, half to even, as adding [`MAGIC`] does.
#[cfg(target_arch = "x86_64")]
const TO_NEAREST: i32 = 0;

/// Adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
const MAGIC: f32 = 12_582_912.0;

/// `y·2ⁿ`, n in the low bits of `shifted`.
#[inline(always)]
fn times_power<S: Simd>(simd: S, y: S::f32s, shifted: S::f32s) -> S::f32s {
    let scale = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(y), scale))
}

/// The factor of the argument of σ: `σ(x) = 1 / (1 + 2^(SIGMOID·x))`.
// A relative error of 2⁻²⁴ in the exponent changes σ and tanh by less than 3e-8, because they are flat
// where |x| is large. So the reduction is not split in two parts, as in exp.
pub const SIGMOID: f32 = -std::f32::consts::LOG2_E;
/// The factor of the argument of tanh: `tanh x = 1 − 2 / (1 + 2^(TANH·x))`.
pub const TANH: f32 = 2.0 * std::f32::consts::LOG2_E;

/// 2ʳ on |r| ≤ ½, exact at 0: minimax, relative error 1.1e-7; the highest power first.
#[allow(clippy::approx_constant)] // The best polynomial's coefficient is not quite ln 2.
const TWO_TO_THE: [f32; 6] =
    [0.001_326_472_7, 0.009_671_513, 0.055_507_336, 0.240_222_42, 0.693_147, 1.0];

/// `1 + 2ˣ` of several x.
// PERF: one operation of all x, then the next. Each depends on the one before it, and the
// out-of-order window of a processor is too short to reach the next exponential.
#[inline(always)]
fn one_plus_powers<S: Simd, const N: usize>(simd: S, mut x: [S::f32s; N]) -> [S::f32s; N] {
    let one = simd.splat_f32s(1.0);
    // No clamp is needed: `scalef` by 2^∞ gives ∞ and by 2^−∞ zero, even of a NaN.
    // PERF: four instructions less, to the same bits (of exponents within ±126).
    #[cfg(target_arch = "x86_64")]
    if let Some(avx512) = avx512(simd) {
        let mut whole = x;
        for j in 0..N {
            whole[j] = cast(avx512.avx512f._mm512_roundscale_ps::<TO_NEAREST>(cast(x[j])));
            x[j] = simd.sub_f32s(x[j], whole[j]);
        }
        let mut y = two_to_the(simd, x);
        for j in 0..N {
            let power = avx512.avx512f._mm512_scalef_ps(cast(y[j]), cast(whole[j]));
            y[j] = simd.add_f32s(one, cast(power));
        }
        return y;
    }
    // Adding to the exponent bits must not leave the exponents of single precision, so x is clamped.
    // Beyond these, σ and tanh are 0 and ±1.
    let (magic, limit) = (simd.splat_f32s(MAGIC), simd.splat_f32s(126.0));
    for x in &mut x {
        *x = between(simd, simd.neg_f32s(limit), *x, limit);
    }
    let mut shifted = x;
    for shifted in &mut shifted {
        *shifted = simd.add_f32s(*shifted, magic);
    }
    for j in 0..N {
        x[j] = simd.sub_f32s(x[j], simd.sub_f32s(shifted[j], magic));
    }
    let mut y = two_to_the(simd, x);
    for j in 0..N {
        y[j] = simd.add_f32s(one, times_power(simd, y[j], shifted[j]));
    }
    y
}

/// 2ˣ on |x| ≤ ½.
#[inline(always)]
fn two_to_the<S: Simd, const N: usize>(simd: S, x: [S::f32s; N]) -> [S::f32s; N] {
    let [highest, rest @ ..] = TWO_TO_THE;
    let mut y = [simd.splat_f32s(highest); N];
    for c in rest {
        for j in 0..N {
            y[j] = simd.mul_add_e_f32s(x[j], y[j], simd.splat_f32s(c));
        }
    }
    y
}

/// x clamped to two bounds; NaN stays NaN.
#[inline(always)]
pub fn between<S: Simd>(simd: S, low: S::f32s, x: S::f32s, high: S::f32s) -> S::f32s {
    if S::F32_LANES > 1 {
        // Of a NaN and a number, the vector instructions return the second.
        return simd.max_f32s(low, simd.min_f32s(high, x));
    }
    let x = simd.select_f32s(simd.less_than_f32s(high, x), high, x);
    simd.select_f32s(simd.less_than_f32s(x, low), low, x)
}

// PERF: one division each. A single division, of their product, saves no time on a Zen 4, and the
// arguments must be clamped so that the product does not overflow (T=100, d=100, k=5, one thread:
// 2.75 ms a step, 2.95 with one for all).

/// `1 / (1 + e⁻ˣ)` of several numbers, absolute errors below 2e-7, from `SIGMOID·x`.
#[inline(always)]
pub fn sigmoids<S: Simd, const N: usize>(simd: S, powers: [S::f32s; N]) -> [S::f32s; N] {
    let mut y = one_plus_powers(simd, powers);
    for y in &mut y {
        *y = simd.div_f32s(simd.splat_f32s(1.0), *y);
    }
    y
}

/// σ of all but the last, from `SIGMOID·x`; `tanh y = 1 − 2/(1 + e²ʸ)` of the last, from `TANH·y`:
/// absolute errors below 2e-7 and 3e-7.
#[inline(always)]
pub fn sigmoids_tanh<S: Simd, const N: usize>(simd: S, powers: [S::f32s; N]) -> [S::f32s; N] {
    let (one, two) = (simd.splat_f32s(1.0), simd.splat_f32s(2.0));
    let mut y = one_plus_powers(simd, powers);
    for y in &mut y[..N - 1] {
        *y = simd.div_f32s(one, *y);
    }
    y[N - 1] = simd.sub_f32s(one, simd.div_f32s(two, y[N - 1]));
    y
}

/// tanh, absolute error below 3e-7, from `TANH·x`.
#[inline(always)]
pub fn tanh<S: Simd>(simd: S, power: S::f32s) -> S::f32s {
    sigmoids_tanh(simd, [power])[0]
}

#[cfg(test)]
mod tests {
    use super::super::simd::{PAD, SimdLevel, vectors_mut};
    use super::*;
    use pulp::WithSimd;

    struct Apply<'a>(&'a mut [f32], u8);

    impl WithSimd for Apply<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for x in vectors_mut::<S>(self.0) {
                let (gate, tanh_scale) = (simd.splat_f32s(SIGMOID), simd.splat_f32s(TANH));
                let (s, t) = (simd.mul_f32s(*x, gate), simd.mul_f32s(*x, tanh_scale));
                *x = match self.1 {
                    0 => exp(simd, *x),
                    1 => sigmoids(simd, [s])[0],
                    2 => tanh(simd, t),
                    which => sigmoids_tanh(simd, [s, simd.neg_f32s(s), t])[which as usize - 3],
                };
            }
        }
    }

    #[test]
    fn transcendental_functions_keep_their_stated_errors() {
        for level in SimdLevel::available() {
            let xs: Vec<f32> = (0..200_000).map(|i| (i as f32 - 1e5) * 8e-4).collect();
            for which in 0..6 {
                let mut ys = xs.clone();
                level.run(Apply(&mut ys, which));
                for (&x, &y) in xs.iter().zip(&ys) {
                    let x = x as f64;
                    let (gate, other) = (1.0 / (1.0 + (-x).exp()), 1.0 / (1.0 + x.exp()));
                    let (exact, bound) = match which {
                        0 => (x.exp(), 3e-7 * x.exp()),
                        1 | 3 => (gate, 2e-7),
                        4 => (other, 2e-7),
                        _ => (x.tanh(), 3e-7),
                    };
                    assert!((y as f64 - exact).abs() <= bound, "{level:?} {which} {x}: {y}");
                }
            }
        }
    }

    #[test]
    fn nan_stays_nan() {
        for level in SimdLevel::available() {
            for which in 0..6 {
                let mut values = [f32::NAN; PAD];
                level.run(Apply(&mut values, which));
                assert!(values.iter().all(|y| y.is_nan()), "{level:?} {which}: {values:?}");
            }
        }
    }
}

#[cfg(test)]
#[path = "functions_tests.rs"]
mod every_float;
