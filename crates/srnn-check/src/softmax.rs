//! The stochastic component (Eqs. 2–4) over a set: from u to the new α.

use crate::config::Score;
use crate::error_model::ErrorModel;
use crate::functions::exp;
use crate::interval::{Interval, UpperBound};
use crate::matrix::{IntervalMatrix, gamma, rounded, upper_times};
use crate::network::EnclosedLayer;
use crate::zonotope::{LayerZonotope, RoundedForm};
use std::ops::Add;

/// Logits relative to the reference centroid o.
struct Logits {
    /// l at the centre `[K]`.
    centre: Vec<Interval>,
    /// T `[G, K]`.
    generators: IntervalMatrix,
    /// δl `[K]`.
    error: Vec<UpperBound>,
}

/// The new α of a layer, from its u. The last K generators bound what the others leave out.
pub fn next_alpha(layer: &EnclosedLayer, errors: &ErrorModel, u: &RoundedForm) -> LayerZonotope {
    let logits = match layer.config.centroids.score {
        Score::Dot => dot(layer, errors, u),
        Score::Euclidean => euclidean(layer, errors, u),
    };
    let spread = logits.generators.column_sums();
    let widened = |extra: &[UpperBound]| -> Vec<Interval> {
        logits.centre.iter().zip(extra).map(|(l, &extra)| l.widen(extra)).collect()
    };
    let range = softmax_ranges(&widened(&spread));
    let computed: Vec<UpperBound> =
        spread.iter().zip(&logits.error).map(|(&a, &b)| a + b).collect();
    let error = alpha_error(errors, &softmax_ranges(&widened(&computed)), &logits.error);
    new_layer(
        &softmax_ranges(&logits.centre),
        &through_softmax(&logits.generators, &range),
        &range,
        &error,
    )
}

/// l_k = (s_k − s_o)·u/τ.
fn dot(layer: &EnclosedLayer, errors: &ErrorModel, u: &RoundedForm) -> Logits {
    let tau = layer.config.centroids.tau;
    let centre = IntervalMatrix::of_row(&u.centre);
    let scores = centre.times(&layer.s_transposed).row(0);
    let middle = |i: usize| scores[i].mid_rad().0;
    let o = (0..layer.k).fold(0, |o, i| if middle(i) > middle(o) { i } else { o });
    let differences = differences(layer, o);
    let whole: Vec<UpperBound> = (0..layer.d).map(|j| u.size(j) + u.error[j]).collect();
    let sizes: Vec<UpperBound> = (0..layer.d).map(|j| u.size(j)).collect();
    let size = upper_times(&sizes, &layer.s_transposed_size);
    let carried = upper_times(&u.error, &layer.s_transposed_size);
    let terms = upper_times(&whole, &layer.s_transposed_size);
    let gamma = errors.gamma(layer.d + 10);
    let error: Vec<UpperBound> =
        (0..layer.k).map(|i| carried[i] + gamma * terms[i] + errors.underflow).collect();
    Logits {
        centre: centre.times(&differences).divided_by(tau).row(0),
        generators: u.generators.times(&differences).divided_by(tau),
        error: logit_error(errors, tau, &size, &error),
    }
}

/// s_k − s_o `[D, K]`.
fn differences(layer: &EnclosedLayer, o: usize) -> IntervalMatrix {
    let (k, d) = (layer.k, layer.d);
    let mut differences = IntervalMatrix::zeros(0, k);
    for j in 0..d {
        let of_o = layer.centroids[o * d + j];
        if of_o == 0.0 {
            differences.push_row_of(&layer.s_transposed, j);
            continue;
        }
        let row = (0..k).map(|i| (i, layer.centroids[i * d + j])).filter(|&(_, s)| s != of_o);
        differences.push_row(row.map(|(i, s)| {
            let (mid, rad) = (Interval::point(s) - Interval::point(of_o)).mid_rad();
            (i, mid, rad)
        }));
    }
    differences
}

