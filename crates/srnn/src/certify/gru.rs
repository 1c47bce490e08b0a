//! One application of a GRU (Eq. 1) to a set of states: centre value, generators, rounding.
//!
//! The letters are those of `docs/src/certificate.md`. A quantity over the set is its value at the
//! centre plus a combination of its generators. Products and nonlinearities enter with secant
//! slopes, so every line is an identity between a point of the set and the centre.

use super::error_model::ErrorModel;
use super::interval::{Interval, round_up};
use super::matrix::{IntervalMatrix, combine, product, row_product, upper_product};
use super::network::EnclosedLayer;
use crate::model::{Gate, Reset};

/// A vector of `n` quantities over a set of states.
#[derive(Clone)]
pub struct AffineForm {
    /// Values at the centre of the set `[n]`.
    pub centre: Vec<Interval>,
    /// Differences from the centre, one row for each generator of the set `[G,n]`.
    pub generators: IntervalMatrix,
    /// Values over the whole set `[n]`.
    pub range: Vec<Interval>,
}

impl AffineForm {
    /// A form whose range is `centre` ± Σ_g |generator|.
    pub fn new(centre: Vec<Interval>, generators: IntervalMatrix) -> AffineForm {
        let sums = generators.column_sums();
        let range = centre.iter().zip(sums).map(|(c, sum)| c.widen(sum)).collect();
        AffineForm { centre, generators, range }
    }

    /// The `n` coordinates from `first` on.
    pub fn part(&self, first: usize, n: usize) -> AffineForm {
        AffineForm {
            centre: self.centre[first..first + n].to_vec(),
            generators: self.generators.columns(first, n),
            range: self.range[first..first + n].to_vec(),
        }
    }

    /// The sum of two forms over the same set.
    pub fn plus(&self, other: &AffineForm) -> AffineForm {
        let centre = self.centre.iter().zip(&other.centre).map(|(&a, &b)| a + b).collect();
        let one = vec![Interval::point(1.0); self.centre.len()];
        AffineForm::new(centre, combine(&[(&one, &self.generators), (&one, &other.generators)]))
    }
}

/// A form in real arithmetic, and bounds on the rounding error of the computed values.
#[derive(Clone)]
pub struct RoundedForm {
    /// The exact values.
    pub value: AffineForm,
    /// Bounds on |computed − exact| `[n]`.
    pub error: Vec<f64>,
}

/// `u = f(h, x)` over a set. `alpha` is the α of the layer, `a` its input part `[3D]`.
pub fn gru_step(
    layer: &EnclosedLayer,
    alpha: &AffineForm,
    a: &RoundedForm,
    errors: ErrorModel,
) -> RoundedForm {
    let d = layer.d;
    let linear = hidden_and_recurrent(layer, alpha);
    let h = linear.part(0, d);
    let delta_h = hidden_error(layer, alpha, errors);
    let delta_q = recurrent_error(layer, alpha, errors);
    let gate = |block: usize| {
        let pre = a.value.part(block * d, d).plus(&linear.part((1 + block) * d, d));
        let delta: Vec<f64> =
            (0..d).map(|j| round_up(a.error[block * d + j] + delta_q[block * d + j], 2)).collect();
        GateEnclosure::new(layer.gate, pre, &delta, errors)
    };
    let (r, z) = (gate(0), gate(1));
    let candidate =
        CandidateInputs { layer, a, linear: &linear, h: &h, delta_h: &delta_h, r: &r, errors };
    let pre_n = match layer.reset {
        Reset::AfterMatrix => candidate.reset_after_matrix(&delta_q[2 * d..]),
        Reset::BeforeMatrix => candidate.reset_before_matrix(),
    };
    blend(&h, &delta_h, &z, &pre_n, errors)
}

/// h and q over the set, side by side.
fn hidden_and_recurrent(layer: &EnclosedLayer, alpha: &AffineForm) -> AffineForm {
    let mut centre = row_product(&alpha.centre, &layer.state);
    for (q, &bias) in centre[layer.d..].iter_mut().zip(&layer.state_bias) {
        *q = *q + Interval::point(bias);
    }
    AffineForm::new(centre, product(&alpha.generators, &layer.state))
}

/// δh `[D]`.
pub fn hidden_error(layer: &EnclosedLayer, alpha: &AffineForm, errors: ErrorModel) -> Vec<f64> {
    let sums = upper_product(&magnitudes(&alpha.range), &layer.mixture);
    sums.iter()
        .map(|&sum| round_up(errors.gamma(layer.k + 6) * sum + errors.underflow, 4))
        .collect()
}

