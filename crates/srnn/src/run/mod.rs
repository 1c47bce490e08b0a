//! The folder of a run: it appears whole or not at all, and one process at a time may use it.

mod metrics;

pub use metrics::{Metrics, metrics_of};

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
/// The file of labels believed wrong.
pub const WRONG_LABELS: &str = "wrong_labels.jsonl";
/// The file of the proof.
pub const CERTIFICATE: &str = "certificate.json";
/// The file of the result. A run that has it is finished.
pub const RESULT: &str = "result.json";
const LOCK: &str = ".lock";

/// All that a run folder holds; a folder with anything else in it is never replaced.
const NAMES: [&str; 10] =
    [CONFIG, DATA, METRICS, CHECKPOINTS, MODEL, AUTOMATON, WRONG_LABELS, CERTIFICATE, RESULT, LOCK];

/// Where a new run goes.
#[derive(Clone, Debug)]
pub enum RunPlace {
    /// `runs/NAME`, or the first free of `NAME-2`, `NAME-3`, …
    Fresh(String),
    /// This folder, which must not be there or be empty.
    At(PathBuf),
    /// This folder, in the place of the run that is there.
    Instead(PathBuf),
}

/// A run's folder, locked for this process.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The system lets go of it however the process ends.
    _lock: File,
}

impl RunFolder {
    /// Makes the folder of a new run, with its configuration and the account of its data.
    pub fn create(place: &RunPlace, config: &str, data: &str) -> Result<RunFolder, UserError> {
        let path = match place {
            RunPlace::Fresh(name) => fresh(name, config, data)?,
            RunPlace::At(path) => {
                let renamed = |new: &Path| fs::rename(new, path);
                built(path, config, data, renamed).map_err(|error| taken(path, error))?;
                path.clone()
            }
            RunPlace::Instead(path) => {
                check_replaceable(path)?;
                let exchanged = |new: &Path| exchange(new, path);
                built(path, config, data, exchanged).map_err(|error| unwritable(path, error))?;
                path.clone()
            }
        };
        RunFolder::open(&path)
    }

    /// Opens the folder of a run that was begun.
    pub fn open(path: &Path) -> Result<RunFolder, UserError> {
        if !path.join(CONFIG).is_file() {
            let message = format!("{}: this is no run: it has no {CONFIG}", path.display());
            return Err(UserError::new(message, "name a folder that `srnn learn` made"));
        }
        Ok(RunFolder { path: path.into(), _lock: lock(path)? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join(CONFIG)
    }

    /// The account of the data.
    pub fn data(&self) -> PathBuf {
        self.path.join(DATA)
    }

    /// A line for every evaluation of every seed.
    pub fn metrics(&self) -> PathBuf {
        self.path.join(METRICS)
    }

    /// A seed's checkpoints.
    pub fn checkpoints(&self, round: Round, seed: u64) -> PathBuf {
        self.path.join(CHECKPOINTS).join(match round {
            Round::Given => format!("seed-{seed}"),
            Round::Believed => format!("believed-seed-{seed}"),
            Round::Whole => format!("whole-seed-{seed}"),
        })
    }

    /// The kept network.
    pub fn model(&self) -> PathBuf {
        self.path.join(MODEL)
    }

    /// The automata.
    pub fn automaton(&self) -> PathBuf {
        self.path.join(AUTOMATON)
    }

    /// The labels believed wrong, where some are.
    pub fn wrong_labels(&self) -> PathBuf {
        self.path.join(WRONG_LABELS)
    }

    /// The proof.
    pub fn certificate(&self) -> PathBuf {
        self.path.join(CERTIFICATE)
    }

    /// What came of it. Written last: a run that has it is finished.
    pub fn result(&self) -> PathBuf {
        self.path.join(RESULT)
    }
}

/// Locks a folder for this process, for as long as the file is open.
pub fn lock(folder: &Path) -> Result<File, UserError> {
    let file = folder.join(LOCK);
    let file_lock = File::options().create(true).append(true).open(&file);
    let file_lock = file_lock.map_err(|error| unwritable(&file, error))?;
    match file_lock.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let message = format!("{}: another process works on this run", folder.display());
            Err(UserError::new(message, "wait for it, or end it"))
        }
        // Some file systems have no locks; the rest works without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file_lock),
    }
}

fn taken(path: &Path, error: io::Error) -> UserError {
    match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
            let message = format!("{}: the folder is there already", path.display());
            let run = path.display();
            UserError::new(
                message,
                format!(
                    "--force replaces the run in it, `srnn resume {run}` goes on with it, or give another --out"
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

fn fresh(name: &str, config: &str, data: &str) -> Result<PathBuf, UserError> {
    let runs = Path::new("runs");
    for number in 1.. {
        let path = match number {
            1 => runs.join(name),
            _ => runs.join(format!("{name}-{number}")),
        };
        // An empty folder would be replaced; someone may just have made it for something else.
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match built(&path, config, data, |new| fs::rename(new, &path)) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => continue,
            Err(error) => return Err(unwritable(&path, error)),
        }
    }
    unreachable!("some number is free")
}

/// Makes the folder beside its place, then puts it there in one step.
fn built(
    path: &Path,
    config: &str,
    data: &str,
    put_there: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let new = beside(path, "new");
    let result = fill(&new, config, data).and_then(|()| put_there(&new));
    if result.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_dir_all(&new);
    }
    result
}

fn fill(new: &Path, config: &str, data: &str) -> io::Result<()> {
    fs::create_dir_all(new)?;
    atomic::write(&new.join(CONFIG), config.as_bytes())?;
    atomic::write(&new.join(DATA), data.as_bytes())
}

/// A name beside `path`, of this process alone.
fn beside(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{what}", std::process::id()))
}

/// Only a run may be replaced, and nothing but a run goes with it.
fn check_replaceable(path: &Path) -> Result<(), UserError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unwritable(path, error)),
    };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if let Some(other) = names.iter().find(|name| !NAMES.iter().any(|known| *name == known)) {
        let (folder, other) = (path.display(), other.display());
        let message = format!("{folder}: holds {other}, which is no part of a run");
        return Err(UserError::new(message, "move it away, or give another --out"));
    }
    if names.iter().any(|name| name == CONFIG) {
        // Refuses to take a run away from a process that works on it.
        RunFolder::open(path)?;
    }
    Ok(())
}

fn exchange(new: &Path, path: &Path) -> io::Result<()> {
    let old = beside(path, "old");
    match fs::rename(path, &old) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return fs::rename(new, path),
        Err(error) => return Err(error),
    }
    fs::rename(new, path)?;
    fs::remove_dir_all(old)
}
