//! The loss: its terms, their weights, its gradient.

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

/// A loss and its gradient, laid out as the parameters are.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradients<F> {
    /// The loss.
    pub loss: Loss,
    /// `∂ total / ∂ parameters`.
    pub values: Vec<F>,
}
