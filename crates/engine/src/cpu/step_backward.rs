//! One step backward: the stochastic component, then the cell; and what the steps of a segment
//! add to the gradients of the parameters.

use super::cells::{Backward, Kind, Press, Segment, measure_gates};
use super::centroids::{add_mixture, distances, mix, pull_centroids, push_states, slopes};
use super::kernels::{Beside, Dots, Outer, ROWS, add_scaled, dot, rows};
use super::panels::Panels;
use super::prepare::{Prepared, Source};
use super::scan::{FromHead, Measured, Scan, Space, StepSpace, read_of};
use super::simd::{vectors, vectors_mut};
use crate::form::Form;
use crate::model::Score;
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;
use std::ops::Range;

/// Where a step backward is: step t, at place i of its segment and j of its block.
pub struct StepBack<'a> {
    pub scan: Scan<'a>,
    pub above: Option<(&'a Prepared, &'a Space)>,
    pub head: FromHead<'a>,
    pub t: usize,
    pub i: usize,
    pub j: usize,
}

/// From the gradients that reach h_t and α_t to du, in `step.du`; returns whether αS was pulled
/// at.
pub struct StochasticBack<'a> {
    pub at: &'a StepBack<'a>,
    pub space: &'a mut Space,
    pub measured: &'a mut Measured,
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
pub struct CellBack<'a, C> {
    pub at: &'a StepBack<'a>,
    pub space: &'a mut Space,
    pub d: &'a mut Panels,
    pub measured: &'a mut Measured,
    pub kind: PhantomData<C>,
}

impl<C: Kind> WithSimd for CellBack<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.at.cell::<S, C>(simd, self.space, self.d);
        self.at.measure::<S, C>(simd, self.space, self.measured);
    }
}

