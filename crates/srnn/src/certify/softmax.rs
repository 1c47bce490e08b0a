//! The stochastic component (Eqs. 2–4) over a set: from u to the new α.

use super::error_model::ErrorModel;
use super::gru::{AffineForm, RoundedForm};
use super::interval::{Interval, round_up};
use super::matrix::{IntervalMatrix, RightFactor, product, row_product, upper_product};
use super::network::EnclosedLayer;
use crate::model::Score;
use std::ops::Add;

/// An enclosure of a layer's α after a step.
pub struct AlphaEnclosure {
    /// Centre `[K]`.
    pub centre: Vec<f64>,
    /// Generators; their midpoints are exact `[G,K]`.
    pub generators: IntervalMatrix,
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
    let generators = through_softmax(&logits.generators, &range);
    let left_out = generators.column_radii();
    let centre: Vec<f64> = y.iter().map(|y| y.mid()).collect();
    let remainder =
        (0..layer.k).map(|k| round_up(left_out[k] + y[k].rad() + rounding[k], 4)).collect();
    let range = range.iter().zip(&rounding).map(|(r, &e)| r.widen(e)).collect();
    AlphaEnclosure { centre, generators, remainder, range }
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
    let scores = row_product(&u.centre, &layer.scores);
    let differences = RightFactor::new(&differences(layer, argmax(scores.iter().map(|s| s.mid()))));
    (row_product(&u.centre, &differences), product(&u.generators, &differences))
}

