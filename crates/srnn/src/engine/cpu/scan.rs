//! Four rows through one layer, forward over all steps and back.
//!
//! Forward keeps what is carried (α or h) of every step, and c at the start of every segment.
//! Backward goes segment by segment: the gates are computed again from what was kept (no
//! reduction is needed for that: a unit's gates depend on its own c alone), then the adjoints of
//! the steps, then the segment's parameter gradients in one product each.

use super::cells::{Backward, Feed, Forward, Kind, Segment};
use super::kernels::{ROWS, accumulate, add_scaled, dot, dots, outer, rows};
use super::prepare::{Form, Panels, Prepared, Source};
use super::simd::{Aligned, exp, vectors, vectors_mut};
use crate::engine::{Mode, Transition};
use crate::key::Stream;
use crate::model::Score;
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// The gates and gradients of one segment should stay in a second-level cache.
const SEGMENT_BYTES: usize = 512 << 10;

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

/// The weights of the two terms that act on the stochastic component, per step and per unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pressure {
    /// Weight of each (u − αS)².
    pub commitment: f32,
    /// Weight of each H(α).
    pub entropy: f32,
}

/// Sums of what the two terms weigh.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Σ ‖u − αS‖².
    pub commitment: f64,
    /// Σ H(α).
    pub entropy: f64,
}

/// One layer's memory for four rows; grows to what is needed and is used again.
#[derive(Default)]
pub struct Space {
    /// Table places `[T]`, where the layer reads tokens.
    pub ids: Vec<[u32; ROWS]>,
    /// What the layer reads `[T, ROWS, n_in_p]`, where it reads vectors of the batch.
    pub read: Aligned,
    /// `[T+1, ROWS, np]`; step 0 is the initial state.
    pub carry: Aligned,
    /// α `[T+1, ROWS, kp]`.
    pub alpha: Aligned,
    /// ln α, where the entropy is weighed `[T+1, ROWS, kp]`.
    log_alpha: Aligned,
    /// h `[T, ROWS, dp]`, where the layer above asks for it.
    hidden: Aligned,
    /// ∂/∂ what was read `[T, ROWS, n_in_p]`, for the layer below.
    pub d_read: Aligned,
    /// Steps per segment.
    segment: usize,
    /// c at the start of each segment.
    marks: Aligned,
    /// c `[segment+1, ROWS, dp]`.
    c: Aligned,
    /// u `[segment, ROWS, dp]`.
    u: Aligned,
    gates: Aligned,
    da_in: Aligned,
    da_state: Aligned,
    /// ∂/∂ scores (Dot) or slopes along u − s (Euclidean) `[segment, ROWS, kp]`.
    d_scores: Aligned,
    /// ∂/∂ αS `[segment, ROWS, dp]`.
    d_mixture: Aligned,
    /// Vectors of one step.
    step: StepSpace,
    scratch: Vec<f32>,
}

#[derive(Default)]
struct StepSpace {
    scores: Aligned,
    mixture: Aligned,
    du: Aligned,
    dc: Aligned,
    dh: Aligned,
    d_carry: Aligned,
    d_alpha: Aligned,
    scratch: Aligned,
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
    fn at<'a>(
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
    fn fit<C: Kind>(&mut self, p: &Prepared, steps: usize, needs_entropy: bool) {
        let (cp, wide) = (if p.cell.has_memory() { p.dp } else { 0 }, ROWS * p.dp);
        let per_step = wide * 4 * (C::GATES + C::INPUTS + C::STATES + 4);
        self.segment = (SEGMENT_BYTES / per_step).clamp(8, steps.max(8)).min(steps.max(1));
        let segments = steps.div_ceil(self.segment).max(1);
        self.carry.resize((steps + 1) * ROWS * p.np);
        self.alpha.resize((steps + 1) * ROWS * p.kp);
        self.log_alpha.resize(if needs_entropy { (steps + 1) * ROWS * p.kp } else { 0 });
        self.d_read.resize(steps * ROWS * p.n_in_p);
        self.marks.resize(segments * ROWS * cp);
        self.c.resize((self.segment + 1) * ROWS * cp);
        self.u.resize(self.segment * wide);
        self.gates.resize(self.segment * wide * C::GATES);
        self.da_in.resize(self.segment * wide * C::INPUTS);
        self.da_state.resize(self.segment * wide * C::STATES);
        self.d_scores.resize(self.segment * ROWS * p.kp);
        self.d_mixture.resize(self.segment * wide);
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

    /// What the layer above reads.
    fn emitted(&self, p: &Prepared, source: Source) -> &[f32] {
        if source == Source::Hidden { &self.hidden } else { &self.carry[ROWS * p.np..] }
    }
}

/// The vectors a layer reads `[T, ROWS, n_in_p]`; empty for a table.
fn read_of<'a>(p: &Prepared, own: &'a Aligned, below: Option<(&Prepared, &'a Space)>) -> &'a [f32] {
    match (p.source, below) {
        (Source::Table, _) => &[],
        (Source::Carry | Source::Hidden, Some((p_below, below))) => {
            below.emitted(p_below, p.source)
        }
        _ => own,
    }
}

fn feed<'a>(p: &Prepared, ids: &[[u32; ROWS]], read: &'a [f32], t: usize) -> Feed<'a> {
    match p.source {
        Source::Table => Feed::Table(ids[t]),
        _ => Feed::Vectors(&read[t * ROWS * p.n_in_p..][..ROWS * p.n_in_p]),
    }
}

