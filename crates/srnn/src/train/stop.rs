//! Why a run stopped.

use serde::{Deserialize, Serialize};

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Stop {
    /// Enough evaluations in a row reached the target accuracy.
    Converged,
    /// Too many evaluations without an improvement.
    Patience,
    /// The whole schedule was run.
    #[serde(rename = "updates")]
    Completed,
    /// The observer's time limit was reached.
    #[serde(rename = "time")]
    TimeLimit,
    /// A value was not finite. The last valid checkpoint is kept.
    Diverged {
        /// The update, counted from 0.
        update: u64,
        /// What was not finite.
        #[serde(rename = "found")]
        quantity: NonFinite,
        /// The indices of the training sequences of that update.
        sequences: Vec<usize>,
    },
    /// The observer requested it; a checkpoint was written.
    Interrupted,
}

/// What was not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NonFinite {
    /// The loss; the update was not made.
    Loss,
    /// The gradient, in several consecutive updates, which were skipped.
    Gradient,
    /// The parameters after the update.
    Parameters,
    /// The loss of the evaluation after the update.
    Evaluation,
}

impl Stop {
    /// The reason in a few words: without the sequences of a failed update.
    pub fn cause(&self) -> String {
        let Stop::Diverged { update, quantity, .. } = self else { return self.to_string() };
        let name = match quantity {
            NonFinite::Loss => "loss",
            NonFinite::Gradient => "gradient",
            NonFinite::Parameters => "parameters",
            NonFinite::Evaluation => "evaluation",
        };
        format!("diverged: the {name} of update {update} is not finite")
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Converged => f.write_str("converged"),
            Stop::Patience => f.write_str("no improvement (early stopping)"),
            Stop::Completed => f.write_str("completed"),
            Stop::TimeLimit => f.write_str("time limit reached"),
            Stop::Interrupted => f.write_str("interrupted"),
            Stop::Diverged { sequences, .. } => {
                write!(f, "{} ", self.cause())?;
                write!(
                    f,
                    "(training sequences {sequences:?}): lower the learning rate or optimiser.clip"
                )
            }
        }
    }
}
