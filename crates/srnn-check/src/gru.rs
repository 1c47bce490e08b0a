//! The recurrent component over a set: u from α and the input part. The lines follow
//! `docs/src/certificate.md`; each comes with the bound on the rounding error.

use crate::config::{Gate, Reset};
use crate::error_model::ErrorModel;
use crate::functions::{gate, gate_slopes, max_gate_slope, max_tanh_slope, tanh, tanh_slopes};
use crate::interval::{Interval, UpperBound};
use crate::matrix::{IntervalMatrix, upper_times};
use crate::network::EnclosedLayer;
use crate::zonotope::{LayerZonotope, RoundedForm};

/// One gate or candidate of one unit.
#[derive(Clone, Copy)]
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

/// The last few results of a function. Units of a network that was made from an automaton often have
/// the same pre-activation as one of their neighbours.
struct RecentValues<K, V> {
    entries: Vec<(K, V)>,
    oldest: usize,
}

impl<K, V> Default for RecentValues<K, V> {
    fn default() -> RecentValues<K, V> {
        RecentValues { entries: vec![], oldest: 0 }
    }
}

impl<K: PartialEq, V: Copy> RecentValues<K, V> {
    /// `of(&key)`, computed or remembered.
    fn get(&mut self, key: K, of: impl Fn(&K) -> V) -> V {
        const KEPT: usize = 4;
        if let Some((_, value)) = self.entries.iter().find(|(known, _)| *known == key) {
            return *value;
        }
        let value = of(&key);
        match self.entries.len() < KEPT {
            true => self.entries.push((key, value)),
            false => self.entries[self.oldest] = (key, value),
        }
        self.oldest = (self.oldest + 1) % KEPT;
        value
    }
}

/// u `[D]` of one layer. `input` is the input part a; it may have more generators than `alpha`.
pub fn gru_step(
    layer: &EnclosedLayer,
    errors: &ErrorModel,
    alpha: &LayerZonotope,
    input: &RoundedForm,
) -> RoundedForm {
    let rows = input.generators.rows();
    let (h, q) = (hidden(layer, errors, alpha, rows), recurrent(layer, errors, alpha, rows));
    let gated = 2 * layer.d;
    let one = vec![Interval::ONE; gated];
    let gate_generators = IntervalMatrix::weighted_sum(&[
        (&one, &input.generators.columns(0, gated)),
        (&one, &q.generators.columns(0, gated)),
    ]);
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
    let sizes = alpha.image_size(&layer.s_size);
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
    let enclosure = |&(centre, range, delta): &(Interval, Interval, UpperBound)| GateEnclosure {
        centre: gate(kind, centre),
        range: gate(kind, range),
        slope: gate_slopes(kind, range),
        error: max_gate_slope(kind, range.widen(delta)) * delta + function_error,
    };
    let mut recent = RecentValues::default();
    let gated = |(j, radius): (usize, UpperBound)| {
        let centre = a.centre[j] + q.centre[j];
        recent.get((centre, centre.widen(radius), a.error[j] + q.error[j]), enclosure)
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
    let r_centre: Vec<Interval> = r.iter().map(|r| r.centre).collect();
    let generators = IntervalMatrix::weighted_sum(&[
        (&vec![Interval::ONE; d], &a.generators.columns(n, d)),
        (&r_centre, &q.generators.columns(n, d)),
        (&through_r, &gate_generators.columns(0, d)),
    ]);
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
    let centre = IntervalMatrix::of_row(&rh.centre).times(&layer.candidate).row(0);
    let centre = (0..d).map(|j| a.centre[n + j] + centre[j]).collect();
    let one = vec![Interval::ONE; d];
    let generators = IntervalMatrix::weighted_sum(&[
        (&one, &a.generators.columns(n, d)),
        (&one, &rh.generators.times(&layer.candidate)),
    ]);
    let gamma = errors.gamma(d + 10);
    let whole: Vec<UpperBound> = (0..d).map(|i| rh.size(i) + rh.error[i]).collect();
    let carried = upper_times(&rh.error, &layer.candidate_size);
    let terms = upper_times(&whole, &layer.candidate_size);
    let error = |j: usize| {
        let da = a.error[n + j];
        let added = errors.roundings(4.0) * (a.size(n + j) + da);
        da + carried[j] + gamma * terms[j] + added + errors.underflow
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
    let r_centre: Vec<Interval> = r.iter().map(|r| r.centre).collect();
    let generators = IntervalMatrix::weighted_sum(&[
        (&r_centre, &h.generators),
        (&through_r, &gate_generators.columns(0, d)),
    ]);
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

/// n = tanh(pre_n).
fn candidates(errors: &ErrorModel, pre_n: &RoundedForm) -> Vec<GateEnclosure> {
    let enclosure = |&(centre, range, delta): &(Interval, Interval, UpperBound)| GateEnclosure {
        centre: tanh(centre),
        range: tanh(range),
        slope: tanh_slopes(range),
        error: max_tanh_slope(range.widen(delta)) * delta + errors.tanh,
    };
    let mut recent = RecentValues::default();
    let inputs = pre_n.centre.iter().zip(&pre_n.range).zip(&pre_n.error);
    inputs.map(|((&c, &range), &delta)| recent.get((c, range, delta), enclosure)).collect()
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
    let candidates = candidates(errors, pre_n);
    let n_centre: Vec<Interval> = candidates.iter().map(|n| n.centre).collect();
    let n: Vec<Interval> = candidates.iter().map(|n| n.range).collect();
    let keep: Vec<Interval> = z.iter().map(|z| Interval::ONE - z.range).collect();
    let centre = (0..d)
        .map(|j| (Interval::ONE - z[j].centre) * n_centre[j] + z[j].centre * h.centre[j])
        .collect();
    let through_n: Vec<Interval> = (0..d).map(|j| keep[j] * candidates[j].slope).collect();
    let through_z: Vec<Interval> =
        (0..d).map(|j| (h.centre[j] - n_centre[j]) * z[j].slope).collect();
    let z_range: Vec<Interval> = z.iter().map(|z| z.range).collect();
    let generators = IntervalMatrix::weighted_sum(&[
        (&through_n, &pre_n.generators),
        (&z_range, &h.generators),
        (&through_z, &gate_generators.columns(d, d)),
    ]);
    let error = |j: usize| {
        let (dn, dz, dh) = (candidates[j].error, z[j].error, h.error[j]);
        let (keep, take) = (UpperBound::new(keep[j].hi) + dz, z[j].upper() + dz);
        let terms = keep * (n[j].magnitude() + dn) + take * (h.size(j) + dh);
        let between = (h.range[j] - n[j]).magnitude();
        keep * dn + take * dh + between * dz + errors.roundings(4.0) * terms + errors.underflow
    };
    RoundedForm::new(centre, generators, (0..d).map(error).collect())
}