/// Everything that stays the same over a layer's scan.
#[derive(Clone, Copy)]
pub struct Scan<'a> {
    pub p: &'a Prepared,
    pub lengths: Lengths,
    pub mode: Mode,
    pub pressure: Pressure,
    /// Whether the layer above reads h, formed.
    pub emits_hidden: bool,
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
    space.fit::<C>(p, steps, scan.pressure.entropy != 0.0);
    if scan.emits_hidden {
        space.hidden.resize(steps * ROWS * p.dp);
    }
    let wide = ROWS * p.dp;
    let cw = space.c.len() / (space.segment + 1);
    for t in 0..steps {
        let i = t % space.segment;
        if i == 0 {
            let end = space.segment * cw;
            if t > 0 {
                space.c.copy_within(end..end + cw, 0);
            }
            let mark = t / space.segment * cw;
            space.marks[mark..mark + cw].copy_from_slice(&space.c[..cw]);
        }
        simd.vectorize(CellStep::<C> { p, space, below, t, i, kind: PhantomData });
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

// PERF: the parts of a step are operations of their own: each is compiled as one function per
// instruction set. Inlined into one another they take the compiler minutes and run no faster.

/// Gates, c and u of step t, kept at place i of the segment.
struct CellStep<'a, C> {
    p: &'a Prepared,
    space: &'a mut Space,
    below: Option<(&'a Prepared, &'a Space)>,
    t: usize,
    i: usize,
    kind: PhantomData<C>,
}

impl<C: Kind> WithSimd for CellStep<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let CellStep { p, space, below, t, i, .. } = self;
        let wide = ROWS * p.dp;
        let cw = space.c.len() / (space.segment + 1);
        let read = read_of(p, &space.read, below);
        let (c_prev, c) = space.c.split_at_mut((i + 1) * cw);
        C::forward(
            simd,
            p,
            Forward {
                feed: feed(p, &space.ids, read, t),
                carry: &space.carry[t * ROWS * p.np..][..ROWS * p.np],
                c_prev: &c_prev[i * cw..],
                c: &mut c[..cw],
                gates: &mut space.gates[i * wide * C::GATES..][..wide * C::GATES],
                u: &mut space.u[i * wide..][..wide],
                scratch: &mut space.step.scratch,
            },
        );
    }
}

/// α of step t from u, and what is carried on.
struct StochasticStep<'a> {
    scan: Scan<'a>,
    space: &'a mut Space,
    draws: &'a mut [Stream],
    t: usize,
    i: usize,
}

