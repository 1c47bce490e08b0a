//! Vectors: dispatch, aligned memory, and the control register.

use pulp::{Simd, WithSimd};

/// Vectors over units are padded to a multiple of this many floats, the widest SIMD vector.
pub const PAD: usize = 16;

/// `n` rounded up to whole vectors.
pub fn padded(n: usize) -> usize {
    n.next_multiple_of(PAD)
}

/// An instruction set the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimdLevel {
    /// AVX-512.
    Avx512,
    /// AVX2 with FMA.
    Avx2,
    /// The baseline of the compilation target.
    Scalar,
}

impl SimdLevel {
    /// The best level of this machine.
    pub fn best() -> SimdLevel {
        *SimdLevel::available().first().expect("scalar code always runs")
    }

    /// All levels of this machine, best first.
    pub fn available() -> Vec<SimdLevel> {
        let all = [SimdLevel::Avx512, SimdLevel::Avx2, SimdLevel::Scalar];
        all.into_iter().filter(|level| level.is_available()).collect()
    }

    /// Floats per vector.
    pub fn lanes(self) -> usize {
        match self {
            SimdLevel::Avx512 => 16,
            SimdLevel::Avx2 => 8,
            SimdLevel::Scalar => 1,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            SimdLevel::Avx512 => pulp::x86::V4::try_new().is_some(),
            SimdLevel::Avx2 => pulp::x86::V3::try_new().is_some(),
            SimdLevel::Scalar => true,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == SimdLevel::Scalar
    }

    /// Runs `op`, compiled for this level.
    ///
    /// # Panics
    /// If the machine does not support it.
    pub fn run<Op: WithSimd>(self, op: Op) -> Op::Output {
        #[cfg(target_arch = "x86_64")]
        match self {
            SimdLevel::Avx512 => {
                return Simd::vectorize(pulp::x86::V4::try_new().expect("AVX-512"), op);
            }
            SimdLevel::Avx2 => return Simd::vectorize(pulp::x86::V3::try_new().expect("AVX2"), op),
            SimdLevel::Scalar => {}
        }
        op.with_simd(pulp::Scalar::new())
    }
}

impl std::fmt::Display for SimdLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SimdLevel::Avx512 => "avx-512",
            SimdLevel::Avx2 => "avx2",
            SimdLevel::Scalar => "scalar",
        })
    }
}

/// Floats aligned to cache lines: a vector load across two lines costs double.
#[derive(Clone, Default)]
pub struct AlignedVec {
    lines: Vec<CacheLine>,
    len: usize,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([f32; PAD]);

impl AlignedVec {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        AlignedVec { lines: vec![CacheLine([0.0; PAD]); len.div_ceil(PAD)], len }
    }

    /// Resizes to `len` zeros.
    pub fn clear(&mut self, len: usize) {
        self.resize(len);
        self.fill(0.0);
    }

    /// Resizes to `len` floats with unspecified values. Never frees memory: page faults of fresh
    /// buffers cost as much as the kernels.
    pub fn resize(&mut self, len: usize) {
        if len.div_ceil(PAD) > self.lines.len() {
            self.lines.resize(len.div_ceil(PAD), CacheLine([0.0; PAD]));
        }
        self.len = len;
    }

    /// Copies `from` with non-temporal stores, which bypass the caches.
    // PERF: cache lines that another core has read are slow to overwrite: 8 to 10 ns a line where the
    // cores share a third-level cache, 2 so.
    pub fn copy_non_temporal(&mut self, from: &AlignedVec) {
        self.resize(from.len);
        let lines = &from.lines[..from.len.div_ceil(PAD)];
        self.lines.iter_mut().zip(lines).for_each(|(into, from)| {
            #[cfg(target_arch = "x86_64")]
            for (into, from) in into.0.chunks_exact_mut(4).zip(from.0.chunks_exact(4)) {
                use std::arch::x86_64::{_mm_load_ps, _mm_stream_ps};
                // SAFETY: every x86-64 has SSE. Both pointers are to four floats aligned to 16 bytes,
                // because lines are aligned to 64. The fence that such stores need follows below.
                unsafe { _mm_stream_ps(into.as_mut_ptr(), _mm_load_ps(from.as_ptr())) };
            }
            #[cfg(not(target_arch = "x86_64"))]
            into.0.copy_from_slice(&from.0);
        });
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has SSE.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

impl std::ops::Deref for AlignedVec {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: `lines` holds at least `len` contiguous f32. `CacheLine` is `repr(C)` and as large as
        // its array because 64 divides that size, and `resize` keeps `len ≤ lines.len() · PAD`.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl std::ops::DerefMut for AlignedVec {
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

/// The vectors of a mutable slice whose length is a multiple of the lanes.
#[inline(always)]
pub fn vectors_mut<S: Simd>(values: &mut [f32]) -> &mut [S::f32s] {
    S::as_mut_simd_f32s(values).0
}

/// The AVX-512 instructions, if S is AVX-512: for operations that other sets do not have.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn avx512<S: Simd>(simd: S) -> Option<pulp::x86::V4> {
    (&simd as &dyn std::any::Any).downcast_ref().copied()
}

/// Vectors of half the AVX-512 width; elsewhere unused.
#[cfg(not(target_arch = "x86_64"))]
pub use pulp::Scalar as HalfVectors;
#[cfg(target_arch = "x86_64")]
pub use pulp::x86::V3 as HalfVectors;

/// Half vectors, if S is AVX-512 and the last strip of `units` units fits in one.
#[inline(always)]
pub fn half_vectors<S: Simd>(simd: S, units: usize) -> Option<HalfVectors> {
    #[cfg(target_arch = "x86_64")]
    if (1..=PAD / 2).contains(&(units % PAD)) {
        return avx512(simd).map(|simd| *simd);
    }
    let _ = (simd, units);
    None
}

/// The strips of a slice, PER vectors each: one vector, or two half vectors of which the first has
/// all units.
#[inline(always)]
pub fn strips<S: Simd, const PER: usize>(values: &[f32]) -> &[[S::f32s; PER]] {
    vectors::<S>(values).as_chunks().0
}

/// The strips of a mutable slice.
#[inline(always)]
pub fn strips_mut<S: Simd, const PER: usize>(values: &mut [f32]) -> &mut [[S::f32s; PER]] {
    vectors_mut::<S>(values).as_chunks_mut().0
}

/// Runs `work` with denormals flushed to zero, in this thread. Adjoints underflow on long
/// sequences, and arithmetic on denormals is many times slower.
pub fn without_denormals<A>(work: impl FnOnce() -> A) -> A {
    #[cfg(target_arch = "x86_64")]
    {
        /// Restores the control register when `work` returns or panics.
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
