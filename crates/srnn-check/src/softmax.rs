//! The stochastic component over a set: scores, softmax, and the new set of α.

use crate::arithmetic::Charges;
use crate::balls::{Balls, gamma};
use crate::config::Score;
use crate::functions::exp;
use crate::interval::{Interval, Up};
use crate::network::Layer;
use crate::set::{Form, Part};

/// l `[K]`, relative to a reference centroid: at the centre, generators T `[G, K]`, and δl.
struct Logits {
    centre: Vec<Interval>,
    moves: Balls,
    error: Vec<Up>,
}

/// The new α of a layer, from its u. The last K rows of its generators are its own.
pub fn next(layer: &Layer, charges: &Charges, u: &Form) -> Part {
    let logits = match layer.shape.centroids.score {
        Score::Dot => dot(layer, charges, u),
        Score::Euclidean => euclidean(layer, charges, u),
    };
    let spread = logits.moves.column_sums();
    let widened = |extra: &[Up]| -> Vec<Interval> {
        logits.centre.iter().zip(extra).map(|(l, &extra)| l.widen(extra)).collect()
    };
    let range = shares(&widened(&spread));
    let charged: Vec<Up> = spread.iter().zip(&logits.error).map(|(&a, &b)| a + b).collect();
    let error = alpha_error(charges, &shares(&widened(&charged)), &logits.error);
    new_set(&shares(&logits.centre), &through_softmax(&logits.moves, &range), &range, &error)
}

/// l_k = (s_k − s_o)·u/τ.
fn dot(layer: &Layer, charges: &Charges, u: &Form) -> Logits {
    let (k, d, tau) = (layer.k, layer.d, layer.shape.centroids.tau);
    let centre = Balls::from_fn(1, d, |_, j| u.centre[j]);
    let scores = centre.times(&layer.s.transposed());
    let o = (0..k).fold(0, |o, i| if scores.mid[i] > scores.mid[o] { i } else { o });
    let differences = Balls::from_fn(d, k, |j, i| layer.s.get(i, j) - layer.s.get(o, j));
    let by_tau =
        |x: Balls| Balls::from_fn(x.rows, x.cols, |g, i| x.get(g, i) / Interval::point(tau));
    let sum = |i: usize, of: &dyn Fn(usize) -> Up| -> Up {
        (0..d).map(|j| layer.s.magnitude(i, j) * of(j)).sum()
    };
    let size: Vec<Up> = (0..k).map(|i| sum(i, &|j| u.size(j))).collect();
    let gamma = charges.gamma(d + 10);
    let error = |i: usize| {
        let terms = sum(i, &|j| u.size(j) + u.error[j]);
        sum(i, &|j| u.error[j]) + gamma * terms + charges.lost
    };
    let error: Vec<Up> = (0..k).map(error).collect();
    Logits {
        centre: by_tau(centre.times(&differences)).row(0),
        moves: by_tau(u.generators.times(&differences)),
        error: logit_error(charges, tau, &size, &error),
    }
}

/// l_k = −(d_k − d_o)/τ, d_k = ‖u − s_k‖.
fn euclidean(layer: &Layer, charges: &Charges, u: &Form) -> Logits {
    let (k, d, tau) = (layer.k, layer.d, Interval::point(layer.shape.centroids.tau));
    let distance = |i: usize, u: &[Interval]| {
        (0..d).map(|j| (u[j] - layer.s.get(i, j)).square()).sum::<Interval>().sqrt()
    };
    let norm = |of: &[Up]| of.iter().map(|&x| x * x).sum::<Up>().sqrt();
    let at_centre: Vec<Interval> = (0..k).map(|i| distance(i, &u.centre)).collect();
    let radius = norm(&u.generators.column_sums());
    let over_set: Vec<Interval> =
        (0..k).map(|i| distance(i, &u.range).meet(at_centre[i].widen(radius))).collect();
    let nearer = |o: usize, i: usize| if at_centre[i].lo < at_centre[o].lo { i } else { o };
    let o = (0..k).fold(0, nearer);
    let moves = distance_moves(layer, u, &at_centre, &over_set);
    let lost = norm(&u.error);
    let size: Vec<Up> = over_set.iter().map(|d| Up::new(d.hi)).collect();
    let gamma = charges.gamma(d + 10);
    let error: Vec<Up> =
        size.iter().map(|&size| lost + gamma * (size + lost) + charges.lost).collect();
    let centre = |i: usize| match i == o {
        true => Interval::ZERO,
        false => (at_centre[o] - at_centre[i]) / tau,
    };
    Logits {
        centre: (0..k).map(centre).collect(),
        moves: Balls::from_fn(u.generators.rows, k, |g, i| match i == o {
            true => Interval::ZERO,
            false => (moves[g * k + o] - moves[g * k + i]) / tau,
        }),
        error: logit_error(charges, layer.shape.centroids.tau, &size, &error),
    }
}

