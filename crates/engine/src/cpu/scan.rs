//! Four rows through one layer, forward over all steps and back.
//!
//! Forward keeps what is carried (α or h) of every step, the gates of the last steps, and c at the
//! start of every segment of the steps before them. Backward goes segment by segment: gates that
//! were not kept are computed again (no reduction is needed for that: a unit's gates depend on its
//! own c alone), then block by block the adjoints of the steps and their parameter gradients, in
//! one product each.

use super::cells::{Feed, Kind};
use super::kernels::ROWS;
use super::panels::Panels;
use super::prepare::{Prepared, Source};
use super::simd::Aligned;
use super::step_backward::{BlockGradients, CellBack, StepBack, StochasticBack};
use super::step_forward::{CellStep, Gates, Hidden, StochasticStep};
use crate::Mode;
use crate::key::Stream;
use pulp::Simd;
use std::marker::PhantomData;
use std::ops::Range;

/// Steps of the shortest segment.
const SHORTEST: usize = 3;

/// Where rows are cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The last steps, as many as need no more than this many bytes, are kept.
    pub kept: usize,
    /// Those before them are cut into segments: bytes of one segment's gates and gradients.
    pub segment: usize,
}

/// The lengths of the four rows; the missing rows of the last group have length 0.
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Steps of each row, the longest first.
    pub rows: [usize; ROWS],
    /// Whether each row's last step skips the stochastic step.
    pub end_token: bool,
}

impl Lengths {
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

    /// Whether step t of row r is there and takes the stochastic step.
    pub fn is_stochastic(&self, r: usize, t: usize) -> bool {
        self.has(r, t) && !(self.end_token && self.is_last(r, t))
    }
}

/// The weights of the terms that act inside the scan, per step and per unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pressure {
    /// Weight of each (u − αS)².
    pub commitment: f32,
    /// Weight of each H(α).
    pub entropy: f32,
    /// Weight of each gate's distance from saturation.
    pub saturation: f32,
    /// Weight of each gate that lets something in.
    pub writing: f32,
}

/// Sums of what the terms weigh.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Σ ‖u − αS‖².
    pub commitment: f64,
    /// Σ H(α).
    pub entropy: f64,
    /// Σ y(1 − y) over gates and Σ (1 − g²)/4 over candidates.
    pub saturation: f64,
    /// Σ i of an LSTM, Σ (1 − z) of a GRU.
    pub writing: f64,
}

/// One layer's memory for four rows; grows to what is needed and is used again.
#[derive(Default)]
pub struct Space {
    /// Table places `[T]`, where the layer reads tokens.
    pub ids: Vec<[u32; ROWS]>,
    /// The places of the same tokens in the gradient of the table `[T]`.
    pub d_ids: Vec<[u32; ROWS]>,
    /// What the layer reads `[T, ROWS, n_in_p]`, where it reads vectors of the batch.
    pub read: Aligned,
    /// `[T+1, ROWS, np]`; step 0 is the initial state.
    pub carry: Aligned,
    /// α `[T+1, ROWS, kp]`.
    pub alpha: Aligned,
    /// ln α, where the entropy is weighed `[T+1, ROWS, kp]`.
    pub log_alpha: Aligned,
    /// h `[T, ROWS, dp]`, where the layer above asks for it.
    pub hidden: Aligned,
    /// ∂/∂ what was read `[T, ROWS, n_in_p]`, for the layer below.
    pub d_read: Aligned,
    /// Steps before those whose gates are kept: a number of whole segments.
    pub again: usize,
    /// Steps per segment.
    pub segment: usize,
    /// Steps per block of a segment.
    pub block: usize,
    /// c at the start of each segment.
    pub marks: Aligned,
    /// c `[I+1, ROWS, dp]`, I the steps of a segment or those that are kept.
    pub c: Aligned,
    /// u `[I, ROWS, dp]`.
    pub u: Aligned,
    pub gates: Aligned,
    pub da_in: Aligned,
    pub da_state: Aligned,
    /// ∂/∂ scores (Dot) or slopes along u − s (Euclidean) `[block, ROWS, kp]`.
    pub d_scores: Aligned,
    /// ∂/∂ αS `[block, ROWS, dp]`.
    pub d_mixture: Aligned,
    /// Vectors of one step.
    pub step: StepSpace,
    pub scratch: Vec<f32>,
}

