//! One application of a GRU (Eq. 1) to a set of states: centre value, generators, rounding.
//!
//! The letters are those of `docs/certificate.md`. A quantity over the set is its value at the
//! centre plus a combination of its generators; products and nonlinearities enter with secant
//! slopes, so that every line is an identity between a point of the set and the centre.

use super::arithmetic::Errors;
use super::interval::{Interval, up};
use super::matrix::{Matrix, product, row_product, upper_product};
use super::network::{Layer, columns};
use crate::model::{Gate, Reset};

/// A quantity over the set: a vector of `n` numbers.
#[derive(Clone)]
pub struct Spread {
    /// At the centre `[n]`.
    pub centre: Vec<Interval>,
    /// Differences from it `[G,n]`.
    pub generators: Matrix,
    /// Over the whole set `[n]`.
    pub range: Vec<Interval>,
}

impl Spread {
    /// Its range is the centre and all generators.
    pub fn new(centre: Vec<Interval>, generators: Matrix) -> Spread {
        let sums = generators.column_sums();
        let range = centre.iter().zip(sums).map(|(c, sum)| c.widen(sum)).collect();
        Spread { centre, generators, range }
    }

    /// `n` coordinates from `first` on.
    pub fn part(&self, first: usize, n: usize) -> Spread {
        Spread {
            centre: self.centre[first..first + n].to_vec(),
            generators: columns(&self.generators, first, n),
            range: self.range[first..first + n].to_vec(),
        }
    }

    /// The sum of two quantities.
    pub fn plus(&self, other: &Spread) -> Spread {
        let centre = self.centre.iter().zip(&other.centre).map(|(&a, &b)| a + b).collect();
        let one = vec![Interval::point(1.0); self.centre.len()];
        Spread::new(centre, combine(&[(&one, &self.generators), (&one, &other.generators)]))
    }
}

/// A quantity, and by how much the program's value of it may be off.
#[derive(Clone)]
pub struct Computed {
    /// In real arithmetic.
    pub value: Spread,
    /// `[n]`.
    pub error: Vec<f64>,
}

/// `u = f(h, x)` over a set: `alpha` is the layer's α, `a` its input part `[3D]`.
pub fn apply(layer: &Layer, alpha: &Spread, a: &Computed, errors: Errors) -> Computed {
    let d = layer.d;
    let linear = linear(layer, alpha);
    let h = linear.part(0, d);
    let delta_h = mixture_error(layer, alpha, errors);
    let delta_q = recurrent_error(layer, alpha, errors);
    let gate = |block: usize| {
        let pre = a.value.part(block * d, d).plus(&linear.part((1 + block) * d, d));
        let delta: Vec<f64> =
            (0..d).map(|j| up(a.error[block * d + j] + delta_q[block * d + j], 2)).collect();
        Gated::new(layer.gate, pre, &delta, errors)
    };
    let (r, z) = (gate(0), gate(1));
    let inside = Inside { layer, a, linear: &linear, h: &h, delta_h: &delta_h, r: &r, errors };
    let pre_n = match layer.reset {
        Reset::AfterMatrix => inside.candidate_after(&delta_q[2 * d..]),
        Reset::BeforeMatrix => inside.candidate_before(),
    };
    update(&h, &delta_h, &z, &pre_n, errors)
}

/// h and q over the set.
fn linear(layer: &Layer, alpha: &Spread) -> Spread {
    let mut centre = row_product(&alpha.centre, &layer.state);
    for (q, &bias) in centre[layer.d..].iter_mut().zip(&layer.state_bias) {
        *q = *q + Interval::point(bias);
    }
    Spread::new(centre, product(&alpha.generators, &layer.state))
}

/// δh `[D]`.
pub fn mixture_error(layer: &Layer, alpha: &Spread, errors: Errors) -> Vec<f64> {
    let sums = upper_product(&magnitudes(&alpha.range), layer.mixture.sizes(), layer.d);
    sums.iter().map(|&sum| up(errors.gamma(layer.k + 6) * sum + errors.lost, 4)).collect()
}

/// δq `[3D]`.
fn recurrent_error(layer: &Layer, alpha: &Spread, errors: Errors) -> Vec<f64> {
    let gamma = errors.gamma(layer.k + layer.d + 10);
    let sums = upper_product(&magnitudes(&alpha.range), &layer.state_size, 3 * layer.d);
    let sums = sums.iter().zip(&layer.recurrent_bias_size);
    sums.map(|(sum, bias)| up(gamma * (sum + bias) + errors.lost, 4)).collect()
}

