//! The recurrent component over a set: u from α and the input part. The lines follow
//! `docs/src/certificate.md`; each comes with the bound on the rounding error.

use crate::config::{Gate, Reset};
use crate::error_model::ErrorModel;
use crate::functions::{gate, gate_slopes, max_gate_slope, max_tanh_slope, tanh, tanh_slopes};
use crate::interval::{Interval, UpperBound};
use crate::matrix::IntervalMatrix;
use crate::network::EnclosedLayer;
use crate::zonotope::{LayerZonotope, RoundedForm};

/// One gate of one unit.
struct GateEnclosure {
    /// Value at the centre.
    centre: Interval,
    /// Values over the set.
    range: Interval,
    /// Secant slopes over the set.
    slope: Interval,
    /// Bound on the rounding error.
    error: UpperBound,
}

impl GateEnclosure {
    fn upper(&self) -> UpperBound {
        UpperBound::new(self.range.hi)
    }
}

/// u `[D]` of one layer. `input` is the input part a; it may have more generators than `alpha`.
pub fn gru_step(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    alpha: &LayerZonotope,
    input: &RoundedForm,
) -> RoundedForm {
    let rows = input.generators.rows;
    let (h, q) = (hidden(layer, errors, alpha, rows), recurrent(layer, errors, alpha, rows));
    let gated = 2 * layer.d;
    let gate_generators = input.generators.columns(0, gated).plus(&q.generators.columns(0, gated));
    let gates = gates(layer, errors, input, &q, &gate_generators);
    let (r, z) = gates.split_at(layer.d);
    let pre_n = match layer.config.cell.reset {
        Reset::AfterMatrix => after_matrix(layer, errors, input, &q, r, &gate_generators),
        Reset::BeforeMatrix => before_matrix(layer, errors, input, &h, r, &gate_generators),
    };
    blend(layer, errors, &h, z, &pre_n, &gate_generators)
}

/// h = αS.
pub fn hidden(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    alpha: &LayerZonotope,
    rows: usize,
) -> RoundedForm {
    let (centre, generators) = alpha.image(&layer.s, &vec![Interval::ZERO; layer.d]);
    let sizes = alpha.image_size(&layer.s.absolute());
    let gamma = errors.gamma(layer.k + 6);
    let error = sizes.into_iter().map(|size| gamma * size + errors.underflow).collect();
    RoundedForm::new(centre, generators.with_rows(rows), error)
}

/// q = R h + b_hh.
fn recurrent(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    alpha: &LayerZonotope,
    rows: usize,
) -> RoundedForm {
    let bias: Vec<Interval> = layer.state_bias.iter().map(|&b| Interval::point(b)).collect();
    let (centre, generators) = alpha.image(&layer.state, &bias);
    let sizes = alpha.image_size(&layer.state_size);
    let gamma = errors.gamma(layer.k + layer.d + 10);
    let error = sizes.into_iter().zip(&layer.state_bias);
    let error = error
        .map(|(size, b)| gamma * (size + UpperBound::new(b.abs())) + errors.underflow)
        .collect();
    RoundedForm::new(centre, generators.with_rows(rows), error)
}

/// r, then z `[2D]`; `gate_generators` are those of a + q.
fn gates(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    a: &RoundedForm,
    q: &RoundedForm,
    gate_generators: &IntervalMatrix,
) -> Vec<GateEnclosure> {
    let kind = layer.config.gate;
    let function_error = match kind {
        Gate::Sigmoid => errors.sigmoid,
        Gate::HardSigmoid => errors.roundings(4.0) + errors.underflow,
    };
    let gated = |(j, radius): (usize, UpperBound)| {
        let centre = a.centre[j] + q.centre[j];
        let range = centre.widen(radius);
        let delta = a.error[j] + q.error[j];
        GateEnclosure {
            centre: gate(kind, centre),
            range: gate(kind, range),
            slope: gate_slopes(kind, range),
            error: max_gate_slope(kind, range.widen(delta)) * delta + function_error,
        }
    };
    gate_generators.column_sums().into_iter().enumerate().map(gated).collect()
}

/// pre_n = a_n + r q_n.
fn after_matrix(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    a: &RoundedForm,
    q: &RoundedForm,
    r: &[GateEnclosure],
    gate_generators: &IntervalMatrix,
) -> RoundedForm {
    let d = layer.d;
    let n = 2 * d;
    let centre = (0..d).map(|j| a.centre[n + j] + r[j].centre * q.centre[n + j]).collect();
    let through_r: Vec<Interval> = (0..d).map(|j| q.range[n + j] * r[j].slope).collect();
    let generators = IntervalMatrix::from_fn(gate_generators.rows, d, |g, j| {
        let (a_n, q_n) = (a.generators.get(g, n + j), q.generators.get(g, n + j));
        a_n + r[j].centre * q_n + through_r[j] * gate_generators.get(g, j)
    });
    let error = |j: usize| {
        let (da, dq, dr) = (a.error[n + j], q.error[n + j], r[j].error);
        let q_size = q.size(n + j) + dq;
        let terms = a.size(n + j) + da + (r[j].upper() + dr) * q_size;
        da + r[j].upper() * dq + q_size * dr + errors.roundings(4.0) * terms + errors.underflow
    };
    RoundedForm::new(centre, generators, (0..d).map(error).collect())
}

