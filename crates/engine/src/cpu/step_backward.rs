//! One step backward: the stochastic component, then the cell.

use super::cells::{BackwardArgs, CellKernel, gate_sums};
use super::centroids::{add_mixture, distances, euclidean_state_gradient, mix, slopes};
use super::kernels::{Dots, ROWS, add_scaled, dot, rows};
use super::panels::Panels;
use super::prepare::{PreparedLayer, ReadSource};
use super::scan::{HeadGradients, LayerScan, RegularisationSums};
use super::scan_buffers::{ScanBuffers, StepBuffers};
use super::simd::{vectors, vectors_mut};
use crate::form::Recurrence;
use crate::model::Score;
use crate::objective::GatePenalty;
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// The position of a backward step: step t, at place i of its segment and j of its block.
pub struct BackwardStep<'a> {
    pub scan: LayerScan<'a>,
    pub above: Option<(&'a PreparedLayer, &'a ScanBuffers)>,
    pub head: HeadGradients<'a>,
    pub t: usize,
    pub i: usize,
    pub j: usize,
}

/// From the gradients of h_t and α_t to du, in `step.du`. Returns whether αS of some row has a
/// gradient.
pub struct StochasticBackward<'a> {
    pub at: &'a BackwardStep<'a>,
    pub buffers: &'a mut ScanBuffers,
    pub sums: &'a mut RegularisationSums,
}

impl WithSimd for StochasticBackward<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let StochasticBackward { at, buffers, sums } = self;
        at.stochastic(simd, buffers, sums)
    }
}

/// Through the cell: to the gradients of what was carried and read.
pub struct CellBackward<'a, C> {
    pub at: &'a BackwardStep<'a>,
    pub buffers: &'a mut ScanBuffers,
    pub d: &'a mut Panels,
    pub sums: &'a mut RegularisationSums,
    pub kernel: PhantomData<C>,
}

impl<C: CellKernel> WithSimd for CellBackward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.at.cell::<S, C>(simd, self.buffers, self.d);
        self.at.add_gate_sums::<S, C>(simd, self.buffers, self.sums);
    }
}