impl StepBack<'_> {
    #[inline(always)]
    fn stochastic<S: Simd>(&self, simd: S, space: &mut Space, measured: &mut Measured) -> bool {
        let p = self.scan.p;
        let begins_outside = self.begins_outside();
        let pulled = begins_outside && self.pulls_mixture();
        if begins_outside {
            space.step.du.fill(0.0);
            if pulled {
                space.d_mixture[self.j * ROWS * p.dp..][..ROWS * p.dp].fill(0.0);
            }
            for r in (0..ROWS).filter(|&r| self.scan.lengths.has(r, self.t)) {
                self.gather(simd, space, r);
            }
        }
        if p.k == 0 {
            return false;
        }
        self.commit(simd, space, measured);
        self.alpha(simd, space, pulled);
        self.scores(simd, space, measured);
        pulled
    }

    /// Whether something besides the scores may reach du of some row.
    // PERF: where nothing does, as at most steps of a classifier of words, du is not cleared first.
    #[inline(always)]
    fn begins_outside(&self) -> bool {
        let Scan { p, lengths, pressure, .. } = self.scan;
        let is_read = || self.head.every_step || (0..ROWS).any(|r| lengths.is_last(r, self.t));
        p.k == 0
            || p.form == Form::Direct
            || pressure.commitment != 0.0
            || self.above.is_some()
            || is_read()
    }

    /// Whether a gradient reaches αS of some row.
    #[inline(always)]
    fn pulls_mixture(&self) -> bool {
        let Scan { p, pressure, .. } = self.scan;
        let reaches = |r: usize| self.reaching_h(r).iter().any(Option::is_some);
        let weighed = p.form == Form::Direct || pressure.commitment != 0.0;
        p.k > 0 && (weighed || (0..ROWS).any(reaches))
    }

    /// What reaches h of row r from outside the layer: from the one above, and from the
    /// classifier.
    #[inline(always)]
    fn reaching_h(&self, r: usize) -> [Option<&[f32]>; 2] {
        let (Scan { p, lengths, .. }, t, head) = (self.scan, self.t, &self.head);
        let from_above = self.above.and_then(|(p_above, above)| {
            let is_h = p.form == Form::Direct || p_above.source == Source::Hidden;
            is_h.then(|| &above.d_read[(t * ROWS + r) * p.dp..][..p.dp])
        });
        [from_above, head.at(head.dh, &lengths, r, t, p.dp)]
    }

    /// What reaches row r from outside the stochastic component: to du, dc and ∂/∂ αS.
    #[inline(always)]
    fn gather<S: Simd>(&self, simd: S, space: &mut Space, r: usize) {
        let (Scan { p, lengths, .. }, t, head) = (self.scan, self.t, &self.head);
        let row = r * p.dp..(r + 1) * p.dp;
        let StepSpace { dh, du, dc, d_carry, .. } = &mut space.step;
        let (dh, du) = (&mut dh[row.clone()], &mut du[row.clone()]);
        let outside = self.reaching_h(r);
        if p.form == Form::Direct || outside.iter().any(Option::is_some) {
            // In the low-rank form h is not carried: it is only read from outside.
            match p.form {
                Form::Direct => dh.copy_from_slice(&d_carry[row.clone()]),
                Form::LowRank => dh.fill(0.0),
            }
            for outside in outside.into_iter().flatten() {
                add_scaled(simd, dh, 1.0, outside);
            }
            if p.k == 0 || !lengths.is_stochastic(r, t) {
                du.copy_from_slice(dh);
            } else {
                add_scaled(simd, du, 1.0 - p.lambda, dh);
                let d_mixture = &mut space.d_mixture[(self.j * ROWS + r) * p.dp..][..p.dp];
                add_scaled(simd, d_mixture, p.lambda, dh);
            }
        }
        if let Some(outside) = head.at(head.du, &lengths, r, t, p.dp) {
            add_scaled(simd, du, 1.0, outside);
        }
        if let Some(outside) = head.at(head.dc, &lengths, r, t, p.dp) {
            add_scaled(simd, &mut dc[row], 1.0, outside);
        }
    }

    /// The commitment loss, where it is weighed: `w·(u − αS)²` pulls at both.
    #[inline(always)]
    fn commit<S: Simd>(&self, simd: S, space: &mut Space, measured: &mut Measured) {
        let Scan { p, lengths, pressure, .. } = self.scan;
        if pressure.commitment == 0.0 {
            return;
        }
        let (t, wide, kw) = (self.t, ROWS * p.dp, ROWS * p.kp);
        let StepSpace { dh: gap, du, mixture, .. } = &mut space.step;
        mix(simd, p, &space.alpha[(t + 1) * kw..][..kw], mixture);
        let u = &space.u[self.i * wide..][..wide];
        let d_mixture = &mut space.d_mixture[self.j * wide..][..wide];
        for r in (0..ROWS).filter(|&r| lengths.is_stochastic(r, t)) {
            let row = r * p.dp..(r + 1) * p.dp;
            let gap = &mut gap[row.clone()];
            gap.copy_from_slice(&u[row.clone()]);
            add_scaled(simd, gap, -1.0, &mixture[row.clone()]);
            measured.commitment += dot(simd, gap, gap) as f64;
            add_scaled(simd, &mut du[row.clone()], 2.0 * pressure.commitment, gap);
            add_scaled(simd, &mut d_mixture[row], -2.0 * pressure.commitment, gap);
        }
    }

    /// ∂/∂α, from αS and, where α is what is carried and read, from the next step and from above.
    #[inline(always)]
    fn alpha<S: Simd>(&self, simd: S, space: &mut Space, pulled: bool) {
        let (p, wide, kw) = (self.scan.p, ROWS * self.scan.p.dp, ROWS * self.scan.p.kp);
        let d_alpha = &mut space.step.d_alpha;
        if pulled {
            d_alpha.fill(0.0);
            let y = &space.d_mixture[self.j * wide..][..wide];
            let (width, n, panel) = (p.kp, p.k, &p.panels.s);
            simd.vectorize(Dots::<1> { out: d_alpha, width, n, y, panel });
        }
        if p.form == Form::LowRank {
            match pulled {
                true => add_scaled(simd, d_alpha, 1.0, &space.step.d_carry),
                false => d_alpha.copy_from_slice(&space.step.d_carry),
            }
            match self.above {
                Some((p_above, above)) if p_above.source == Source::Carry => {
                    add_scaled(simd, d_alpha, 1.0, &above.d_read[self.t * kw..][..kw]);
                }
                _ => {}
            }
        }
    }

    /// Through softmax and scores: `d_scores`, and du.
    #[inline(always)]
    fn scores<S: Simd>(&self, simd: S, space: &mut Space, measured: &mut Measured) {
        let Scan { p, lengths, pressure, .. } = self.scan;
        let (t, wide, kw) = (self.t, ROWS * p.dp, ROWS * p.kp);
        let (score, inv_tau) = p.stochastic.expect("a layer with centroids");
        let d_scores = &mut space.d_scores[self.j * kw..][..kw];
        let alpha = &space.alpha[(t + 1) * kw..][..kw];
        let d_alpha = &mut space.step.d_alpha;
        if pressure.entropy != 0.0 {
            for r in (0..ROWS).filter(|&r| lengths.is_stochastic(r, t)) {
                // ∂H/∂α through the softmax is that of −ln α: constants cancel.
                let row = r * p.kp..(r + 1) * p.kp;
                let log_alpha = &space.log_alpha[(t + 1) * kw..][row.clone()];
                measured.entropy -= dot(simd, &alpha[row.clone()], log_alpha) as f64;
                add_scaled(simd, &mut d_alpha[row], -pressure.entropy, log_alpha);
            }
        }
        let (alpha, d_alpha) = (rows(alpha, p.kp), rows(d_alpha, p.kp));
        let (mut means, inv) = ([0.0; ROWS], simd.splat_f32s(inv_tau));
        for r in 0..ROWS {
            means[r] = dot(simd, alpha[r], d_alpha[r]);
        }
        for (r, d) in d_scores.chunks_exact_mut(p.kp).enumerate() {
            if !lengths.is_stochastic(r, t) {
                d.fill(0.0);
                continue;
            }
            let mean = simd.splat_f32s(means[r]);
            let (alpha, d_alpha) = (vectors::<S>(alpha[r]), vectors::<S>(d_alpha[r]));
            for ((d, &a), &da) in vectors_mut::<S>(d).iter_mut().zip(alpha).zip(d_alpha) {
                *d = simd.mul_f32s(simd.mul_f32s(a, inv), simd.sub_f32s(da, mean));
            }
        }
        let du = &mut space.step.du;
        match score {
            Score::Dot if self.begins_outside() => add_mixture(simd, p, d_scores, du),
            Score::Dot => mix(simd, p, d_scores, du),
            Score::Euclidean => {
                if !self.begins_outside() {
                    du.fill(0.0);
                }
                let u = &space.u[self.i * wide..][..wide];
                distances(simd, p, u, &mut space.step.scores);
                slopes(d_scores, &space.step.scores);
                push_states(simd, p, d_scores, u, du);
            }
        }
    }

    /// What acts on each row's gates: nothing where it has no step.
    #[inline(always)]
    fn press(&self) -> [Press; ROWS] {
        let Scan { p, lengths, pressure, .. } = self.scan;
        let per_unit = |weight: f32| weight / p.d as f32;
        let press = Press {
            saturation: per_unit(pressure.saturation),
            writing: per_unit(pressure.writing),
        };
        std::array::from_fn(|r| if lengths.has(r, self.t) { press } else { Press::default() })
    }

    /// What the terms that act on gates weigh, where they do.
    #[inline(always)]
    fn measure<S: Simd, C: Kind>(&self, simd: S, space: &Space, measured: &mut Measured) {
        let Scan { p, lengths, pressure, .. } = self.scan;
        if pressure.saturation == 0.0 && pressure.writing == 0.0 {
            return;
        }
        let width = p.dp * C::GATES;
        for r in (0..ROWS).filter(|&r| lengths.has(r, self.t)) {
            let gates = &space.gates[(self.i * ROWS + r) * width..][..width];
            let (unsaturated, written) = measure_gates::<S, C>(simd, p.d, gates);
            measured.saturation += unsaturated as f64;
            measured.writing += written as f64;
        }
    }

    #[inline(always)]
    fn cell<S: Simd, C: Kind>(&self, simd: S, space: &mut Space, d: &mut Panels) {
        let p = self.scan.p;
        let (t, i, j, wide) = (self.t, self.i, self.j, ROWS * p.dp);
        let cw = space.memory(p);
        let step = &mut space.step;
        let da_in = &mut space.da_in[j * wide * C::INPUTS..][..wide * C::INPUTS];
        let da_state = &mut space.da_state[j * wide * C::STATES..][..wide * C::STATES];
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
                press: self.press(),
                da_in,
                da_state,
                dh: &mut step.dh,
                scratch: &mut step.scratch,
            },
            d,
        );
        let da: &[f32] = if C::STATES == 0 { da_in } else { da_state };
        // Nobody asks for the gradient of the initial state.
        // PERF: of short words that counts, as that forward leaves out its products (T=16, d=100, k=50,
        // one thread: 2.02 ms a step, 2.11 with them).
        if t > 0 {
            C::carry_gradient(simd, p, da, &mut step.d_carry);
            if p.form == Form::Direct && C::STATES > 0 {
                add_scaled(simd, &mut step.d_carry, 1.0, &step.dh);
            }
        }
        if matches!(p.source, Source::Carry | Source::Hidden) {
            let width = ROWS * p.n_in_p;
            C::input_gradient(simd, p, da_in, &mut space.d_read[t * width..][..width]);
        }
    }
}

