//! The stochastic component (Eqs. 2–4) on a set: from u to the new α.

use super::arithmetic::Errors;
use super::cell::{Computed, Spread};
use super::interval::{Interval, up};
use super::matrix::{Factor, Matrix, product, row_product};
use super::network::Layer;
use crate::model::Score;

/// Where a layer's α lies after a step.
pub struct Moved {
    /// The new centre `[K]`.
    pub centre: Vec<f64>,
    /// The new generators `[G,K]`, as doubles.
    pub generators: Vec<f64>,
    /// What they leave out, rounding of the program included `[K]`.
    pub rest: Vec<f64>,
    /// α lies in this box, too `[K]`.
    pub range: Vec<Interval>,
}

/// `α = softmax(score(u, S)/τ)` over a set.
pub fn stochastic(layer: &Layer, u: &Computed, errors: Errors) -> Moved {
    let logits = logits(layer, u, errors);
    let spread = logits.generators.column_sums();
    let y = softmax(&logits.centre);
    let range = ranges(&y, &spread);
    let rounding = rounding(layer, &y, &spread, &logits.error, errors);
    let generators = product(&logits.generators, &Factor::new(&laplacian(&range)));
    let left_out = generators.column_radii();
    let centre: Vec<f64> = y.iter().map(|y| y.mid()).collect();
    let rest = (0..layer.k).map(|k| up(left_out[k] + y[k].rad() + rounding[k], 4)).collect();
    let range = range.iter().zip(&rounding).map(|(r, &e)| r.widen(e)).collect();
    Moved { centre, generators: generators.mid, rest, range }
}

/// Logits relative to a reference centroid.
struct Logits {
    /// At the centre `[K]`.
    centre: Vec<Interval>,
    /// `[G,K]`.
    generators: Matrix,
    /// δl `[K]`.
    error: Vec<f64>,
}

fn logits(layer: &Layer, u: &Computed, errors: Errors) -> Logits {
    let (centre, generators) = match layer.score {
        Score::Dot => dot(layer, &u.value),
        Score::Euclidean => euclidean(layer, &u.value),
    };
    Logits { centre, generators, error: logit_errors(layer, u, errors) }
}

fn dot(layer: &Layer, u: &Spread) -> (Vec<Interval>, Matrix) {
    let (d, tau) = (layer.d, Interval::point(layer.tau));
    let row = |k: usize| &layer.s[k * d..][..d];
    let scores =
        (0..layer.k).map(|k| row(k).iter().zip(&u.centre).map(|(s, u)| s * u.mid()).sum::<f64>());
    let reference = row(largest(scores));
    let differences: Vec<Interval> = (0..layer.k)
        .flat_map(|k| row(k).iter().zip(reference))
        .map(|(&s, &o)| (Interval::point(s) - Interval::point(o)) / tau)
        .collect();
    let differences = Factor::new(&Matrix::of(d, &differences).transposed());
    (row_product(&u.centre, &differences), product(&u.generators, &differences))
}

fn euclidean(layer: &Layer, u: &Spread) -> (Vec<Interval>, Matrix) {
    let (d, tau) = (layer.d, Interval::point(layer.tau));
    let reach = reach(u);
    let distances: Vec<Interval> =
        layer.s.chunks_exact(d).map(|s| distance(&u.centre, s)).collect();
    let slopes: Vec<Interval> = layer
        .s
        .chunks_exact(d)
        .zip(&distances)
        .flat_map(|(s, &at_centre)| secants(u, s, at_centre, reach))
        .collect();
    let mut moved = product(&u.generators, &Factor::new(&Matrix::of(d, &slopes).transposed()));
    cap_by_length(&mut moved, &u.generators);
    let o = largest(distances.iter().map(|d| -d.mid()));
    let centre = distances.iter().map(|&d| (distances[o] - d) / tau).collect();
    (centre, relative(&moved, o, tau))
}

