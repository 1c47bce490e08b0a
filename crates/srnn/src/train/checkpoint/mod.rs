//! Checkpoints: the state that a run needs to resume bit-reproducibly, on disk, crash-safe.
//!
//! A checkpoint is a folder `update-0001200` with the tensors (`state.safetensors`), the history
//! (`progress.json`) and a manifest with the size and the sha-256 of both. It is written under a
//! temporary name, flushed, and renamed. After a crash at any system call, a folder with the final
//! name is complete, or its manifest shows that it is not.

mod file_system;
mod folder;
mod manifest;
mod state;

pub use folder::CheckpointFolder;

use super::carried::CarriedStates;
use super::config::Sampling;
use super::examples::Examples;
use super::job::TrainJob;
use super::progress::Progress;
use crate::engine::Real;
use crate::engine::Snapshot;
use crate::engine::hex::hex;
use crate::model::{Arch, Layout};
use sha2::{Digest as _, Sha256};
use std::io;
use std::path::PathBuf;

/// The state that a run needs to resume.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint<F> {
    /// Counters and history.
    pub progress: Progress,
    /// Parameters and optimiser moments.
    pub snapshot: Snapshot<F>,
    /// Parameters of the best evaluation, if they are kept.
    pub best: Option<Vec<F>>,
    /// The average of the weights, if there is one.
    pub average: Option<Vec<F>>,
    /// Parameters of the best evaluation of every phase, in the order of `progress.phase_best`.
    pub phases: Vec<Vec<F>>,
    /// The states that are carried to the next update; empty if none are.
    pub carried: Vec<F>,
}

/// Identifies the run of a checkpoint. Only a run of the same configuration, seed and data can
/// resume from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIdentity {
    /// Digest of architecture, configuration and key.
    pub config: String,
    /// Digest of training and validation sets.
    pub data: String,
    /// The number of parameters.
    pub parameters: usize,
    /// The number of moment vectors, each as long as the parameters.
    pub moments: usize,
    /// The numbers in the states that are carried to the next update.
    pub carried: usize,
}

impl RunIdentity {
    /// The identity of a run of `job` with the architecture `arch`.
    pub fn of<D: Examples>(job: &TrainJob<'_, D>, arch: &Arch) -> RunIdentity {
        let mut config = Sha256::new();
        config.update(serde_json::to_vec(arch).expect("an architecture is plain data"));
        config.update(serde_json::to_vec(job.config).expect("a configuration is plain data"));
        config.update(job.key.child("identity", 0).rng().bits().to_le_bytes());
        let mut data = Sha256::new();
        data.update(job.split.train.digest());
        data.update(job.split.valid.digest());
        RunIdentity {
            config: hex(&config.finalize()),
            data: hex(&data.finalize()),
            parameters: Layout::of(arch).len,
            moments: job.config.optimiser.rule.moments(),
            carried: match job.config.sampling {
                Sampling::Streams => CarriedStates::count(arch, job.config.batch_size),
                Sampling::Draw | Sampling::Epochs | Sampling::SimilarLengths => 0,
            },
        }
    }
}

/// Saves and loads the checkpoints of a run.
pub trait CheckpointStore<F> {
    /// Saves a checkpoint. An error leaves earlier checkpoints unchanged.
    fn save(
        &mut self,
        identity: &RunIdentity,
        checkpoint: &Checkpoint<F>,
    ) -> Result<(), CheckpointError>;

    /// Loads the newest valid checkpoint of this run.
    fn latest(&mut self, identity: &RunIdentity) -> Result<LatestCheckpoint<F>, CheckpointError>;
}

/// The newest valid checkpoint.
#[derive(Debug)]
pub struct LatestCheckpoint<F> {
    /// The checkpoint; `None` if there are no checkpoints at all.
    pub checkpoint: Option<Checkpoint<F>>,
    /// Why newer checkpoints were skipped.
    pub skipped: Vec<CheckpointError>,
}

/// Saves nothing and has no checkpoints.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCheckpoints;

impl<F: Real> CheckpointStore<F> for NoCheckpoints {
    fn save(&mut self, _: &RunIdentity, _: &Checkpoint<F>) -> Result<(), CheckpointError> {
        Ok(())
    }

    fn latest(&mut self, _: &RunIdentity) -> Result<LatestCheckpoint<F>, CheckpointError> {
        Ok(LatestCheckpoint { checkpoint: None, skipped: vec![] })
    }
}

/// A checkpoint that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system reported an error.
    #[error("{}: cannot {doing}: {source}. {}", path.display(), remedy(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failed operation.
        doing: &'static str,
        /// The error of the file system.
        source: io::Error,
    },
    /// A file is not as it was written.
    #[error(
        "{}: {cause}. The checkpoint is damaged and can be deleted; an older valid one is used, \
         if any",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// There are checkpoints, but none is valid.
    #[error(
        "{}: none of the {} checkpoints is valid (the newest: {}). \
         Restore the folder from a copy, or delete it and start again",
        path.display(), skipped.len(), skipped[0]
    )]
    NoneValid {
        /// The folder.
        path: PathBuf,
        /// Why each was skipped, newest first.
        skipped: Vec<CheckpointError>,
    },
    /// A checkpoint of another run.
    #[error(
        "{}: the checkpoint was made with {what} of digest {found:.12}…, this run has \
         {expected:.12}…: resume with the same configuration, seed and data, or start a new run \
         in another folder",
        path.display()
    )]
    OtherRun {
        /// The checkpoint's manifest.
        path: PathBuf,
        /// What differs: the configuration or seed, or the data.
        what: &'static str,
        /// This run's digest.
        expected: String,
        /// The checkpoint's.
        found: String,
    },
    /// An unknown format version.
    #[error(
        "{}: unknown format {found}, only {known} is supported: use the version of srnn that wrote it",
        path.display()
    )]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The format of the manifest.
        found: u32,
        /// The format of this program.
        known: u32,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free some space and resume: the last valid checkpoint is intact"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Make the folder writable, or choose another one"
        }
        _ => "Earlier checkpoints are intact",
    }
}
