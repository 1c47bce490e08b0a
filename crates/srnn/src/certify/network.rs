//! A memory-less network with the products of weights that the enclosures use.

use super::interval::Interval;
use super::matrix::{IntervalMatrix, RightFactor, product, upper_product};
use crate::model::{Arch, Cell, Gate, LayerSlots, Layout, Model, Reset, Score};

/// A network of GRU layers with centroids, prepared for enclosures.
pub struct EnclosedNetwork {
    /// The layers, bottom first.
    pub layers: Vec<EnclosedLayer>,
    /// Index of each layer's first coordinate in a state; the last entry is n.
    pub offsets: Vec<usize>,
    /// The classifier.
    pub head: EnclosedHead,
    /// The architecture.
    pub arch: Arch,
}

/// One layer of an [`EnclosedNetwork`].
pub struct EnclosedLayer {
    /// K: centroids.
    pub k: usize,
    /// D: units.
    pub d: usize,
    /// Width of the layer's input.
    pub width: usize,
    /// The nonlinearity of the gates.
    pub gate: Gate,
    /// Whether the reset gate acts before or after the recurrent matrix.
    pub reset: Reset,
    /// How u is compared with centroids.
    pub score: Score,
    /// τ.
    pub tau: f64,
    /// S, the centroids `[K,D]`.
    pub s: Vec<f64>,
    /// S as a factor of α·S.
    pub mixture: RightFactor,
    /// Maps α to h, q_r, q_z and, if the reset gate acts after the matrix, q_n: `[K, (3 or 4)·D]`.
    pub state: RightFactor,
    /// The bias of q `[3D]`.
    pub state_bias: Vec<f64>,
    /// `Σ_d |S_id||R_jd|` `[K,3D]`.
    pub state_size: Vec<f64>,
    /// R_nᵀ `[D,D]`.
    pub candidate: RightFactor,
    /// The source of the input part.
    pub input: EnclosedInput,
    /// |b_ih| + |b_hh| `[3D]`.
    pub bias_size: Vec<f64>,
    /// |b_hh| `[3D]`.
    pub recurrent_bias_size: Vec<f64>,
}

/// The source of a layer's input part a.
pub enum EnclosedInput {
    /// Bottom layer: a constant for each token.
    Tokens(Vec<TokenInput>),
    /// Layer above: a linear function of the layer below.
    LowerLayer(LowerLayerInput),
}

/// The input part `W x + b` of a token.
pub struct TokenInput {
    /// `[3D]`.
    pub value: Vec<Interval>,
    /// `Σ_e |W_je||x_e|` `[3D]`.
    pub size: Vec<f64>,
}

/// The linear map from the layer below to the input part.
pub struct LowerLayerInput {
    /// From α of the layer below: S₋Wᵀ `[K₋,3D]`.
    pub from_alpha: RightFactor,
    /// `Σ_d |S₋_id||W_jd|` `[K₋,3D]`.
    pub alpha_size: Vec<f64>,
    /// From h of the layer below: Wᵀ `[D₋,3D]`.
    pub from_hidden: RightFactor,
    /// `[3D]`.
    pub bias: Vec<Interval>,
}

/// The classifier.
pub struct EnclosedHead {
    /// Wᵀ `[D,C]`.
    pub weight: IntervalMatrix,
    /// `[C]`.
    pub bias: Vec<f64>,
}

impl EnclosedNetwork {
    /// Prepares a model whose layers are all GRUs with centroids.
    ///
    /// # Panics
    /// If a layer is not; [`TransitionSystem`](crate::extract::TransitionSystem) rejects such a model.
    pub fn new(model: &Model<f64>) -> EnclosedNetwork {
        let (arch, layout) = (model.arch.clone(), model.layout());
        let layers: Vec<EnclosedLayer> =
            (0..arch.layers.len()).map(|l| layer(&arch, &layout, &model.params, l)).collect();
        let mut offsets = vec![0];
        layers.iter().for_each(|layer| offsets.push(offsets[offsets.len() - 1] + layer.k));
        let top = layers.last().expect("at least one layer");
        let weight =
            IntervalMatrix::exact(top.d, model.params[layout.head_weight.clone()].to_vec());
        let weight = weight.transposed();
        let bias = model.params[layout.head_bias.clone()].to_vec();
        EnclosedNetwork { offsets, head: EnclosedHead { weight, bias }, layers, arch }
    }

    /// Whether the class depends on u of the last step and not on the state alone.
    pub fn classifies_steps(&self) -> bool {
        self.arch.readout.from.u() && self.arch.input.end().is_none()
    }