impl BackwardStep<'_> {
    #[inline(always)]
    fn stochastic<S: Simd>(
        &self,
        simd: S,
        buffers: &mut ScanBuffers,
        sums: &mut RegularisationSums,
    ) -> bool {
        let p = self.scan.p;
        let has_outer_gradient = self.has_outer_gradient();
        let has_mixture_gradient = has_outer_gradient && self.has_mixture_gradient();
        if has_outer_gradient {
            buffers.step.du.fill(0.0);
            if has_mixture_gradient {
                buffers.d_mixture[self.j * ROWS * p.dp..][..ROWS * p.dp].fill(0.0);
            }
            for r in (0..ROWS).filter(|&r| self.scan.lengths.has(r, self.t)) {
                self.add_outer_gradients(simd, buffers, r);
            }
        }
        if p.k == 0 {
            return false;
        }
        self.commitment_gradient(simd, buffers, sums);
        self.alpha_gradient(simd, buffers, has_mixture_gradient);
        self.score_gradients(simd, buffers, sums);
        has_mixture_gradient
    }

    /// Whether du of some row may have a gradient besides that of the scores.
    // PERF: if no row has one (most steps of a classifier that reads only the last state), du is
    // not cleared first.
    #[inline(always)]
    fn has_outer_gradient(&self) -> bool {
        let LayerScan { p, lengths, weights, .. } = self.scan;
        let is_read = || self.head.every_step || (0..ROWS).any(|r| lengths.is_last(r, self.t));
        p.k == 0
            || p.form == Recurrence::Direct
            || weights.commitment != 0.0
            || self.above.is_some()
            || is_read()
    }

    /// Whether αS of some row has a gradient.
    #[inline(always)]
    fn has_mixture_gradient(&self) -> bool {
        let LayerScan { p, weights, .. } = self.scan;
        let reaches = |r: usize| self.outer_h_gradients(r).iter().any(Option::is_some);
        let always = p.form == Recurrence::Direct || weights.commitment != 0.0;
        p.k > 0 && (always || (0..ROWS).any(reaches))
    }

    /// The gradients of h of row r from the layer above and from the classifier.
    #[inline(always)]
    fn outer_h_gradients(&self, r: usize) -> [Option<&[f32]>; 2] {
        let (LayerScan { p, lengths, .. }, t, head) = (self.scan, self.t, &self.head);
        let from_above = self.above.and_then(|(p_above, above)| {
            let is_h = p.form == Recurrence::Direct || p_above.source == ReadSource::Hidden;
            is_h.then(|| &above.d_read[(t * ROWS + r) * p.dp..][..p.dp])
        });
        [from_above, head.at(head.dh, &lengths, r, t, p.dp)]
    }

    /// Adds the gradients of row r from outside the stochastic component to du, dc and ∂/∂ αS.
    #[inline(always)]
    fn add_outer_gradients<S: Simd>(&self, simd: S, buffers: &mut ScanBuffers, r: usize) {
        let (LayerScan { p, lengths, .. }, t, head) = (self.scan, self.t, &self.head);
        let row = r * p.dp..(r + 1) * p.dp;
        let StepBuffers { dh, du, dc, d_carry, .. } = &mut buffers.step;
        let (dh, du) = (&mut dh[row.clone()], &mut du[row.clone()]);
        let outside = self.outer_h_gradients(r);
        if p.form == Recurrence::Direct || outside.iter().any(Option::is_some) {
            // In the low-rank form h is not carried: only the layer above and the classifier read it.
            match p.form {
                Recurrence::Direct => dh.copy_from_slice(&d_carry[row.clone()]),
                Recurrence::LowRank => dh.fill(0.0),
            }
            for outside in outside.into_iter().flatten() {
                add_scaled(simd, dh, 1.0, outside);
            }
            if p.k == 0 || !lengths.is_stochastic(r, t) {
                du.copy_from_slice(dh);
            } else {
                add_scaled(simd, du, 1.0 - p.lambda, dh);
                let d_mixture = &mut buffers.d_mixture[(self.j * ROWS + r) * p.dp..][..p.dp];
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

    /// The commitment loss `w·(u − αS)²`, where its weight is not 0: its gradients of u and αS.
    #[inline(always)]
    fn commitment_gradient<S: Simd>(
        &self,
        simd: S,
        buffers: &mut ScanBuffers,
        sums: &mut RegularisationSums,
    ) {
        let LayerScan { p, lengths, weights, .. } = self.scan;
        if weights.commitment == 0.0 {
            return;
        }
        let (t, wide, kw) = (self.t, ROWS * p.dp, ROWS * p.kp);
        let StepBuffers { dh: gap, du, mixture, .. } = &mut buffers.step;
        mix(simd, p, &buffers.alpha[(t + 1) * kw..][..kw], mixture);
        let u = &buffers.u[self.i * wide..][..wide];
        let d_mixture = &mut buffers.d_mixture[self.j * wide..][..wide];
        for r in (0..ROWS).filter(|&r| lengths.is_stochastic(r, t)) {
            let row = r * p.dp..(r + 1) * p.dp;
            let gap = &mut gap[row.clone()];
            gap.copy_from_slice(&u[row.clone()]);
            add_scaled(simd, gap, -1.0, &mixture[row.clone()]);
            sums.commitment += dot(simd, gap, gap) as f64;
            add_scaled(simd, &mut du[row.clone()], 2.0 * weights.commitment, gap);
            add_scaled(simd, &mut d_mixture[row], -2.0 * weights.commitment, gap);
        }
    }

    /// ∂/∂α: from αS, and where α is carried, from the next step and from the layer above.
    #[inline(always)]
    fn alpha_gradient<S: Simd>(
        &self,
        simd: S,
        buffers: &mut ScanBuffers,
        has_mixture_gradient: bool,
    ) {
        let (p, wide, kw) = (self.scan.p, ROWS * self.scan.p.dp, ROWS * self.scan.p.kp);
        let d_alpha = &mut buffers.step.d_alpha;
        if has_mixture_gradient {
            d_alpha.fill(0.0);
            let y = &buffers.d_mixture[self.j * wide..][..wide];
            let (width, n, panel) = (p.kp, p.k, &p.panels.s);
            simd.vectorize(Dots::<1> { out: d_alpha, width, n, y, panel });
        }
        if p.form == Recurrence::LowRank {
            match has_mixture_gradient {
                true => add_scaled(simd, d_alpha, 1.0, &buffers.step.d_carry),
                false => d_alpha.copy_from_slice(&buffers.step.d_carry),
            }
            match self.above {
                Some((p_above, above)) if p_above.source == ReadSource::Carry => {
                    add_scaled(simd, d_alpha, 1.0, &above.d_read[self.t * kw..][..kw]);
                }
                _ => {}
            }
        }
    }

    /// Through softmax and scores, to `d_scores` and du.
    #[inline(always)]
    fn score_gradients<S: Simd>(
        &self,
        simd: S,
        buffers: &mut ScanBuffers,
        sums: &mut RegularisationSums,
    ) {
        let LayerScan { p, lengths, weights, .. } = self.scan;
        let (t, wide, kw) = (self.t, ROWS * p.dp, ROWS * p.kp);
        let (score, inv_tau) = p.stochastic.expect("a layer with centroids");
        let d_scores = &mut buffers.d_scores[self.j * kw..][..kw];
        let alpha = &buffers.alpha[(t + 1) * kw..][..kw];
        let d_alpha = &mut buffers.step.d_alpha;
        if weights.entropy != 0.0 {
            for r in (0..ROWS).filter(|&r| lengths.is_stochastic(r, t)) {
                // ∂H/∂α through the softmax is that of −ln α: constants cancel.
                let row = r * p.kp..(r + 1) * p.kp;
                let log_alpha = &buffers.log_alpha[(t + 1) * kw..][row.clone()];
                sums.entropy -= dot(simd, &alpha[row.clone()], log_alpha) as f64;
                add_scaled(simd, &mut d_alpha[row], -weights.entropy, log_alpha);
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
        let du = &mut buffers.step.du;
        match score {
            Score::Dot if self.has_outer_gradient() => add_mixture(simd, p, d_scores, du),
            Score::Dot => mix(simd, p, d_scores, du),
            Score::Euclidean => {
                if !self.has_outer_gradient() {
                    du.fill(0.0);
                }
                let u = &buffers.u[self.i * wide..][..wide];
                distances(simd, p, u, &mut buffers.step.scores);
                slopes(d_scores, &buffers.step.scores);
                euclidean_state_gradient(simd, p, d_scores, u, du);
            }
        }
    }

    /// The penalty of each row's gates; zero where the row has no step.
    #[inline(always)]
    fn gate_penalties(&self) -> [GatePenalty<f32>; ROWS] {
        let LayerScan { p, lengths, weights, .. } = self.scan;
        let per_unit = |weight: f32| weight / p.d as f32;
        let penalty = GatePenalty {
            saturation: per_unit(weights.saturation),
            writing: per_unit(weights.writing),
        };
        std::array::from_fn(|r| if lengths.has(r, self.t) { penalty } else { Default::default() })
    }

    /// Adds to the sums of the gate terms, where they have a weight.
    #[inline(always)]
    fn add_gate_sums<S: Simd, C: CellKernel>(
        &self,
        simd: S,
        buffers: &ScanBuffers,
        sums: &mut RegularisationSums,
    ) {
        let LayerScan { p, lengths, weights, .. } = self.scan;
        if weights.saturation == 0.0 && weights.writing == 0.0 {
            return;
        }
        let width = p.dp * C::GATES;
        for r in (0..ROWS).filter(|&r| lengths.has(r, self.t)) {
            let gates = &buffers.gates[(self.i * ROWS + r) * width..][..width];
            let (unsaturated, written) = gate_sums::<S, C>(simd, p.d, gates);
            sums.saturation += unsaturated as f64;
            sums.writing += written as f64;
        }
    }

    #[inline(always)]
    fn cell<S: Simd, C: CellKernel>(&self, simd: S, buffers: &mut ScanBuffers, d: &mut Panels) {
        let p = self.scan.p;
        let (t, i, j, wide) = (self.t, self.i, self.j, ROWS * p.dp);
        let cw = buffers.c_width(p);
        let step = &mut buffers.step;
        let da_in = &mut buffers.da_in[j * wide * C::INPUTS..][..wide * C::INPUTS];
        let da_state = &mut buffers.da_state[j * wide * C::STATES..][..wide * C::STATES];
        C::backward(
            simd,
            p,
            BackwardArgs {
                carry: &buffers.carry[t * ROWS * p.np..][..ROWS * p.np],
                c_prev: &buffers.c[i * cw..][..cw],
                c: &buffers.c[(i + 1) * cw..][..cw],
                gates: &buffers.gates[i * wide * C::GATES..][..wide * C::GATES],
                du: &step.du,
                dc: &mut step.dc,
                penalties: self.gate_penalties(),
                da_in,
                da_state,
                dh: &mut step.dh,
                scratch: &mut step.scratch,
            },
            d,
        );
        let da: &[f32] = if C::STATES == 0 { da_in } else { da_state };
        // The gradient of the initial state is not needed.
        // PERF: skipping the initial state's gradient, and its products in the forward pass,
        // matters for short words: 2.02 ms per step, 2.11 without (T=16, d=100, k=50, one thread).
        if t > 0 {
            C::carry_gradient(simd, p, da, &mut step.d_carry);
            if p.form == Recurrence::Direct && C::STATES > 0 {
                add_scaled(simd, &mut step.d_carry, 1.0, &step.dh);
            }
        }
        if matches!(p.source, ReadSource::Carry | ReadSource::Hidden) {
            let width = ROWS * p.n_in_p;
            C::input_gradient(simd, p, da_in, &mut buffers.d_read[t * width..][..width]);
        }
    }
}
