//! The run folder. It is created atomically, and only one process at a time may use it.

mod metrics;

pub use metrics::MetricsFile;
pub(crate) use metrics::metrics_text;

use crate::UserError;
use crate::atomic;
use crate::files::unwritable;
use crate::learn::Round;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.toml";
const DATA: &str = "data.json";
const METRICS: &str = "metrics.jsonl";
const CHECKPOINTS: &str = "checkpoints";
const MODEL: &str = "model";
const AUTOMATON: &str = "automaton";
const CANDIDATES: &str = "candidates";
/// The file of suspected labels.
pub const WRONG_LABELS: &str = "wrong_labels.jsonl";
/// The certificate file.
pub const CERTIFICATE: &str = "certificate.json";
/// The result file. A run that has it is finished.
pub(crate) const RESULT: &str = "result.json";
const LOCK: &str = ".lock";

/// All entries of a run folder. A folder with any other entry is never replaced.
const ENTRIES: [&str; 11] = [
    CONFIG,
    DATA,
    METRICS,
    CHECKPOINTS,
    MODEL,
    AUTOMATON,
    CANDIDATES,
    WRONG_LABELS,
    CERTIFICATE,
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
    /// The operating system releases the lock when the process ends.
    _lock: File,
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
        let path = match location {
            RunLocation::Numbered(name) => create_numbered(name, config, data)?,
            RunLocation::New(path) => {
                let rename = |new: &Path| fs::rename(new, path);
                create_atomically(path, config, data, rename)
                    .map_err(|error| creation_error(path, error))?;
                path.clone()
            }
            RunLocation::Replace(path) => {
                check_replaceable(path)?;
                let replace = |new: &Path| replace_folder(new, path);
                create_atomically(path, config, data, replace)
                    .map_err(|error| unwritable(path, error))?;
                path.clone()
            }
        };
        RunFolder::open(&path)
    }

    /// Opens and locks the folder of an existing run.
    ///
    /// # Errors
    /// If it is not a run folder, or another process uses it.
    pub fn open(path: &Path) -> Result<RunFolder, UserError> {
        if !path.join(CONFIG).is_file() {
            let message =
                format!("{}: this is not a run folder: {CONFIG} is missing", path.display());
            return Err(UserError::new(message, "name a folder that `srnn learn` created"));
        }
        Ok(RunFolder { path: path.into(), _lock: lock_folder(path)? })
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

/// Locks a folder for this process. The lock is held until the file is closed.
///
/// # Errors
/// If another process holds the lock, or the lock file cannot be written.
pub fn lock_folder(folder: &Path) -> Result<File, UserError> {
    let file = folder.join(LOCK);
    let file_lock = File::options().create(true).append(true).open(&file);
    let file_lock = file_lock.map_err(|error| unwritable(&file, error))?;
    match file_lock.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let message = format!("{}: another process is working on this run", folder.display());
            Err(UserError::new(message, "wait until it ends, or stop it"))
        }
        // Some file systems do not support locks; everything else works without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file_lock),
    }
}

fn creation_error(path: &Path, error: io::Error) -> UserError {
    match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
            let message = format!("{}: this folder exists already", path.display());
            let run = path.display();
            UserError::new(
                message,
                format!(
                    "--force replaces the run, `srnn resume {run}` continues it, or give another --out"
                ),
            )
        }
        ErrorKind::NotADirectory => {
            let message = format!("{}: this is a file, not a folder", path.display());
            UserError::new(message, "give another --out DIR")
        }
        _ => unwritable(path, error),
    }
}

fn create_numbered(name: &str, config: &str, data: &str) -> Result<PathBuf, UserError> {
    let runs = Path::new("runs");
    for number in 1.. {
        let path = match number {
            1 => runs.join(name),
            _ => runs.join(format!("{name}-{number}")),
        };
        // `rename` would replace an empty folder, which may belong to another program.
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match create_atomically(&path, config, data, |new| fs::rename(new, &path)) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => continue,
            Err(error) => return Err(unwritable(&path, error)),
        }
    }
    unreachable!("some number is free")
}

/// Writes the folder under a temporary name; `install` then moves it to its path.
fn create_atomically(
    path: &Path,
    config: &str,
    data: &str,
    install: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let new = temporary_sibling(path, "new");
    let result = write_initial_files(&new, config, data).and_then(|()| install(&new));
    if result.is_err() {
        // The first error is reported.
        let _ = fs::remove_dir_all(&new);
    }
    result
}

fn write_initial_files(new: &Path, config: &str, data: &str) -> io::Result<()> {
    fs::create_dir_all(new)?;
    atomic::write(&new.join(CONFIG), config.as_bytes())?;
    atomic::write(&new.join(DATA), data.as_bytes())
}

/// A path in the same folder that only this process uses.
fn temporary_sibling(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{suffix}", std::process::id()))
}

/// Refuses to replace a folder that is not a run, or that has other files in it.
fn check_replaceable(path: &Path) -> Result<(), UserError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unwritable(path, error)),
    };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if let Some(other) = names.iter().find(|name| !ENTRIES.iter().any(|known| *name == known)) {
        let (folder, other) = (path.display(), other.display());
        let message = format!("{folder}: contains {other}, which is not part of a run");
        return Err(UserError::new(message, "move it away, or give another --out"));
    }
    if names.iter().any(|name| name == CONFIG) {
        // Fails if another process is working on the run.
        RunFolder::open(path)?;
    }
    Ok(())
}

fn replace_folder(new: &Path, path: &Path) -> io::Result<()> {
    let old = temporary_sibling(path, "old");
    match fs::rename(path, &old) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return fs::rename(new, path),
        Err(error) => return Err(error),
    }
    fs::rename(new, path)?;
    fs::remove_dir_all(old)
}