/// δq `[3D]`.
fn recurrent_error(layer: &EnclosedLayer, alpha: &AffineForm, errors: ErrorModel) -> Vec<f64> {
    let gamma = errors.gamma(layer.k + layer.d + 10);
    let sums = upper_product(&magnitudes(&alpha.range), &layer.state_size);
    // If the reset gate acts before the matrix, there is no third block.
    let blocks = sums.iter().copied().chain(std::iter::repeat(0.0));
    let sums = blocks.zip(&layer.recurrent_bias_size);
    sums.map(|(sum, bias)| round_up(gamma * (sum + bias) + errors.underflow, 4)).collect()
}

/// The argument of σ or tanh of one unit: at the centre, over the set, and its rounding error.
#[derive(Clone, Copy, PartialEq)]
struct FunctionInput {
    centre: Interval,
    range: Interval,
    delta: f64,
}

/// σ or tanh of one unit: at the centre, over the set, its secant slopes and its rounding error.
#[derive(Clone, Copy)]
struct FunctionValues {
    centre: Interval,
    range: Interval,
    slope: Interval,
    error: f64,
}

/// `enclose` for every unit.
// PERF: in a network that was made from an automaton all gates have the same argument, and the
// candidates of one state have two. So the last two results are kept.
fn function_values(
    pre: &AffineForm,
    delta: &[f64],
    enclose: impl Fn(&FunctionInput) -> FunctionValues,
) -> Vec<FunctionValues> {
    let mut known: [Option<(FunctionInput, FunctionValues)>; 2] = [None, None];
    let inputs = pre.centre.iter().zip(&pre.range).zip(delta);
    let mut value = |((&centre, &range), &delta): ((&Interval, &Interval), &f64)| {
        let input = FunctionInput { centre, range, delta };
        if let Some((_, values)) = known.iter().flatten().find(|(known, _)| *known == input) {
            return *values;
        }
        let values = enclose(&input);
        known = [Some((input, values)), known[0]];
        values
    };
    inputs.map(&mut value).collect()
}

/// The gate of every unit over the set.
struct GateEnclosure {
    /// The pre-activation.
    pre: AffineForm,
    /// Values at the centre `[D]`.
    centre: Vec<Interval>,
    /// Values over the set `[D]`.
    range: Vec<Interval>,
    /// Secant slopes over the set `[D]`.
    slope: Vec<Interval>,
    /// Bounds on the rounding error `[D]`.
    error: Vec<f64>,
}

impl GateEnclosure {
    fn new(kind: Gate, pre: AffineForm, delta: &[f64], errors: ErrorModel) -> GateEnclosure {
        let value = |x: Interval| match kind {
            Gate::Sigmoid => x.sigmoid(),
            Gate::HardSigmoid => x.hard_sigmoid(),
        };
        let slope = |x: Interval| match kind {
            Gate::Sigmoid => x.sigmoid_slope(),
            Gate::HardSigmoid => x.hard_sigmoid_slope(),
        };
        let function_error = match kind {
            Gate::Sigmoid => errors.sigmoid,
            Gate::HardSigmoid => 4.0 * errors.unit_roundoff + errors.underflow,
        };
        let enclose = |x: &FunctionInput| FunctionValues {
            centre: value(x.centre),
            range: value(x.range),
            slope: slope(x.range),
            error: round_up(slope(x.range.widen(x.delta)).hi * x.delta + function_error, 4),
        };
        let values = function_values(&pre, delta, enclose);
        GateEnclosure {
            centre: values.iter().map(|v| v.centre).collect(),
            range: values.iter().map(|v| v.range).collect(),
            slope: values.iter().map(|v| v.slope).collect(),
            error: values.iter().map(|v| v.error).collect(),
            pre,
        }
    }
}

/// The inputs of the candidate's pre-activation.
struct CandidateInputs<'a> {
    layer: &'a EnclosedLayer,
    a: &'a RoundedForm,
    linear: &'a AffineForm,
    h: &'a AffineForm,
    delta_h: &'a [f64],
    r: &'a GateEnclosure,
    errors: ErrorModel,
}

