//! Four rows through one layer, forward over all steps and back.
//!
//! The forward pass keeps what is carried (α or h) of every step, the gates of the last steps, and
//! c at the start of every segment of the steps before them. The backward pass goes segment by
//! segment. It recomputes gates that were not kept; this needs no reduction, because a unit's gates
//! depend on its own c alone. Then, block by block, it computes the adjoints of the steps and their
//! parameter gradients, in one product each.

use super::block_gradients::BlockGradients;
use super::cells::{CellKernel, StepInput};
use super::kernels::ROWS;
use super::panels::Panels;
use super::prepare::{PreparedLayer, ReadSource};
use super::scan_buffers::{RecomputePolicy, ScanBuffers};
use super::step_backward::{BackwardStep, CellBackward, StochasticBackward};
use super::step_forward::{CellStep, FormHidden, GateStorage, StochasticStep};
use crate::Mode;
use crate::key::Rng;
use crate::layer_state::RowStart;
use crate::objective::RegularisationWeights;
use pulp::Simd;
use std::marker::PhantomData;
use std::ops::Range;

/// The lengths of the four rows; the missing rows of the last group have length 0.
#[derive(Clone, Copy, Debug)]
pub struct RowLengths {
    /// Steps of each row, the longest first.
    pub rows: [usize; ROWS],
    /// Whether each row's last step skips the stochastic step.
    pub end_token: bool,
}

impl RowLengths {
    /// Steps of the longest row.
    pub fn longest(&self) -> usize {
        self.rows[0]
    }

    /// Whether row r has a step t.
    pub fn has(&self, r: usize, t: usize) -> bool {
        t < self.rows[r]
    }

    /// Whether step t is the last of row r.
    pub fn is_last(&self, r: usize, t: usize) -> bool {
        t + 1 == self.rows[r]
    }

    /// Whether row r has a step t that takes the stochastic step.
    pub fn is_stochastic(&self, r: usize, t: usize) -> bool {
        self.has(r, t) && !(self.end_token && self.is_last(r, t))
    }
}

/// Sums of the regularisation terms over steps and units, unweighted.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegularisationSums {
    /// Σ ‖u − αS‖².
    pub commitment: f64,
    /// Σ H(α).
    pub entropy: f64,
    /// Σ y(1 − y) over gates and Σ (1 − g²)/4 over candidates.
    pub saturation: f64,
    /// Σ i of an LSTM, Σ (1 − z) of a GRU.
    pub writing: f64,
}

/// The gradients of what the classifier reads from the top layer, `[ROWS, dp]` per read-out; empty
/// where it does not read that vector.
#[derive(Clone, Copy, Default)]
pub struct HeadGradients<'a> {
    pub dh: &'a [f32],
    pub du: &'a [f32],
    pub dc: &'a [f32],
    /// Whether there is one read-out per step, or one at the last step of each row.
    pub every_step: bool,
}

impl HeadGradients<'_> {
    /// The gradient for row r at step t, if the classifier reads there.
    #[inline(always)]
    pub fn at<'a>(
        &self,
        all: &'a [f32],
        l: &RowLengths,
        r: usize,
        t: usize,
        dp: usize,
    ) -> Option<&'a [f32]> {
        let reads = !all.is_empty() && l.has(r, t) && (self.every_step || l.is_last(r, t));
        let row = if self.every_step { t * ROWS + r } else { r };
        reads.then(|| &all[row * dp..(row + 1) * dp])
    }
}

/// What one step of a layer computed, `[ROWS, ·]` each.
pub struct StepOutput<'a> {
    pub alpha: &'a [f32],
    pub u: &'a [f32],
    pub c: &'a [f32],
    pub h: &'a [f32],
}

/// What the four rows read in step t.
pub fn step_input<'a>(
    p: &PreparedLayer,
    (table, table_rows): (&'a [f32], &[[u32; ROWS]]),
    read: &'a [f32],
    t: usize,
) -> StepInput<'a> {
    match p.source {
        ReadSource::Table => StepInput::Table(table, table_rows[t]),
        _ => StepInput::Vectors(&read[t * ROWS * p.n_in_p..][..ROWS * p.n_in_p]),
    }
}

/// What stays the same over a layer's scan.
#[derive(Clone, Copy)]
pub struct LayerScan<'a> {
    pub p: &'a PreparedLayer,
    /// The token table, if this layer reads it.
    pub table: &'a [f32],
    pub lengths: RowLengths,
    pub mode: Mode,
    /// Of each (u − αS)², of H(α), and of the means over the units of the gate terms.
    pub weights: RegularisationWeights<f32>,
    /// Whether the layer above reads h and this one carries α.
    pub emits_hidden: bool,
    /// Whether the first step carries zeros or a given state.
    pub start: RowStart,
    pub recompute: RecomputePolicy,
}