#[derive(Default)]
pub struct StepSpace {
    pub scores: Aligned,
    pub mixture: Aligned,
    pub du: Aligned,
    pub dc: Aligned,
    pub dh: Aligned,
    pub d_carry: Aligned,
    pub d_alpha: Aligned,
    pub scratch: Aligned,
}

/// Gradients that reach a layer from the classifier: at the steps it reads, `[ROWS, dp]` each;
/// empty where it does not read that vector.
#[derive(Clone, Copy, Default)]
pub struct FromHead<'a> {
    pub dh: &'a [f32],
    pub du: &'a [f32],
    pub dc: &'a [f32],
    /// Whether there is a set for every step, or one for the last step of each row.
    pub every_step: bool,
}

impl FromHead<'_> {
    /// The gradient for row r at step t, if the classifier reads there.
    #[inline(always)]
    pub fn at<'a>(
        &self,
        all: &'a [f32],
        l: &Lengths,
        r: usize,
        t: usize,
        dp: usize,
    ) -> Option<&'a [f32]> {
        let reads = !all.is_empty() && l.has(r, t) && (self.every_step || l.is_last(r, t));
        let row = if self.every_step { t * ROWS + r } else { r };
        reads.then(|| &all[row * dp..(row + 1) * dp])
    }
}

/// What one step of a layer left behind, `[ROWS, ·]` each.
pub struct Left<'a> {
    pub alpha: &'a [f32],
    pub u: &'a [f32],
    pub c: &'a [f32],
    /// h, formed for whoever asks.
    pub h: &'a [f32],
}

impl Space {
    /// Makes room for `steps` steps of a layer.
    fn fit<C: Kind>(&mut self, p: &Prepared, steps: usize, cut: Cut, needs_entropy: bool) {
        let (cp, wide) = (if p.cell.has_memory() { p.dp } else { 0 }, ROWS * p.dp);
        // Of each step: gates, c and u; the gradients of its blocks and of αS.
        let (kept, gradients) = (C::GATES + 2, C::INPUTS + C::STATES + 1);
        let fitting = |bytes: usize, vectors: usize| bytes / (vectors * wide * 4);
        self.segment = fitting(cut.segment, kept).max(SHORTEST);
        let (kept_bytes, last) = (cut.kept * worth_keeping(p), steps.max(1) - 1);
        let cut_off = steps.saturating_sub(fitting(kept_bytes, kept));
        self.again = cut_off.div_ceil(self.segment).min(last / self.segment) * self.segment;
        let room = if self.again > 0 { self.segment } else { 1 }.max(steps - self.again);
        self.block = fitting(cut.segment, gradients).max(SHORTEST).min(room);
        self.carry.resize((steps + 1) * ROWS * p.np);
        self.alpha.resize((steps + 1) * ROWS * p.kp);
        self.log_alpha.resize(if needs_entropy { (steps + 1) * ROWS * p.kp } else { 0 });
        self.d_read.resize(steps * ROWS * p.n_in_p);
        self.marks.resize(self.again / self.segment * ROWS * cp);
        self.c.resize((room + 1) * ROWS * cp);
        self.u.resize(room * wide);
        self.gates.resize(room * wide * C::GATES);
        self.da_in.resize(self.block * wide * C::INPUTS);
        self.da_state.resize(self.block * wide * C::STATES);
        self.d_scores.resize(self.block * ROWS * p.kp);
        self.d_mixture.resize(self.block * wide);
        let step = &mut self.step;
        for (space, len) in [
            (&mut step.scores, p.kp),
            (&mut step.d_alpha, p.kp),
            (&mut step.mixture, p.dp),
            (&mut step.du, p.dp),
            (&mut step.dc, p.dp),
            (&mut step.dh, p.dp),
            (&mut step.scratch, p.dp),
            (&mut step.d_carry, p.np),
        ] {
            space.resize(ROWS * len);
            space.fill(0.0);
        }
        self.carry[..ROWS * p.np].fill(0.0);
        self.alpha[..ROWS * p.kp].fill(0.0);
        self.c[..ROWS * cp].fill(0.0);
    }