/// l_k = −(d_k − d_o)/τ, d_k = ‖u − s_k‖.
fn euclidean(layer: &EnclosedLayer, errors: &ErrorModel, u: &RoundedForm) -> Logits {
    let (k, d, tau) = (layer.k, layer.d, Interval::point(layer.config.centroids.tau));
    let distance = |i: usize, u: &[Interval]| {
        let s = &layer.centroids[i * d..][..d];
        u.iter().zip(s).map(|(&u, &s)| (u - Interval::point(s)).square()).sum::<Interval>().sqrt()
    };
    let norm = |of: &[UpperBound]| of.iter().map(|&x| x * x).sum::<UpperBound>().sqrt();
    let at_centre: Vec<Interval> = (0..k).map(|i| distance(i, &u.centre)).collect();
    let radius = norm(&u.generators.column_sums());
    let over_set: Vec<Interval> =
        (0..k).map(|i| distance(i, &u.range).intersection(at_centre[i].widen(radius))).collect();
    let nearer = |o: usize, i: usize| if at_centre[i].lo < at_centre[o].lo { i } else { o };
    let o = (0..k).fold(0, nearer);
    let changes = distance_generators(layer, u, &at_centre, &over_set);
    let relative = |change: &[Interval]| -> Vec<Interval> {
        let at = |i: usize| match i == o {
            true => Interval::ZERO,
            false => (change[o] - change[i]) / tau,
        };
        (0..k).map(at).collect()
    };
    let mut generators = IntervalMatrix::zeros(0, k);
    changes
        .iter()
        .for_each(|change| generators.push_row_of(&IntervalMatrix::of_row(&relative(change)), 0));
    let off = norm(&u.error);
    let size: Vec<UpperBound> = over_set.iter().map(|d| UpperBound::new(d.hi)).collect();
    let gamma = errors.gamma(d + 10);
    let error: Vec<UpperBound> =
        size.iter().map(|&size| off + gamma * (size + off) + errors.underflow).collect();
    let centre = |i: usize| match i == o {
        true => Interval::ZERO,
        false => (at_centre[o] - at_centre[i]) / tau,
    };
    Logits {
        centre: (0..k).map(centre).collect(),
        generators,
        error: logit_error(errors, layer.config.centroids.tau, &size, &error),
    }
}

/// Generators of d_k `[G][K]`: w_k·Δu_g, within ±‖Δu_g‖ because ‖w_k‖ ≤ 1.
fn distance_generators(
    layer: &EnclosedLayer,
    u: &RoundedForm,
    at_centre: &[Interval],
    over_set: &[Interval],
) -> Vec<Vec<Interval>> {
    let (k, d) = (layer.k, layer.d);
    let weight = |i: usize, j: usize| {
        let twice = Interval::point(2.0) * Interval::point(layer.centroids[i * d + j]);
        (u.range[j] + u.centre[j] - twice) / (over_set[i] + at_centre[i])
    };
    let weights: Vec<Interval> = (0..k * d).map(|at| weight(at / d, at % d)).collect();
    let change = |g: usize| {
        let du = u.generators.row(g);
        let length = du.iter().map(|x| x.magnitude() * x.magnitude()).sum::<UpperBound>().sqrt();
        let of_centroid = |weights: &[Interval]| {
            let product: Interval = weights.iter().zip(&du).map(|(&w, &du)| w * du).sum();
            product.intersection(Interval::ZERO.widen(length))
        };
        weights.chunks_exact(d).map(of_centroid).collect()
    };
    (0..u.generators.rows()).map(change).collect()
}

/// δl from |s| and δs.
fn logit_error(
    errors: &ErrorModel,
    tau: f64,
    size: &[UpperBound],
    error: &[UpperBound],
) -> Vec<UpperBound> {
    let largest = size.iter().zip(error).fold(UpperBound::ZERO, |m, (&s, &e)| m.max(s + e));
    let twice = errors.exp + errors.exp;
    let of = |(&size, &error): (&UpperBound, &UpperBound)| {
        let terms = largest + size + error;
        (error + errors.roundings(4.0) * terms) / tau + twice + errors.underflow
    };
    size.iter().zip(error).map(of).collect()
}

/// Above this error of a logit an exponential, or one over their sum, may overflow or be flushed to
/// zero. Then α need not sum to one, and E is infinite.
const LARGEST_ERROR: f64 = 40.0;

