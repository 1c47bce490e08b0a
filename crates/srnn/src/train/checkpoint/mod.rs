//! Checkpoints: everything a run needs to go on to the same bits, on disk, safe from crashes.
//!
//! A checkpoint is a folder `update-0001200` with the tensors (`state.safetensors`), the history
//! (`progress.json`) and a manifest with the size and the sha-256 of both. It is written beside
//! its place, flushed, and renamed: whatever happens at whichever system call, a folder with
//! that name is complete, or the manifest says that it is not.

mod disk;
mod folder;
mod manifest;
mod state;

pub use folder::Folder;

use super::examples::Examples;
use super::job::Job;
use super::progress::Progress;
use crate::engine::Real;
use crate::engine::Snapshot;
use crate::engine::hex::hex;
use crate::model::{Arch, Layout};
use sha2::{Digest as _, Sha256};
use std::io;
use std::path::PathBuf;

/// Everything a run needs to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint<F> {
    /// How far it is.
    pub progress: Progress,
    /// Parameters and moments.
    pub snapshot: Snapshot<F>,
    /// Parameters of the best evaluation, where these are kept.
    pub best: Option<Vec<F>>,
}

/// Which run a checkpoint belongs to: it can only go on with the same configuration, seed and
/// data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Digest of architecture, configuration and key.
    pub config: String,
    /// Digest of training and validation set.
    pub data: String,
    /// Number of parameters.
    pub parameters: usize,
    /// Vectors of moments, each as long as the parameters.
    pub moments: usize,
}

impl Identity {
    /// The identity of a run of `job` on a network of shape `arch`.
    pub fn of<D: Examples>(job: &Job<'_, D>, arch: &Arch) -> Identity {
        let mut config = Sha256::new();
        config.update(serde_json::to_vec(arch).expect("an architecture is plain data"));
        config.update(serde_json::to_vec(job.config).expect("a configuration is plain data"));
        config.update(job.key.child("identity", 0).rng().bits().to_le_bytes());
        let mut data = Sha256::new();
        data.update(job.split.train.digest());
        data.update(job.split.valid.digest());
        Identity {
            config: hex(&config.finalize()),
            data: hex(&data.finalize()),
            parameters: Layout::of(arch).len,
            moments: job.config.optimiser.rule.moments(),
        }
    }
}

/// Where checkpoints go, and come from.
pub trait Keeper<F> {
    /// Keeps a checkpoint. After an error the ones before it are as they were.
    fn save(
        &mut self,
        identity: &Identity,
        checkpoint: &Checkpoint<F>,
    ) -> Result<(), CheckpointError>;

    /// The newest good checkpoint of this run.
    fn latest(&mut self, identity: &Identity) -> Result<Latest<F>, CheckpointError>;
}

/// The newest good checkpoint.
#[derive(Debug)]
pub struct Latest<F> {
    /// It, unless there are no checkpoints at all.
    pub checkpoint: Option<Checkpoint<F>>,
    /// Why newer ones were passed over.
    pub skipped: Vec<CheckpointError>,
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl<F: Real> Keeper<F> for Nowhere {
    fn save(&mut self, _: &Identity, _: &Checkpoint<F>) -> Result<(), CheckpointError> {
        Ok(())
    }

    fn latest(&mut self, _: &Identity) -> Result<Latest<F>, CheckpointError> {
        Ok(Latest { checkpoint: None, skipped: vec![] })
    }
}

/// A checkpoint that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file system refused.
    #[error("{}: cannot {doing}: {source}. {}", path.display(), remedy(source))]
    Io {
        /// Where.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// A file that is not as it was written.
    #[error(
        "{}: {cause}. The checkpoint is damaged: an older one is used where there is one; \
         this one can be deleted",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// There are checkpoints, but none that can be read.
    #[error(
        "{}: none of the {} checkpoints can be read (the newest: {}). \
         Restore the folder from a copy, or delete it and start again",
        path.display(), skipped.len(), skipped[0]
    )]
    NoneGood {
        /// The folder.
        path: PathBuf,
        /// Why each was passed over, newest first.
        skipped: Vec<CheckpointError>,
    },
    /// A checkpoint of another run.
    #[error(
        "{}: the checkpoint was made with {what} of digest {found:.12}…, this run has \
         {expected:.12}…: resume with the same configuration, seed and data, or start a new run \
         elsewhere",
        path.display()
    )]
    OtherRun {
        /// The checkpoint's manifest.
        path: PathBuf,
        /// Another configuration, or other data.
        what: &'static str,
        /// This run's digest.
        expected: String,
        /// The checkpoint's.
        found: String,
    },
    /// A format from the future.
    #[error(
        "{}: format {found} is not known, only {known} is: use the version of srnn that wrote it",
        path.display()
    )]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free some space and resume: the last good checkpoint is intact"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Make the folder writable, or give another one"
        }
        _ => "Checkpoints written before are intact",
    }
}
