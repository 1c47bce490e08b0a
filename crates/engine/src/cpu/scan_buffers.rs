//! The memory of four rows in one layer: what the scan keeps of every step, of the steps of a
//! segment, and of one step.

use super::cells::CellKernel;
use super::kernels::ROWS;
use super::prepare::{PreparedLayer, ReadSource};
use super::simd::AlignedVec;

/// Steps of the shortest segment.
const SHORTEST_SEGMENT: usize = 3;

/// How much of the forward pass is kept for the backward pass.
#[derive(Clone, Copy, Debug)]
pub struct RecomputePolicy {
    /// The last steps are kept, as many as fit in this many bytes.
    pub kept_bytes: usize,
    /// The steps before them are recomputed in segments whose gates, or gradients, fit in this many
    /// bytes.
    pub segment_bytes: usize,
}

/// One layer's memory for four rows. It grows as needed and is reused.
#[derive(Default)]
pub struct ScanBuffers {
    /// Rows of the token table `[T]`, where the layer reads tokens.
    pub table_rows: Vec<[u32; ROWS]>,
    /// The rows of the same tokens in the gradient of the table `[T]`.
    pub d_table_rows: Vec<[u32; ROWS]>,
    /// What the layer reads `[T, ROWS, n_in_p]`, where it reads vectors of the batch.
    pub read: AlignedVec,
    /// `[T+1, ROWS, np]`; step 0 is the initial state.
    pub carry: AlignedVec,
    /// α `[T+1, ROWS, kp]`.
    pub alpha: AlignedVec,
    /// ln α `[T+1, ROWS, kp]`, where the entropy has a weight; else empty.
    pub log_alpha: AlignedVec,
    /// h `[T, ROWS, dp]`, where the layer above reads it.
    pub hidden: AlignedVec,
    /// ∂/∂ what was read `[T, ROWS, n_in_p]`, for the layer below.
    pub d_read: AlignedVec,
    /// The first steps, whose gates are recomputed: a whole number of segments.
    pub recomputed: usize,
    /// Steps per segment.
    pub segment: usize,
    /// Steps per block of a segment.
    pub block: usize,
    /// c at the start of each segment.
    pub segment_c: AlignedVec,
    /// c `[I+1, ROWS, dp]`, I the steps of a segment or those that are kept.
    pub c: AlignedVec,
    /// u `[I, ROWS, dp]`.
    pub u: AlignedVec,
    pub gates: AlignedVec,
    pub da_in: AlignedVec,
    pub da_state: AlignedVec,
    /// ∂/∂ scores (Dot) or slopes along u − s (Euclidean) `[block, ROWS, kp]`.
    pub d_scores: AlignedVec,
    /// ∂/∂ αS `[block, ROWS, dp]`.
    pub d_mixture: AlignedVec,
    /// Vectors of one step.
    pub step: StepBuffers,
    pub scratch: Vec<f32>,
}

/// Vectors of one step `[ROWS, ·]`.
#[derive(Default)]
pub struct StepBuffers {
    pub scores: AlignedVec,
    pub mixture: AlignedVec,
    pub du: AlignedVec,
    pub dc: AlignedVec,
    pub dh: AlignedVec,
    pub d_carry: AlignedVec,
    pub d_alpha: AlignedVec,
    pub scratch: AlignedVec,
}

