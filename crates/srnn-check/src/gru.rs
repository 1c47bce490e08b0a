//! The recurrent component over a set: u from α and the input part, line by line as in
//! `docs/certificate.md`, each with the program's error beside it.

use crate::arithmetic::Charges;
use crate::balls::Balls;
use crate::config::{Gate, Reset};
use crate::functions::{gate, gate_slopes, steepest_gate, steepest_tanh, tanh, tanh_slopes};
use crate::interval::{Interval, Up};
use crate::network::Layer;
use crate::set::{Form, Part};

/// One gate of one unit: at the centre, over the set, slopes of its secants, the program's error.
struct Gated {
    centre: Interval,
    range: Interval,
    slope: Interval,
    error: Up,
}

impl Gated {
    fn most(&self) -> Up {
        Up::new(self.range.hi)
    }
}

/// u `[D]` of one layer. `feed` is a, the input part; it may know more generators than `part`.
pub fn units(layer: &Layer, charges: &Charges, part: &Part, feed: &Form) -> Form {
    let rows = feed.generators.rows;
    let (h, q) = (hidden(layer, charges, part, rows), recurrent(layer, charges, part, rows));
    let gated = 2 * layer.d;
    let moves = feed.generators.columns(0, gated).plus(&q.generators.columns(0, gated));
    let gates = gates(layer, charges, feed, &q, &moves);
    let (r, z) = gates.split_at(layer.d);
    let pre_n = match layer.shape.cell.reset {
        Reset::AfterMatrix => after_matrix(layer, charges, feed, &q, r, &moves),
        Reset::BeforeMatrix => before_matrix(layer, charges, feed, &h, r, &moves),
    };
    combine(layer, charges, &h, z, &pre_n, &moves)
}

/// h = αS.
pub fn hidden(layer: &Layer, charges: &Charges, part: &Part, rows: usize) -> Form {
    let (centre, generators) = part.image(&layer.s, &vec![Interval::ZERO; layer.d]);
    let sizes = part.image_size(&layer.s.absolute());
    let gamma = charges.gamma(layer.k + 6);
    let error = sizes.into_iter().map(|size| gamma * size + charges.lost).collect();
    Form::new(centre, generators.with_rows(rows), error)
}

/// q = R h + b_hh.
fn recurrent(layer: &Layer, charges: &Charges, part: &Part, rows: usize) -> Form {
    let bias: Vec<Interval> = layer.state_bias.iter().map(|&b| Interval::point(b)).collect();
    let (centre, generators) = part.image(&layer.state, &bias);
    let sizes = part.image_size(&layer.state_size);
    let gamma = charges.gamma(layer.k + layer.d + 10);
    let error = sizes.into_iter().zip(&layer.state_bias);
    let error = error.map(|(size, b)| gamma * (size + Up::new(b.abs())) + charges.lost).collect();
    Form::new(centre, generators.with_rows(rows), error)
}

/// r, then z `[2D]`; `moves` are the generators of a + q.
fn gates(layer: &Layer, charges: &Charges, a: &Form, q: &Form, moves: &Balls) -> Vec<Gated> {
    let kind = layer.shape.gate;
    let own_error = match kind {
        Gate::Sigmoid => charges.sigmoid,
        Gate::HardSigmoid => charges.units(4.0) + charges.lost,
    };
    let gated = |(j, radius): (usize, Up)| {
        let centre = a.centre[j] + q.centre[j];
        let range = centre.widen(radius);
        let lost = a.error[j] + q.error[j];
        Gated {
            centre: gate(kind, centre),
            range: gate(kind, range),
            slope: gate_slopes(kind, range),
            error: steepest_gate(kind, range.widen(lost)) * lost + own_error,
        }
    };
    moves.column_sums().into_iter().enumerate().map(gated).collect()
}