    /// Numbers of c in a step.
    pub fn memory(&self, p: &Prepared) -> usize {
        if p.cell.has_memory() { ROWS * p.dp } else { 0 }
    }

    /// What the layer above reads.
    fn emitted(&self, p: &Prepared, source: Source) -> &[f32] {
        if source == Source::Hidden { &self.hidden } else { &self.carry[ROWS * p.np..] }
    }
}

/// How many times as many bytes as of a layer that carries few numbers are worth keeping.
// PERF: the more is carried, the more there is to compute again (T=784, d=256, two threads, k=50:
// 258 ms a step, 274 with a third as many; k=100: 463, 498 with a quarter).
fn worth_keeping(p: &Prepared) -> usize {
    const FEW: usize = 16;
    (p.n / FEW).clamp(1, 4)
}

/// The vectors a layer reads `[T, ROWS, n_in_p]`; empty for a table.
pub fn read_of<'a>(
    p: &Prepared,
    own: &'a Aligned,
    below: Option<(&Prepared, &'a Space)>,
) -> &'a [f32] {
    match (p.source, below) {
        (Source::Table, _) => &[],
        (Source::Carry | Source::Hidden, Some((p_below, below))) => {
            below.emitted(p_below, p.source)
        }
        _ => own,
    }
}

pub fn feed<'a>(
    p: &Prepared,
    (table, ids): (&'a [f32], &[[u32; ROWS]]),
    read: &'a [f32],
    t: usize,
) -> Feed<'a> {
    match p.source {
        Source::Table => Feed::Table(table, ids[t]),
        _ => Feed::Vectors(&read[t * ROWS * p.n_in_p..][..ROWS * p.n_in_p]),
    }
}

/// Everything that stays the same over a layer's scan.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    pub p: &'a Prepared,
    /// The table of tokens, if this layer reads it.
    pub table: &'a [f32],
    pub lengths: Lengths,
    pub mode: Mode,
    pub pressure: Pressure,
    /// Whether the layer above reads h, formed.
    pub emits_hidden: bool,
    pub cut: Cut,
}

