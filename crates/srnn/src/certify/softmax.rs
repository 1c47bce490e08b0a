//! The stochastic component (Eqs. 2–4) over a set: from u to the new α.

use super::error_model::ErrorModel;
use super::gru::{AffineForm, RoundedForm};
use super::interval::{Interval, round_up};
use super::matrix::{IntervalMatrix, RightFactor, product, row_product};
use super::network::EnclosedLayer;
use crate::model::Score;

/// An enclosure of a layer's α after a step.
pub struct AlphaEnclosure {
    /// Centre `[K]`.
    pub centre: Vec<f64>,
    /// Generators, as exact doubles `[G,K]`.
    pub generators: Vec<f64>,
    /// Bound on what the generators leave out, with the rounding of the program `[K]`.
    pub remainder: Vec<f64>,
    /// A box that also contains α `[K]`.
    pub range: Vec<Interval>,
}

/// `α = softmax(score(u, S)/τ)` over a set.
pub fn next_alpha(layer: &EnclosedLayer, u: &RoundedForm, errors: ErrorModel) -> AlphaEnclosure {
    let logits = logits(layer, u, errors);
    let spread = logits.generators.column_sums();
    let y = softmax(&logits.centre);
    let range = softmax_ranges(&y, &spread);
    let rounding = alpha_error(layer, &y, &spread, &logits.error, errors);
    let generators = product(&logits.generators, &RightFactor::new(&laplacian(&range)));
    let left_out = generators.column_radii();
    let centre: Vec<f64> = y.iter().map(|y| y.mid()).collect();
    let remainder =
        (0..layer.k).map(|k| round_up(left_out[k] + y[k].rad() + rounding[k], 4)).collect();
    let range = range.iter().zip(&rounding).map(|(r, &e)| r.widen(e)).collect();
    AlphaEnclosure { centre, generators: generators.mid, remainder, range }
}

/// Logits relative to the reference centroid o.
struct Logits {
    /// l at the centre `[K]`.
    centre: Vec<Interval>,
    /// T `[G,K]`.
    generators: IntervalMatrix,
    /// δl `[K]`.
    error: Vec<f64>,
}

fn logits(layer: &EnclosedLayer, u: &RoundedForm, errors: ErrorModel) -> Logits {
    let (centre, generators) = match layer.score {
        Score::Dot => dot(layer, &u.value),
        Score::Euclidean => euclidean(layer, &u.value),
    };
    Logits { centre, generators, error: logit_errors(layer, u, errors) }
}

fn dot(layer: &EnclosedLayer, u: &AffineForm) -> (Vec<Interval>, IntervalMatrix) {
    let (d, tau) = (layer.d, Interval::point(layer.tau));
    let row = |k: usize| &layer.s[k * d..][..d];
    let scores =
        (0..layer.k).map(|k| row(k).iter().zip(&u.centre).map(|(s, u)| s * u.mid()).sum::<f64>());
    let reference = row(argmax(scores));
    let differences: Vec<Interval> = (0..layer.k)
        .flat_map(|k| row(k).iter().zip(reference))
        .map(|(&s, &o)| (Interval::point(s) - Interval::point(o)) / tau)
        .collect();
    let differences = RightFactor::new(&IntervalMatrix::of(d, &differences).transposed());
    (row_product(&u.centre, &differences), product(&u.generators, &differences))
}

fn euclidean(layer: &EnclosedLayer, u: &AffineForm) -> (Vec<Interval>, IntervalMatrix) {
    let (d, tau) = (layer.d, Interval::point(layer.tau));
    let radius = radius(u);
    let distances: Vec<Interval> =
        layer.s.chunks_exact(d).map(|s| distance(&u.centre, s)).collect();
    let slopes: Vec<Interval> = layer
        .s
        .chunks_exact(d)
        .zip(&distances)
        .flat_map(|(s, &at_centre)| secants(u, s, at_centre, radius))
        .collect();
    let mut changes =
        product(&u.generators, &RightFactor::new(&IntervalMatrix::of(d, &slopes).transposed()));
    cap_by_norm(&mut changes, &u.generators);
    let o = argmax(distances.iter().map(|d| -d.mid()));
    let centre = distances.iter().map(|&d| (distances[o] - d) / tau).collect();
    (centre, relative(&changes, o, tau))
}

