//! The transcendental functions on every float from −90 to 90, against doubles: the errors that
//! `docs/certificate.md` charges.
//!
//! A test run takes one float in [`STRIDE`]; all of them with `SRNN_EVERY_FLOAT=1`.

use super::super::simd::{Level, PAD, vectors, vectors_mut, without_denormals};
use super::*;
use crate::key::Key;
use pulp::WithSimd;
use rayon::prelude::*;

/// Prime, so that all last bits occur.
const STRIDE: u32 = 499;
const BLOCK: usize = 4096;
const LARGEST: f32 = 90.0;

/// Outputs: exp, σ, tanh; σ and tanh of the pair; σ, σ and tanh of the triple.
const NAMES: [&str; 8] = [
    "exp",
    "sigmoid",
    "tanh",
    "sigmoid_tanh.0",
    "sigmoid_tanh.1",
    "sigmoids_tanh.0",
    "sigmoids_tanh.1",
    "sigmoids_tanh.2",
];
/// As charged: relative for exp, absolute for the others.
const CHARGED: [f64; 8] = [4e-7, 6e-7, 6e-7, 6e-7, 6e-7, 6e-7, 6e-7, 6e-7];
/// Where exp is clamped its value is lost, and ω is charged.
const CLAMP: f32 = 86.0;

/// `y_i` of `NAMES[i]` at x, the other arguments of a pair or triple being `p` and `q`.
struct Outputs<'a> {
    x: &'a [f32],
    p: &'a [f32],
    q: &'a [f32],
    y: &'a mut [Vec<f32>; 8],
}

impl WithSimd for Outputs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (x, p, q) = (vectors::<S>(self.x), vectors::<S>(self.p), vectors::<S>(self.q));
        for i in 0..x.len() {
            let (x, p, q) = (x[i], p[i], q[i]);
            let (gate, line) = (simd.splat_f32s(SIGMOID), simd.splat_f32s(TANH));
            let [s_x, s_p, s_q] = [x, p, q].map(|x| simd.mul_f32s(x, gate));
            let [t_x, t_p, t_q] = [x, p, q].map(|x| simd.mul_f32s(x, line));
            let values = [
                exp(simd, x),
                sigmoids(simd, [s_x])[0],
                tanh(simd, t_x),
                sigmoid_tanh(simd, [s_x, t_p])[0],
                sigmoid_tanh(simd, [s_p, t_x])[1],
                sigmoids_tanh(simd, [s_x, s_p, t_q])[0],
                sigmoids_tanh(simd, [s_p, s_x, t_q])[1],
                sigmoids_tanh(simd, [s_p, s_q, t_x])[2],
            ];
            for (y, value) in self.y.iter_mut().zip(values) {
                vectors_mut::<S>(y)[i] = value;
            }
        }
    }
}

/// The other arguments: large ones make the shared reciprocal smallest, the rest is random.
fn others() -> Vec<f32> {
    let mut draw = Key::new(41).stream();
    let edges = [0.0, 1e-20, -1e-20, 13.9, -13.9, 14.1, 27.9, -27.9, 28.1, -28.1, 90.0, -90.0];
    let random = (0..500).map(|i| (draw.normal() * [1.0, 5.0, 20.0][i % 3]) as f32);
    edges.into_iter().chain(random).collect()
}

/// The largest errors on the floats whose bits are `bits` and their negatives.
fn worst(level: Level, bits: std::ops::Range<u32>, stride: u32, others: &[f32]) -> [f64; 8] {
    let mut worst = [0f64; 8];
    let mut y: [Vec<f32>; 8] = std::array::from_fn(|_| vec![0.0; 2 * BLOCK]);
    let floats: Vec<f32> = bits.step_by(stride as usize).map(f32::from_bits).collect();
    for (i, some) in floats.chunks(BLOCK).enumerate() {
        let mut x: Vec<f32> = some.iter().flat_map(|&x| [x, -x]).collect();
        x.resize(2 * BLOCK, 0.0);
        let other = |by: usize| -> Vec<f32> {
            (0..2 * BLOCK).map(|j| others[(j * by + i * 7919) % others.len()]).collect()
        };
        let (p, q) = (other(1), other(5));
        without_denormals(|| level.run(Outputs { x: &x, p: &p, q: &q, y: &mut y }));
        for (j, &x) in x.iter().enumerate() {
            let found = std::array::from_fn(|f| y[f][j] as f64);
            let errors = errors(x, found);
            (0..8).for_each(|f| worst[f] = worst[f].max(errors[f]));
        }
    }
    worst
}

/// The errors of the eight outputs at x; what is no number is infinitely wrong.
fn errors(x: f32, y: [f64; 8]) -> [f64; 8] {
    let large = x.abs() as f64;
    let e = (-large).exp(); // of −|x|: nothing cancels or overflows
    let small = e / (1.0 + e);
    let (sigma, of_exp) = if x < 0.0 { (small, e) } else { (1.0 - small, 1.0 / e) };
    let tanh = (1.0 - e * e) / (1.0 + e * e) * (x as f64).signum();
    let exact = [of_exp, sigma, tanh, sigma, tanh, sigma, sigma, tanh];
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
fn the_functions_keep_the_errors_that_certificates_charge() {
    let stride = if std::env::var_os("SRNN_EVERY_FLOAT").is_some() { 1 } else { STRIDE };
    let (others, end) = (others(), LARGEST.to_bits() + 1);
    let parts: Vec<u32> = (0..end).step_by(1 << 20).collect();
    for level in Level::available() {
        let found = parts
            .par_iter()
            .map(|&first| worst(level, first..(first + (1 << 20)).min(end), stride, &others));
        let max = |a: [f64; 8], b: [f64; 8]| std::array::from_fn(|f| a[f].max(b[f]));
        let found = found.reduce(|| [0.0; 8], max);
        for (f, name) in NAMES.iter().enumerate() {
            println!("{level:?} {name:15} {:.3e} of {:.0e}", found[f], CHARGED[f]);
            assert!(found[f] <= CHARGED[f], "{level:?} {name}: {:e}", found[f]);
        }
    }
}

#[test]
fn below_its_clamp_exp_loses_less_than_what_is_charged_for_underflow() {
    for level in Level::available() {
        let x: Vec<f32> = (0..PAD * 64).map(|i| -86.0 - i as f32 * 0.5).collect();
        let mut y: [Vec<f32>; 8] = std::array::from_fn(|_| vec![0.0; x.len()]);
        level.run(Outputs { x: &x, p: &x, q: &x, y: &mut y });
        assert!(y[0].iter().all(|&y| (0.0..1e-37).contains(&y)), "{level:?}");
    }
}