/// E from ᾱ and δl.
fn alpha_error(errors: &ErrorModel, most: &[Interval], error: &[UpperBound]) -> Vec<UpperBound> {
    if !error.iter().all(|error| error.get() <= LARGEST_ERROR) {
        return vec![UpperBound::new(f64::INFINITY); most.len()];
    }
    let most: Vec<UpperBound> = most.iter().map(|share| UpperBound::new(share.hi)).collect();
    let normalisation = errors.simplex_error(most.len());
    let products: Vec<UpperBound> = most.iter().zip(error).map(|(&a, &e)| a * e).collect();
    let other_most = sums_of_others(&most, UpperBound::ZERO);
    let other_products = sums_of_others(&products, UpperBound::ZERO);
    // Σ_{m≠k} ᾱ_m (δl_k + δl_m)
    let of = |k: usize| {
        let change = error[k] * other_most[k] + other_products[k];
        most[k] * change + normalisation * most[k] + errors.underflow
    };
    (0..most.len()).map(of).collect()
}

/// Ranges of softmax over a box of logits. α_k is smallest if l_k is lowest and all others are
/// highest, and vice versa.
fn softmax_ranges(logits: &[Interval]) -> Vec<Interval> {
    let e: Vec<Interval> = logits.iter().map(|&l| exp(l)).collect();
    let share = |(own, rest): (&Interval, Interval)| {
        let (least, most) = (Interval::point(own.lo), Interval::point(own.hi));
        let lo = (least / (least + Interval::point(rest.hi))).lo.max(0.0);
        // If an exponential overflows, only α ≤ 1 is known.
        let hi = (most / (most + Interval::point(rest.lo.max(0.0)))).hi.min(1.0);
        Interval::new(lo, hi)
    };
    e.iter().zip(sums_of_others(&e, Interval::ZERO)).map(share).collect()
}

/// For each entry, the sum of all other entries.
fn sums_of_others<T: Copy + Add<Output = T>>(entries: &[T], zero: T) -> Vec<T> {
    let mut after = vec![zero];
    for &entry in entries[1..].iter().rev() {
        after.push(after[after.len() - 1] + entry);
    }
    let mut before = zero;
    let mut others = vec![];
    for (&entry, after) in entries.iter().zip(after.into_iter().rev()) {
        others.push(before + after);
        before = before + entry;
    }
    others
}

/// Γ'_g,k = Σ_m P_km (T_g,k − T_g,m), P_km ∈ α_k α_m.
///
/// With α_k within r_k of a_k ≥ r_k, the product α_k α_m lies within a_k r_m + r_k a_m of
/// a_k a_m + r_k r_m. The difference in T has at most the magnitude |T_g,k| + |T_g,m|. So every sum
/// over m is a combination of sums that do not depend on k.
fn through_softmax(generators: &IntervalMatrix, alpha: &[Interval]) -> IntervalMatrix {
    let k = alpha.len();
    let split = |alpha: &Interval| {
        let (mid, rad) = alpha.mid_rad();
        // α ≥ 0: [0, 2r] contains its range if the midpoint was rounded below r.
        (mid.max(rad), rad)
    };
    let (a, r): (Vec<f64>, Vec<f64>) = alpha.iter().map(split).unzip();
    let high: Vec<f64> = a.iter().zip(&r).map(|(a, r)| a + r).collect();
    let total = |x: &[f64]| x.iter().sum::<f64>();
    let (sum_a, sum_r, sum_high) = (total(&a), total(&r), total(&high));
    let slack = 1.0 + 2.0 * gamma(k);
    // The sum over m ≠ k, from the sum over all m.
    let others = |sum: f64, own: f64| match sum * slack - own {
        rest if rest.is_nan() => f64::INFINITY,
        rest => rest.max(0.0),
    };
    let (mut mid, mut rad) = (vec![0.0; k], vec![0.0; k]);
    let mut changes = IntervalMatrix::zeros(0, k);
    for g in 0..generators.rows() {
        if generators.is_zero_row(g) {
            changes.push_row(std::iter::empty());
            continue;
        }
        mid.fill(0.0);
        rad.fill(0.0);
        generators.entries(g).for_each(|(m, t, t_rad)| (mid[m], rad[m]) = (t, t_rad));
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let dot_size = |x: &[f64]| x.iter().zip(&mid).map(|(x, t)| x * t.abs()).sum::<f64>();
        let (a_t, r_t, high_rad) = (dot(&a, &mid), dot(&r, &mid), dot(&high, &rad));
        let (a_size, r_size) = (dot_size(&a), dot_size(&r));
        changes.push_row((0..k).map(|i| {
            let (t, t_rad) = (mid[i], rad[i]);
            let change = a[i] * (t * sum_a - a_t) + r[i] * (t * sum_r - r_t);
            let size = t.abs();
            let of_products = a[i] * (size * others(sum_r, r[i]) + others(r_size, r[i] * size))
                + r[i] * (size * others(sum_a, a[i]) + others(a_size, a[i] * size));
            let of_generators =
                high[i] * (t_rad * others(sum_high, high[i]) + others(high_rad, high[i] * t_rad));
            let of_sums = a[i] * (size * sum_a + a_size) + r[i] * (size * sum_r + r_size);
            let rounding = 2.0 * gamma(k) * of_sums;
            let (change, off) = rounded(change, of_products + of_generators + rounding, k);
            (i, change, off)
        }));
    }
    changes
}

