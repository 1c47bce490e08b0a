//! Vectors: dispatch, aligned memory, and the three transcendental functions.

use pulp::{Simd, WithSimd};

/// Every unit vector is padded to a multiple of this many numbers: the widest vector there is.
pub const PAD: usize = 16;

/// `n` rounded up to whole vectors.
pub fn padded(n: usize) -> usize {
    n.next_multiple_of(PAD)
}

/// An instruction set the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// AVX-512.
    Avx512,
    /// AVX2 with FMA.
    Avx2,
    /// Whatever the target's baseline has.
    Scalar,
}

impl Level {
    /// The best this machine has.
    pub fn best() -> Level {
        *Level::available().first().expect("scalar code always runs")
    }

    /// All this machine has, best first.
    pub fn available() -> Vec<Level> {
        let all = [Level::Avx512, Level::Avx2, Level::Scalar];
        all.into_iter().filter(|level| level.is_available()).collect()
    }

    /// Numbers per vector.
    pub fn lanes(self) -> usize {
        match self {
            Level::Avx512 => 16,
            Level::Avx2 => 8,
            Level::Scalar => 1,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Level::Avx512 => pulp::x86::V4::try_new().is_some(),
            Level::Avx2 => pulp::x86::V3::try_new().is_some(),
            Level::Scalar => true,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Level::Scalar
    }

    /// Runs `op`, compiled for this level.
    ///
    /// # Panics
    /// If the machine does not have it.
    pub fn run<Op: WithSimd>(self, op: Op) -> Op::Output {
        #[cfg(target_arch = "x86_64")]
        match self {
            Level::Avx512 => {
                return Simd::vectorize(pulp::x86::V4::try_new().expect("AVX-512"), op);
            }
            Level::Avx2 => return Simd::vectorize(pulp::x86::V3::try_new().expect("AVX2"), op),
            Level::Scalar => {}
        }
        op.with_simd(pulp::Scalar::new())
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Level::Avx512 => "avx-512",
            Level::Avx2 => "avx2",
            Level::Scalar => "scalar",
        })
    }
}

/// Floats on cache-line boundaries: a vector load that straddles two lines costs double.
#[derive(Clone, Default)]
pub struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; PAD]);

impl Aligned {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Aligned { lines: vec![Line([0.0; PAD]); len.div_ceil(PAD)], len }
    }

    /// Makes room for `len` numbers; what they are is not said. Keeps its memory: page faults of
    /// fresh buffers cost as much as the kernels.
    pub fn resize(&mut self, len: usize) {
        if len.div_ceil(PAD) > self.lines.len() {
            self.lines.resize(len.div_ceil(PAD), Line([0.0; PAD]));
        }
        self.len = len;
    }
}

impl std::ops::Deref for Aligned {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: `lines` holds at least `len` f32 in a row: `Line` is `repr(C)`, its size is the
        // array's because 64 divides it, and `len ≤ lines.len() · PAD` is kept by `resize`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// The vectors of a slice whose length is a multiple of the lanes.
#[inline(always)]
pub fn vectors<S: Simd>(values: &[f32]) -> &[S::f32s] {
    S::as_simd_f32s(values).0
}

/// The vectors of a slice whose length is a multiple of the lanes, to be written.
#[inline(always)]
pub fn vectors_mut<S: Simd>(values: &mut [f32]) -> &mut [S::f32s] {
    S::as_mut_simd_f32s(values).0
}

/// `eˣ`, relative error below 3e-7; arguments are clamped to ±86.
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let limit = simd.splat_f32s(86.0);
    exp_within(simd, between(simd, simd.neg_f32s(limit), x, limit))
}

/// `eˣ` for |x| ≤ 86.
#[inline(always)]
fn exp_within<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let [y] = exps_within(simd, [x]);
    y
}