/// All steps forward. `write_initial` is called with the cleared buffers. Calls `on_step(t, output)`
/// for every step for which `observed(t)` holds.
#[allow(clippy::too_many_arguments)]
pub fn forward<S: Simd, C: CellKernel>(
    simd: S,
    scan: LayerScan<'_>,
    buffers: &mut ScanBuffers,
    below: Option<(&PreparedLayer, &ScanBuffers)>,
    rngs: &mut [Rng],
    write_initial: &dyn Fn(&mut ScanBuffers),
    on_step: &mut dyn FnMut(usize, StepOutput<'_>),
    observed: &dyn Fn(usize) -> bool,
) {
    let LayerScan { p, lengths, .. } = scan;
    let steps = lengths.longest();
    buffers.resize::<C>(p, steps, scan.recompute, scan.weights.entropy != 0.0);
    write_initial(buffers);
    if scan.emits_hidden {
        buffers.hidden.resize(steps * ROWS * p.dp);
    }
    let wide = ROWS * p.dp;
    let cw = buffers.c_width(p);
    for t in 0..steps {
        let (recomputed, segment) = (buffers.recomputed, buffers.segment);
        let (i, gates) = if t < recomputed {
            (t % segment, GateStorage::Dropped)
        } else {
            (t - recomputed, GateStorage::Kept)
        };
        if i == 0 && t > 0 {
            buffers.c.copy_within(segment * cw..(segment + 1) * cw, 0);
        }
        if i == 0 && t < recomputed {
            buffers.segment_c[t / segment * cw..][..cw].copy_from_slice(&buffers.c[..cw]);
        }
        simd.vectorize(CellStep::<C> { scan, buffers, below, t, i, gates, kernel: PhantomData });
        if p.k > 0 {
            simd.vectorize(StochasticStep { scan, buffers, rngs, t, i });
        } else {
            let next = (t + 1) * wide;
            buffers.carry[next..next + wide].copy_from_slice(&buffers.u[i * wide..][..wide]);
        }
        if scan.emits_hidden || observed(t) {
            simd.vectorize(FormHidden { scan, buffers, t, i });
            if scan.emits_hidden {
                buffers.hidden[t * wide..][..wide].copy_from_slice(&buffers.step.mixture);
            }
            let alpha = &buffers.alpha[(t + 1) * ROWS * p.kp..][..ROWS * p.kp];
            let (u, c) = (&buffers.u[i * wide..][..wide], &buffers.c[(i + 1) * cw..][..cw]);
            on_step(t, StepOutput { alpha, u, c, h: &buffers.step.mixture });
        }
    }
}

/// All steps backward; parameter gradients accumulate in `d`. `above` is the layer above, with the
/// gradient of what it read; `head` has the gradients of what the classifier read.
#[allow(clippy::too_many_arguments)]
pub fn backward<S: Simd, C: CellKernel>(
    simd: S,
    scan: LayerScan<'_>,
    buffers: &mut ScanBuffers,
    below: Option<(&PreparedLayer, &ScanBuffers)>,
    above: Option<(&PreparedLayer, &ScanBuffers)>,
    head: HeadGradients<'_>,
    d: &mut Panels,
    sums: &mut RegularisationSums,
) {
    let (lengths, cw) = (scan.lengths, buffers.c_width(scan.p));
    let (recomputed, segment) = (buffers.recomputed, buffers.segment);
    let segments = (0..recomputed).step_by(segment).map(|first| first..first + segment);
    for steps in segments.chain(std::iter::once(recomputed..lengths.longest())).rev() {
        let (first, count) = (steps.start, steps.len());
        if first < recomputed {
            buffers.c[..cw].copy_from_slice(&buffers.segment_c[first / segment * cw..][..cw]);
            for (i, t) in steps.enumerate() {
                let (gates, kernel) = (GateStorage::Kept, PhantomData);
                simd.vectorize(CellStep::<C> { scan, buffers, below, t, i, gates, kernel });
            }
        }
        for start in (0..count).step_by(buffers.block).rev() {
            let steps = start..(start + buffers.block).min(count);
            block::<S, C>(simd, scan, buffers, below, above, head, (first, steps), d, sums);
        }
    }
}

/// Some steps of a segment backward, then what they add to the gradients of the panels, in one
/// product each. `first` is the segment's first step.
#[allow(clippy::too_many_arguments)]
fn block<S: Simd, C: CellKernel>(
    simd: S,
    scan: LayerScan<'_>,
    buffers: &mut ScanBuffers,
    below: Option<(&PreparedLayer, &ScanBuffers)>,
    above: Option<(&PreparedLayer, &ScanBuffers)>,
    head: HeadGradients<'_>,
    (first, steps): (usize, Range<usize>),
    d: &mut Panels,
    sums: &mut RegularisationSums,
) {
    let (wide, count, start) = (ROWS * scan.p.dp, steps.len(), steps.start);
    let mut with_mixture = count..count;
    for i in steps.rev() {
        let j = i - start;
        let at = &BackwardStep { scan, above, head, t: first + i, i, j };
        if simd.vectorize(StochasticBackward { at, buffers, sums }) {
            // Steps without a gradient of αS have not written `d_mixture`. Zero those between two
            // steps that have.
            let end = if with_mixture.is_empty() { j + 1 } else { with_mixture.end };
            buffers.d_mixture[(j + 1) * wide..with_mixture.start.min(end) * wide].fill(0.0);
            with_mixture = j..end;
        }
        simd.vectorize(CellBackward::<C> { at, buffers, d, sums, kernel: PhantomData });
    }
    let (first, i, kernel) = (first + start, start, PhantomData);
    #[rustfmt::skip]
    simd.vectorize(BlockGradients::<C> {
        scan, buffers, below, first, i, count, with_mixture, d, kernel,
    });
}
