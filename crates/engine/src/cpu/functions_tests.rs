//! The transcendental functions on every float against double precision: the error bounds that
//! `docs/src/certificate.md` uses.
//!
//! A test run takes one float in [`STRIDE`]; all of them with `SRNN_EVERY_FLOAT=1`.

use super::super::simd::{PAD, SimdLevel, vectors, vectors_mut, without_denormals};
use super::*;
use pulp::WithSimd;
use rayon::prelude::*;

/// Prime, so that all last bits occur.
const STRIDE: u32 = 499;
const BLOCK: usize = 4096;
const LARGEST: f32 = f32::INFINITY;

/// The outputs: exp, σ, tanh, and a σ and the tanh of `sigmoids_tanh` of three.
const NAMES: [&str; COUNT] = ["exp", "sigmoid", "tanh", "sigmoids_tanh.0", "sigmoids_tanh.2"];
const COUNT: usize = 5;
/// The bounds: relative for exp, absolute for the others.
const BOUNDS: [f64; COUNT] = [4e-7, 6e-7, 6e-7, 6e-7, 6e-7];
/// Beyond this exp is clamped, and the bound of an underflow, ω, applies instead.
const CLAMP: f32 = 86.0;

/// `y_i` of `NAMES[i]` at x.
struct Outputs<'a> {
    x: &'a [f32],
    y: &'a mut [Vec<f32>; COUNT],
}

impl WithSimd for Outputs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (i, &x) in vectors::<S>(self.x).iter().enumerate() {
            let s = simd.mul_f32s(x, simd.splat_f32s(SIGMOID));
            let t = simd.mul_f32s(x, simd.splat_f32s(TANH));
            let three = sigmoids_tanh(simd, [s, s, t]);
            let values = [exp(simd, x), sigmoids(simd, [s])[0], tanh(simd, t), three[0], three[2]];
            for (y, value) in self.y.iter_mut().zip(values) {
                vectors_mut::<S>(y)[i] = value;
            }
        }
    }
}

/// The largest errors on the floats whose bits are `bits` and their negatives.
fn worst(level: SimdLevel, bits: std::ops::Range<u32>, stride: u32) -> [f64; COUNT] {
    let mut worst = [0f64; COUNT];
    let mut y: [Vec<f32>; COUNT] = std::array::from_fn(|_| vec![0.0; 2 * BLOCK]);
    let floats: Vec<f32> = bits.step_by(stride as usize).map(f32::from_bits).collect();
    for some in floats.chunks(BLOCK) {
        let mut x: Vec<f32> = some.iter().flat_map(|&x| [x, -x]).collect();
        x.resize(2 * BLOCK, 0.0);
        without_denormals(|| level.run(Outputs { x: &x, y: &mut y }));
        for (j, &x) in x.iter().enumerate() {
            let found = std::array::from_fn(|f| y[f][j] as f64);
            let errors = errors(x, found);
            (0..COUNT).for_each(|f| worst[f] = worst[f].max(errors[f]));
        }
    }
    worst
}

/// The errors of the outputs at x; a NaN has an infinite error.
fn errors(x: f32, y: [f64; COUNT]) -> [f64; COUNT] {
    let large = x.abs() as f64;
    let e = (-large).exp(); // of −|x|: nothing cancels or overflows
    let small = e / (1.0 + e);
    let (sigma, of_exp) = if x < 0.0 { (small, e) } else { (1.0 - small, 1.0 / e) };
    let tanh = (1.0 - e * e) / (1.0 + e * e) * (x as f64).signum();
    let exact = [of_exp, sigma, tanh, sigma, tanh];
    std::array::from_fn(|f| {
        let error = match f {
            0 if x.abs() > CLAMP => 0.0,
            0 => (y[0] - exact[0]).abs() / exact[0],
            _ => (y[f] - exact[f]).abs(),
        };
        if error.is_nan() { f64::INFINITY } else { error }
    })
}

#[test]
fn the_functions_keep_the_error_bounds_of_certificates() {
    let stride = if std::env::var_os("SRNN_EVERY_FLOAT").is_some() { 1 } else { STRIDE };
    let end = LARGEST.to_bits() + 1;
    let parts: Vec<u32> = (0..end).step_by(1 << 20).collect();
    for level in SimdLevel::available() {
        let found = parts
            .par_iter()
            .map(|&first| worst(level, first..(first + (1 << 20)).min(end), stride));
        let max = |a: [f64; COUNT], b: [f64; COUNT]| std::array::from_fn(|f| a[f].max(b[f]));
        let found = found.reduce(|| [0.0; COUNT], max);
        for (f, name) in NAMES.iter().enumerate() {
            println!("{level:?} {name:15} {:.3e} of {:.0e}", found[f], BOUNDS[f]);
            assert!(found[f] <= BOUNDS[f], "{level:?} {name}: {:e}", found[f]);
        }
    }
}

#[test]
fn below_its_clamp_exp_is_within_the_bound_for_underflow() {
    for level in SimdLevel::available() {
        let x: Vec<f32> = (0..PAD * 64).map(|i| -86.0 - i as f32 * 0.5).collect();
        let mut y: [Vec<f32>; COUNT] = std::array::from_fn(|_| vec![0.0; x.len()]);
        level.run(Outputs { x: &x, y: &mut y });
        assert!(y[0].iter().all(|&y| (0.0..1e-37).contains(&y)), "{level:?}");
    }
}