/// All steps forward. `seen(t, left)` is told what each step left behind, if `observed`.
pub fn forward<S: Simd, C: Kind>(
    simd: S,
    scan: Scan<'_>,
    space: &mut Space,
    below: Option<(&Prepared, &Space)>,
    draws: &mut [Stream],
    seen: &mut dyn FnMut(usize, Left<'_>),
    observed: &dyn Fn(usize) -> bool,
) {
    let Scan { p, lengths, .. } = scan;
    let steps = lengths.longest();
    space.fit::<C>(p, steps, scan.cut, scan.pressure.entropy != 0.0);
    if scan.emits_hidden {
        space.hidden.resize(steps * ROWS * p.dp);
    }
    let wide = ROWS * p.dp;
    let cw = space.memory(p);
    for t in 0..steps {
        let (again, segment) = (space.again, space.segment);
        let (i, gates) =
            if t < again { (t % segment, Gates::Dropped) } else { (t - again, Gates::Kept) };
        if i == 0 && t > 0 {
            space.c.copy_within(segment * cw..(segment + 1) * cw, 0);
        }
        if i == 0 && t < again {
            space.marks[t / segment * cw..][..cw].copy_from_slice(&space.c[..cw]);
        }
        simd.vectorize(CellStep::<C> { scan, space, below, t, i, gates, kind: PhantomData });
        if p.k > 0 {
            simd.vectorize(StochasticStep { scan, space, draws, t, i });
        } else {
            let next = (t + 1) * wide;
            space.carry[next..next + wide].copy_from_slice(&space.u[i * wide..][..wide]);
        }
        if scan.emits_hidden || observed(t) {
            simd.vectorize(Hidden { scan, space, t, i });
            if scan.emits_hidden {
                space.hidden[t * wide..][..wide].copy_from_slice(&space.step.mixture);
            }
            seen(
                t,
                Left {
                    alpha: &space.alpha[(t + 1) * ROWS * p.kp..][..ROWS * p.kp],
                    u: &space.u[i * wide..][..wide],
                    c: &space.c[(i + 1) * cw..][..cw],
                    h: &space.step.mixture,
                },
            );
        }
    }
}

/// All steps backward; parameter gradients accumulate in `d`. `above` is the layer above with
/// what it wants of this one, `head` what the classifier wants.
#[allow(clippy::too_many_arguments)]
pub fn backward<S: Simd, C: Kind>(
    simd: S,
    scan: Scan<'_>,
    space: &mut Space,
    below: Option<(&Prepared, &Space)>,
    above: Option<(&Prepared, &Space)>,
    head: FromHead<'_>,
    d: &mut Panels,
    measured: &mut Measured,
) {
    let (lengths, cw) = (scan.lengths, space.memory(scan.p));
    let (again, segment) = (space.again, space.segment);
    let segments = (0..again).step_by(segment).map(|first| first..first + segment);
    for steps in segments.chain(std::iter::once(again..lengths.longest())).rev() {
        let (first, count) = (steps.start, steps.len());
        if first < again {
            space.c[..cw].copy_from_slice(&space.marks[first / segment * cw..][..cw]);
            for (i, t) in steps.enumerate() {
                let gates = Gates::Kept;
                simd.vectorize(CellStep::<C> {
                    scan,
                    space,
                    below,
                    t,
                    i,
                    gates,
                    kind: PhantomData,
                });
            }
        }
        for start in (0..count).step_by(space.block).rev() {
            let steps = start..(start + space.block).min(count);
            block::<S, C>(simd, scan, space, below, above, head, (first, steps), d, measured);
        }
    }
}

/// Some steps of a segment backward, `first` the segment's first; then what they add to the
/// gradients of the panels, in one product each.
#[allow(clippy::too_many_arguments)]
fn block<S: Simd, C: Kind>(
    simd: S,
    scan: Scan<'_>,
    space: &mut Space,
    below: Option<(&Prepared, &Space)>,
    above: Option<(&Prepared, &Space)>,
    head: FromHead<'_>,
    (first, steps): (usize, Range<usize>),
    d: &mut Panels,
    measured: &mut Measured,
) {
    let (wide, count, start) = (ROWS * scan.p.dp, steps.len(), steps.start);
    let mut pulled = count..count;
    for i in steps.rev() {
        let j = i - start;
        let at = &StepBack { scan, above, head, t: first + i, i, j };
        if simd.vectorize(StochasticBack { at, space, measured }) {
            // Only steps where αS was pulled at have written; those between count as zero.
            let end = if pulled.is_empty() { j + 1 } else { pulled.end };
            space.d_mixture[(j + 1) * wide..pulled.start.min(end) * wide].fill(0.0);
            pulled = j..end;
        }
        simd.vectorize(CellBack::<C> { at, space, d, measured, kind: PhantomData });
    }
    let (first, i, kind) = (first + start, start, PhantomData);
    simd.vectorize(BlockGradients::<C> { scan, space, below, first, i, count, pulled, d, kind });
}
