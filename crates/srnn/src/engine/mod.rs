//! How a model is computed: what goes into an engine, what comes out, and the trait they share.
//!
//! [`mod@reference`] is the specification. An engine that disagrees with it beyond the stated
//! tolerance is wrong.

pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod form;
mod hardware;
pub mod reference;
mod share;
mod tokens;
mod weights;

pub use hardware::{Device, DeviceName, Hardware, HardwareError, UnknownDevice};

use crate::key::{Key, Stream};
use crate::model::{Arch, Model};
use crate::train::Optimiser;
use std::sync::Arc;

/// Rows of different lengths, one after the other: row `b` has the steps
/// `offsets[b]..offsets[b + 1]`. Start and end tokens are part of the rows. Nothing is padded.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `[B+1]`, from 0 to N.
    pub offsets: Vec<usize>,
    /// What the steps read.
    pub input: Inputs,
    /// What the network should say.
    pub targets: Targets,
    /// Weight of each class in the loss `[C]`; empty is all ones.
    pub class_weights: Vec<f32>,
}

/// What the steps read.
#[derive(Clone, Debug, PartialEq)]
pub enum Inputs {
    /// Token ids `[N]`.
    Tokens(Vec<u32>),
    /// Vectors `[N,E]`.
    Real(Vec<f32>),
}

/// What the network should say; must fit the architecture's read-out.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Unknown: such a batch can be traced but not learned from.
    None,
    /// A class per row `[B]`.
    Rows(Vec<u32>),
    /// A class per step `[N]`; [`IGNORE`] where there is none.
    Steps(Vec<u32>),
}

/// The target of a step that has none.
pub const IGNORE: u32 = u32::MAX;

impl Batch {
    /// B.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// N: the steps of all rows.
    pub fn steps(&self) -> usize {
        *self.offsets.last().expect("offsets hold at least the 0")
    }

    /// The steps of row `b`.
    pub fn row(&self, b: usize) -> std::ops::Range<usize> {
        self.offsets[b]..self.offsets[b + 1]
    }

    /// The targets, one per read-out; empty where they are unknown.
    pub fn target_ids(&self) -> &[u32] {
        match &self.targets {
            Targets::None => &[],
            Targets::Rows(ids) | Targets::Steps(ids) => ids,
        }
    }

    /// The weight of class `c` in the loss.
    pub fn class_weight(&self, c: u32) -> f64 {
        self.class_weights.get(c as usize).map_or(1.0, |&w| w as f64)
    }

    /// The sum of the class weights over all targets: what the loss is divided by. A batch in
    /// which nothing weighs anything has loss 0, so it is divided by 1.
    pub fn total_weight(&self) -> f64 {
        let targets = self.target_ids().iter().filter(|&&y| y != IGNORE);
        let total: f64 = targets.map(|&y| self.class_weight(y)).sum();
        if total > 0.0 { total } else { 1.0 }
    }

    /// The steps that take the stochastic step: all but a closing end token per row.
    pub fn stochastic_steps(&self, end_token: bool) -> usize {
        let nonempty = (0..self.rows()).filter(|&b| !self.row(b).is_empty()).count();
        self.steps() - if end_token { nonempty } else { 0 }
    }
}

/// What may change with every update: the place in the homotopy from the vanilla network (λ = 0)
/// to the paper's (λ = 1), and the weights of the terms that harden it.
///
/// With N all steps and `N'` those that take the stochastic step, the loss is
///
/// ```text
/// h = (1 − λ)·u + λ·αS
/// L = Σ w_y·CE / Σ w_y + commitment·mean_{N',D} (u − αS)² + entropy·mean_{N'} H(α)
///     + saturation·mean_{N,D} (Σ_gates y(1 − y) + (1 − g²)/4) + writing·mean_{N,D} w
/// ```
///
/// where g is the cell's candidate and w the gate that lets it in: i of an LSTM, 1 − z of a GRU.
/// Gates are drawn to 0 and 1, candidates to ±1, and what need not be written is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regime {
    /// λ: 1 is exactly the paper's network.
    pub lambda: f64,
    /// Weight of the commitment loss, λ already multiplied in.
    pub commitment: f64,
    /// Weight of the entropy of α.
    pub entropy: f64,
    /// Weight of how far gates are from saturation.
    pub saturation: f64,
    /// Weight of how much is written.
    pub writing: f64,
    /// Multiplies every layer's temperature.
    pub tau: f64,
    /// Taken off the target's logit before the cross-entropy: a decision must lead by so much
    /// before the loss calls it right. 0 is the plain cross-entropy.
    pub margin: f64,
    /// The step size; replaces the optimiser's own.
    pub learning_rate: f64,
}