impl WithSimd for StochasticStep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let StochasticStep { scan, space, draws, t, i } = self;
        let Scan { p, lengths, mode, .. } = scan;
        let (wide, kw) = (ROWS * p.dp, ROWS * p.kp);
        let u = &space.u[i * wide..][..wide];
        let inv_tau = scores(simd, p, u, &mut space.step.scores);
        let alpha = &mut space.alpha[(t + 1) * kw..][..kw];
        let mut none = [];
        let log_alpha = match space.log_alpha.is_empty() {
            true => &mut none[..],
            false => &mut space.log_alpha[(t + 1) * kw..][..kw],
        };
        for r in 0..ROWS {
            let row = r * p.kp..(r + 1) * p.kp;
            let log_row = log_alpha.get_mut(row.clone()).unwrap_or(&mut []);
            softmax(
                simd,
                &space.step.scores[row.clone()],
                inv_tau,
                p.k,
                &mut alpha[row.clone()],
                log_row,
            );
            if !lengths.is_stochastic(r, t) {
                alpha[row].fill(0.0);
            }
        }
        // What the mixture is made with: α, or the one centroid that was drawn.
        let next = &mut space.carry[(t + 1) * ROWS * p.np..][..ROWS * p.np];
        let chosen = &mut space.step.scores;
        chosen.copy_from_slice(alpha);
        if mode.transition != Transition::Mixture {
            for r in (0..ROWS).filter(|&r| lengths.is_stochastic(r, t)) {
                choose(mode.transition, &mut chosen[r * p.kp..][..p.k], &mut draws[r]);
            }
        }
        if p.form == Form::LowRank {
            next.copy_from_slice(chosen);
            return;
        }
        mix(simd, p, chosen, &mut space.step.mixture);
        let lambda = if mode.transition == Transition::Mixture { p.lambda } else { 1.0 };
        for r in 0..ROWS {
            let row = r * p.dp..(r + 1) * p.dp;
            let (h, u) = (&mut next[row.clone()], &u[row.clone()]);
            if lengths.is_stochastic(r, t) {
                h.fill(0.0);
                add_scaled(simd, h, 1.0 - lambda, u);
                add_scaled(simd, h, lambda, &space.step.mixture[row]);
            } else {
                h.copy_from_slice(u);
            }
        }
    }
}

/// h of step t, formed in `step.mixture`.
struct Hidden<'a> {
    scan: Scan<'a>,
    space: &'a mut Space,
    t: usize,
    i: usize,
}

impl WithSimd for Hidden<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Hidden { scan, space, t, i } = self;
        let Scan { p, lengths, .. } = scan;
        let next = &space.carry[(t + 1) * ROWS * p.np..][..ROWS * p.np];
        if p.form == Form::Direct {
            space.step.mixture.copy_from_slice(next);
            return;
        }
        mix(simd, p, next, &mut space.step.mixture);
        for r in (0..ROWS).filter(|&r| !lengths.is_stochastic(r, t)) {
            let u = &space.u[(i * ROWS + r) * p.dp..][..p.dp];
            space.step.mixture[r * p.dp..][..p.dp].copy_from_slice(u);
        }
    }
}

/// Replaces probabilities by the one that is chosen.
fn choose(transition: Transition, alpha: &mut [f32], draw: &mut Stream) {
    let chosen = match transition {
        Transition::Mixture => return,
        Transition::Argmax => {
            (0..alpha.len()).fold(0, |best, i| if alpha[i] > alpha[best] { i } else { best })
        }
        Transition::Sample(_) => {
            let (unit, mut sum) = (draw.unit() as f32, 0.0);
            let passed = |&a: &f32| {
                sum += a;
                unit < sum
            };
            alpha.iter().position(passed).unwrap_or(alpha.len() - 1)
        }
    };
    alpha.fill(0.0);
    alpha[chosen] = 1.0;
}

/// Scores of u against all centroids `[ROWS, kp]`; returns 1/τ.
#[inline(always)]
fn scores<S: Simd>(simd: S, p: &Prepared, u: &[f32], out: &mut [f32]) -> f32 {
    let (score, inv_tau) = p.stochastic.expect("a layer with centroids");
    match score {
        Score::Dot => dots::<S, 1>(simd, out, p.kp, p.k, u, &p.panels.s),
        Score::Euclidean => {
            distances(simd, p, u, out);
            out.iter_mut().for_each(|x| *x = -*x);
        }
    }
    inv_tau
}

