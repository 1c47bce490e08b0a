//! A network with the products of weights that the enclosures use, rounding errors included.

use crate::config::{Arch, Input, Layer, ReadFrom, Reset};
use crate::error_model::ErrorModel;
use crate::interval::{Interval, UpperBound};
use crate::matrix::IntervalMatrix;
use crate::weights::{LayerWeights, ModelWeights};

/// A network, prepared for enclosures, and the error model of the program that runs it.
pub struct EnclosedNetwork {
    pub input: Input,
    pub classifier_input: ClassifierInput,
    pub errors: ErrorModel,
    /// Embedding `[V, E]`.
    pub embedding: IntervalMatrix,
    /// The layers, bottom first.
    pub layers: Vec<EnclosedLayer>,
    /// Weights of the classifier `[C, D]`.
    pub head: IntervalMatrix,
    /// Biases of the classifier `[C]`.
    pub head_bias: Vec<f64>,
}

/// The vector that the classifier reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassifierInput {
    /// h of the state.
    State,
    /// u of one more step with this token, without softmax.
    EndStep(usize),
    /// u of the last step.
    LastStep,
}

/// One layer. Matrices are transposed, `[from, to]`, because vectors are rows.
pub struct EnclosedLayer {
    pub config: Layer,
    /// K.
    pub k: usize,
    /// D.
    pub d: usize,
    /// S `[K, D]`.
    pub s: IntervalMatrix,
    /// Maps α to q: S·Rᵀ `[K, 3D]`; `[K, 2D]` if the reset gate acts before the matrix.
    pub state: IntervalMatrix,
    /// `Σ_d |S||R|`, of the same shape.
    pub state_size: IntervalMatrix,
    /// The bias of q: `[3D]` or `[2D]`.
    pub state_bias: Vec<f64>,
    /// R_nᵀ `[D, D]`.
    pub candidate: IntervalMatrix,
    /// Wᵀ `[E, 3D]`.
    pub input: IntervalMatrix,
    /// Maps α of the layer below to a: S₋·Wᵀ `[K₋, 3D]`; no rows in the bottom layer.
    pub below: IntervalMatrix,
    /// `Σ_d |S₋||W|`, of the same shape.
    pub below_size: IntervalMatrix,
    /// The bias of a `[3D]`.
    pub input_bias: Vec<Interval>,
    /// `|b_ih| + |b_hh|` `[3D]`.
    pub bias_size: Vec<UpperBound>,
}

impl EnclosedNetwork {
    /// Computes the products of weights.
    pub fn new(arch: &Arch, weights: &ModelWeights, errors: ErrorModel) -> EnclosedNetwork {
        let (v, e) = (arch.input.vocabulary(), arch.input.embedding);
        let mut layers: Vec<EnclosedLayer> = vec![];
        for (config, weights) in arch.layers.iter().zip(&weights.layers) {
            let below =
                layers.last().map_or(IntervalMatrix::exact(0, e, vec![]), |layer| layer.s.clone());
            layers.push(EnclosedLayer::new(config, weights, &below));
        }
        let d = layers.last().expect("at least one layer").d;
        EnclosedNetwork {
            input: arch.input.clone(),
            classifier_input: match (arch.input.end_token(), arch.readout.from) {
                (Some(token), _) => ClassifierInput::EndStep(token),
                (None, ReadFrom::H) => ClassifierInput::State,
                (None, ReadFrom::U) => ClassifierInput::LastStep,
            },
            errors,
            embedding: IntervalMatrix::exact(v, e, weights.embedding.clone()),
            layers,
            head: IntervalMatrix::exact(arch.classes, d, weights.head.clone()),
            head_bias: weights.head_bias.clone(),
        }
    }
}

impl EnclosedLayer {
    /// `below` is S of the layer below `[K₋, E]`; it has no rows for the bottom layer.
    fn new(config: &Layer, weights: &LayerWeights, below: &IntervalMatrix) -> EnclosedLayer {
        let (k, d, e) = (config.centroids.k, config.units, below.cols);
        let s = IntervalMatrix::exact(k, d, weights.s.clone());
        let r = IntervalMatrix::exact(3 * d, d, weights.r.clone()).transposed();
        let input = IntervalMatrix::exact(3 * d, e, weights.w.clone()).transposed();
        let before = config.cell.reset == Reset::BeforeMatrix;
        let recurrent = r.columns(0, if before { 2 * d } else { 3 * d });
        let biases = || weights.b_ih.iter().zip(&weights.b_hh);
        let in_input = |(&ih, &hh): (&f64, &f64)| match before {
            true => Interval::point(ih) + Interval::point(hh),
            false => Interval::point(ih),
        };
        let size = |(ih, hh): (&f64, &f64)| UpperBound::new(ih.abs()) + UpperBound::new(hh.abs());
        EnclosedLayer {
            config: config.clone(),
            k,
            d,
            state: s.times(&recurrent),
            state_size: s.absolute().times(&recurrent.absolute()),
            state_bias: if before { vec![0.0; 2 * d] } else { weights.b_hh.clone() },
            candidate: r.columns(2 * d, d),
            below: below.times(&input),
            below_size: below.absolute().times(&input.absolute()),
            input,
            input_bias: biases().map(in_input).collect(),
            bias_size: biases().map(size).collect(),
            s,
        }
    }
}