/// pre_n = a_n + R_n (r∘h).
fn before_matrix(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    a: &RoundedForm,
    h: &RoundedForm,
    r: &[GateEnclosure],
    gate_generators: &IntervalMatrix,
) -> RoundedForm {
    let (d, n) = (layer.d, 2 * layer.d);
    let rh = reset_hidden(errors, h, r, gate_generators);
    let centre = IntervalMatrix::from_fn(1, d, |_, j| rh.centre[j]).times(&layer.candidate).row(0);
    let centre = (0..d).map(|j| a.centre[n + j] + centre[j]).collect();
    let generators = a.generators.columns(n, d).plus(&rh.generators.times(&layer.candidate));
    let gamma = errors.gamma(d + 10);
    let error = |j: usize| {
        let weight = |i: usize| layer.candidate.magnitude(i, j);
        let carried: UpperBound = (0..d).map(|i| weight(i) * rh.error[i]).sum();
        let terms: UpperBound = (0..d).map(|i| weight(i) * (rh.size(i) + rh.error[i])).sum();
        let da = a.error[n + j];
        let added = errors.roundings(4.0) * (a.size(n + j) + da);
        da + carried + gamma * terms + added + errors.underflow
    };
    RoundedForm::new(centre, generators, (0..d).map(error).collect())
}

/// r∘h.
fn reset_hidden(
    errors: &ErrorModel,
    h: &RoundedForm,
    r: &[GateEnclosure],
    gate_generators: &IntervalMatrix,
) -> RoundedForm {
    let d = r.len();
    let centre = (0..d).map(|j| r[j].centre * h.centre[j]).collect();
    let through_r: Vec<Interval> = (0..d).map(|j| h.range[j] * r[j].slope).collect();
    let generators = IntervalMatrix::from_fn(gate_generators.rows, d, |g, j| {
        r[j].centre * h.generators.get(g, j) + through_r[j] * gate_generators.get(g, j)
    });
    let error = |j: usize| {
        let (dh, dr) = (h.error[j], r[j].error);
        let h_size = h.size(j) + dh;
        r[j].upper() * dh
            + h_size * dr
            + errors.roundings(2.0) * ((r[j].upper() + dr) * h_size)
            + errors.underflow
    };
    RoundedForm::new(centre, generators, (0..d).map(error).collect())
}

/// u = (1 − z) tanh(pre_n) + z h.
fn blend(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    h: &RoundedForm,
    z: &[GateEnclosure],
    pre_n: &RoundedForm,
    gate_generators: &IntervalMatrix,
) -> RoundedForm {
    let d = layer.d;
    let n_centre: Vec<Interval> = pre_n.centre.iter().map(|&x| tanh(x)).collect();
    let n: Vec<Interval> = pre_n.range.iter().map(|&x| tanh(x)).collect();
    let keep: Vec<Interval> = z.iter().map(|z| Interval::ONE - z.range).collect();
    let centre = (0..d)
        .map(|j| (Interval::ONE - z[j].centre) * n_centre[j] + z[j].centre * h.centre[j])
        .collect();
    let through_n: Vec<Interval> = (0..d).map(|j| keep[j] * tanh_slopes(pre_n.range[j])).collect();
    let through_z: Vec<Interval> =
        (0..d).map(|j| (h.centre[j] - n_centre[j]) * z[j].slope).collect();
    let generators = IntervalMatrix::from_fn(gate_generators.rows, d, |g, j| {
        through_n[j] * pre_n.generators.get(g, j)
            + z[j].range * h.generators.get(g, j)
            + through_z[j] * gate_generators.get(g, d + j)
    });
    let error = |j: usize| {
        let delta = pre_n.error[j];
        let dn = max_tanh_slope(pre_n.range[j].widen(delta)) * delta + errors.tanh;
        let (dz, dh) = (z[j].error, h.error[j]);
        let (keep, take) = (UpperBound::new(keep[j].hi) + dz, z[j].upper() + dz);
        let terms = keep * (n[j].magnitude() + dn) + take * (h.size(j) + dh);
        let between = (h.range[j] - n[j]).magnitude();
        keep * dn + take * dh + between * dz + errors.roundings(4.0) * terms + errors.underflow
    };
    RoundedForm::new(centre, generators, (0..d).map(error).collect())
}