/// pre_n = a_n + r q_n.
fn after_matrix(
    layer: &Layer,
    charges: &Charges,
    a: &Form,
    q: &Form,
    r: &[Gated],
    moves: &Balls,
) -> Form {
    let d = layer.d;
    let n = 2 * d;
    let centre = (0..d).map(|j| a.centre[n + j] + r[j].centre * q.centre[n + j]).collect();
    let through_r: Vec<Interval> = (0..d).map(|j| q.range[n + j] * r[j].slope).collect();
    let generators = Balls::from_fn(moves.rows, d, |g, j| {
        let (a_n, q_n) = (a.generators.get(g, n + j), q.generators.get(g, n + j));
        a_n + r[j].centre * q_n + through_r[j] * moves.get(g, j)
    });
    let error = |j: usize| {
        let (da, dq, dr) = (a.error[n + j], q.error[n + j], r[j].error);
        let q_n = q.size(n + j) + dq;
        let terms = a.size(n + j) + da + (r[j].most() + dr) * q_n;
        da + r[j].most() * dq + q_n * dr + charges.units(4.0) * terms + charges.lost
    };
    Form::new(centre, generators, (0..d).map(error).collect())
}

/// pre_n = a_n + R_n (r∘h).
fn before_matrix(
    layer: &Layer,
    charges: &Charges,
    a: &Form,
    h: &Form,
    r: &[Gated],
    moves: &Balls,
) -> Form {
    let (d, n) = (layer.d, 2 * layer.d);
    let rh = reset_hidden(charges, h, r, moves);
    let centre = Balls::from_fn(1, d, |_, j| rh.centre[j]).times(&layer.candidate).row(0);
    let centre = (0..d).map(|j| a.centre[n + j] + centre[j]).collect();
    let generators = a.generators.columns(n, d).plus(&rh.generators.times(&layer.candidate));
    let gamma = charges.gamma(d + 10);
    let error = |j: usize| {
        let weight = |i: usize| layer.candidate.magnitude(i, j);
        let passed: Up = (0..d).map(|i| weight(i) * rh.error[i]).sum();
        let terms: Up = (0..d).map(|i| weight(i) * (rh.size(i) + rh.error[i])).sum();
        let da = a.error[n + j];
        let added = charges.units(4.0) * (a.size(n + j) + da);
        da + passed + gamma * terms + added + charges.lost
    };
    Form::new(centre, generators, (0..d).map(error).collect())
}

/// r∘h.
fn reset_hidden(charges: &Charges, h: &Form, r: &[Gated], moves: &Balls) -> Form {
    let d = r.len();
    let centre = (0..d).map(|j| r[j].centre * h.centre[j]).collect();
    let through_r: Vec<Interval> = (0..d).map(|j| h.range[j] * r[j].slope).collect();
    let generators = Balls::from_fn(moves.rows, d, |g, j| {
        r[j].centre * h.generators.get(g, j) + through_r[j] * moves.get(g, j)
    });
    let error = |j: usize| {
        let (dh, dr) = (h.error[j], r[j].error);
        let most = h.size(j) + dh;
        r[j].most() * dh
            + most * dr
            + charges.units(2.0) * ((r[j].most() + dr) * most)
            + charges.lost
    };
    Form::new(centre, generators, (0..d).map(error).collect())
}

/// u = (1 − z) tanh(pre_n) + z h.
fn combine(
    layer: &Layer,
    charges: &Charges,
    h: &Form,
    z: &[Gated],
    pre_n: &Form,
    moves: &Balls,
) -> Form {
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
    let generators = Balls::from_fn(moves.rows, d, |g, j| {
        through_n[j] * pre_n.generators.get(g, j)
            + z[j].range * h.generators.get(g, j)
            + through_z[j] * moves.get(g, d + j)
    });
    let error = |j: usize| {
        let lost = pre_n.error[j];
        let dn = steepest_tanh(pre_n.range[j].widen(lost)) * lost + charges.tanh;
        let (dz, dh) = (z[j].error, h.error[j]);
        let (keep, take) = (Up::new(keep[j].hi) + dz, z[j].most() + dz);
        let terms = keep * (n[j].magnitude() + dn) + take * (h.size(j) + dh);
        let between = (h.range[j] - n[j]).magnitude();
        keep * dn + take * dh + between * dz + charges.units(4.0) * terms + charges.lost
    };
    Form::new(centre, generators, (0..d).map(error).collect())
}