impl ScanBuffers {
    /// Resizes all buffers for `steps` steps of a layer and clears the initial state.
    pub fn resize<C: CellKernel>(
        &mut self,
        p: &PreparedLayer,
        steps: usize,
        policy: RecomputePolicy,
        needs_entropy: bool,
    ) {
        let cp = if p.cell.has_memory() { p.dp } else { 0 };
        let stored = self.split_steps::<C>(p, steps, policy);
        let wide = ROWS * p.dp;
        self.carry.resize((steps + 1) * ROWS * p.np);
        self.alpha.resize((steps + 1) * ROWS * p.kp);
        self.log_alpha.resize(if needs_entropy { (steps + 1) * ROWS * p.kp } else { 0 });
        self.d_read.resize(steps * ROWS * p.n_in_p);
        self.segment_c.resize(self.recomputed / self.segment * ROWS * cp);
        self.c.resize((stored + 1) * ROWS * cp);
        self.u.resize(stored * wide);
        self.gates.resize(stored * wide * C::GATES);
        self.da_in.resize(self.block * wide * C::INPUTS);
        self.da_state.resize(self.block * wide * C::STATES);
        self.d_scores.resize(self.block * ROWS * p.kp);
        self.d_mixture.resize(self.block * wide);
        self.step.clear(p);
        self.carry[..ROWS * p.np].fill(0.0);
        self.alpha[..ROWS * p.kp].fill(0.0);
        self.c[..ROWS * cp].fill(0.0);
    }

    /// Splits the steps into those that are recomputed, in segments, and those that are kept;
    /// returns how many steps are stored at a time.
    fn split_steps<C: CellKernel>(
        &mut self,
        p: &PreparedLayer,
        steps: usize,
        policy: RecomputePolicy,
    ) -> usize {
        // Of each step: gates, c and u; the gradients of its blocks and of αS.
        let (kept, gradients) = (C::GATES + 2, C::INPUTS + C::STATES + 1);
        let fitting = |bytes: usize, vectors: usize| bytes / (vectors * ROWS * p.dp * 4);
        self.segment = fitting(policy.segment_bytes, kept).max(SHORTEST_SEGMENT);
        let (kept_bytes, last) = (policy.kept_bytes * kept_factor(p), steps.max(1) - 1);
        let not_kept = steps.saturating_sub(fitting(kept_bytes, kept));
        self.recomputed = not_kept.div_ceil(self.segment).min(last / self.segment) * self.segment;
        let stored =
            if self.recomputed > 0 { self.segment } else { 1 }.max(steps - self.recomputed);
        self.block = fitting(policy.segment_bytes, gradients).max(SHORTEST_SEGMENT).min(stored);
        stored
    }

    /// Floats of c in a step of four rows.
    pub fn c_width(&self, p: &PreparedLayer) -> usize {
        if p.cell.has_memory() { ROWS * p.dp } else { 0 }
    }

    /// What the layer above reads from this one.
    fn emitted(&self, p: &PreparedLayer, source: ReadSource) -> &[f32] {
        if source == ReadSource::Hidden { &self.hidden } else { &self.carry[ROWS * p.np..] }
    }
}

impl StepBuffers {
    /// Zeros of the sizes of a layer.
    fn clear(&mut self, p: &PreparedLayer) {
        for (buffer, len) in [
            (&mut self.scores, p.kp),
            (&mut self.d_alpha, p.kp),
            (&mut self.mixture, p.dp),
            (&mut self.du, p.dp),
            (&mut self.dc, p.dp),
            (&mut self.dh, p.dp),
            (&mut self.scratch, p.dp),
            (&mut self.d_carry, p.np),
        ] {
            buffer.clear(ROWS * len);
        }
    }
}

/// The factor of [`RecomputePolicy::kept_bytes`] for a layer.
// PERF: the more is carried, the more there is to recompute (T=784, d=256, two threads, k=50:
// 258 ms a step, 274 with a third as many; k=100: 463, 498 with a quarter).
fn kept_factor(p: &PreparedLayer) -> usize {
    const FEW: usize = 16;
    (p.n / FEW).clamp(1, 4)
}

/// The vectors a layer reads `[T, ROWS, n_in_p]`; empty for a table.
pub fn input_vectors<'a>(
    p: &PreparedLayer,
    own: &'a AlignedVec,
    below: Option<(&PreparedLayer, &'a ScanBuffers)>,
) -> &'a [f32] {
    match (p.source, below) {
        (ReadSource::Table, _) => &[],
        (ReadSource::Carry | ReadSource::Hidden, Some((p_below, below))) => {
            below.emitted(p_below, p.source)
        }
        _ => own,
    }
}