/// Generators of d_k `[G, K]`: w_k·Δu_g, and at most ‖Δu_g‖ because ‖w_k‖ ≤ 1.
fn distance_moves(
    layer: &Layer,
    u: &Form,
    at_centre: &[Interval],
    over_set: &[Interval],
) -> Vec<Interval> {
    let (k, d) = (layer.k, layer.d);
    let weight = |i: usize, j: usize| {
        let twice = Interval::point(2.0) * layer.s.get(i, j);
        (u.range[j] + u.centre[j] - twice) / (over_set[i] + at_centre[i])
    };
    let weights: Vec<Interval> = (0..k * d).map(|at| weight(at / d, at % d)).collect();
    let mut moves = Vec::with_capacity(u.generators.rows * k);
    for g in 0..u.generators.rows {
        let du = u.generators.row(g);
        let length = du.iter().map(|x| x.magnitude() * x.magnitude()).sum::<Up>().sqrt();
        for weights in weights.chunks_exact(d) {
            let product: Interval = weights.iter().zip(&du).map(|(&w, &du)| w * du).sum();
            moves.push(product.meet(Interval::ZERO.widen(length)));
        }
    }
    moves
}

/// δl from |s| and δs.
fn logit_error(charges: &Charges, tau: f64, size: &[Up], error: &[Up]) -> Vec<Up> {
    let largest = size.iter().zip(error).fold(Up::ZERO, |m, (&s, &e)| m.max(s + e));
    let twice = charges.exp + charges.exp;
    let of = |(&size, &error): (&Up, &Up)| {
        let terms = largest + size + error;
        (error + charges.units(4.0) * terms) / tau + twice + charges.lost
    };
    size.iter().zip(error).map(of).collect()
}

/// Beyond this error of a logit the exponentials, or one over their sum, may overflow or be flushed
/// to zero, and α need not sum to one: nothing is known then.
const LARGEST_ERROR: f64 = 40.0;

/// E from ᾱ and δl.
fn alpha_error(charges: &Charges, most: &[Interval], error: &[Up]) -> Vec<Up> {
    if !error.iter().all(|error| error.get() <= LARGEST_ERROR) {
        return vec![Up::new(f64::INFINITY); most.len()];
    }
    let most: Vec<Up> = most.iter().map(|share| Up::new(share.hi)).collect();
    let normalisation = charges.normalisation(most.len());
    let of = |k: usize| {
        let others = (0..most.len()).filter(|&m| m != k);
        let moved: Up = others.map(|m| most[m] * (error[k] + error[m])).sum();
        most[k] * moved + normalisation * most[k] + charges.lost
    };
    (0..most.len()).map(of).collect()
}

/// Ranges of softmax over a box of logits: α_k is smallest where l_k is lowest and all others
/// highest, and the other way round.
fn shares(logits: &[Interval]) -> Vec<Interval> {
    let e: Vec<Interval> = logits.iter().map(|&l| exp(l)).collect();
    let share = |k: usize| {
        let rest: Interval = (0..e.len()).filter(|&m| m != k).map(|m| e[m]).sum();
        let (least, most) = (Interval::point(e[k].lo), Interval::point(e[k].hi));
        let lo = (least / (least + Interval::point(rest.hi))).lo.max(0.0);
        // An exponential beyond the doubles leaves nothing known but α ≤ 1.
        let hi = (most / (most + Interval::point(rest.lo.max(0.0)))).hi.min(1.0);
        Interval::new(lo, hi)
    };
    (0..e.len()).map(share).collect()
}

/// Γ'_g,k = Σ_m P_km (T_g,k − T_g,m), P_km ∈ α_k α_m.
fn through_softmax(moves: &Balls, alpha: &[Interval]) -> Balls {
    let k = alpha.len();
    let products = Balls::from_fn(k, k, |i, m| match i == m {
        true => Interval::ZERO,
        false => alpha[i] * alpha[m],
    });
    let charged = |(m, r): (&f64, &f64)| r + gamma(k) * m + f64::MIN_POSITIVE;
    let per_mid: Vec<f64> = products.mid.iter().zip(&products.rad).map(charged).collect();
    let (mut mid, mut rad) = (vec![0.0; moves.rows * k], vec![0.0; moves.rows * k]);
    for g in 0..moves.rows {
        let (t, t_rad) = (&moves.mid[g * k..][..k], &moves.rad[g * k..][..k]);
        for i in 0..k {
            let row = i * k..(i + 1) * k;
            let (p, p_rad) = (&products.mid[row.clone()], &products.rad[row.clone()]);
            let charged = &per_mid[row];
            for m in 0..k {
                let gap = t[i] - t[m];
                mid[g * k + i] += p[m] * gap;
                rad[g * k + i] +=
                    charged[m] * gap.abs() + (p[m] + p_rad[m]) * (t_rad[i] + t_rad[m]);
            }
        }
    }
    Balls::rounded(moves.rows, k, mid, rad, k)
}

/// Midpoints become generators; half-widths, the centre's error and E become one of each
/// coordinate's own.
fn new_set(centre: &[Interval], moves: &Balls, range: &[Interval], error: &[Up]) -> Part {
    let k = centre.len();
    let mut mid = moves.mid.clone();
    mid.resize((moves.rows + k) * k, 0.0);
    let mut points = vec![];
    for i in 0..k {
        let (point, off) = centre[i].ball();
        let widths: Up = (0..moves.rows).map(|g| Up::new(moves.rad[g * k + i])).sum();
        mid[(moves.rows + i) * k + i] = (widths + Up::new(off) + error[i]).get();
        points.push(point);
    }
    let generators = Balls::exact(moves.rows + k, k, mid);
    let boxed = (0..k)
        .zip(generators.column_sums())
        .map(|(i, radius)| Interval::point(points[i]).widen(radius).meet(range[i].widen(error[i])));
    Part { range: boxed.collect(), centre: points, generators }
}