/// `eˣ` of several |x| ≤ 86.
// PERF: one operation of all, then the next: each depends on the one before it, and a processor
// looks ahead too little to find the next exponential by itself (T=784, d=256, k=10: 223 ms, 237
// one after the other). Of two rows at a time they need more registers than there are.
#[inline(always)]
fn exps_within<S: Simd, const N: usize>(simd: S, x: [S::f32s; N]) -> [S::f32s; N] {
    let magic = simd.splat_f32s(12_582_912.0);
    // x = n·ln 2 + r: adding 1.5·2²³ rounds to an integer and leaves it in the low bits.
    let shifted = mul_adds(simd, x, [simd.splat_f32s(std::f32::consts::LOG2_E); N], magic);
    let mut n = shifted;
    for n in &mut n {
        *n = simd.sub_f32s(*n, magic);
    }
    let mut r = x;
    for c in [-0.693_359_4, 2.121_944_4e-4] {
        for j in 0..N {
            r[j] = simd.mul_add_e_f32s(n[j], simd.splat_f32s(c), r[j]);
        }
    }
    // (eʳ − 1 − r)/r² on |r| ≤ ½ ln 2: minimax, relative error of eʳ 1.1e-7.
    let mut p = [simd.splat_f32s(0.008_312_518); N];
    for c in [0.041_890_156, 0.166_671_14, 0.499_992_3] {
        p = mul_adds(simd, r, p, simd.splat_f32s(c));
    }
    for j in 0..N {
        let line = simd.add_f32s(r[j], simd.splat_f32s(1.0));
        p[j] = simd.mul_add_e_f32s(simd.mul_f32s(r[j], r[j]), p[j], line);
    }
    for j in 0..N {
        let bits = simd.transmute_u32s_f32s(shifted[j]);
        let scale = simd.wrapping_dyn_shl_u32s(bits, simd.splat_u32s(23));
        p[j] = simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(p[j]), scale));
    }
    p
}

/// `x·y + c`, one by one.
#[inline(always)]
fn mul_adds<S: Simd, const N: usize>(
    simd: S,
    x: [S::f32s; N],
    mut y: [S::f32s; N],
    c: S::f32s,
) -> [S::f32s; N] {
    for j in 0..N {
        y[j] = simd.mul_add_e_f32s(x[j], y[j], c);
    }
    y
}

/// `1 + eˣ` with the arguments clamped so that three of them can be multiplied; beyond the clamp
/// σ and tanh are 0 and ±1 to single precision.
#[inline(always)]
fn one_plus_exps<S: Simd, const N: usize>(simd: S, mut x: [S::f32s; N]) -> [S::f32s; N] {
    for x in &mut x {
        *x = between(simd, simd.splat_f32s(-28.0), *x, simd.splat_f32s(28.0));
    }
    let mut y = exps_within(simd, x);
    for y in &mut y {
        *y = simd.add_f32s(simd.splat_f32s(1.0), *y);
    }
    y
}

/// x, or the nearer of two bounds; NaN stays NaN.
#[inline(always)]
pub fn between<S: Simd>(simd: S, low: S::f32s, x: S::f32s, high: S::f32s) -> S::f32s {
    if S::F32_LANES > 1 {
        // Of a NaN and a number, the vector instructions return the second.
        return simd.max_f32s(low, simd.min_f32s(high, x));
    }
    let x = simd.select_f32s(simd.less_than_f32s(high, x), high, x);
    simd.select_f32s(simd.less_than_f32s(x, low), low, x)
}

// One reciprocal of a product serves all functions of a gate: a division costs about as much as
// an exponential.

/// `σ(x)` and `tanh(y)`, absolute errors below 4e-7.
#[inline(always)]
pub fn sigmoid_tanh<S: Simd>(simd: S, x: S::f32s, y: S::f32s) -> (S::f32s, S::f32s) {
    let [a, b] = one_plus_exps(simd, [simd.neg_f32s(x), simd.add_f32s(y, y)]);
    let one = simd.splat_f32s(1.0);
    let inverse = simd.div_f32s(one, simd.mul_f32s(a, b));
    let twice = simd.add_f32s(inverse, inverse);
    (simd.mul_f32s(inverse, b), simd.negate_mul_add_e_f32s(twice, a, one))
}

/// `σ(x)`, `σ(y)` and `tanh(z)`, absolute errors below 4e-7.
#[inline(always)]
pub fn sigmoids_tanh<S: Simd>(simd: S, x: S::f32s, y: S::f32s, z: S::f32s) -> [S::f32s; 3] {
    let args = [simd.neg_f32s(x), simd.neg_f32s(y), simd.add_f32s(z, z)];
    let [a, b, c] = one_plus_exps(simd, args);
    let one = simd.splat_f32s(1.0);
    let ab = simd.mul_f32s(a, b);
    let inverse = simd.div_f32s(one, simd.mul_f32s(ab, c));
    let twice = simd.add_f32s(inverse, inverse);
    let rest = simd.mul_f32s(inverse, c);
    [simd.mul_f32s(rest, b), simd.mul_f32s(rest, a), simd.negate_mul_add_e_f32s(twice, ab, one)]
}