/// `w_k`: the secant slopes of ‖u − s‖ from the centre, exact also at u = s.
fn secants(u: &Spread, s: &[f64], at_centre: Interval, reach: f64) -> Vec<Interval> {
    let near = (at_centre.lo - reach).next_down().max(distance(&u.range, s).lo);
    let both = Interval::new(near, (at_centre.hi + reach).next_up()) + at_centre;
    let two = Interval::point(2.0);
    let slope = |j: usize| match both.lo > 0.0 {
        true => (u.range[j] + u.centre[j] - two * Interval::point(s[j])) / both,
        false => Interval::new(-1.0, 1.0),
    };
    (0..s.len()).map(slope).collect()
}

/// A distance changes by no more than u moves: where that is the better bound, it is taken.
fn cap_by_length(moved: &mut Matrix, du: &Matrix) {
    let k = moved.columns;
    for g in 0..du.rows() {
        let at = g * du.columns..(g + 1) * du.columns;
        let length = length(du.mid[at.clone()].iter().zip(&du.rad[at]).map(|(m, r)| m.abs() + r));
        for i in g * k..(g + 1) * k {
            if moved.mid[i].abs() + moved.rad[i] > length {
                (moved.mid[i], moved.rad[i]) = (0.0, length);
            }
        }
    }
}

/// `−(d_k − d_o)/τ`, generator by generator.
fn relative(moved: &Matrix, o: usize, tau: Interval) -> Matrix {
    let k = moved.columns;
    let at = |i: usize| Interval::point(moved.mid[i]).widen(moved.rad[i]);
    let entry = |i: usize| match i % k == o {
        true => Interval::point(0.0),
        false => (at(i / k * k + o) - at(i)) / tau,
    };
    Matrix::of(k, &(0..moved.mid.len()).map(entry).collect::<Vec<_>>())
}

/// At least the length of a vector of non-negative numbers.
fn length(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut terms) = (0.0, 0);
    values.for_each(|x| (sum, terms) = (sum + x * x, terms + 1));
    up(up(sum, 2 * terms + 4).sqrt(), 1)
}

/// How far u can be from its centre.
fn reach(u: &Spread) -> f64 {
    length(u.generators.column_sums().into_iter())
}

/// `‖u − s‖`.
fn distance(u: &[Interval], s: &[f64]) -> Interval {
    let squares = u.iter().zip(s).map(|(&u, &s)| (u - Interval::point(s)).square());
    squares.sum::<Interval>().sqrt()
}

/// δl `[K]`.
fn logit_errors(layer: &Layer, u: &Computed, errors: Errors) -> Vec<f64> {
    let (sizes, deltas) = match layer.score {
        Score::Dot => dot_errors(layer, u, errors),
        Score::Euclidean => euclidean_errors(layer, u, errors),
    };
    let whole: Vec<f64> = sizes.iter().zip(&deltas).map(|(s, d)| s + d).collect();
    let largest = whole.iter().copied().fold(0.0, f64::max);
    let logit = |k: usize| {
        let rounding = 4.0 * errors.unit * (largest + whole[k]);
        up((deltas[k] + rounding) / layer.tau + 2.0 * errors.exp + errors.lost, 16)
    };
    (0..layer.k).map(logit).collect()
}

/// |s_k| and δs_k of the dot product.
fn dot_errors(layer: &Layer, u: &Computed, errors: Errors) -> (Vec<f64>, Vec<f64>) {
    let d = layer.d;
    let whole: Vec<f64> =
        u.value.range.iter().zip(&u.error).map(|(u, e)| up(u.mag() + e, 1)).collect();
    let gamma = errors.gamma(d + 10);
    let against =
        |s: &[f64], v: &[f64]| -> f64 { up(s.iter().zip(v).map(|(s, v)| s.abs() * v).sum(), d) };
    let sizes = layer.s.chunks_exact(d).map(|s| against(s, &whole)).collect();
    let deltas = layer
        .s
        .chunks_exact(d)
        .map(|s| up(against(s, &u.error) + gamma * against(s, &whole) + errors.lost, 4));
    let deltas = deltas.collect();
    (sizes, deltas)
}

