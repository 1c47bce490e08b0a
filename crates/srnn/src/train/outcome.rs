//! What a run returns: its result, or why it could not start or continue.

use super::checkpoint::CheckpointError;
use super::evaluate::Evaluation;
use super::job::TrainJobError;
use super::progress::Record;
use super::stop::Stop;
use crate::engine::DeviceError;
use crate::model::ArchError;
use serde::{Deserialize, Serialize};

/// The result of a run. The network itself is in the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Why it stopped.
    pub stop: Stop,
    /// Updates made.
    pub updates: u64,
    /// The update whose network is the result: the last, or the best.
    pub kept: u64,
    /// Updates skipped because their gradient was not finite.
    #[serde(default, rename = "lost")]
    pub skipped_updates: u64,
    /// One record per evaluation.
    pub history: Vec<Record>,
    /// The resulting network on all of the data. `None` where the run was interrupted or diverged:
    /// there is no result.
    #[serde(rename = "end")]
    pub final_evaluation: Option<FinalEvaluation>,
}

/// Evaluations of the resulting network, as it is deployed (λ = 1), on all of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinalEvaluation {
    /// The training set.
    pub train: Evaluation,
    /// The validation set.
    pub valid: Evaluation,
}

/// A run could not start or continue.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Configuration, architecture and data do not fit together.
    #[error(transparent)]
    Job(#[from] TrainJobError),
    /// An invalid architecture.
    #[error(transparent)]
    Arch(#[from] ArchError),
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The device is not available, or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
