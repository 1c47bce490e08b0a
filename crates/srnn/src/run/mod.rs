//! The run folder. It is created atomically, and only one process at a time may use it.

mod create;
mod exchange;
mod lock;
mod metrics;
mod own_files;

pub use lock::{FolderLock, lock_folder};
pub use metrics::MetricsFile;
pub(crate) use metrics::{metrics_text, round_name};
pub use own_files::{check_own_files, remove_temporary_files};

use crate::UserError;
use crate::learn::Round;
use std::path::{Path, PathBuf};

pub(crate) const CONFIG: &str = "config.toml";
pub(crate) const DATA: &str = "data.json";
pub(crate) const METRICS: &str = "metrics.jsonl";
const CHECKPOINTS: &str = "checkpoints";
pub(crate) const MODEL: &str = "model";
pub(crate) const AUTOMATON: &str = "automaton";
const CANDIDATES: &str = "candidates";
/// The file of suspected labels.
pub const WRONG_LABELS: &str = "wrong_labels.jsonl";
/// The certificate file.
pub const CERTIFICATE: &str = "certificate.json";
/// Held-out sequences with the class that the kept model gives them.
pub(crate) const EXAMPLES: &str = "examples.json";
/// The page of a run.
pub const REPORT: &str = "report.html";
/// The result file. A run that has it is finished.
pub(crate) const RESULT: &str = "result.json";
/// The file that the process of a run locks.
pub(crate) const LOCK: &str = ".lock";

/// All entries of a run folder. A folder with any other entry is never replaced.
const ENTRIES: [&str; 13] = [
    CONFIG,
    DATA,
    METRICS,
    CHECKPOINTS,
    MODEL,
    AUTOMATON,
    CANDIDATES,
    WRONG_LABELS,
    CERTIFICATE,
    EXAMPLES,
    REPORT,
    RESULT,
    LOCK,
];

/// The location of a new run.
#[derive(Clone, Debug)]
pub enum RunLocation {
    /// `runs/NAME`, or the first of `NAME-2`, `NAME-3`, … that does not exist.
    Numbered(String),
    /// This folder, which must be empty or not exist.
    New(PathBuf),
    /// This folder; a run in it is replaced.
    Replace(PathBuf),
}

/// A run folder, locked for this process.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Held until the run ends. While it is held, no other process writes to the folder or replaces
    /// it.
    _lock: FolderLock,
    not_removed: Option<PathBuf>,
}

impl RunFolder {
    /// Creates the folder of a new run with `config.toml` and `data.json`.
    ///
    /// # Errors
    /// If the folder exists and may not be replaced, or cannot be written.
    pub fn create(
        location: &RunLocation,
        config: &str,
        data: &str,
    ) -> Result<RunFolder, UserError> {
        create::create(location, &[(CONFIG, config), (DATA, data)])
    }

    /// Opens and locks the folder of an existing run. Temporary files that a killed process left in
    /// it are removed.
    ///
    /// # Errors
    /// If it is not a run folder, another process uses it, or it has links or pipes in it.
    pub fn open(path: &Path) -> Result<RunFolder, UserError> {
        check_is_run(path)?;
        let lock = lock_folder(path)?;
        check_own_files(path)?;
        remove_temporary_files(path);
        Ok(RunFolder { path: path.into(), _lock: lock, not_removed: None })
    }

    /// Where the replaced run still is, if it could not be removed.
    pub fn not_removed(&self) -> Option<&Path> {
        self.not_removed.as_deref()
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `config.toml`: the resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join(CONFIG)
    }

    /// `data.json`: the description of the data.
    pub fn data(&self) -> PathBuf {
        self.path.join(DATA)
    }

    /// `metrics.jsonl`, see [`MetricsFile`].
    pub fn metrics(&self) -> PathBuf {
        self.path.join(METRICS)
    }

    /// The checkpoint folder of a seed.
    pub fn checkpoints(&self, round: Round, seed: u64) -> PathBuf {
        self.path.join(CHECKPOINTS).join(match round {
            Round::Short => format!("short-seed-{seed}"),
            Round::Given => format!("seed-{seed}"),
            Round::Corrected => format!("believed-seed-{seed}"),
            Round::CorrectedAll => format!("whole-seed-{seed}"),
            Round::Candidate(kind) => format!("{}-seed-{seed}", kind.key()),
        })
    }

    /// `result.json`. It is written last: a run that has it is finished.
    pub fn result(&self) -> PathBuf {
        self.path.join(RESULT)
    }
}

/// Refuses a folder that is not the folder of a run.
fn check_is_run(path: &Path) -> Result<(), UserError> {
    if path.join(CONFIG).symlink_metadata().is_err() {
        let message = format!("{}: this is not a run folder: {CONFIG} is missing", path.display());
        return Err(UserError::new(message, "name a folder that `srnn learn` created"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
