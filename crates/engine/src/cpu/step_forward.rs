//! One step forward: the cell, then the stochastic component.

// PERF: each part of a step is an operation of its own, compiled as one function per instruction
// set. Inlined into one another they take the compiler minutes and run no faster.

use super::cells::{CellKernel, ForwardArgs};
use super::centroids::{log_softmax, mix, scores, softmax};
use super::cross_entropy::argmax;
use super::kernels::{ROWS, add_scaled};
use super::prepare::PreparedLayer;
use super::scan::{LayerScan, step_input};
use super::scan_buffers::{ScanBuffers, input_vectors};
use crate::Transition;
use crate::form::Recurrence;
use crate::key::Rng;
use crate::layer_state::RowStart;
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// Gates, c and u of step t, stored at place i of the segment.
pub struct CellStep<'a, C> {
    pub scan: LayerScan<'a>,
    pub buffers: &'a mut ScanBuffers,
    pub below: Option<(&'a PreparedLayer, &'a ScanBuffers)>,
    pub t: usize,
    pub i: usize,
    pub gates: GateStorage,
    pub kernel: PhantomData<C>,
}

/// Whether the forward pass stores the gates of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum GateStorage {
    /// The backward pass reads them.
    Kept,
    /// The backward pass recomputes them.
    // PERF: gates that are not written do not evict weights from the first-level cache.
    Dropped,
}

impl<C: CellKernel> WithSimd for CellStep<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let CellStep { scan, buffers, below, t, i, gates, .. } = self;
        let LayerScan { p, table, .. } = scan;
        let wide = ROWS * p.dp;
        let cw = buffers.c_width(p);
        let read = input_vectors(p, &buffers.read, below);
        let (c_prev, c) = buffers.c.split_at_mut((i + 1) * cw);
        let dropped = gates == GateStorage::Dropped && C::can_drop_gates(p.gate);
        let kept = if dropped { 0 } else { wide * C::GATES };
        C::forward(
            simd,
            p,
            ForwardArgs {
                input: step_input(p, (table, &buffers.table_rows), read, t),
                carry: &buffers.carry[t * ROWS * p.np..][..ROWS * p.np],
                from_zero: t == 0 && scan.start == RowStart::Zero,
                c_prev: &c_prev[i * cw..],
                c: &mut c[..cw],
                gates: &mut buffers.gates[i * wide * C::GATES..][..kept],
                u: &mut buffers.u[i * wide..][..wide],
                scratch: &mut buffers.step.scratch,
            },
        );
    }
}

/// α of step t from u, and what is carried to the next step.
pub struct StochasticStep<'a> {
    pub scan: LayerScan<'a>,
    pub buffers: &'a mut ScanBuffers,
    pub rngs: &'a mut [Rng],
    pub t: usize,
    pub i: usize,
}

impl WithSimd for StochasticStep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let StochasticStep { scan, buffers, rngs, t, i } = self;
        let LayerScan { p, lengths, mode, .. } = scan;
        let (wide, kw) = (ROWS * p.dp, ROWS * p.kp);
        let u = &buffers.u[i * wide..][..wide];
        let inv_tau = scores(simd, p, u, &mut buffers.step.scores);
        let alpha = &mut buffers.alpha[(t + 1) * kw..][..kw];
        let found = softmax(simd, p, &buffers.step.scores, inv_tau, alpha);
        for (r, found) in found.into_iter().enumerate() {
            let row = r * p.kp..(r + 1) * p.kp;
            if let Some(log_alpha) = buffers.log_alpha.get_mut((t + 1) * kw..) {
                let (scores, log_alpha) =
                    (&buffers.step.scores[row.clone()], &mut log_alpha[row.clone()]);
                log_softmax(scores, inv_tau, p.k, found, log_alpha);
            }
            if !lengths.is_stochastic(r, t) {
                alpha[row].fill(0.0);
            }
        }
        let next = &mut buffers.carry[(t + 1) * ROWS * p.np..][..ROWS * p.np];
        if mode.transition == Transition::Mixture && p.form == Recurrence::LowRank {
            next.copy_from_slice(alpha);
            return;
        }
        // The weights of the mixture: α, or 1 for the selected centroid.
        let weights = &mut buffers.step.scores;
        weights.copy_from_slice(alpha);
        if mode.transition != Transition::Mixture {
            for r in (0..ROWS).filter(|&r| lengths.is_stochastic(r, t)) {
                select_centroid(mode.transition, &mut weights[r * p.kp..][..p.k], &mut rngs[r]);
            }
        }
        if p.form == Recurrence::LowRank {
            next.copy_from_slice(weights);
            return;
        }
        mix(simd, p, weights, &mut buffers.step.mixture);
        let lambda = if mode.transition == Transition::Mixture { p.lambda } else { 1.0 };
        for r in 0..ROWS {
            let row = r * p.dp..(r + 1) * p.dp;
            let (h, u) = (&mut next[row.clone()], &u[row.clone()]);
            if lengths.is_stochastic(r, t) {
                h.fill(0.0);
                add_scaled(simd, h, 1.0 - lambda, u);
                add_scaled(simd, h, lambda, &buffers.step.mixture[row]);
            } else {
                h.copy_from_slice(u);
            }
        }
    }
}

/// h of step t, written to `step.mixture`.
pub struct FormHidden<'a> {
    pub scan: LayerScan<'a>,
    pub buffers: &'a mut ScanBuffers,
    pub t: usize,
    pub i: usize,
}

impl WithSimd for FormHidden<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let FormHidden { scan, buffers, t, i } = self;
        let LayerScan { p, lengths, .. } = scan;
        let next = &buffers.carry[(t + 1) * ROWS * p.np..][..ROWS * p.np];
        if p.form == Recurrence::Direct {
            buffers.step.mixture.copy_from_slice(next);
            return;
        }
        mix(simd, p, next, &mut buffers.step.mixture);
        for r in (0..ROWS).filter(|&r| !lengths.is_stochastic(r, t)) {
            let u = &buffers.u[(i * ROWS + r) * p.dp..][..p.dp];
            buffers.step.mixture[r * p.dp..][..p.dp].copy_from_slice(u);
        }
    }
}

/// Replaces probabilities by 1 for the selected centroid and 0 for the others.
fn select_centroid(transition: Transition, alpha: &mut [f32], rng: &mut Rng) {
    let selected = match transition {
        Transition::Mixture => return,
        Transition::Argmax => argmax(alpha),
        Transition::Sample(_) => {
            let (unit, mut sum) = (rng.unit() as f32, 0.0);
            let passed = |&a: &f32| {
                sum += a;
                unit < sum
            };
            alpha.iter().position(passed).unwrap_or(alpha.len() - 1)
        }
    };
    alpha.fill(0.0);
    alpha[selected] = 1.0;
}