/// What the steps of a block add to the gradients of the panels.
pub struct BlockGradients<'a, C> {
    pub scan: Scan<'a>,
    pub space: &'a mut Space,
    pub below: Option<(&'a Prepared, &'a Space)>,
    /// The first step of the block.
    pub first: usize,
    /// Its place in the segment.
    pub i: usize,
    pub count: usize,
    /// The places of the block from the first where αS was pulled at to the last.
    pub pulled: Range<usize>,
    pub d: &'a mut Panels,
    pub kind: PhantomData<C>,
}

impl<C: Kind> WithSimd for BlockGradients<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let BlockGradients { scan, space, below, first, i, count, pulled, d, .. } = self;
        let p = scan.p;
        let (wide, kw, items) = (ROWS * p.dp, ROWS * p.kp, count * ROWS);
        let da_in = &space.da_in[..count * wide * C::INPUTS];
        if p.k > 0 {
            let (d_scores, u) =
                (&space.d_scores[..count * kw], &space.u[i * wide..][..count * wide]);
            match p.stochastic.expect("a layer with centroids").0 {
                Score::Dot => simd.vectorize(Outer::<1> {
                    d_panel: &mut d.s,
                    n: p.k,
                    v: d_scores,
                    width: p.kp,
                    units: p.d,
                    da: u,
                    beside: Beside::Nothing,
                }),
                Score::Euclidean => pull_centroids(simd, p, d_scores, u, &mut d.s),
            }
            if !pulled.is_empty() {
                let alpha = &space.alpha[(first + 1) * kw..];
                simd.vectorize(Outer::<1> {
                    d_panel: &mut d.s,
                    n: p.k,
                    v: &alpha[pulled.start * kw..pulled.end * kw],
                    width: p.kp,
                    units: p.d,
                    da: &space.d_mixture[pulled.start * wide..pulled.end * wide],
                    beside: Beside::Nothing,
                });
            }
        }
        if p.source != Source::Table {
            let read = read_of(p, &space.read, below);
            let read = &read[first * ROWS * p.n_in_p..][..items * p.n_in_p];
            C::input_panel_gradient(simd, p, read, da_in, d);
        }
        let places = match p.source {
            Source::Table => space.d_ids[first..first + count].as_flattened(),
            _ => &[],
        };
        let segment = Segment {
            begins: if first == 0 { ROWS } else { 0 },
            carry: &space.carry[first * ROWS * p.np..][..items * p.np],
            places,
            da_in,
            da_state: &space.da_state[..count * wide * C::STATES],
            gates: &space.gates[i * wide * C::GATES..][..count * wide * C::GATES],
            scratch: &mut space.scratch,
        };
        C::panel_gradients(simd, p, segment, d);
    }
}
