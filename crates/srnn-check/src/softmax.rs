//! The stochastic component (Eqs. 2–4) over a set: from u to the new α.

use crate::config::Score;
use crate::error_model::ErrorModel;
use crate::functions::exp;
use crate::interval::{Interval, UpperBound};
use crate::matrix::{IntervalMatrix, gamma};
use crate::network::EnclosedLayer;
use crate::zonotope::{LayerZonotope, RoundedForm};

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
    let (k, d, tau) = (layer.k, layer.d, layer.config.centroids.tau);
    let centre = IntervalMatrix::from_fn(1, d, |_, j| u.centre[j]);
    let scores = centre.times(&layer.s.transposed());
    let o = (0..k).fold(0, |o, i| if scores.mid[i] > scores.mid[o] { i } else { o });
    let differences = IntervalMatrix::from_fn(d, k, |j, i| layer.s.get(i, j) - layer.s.get(o, j));
    let by_tau = |x: IntervalMatrix| {
        IntervalMatrix::from_fn(x.rows, x.cols, |g, i| x.get(g, i) / Interval::point(tau))
    };
    let sum = |i: usize, of: &dyn Fn(usize) -> UpperBound| -> UpperBound {
        (0..d).map(|j| layer.s.magnitude(i, j) * of(j)).sum()
    };
    let size: Vec<UpperBound> = (0..k).map(|i| sum(i, &|j| u.size(j))).collect();
    let gamma = errors.gamma(d + 10);
    let error = |i: usize| {
        let terms = sum(i, &|j| u.size(j) + u.error[j]);
        sum(i, &|j| u.error[j]) + gamma * terms + errors.underflow
    };
    let error: Vec<UpperBound> = (0..k).map(error).collect();
    Logits {
        centre: by_tau(centre.times(&differences)).row(0),
        generators: by_tau(u.generators.times(&differences)),
        error: logit_error(errors, tau, &size, &error),
    }
}

/// l_k = −(d_k − d_o)/τ, d_k = ‖u − s_k‖.
fn euclidean(layer: &EnclosedLayer, errors: &ErrorModel, u: &RoundedForm) -> Logits {
    let (k, d, tau) = (layer.k, layer.d, Interval::point(layer.config.centroids.tau));
    let distance = |i: usize, u: &[Interval]| {
        (0..d).map(|j| (u[j] - layer.s.get(i, j)).square()).sum::<Interval>().sqrt()
    };
    let norm = |of: &[UpperBound]| of.iter().map(|&x| x * x).sum::<UpperBound>().sqrt();
    let at_centre: Vec<Interval> = (0..k).map(|i| distance(i, &u.centre)).collect();
    let radius = norm(&u.generators.column_sums());
    let over_set: Vec<Interval> =
        (0..k).map(|i| distance(i, &u.range).intersection(at_centre[i].widen(radius))).collect();
    let nearer = |o: usize, i: usize| if at_centre[i].lo < at_centre[o].lo { i } else { o };
    let o = (0..k).fold(0, nearer);
    let changes = distance_generators(layer, u, &at_centre, &over_set);
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
        generators: IntervalMatrix::from_fn(u.generators.rows, k, |g, i| match i == o {
            true => Interval::ZERO,
            false => (changes[g * k + o] - changes[g * k + i]) / tau,
        }),
        error: logit_error(errors, layer.config.centroids.tau, &size, &error),
    }
}

/// Generators of d_k `[G, K]`: w_k·Δu_g, within ±‖Δu_g‖ because ‖w_k‖ ≤ 1.
fn distance_generators(
    layer: &EnclosedLayer,
    u: &RoundedForm,
    at_centre: &[Interval],
    over_set: &[Interval],
) -> Vec<Interval> {
    let (k, d) = (layer.k, layer.d);
    let weight = |i: usize, j: usize| {
        let twice = Interval::point(2.0) * layer.s.get(i, j);
        (u.range[j] + u.centre[j] - twice) / (over_set[i] + at_centre[i])
    };
    let weights: Vec<Interval> = (0..k * d).map(|at| weight(at / d, at % d)).collect();
    let mut generators = Vec::with_capacity(u.generators.rows * k);
    for g in 0..u.generators.rows {
        let du = u.generators.row(g);
        let length = du.iter().map(|x| x.magnitude() * x.magnitude()).sum::<UpperBound>().sqrt();
        for weights in weights.chunks_exact(d) {
            let product: Interval = weights.iter().zip(&du).map(|(&w, &du)| w * du).sum();
            generators.push(product.intersection(Interval::ZERO.widen(length)));
        }
    }
    generators
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
    let of = |k: usize| {
        let others = (0..most.len()).filter(|&m| m != k);
        let change: UpperBound = others.map(|m| most[m] * (error[k] + error[m])).sum();
        most[k] * change + normalisation * most[k] + errors.underflow
    };
    (0..most.len()).map(of).collect()
}