/// A gate over the set.
struct Gated {
    pre: Spread,
    centre: Vec<Interval>,
    range: Vec<Interval>,
    slope: Vec<Interval>,
    error: Vec<f64>,
}

impl Gated {
    fn new(kind: Gate, pre: Spread, delta: &[f64], errors: Errors) -> Gated {
        let value = |x: Interval| match kind {
            Gate::Sigmoid => x.sigmoid(),
            Gate::HardSigmoid => x.hard_sigmoid(),
        };
        let slope = |x: Interval| match kind {
            Gate::Sigmoid => x.sigmoid_slope(),
            Gate::HardSigmoid => x.hard_sigmoid_slope(),
        };
        let own = match kind {
            Gate::Sigmoid => errors.sigmoid,
            Gate::HardSigmoid => 4.0 * errors.unit + errors.lost,
        };
        let error = pre.range.iter().zip(delta);
        let error = error.map(|(x, &delta)| up(slope(x.widen(delta)).hi * delta + own, 4));
        Gated {
            centre: pre.centre.iter().map(|&x| value(x)).collect(),
            range: pre.range.iter().map(|&x| value(x)).collect(),
            slope: pre.range.iter().map(|&x| slope(x)).collect(),
            error: error.collect(),
            pre,
        }
    }
}

/// What the candidate is made of.
struct Inside<'a> {
    layer: &'a Layer,
    a: &'a Computed,
    linear: &'a Spread,
    h: &'a Spread,
    delta_h: &'a [f64],
    r: &'a Gated,
    errors: Errors,
}

impl Inside<'_> {
    /// `a_n + r q_n`.
    fn candidate_after(&self, delta_q: &[f64]) -> Computed {
        let (d, r) = (self.layer.d, self.r);
        let (a, q) = (self.a.value.part(2 * d, d), self.linear.part(3 * d, d));
        let centre: Vec<Interval> =
            (0..d).map(|j| a.centre[j] + r.centre[j] * q.centre[j]).collect();
        let one = vec![Interval::point(1.0); d];
        let through_r: Vec<Interval> = (0..d).map(|j| q.range[j] * r.slope[j]).collect();
        let generators = combine(&[
            (&one, &a.generators),
            (&r.centre, &q.generators),
            (&through_r, &r.pre.generators),
        ]);
        let error = (0..d).map(|j| {
            let (r_high, delta_r) = (r.range[j].hi, r.error[j]);
            let delta_a = self.a.error[2 * d + j];
            let q_size = q.range[j].mag() + delta_q[j];
            let rounded = a.range[j].mag() + delta_a + (r_high + delta_r) * q_size;
            let rounding = 4.0 * self.errors.unit * rounded + self.errors.lost;
            up(delta_a + r_high * delta_q[j] + q_size * delta_r + rounding, 16)
        });
        let error = error.collect();
        Computed { value: Spread::new(centre, generators), error }
    }

    /// `a_n + R_n (r ∘ h)`.
    fn candidate_before(&self) -> Computed {
        let (d, r, h) = (self.layer.d, self.r, self.h);
        let a = self.a.value.part(2 * d, d);
        let centre: Vec<Interval> = (0..d).map(|j| r.centre[j] * h.centre[j]).collect();
        let through_r: Vec<Interval> = (0..d).map(|j| h.range[j] * r.slope[j]).collect();
        let generators = combine(&[(&r.centre, &h.generators), (&through_r, &r.pre.generators)]);
        let rh = Spread::new(centre, generators);
        let through = Spread::new(
            row_product(&rh.centre, &self.layer.candidate),
            product(&rh.generators, &self.layer.candidate),
        );
        let error = self.error_before(&rh, &a);
        Computed { value: a.plus(&through), error }
    }

    fn error_before(&self, rh: &Spread, a: &Spread) -> Vec<f64> {
        let (d, r, errors) = (self.layer.d, self.r, self.errors);
        let delta_rh: Vec<f64> = (0..d)
            .map(|j| {
                let (r_high, delta_r) = (r.range[j].hi, r.error[j]);
                let h_size = self.h.range[j].mag() + self.delta_h[j];
                let rounding = 2.0 * errors.unit * (r_high + delta_r) * h_size + errors.lost;
                up(r_high * self.delta_h[j] + h_size * delta_r + rounding, 12)
            })
            .collect();
        let sizes = self.layer.candidate.sizes();
        let whole: Vec<f64> = (0..d).map(|j| up(rh.range[j].mag() + delta_rh[j], 2)).collect();
        let carried = upper_product(&delta_rh, sizes, d);
        let summed = upper_product(&whole, sizes, d);
        let gamma = errors.gamma(d + 10);
        let error = (0..d).map(|j| {
            let delta_a = self.a.error[2 * d + j];
            let rounding = 4.0 * errors.unit * (a.range[j].mag() + delta_a) + errors.lost;
            up(delta_a + carried[j] + gamma * summed[j] + rounding, 12)
        });
        error.collect()
    }
}

