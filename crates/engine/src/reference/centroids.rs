//! The stochastic component: g (Eqs. 2–4) and h (Eqs. 5, 6), forward beside backward.

use super::linear::{add_product, add_product_dw, add_product_dx, add_scaled, dot};
use crate::Transition;
use crate::key::Rng;
use crate::model::{Centroids, Score};
use crate::objective::RegularisationWeights;
use crate::softmax::{argmax, log_softmax};

/// The output of one stochastic step.
#[derive(Clone, Debug)]
pub struct StochasticOutput {
    /// α `[K]`.
    pub alpha: Vec<f64>,
    /// ln α `[K]`, from the scores: finite where α underflows.
    pub log_alpha: Vec<f64>,
    /// αS `[D]`.
    pub mixture: Vec<f64>,
}

/// `α = g(S, u)` (Eq. 2) at temperature τ, and αS.
pub fn forward(centroids: &Centroids, s: &[f64], tau: f64, u: &[f64]) -> StochasticOutput {
    let scores = scores(centroids.score, s, u);
    let logits: Vec<f64> = scores.iter().map(|score| score / tau).collect();
    let log_alpha = log_softmax(&logits);
    let alpha: Vec<f64> = log_alpha.iter().map(|l| l.exp()).collect(); // Eqs. 3, 4
    let mut mixture = vec![0.0; u.len()];
    add_product_dx(&mut mixture, s, &alpha); // Eq. 6
    StochasticOutput { alpha, log_alpha, mixture }
}

/// The adjoint of [`forward`], of the commitment loss `commitment · mean_D (u − αS)²` and of
/// `entropy · H(α)`: from the gradient of αS to that of u. The gradient of the centroids accumulates
/// in `ds`.
#[allow(clippy::too_many_arguments)]
pub fn backward(
    centroids: &Centroids,
    s: &[f64],
    tau: f64,
    u: &[f64],
    m: &StochasticOutput,
    d_mixture: &[f64],
    weights: RegularisationWeights<f64>,
    ds: &mut [f64],
) -> Vec<f64> {
    let d = u.len();
    let w = 2.0 * weights.commitment / d as f64;
    let gap: Vec<f64> = (0..d).map(|j| u[j] - m.mixture[j]).collect();
    let d_mixture: Vec<f64> = (0..d).map(|j| d_mixture[j] - w * gap[j]).collect();
    let mut d_alpha = vec![0.0; m.alpha.len()];
    add_product(&mut d_alpha, s, &d_mixture);
    add_product_dw(ds, &m.alpha, &d_mixture);
    let mean = dot(&m.alpha, &d_alpha);
    let entropy = entropy(m);
    let d_logits = (0..m.alpha.len()).map(|i| {
        m.alpha[i] * (d_alpha[i] - mean) - weights.entropy * m.alpha[i] * (m.log_alpha[i] + entropy)
    });
    let d_scores: Vec<f64> = d_logits.map(|d| d / tau).collect();
    let mut du: Vec<f64> = gap.iter().map(|gap| w * gap).collect();
    scores_backward(centroids.score, s, u, &d_scores, &mut du, ds);
    du
}

/// `H(α)` in nats.
pub fn entropy(m: &StochasticOutput) -> f64 {
    -dot(&m.alpha, &m.log_alpha)
}

/// `h_t = h(α, S)`: the next hidden state.
pub fn transition(
    transition: Transition,
    s: &[f64],
    u: &[f64],
    m: &StochasticOutput,
    lambda: f64,
    rng: &mut Rng,
) -> Vec<f64> {
    let d = u.len();
    let centroid = |i: usize| s[i * d..(i + 1) * d].to_vec();
    match transition {
        Transition::Mixture => {
            (0..d).map(|j| (1.0 - lambda) * u[j] + lambda * m.mixture[j]).collect() // Eq. 6
        }
        Transition::Sample(_) => centroid(sample(&m.alpha, rng.unit())), // Eq. 5
        Transition::Argmax => centroid(argmax(&m.alpha)),
    }
}

/// The index at which the running sum of `probabilities` passes `unit`.
fn sample(probabilities: &[f64], unit: f64) -> usize {
    let mut sum = 0.0;
    for (i, p) in probabilities.iter().enumerate() {
        sum += p;
        if unit < sum {
            return i;
        }
    }
    probabilities.len() - 1
}

fn scores(score: Score, s: &[f64], u: &[f64]) -> Vec<f64> {
    let rows = s.chunks_exact(u.len());
    match score {
        Score::Dot => rows.map(|s| dot(s, u)).collect(),
        Score::Euclidean => rows.map(|s| -distance(u, s)).collect(),
    }
}

fn scores_backward(
    score: Score,
    s: &[f64],
    u: &[f64],
    d_scores: &[f64],
    du: &mut [f64],
    ds: &mut [f64],
) {
    match score {
        Score::Dot => {
            add_product_dx(du, s, d_scores);
            add_product_dw(ds, d_scores, u);
        }
        Score::Euclidean => {
            let d = u.len();
            for ((s, ds), dy) in s.chunks_exact(d).zip(ds.chunks_exact_mut(d)).zip(d_scores) {
                let length = distance(u, s);
                // At u = s the distance has a kink; 0 is one of its subgradients.
                let slope = if length > 0.0 { dy / length } else { 0.0 };
                let gap: Vec<f64> = u.iter().zip(s).map(|(u, s)| u - s).collect();
                add_scaled(du, -slope, &gap);
                add_scaled(ds, slope, &gap);
            }
        }
    }
}

fn distance(u: &[f64], s: &[f64]) -> f64 {
    u.iter().zip(s).map(|(u, s)| (u - s) * (u - s)).sum::<f64>().sqrt()
}
