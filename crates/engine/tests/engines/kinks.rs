//! Where the loss is not smooth: the two corners of the hard sigmoid, and the Euclidean score at a
//! centroid.
//!
//! The equations of the gates are repeated here on purpose: only a trace is used, so that no engine
//! has to expose its gates.

use srnn_engine::model::{Cell, Gate, Layer, LayerSlots, Model, Score};
use srnn_engine::{Batch, Fields, Inputs, LayerTrace, Trace};

/// What [`pattern`] needs of a trace.
pub const FIELDS: Fields = Fields { alpha: false, u: true, h: true, c: true };

/// The piece of every piecewise function that a run is on. Between two points with equal patterns the
/// loss is smooth, for steps as small as here.
#[derive(PartialEq)]
pub struct Pattern {
    /// −1, 0, 1 for each hard gate: below, inside, above.
    pub gates: Vec<i8>,
    /// Whether a u of a Euclidean layer is close to a centroid.
    pub at_a_centroid: bool,
}

/// The pattern of a run; `near` is the distance below which u is close to a centroid.
pub fn pattern(model: &Model<f64>, batch: &Batch, trace: &Trace<f64>, near: f64) -> Pattern {
    let layout = model.layout();
    let mut gates = vec![];
    let mut distance: f64 = f64::INFINITY;
    for (l, (layer, slots)) in model.arch.layers.iter().zip(&layout.layers).enumerate() {
        let below = (l > 0).then(|| &trace.layers[l - 1]);
        for b in 0..batch.rows() {
            for n in batch.row(b) {
                let first = n == batch.row(b).start;
                if layer.gate == Gate::HardSigmoid {
                    let x = input(model, batch, below, n, model.arch.width_below(l));
                    hard_gates(layer, slots, &model.params, &x, &trace.layers[l], n, first)
                        .iter()
                        .for_each(|a| gates.push((*a > 2.5) as i8 - (*a < -2.5) as i8));
                }
                if layer.centroids.is_some_and(|s| s.score == Score::Euclidean) {
                    let s = &model.params[slots.centroids.clone()];
                    let u = &trace.layers[l].u[n * layer.units..][..layer.units];
                    distance = distance.min(nearest(s, u));
                }
            }
        }
    }
    Pattern { gates, at_a_centroid: distance < near }
}

fn input(
    model: &Model<f64>,
    batch: &Batch,
    below: Option<&LayerTrace<f64>>,
    n: usize,
    width: usize,
) -> Vec<f64> {
    match (below, &batch.input) {
        (Some(layer), _) => layer.h[n * width..][..width].to_vec(),
        (None, Inputs::Tokens(ids)) => {
            model.params[model.layout().embedding][ids[n] as usize * width..][..width].to_vec()
        }
        (None, Inputs::Real(x)) => x[n * width..][..width].iter().map(|&x| x as f64).collect(),
    }
}

/// The pre-activations of the hard gates of a step: r and z, or i, f and o.
fn hard_gates(
    layer: &Layer,
    slots: &LayerSlots,
    params: &[f64],
    x: &[f64],
    trace: &LayerTrace<f64>,
    n: usize,
    first: bool,
) -> Vec<f64> {
    let d = layer.units;
    let zeros = vec![0.0; d];
    let at = |values: &[f64], n: usize| values[n * d..][..d].to_vec();
    let before = |values: &[f64]| if first { zeros.clone() } else { at(values, n - 1) };
    let h = before(&trace.h);
    let blocks: &[usize] = match layer.cell {
        Cell::Gru { .. } => &[0, 1],
        Cell::Lstm { .. } => &[0, 1, 3],
    };
    let mut out = vec![];
    for (place, &block) in blocks.iter().enumerate() {
        // The peephole of o reads the new c, those of i and f the old one.
        let c = match layer.cell {
            Cell::Lstm { peephole: true } if block == 3 => at(&trace.c, n),
            Cell::Lstm { peephole: true } => before(&trace.c),
            _ => zeros.clone(),
        };
        for (j, c) in c.iter().enumerate() {
            let row = block * d + j;
            let get = |range: &std::ops::Range<usize>, i: usize| {
                if range.is_empty() { 0.0 } else { params[range.start + i] }
            };
            let mut a = get(&slots.b_ih, row) + get(&slots.b_hh, row);
            a += (0..x.len()).map(|e| get(&slots.w_ih, row * x.len() + e) * x[e]).sum::<f64>();
            a += (0..d).map(|i| get(&slots.w_hh, row * d + i) * h[i]).sum::<f64>();
            a += get(&slots.peephole, place * d + j) * c;
            out.push(a);
        }
    }
    out
}

fn nearest(s: &[f64], u: &[f64]) -> f64 {
    let distance = |s: &[f64]| s.iter().zip(u).map(|(s, u)| (s - u) * (s - u)).sum::<f64>().sqrt();
    s.chunks_exact(u.len()).map(distance).fold(f64::INFINITY, f64::min)
}