/// Ranges of softmax over a box of logits. α_k is smallest if l_k is lowest and all others are
/// highest, and vice versa.
fn softmax_ranges(logits: &[Interval]) -> Vec<Interval> {
    let e: Vec<Interval> = logits.iter().map(|&l| exp(l)).collect();
    let share = |k: usize| {
        let rest: Interval = (0..e.len()).filter(|&m| m != k).map(|m| e[m]).sum();
        let (least, most) = (Interval::point(e[k].lo), Interval::point(e[k].hi));
        let lo = (least / (least + Interval::point(rest.hi))).lo.max(0.0);
        // If an exponential overflows, only α ≤ 1 is known.
        let hi = (most / (most + Interval::point(rest.lo.max(0.0)))).hi.min(1.0);
        Interval::new(lo, hi)
    };
    (0..e.len()).map(share).collect()
}

/// Γ'_g,k = Σ_m P_km (T_g,k − T_g,m), P_km ∈ α_k α_m.
fn through_softmax(generators: &IntervalMatrix, alpha: &[Interval]) -> IntervalMatrix {
    let k = alpha.len();
    let products = IntervalMatrix::from_fn(k, k, |i, m| match i == m {
        true => Interval::ZERO,
        false => alpha[i] * alpha[m],
    });
    let with_rounding = |(m, r): (&f64, &f64)| r + gamma(k) * m + f64::MIN_POSITIVE;
    let per_mid: Vec<f64> = products.mid.iter().zip(&products.rad).map(with_rounding).collect();
    let (mut mid, mut rad) = (vec![0.0; generators.rows * k], vec![0.0; generators.rows * k]);
    for g in 0..generators.rows {
        let (t, t_rad) = (&generators.mid[g * k..][..k], &generators.rad[g * k..][..k]);
        for i in 0..k {
            let row = i * k..(i + 1) * k;
            let (p, p_rad) = (&products.mid[row.clone()], &products.rad[row.clone()]);
            let rad_per_mid = &per_mid[row];
            for m in 0..k {
                let gap = t[i] - t[m];
                mid[g * k + i] += p[m] * gap;
                rad[g * k + i] +=
                    rad_per_mid[m] * gap.abs() + (p[m] + p_rad[m]) * (t_rad[i] + t_rad[m]);
            }
        }
    }
    IntervalMatrix::rounded(generators.rows, k, mid, rad, k)
}

/// Midpoints become generators. Half-widths, the error of the centre and E together become one more
/// generator for each coordinate.
fn new_layer(
    centre: &[Interval],
    old_generators: &IntervalMatrix,
    range: &[Interval],
    error: &[UpperBound],
) -> LayerZonotope {
    let k = centre.len();
    let mut mid = old_generators.mid.clone();
    mid.resize((old_generators.rows + k) * k, 0.0);
    let mut points = vec![];
    for i in 0..k {
        let (point, off) = centre[i].mid_rad();
        let widths: UpperBound =
            (0..old_generators.rows).map(|g| UpperBound::new(old_generators.rad[g * k + i])).sum();
        mid[(old_generators.rows + i) * k + i] = (widths + UpperBound::new(off) + error[i]).get();
        points.push(point);
    }
    let generators = IntervalMatrix::exact(old_generators.rows + k, k, mid);
    let boxed = (0..k).zip(generators.column_sums()).map(|(i, radius)| {
        Interval::point(points[i]).widen(radius).intersection(range[i].widen(error[i]))
    });
    LayerZonotope { range: boxed.collect(), centre: points, generators }
}
