//! The network as the enclosures need it: products of weights made once, with their rounding.

use crate::arithmetic::Charges;
use crate::balls::Balls;
use crate::config::{Arch, Input, LayerShape, ReadFrom, Reset};
use crate::interval::{Interval, Up};
use crate::weights::{LayerWeights, Weights};

/// A network and the arithmetic that runs it.
pub struct Network {
    pub input: Input,
    pub reading: Reading,
    pub charges: Charges,
    /// `[V, E]`.
    pub embedding: Balls,
    /// Bottom first.
    pub layers: Vec<Layer>,
    /// `[C, D]`.
    pub head: Balls,
    /// `[C]`.
    pub head_bias: Vec<f64>,
}

/// What the classifier reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// h of the state itself.
    State,
    /// u of one more step, with this token and without softmax.
    EndStep(usize),
    /// u of the step that led to the state.
    Step,
}

/// One layer. Matrices are transposed, `[from, to]`, so that vectors are rows.
pub struct Layer {
    pub shape: LayerShape,
    /// K.
    pub k: usize,
    /// D.
    pub d: usize,
    /// S `[K, D]`.
    pub s: Balls,
    /// From α to q: S·Rᵀ `[K, 3D]`, and `Σ_d |S||R|`; `[K, 2D]` where the reset gate acts before
    /// the matrix.
    pub state: Balls,
    pub state_size: Balls,
    /// `[3D]` or `[2D]`: what q adds.
    pub state_bias: Vec<f64>,
    /// R_nᵀ `[D, D]`.
    pub candidate: Balls,
    /// Wᵀ `[E, 3D]`.
    pub input: Balls,
    /// From α of the layer below to a: S₋·Wᵀ `[K₋, 3D]`, and `Σ_d |S₋||W|`; no rows at the bottom.
    pub below: Balls,
    pub below_size: Balls,
    /// `[3D]`: what a adds.
    pub input_bias: Vec<Interval>,
    /// `|b_ih| + |b_hh|` `[3D]`.
    pub bias_size: Vec<Up>,
}

impl Network {
    /// Prepares everything.
    pub fn new(arch: &Arch, weights: &Weights, charges: Charges) -> Network {
        let (v, e) = (arch.input.vocabulary(), arch.input.embedding);
        let mut layers: Vec<Layer> = vec![];
        for (shape, weights) in arch.layers.iter().zip(&weights.layers) {
            let below = layers.last().map_or(Balls::exact(0, e, vec![]), |layer| layer.s.clone());
            layers.push(Layer::new(shape, weights, &below));
        }
        let d = layers.last().expect("at least one layer").d;
        Network {
            input: arch.input.clone(),
            reading: match (arch.input.end_token(), arch.readout.from) {
                (Some(token), _) => Reading::EndStep(token),
                (None, ReadFrom::H) => Reading::State,
                (None, ReadFrom::U) => Reading::Step,
            },
            charges,
            embedding: Balls::exact(v, e, weights.embedding.clone()),
            layers,
            head: Balls::exact(arch.classes, d, weights.head.clone()),
            head_bias: weights.head_bias.clone(),
        }
    }
}

impl Layer {
    /// `below` is S of the layer below `[K₋, E]`, or no rows.
    fn new(shape: &LayerShape, weights: &LayerWeights, below: &Balls) -> Layer {
        let (k, d, e) = (shape.centroids.k, shape.units, below.cols);
        let s = Balls::exact(k, d, weights.s.clone());
        let r = Balls::exact(3 * d, d, weights.r.clone()).transposed();
        let input = Balls::exact(3 * d, e, weights.w.clone()).transposed();
        let before = shape.cell.reset == Reset::BeforeMatrix;
        let recurrent = r.columns(0, if before { 2 * d } else { 3 * d });
        let biases = || weights.b_ih.iter().zip(&weights.b_hh);
        let in_input = |(&ih, &hh): (&f64, &f64)| match before {
            true => Interval::point(ih) + Interval::point(hh),
            false => Interval::point(ih),
        };
        let size = |(ih, hh): (&f64, &f64)| Up::new(ih.abs()) + Up::new(hh.abs());
        Layer {
            shape: shape.clone(),
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