impl CandidateInputs<'_> {
    /// `pre_n = a_n + r q_n`.
    fn reset_after_matrix(&self, delta_q: &[f64]) -> RoundedForm {
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
            let rounding = 4.0 * self.errors.unit_roundoff * rounded + self.errors.underflow;
            round_up(delta_a + r_high * delta_q[j] + q_size * delta_r + rounding, 16)
        });
        let error = error.collect();
        RoundedForm { value: AffineForm::new(centre, generators), error }
    }

    /// `pre_n = a_n + R_n (r ∘ h)`.
    fn reset_before_matrix(&self) -> RoundedForm {
        let (d, r, h) = (self.layer.d, self.r, self.h);
        let a = self.a.value.part(2 * d, d);
        let centre: Vec<Interval> = (0..d).map(|j| r.centre[j] * h.centre[j]).collect();
        let through_r: Vec<Interval> = (0..d).map(|j| h.range[j] * r.slope[j]).collect();
        let generators = combine(&[(&r.centre, &h.generators), (&through_r, &r.pre.generators)]);
        let rh = AffineForm::new(centre, generators);
        let through = AffineForm::new(
            row_product(&rh.centre, &self.layer.candidate),
            product(&rh.generators, &self.layer.candidate),
        );
        let error = self.reset_before_matrix_error(&rh, &a);
        RoundedForm { value: a.plus(&through), error }
    }

    fn reset_before_matrix_error(&self, rh: &AffineForm, a: &AffineForm) -> Vec<f64> {
        let (d, r, errors) = (self.layer.d, self.r, self.errors);
        let delta_rh: Vec<f64> = (0..d)
            .map(|j| {
                let (r_high, delta_r) = (r.range[j].hi, r.error[j]);
                let h_size = self.h.range[j].mag() + self.delta_h[j];
                let rounding =
                    2.0 * errors.unit_roundoff * (r_high + delta_r) * h_size + errors.underflow;
                round_up(r_high * self.delta_h[j] + h_size * delta_r + rounding, 12)
            })
            .collect();
        let weights = &self.layer.candidate;
        let whole: Vec<f64> =
            (0..d).map(|j| round_up(rh.range[j].mag() + delta_rh[j], 2)).collect();
        let carried = upper_product(&delta_rh, weights);
        let summed = upper_product(&whole, weights);
        let gamma = errors.gamma(d + 10);
        let error = (0..d).map(|j| {
            let delta_a = self.a.error[2 * d + j];
            let rounding =
                4.0 * errors.unit_roundoff * (a.range[j].mag() + delta_a) + errors.underflow;
            round_up(delta_a + carried[j] + gamma * summed[j] + rounding, 12)
        });
        error.collect()
    }
}

/// `u = (1 − z) n + z h`.
fn blend(
    h: &AffineForm,
    delta_h: &[f64],
    z: &GateEnclosure,
    pre_n: &RoundedForm,
    errors: ErrorModel,
) -> RoundedForm {
    let d = h.centre.len();
    let one = Interval::point(1.0);
    let candidates = function_values(&pre_n.value, &pre_n.error, |x| FunctionValues {
        centre: x.centre.tanh(),
        range: x.range.tanh(),
        slope: x.range.tanh_slope(),
        error: round_up(x.range.widen(x.delta).tanh_slope().hi * x.delta + errors.tanh, 4),
    });
    let n: Vec<Interval> = candidates.iter().map(|v| v.range).collect();
    let n_c: Vec<Interval> = candidates.iter().map(|v| v.centre).collect();
    let keep: Vec<Interval> = z.range.iter().map(|&z| one - z).collect();
    let centre = (0..d).map(|j| (one - z.centre[j]) * n_c[j] + z.centre[j] * h.centre[j]).collect();
    let through_n: Vec<Interval> = (0..d).map(|j| keep[j] * candidates[j].slope).collect();
    let through_z: Vec<Interval> = (0..d).map(|j| (h.centre[j] - n_c[j]) * z.slope[j]).collect();
    let generators = combine(&[
        (&through_n, &pre_n.value.generators),
        (&z.range, &h.generators),
        (&through_z, &z.pre.generators),
    ]);
    let error = (0..d).map(|j| {
        let delta_n = candidates[j].error;
        let (keep, z_high) = (keep[j].hi + z.error[j], z.range[j].hi + z.error[j]);
        let rounded = keep * (n[j].mag() + delta_n) + z_high * (h.range[j].mag() + delta_h[j]);
        let rounding = 4.0 * errors.unit_roundoff * rounded + errors.underflow;
        let gap = (h.range[j] - n[j]).mag();
        round_up(keep * delta_n + z_high * delta_h[j] + gap * z.error[j] + rounding, 24)
    });
    let error = error.collect();
    RoundedForm { value: AffineForm::new(centre, generators), error }
}

/// The largest magnitude of each range.
pub fn magnitudes(ranges: &[Interval]) -> Vec<f64> {
    ranges.iter().map(|range| range.mag()).collect()
}
