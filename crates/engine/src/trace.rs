//! How a model is run, and what it computed.

use crate::key::{Key, Rng};
use crate::layer_state::LayerState;

/// The map h from probabilities to the next hidden state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transition {
    /// `h = Σ α_i s_i` (Eq. 6): what is trained and deployed.
    Mixture,
    /// `h = s_j`, j drawn from α (Eq. 5) with the generators of this key.
    Sample(Key),
    /// `h = s_j`, j the most probable: the limit τ → 0.
    Argmax,
}

impl Transition {
    /// The generator of layer `l` for row `b`. It is not used where nothing is sampled.
    pub(crate) fn row_rng(self, b: usize, l: usize) -> Rng {
        let key = match self {
            Transition::Sample(key) => key,
            Transition::Mixture | Transition::Argmax => Key::new(0),
        };
        key.child("row", b as u64).child("layer", l as u64).rng()
    }
}

/// How a model is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// The map h.
    pub transition: Transition,
    /// λ, as in [`Regime`](crate::Regime). Only the mixture supports values below 1; other
    /// transitions use 1.
    pub lambda: f64,
    /// Multiplies every layer's temperature.
    pub tau: f64,
}

impl Default for Mode {
    /// The deployed network: the mixture at λ = 1 and its own temperature.
    fn default() -> Self {
        Mode { transition: Transition::Mixture, lambda: 1.0, tau: 1.0 }
    }
}

/// Which parts of a trace are recorded. A full trace of a large set does not fit in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// α of every step.
    pub alpha: bool,
    /// u of every step.
    pub u: bool,
    /// h of every step.
    pub h: bool,
    /// c of every step.
    pub c: bool,
}

/// What a network computed on a batch. Engines write it; extraction and explanation read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace<F> {
    /// One per layer.
    pub layers: Vec<LayerTrace<F>>,
    /// `[B,C]`, or `[N,C]` for a read-out at every step.
    pub logits: Vec<F>,
    /// The state after the last step of every row, bottom layer first; empty unless the batch has
    /// initial states.
    pub last: Vec<LayerState>,
}

/// One layer's part of a trace. Fields that were not requested, or that the layer does not have, are
/// empty. A step that skips the stochastic step has α = 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerTrace<F> {
    /// `[N,K]`.
    pub alpha: Vec<F>,
    /// `[N,D]`.
    pub u: Vec<F>,
    /// `[N,D]`.
    pub h: Vec<F>,
    /// `[N,D]`.
    pub c: Vec<F>,
}
