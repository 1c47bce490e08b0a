//! One step in single precision with sums in random order and R h computed from h or from S·Rᵀ: a
//! random program that the error model covers.

use super::common::Random;
use super::common::simulate::{Simulated, SimulatedLayer, Simulation};

/// α of every layer and u of the top layer, computed in single precision.
pub fn step(net: &Simulation, state: &Simulated, token: usize, random: &mut Random) -> Simulated {
    let mut next = Simulated { alpha: vec![], u: vec![] };
    let mut x = single(&net.embedding[token]);
    for (layer, alpha) in net.layers.iter().zip(&state.alpha) {
        let h = mix(layer, &single(alpha), random);
        let u = units(layer, &x, &single(alpha), &h, random);
        let alpha = softmax(layer, &u, random);
        x = if Some(token) == net.end { u.clone() } else { mix(layer, &alpha, random) };
        next.alpha.push(double(&alpha));
        next.u = double(&u);
    }
    next
}

/// The logits, read from h or from u.
pub fn logits(net: &Simulation, state: &Simulated, random: &mut Random) -> Vec<f64> {
    let top = net.layers.last().unwrap();
    let read = match net.end {
        Some(token) => single(&step(net, state, token, random).u),
        None if net.reads_u => single(&state.u),
        None => mix(top, &single(state.alpha.last().unwrap()), random),
    };
    let rows = net.head.iter().zip(&net.head_bias);
    rows.map(|(w, &b)| f64::from(dot(&single(w), &read, random) + b as f32)).collect()
}

fn single(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

fn double(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// The sum of products, in random order, with or without fused multiply-add.
fn sum(mut terms: Vec<(f32, f32)>, random: &mut Random) -> f32 {
    let mut total = 0.0f32;
    while !terms.is_empty() {
        let (a, b) = terms.swap_remove(random.below(terms.len()));
        total = if random.bits() & 1 == 0 { total + a * b } else { a.mul_add(b, total) };
    }
    total
}

fn dot(a: &[f32], b: &[f32], random: &mut Random) -> f32 {
    sum(a.iter().copied().zip(b.iter().copied()).collect(), random)
}

fn mix(layer: &SimulatedLayer, alpha: &[f32], random: &mut Random) -> Vec<f32> {
    let column = |j: usize| layer.s.iter().map(|s| s[j] as f32).collect::<Vec<_>>();
    (0..layer.s[0].len()).map(|j| dot(alpha, &column(j), random)).collect()
}

/// Row `j` of R h, at random from h or from α and S·Rᵀ.
fn recurrent(
    layer: &SimulatedLayer,
    j: usize,
    alpha: &[f32],
    h: &[f32],
    random: &mut Random,
) -> f32 {
    let row = single(&layer.r[j]);
    if random.bits() & 1 == 0 {
        return dot(&row, h, random);
    }
    let products: Vec<f32> = layer.s.iter().map(|s| dot(&single(s), &row, random)).collect();
    dot(alpha, &products, random)
}

fn gate(layer: &SimulatedLayer, x: f32) -> f32 {
    if layer.hard { (0.2 * x + 0.5).clamp(0.0, 1.0) } else { 1.0 / (1.0 + (-x).exp()) }
}

fn units(
    layer: &SimulatedLayer,
    x: &[f32],
    alpha: &[f32],
    h: &[f32],
    random: &mut Random,
) -> Vec<f32> {
    let d = h.len();
    let (b_ih, b_hh) = (single(&layer.b_ih), single(&layer.b_hh));
    let a = |j: usize, random: &mut Random| dot(&single(&layer.w[j]), x, random) + b_ih[j];
    let gates: Vec<f32> = (0..2 * d)
        .map(|j| {
            let q = recurrent(layer, j, alpha, h, random) + b_hh[j];
            gate(layer, a(j, random) + q)
        })
        .collect();
    let rh: Vec<f32> = (0..d).map(|j| gates[j] * h[j]).collect();
    (0..d)
        .map(|j| {
            let at = 2 * d + j;
            let pre = match layer.before {
                true => a(at, random) + b_hh[at] + dot(&single(&layer.r[at]), &rh, random),
                false => {
                    let q = recurrent(layer, at, alpha, h, random) + b_hh[at];
                    a(at, random) + gates[j] * q
                }
            };
            let z = gates[d + j];
            (1.0 - z) * pre.tanh() + z * h[j]
        })
        .collect()
}

fn softmax(layer: &SimulatedLayer, u: &[f32], random: &mut Random) -> Vec<f32> {
    let inverse = (1.0 / layer.tau) as f32;
    let mut score = |s: &Vec<f64>| {
        let s = single(s);
        if !layer.euclidean {
            return dot(u, &s, random);
        }
        let gaps: Vec<f32> = u.iter().zip(&s).map(|(u, s)| u - s).collect();
        -dot(&gaps, &gaps, random).sqrt()
    };
    let scores: Vec<f32> = layer.s.iter().map(&mut score).collect();
    let largest = scores.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b)) * inverse;
    let e: Vec<f32> = scores.iter().map(|s| (s * inverse - largest).exp()).collect();
    let scale = 1.0 / sum(e.iter().map(|&e| (e, 1.0)).collect(), random);
    e.iter().map(|e| e * scale).collect()
}