    /// n: the sum of K over all layers.
    pub fn width(&self) -> usize {
        self.offsets[self.layers.len()]
    }
}

fn layer(arch: &Arch, layout: &Layout, params: &[f64], l: usize) -> EnclosedLayer {
    let (shape, slots) = (&arch.layers[l], &layout.layers[l]);
    let centroids = shape.centroids.expect("a layer with centroids");
    let Cell::Gru { reset } = shape.cell else { panic!("layer {l} is not a GRU") };
    let (d, k) = (shape.units, centroids.k);
    let s = params[slots.centroids.clone()].to_vec();
    let r = IntervalMatrix::exact(d, params[slots.w_hh.clone()].to_vec()).transposed(); // [D,3D]
    let blocks = if reset == Reset::AfterMatrix { 3 } else { 2 };
    let q = product(&IntervalMatrix::exact(d, s.clone()), &RightFactor::new(&r));
    let bias = |range: &std::ops::Range<usize>| match range.is_empty() {
        true => vec![0.0; 3 * d],
        false => params[range.clone()].to_vec(),
    };
    let (b_ih, b_hh) = (bias(&slots.b_ih), bias(&slots.b_hh));
    // If the reset gate acts before the matrix, b_hh belongs to the input part.
    let after = reset == Reset::AfterMatrix;
    let state_bias = if after { b_hh.clone() } else { vec![0.0; 3 * d] };
    let input_bias: Vec<Interval> = (0..3 * d)
        .map(|j| Interval::point(b_ih[j]) + Interval::point(b_hh[j] - state_bias[j]))
        .collect();
    EnclosedLayer {
        k,
        d,
        width: arch.width_below(l),
        gate: shape.gate,
        reset,
        score: centroids.score,
        tau: centroids.tau.get(),
        state: RightFactor::new(&IntervalMatrix::exact(d, s.clone()).beside(&q, blocks * d)),
        mixture: RightFactor::new(&IntervalMatrix::exact(d, s.clone())),
        state_bias,
        state_size: absolute_product(&s, d, &r),
        candidate: RightFactor::new(&r.columns(2 * d, d)),
        input: input(arch, layout, params, l, slots, input_bias),
        bias_size: b_ih.iter().zip(&b_hh).map(|(a, b)| (a.abs() + b.abs()).next_up()).collect(),
        recurrent_bias_size: b_hh.iter().map(|b| b.abs()).collect(),
        s,
    }
}

fn input(
    arch: &Arch,
    layout: &Layout,
    params: &[f64],
    l: usize,
    slots: &LayerSlots,
    bias: Vec<Interval>,
) -> EnclosedInput {
    let width = arch.width_below(l);
    // Wᵀ [E,3D].
    let w = IntervalMatrix::exact(width, params[slots.w_ih.clone()].to_vec()).transposed();
    if l > 0 {
        let s = params[layout.layers[l - 1].centroids.clone()].to_vec();
        let from_hidden = RightFactor::new(&w);
        let from_alpha = product(&IntervalMatrix::exact(width, s.clone()), &from_hidden);
        let (from_alpha, alpha_size) =
            (RightFactor::new(&from_alpha), absolute_product(&s, width, &w));
        return EnclosedInput::LowerLayer(LowerLayerInput {
            from_alpha,
            alpha_size,
            from_hidden,
            bias,
        });
    }
    let embedding = &params[layout.embedding.clone()];
    let table = product(&IntervalMatrix::exact(width, embedding.to_vec()), &RightFactor::new(&w));
    let size = absolute_product(embedding, width, &w);
    let n = bias.len();
    let constants = (0..table.rows()).map(|token| {
        let at =
            |j: usize| Interval::point(table.mid[token * n + j]).widen(table.rad[token * n + j]);
        let value = (0..n).map(|j| at(j) + bias[j]).collect();
        TokenInput { value, size: size[token * n..][..n].to_vec() }
    });
    EnclosedInput::Tokens(constants.collect())
}

/// `|A|·|B|`, A `[m,n]`, rounded up.
fn absolute_product(a: &[f64], n: usize, b: &IntervalMatrix) -> Vec<f64> {
    let absolute: Vec<f64> = b.mid.iter().map(|x| x.abs()).collect();
    let row = |row: &[f64]| {
        let row: Vec<f64> = row.iter().map(|x| x.abs()).collect();
        upper_product(&row, &absolute, b.columns)
    };
    a.chunks_exact(n).flat_map(row).collect()
}