/// Midpoints become generators. Half-widths, the error of the centre and E together become one more
/// generator for each coordinate.
fn new_layer(
    centre: &[Interval],
    changes: &IntervalMatrix,
    range: &[Interval],
    error: &[UpperBound],
) -> LayerZonotope {
    let k = centre.len();
    let widths = changes.column_radii();
    let mut generators = IntervalMatrix::zeros(0, k);
    for g in 0..changes.rows() {
        generators.push_row(changes.entries(g).map(|(at, mid, _)| (at, mid, 0.0)));
    }
    let mut points = vec![];
    for i in 0..k {
        let (point, off) = centre[i].mid_rad();
        let rest = widths[i] + UpperBound::new(off) + error[i];
        generators.push_row([(i, rest.get(), 0.0)].into_iter());
        points.push(point);
    }
    let boxed = (0..k).zip(generators.column_sums()).map(|(i, radius)| {
        Interval::point(points[i]).widen(radius).intersection(range[i].widen(error[i]))
    });
    LayerZonotope { range: boxed.collect(), centre: points, generators }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::common::Random;

    #[test]
    fn changes_of_alpha_contain_the_sums_of_all_products_in_their_ranges() {
        let mut random = Random(5);
        for k in [1, 2, 3, 7] {
            for _ in 0..300 {
                let width = 10f64.powf(-4.0 * random.unit());
                let alpha: Vec<Interval> = (0..k)
                    .map(|_| {
                        let lo = if random.below(4) == 0 { 0.0 } else { random.unit() };
                        Interval::new(lo, (lo + width * random.unit()).min(1.0))
                    })
                    .collect();
                let t: Vec<Interval> = (0..k)
                    .map(|_| {
                        let lo = random.sign();
                        Interval::new(lo, lo + width * random.unit())
                    })
                    .collect();
                let found = through_softmax(&IntervalMatrix::of_row(&t), &alpha).row(0);
                for _ in 0..20 {
                    let mut end = |x: Interval| if random.below(2) == 0 { x.lo } else { x.hi };
                    let point: Vec<f64> = t.iter().map(|&t| end(t)).collect();
                    for i in 0..k {
                        let term = |m: usize| end(alpha[i]) * end(alpha[m]) * (point[i] - point[m]);
                        let exact: f64 = (0..k).filter(|&m| m != i).map(term).sum();
                        let within = found[i].widen(UpperBound::new(1e-15));
                        assert!(within.lo <= exact && exact <= within.hi, "{exact}: {within:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn known_alphas_give_changes_without_a_width() {
        let alpha = [0.25, 0.5, 0.25].map(Interval::point);
        let t = [1.0, 0.0, -3.0].map(Interval::point);
        let found = through_softmax(&IntervalMatrix::of_row(&t), &alpha).row(0);
        // Γ'_0 = 0.25·(0.5·1 + 0.25·4), and so on.
        for (found, exact) in found.iter().zip([0.375, 0.25, -0.625]) {
            assert!(found.lo <= exact && exact <= found.hi && found.hi - found.lo < 1e-12);
        }
    }

    #[test]
    fn a_sum_of_others_leaves_out_one_entry() {
        let others = sums_of_others(&[1.0, 10.0, 100.0].map(UpperBound::new), UpperBound::ZERO);
        for (found, exact) in others.iter().zip([110.0, 101.0, 11.0]) {
            assert!(found.get() >= exact && found.get() < exact + 1e-12, "{found:?}");
        }
    }
}