/// `‖u − s‖`, from the differences: the expanded square cancels where training drives u.
#[inline(always)]
fn distances<S: Simd>(simd: S, p: &Prepared, u: &[f32], out: &mut [f32]) {
    let (q_count, s, u) = (p.dp / S::F32_LANES, vectors::<S>(&p.panels.s), vectors::<S>(u));
    for r in 0..ROWS {
        for j in 0..p.k {
            let mut acc = simd.splat_f32s(0.0);
            for q in 0..q_count {
                let gap = simd.sub_f32s(u[r * q_count + q], s[q * p.k + j]);
                acc = simd.mul_add_e_f32s(gap, gap, acc);
            }
            out[r * p.kp + j] = simd.reduce_sum_f32s(acc).sqrt();
        }
    }
}

/// `softmax(scores/τ)` of one row, and its logarithm where asked.
#[inline(always)]
fn softmax<S: Simd>(
    simd: S,
    scores: &[f32],
    inv_tau: f32,
    k: usize,
    alpha: &mut [f32],
    log_alpha: &mut [f32],
) {
    let largest = scores[..k].iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b)) * inv_tau;
    let (inv, shift) = (simd.splat_f32s(inv_tau), simd.splat_f32s(-largest));
    for (a, &s) in vectors_mut::<S>(alpha).iter_mut().zip(vectors::<S>(scores)) {
        *a = exp(simd, simd.mul_add_e_f32s(s, inv, shift));
    }
    alpha[k..].fill(0.0);
    let mut sum = simd.splat_f32s(0.0);
    vectors::<S>(alpha).iter().for_each(|&a| sum = simd.add_f32s(sum, a));
    let sum = simd.reduce_sum_f32s(sum);
    let scale = simd.splat_f32s(1.0 / sum);
    vectors_mut::<S>(alpha).iter_mut().for_each(|a| *a = simd.mul_f32s(*a, scale));
    if !log_alpha.is_empty() {
        let log_sum = sum.ln();
        for (l, s) in log_alpha[..k].iter_mut().zip(scores) {
            *l = s * inv_tau - largest - log_sum;
        }
        log_alpha[k..].fill(0.0);
    }
}

/// `out = αS` for four rows `[ROWS, dp]`.
#[inline(always)]
fn mix<S: Simd>(simd: S, p: &Prepared, alpha: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    add_mixture(simd, p, alpha, out);
}

/// `out += αS` for four rows `[ROWS, dp]`.
#[inline(always)]
fn add_mixture<S: Simd>(simd: S, p: &Prepared, alpha: &[f32], out: &mut [f32]) {
    let q_count = p.dp / S::F32_LANES;
    let (s, out, alpha) = (vectors::<S>(&p.panels.s), vectors_mut::<S>(out), rows(alpha, p.kp));
    for q in 0..q_count {
        let mut acc: [[S::f32s; 1]; ROWS] = std::array::from_fn(|r| [out[r * q_count + q]]);
        accumulate(simd, &mut acc, alpha, &s[q * p.k..][..p.k]);
        (0..ROWS).for_each(|r| out[r * q_count + q] = acc[r][0]);
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
    let Scan { p, lengths, .. } = scan;
    let steps = lengths.longest();
    let cw = space.c.len() / (space.segment + 1);
    for segment in (0..steps.div_ceil(space.segment)).rev() {
        let first = segment * space.segment;
        let count = space.segment.min(steps - first);
        if first + count < steps {
            space.c[..cw].copy_from_slice(&space.marks[segment * cw..][..cw]);
            for i in 0..count {
                let t = first + i;
                simd.vectorize(CellStep::<C> { p, space, below, t, i, kind: PhantomData });
            }
        }
        let mut mixture_pulled = false;
        for i in (0..count).rev() {
            let at = StepBack { scan, above, head, t: first + i, i };
            mixture_pulled |= simd.vectorize(StochasticBack { at, space, measured });
            simd.vectorize(CellBack::<C> { at, space, d, kind: PhantomData });
        }
        let kind = PhantomData;
        simd.vectorize(SegmentGradients::<C> {
            scan,
            space,
            below,
            first,
            count,
            mixture_pulled,
            d,
            kind,
        });
    }
}

/// Where a step backward is: step t, at place i of its segment.
#[derive(Clone, Copy)]
struct StepBack<'a> {
    scan: Scan<'a>,
    above: Option<(&'a Prepared, &'a Space)>,
    head: FromHead<'a>,
    t: usize,
    i: usize,
}

