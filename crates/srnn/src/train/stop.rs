//! Why a run ended.

use serde::{Deserialize, Serialize};

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Stop {
    /// Good enough for long enough.
    Converged,
    /// Nothing better for long.
    Patience,
    /// The schedule is finished.
    Updates,
    /// The observer's time is up.
    Time,
    /// A number that is none. The last good checkpoint is kept.
    Diverged {
        /// The update, counted from 0.
        update: u64,
        /// Where it showed.
        found: Found,
        /// The training sequences of that update.
        sequences: Vec<usize>,
    },
    /// The observer asked for it; a checkpoint was written.
    Interrupted,
}

/// Where a number that is none showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// In the loss; the update was not made.
    Loss,
    /// In the gradient, several times in a row; these updates were not made.
    Gradient,
    /// In the parameters after the update.
    Parameters,
    /// In the evaluation after the update.
    Evaluation,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Converged => f.write_str("converged"),
            Stop::Patience => f.write_str("no better evaluation for long"),
            Stop::Updates => f.write_str("the schedule is finished"),
            Stop::Time => f.write_str("the time is up"),
            Stop::Interrupted => f.write_str("interrupted"),
            Stop::Diverged { update, found, sequences } => {
                let place = match found {
                    Found::Loss => "loss",
                    Found::Gradient => "gradient",
                    Found::Parameters => "parameters",
                    Found::Evaluation => "evaluation",
                };
                write!(f, "diverged: the {place} of update {update} is not a number ")?;
                write!(f, "(training sequences {sequences:?}): lower the learning rate or clip")
            }
        }
    }
}