/// `u = (1 − z) n + z h`.
fn update(h: &Spread, delta_h: &[f64], z: &Gated, pre_n: &Computed, errors: Errors) -> Computed {
    let d = h.centre.len();
    let one = Interval::point(1.0);
    let range = &pre_n.value.range;
    let slope: Vec<Interval> = range.iter().map(|x| x.tanh_slope()).collect();
    let n: Vec<Interval> = range.iter().map(|x| x.tanh()).collect();
    let n_c: Vec<Interval> = pre_n.value.centre.iter().map(|x| x.tanh()).collect();
    let keep: Vec<Interval> = z.range.iter().map(|&z| one - z).collect();
    let centre = (0..d).map(|j| (one - z.centre[j]) * n_c[j] + z.centre[j] * h.centre[j]).collect();
    let through_n: Vec<Interval> = (0..d).map(|j| keep[j] * slope[j]).collect();
    let through_z: Vec<Interval> = (0..d).map(|j| (h.centre[j] - n_c[j]) * z.slope[j]).collect();
    let generators = combine(&[
        (&through_n, &pre_n.value.generators),
        (&z.range, &h.generators),
        (&through_z, &z.pre.generators),
    ]);
    let error = (0..d).map(|j| {
        let delta_pre = pre_n.error[j];
        let delta_n = up(range[j].widen(delta_pre).tanh_slope().hi * delta_pre + errors.tanh, 4);
        let (keep, z_high) = (keep[j].hi + z.error[j], z.range[j].hi + z.error[j]);
        let rounded = keep * (n[j].mag() + delta_n) + z_high * (h.range[j].mag() + delta_h[j]);
        let rounding = 4.0 * errors.unit * rounded + errors.lost;
        let gap = (h.range[j] - n[j]).mag();
        up(keep * delta_n + z_high * delta_h[j] + gap * z.error[j] + rounding, 24)
    });
    let error = error.collect();
    Computed { value: Spread::new(centre, generators), error }
}

/// `Σ coefficients ∘ generators`, column by column.
fn combine(terms: &[(&[Interval], &Matrix)]) -> Matrix {
    let (_, first) = terms[0];
    let mut sum = Matrix::zeros(first.rows(), first.columns);
    for (coefficients, matrix) in terms {
        let (mid, rad): (Vec<f64>, Vec<f64>) =
            coefficients.iter().map(|c| (c.mid(), c.rad())).unzip();
        let n = matrix.columns;
        for row in 0..matrix.rows() {
            let at = row * n..(row + 1) * n;
            let (into, into_rad) = (&mut sum.mid[at.clone()], &mut sum.rad[at.clone()]);
            let (from, from_rad) = (&matrix.mid[at.clone()], &matrix.rad[at]);
            for j in 0..n {
                let term = mid[j] * from[j];
                into[j] += term;
                // The product rounds once, and each sum of up to three terms twice at most: half
                // a unit each of magnitudes that are all in the sum of |terms|.
                into_rad[j] += mid[j].abs() * from_rad[j]
                    + rad[j] * (from[j].abs() + from_rad[j])
                    + 2.0 * f64::EPSILON * term.abs();
            }
        }
    }
    let rows = terms.len() * 6;
    sum.rad.iter_mut().for_each(|rad| *rad = up(*rad, rows));
    sum
}

/// The largest magnitudes.
pub fn magnitudes(ranges: &[Interval]) -> Vec<f64> {
    ranges.iter().map(|range| range.mag()).collect()
}
