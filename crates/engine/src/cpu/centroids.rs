//! The stochastic component on vectors, for four rows. The equations are in
//! `reference/centroids.rs`.

use super::functions::exp;
use super::kernels::{Dots, PerRow, ROWS, accumulate, rows};
use super::prepare::PreparedLayer;
use super::simd::{vectors, vectors_mut};
use crate::model::Score;
use pulp::Simd;

/// Scores of u against all centroids `[ROWS, kp]`; returns 1/τ.
#[inline(always)]
pub fn scores<S: Simd>(simd: S, p: &PreparedLayer, u: &[f32], out: &mut [f32]) -> f32 {
    let (score, inv_tau) = p.stochastic.expect("a layer with centroids");
    match score {
        Score::Dot => {
            simd.vectorize(Dots::<1> { out, width: p.kp, n: p.k, y: u, panel: &p.panels.s })
        }
        Score::Euclidean => {
            distances(simd, p, u, out);
            out.iter_mut().for_each(|x| *x = -*x);
        }
    }
    inv_tau
}

/// `‖u − s‖` from the differences: the expanded square cancels near centroids, where training drives
/// u.
#[inline(always)]
pub fn distances<S: Simd>(simd: S, p: &PreparedLayer, u: &[f32], out: &mut [f32]) {
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

/// `α = softmax(scores/τ)` of four rows `[ROWS, kp]`. Returns for each row the largest score/τ and the
/// sum of the exponentials relative to it.
// PERF: one stage of all rows, then the next, so that the rows overlap. α stays in vectors: a vector
// load stalls on numbers that were just stored one by one.
#[inline(always)]
pub fn softmax<S: Simd>(
    simd: S,
    p: &PreparedLayer,
    scores: &[f32],
    inv_tau: f32,
    alpha: &mut [f32],
) -> PerRow<(f32, f32)> {
    let (zero, least) = (simd.splat_f32s(0.0), simd.splat_f32s(f32::NEG_INFINITY));
    let (ones, inv) = (vectors::<S>(&p.is_one), simd.splat_f32s(inv_tau));
    let (mut largest, mut sums, mut found) = ([0.0; ROWS], [zero; ROWS], [(0.0, 0.0); ROWS]);
    for (largest, scores) in largest.iter_mut().zip(rows(scores, p.kp)) {
        let mut most = least;
        for (&s, &one) in vectors::<S>(scores).iter().zip(ones) {
            let there = simd.greater_than_f32s(one, zero);
            most = simd.max_f32s(most, simd.select_f32s(there, s, least));
        }
        *largest = simd.reduce_max_f32s(most) * inv_tau;
    }
    for (r, alpha) in alpha.chunks_exact_mut(p.kp).enumerate() {
        let (scores, shift) = (&scores[r * p.kp..][..p.kp], simd.splat_f32s(-largest[r]));
        let alpha = vectors_mut::<S>(alpha).iter_mut();
        for ((a, &s), &one) in alpha.zip(vectors::<S>(scores)).zip(ones) {
            *a = simd.mul_f32s(one, exp(simd, simd.mul_add_e_f32s(s, inv, shift)));
            sums[r] = simd.add_f32s(sums[r], *a);
        }
    }
    for (r, alpha) in alpha.chunks_exact_mut(p.kp).enumerate() {
        found[r] = (largest[r], simd.reduce_sum_f32s(sums[r]));
        let scale = simd.splat_f32s(1.0 / found[r].1);
        vectors_mut::<S>(alpha).iter_mut().for_each(|a| *a = simd.mul_f32s(*a, scale));
    }
    found
}

/// `ln softmax(scores/τ)` of one row, from what [`softmax`] returned for it.
pub fn log_softmax(scores: &[f32], inv_tau: f32, k: usize, found: (f32, f32), out: &mut [f32]) {
    let (largest, log_sum) = (found.0, found.1.ln());
    for (l, s) in out[..k].iter_mut().zip(scores) {
        *l = s * inv_tau - largest - log_sum;
    }
    out[k..].fill(0.0);
}

/// `out = αS` for four rows `[ROWS, dp]`.
#[inline(always)]
pub fn mix<S: Simd>(simd: S, p: &PreparedLayer, alpha: &[f32], out: &mut [f32]) {
    mixture::<S, false>(simd, p, alpha, out);
}

/// `out += αS` for four rows `[ROWS, dp]`.
#[inline(always)]
pub fn add_mixture<S: Simd>(simd: S, p: &PreparedLayer, alpha: &[f32], out: &mut [f32]) {
    mixture::<S, true>(simd, p, alpha, out);
}

#[inline(always)]
fn mixture<S: Simd, const ADDED: bool>(simd: S, p: &PreparedLayer, alpha: &[f32], out: &mut [f32]) {
    let (q_count, zero) = (p.dp / S::F32_LANES, simd.splat_f32s(0.0));
    let (s, out, alpha) = (vectors::<S>(&p.panels.s), vectors_mut::<S>(out), rows(alpha, p.kp));
    for q in 0..q_count {
        let mut acc = [[zero]; ROWS];
        if ADDED {
            (0..ROWS).for_each(|r| acc[r][0] = out[r * q_count + q]);
        }
        accumulate(simd, &mut acc, alpha, &s[q * p.k..][..p.k]);
        (0..ROWS).for_each(|r| out[r * q_count + q] = acc[r][0]);
    }
}

/// Replaces ∂/∂score by its slope along `u − s`; 0 at the kink.
pub fn slopes(d_scores: &mut [f32], distances: &[f32]) {
    for (d, &length) in d_scores.iter_mut().zip(distances) {
        *d = if length > 0.0 { *d / length } else { 0.0 };
    }
}

/// The Euclidean score's gradient of u: `du −= Σ_j slope_j·(u − s_j)` for four rows.
#[inline(always)]
pub fn euclidean_state_gradient<S: Simd>(
    simd: S,
    p: &PreparedLayer,
    slopes: &[f32],
    u: &[f32],
    du: &mut [f32],
) {
    let (q_count, s) = (p.dp / S::F32_LANES, vectors::<S>(&p.panels.s));
    let (u, du) = (vectors::<S>(u), vectors_mut::<S>(du));
    for at in 0..ROWS * q_count {
        let (r, q) = (at / q_count, at % q_count);
        for j in 0..p.k {
            let slope = simd.splat_f32s(slopes[r * p.kp + j]);
            let gap = simd.sub_f32s(u[at], s[q * p.k + j]);
            du[at] = simd.negate_mul_add_e_f32s(slope, gap, du[at]);
        }
    }
}

/// The Euclidean score's gradient of the centroids: `ds_j += slope_j·(u − s_j)`.
#[inline(always)]
pub fn euclidean_centroid_gradient<S: Simd>(
    simd: S,
    p: &PreparedLayer,
    slopes: &[f32],
    u: &[f32],
    ds: &mut [f32],
) {
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