/// `(s_k − s_o)/τ` `[D,K]`.
fn differences(layer: &EnclosedLayer, o: usize) -> IntervalMatrix {
    let (d, k, tau) = (layer.d, layer.k, Interval::point(layer.tau));
    let mut differences = IntervalMatrix::zeros(0, k);
    for j in 0..d {
        let reference = layer.s[o * d + j];
        let mut push = |k: usize, s: f64| {
            let difference = (Interval::point(s) - Interval::point(reference)) / tau;
            if s != reference {
                differences.push(k, difference.mid(), difference.rad());
            }
        };
        match reference == 0.0 {
            true => layer.scores.matrix().entries(j).for_each(|(k, s, _)| push(k, s)),
            false => (0..k).for_each(|k| push(k, layer.s[k * d + j])),
        }
        differences.end_row();
    }
    differences
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
    let transposed: Vec<Interval> =
        (0..slopes.len()).map(|i| slopes[i % layer.k * d + i / layer.k]).collect();
    let slopes = RightFactor::new(&IntervalMatrix::of(layer.k, &transposed));
    let changes = cap_by_norm(&product(&u.generators, &slopes), &u.generators);
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

/// |Δd_k| ≤ ‖Δu‖₂: `changes` `[G,K]`, where this bound replaces entries that exceed it.
fn cap_by_norm(changes: &IntervalMatrix, du: &IntervalMatrix) -> IntervalMatrix {
    let mut capped = IntervalMatrix::zeros(0, changes.columns);
    for g in 0..du.rows() {
        let norm = norm(du.entries(g).map(|(_, mid, rad)| mid.abs() + rad));
        for (at, mid, rad) in changes.entries(g) {
            let exceeds = mid.abs() + rad > norm;
            let (mid, rad) = if exceeds { (0.0, norm) } else { (mid, rad) };
            capped.push(at, mid, rad);
        }
        capped.end_row();
    }
    capped
}

/// `−(d_k − d_o)/τ`, generator by generator.
fn relative(changes: &IntervalMatrix, o: usize, tau: Interval) -> IntervalMatrix {
    let mut relative = vec![];
    for g in 0..changes.rows() {
        let mut row = vec![Interval::point(0.0); changes.columns];
        changes.entries(g).for_each(|(at, mid, rad)| row[at] = Interval::point(mid).widen(rad));
        let entry = |at: usize| match at == o {
            true => Interval::point(0.0),
            false => (row[o] - row[at]) / tau,
        };
        relative.extend((0..row.len()).map(entry));
    }
    IntervalMatrix::of(changes.columns, &relative)
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
    let whole: Vec<f64> =
        u.value.range.iter().zip(&u.error).map(|(u, e)| round_up(u.mag() + e, 1)).collect();
    let gamma = errors.gamma(layer.d + 10);
    let sizes = upper_product(&whole, &layer.scores);
    let carried = upper_product(&u.error, &layer.scores);
    let delta =
        |(carried, size): (&f64, &f64)| round_up(carried + gamma * size + errors.underflow, 4);
    let deltas = carried.iter().zip(&sizes).map(delta).collect();
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
    let zero = Interval::point(0.0);
    let (other_less, other_more) = (sums_of_others(&less, zero), sums_of_others(&more, zero));
    let share = |own: Interval, others: Interval| {
        let whole = own + others;
        // All weights may underflow if the logits spread over hundreds.
        if whole.lo > 0.0 { own / whole } else { Interval::new(0.0, 1.0) }
    };
    let range = |k: usize| {
        let (low, high) = (share(less[k], other_more[k]), share(more[k], other_less[k]));
        Interval::new(low.lo.max(0.0), high.hi.min(1.0))
    };
    (0..y.len()).map(range).collect()
}

/// Γ': `dα_k = Σ_m α_k α_m (dl_k − dl_m)`.
///
/// α_k = a_k ± r_k, so α_k α_m = (a_k a_m + r_k r_m) ± (a_k r_m + r_k a_m). All sums over m are
/// combinations of a few sums that are the same for every k.
fn through_softmax(changes: &IntervalMatrix, alpha: &[Interval]) -> IntervalMatrix {
    let k = alpha.len();
    let rad: Vec<f64> = alpha.iter().map(|alpha| alpha.rad()).collect();
    // The bound on products needs r ≤ a. For α in [0, 2r] it is r = a.
    let mid: Vec<f64> = alpha.iter().zip(&rad).map(|(alpha, &rad)| alpha.mid().max(rad)).collect();
    let all_mid: f64 = mid.iter().sum();
    let all_rad: f64 = rad.iter().sum();
    let (mut t, mut t_rad) = (vec![0.0; k], vec![0.0; k]);
    let mut changes_of_row = vec![(0.0, 0.0); k];
    let mut result = IntervalMatrix::zeros(0, k);
    for row in 0..changes.rows() {
        t.fill(0.0);
        t_rad.fill(0.0);
        changes.entries(row).for_each(|(at, x, x_rad)| (t[at], t_rad[at]) = (x, x_rad));
        if t.iter().zip(&t_rad).all(|(&t, &t_rad)| t == 0.0 && t_rad == 0.0) {
            result.end_row();
            continue;
        }
        let sums = RowSums::new(&mid, &rad, &t, &t_rad);
        let centroids = mid.iter().zip(&rad).zip(t.iter().zip(&t_rad));
        for (out, ((&a, &r), (&x, &x_rad))) in changes_of_row.iter_mut().zip(centroids) {
            let size = x.abs();
            let change = a * (x * all_mid - sums.mid_t) + r * (x * all_rad - sums.rad_t);
            let with_mid = size * all_mid + sums.mid_size;
            let with_rad = size * all_rad + sums.rad_size;
            let of_products = a * with_rad + r * with_mid;
            let high = a + r;
            let of_changes = high * (x_rad * (all_mid + all_rad) + sums.high_rad);
            let terms = a * with_mid + r * with_rad + of_products + of_changes;
            // The terms with m = k are 0.
            let (own, own_change) = (4.0 * a * r * size, 2.0 * high * high * x_rad);
            let rest = without(of_products, own) + without(of_changes, own_change);
            let rounding = 2.0 * (k + 8) as f64 * f64::EPSILON * terms;
            *out = (change, round_up(rest + rounding, 4 * k));
        }
        let (mids, rads): (Vec<f64>, Vec<f64>) = changes_of_row.iter().copied().unzip();
        result.push_full_row(&mids, &rads);
    }
    result
}

/// `sum − part` of non-negative numbers; infinite if it is not a number.
fn without(sum: f64, part: f64) -> f64 {
    let rest = sum - part;
    if rest.is_nan() { f64::INFINITY } else { rest.max(0.0) }
}

/// Sums over all centroids m.
struct RowSums {
    /// Σ a_m T_m.
    mid_t: f64,
    /// Σ r_m T_m.
    rad_t: f64,
    /// Σ a_m |T_m|.
    mid_size: f64,
    /// Σ r_m |T_m|.
    rad_size: f64,
    /// Σ (a_m + r_m) T°_m, where T° is the radius of T.
    high_rad: f64,
}

impl RowSums {
    fn new(mid: &[f64], rad: &[f64], t: &[f64], t_rad: &[f64]) -> RowSums {
        let mut sums =
            RowSums { mid_t: 0.0, rad_t: 0.0, mid_size: 0.0, rad_size: 0.0, high_rad: 0.0 };
        for ((&mid, &rad), (&t, &t_rad)) in mid.iter().zip(rad).zip(t.iter().zip(t_rad)) {
            sums.mid_t += mid * t;
            sums.rad_t += rad * t;
            sums.mid_size += mid * t.abs();
            sums.rad_size += rad * t.abs();
            sums.high_rad += (mid + rad) * t_rad;
        }
        sums
    }
}

/// For each entry, the sum of all others.
fn sums_of_others<T: Copy + Add<Output = T>>(entries: &[T], zero: T) -> Vec<T> {
    let mut sums = vec![zero; entries.len()];
    let (mut before, mut after) = (zero, zero);
    for (sum, &entry) in sums.iter_mut().zip(entries) {
        *sum = before;
        before = before + entry;
    }
    for (sum, &entry) in sums.iter_mut().zip(entries).rev() {
        *sum = *sum + after;
        after = after + entry;
    }
    sums
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
    let products: Vec<f64> = high.iter().zip(delta).map(|(high, delta)| high * delta).collect();
    let (other_high, other_products) = (sums_of_others(&high, 0.0), sums_of_others(&products, 0.0));
    let error = |k: usize| {
        // Σ_{m≠k} ᾱ_m (δl_k + δl_m)
        let change = delta[k] * other_high[k] + other_products[k];
        round_up(high[k] * (change + simplex_error) + errors.underflow, layer.k + 4)
    };
    (0..layer.k).map(error).collect()
}

/// Index of the largest value; the first of equals.
fn argmax(values: impl Iterator<Item = f64>) -> usize {
    let better = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    values.enumerate().fold((0, f64::NEG_INFINITY), better).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn changes_of_alpha_contain_the_sums_of_all_products_in_their_ranges() {
        let mut rng = Key::new(31).child("changes", 0).rng();
        for k in [1, 2, 3, 8] {
            for _ in 0..300 {
                let width = 10f64.powf(-4.0 * rng.unit());
                let alpha = (0..k).map(|i| {
                    let lo = if i == 1 { 0.0 } else { rng.unit() };
                    Interval::new(lo, (lo + width * rng.unit()).min(1.0))
                });
                let alpha: Vec<Interval> = alpha.collect();
                let t = (0..k).map(|_| {
                    let lo = rng.unit() - 0.5;
                    Interval::new(lo, lo + width * rng.unit())
                });
                let t: Vec<Interval> = t.collect();
                let found = through_softmax(&IntervalMatrix::of(k, &t), &alpha);
                for _ in 0..20 {
                    let mut end = |x: Interval| if rng.below(2) == 0 { x.lo } else { x.hi };
                    let point: Vec<f64> = t.iter().map(|&t| end(t)).collect();
                    for (i, mid, rad) in found.entries(0) {
                        let term = |m: usize| end(alpha[i]) * end(alpha[m]) * (point[i] - point[m]);
                        let exact: f64 = (0..k).filter(|&m| m != i).map(term).sum();
                        assert!((exact - mid).abs() <= rad + 1e-15, "{exact}: {mid} ± {rad}");
                    }
                }
            }
        }
    }

    #[test]
    fn known_alphas_give_changes_without_a_width() {
        let alpha = [0.25, 0.5, 0.25].map(Interval::point);
        let found = through_softmax(&IntervalMatrix::exact(3, &[1.0, 0.0, -3.0]), &alpha);
        // Γ'_0 = 0.25·(0.5·1 + 0.25·4), and so on.
        for ((_, mid, rad), exact) in found.entries(0).zip([0.375, 0.25, -0.625]) {
            assert!((mid - exact).abs() <= rad && rad < 1e-13, "{exact}: {mid} ± {rad}");
        }
    }
}