/// From the gradients that reach h_t and α_t to du, in `step.du`; returns whether αS was pulled
/// at.
struct StochasticBack<'a> {
    at: StepBack<'a>,
    space: &'a mut Space,
    measured: &'a mut Measured,
}

impl WithSimd for StochasticBack<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let StochasticBack { at, space, measured } = self;
        at.stochastic(simd, space, measured)
    }
}

/// Through the cell, to what was carried and read.
struct CellBack<'a, C> {
    at: StepBack<'a>,
    space: &'a mut Space,
    d: &'a mut Panels,
    kind: PhantomData<C>,
}

impl<C: Kind> WithSimd for CellBack<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.at.cell::<S, C>(simd, self.space, self.d);
    }
}

impl StepBack<'_> {
    #[inline(always)]
    fn stochastic<S: Simd>(&self, simd: S, space: &mut Space, measured: &mut Measured) -> bool {
        let Scan { p, lengths, pressure, .. } = self.scan;
        let (t, wide, kw) = (self.t, ROWS * p.dp, ROWS * p.kp);
        let d_mixture = &mut space.d_mixture[self.i * wide..][..wide];
        let step = &mut space.step;
        d_mixture.fill(0.0);
        step.du.fill(0.0);
        let from_above = self.above.map(|(p_above, above)| (p_above.source, &above.d_read[..]));
        let mut pulled = p.form == Form::Direct && p.k > 0;
        for r in (0..ROWS).filter(|&r| lengths.has(r, t)) {
            let row = r * p.dp..(r + 1) * p.dp;
            // dh, as a vector: in the low-rank form only what is read from outside.
            let dh = &mut step.dh[row.clone()];
            match p.form {
                Form::Direct => dh.copy_from_slice(&step.d_carry[row.clone()]),
                Form::LowRank => dh.fill(0.0),
            }
            match from_above {
                Some((Source::Hidden, d_read)) => {
                    add_scaled(simd, dh, 1.0, &d_read[t * wide..][row.clone()]);
                    pulled = true;
                }
                Some((_, d_read)) if p.form == Form::Direct => {
                    add_scaled(simd, dh, 1.0, &d_read[t * wide..][row.clone()]);
                }
                _ => {}
            }
            if let Some(from_head) = self.head.at(self.head.dh, &lengths, r, t, p.dp) {
                add_scaled(simd, dh, 1.0, from_head);
                pulled = true;
            }
            let du = &mut step.du[row.clone()];
            if p.k > 0 && lengths.is_stochastic(r, t) {
                add_scaled(simd, du, 1.0 - p.lambda, dh);
                add_scaled(simd, &mut d_mixture[row.clone()], p.lambda, dh);
            } else {
                du.copy_from_slice(dh);
            }
            if let Some(from_head) = self.head.at(self.head.du, &lengths, r, t, p.dp) {
                add_scaled(simd, du, 1.0, from_head);
            }
            if let Some(from_head) = self.head.at(self.head.dc, &lengths, r, t, p.dp) {
                add_scaled(simd, &mut step.dc[row], 1.0, from_head);
            }
        }
        if p.k == 0 {
            return false;
        }
        let alpha = &space.alpha[(t + 1) * kw..][..kw];
        let u = &space.u[self.i * wide..][..wide];
        if pressure.commitment != 0.0 {
            mix(simd, p, alpha, &mut step.mixture);
            for r in (0..ROWS).filter(|&r| lengths.is_stochastic(r, t)) {
                let row = r * p.dp..(r + 1) * p.dp;
                let gap = &mut step.dh[row.clone()];
                gap.copy_from_slice(&u[row.clone()]);
                add_scaled(simd, gap, -1.0, &step.mixture[row.clone()]);
                measured.commitment += dot(simd, gap, gap) as f64;
                let w = 2.0 * pressure.commitment;
                add_scaled(simd, &mut step.du[row.clone()], w, gap);
                add_scaled(simd, &mut d_mixture[row], -w, gap);
            }
            pulled = true;
        }
        // ∂/∂α, from the steps after and from αS.
        step.d_alpha.fill(0.0);
        if pulled {
            dots::<S, 1>(simd, &mut step.d_alpha, p.kp, p.k, d_mixture, &p.panels.s);
        }
        if p.form == Form::LowRank {
            add_scaled(simd, &mut step.d_alpha, 1.0, &step.d_carry);
            if let Some((Source::Carry, d_read)) = from_above {
                add_scaled(simd, &mut step.d_alpha, 1.0, &d_read[t * kw..][..kw]);
            }
        }
        self.scores(simd, space, measured);
        pulled
    }

    /// Through softmax and scores: `d_scores`, and du.
    #[inline(always)]
    fn scores<S: Simd>(&self, simd: S, space: &mut Space, measured: &mut Measured) {
        let Scan { p, lengths, pressure, .. } = self.scan;
        let (t, wide, kw) = (self.t, ROWS * p.dp, ROWS * p.kp);
        let (score, inv_tau) = p.stochastic.expect("a layer with centroids");
        let d_scores = &mut space.d_scores[self.i * kw..][..kw];
        for r in 0..ROWS {
            let row = r * p.kp..(r + 1) * p.kp;
            let d_row = &mut d_scores[row.clone()];
            if !lengths.is_stochastic(r, t) {
                d_row.fill(0.0);
                continue;
            }
            let alpha = &space.alpha[(t + 1) * kw..][row.clone()];
            let d_alpha = &mut space.step.d_alpha[row.clone()];
            if pressure.entropy != 0.0 {
                // ∂H/∂α through the softmax is that of −ln α: constants cancel.
                let log_alpha = &space.log_alpha[(t + 1) * kw..][row];
                measured.entropy -= dot(simd, alpha, log_alpha) as f64;
                add_scaled(simd, d_alpha, -pressure.entropy, log_alpha);
            }
            let mean = simd.splat_f32s(dot(simd, alpha, d_alpha));
            let inv = simd.splat_f32s(inv_tau);
            let (alpha, d_alpha) = (vectors::<S>(alpha), vectors::<S>(d_alpha));
            for ((d, &a), &da) in vectors_mut::<S>(d_row).iter_mut().zip(alpha).zip(d_alpha) {
                *d = simd.mul_f32s(simd.mul_f32s(a, inv), simd.sub_f32s(da, mean));
            }
        }
        let du = &mut space.step.du;
        match score {
            Score::Dot => add_mixture(simd, p, d_scores, du),
            Score::Euclidean => {
                let u = &space.u[self.i * wide..][..wide];
                distances(simd, p, u, &mut space.step.scores);
                slopes(d_scores, &space.step.scores);
                // Σ_j slope_j·(u − s_j), subtracted.
                let (q_count, s) = (p.dp / S::F32_LANES, vectors::<S>(&p.panels.s));
                let (u, du) = (vectors::<S>(u), vectors_mut::<S>(du));
                for at in 0..ROWS * q_count {
                    let (r, q) = (at / q_count, at % q_count);
                    for j in 0..p.k {
                        let slope = simd.splat_f32s(d_scores[r * p.kp + j]);
                        let gap = simd.sub_f32s(u[at], s[q * p.k + j]);
                        du[at] = simd.negate_mul_add_e_f32s(slope, gap, du[at]);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn cell<S: Simd, C: Kind>(&self, simd: S, space: &mut Space, d: &mut Panels) {
        let p = self.scan.p;
        let (t, i, wide) = (self.t, self.i, ROWS * p.dp);
        let cw = space.c.len() / (space.segment + 1);
        let step = &mut space.step;
        let da_in = &mut space.da_in[i * wide * C::INPUTS..][..wide * C::INPUTS];
        let da_state = &mut space.da_state[i * wide * C::STATES..][..wide * C::STATES];
        C::backward(
            simd,
            p,
            Backward {
                carry: &space.carry[t * ROWS * p.np..][..ROWS * p.np],
                c_prev: &space.c[i * cw..][..cw],
                c: &space.c[(i + 1) * cw..][..cw],
                gates: &space.gates[i * wide * C::GATES..][..wide * C::GATES],
                du: &step.du,
                dc: &mut step.dc,
                da_in,
                da_state,
                dh: &mut step.dh,
                scratch: &mut step.scratch,
            },
            d,
        );
        let da: &[f32] = if C::STATES == 0 { da_in } else { da_state };
        C::carry_gradient(simd, p, da, &mut step.d_carry);
        if p.form == Form::Direct && C::STATES > 0 {
            add_scaled(simd, &mut step.d_carry, 1.0, &step.dh);
        }
        if matches!(p.source, Source::Carry | Source::Hidden) {
            let width = ROWS * p.n_in_p;
            C::input_gradient(simd, p, da_in, &mut space.d_read[t * width..][..width]);
        }
    }
}

/// Replaces ∂/∂score by the slope along `u − s`; 0 at the kink.
fn slopes(d_scores: &mut [f32], distances: &[f32]) {
    for (d, &length) in d_scores.iter_mut().zip(distances) {
        *d = if length > 0.0 { *d / length } else { 0.0 };
    }
}

/// What a segment's steps add to the gradients of the panels.
struct SegmentGradients<'a, C> {
    scan: Scan<'a>,
    space: &'a mut Space,
    below: Option<(&'a Prepared, &'a Space)>,
    first: usize,
    count: usize,
    mixture_pulled: bool,
    d: &'a mut Panels,
    kind: PhantomData<C>,
}

impl<C: Kind> WithSimd for SegmentGradients<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let SegmentGradients { scan, space, below, first, count, mixture_pulled, d, .. } = self;
        let Scan { p, lengths, .. } = scan;
        let (wide, kw, items) = (ROWS * p.dp, ROWS * p.kp, count * ROWS);
        let da_in = &space.da_in[..count * wide * C::INPUTS];
        if p.k > 0 {
            let (d_scores, u) = (&space.d_scores[..count * kw], &space.u[..count * wide]);
            match p.stochastic.expect("a layer with centroids").0 {
                Score::Dot => outer::<S, 1>(simd, &mut d.s, p.k, d_scores, p.kp, u),
                Score::Euclidean => pull_centroids(simd, p, d_scores, u, &mut d.s),
            }
            if mixture_pulled {
                let alpha = &space.alpha[(first + 1) * kw..][..count * kw];
                outer::<S, 1>(simd, &mut d.s, p.k, alpha, p.kp, &space.d_mixture[..count * wide]);
            }
        }
        match p.source {
            Source::Table => {
                let row_len = p.dp * C::INPUTS;
                for item in 0..items {
                    let (t, r) = (first + item / ROWS, item % ROWS);
                    if lengths.has(r, t) {
                        let into = &mut d.input[space.ids[t][r] as usize * row_len..][..row_len];
                        add_scaled(simd, into, 1.0, &da_in[item * row_len..][..row_len]);
                    }
                }
            }
            _ => {
                let read = read_of(p, &space.read, below);
                let read = &read[first * ROWS * p.n_in_p..][..items * p.n_in_p];
                C::input_panel_gradient(simd, p, read, da_in, d);
            }
        }
        let segment = Segment {
            carry: &space.carry[first * ROWS * p.np..][..items * p.np],
            da_in,
            da_state: &space.da_state[..count * wide * C::STATES],
            gates: &space.gates[..count * wide * C::GATES],
            scratch: &mut space.scratch,
        };
        C::panel_gradients(simd, p, segment, d);
    }
}

/// The Euclidean score's pull on the centroids: `ds_j += slope_j·(u − s_j)`.
#[inline(always)]
fn pull_centroids<S: Simd>(simd: S, p: &Prepared, slopes: &[f32], u: &[f32], ds: &mut [f32]) {
    let q_count = p.dp / S::F32_LANES;
    let (s, ds) = (vectors::<S>(&p.panels.s), vectors_mut::<S>(ds));
    for (slopes, u) in slopes.chunks_exact(p.kp).zip(u.chunks_exact(p.dp)) {
        let u = vectors::<S>(u);
        for q in 0..q_count {
            for j in 0..p.k {
                let gap = simd.sub_f32s(u[q], s[q * p.k + j]);
                let slope = simd.splat_f32s(slopes[j]);
                ds[q * p.k + j] = simd.mul_add_e_f32s(slope, gap, ds[q * p.k + j]);
            }
        }
    }
}
