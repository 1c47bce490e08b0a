//! Initial parameters.

use super::{Arch, Cell, Layer, Layout};
use crate::key::{Key, Rng};
use serde::{Deserialize, Serialize};

/// How the parameters of a new network are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Init {
    /// The recurrent matrices.
    pub recurrent: Recurrent,
    /// Centroids are uniform in ± this. Default 0.5, as in the paper.
    pub centroids: f64,
    /// The LSTM's forget bias. Default 0.
    pub forget_bias: f64,
    /// Chrono initialisation for memories up to this many steps (at least 3): forget biases
    /// `log U[1, steps − 1]`, input biases their negatives. Replaces `forget_bias`. Default none.
    pub chrono: Option<usize>,
    /// Peepholes are uniform in ± this. Default 0.5.
    pub peephole: f64,
    /// Embeddings are uniform in ± this. Default 0.5.
    pub embedding: f64,
}

/// How recurrent matrices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recurrent {
    /// Each D×D block orthogonal.
    Orthogonal,
    /// Uniform in ±1/√D, as PyTorch does.
    Uniform,
}

impl Default for Init {
    fn default() -> Self {
        Init {
            recurrent: Recurrent::Orthogonal,
            centroids: 0.5,
            forget_bias: 0.0,
            chrono: None,
            peephole: 0.5,
            embedding: 0.5,
        }
    }
}

/// All parameters of a new network. Each tensor has its own generator, so that adding one does not
/// change the others.
pub(super) fn initialise(arch: &Arch, init: &Init, key: Key) -> Vec<f32> {
    let layout = Layout::of(arch);
    let mut params = vec![0.0; layout.len];
    let key = key.child("init", 0);
    uniform(&mut params[layout.embedding.clone()], init.embedding, key.child("embedding", 0));
    for (l, (layer, slots)) in arch.layers.iter().zip(&layout.layers).enumerate() {
        let key = key.child("layer", l as u64);
        let bound = 1.0 / (layer.units as f64).sqrt();
        uniform(&mut params[slots.w_ih.clone()], bound, key.child("w_ih", 0));
        let w_hh = &mut params[slots.w_hh.clone()];
        match init.recurrent {
            Recurrent::Uniform => uniform(w_hh, bound, key.child("w_hh", 0)),
            Recurrent::Orthogonal => {
                for (block, w) in w_hh.chunks_exact_mut(layer.units * layer.units).enumerate() {
                    orthogonal(w, layer.units, key.child("w_hh", block as u64).rng());
                }
            }
        }
        biases(&mut params[slots.b_ih.clone()], layer, init, key.child("b_ih", 0));
        uniform(&mut params[slots.peephole.clone()], init.peephole, key.child("peephole", 0));
        uniform(&mut params[slots.centroids.clone()], init.centroids, key.child("centroids", 0));
    }
    if !arch.is_tied() {
        let bound = 1.0 / (arch.features() as f64).sqrt();
        uniform(&mut params[layout.head_weight.clone()], bound, key.child("head", 0));
    }
    params
}

fn uniform(values: &mut [f32], bound: f64, key: Key) {
    let mut rng = key.rng();
    values.iter_mut().for_each(|value| *value = rng.uniform(-bound, bound) as f32);
}

/// A random orthogonal matrix: Gram–Schmidt on rows of normal draws, twice per row because once
/// loses orthogonality to rounding.
fn orthogonal(w: &mut [f32], d: usize, mut rng: Rng) {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(d);
    for _ in 0..d {
        let mut row: Vec<f64> = (0..d).map(|_| rng.normal()).collect();
        for _ in 0..2 {
            for other in &rows {
                let dot: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
            }
        }
        let norm = row.iter().map(|a| a * a).sum::<f64>().sqrt();
        row.iter_mut().for_each(|a| *a /= norm);
        rows.push(row);
    }
    for (value, source) in w.iter_mut().zip(rows.iter().flatten()) {
        *value = *source as f32;
    }
}

/// Sets the forget biases of an LSTM and, with chrono, its input biases; the others stay zero.
fn biases(b: &mut [f32], layer: &Layer, init: &Init, key: Key) {
    let d = layer.units;
    if b.is_empty() || !matches!(layer.cell, Cell::Lstm { .. }) {
        return;
    }
    b[d..2 * d].fill(init.forget_bias as f32);
    if let Some(steps) = init.chrono {
        let mut rng = key.rng();
        for j in 0..d {
            let forget = rng.uniform(1.0, (steps.max(3) - 1) as f64).ln();
            b[j] = -forget as f32;
            b[d + j] = forget as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orthogonal_blocks_are_orthogonal() {
        let d = 33;
        let mut w = vec![f32::NAN; d * d];
        orthogonal(&mut w, d, Key::new(3).rng());
        for i in 0..d {
            for j in 0..d {
                let dot: f32 = (0..d).map(|x| w[i * d + x] * w[j * d + x]).sum();
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot - expected).abs() < 1e-5, "rows {i} and {j}: {dot}");
            }
        }
    }
}
