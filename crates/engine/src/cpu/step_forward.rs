//! One step forward: the cell, then the stochastic component.

// PERF: the parts of a step are operations of their own: each is compiled as one function per
// instruction set. Inlined into one another they take the compiler minutes and run no faster.

use super::cells::{Forward, Kind};
use super::centroids::{log_softmax, mix, scores, softmax};
use super::head::largest;
use super::kernels::{ROWS, add_scaled};
use super::prepare::Prepared;
use super::scan::{Scan, Space, feed, read_of};
use crate::Transition;
use crate::form::Form;
use crate::key::Stream;
use pulp::{Simd, WithSimd};
use std::marker::PhantomData;

/// Gates, c and u of step t, kept at place i of the segment.
pub struct CellStep<'a, C> {
    pub scan: Scan<'a>,
    pub space: &'a mut Space,
    pub below: Option<(&'a Prepared, &'a Space)>,
    pub t: usize,
    pub i: usize,
    pub gates: Gates,
    pub kind: PhantomData<C>,
}

/// What becomes of the gates of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Gates {
    /// Backward reads them.
    Kept,
    /// Backward computes them again.
    // PERF: what is not written does not drive weights out of the first-level cache.
    Dropped,
}

impl<C: Kind> WithSimd for CellStep<'_, C> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let CellStep { scan: Scan { p, table, .. }, space, below, t, i, gates, .. } = self;
        let wide = ROWS * p.dp;
        let cw = space.memory(p);
        let read = read_of(p, &space.read, below);
        let (c_prev, c) = space.c.split_at_mut((i + 1) * cw);
        let dropped = gates == Gates::Dropped && C::may_drop(p.gate);
        let kept = if dropped { 0 } else { wide * C::GATES };
        C::forward(
            simd,
            p,
            Forward {
                feed: feed(p, (table, &space.ids), read, t),
                carry: &space.carry[t * ROWS * p.np..][..ROWS * p.np],
                begins: t == 0,
                c_prev: &c_prev[i * cw..],
                c: &mut c[..cw],
                gates: &mut space.gates[i * wide * C::GATES..][..kept],
                u: &mut space.u[i * wide..][..wide],
                scratch: &mut space.step.scratch,
            },
        );
    }
}

/// α of step t from u, and what is carried on.
pub struct StochasticStep<'a> {
    pub scan: Scan<'a>,
    pub space: &'a mut Space,
    pub draws: &'a mut [Stream],
    pub t: usize,
    pub i: usize,
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
        let found = softmax(simd, p, &space.step.scores, inv_tau, alpha);
        for (r, found) in found.into_iter().enumerate() {
            let row = r * p.kp..(r + 1) * p.kp;
            if let Some(log_alpha) = space.log_alpha.get_mut((t + 1) * kw..) {
                let (scores, log_alpha) =
                    (&space.step.scores[row.clone()], &mut log_alpha[row.clone()]);
                log_softmax(scores, inv_tau, p.k, found, log_alpha);
            }
            if !lengths.is_stochastic(r, t) {
                alpha[row].fill(0.0);
            }
        }
        // What the mixture is made with: α, or the one centroid that was drawn.
        let next = &mut space.carry[(t + 1) * ROWS * p.np..][..ROWS * p.np];
        if mode.transition == Transition::Mixture && p.form == Form::LowRank {
            next.copy_from_slice(alpha);
            return;
        }
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
pub struct Hidden<'a> {
    pub scan: Scan<'a>,
    pub space: &'a mut Space,
    pub t: usize,
    pub i: usize,
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
        Transition::Argmax => largest(alpha),
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