/// `w_k`: secant slopes of ‖u − s‖ from the centre. They are exact also at u = s.
fn secants(u: &AffineForm, s: &[f64], at_centre: Interval, radius: f64) -> Vec<Interval> {
    let near = (at_centre.lo - radius).next_down().max(distance(&u.range, s).lo);
    let both = Interval::new(near, (at_centre.hi + radius).next_up()) + at_centre;
    let two = Interval::point(2.0);
    let slope = |j: usize| match both.lo > 0.0 {
        true => (u.range[j] + u.centre[j] - two * Interval::point(s[j])) / both,
        false => Interval::new(-1.0, 1.0),
    };
    (0..s.len()).map(slope).collect()
}

/// |Δd_k| ≤ ‖Δu‖₂: replaces an entry of `changes` by this bound if it is smaller.
fn cap_by_norm(changes: &mut IntervalMatrix, du: &IntervalMatrix) {
    let k = changes.columns;
    for g in 0..du.rows() {
        let at = g * du.columns..(g + 1) * du.columns;
        let norm = norm(du.mid[at.clone()].iter().zip(&du.rad[at]).map(|(m, r)| m.abs() + r));
        for i in g * k..(g + 1) * k {
            if changes.mid[i].abs() + changes.rad[i] > norm {
                (changes.mid[i], changes.rad[i]) = (0.0, norm);
            }
        }
    }
}

/// `−(d_k − d_o)/τ`, generator by generator.
fn relative(changes: &IntervalMatrix, o: usize, tau: Interval) -> IntervalMatrix {
    let k = changes.columns;
    let at = |i: usize| Interval::point(changes.mid[i]).widen(changes.rad[i]);
    let entry = |i: usize| match i % k == o {
        true => Interval::point(0.0),
        false => (at(i / k * k + o) - at(i)) / tau,
    };
    IntervalMatrix::of(k, &(0..changes.mid.len()).map(entry).collect::<Vec<_>>())
}

/// Upper bound on the Euclidean norm of a vector of non-negative numbers.
fn norm(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut terms) = (0.0, 0);
    values.for_each(|x| (sum, terms) = (sum + x * x, terms + 1));
    round_up(round_up(sum, 2 * terms + 4).sqrt(), 1)
}

/// Upper bound on ‖u − u_c‖₂.
fn radius(u: &AffineForm) -> f64 {
    norm(u.generators.column_sums().into_iter())
}

/// `‖u − s‖`.
fn distance(u: &[Interval], s: &[f64]) -> Interval {
    let squares = u.iter().zip(s).map(|(&u, &s)| (u - Interval::point(s)).square());
    squares.sum::<Interval>().sqrt()
}

/// δl `[K]`.
fn logit_errors(layer: &EnclosedLayer, u: &RoundedForm, errors: ErrorModel) -> Vec<f64> {
    let (sizes, deltas) = match layer.score {
        Score::Dot => dot_errors(layer, u, errors),
        Score::Euclidean => euclidean_errors(layer, u, errors),
    };
    let whole: Vec<f64> = sizes.iter().zip(&deltas).map(|(s, d)| s + d).collect();
    let largest = whole.iter().copied().fold(0.0, f64::max);
    let logit = |k: usize| {
        let rounding = 4.0 * errors.unit_roundoff * (largest + whole[k]);
        round_up((deltas[k] + rounding) / layer.tau + 2.0 * errors.exp + errors.underflow, 16)
    };
    (0..layer.k).map(logit).collect()
}

/// |s_k| and δs_k of the dot product.
fn dot_errors(layer: &EnclosedLayer, u: &RoundedForm, errors: ErrorModel) -> (Vec<f64>, Vec<f64>) {
    let d = layer.d;
    let whole: Vec<f64> =
        u.value.range.iter().zip(&u.error).map(|(u, e)| round_up(u.mag() + e, 1)).collect();
    let gamma = errors.gamma(d + 10);
    let against = |s: &[f64], v: &[f64]| -> f64 {
        round_up(s.iter().zip(v).map(|(s, v)| s.abs() * v).sum(), d)
    };
    let sizes = layer.s.chunks_exact(d).map(|s| against(s, &whole)).collect();
    let deltas = layer
        .s
        .chunks_exact(d)
        .map(|s| round_up(against(s, &u.error) + gamma * against(s, &whole) + errors.underflow, 4));
    let deltas = deltas.collect();
    (sizes, deltas)
}

