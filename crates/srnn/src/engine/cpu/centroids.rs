//! The stochastic component on vectors, for four rows; the mathematics is
//! `reference/centroids.rs`.

use super::functions::exp;
use super::kernels::{Dots, ROWS, accumulate, rows};
use super::prepare::Prepared;
use super::simd::{vectors, vectors_mut};
use crate::model::Score;
use pulp::Simd;

/// Scores of u against all centroids `[ROWS, kp]`; returns 1/τ.
#[inline(always)]
pub fn scores<S: Simd>(simd: S, p: &Prepared, u: &[f32], out: &mut [f32]) -> f32 {
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

/// `‖u − s‖`, from the differences: the expanded square cancels where training drives u.
#[inline(always)]
pub fn distances<S: Simd>(simd: S, p: &Prepared, u: &[f32], out: &mut [f32]) {
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
pub fn softmax<S: Simd>(
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
pub fn mix<S: Simd>(simd: S, p: &Prepared, alpha: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    add_mixture(simd, p, alpha, out);
}

/// `out += αS` for four rows `[ROWS, dp]`.
#[inline(always)]
pub fn add_mixture<S: Simd>(simd: S, p: &Prepared, alpha: &[f32], out: &mut [f32]) {
    let q_count = p.dp / S::F32_LANES;
    let (s, out, alpha) = (vectors::<S>(&p.panels.s), vectors_mut::<S>(out), rows(alpha, p.kp));
    for q in 0..q_count {
        let mut acc: [[S::f32s; 1]; ROWS] = std::array::from_fn(|r| [out[r * q_count + q]]);
        accumulate(simd, &mut acc, alpha, &s[q * p.k..][..p.k]);
        (0..ROWS).for_each(|r| out[r * q_count + q] = acc[r][0]);
    }
}

/// Replaces ∂/∂score by the slope along `u − s`; 0 at the kink.
pub fn slopes(d_scores: &mut [f32], distances: &[f32]) {
    for (d, &length) in d_scores.iter_mut().zip(distances) {
        *d = if length > 0.0 { *d / length } else { 0.0 };
    }
}

/// The Euclidean score's pull on the centroids: `ds_j += slope_j·(u − s_j)`.
#[inline(always)]
pub fn pull_centroids<S: Simd>(simd: S, p: &Prepared, slopes: &[f32], u: &[f32], ds: &mut [f32]) {
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
