//! Models without the engines that run them: architecture, parameters and their names, files.
//!
//! Axis letters, used everywhere: T steps, B rows of a batch, N steps of all rows together,
//! V vocabulary, E input width, D hidden units, K centroids, C classes.

mod digest;
mod file;
mod file_checks;
mod file_error;
mod image_layout;
mod init;
mod layout;
mod tokenizer;
mod validate;

pub use digest::digest;
pub use file::{ModelFile, ModelLimits};
pub use file_error::{FileError, Problem};
pub use image_layout::ImageLayout;
pub use init::{Init, Recurrent};
pub use layout::{LayerSlots, Layout, Slot};
pub use tokenizer::Tokenizer;
pub use validate::{ArchError, MAX_PARAMETERS};

use crate::key::Key;
use serde::{Deserialize, Serialize};

/// The architecture of a network: everything but its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arch {
    /// What a step reads.
    pub input: Input,
    /// Bottom layer first; at least one.
    pub layers: Vec<Layer>,
    /// What the classifier reads, and when.
    pub readout: Readout,
    /// C: the number of classes, at least two.
    pub classes: usize,
}

/// What a step reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Input {
    /// Tokens through a learned embedding `[V,E]`. The ids `0..symbols` are the alphabet; a start
    /// token, if there is one, comes next; an end token, if there is one, last.
    Tokens {
        /// Number of symbols of the alphabet.
        symbols: usize,
        /// E: width of the embedding.
        embedding: usize,
        /// Whether every sequence begins with a start token.
        start: bool,
        /// Whether every sequence ends with an end token: one more application of the cell, without
        /// the stochastic step.
        end: bool,
    },
    /// Real-valued vectors.
    Real {
        /// E: numbers per step.
        width: usize,
    },
}

impl Input {
    /// E: the width of what the bottom layer reads.
    pub fn width(&self) -> usize {
        match *self {
            Input::Tokens { embedding, .. } => embedding,
            Input::Real { width } => width,
        }
    }

    /// V: rows of the embedding, start and end token included; 0 for real inputs.
    pub fn vocabulary(&self) -> usize {
        match *self {
            Input::Tokens { symbols, start, end, .. } => {
                symbols.saturating_add(start as usize + end as usize)
            }
            Input::Real { .. } => 0,
        }
    }

    /// The id of the start token.
    pub fn start(&self) -> Option<u32> {
        match *self {
            Input::Tokens { symbols, start: true, .. } => Some(symbols as u32),
            _ => None,
        }
    }

    /// The id of the end token.
    pub fn end(&self) -> Option<u32> {
        match *self {
            Input::Tokens { symbols, start, end: true, .. } => Some(symbols as u32 + start as u32),
            _ => None,
        }
    }
}

/// One layer: the recurrent component f (Eq. 1) and the stochastic component, if it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The recurrent component.
    pub cell: Cell,
    /// D: hidden units.
    pub units: usize,
    /// The nonlinearity of the gates.
    pub gate: Gate,
    /// Whether the cell has biases.
    pub bias: bool,
    /// The stochastic component; `None` is the vanilla cell, which emits `h = u`.
    pub centroids: Option<Centroids>,
}

/// The recurrent component f of Eq. 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Cell {
    /// Memory-less. Gate order r, z, n.
    Gru {
        /// Where the reset gate acts.
        reset: Reset,
    },
    /// With a cell state c. Gate order i, f, g, o.
    Lstm {
        /// Whether i, f (from the old c) and o (from the new c) see the cell state, each through
        /// its own vector.
        peephole: bool,
    },
}

impl Cell {
    /// Number of D-wide blocks of the weight matrices.
    pub fn blocks(self) -> usize {
        match self {
            Cell::Gru { .. } => 3,
            Cell::Lstm { .. } => 4,
        }
    }

    /// Whether the cell carries a state besides h.
    pub fn has_memory(self) -> bool {
        matches!(self, Cell::Lstm { .. })
    }

    /// Whether the cell has peephole vectors.
    pub fn has_peephole(self) -> bool {
        matches!(self, Cell::Lstm { peephole: true })
    }
}

/// Where a GRU's reset gate acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// `r ∘ (R h)`: the form of PyTorch and cuDNN. Only this one has a low-rank recurrence.
    AfterMatrix,
    /// `R (r ∘ h)`: the original form.
    BeforeMatrix,
}

/// The nonlinearity of the gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// `1 / (1 + exp(−x))`.
    Sigmoid,
    /// `clamp(0.2 x + 0.5, 0, 1)`.
    // PAPER: the paper does not define it; 0.2 is the slope of the library it was built on.
    HardSigmoid,
}

/// The stochastic component: k learnable centroids and the map g from u to probabilities (Eq. 2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Centroids {
    /// K: number of centroids.
    pub k: usize,
    /// How u is compared with a centroid.
    pub score: Score,
    /// τ of Eqs. 3 and 4.
    pub tau: Temperature,
}

/// How u is compared with a centroid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// `u · s` (Eq. 3).
    Dot,
    /// `−‖u − s‖` (Eq. 4).
    Euclidean,
}