/// `1 / (1 + e⁻ˣ)`, absolute error below 2e-7.
#[inline(always)]
pub fn sigmoid<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    simd.div_f32s(one, simd.add_f32s(one, exp(simd, simd.neg_f32s(x))))
}

/// `tanh x = 1 − 2/(1 + e²ˣ)`, absolute error below 3e-7.
#[inline(always)]
pub fn tanh<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let one = simd.splat_f32s(1.0);
    let e = exp(simd, simd.add_f32s(x, x));
    simd.sub_f32s(one, simd.div_f32s(simd.splat_f32s(2.0), simd.add_f32s(one, e)))
}

/// Runs `work` with denormals flushed to zero, in this thread. Adjoints underflow on long
/// sequences, and arithmetic on denormals is many times slower.
pub fn without_denormals<A>(work: impl FnOnce() -> A) -> A {
    #[cfg(target_arch = "x86_64")]
    {
        /// Puts the control register back when the work is done, or panics.
        struct Restore(u32);
        impl Drop for Restore {
            fn drop(&mut self) {
                set_mxcsr(self.0);
            }
        }
        const FLUSH_TO_ZERO: u32 = 1 << 15;
        const DENORMALS_ARE_ZERO: u32 = 1 << 6;
        let before = mxcsr();
        let _restore = Restore(before);
        set_mxcsr(before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
        work()
    }
    #[cfg(not(target_arch = "x86_64"))]
    work()
}

#[cfg(target_arch = "x86_64")]
fn mxcsr() -> u32 {
    let mut value = 0u32;
    // SAFETY: stores the 32-bit control register to a live u32. Every x86-64 has SSE.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack)) };
    value
}

#[cfg(target_arch = "x86_64")]
fn set_mxcsr(value: u32) {
    // SAFETY: loads the control register from a live u32 that `mxcsr` read, with at most the two
    // flush bits added: no exception is unmasked.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, readonly)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Apply<'a>(&'a mut [f32], u8);

    impl WithSimd for Apply<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for x in vectors_mut::<S>(self.0) {
                *x = match self.1 {
                    0 => exp(simd, *x),
                    1 => sigmoid(simd, *x),
                    2 => tanh(simd, *x),
                    3 => sigmoid_tanh(simd, *x, *x).0,
                    4 => sigmoid_tanh(simd, *x, *x).1,
                    which => sigmoids_tanh(simd, *x, simd.neg_f32s(*x), *x)[which as usize - 5],
                };
            }
        }
    }

    #[test]
    fn transcendental_functions_keep_their_stated_errors() {
        for level in Level::available() {
            let xs: Vec<f32> = (0..200_000).map(|i| (i as f32 - 1e5) * 8e-4).collect();
            for which in 0..8 {
                let mut ys = xs.clone();
                level.run(Apply(&mut ys, which));
                for (&x, &y) in xs.iter().zip(&ys) {
                    let x = x as f64;
                    let (exact, bound) = match which {
                        0 => (x.exp(), 3e-7 * x.exp()),
                        1 => (1.0 / (1.0 + (-x).exp()), 2e-7),
                        2 => (x.tanh(), 3e-7),
                        3 | 5 => (1.0 / (1.0 + (-x).exp()), 4e-7),
                        6 => (1.0 / (1.0 + x.exp()), 4e-7),
                        _ => (x.tanh(), 4e-7),
                    };
                    assert!((y as f64 - exact).abs() <= bound, "{level:?} {which} {x}: {y}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_a_number_stays_so() {
        for level in Level::available() {
            for which in 0..8 {
                let mut values = [f32::NAN; PAD];
                level.run(Apply(&mut values, which));
                assert!(values.iter().all(|y| y.is_nan()), "{level:?} {which}: {values:?}");
            }
        }
    }

    #[test]
    fn denormals_are_flushed_inside_and_kept_outside() {
        let small = std::hint::black_box(f32::MIN_POSITIVE);
        let half = || std::hint::black_box(small) * std::hint::black_box(0.5);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(without_denormals(half), 0.0);
        }
        assert!(half() > 0.0);
    }
}

#[cfg(test)]
#[path = "simd_tests.rs"]
mod every_float;
