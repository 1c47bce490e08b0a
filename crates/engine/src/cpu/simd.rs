//! Vectors: dispatch, aligned memory, and the control register.

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

    /// Makes these `len` zeros.
    pub fn clear(&mut self, len: usize) {
        self.resize(len);
        self.fill(0.0);
    }

    /// Makes room for `len` numbers; what they are is not said. Keeps its memory: page faults of
    /// fresh buffers cost as much as the kernels.
    pub fn resize(&mut self, len: usize) {
        if len.div_ceil(PAD) > self.lines.len() {
            self.lines.resize(len.div_ceil(PAD), Line([0.0; PAD]));
        }
        self.len = len;
    }

    /// Makes these those of another, past the caches.
    // PERF: memory that another core has read is slow to write again: 8 to 10 ns a line where they
    // share a third-level cache, 2 so.
    pub fn receive(&mut self, from: &Aligned) {
        self.resize(from.len);
        let lines = &from.lines[..from.len.div_ceil(PAD)];
        self.lines.iter_mut().zip(lines).for_each(|(into, from)| {
            #[cfg(target_arch = "x86_64")]
            for (into, from) in into.0.chunks_exact_mut(4).zip(from.0.chunks_exact(4)) {
                use std::arch::x86_64::{_mm_load_ps, _mm_stream_ps};
                // SAFETY: every x86-64 has it; both are four numbers on a multiple of 16 bytes, for
                // lines are on one of 64; and below is the fence that such stores need.
                unsafe { _mm_stream_ps(into.as_mut_ptr(), _mm_load_ps(from.as_ptr())) };
            }
            #[cfg(not(target_arch = "x86_64"))]
            into.0.copy_from_slice(&from.0);
        });
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has it.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
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

/// The instructions of AVX-512, where S is these: for what no other set has.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn avx512<S: Simd>(simd: S) -> Option<pulp::x86::V4> {
    (&simd as &dyn std::any::Any).downcast_ref().copied()
}

/// Vectors of half the width of the widest.
#[cfg(target_arch = "x86_64")]
pub type Half = pulp::x86::V3;
/// There are none.
#[cfg(not(target_arch = "x86_64"))]
pub type Half = pulp::Scalar;

/// Half vectors, where S is the widest and the last stretch of so many units needs no more.
#[inline(always)]
pub fn half<S: Simd>(simd: S, units: usize) -> Option<Half> {
    #[cfg(target_arch = "x86_64")]
    if (1..=PAD / 2).contains(&(units % PAD)) {
        return avx512(simd).map(|simd| *simd);
    }
    let _ = (simd, units);
    None
}

/// The stretches of a slice, PER vectors each: one, or two halves of which the first has all units.
#[inline(always)]
pub fn stretches<S: Simd, const PER: usize>(values: &[f32]) -> &[[S::f32s; PER]] {
    vectors::<S>(values).as_chunks().0
}

/// The stretches of a slice, to be written.
#[inline(always)]
pub fn stretches_mut<S: Simd, const PER: usize>(values: &mut [f32]) -> &mut [[S::f32s; PER]] {
    vectors_mut::<S>(values).as_chunks_mut().0
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