/// d_k and δs_k of the distance.
fn euclidean_errors(
    layer: &EnclosedLayer,
    u: &RoundedForm,
    errors: ErrorModel,
) -> (Vec<f64>, Vec<f64>) {
    let (radius, off) = (radius(&u.value), norm(u.error.iter().copied()));
    let gamma = errors.gamma(layer.d + 10);
    let sizes: Vec<f64> = layer
        .s
        .chunks_exact(layer.d)
        .map(|s| round_up(distance(&u.value.centre, s).hi + radius, 1))
        .collect();
    let delta = |size: &f64| round_up(off + gamma * (size + off) + errors.underflow, 4);
    let deltas = sizes.iter().map(delta).collect();
    (sizes, deltas)
}

/// Softmax at the centre.
fn softmax(logits: &[Interval]) -> Vec<Interval> {
    let weights: Vec<Interval> = logits.iter().map(|l| l.exp()).collect();
    let sum: Interval = weights.iter().copied().sum();
    // With enormous weights the logits are unknown even at the centre.
    let share = |w: Interval| if sum.lo > 0.0 { w / sum } else { Interval::new(0.0, 1.0) };
    let within = |y: Interval| Interval { lo: y.lo.max(0.0), hi: y.hi.min(1.0) };
    weights.iter().map(|&w| within(share(w))).collect()
}

/// α over all logits within `spread` of those at the centre.
fn softmax_ranges(y: &[Interval], spread: &[f64]) -> Vec<Interval> {
    let grown = |sign: f64| -> Vec<Interval> {
        let y = y.iter().zip(spread);
        let weights = y.map(|(&y, &s)| y * Interval::point(sign * s).exp());
        weights.map(|w| Interval { lo: w.lo.max(0.0), hi: w.hi }).collect()
    };
    let (less, more) = (grown(-1.0), grown(1.0));
    let share = |own: Interval, others: &[Interval], k: usize| {
        let rest = others.iter().enumerate().filter(|&(m, _)| m != k).map(|(_, &w)| w);
        let whole = own + rest.sum();
        // All weights may underflow if the logits spread over hundreds.
        if whole.lo > 0.0 { own / whole } else { Interval::new(0.0, 1.0) }
    };
    let range = |k: usize| {
        let (low, high) = (share(less[k], &more, k), share(more[k], &less, k));
        Interval::new(low.lo.max(0.0), high.hi.min(1.0))
    };
    (0..y.len()).map(range).collect()
}

/// `Λ` with `Γ' = TΛ`: `dα_k = Σ_m α_k α_m (dl_k − dl_m)`.
fn laplacian(alpha: &[Interval]) -> IntervalMatrix {
    let k = alpha.len();
    let mut entries = vec![Interval::point(0.0); k * k];
    for i in 0..k {
        for j in (0..k).filter(|&j| j != i) {
            let both = alpha[i] * alpha[j];
            entries[i * k + j] = -both;
            entries[j * k + j] = entries[j * k + j] + both;
        }
    }
    IntervalMatrix::of(k, &entries)
}

/// Above this error of a logit an exponential, or one over their sum, may overflow or be flushed to
/// zero. Then α need not sum to one, and E is infinite.
const LARGEST_ERROR: f64 = 40.0;

/// E `[K]`.
fn alpha_error(
    layer: &EnclosedLayer,
    y: &[Interval],
    spread: &[f64],
    delta: &[f64],
    errors: ErrorModel,
) -> Vec<f64> {
    if !delta.iter().all(|&delta| delta <= LARGEST_ERROR) {
        return vec![f64::INFINITY; layer.k];
    }
    let wider: Vec<f64> = spread.iter().zip(delta).map(|(s, d)| round_up(s + d, 1)).collect();
    let high: Vec<f64> = softmax_ranges(y, &wider).iter().map(|a| a.hi).collect();
    let simplex_error = errors.simplex_error(layer.k);
    let error = |k: usize| {
        let others = (0..layer.k).filter(|&m| m != k);
        let change: f64 = others.map(|m| high[m] * (delta[k] + delta[m])).sum();
        round_up(high[k] * (change + simplex_error) + errors.underflow, layer.k + 4)
    };
    (0..layer.k).map(error).collect()
}

/// Index of the largest value; the first of equals.
fn argmax(values: impl Iterator<Item = f64>) -> usize {
    let better = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    values.enumerate().fold((0, f64::NEG_INFINITY), better).0
}
