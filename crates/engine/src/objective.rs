//! The loss: its terms, their weights, its gradient.

use crate::model::Arch;
use crate::{Batch, Dropout};

/// What may change with every update: λ, which leads from the vanilla network (λ = 0) to the
/// paper's (λ = 1), the weights of the regularisation terms, dropout, and the step
/// size.
///
/// With N all steps and `N'` those that take the stochastic step, the loss is
///
/// ```text
/// h = (1 − λ)·u + λ·αS
/// L = Σ w_y·CE / Σ w_y + commitment·mean_{N',D} (u − αS)² + entropy·mean_{N'} H(α)
///     + saturation·mean_{N,D} (Σ_gates y(1 − y) + (1 − g²)/4) + writing·mean_{N,D} w
/// ```
///
/// where g is the cell's candidate and w the gate that scales it: i of an LSTM, 1 − z of a GRU.
/// The last two terms drive gates to 0 and 1, candidates to ±1, and w to 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regime {
    /// λ: 1 is exactly the paper's network.
    pub lambda: f64,
    /// Weight of the commitment loss, λ already multiplied in.
    pub commitment: f64,
    /// Weight of the entropy of α.
    pub entropy: f64,
    /// Weight of the gates' distance from saturation.
    pub saturation: f64,
    /// Weight of the write gate w.
    pub writing: f64,
    /// Multiplies every layer's temperature.
    pub tau: f64,
    /// Subtracted from the target's logit before the cross-entropy. 0 is the ordinary
    /// cross-entropy.
    pub margin: f64,
    /// What the update sets to zero.
    pub dropout: Dropout,
    /// The step size of the update.
    pub learning_rate: f64,
}

impl Regime {
    /// The paper's network (λ = 1, its own temperatures) without regularisation terms.
    pub const fn plain(learning_rate: f64) -> Regime {
        Regime {
            lambda: 1.0,
            commitment: 0.0,
            entropy: 0.0,
            saturation: 0.0,
            writing: 0.0,
            tau: 1.0,
            margin: 0.0,
            dropout: Dropout::NONE,
            learning_rate,
        }
    }
}

/// The regularised loss of a batch and its terms.
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
    /// Mean distance of the gates from saturation ([`Regime`]), unweighted, summed over the
    /// layers; 0 where its weight is 0.
    pub saturation: f64,
    /// Mean of the write gate ([`Regime`]), unweighted, summed over the layers; 0 where its weight
    /// is 0.
    pub writing: f64,
    /// Read-outs whose largest logit is the target's.
    pub correct: usize,
    /// Read-outs with a target.
    pub counted: usize,
}

impl Loss {
    /// The same terms with the total under the weights of `regime`.
    pub(crate) fn with_total(self, regime: &Regime) -> Loss {
        let total = self.task
            + regime.commitment * self.commitment
            + regime.entropy * self.entropy
            + regime.saturation * self.saturation
            + regime.writing * self.writing;
        Loss { total, ..self }
    }

    /// Whether every term is finite.
    pub fn is_finite(&self) -> bool {
        let Loss { total, task, commitment, entropy, saturation, writing, .. } = *self;
        let terms = [total, task, commitment, entropy, saturation, writing];
        terms.iter().all(|term| term.is_finite())
    }
}

/// A loss and its gradient, laid out as the parameters are.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients<F> {
    /// The loss.
    pub loss: Loss,
    /// `∂ total / ∂ parameters`.
    pub values: Vec<F>,
}

/// The weight of one step in a mean over the steps of a batch.
#[derive(Clone, Copy)]
pub(crate) struct StepShare {
    /// In a mean over all steps.
    pub all: f64,
    /// In a mean over the steps that take the stochastic step.
    pub stochastic: f64,
}

impl StepShare {
    pub fn of(batch: &Batch, arch: &Arch) -> StepShare {
        let stochastic = batch.stochastic_steps(arch.input.end().is_some());
        let of = |steps: usize| 1.0 / steps.max(1) as f64;
        StepShare { all: of(batch.steps()), stochastic: of(stochastic) }
    }

    /// The weight of one step's regularisation terms in the loss.
    pub fn weights(self, regime: &Regime) -> RegularisationWeights<f64> {
        RegularisationWeights {
            commitment: self.stochastic * regime.commitment,
            entropy: self.stochastic * regime.entropy,
            saturation: self.all * regime.saturation,
            writing: self.all * regime.writing,
        }
    }
}

/// The weights of the regularisation terms of one step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RegularisationWeights<F> {
    /// Of the commitment loss: of its mean over the units, or where stated of each (u − αS)².
    pub commitment: F,
    /// Of H(α).
    pub entropy: F,
    /// Of the mean over the units of the gates' distance from saturation.
    pub saturation: F,
    /// Of the mean over the units of the write gate.
    pub writing: F,
}

impl RegularisationWeights<f64> {
    /// The weights rounded to single precision.
    pub fn to_f32(self) -> RegularisationWeights<f32> {
        RegularisationWeights {
            commitment: self.commitment as f32,
            entropy: self.entropy as f32,
            saturation: self.saturation as f32,
            writing: self.writing as f32,
        }
    }

    /// The weights of one unit's gate terms in a layer of `units` units.
    pub fn of_gates(&self, units: usize) -> GatePenalty<f64> {
        let d = units as f64;
        GatePenalty { saturation: self.saturation / d, writing: self.writing / d }
    }
}

/// The weights of the regularisation terms of one unit's gates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GatePenalty<F> {
    pub saturation: F,
    pub writing: F,
}
