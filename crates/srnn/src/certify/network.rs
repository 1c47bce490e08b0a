//! A memory-less network with the products of weights that the enclosures use.

use super::interval::Interval;
use super::matrix::{IntervalMatrix, RightFactor, product};
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
    /// Sᵀ as a factor of u·Sᵀ.
    pub scores: RightFactor,
    /// Maps α to h, q_r, q_z and, if the reset gate acts after the matrix, q_n: `[K, (3 or 4)·D]`.
    pub state: RightFactor,
    /// The bias of q `[3D]`.
    pub state_bias: Vec<f64>,
    /// `Σ_d |S_id||R_jd|` `[K,3D]`.
    pub state_size: RightFactor,
    /// R_nᵀ `[D,D]`; empty if the reset gate acts after the matrix.
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
    LowerLayer(Box<LowerLayerInput>),
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
    pub alpha_size: RightFactor,
    /// From h of the layer below: Wᵀ `[D₋,3D]`.
    pub from_hidden: RightFactor,
    /// `[3D]`.
    pub bias: Vec<Interval>,
}

/// The classifier.
pub struct EnclosedHead {
    /// W `[C,D]`, row-major.
    pub weight: Vec<f64>,
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
        let weight = &model.params[layout.head_weight.clone()];
        let bias = model.params[layout.head_bias.clone()].to_vec();
        EnclosedNetwork {
            offsets,
            head: EnclosedHead { weight: weight.to_vec(), bias },
            layers,
            arch,
        }
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
    let after = reset == Reset::AfterMatrix;
    let r = &params[slots.w_hh.clone()];
    let (recurrent, candidate) = r.split_at(if after { r.len() } else { 2 * d * d });
    let recurrent = IntervalMatrix::exact_transposed(d, recurrent); // [D,3D] or [D,2D]
    let mixture = IntervalMatrix::exact(d, &s);
    let q = product(&mixture, &RightFactor::new(&recurrent));
    let bias = |range: &std::ops::Range<usize>| match range.is_empty() {
        true => vec![0.0; 3 * d],
        false => params[range.clone()].to_vec(),
    };
    let (b_ih, b_hh) = (bias(&slots.b_ih), bias(&slots.b_hh));
    // If the reset gate acts before the matrix, b_hh belongs to the input part.
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
        state: RightFactor::new(&mixture.beside(&q)),
        scores: RightFactor::new(&IntervalMatrix::exact_transposed(d, &s)),
        state_bias,
        state_size: size_of_product(&mixture, &recurrent),
        mixture: RightFactor::new(&mixture),
        candidate: RightFactor::new(&IntervalMatrix::exact_transposed(d, candidate)),
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
    let w = IntervalMatrix::exact_transposed(width, &params[slots.w_ih.clone()]);
    if l > 0 {
        let s = IntervalMatrix::exact(width, &params[layout.layers[l - 1].centroids.clone()]);
        let from_hidden = RightFactor::new(&w);
        let from_alpha = RightFactor::new(&product(&s, &from_hidden));
        let alpha_size = size_of_product(&s, &w);
        let input = LowerLayerInput { from_alpha, alpha_size, from_hidden, bias };
        return EnclosedInput::LowerLayer(Box::new(input));
    }
    let embedding = IntervalMatrix::exact(width, &params[layout.embedding.clone()]);
    let table = product(&embedding, &RightFactor::new(&w));
    let sizes = size_of_product(&embedding, &w);
    let constants = (0..table.rows()).map(|token| {
        let (mut value, mut size) = (bias.clone(), vec![0.0; bias.len()]);
        for (at, mid, rad) in table.entries(token) {
            value[at] = value[at] + Interval::point(mid).widen(rad);
        }
        for (at, mid, rad) in sizes.matrix().entries(token) {
            size[at] = (mid + rad).next_up();
        }
        TokenInput { value, size }
    });
    EnclosedInput::Tokens(constants.collect())
}

/// `|A|·|B|`. Its magnitudes are upper bounds.
fn size_of_product(a: &IntervalMatrix, b: &IntervalMatrix) -> RightFactor {
    let b = RightFactor::new(&b.absolute_midpoints());
    RightFactor::new(&product(&a.absolute_midpoints(), &b))
}