/// The regularised loss of a batch and its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// What is minimised.
    pub total: f64,
    /// The weighted mean cross-entropy.
    pub task: f64,
    /// Mean (u − αS)², unweighted, summed over the layers; 0 where its weight is 0.
    pub commitment: f64,
    /// Mean H(α) in nats, unweighted, summed over the layers; 0 where its weight is 0.
    pub entropy: f64,
    /// How far gates are from saturation: the mean of the regime, unweighted, summed over the
    /// layers; 0 where its weight is 0.
    pub saturation: f64,
    /// How much is written: the mean of the regime, unweighted, summed over the layers; 0 where
    /// its weight is 0.
    pub writing: f64,
    /// Read-outs whose largest logit is the target's.
    pub correct: usize,
    /// Read-outs with a target.
    pub counted: usize,
}

impl Loss {
    /// With the total that a regime makes of the parts.
    pub(crate) fn weighed(self, regime: &Regime) -> Loss {
        let total = self.task
            + regime.commitment * self.commitment
            + regime.entropy * self.entropy
            + regime.saturation * self.saturation
            + regime.writing * self.writing;
        Loss { total, ..self }
    }

    /// Whether every part is a number.
    pub fn is_finite(&self) -> bool {
        let Loss { total, task, commitment, entropy, saturation, writing, .. } = *self;
        let parts = [total, task, commitment, entropy, saturation, writing];
        parts.iter().all(|part| part.is_finite())
    }
}

/// The map h from probabilities to the next hidden state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transition {
    /// `h = Σ α_i s_i` (Eq. 6): what is trained and deployed.
    Mixture,
    /// `h = s_j`, j drawn from α (Eq. 5); the draws are named by the key.
    Sample(Key),
    /// `h = s_j`, j the most probable: the limit τ → 0.
    Argmax,
}

impl Transition {
    /// The draws of layer `l` for row `b`; a stream nobody reads where nothing is sampled.
    pub(crate) fn draws(self, b: usize, l: usize) -> Stream {
        let key = match self {
            Transition::Sample(key) => key,
            Transition::Mixture | Transition::Argmax => Key::new(0),
        };
        key.child("row", b as u64).child("layer", l as u64).stream()
    }
}

/// A way to run a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// The map h.
    pub transition: Transition,
    /// λ, as in [`Regime`]; only the mixture knows values below 1.
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

/// Which parts of a trace are wanted: a full trace of a large set does not fit in memory.
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

/// What a network did on a batch: the waist between engines, which write it, and extraction and
/// explanation, which read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace<F> {
    /// One per layer.
    pub layers: Vec<LayerTrace<F>>,
    /// `[B,C]`, or `[N,C]` for a read-out at every step.
    pub logits: Vec<F>,
}

/// One layer's part of a trace; fields not asked for (or not there) are empty. A step without
/// the stochastic step has α = 0.
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

/// A loss and its gradient, laid out as the parameters are.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients<F> {
    /// The loss.
    pub loss: Loss,
    /// `∂ total / ∂ parameters`.
    pub values: Vec<F>,
}

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The loss before the update.
    pub loss: Loss,
    /// The gradient's norm before clipping.
    pub gradient_norm: f64,
}

impl Step {
    /// Whether loss and gradient are numbers. If not, the update was not applied.
    pub fn is_finite(&self) -> bool {
        self.loss.total.is_finite() && self.gradient_norm.is_finite()
    }
}

/// What the next update is to be made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Ahead {
    /// An engine that holds on to it knows the batch by its address when it comes.
    pub batch: Arc<Batch>,
    /// How the update is to be made.
    pub regime: Regime,
}

/// Everything a run needs to go on: parameters and the optimiser's memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<F> {
    /// The parameters.
    pub params: Vec<F>,
    /// The optimiser's moments, each as long as the parameters; how many, the optimiser knows.
    pub moments: Vec<Vec<F>>,
    /// Updates made so far.
    pub updates: u64,
}

/// How a model is computed. One instance per seed.
pub trait Engine<F> {
    /// The model as it is now.
    fn model(&self) -> Model<F>;
    /// Its shape, without the parameters.
    fn arch(&self) -> Arch {
        self.model().arch
    }
    /// Parameters and optimiser state.
    fn snapshot(&self) -> Snapshot<F>;
    /// Goes back to a snapshot of the same architecture and optimiser.
    fn restore(&mut self, snapshot: &Snapshot<F>);
    /// Runs the model.
    fn trace(&mut self, batch: &Batch, mode: Mode, fields: Fields) -> Trace<F>;
    /// Loss and gradient; nothing is changed.
    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Gradients<F>;
    /// One update.
    fn step(&mut self, batch: &Batch, regime: &Regime) -> Step;
    /// One update, and `next` once, which makes what the update after it is to be made from: beside
    /// it where a device computes by itself and the processor would wait, else after it. If that
    /// comes next it is on the device already; if something else does, nothing is changed by it.
    fn step_while(
        &mut self,
        batch: &Batch,
        regime: &Regime,
        next: &mut dyn FnMut() -> Option<Ahead>,
    ) -> Step {
        let step = self.step(batch, regime);
        next();
        step
    }
    /// What the updates are made with.
    fn optimiser(&self) -> &Optimiser;
}
