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
    /// Weights of the classifier `[C, D]`, row-major.
    pub head: Vec<f64>,
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
    /// `|S|`.
    pub s_size: IntervalMatrix,
    /// The centroids `[K, D]`, row-major.
    pub centroids: Vec<f64>,
    /// Sᵀ `[D, K]`.
    pub s_transposed: IntervalMatrix,
    /// `|Sᵀ|`.
    pub s_transposed_size: IntervalMatrix,
    /// Maps α to q: S·Rᵀ `[K, 3D]`; `[K, 2D]` if the reset gate acts before the matrix.
    pub state: IntervalMatrix,
    /// `Σ_d |S||R|`, of the same shape.
    pub state_size: IntervalMatrix,
    /// The bias of q: `[3D]` or `[2D]`.
    pub state_bias: Vec<f64>,
    /// R_nᵀ `[D, D]`; of use only if the reset gate acts before the matrix.
    pub candidate: IntervalMatrix,
    /// `|R_nᵀ|`.
    pub candidate_size: IntervalMatrix,
    /// Wᵀ `[E, 3D]`.
    pub input: IntervalMatrix,
    /// `|Wᵀ|`.
    pub input_size: IntervalMatrix,
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
        let e = arch.input.embedding;
        let mut layers: Vec<EnclosedLayer> = vec![];
        for (config, weights) in arch.layers.iter().zip(&weights.layers) {
            let below = layers.last().map_or(IntervalMatrix::zeros(0, e), |layer| layer.s.clone());
            layers.push(EnclosedLayer::new(config, weights, &below));
        }
        EnclosedNetwork {
            input: arch.input.clone(),
            classifier_input: match (arch.input.end_token(), arch.readout.from) {
                (Some(token), _) => ClassifierInput::EndStep(token),
                (None, ReadFrom::H) => ClassifierInput::State,
                (None, ReadFrom::U) => ClassifierInput::LastStep,
            },
            errors,
            embedding: IntervalMatrix::exact(e, &weights.embedding),
            layers,
            head: weights.head.clone(),
            head_bias: weights.head_bias.clone(),
        }
    }
}

impl EnclosedLayer {
    /// `below` is S of the layer below `[K₋, E]`; it has no rows for the bottom layer.
    fn new(config: &Layer, weights: &LayerWeights, below: &IntervalMatrix) -> EnclosedLayer {
        let (k, d, e) = (config.centroids.k, config.units, below.cols);
        let s = IntervalMatrix::exact(d, &weights.s);
        let s_transposed = IntervalMatrix::exact_transposed(d, &weights.s);
        let input = IntervalMatrix::exact_transposed(e, &weights.w);
        let before = config.cell.reset == Reset::BeforeMatrix;
        let (gates, candidate) = weights.r.split_at(2 * d * d);
        let recurrent = if before { gates } else { &weights.r[..] };
        let recurrent = IntervalMatrix::exact_transposed(d, recurrent);
        let candidate = IntervalMatrix::exact_transposed(d, if before { candidate } else { &[] });
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
            state_size: size_of_product(&s, &recurrent),
            state_bias: if before { vec![0.0; 2 * d] } else { weights.b_hh.clone() },
            candidate_size: candidate.absolute(),
            candidate,
            below: below.times(&input),
            below_size: size_of_product(below, &input),
            input_size: input.absolute(),
            input,
            input_bias: biases().map(in_input).collect(),
            bias_size: biases().map(size).collect(),
            s_size: s.absolute(),
            centroids: weights.s.clone(),
            s_transposed_size: s_transposed.absolute(),
            s_transposed,
            s,
        }
    }
}

/// `|A|·|B|`, rounded up.
fn size_of_product(a: &IntervalMatrix, b: &IntervalMatrix) -> IntervalMatrix {
    a.absolute().times(&b.absolute())
}