/// A softmax temperature: positive, with 1/τ positive and finite in single precision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Temperature(f64);

impl Temperature {
    /// The standard softmax.
    pub const ONE: Temperature = Temperature(1.0);

    /// A temperature of `tau`.
    pub fn new(tau: f64) -> Result<Self, ArchError> {
        let inverse = (1.0 / tau) as f32;
        if tau > 0.0 && inverse > 0.0 && inverse.is_finite() {
            Ok(Temperature(tau))
        } else {
            Err(ArchError::Temperature { tau })
        }
    }

    /// The value of τ.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Temperature {
    type Error = ArchError;
    fn try_from(tau: f64) -> Result<Self, ArchError> {
        Temperature::new(tau)
    }
}

impl From<Temperature> for f64 {
    fn from(tau: Temperature) -> f64 {
        tau.0
    }
}

/// What the classifier reads, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readout {
    /// Which vectors of the top layer.
    pub from: ReadFrom,
    /// At which steps.
    pub when: When,
    /// The classifier's weights. Default: its own.
    // Not written if it is the default: architectures from before it have the same digest.
    #[serde(default, skip_serializing_if = "HeadWeights::are_own")]
    pub weights: HeadWeights,
}

impl Readout {
    /// A classifier with its own weights.
    pub fn new(from: ReadFrom, when: When) -> Readout {
        Readout { from, when, weights: HeadWeights::Own }
    }
}

/// The weights of the classifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadWeights {
    /// A matrix of its own.
    #[default]
    Own,
    /// The embedding (weight tying): class c has the embedding of token c. There are as many classes
    /// as tokens, and the classifier reads as many numbers as an embedding has.
    Embedding,
}

impl HeadWeights {
    fn are_own(&self) -> bool {
        *self == HeadWeights::Own
    }
}

/// Which vectors of the top layer the classifier reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadFrom {
    /// h, after the stochastic step (u where the step is skipped).
    H,
    /// u, before the stochastic step.
    U,
    /// The cell state.
    C,
    /// `[u; c]`.
    Uc,
    /// `[h; c]`.
    Hc,
}

impl ReadFrom {
    /// Whether h is read.
    pub fn h(self) -> bool {
        matches!(self, ReadFrom::H | ReadFrom::Hc)
    }

    /// Whether u is read.
    pub fn u(self) -> bool {
        matches!(self, ReadFrom::U | ReadFrom::Uc)
    }

    /// Whether c is read.
    pub fn c(self) -> bool {
        matches!(self, ReadFrom::C | ReadFrom::Uc | ReadFrom::Hc)
    }

    /// Width of what is read from a layer of `units`.
    pub fn width(self, units: usize) -> usize {
        units * (self.h() as usize + self.u() as usize + self.c() as usize)
    }
}

/// At which steps the classifier reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Once, after the last step: one label per sequence.
    Last,
    /// After every step: one label per step.
    EveryStep,
}

impl Arch {
    /// The top layer.
    pub fn top(&self) -> &Layer {
        self.layers.last().expect("an architecture has at least one layer")
    }

    /// Width of what the classifier reads.
    pub fn features(&self) -> usize {
        self.readout.from.width(self.top().units)
    }

    /// E of a layer: the width of what it reads.
    pub fn width_below(&self, layer: usize) -> usize {
        if layer == 0 { self.input.width() } else { self.layers[layer - 1].units }
    }

    /// Whether the classifier's weights are the embedding.
    pub fn is_tied(&self) -> bool {
        self.readout.weights == HeadWeights::Embedding
    }

    /// Whether every layer carries h alone.
    pub fn is_memoryless(&self) -> bool {
        self.layers.iter().all(|layer| !layer.cell.has_memory())
    }

    /// Whether every layer has centroids.
    pub fn is_state_regularized(&self) -> bool {
        self.layers.iter().all(|layer| layer.centroids.is_some())
    }
}

/// A network: an architecture and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<F> {
    /// The architecture.
    pub arch: Arch,
    /// All parameters, in the order of the [`Layout`].
    pub params: Vec<F>,
}

impl Model<f32> {
    /// A new network with parameters drawn from `key`.
    pub fn new(arch: Arch, init: &Init, key: Key) -> Result<Self, ArchError> {
        arch.validate()?;
        let params = init::initialise(&arch, init, key);
        Ok(Model { arch, params })
    }

    /// The same parameters in double precision.
    pub fn to_f64(&self) -> Model<f64> {
        let params = self.params.iter().map(|&p| p as f64).collect();
        Model { arch: self.arch.clone(), params }
    }
}

impl Model<f64> {
    /// The parameters rounded to single precision.
    pub fn to_f32(&self) -> Model<f32> {
        let params = self.params.iter().map(|&p| p as f32).collect();
        Model { arch: self.arch.clone(), params }
    }
}

impl<F> Model<F> {
    /// The layout of the parameters.
    pub fn layout(&self) -> Layout {
        Layout::of(&self.arch)
    }
}