/// d_k and δd_k of the distance.
fn euclidean_errors(layer: &Layer, u: &Computed, errors: Errors) -> (Vec<f64>, Vec<f64>) {
    let (reach, off) = (reach(&u.value), length(u.error.iter().copied()));
    let gamma = errors.gamma(layer.d + 10);
    let sizes: Vec<f64> = layer
        .s
        .chunks_exact(layer.d)
        .map(|s| up(distance(&u.value.centre, s).hi + reach, 1))
        .collect();
    let delta = |size: &f64| up(off + gamma * (size + off) + errors.lost, 4);
    let deltas = sizes.iter().map(delta).collect();
    (sizes, deltas)
}

/// Softmax at the centre.
fn softmax(logits: &[Interval]) -> Vec<Interval> {
    let weights: Vec<Interval> = logits.iter().map(|l| l.exp()).collect();
    let sum: Interval = weights.iter().copied().sum();
    // Enormous weights leave the logits unknown even at the centre.
    let share = |w: Interval| if sum.lo > 0.0 { w / sum } else { Interval::new(0.0, 1.0) };
    let within = |y: Interval| Interval { lo: y.lo.max(0.0), hi: y.hi.min(1.0) };
    weights.iter().map(|&w| within(share(w))).collect()
}

/// α over all logits within `spread` of those at the centre.
fn ranges(y: &[Interval], spread: &[f64]) -> Vec<Interval> {
    let grown = |sign: f64| -> Vec<Interval> {
        let y = y.iter().zip(spread);
        let weights = y.map(|(&y, &s)| y * Interval::point(sign * s).exp());
        weights.map(|w| Interval { lo: w.lo.max(0.0), hi: w.hi }).collect()
    };
    let (less, more) = (grown(-1.0), grown(1.0));
    let share = |own: Interval, others: &[Interval], k: usize| {
        let rest = others.iter().enumerate().filter(|&(m, _)| m != k).map(|(_, &w)| w);
        let whole = own + rest.sum();
        // Nothing but underflow is left where logits spread over hundreds.
        if whole.lo > 0.0 { own / whole } else { Interval::new(0.0, 1.0) }
    };
    let range = |k: usize| {
        let (low, high) = (share(less[k], &more, k), share(more[k], &less, k));
        Interval::new(low.lo.max(0.0), high.hi.min(1.0))
    };
    (0..y.len()).map(range).collect()
}

/// `Λ` with `Γ' = TΛ`: `dα_k = Σ_m α_k α_m (dl_k − dl_m)`.
fn laplacian(alpha: &[Interval]) -> Matrix {
    let k = alpha.len();
    let mut entries = vec![Interval::point(0.0); k * k];
    for i in 0..k {
        for j in (0..k).filter(|&j| j != i) {
            let both = alpha[i] * alpha[j];
            entries[i * k + j] = -both;
            entries[j * k + j] = entries[j * k + j] + both;
        }
    }
    Matrix::of(k, &entries)
}

/// Beyond this error of a logit the exponentials, or one over their sum, may overflow or be flushed
/// to zero, and α need not sum to one: nothing is known then.
const LARGEST_ERROR: f64 = 40.0;

/// E `[K]`.
fn rounding(
    layer: &Layer,
    y: &[Interval],
    spread: &[f64],
    delta: &[f64],
    errors: Errors,
) -> Vec<f64> {
    if !delta.iter().all(|&delta| delta <= LARGEST_ERROR) {
        return vec![f64::INFINITY; layer.k];
    }
    let wider: Vec<f64> = spread.iter().zip(delta).map(|(s, d)| up(s + d, 1)).collect();
    let high: Vec<f64> = ranges(y, &wider).iter().map(|a| a.hi).collect();
    let own = errors.unbalanced(layer.k);
    let error = |k: usize| {
        let others = (0..layer.k).filter(|&m| m != k);
        let moved: f64 = others.map(|m| high[m] * (delta[k] + delta[m])).sum();
        up(high[k] * (moved + own) + errors.lost, layer.k + 4)
    };
    (0..layer.k).map(error).collect()
}

/// The place of the largest value, the first of equals.
fn largest(values: impl Iterator<Item = f64>) -> usize {
    let better = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    values.enumerate().fold((0, f64::NEG_INFINITY), better).0
}
