//! The run folder: it appears whole or not at all, and belongs to one process at a time.

use crate::failure::Failure;
use crate::runs;
use srnn::atomic;
use srnn::learn::Round;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

const CONFIG: &str = "config.toml";
const DATA: &str = "data.json";
const METRICS: &str = "metrics.jsonl";
const CHECKPOINTS: &str = "checkpoints";
const MODEL: &str = "model";
const AUTOMATON: &str = "automaton";
const WRONG_LABELS: &str = runs::WRONG_LABELS;
const CERTIFICATE: &str = runs::CERTIFICATE;
const RESULT: &str = "result.json";
const LOCK: &str = ".lock";

/// All that a run folder holds; a folder with anything else in it is never replaced.
const NAMES: [&str; 10] =
    [CONFIG, DATA, METRICS, CHECKPOINTS, MODEL, AUTOMATON, WRONG_LABELS, CERTIFICATE, RESULT, LOCK];

/// Where a new run goes.
#[derive(Clone, Debug)]
pub enum Place {
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
    pub fn create(place: &Place, config: &str, data: &str) -> Result<RunFolder, Failure> {
        let path = match place {
            Place::Fresh(name) => fresh(name, config, data)?,
            Place::At(path) => {
                let renamed = |new: &Path| fs::rename(new, path);
                built(path, config, data, renamed).map_err(|error| taken(path, error))?;
                path.clone()
            }
            Place::Instead(path) => {
                check_replaceable(path)?;
                let exchanged = |new: &Path| exchange(new, path);
                built(path, config, data, exchanged).map_err(|error| failed(path, error))?;
                path.clone()
            }
        };
        RunFolder::open(&path)
    }

    /// Opens the folder of a run that was begun.
    pub fn open(path: &Path) -> Result<RunFolder, Failure> {
        if !path.join(CONFIG).is_file() {
            let message = format!("{}: this is no run: it has no {CONFIG}", path.display());
            let remedy = match path.exists() {
                true => "name a folder that `srnn learn` made".into(),
                false => runs::meant(path),
            };
            return Err(Failure::new(message, remedy));
        }
        Ok(RunFolder { path: path.into(), _lock: locked(path)? })
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

/// Takes a folder for this process, as long as the file is kept.
pub fn locked(folder: &Path) -> Result<File, Failure> {
    let file = folder.join(LOCK);
    let lock = File::options().create(true).append(true).open(&file);
    let lock = lock.map_err(|error| failed(&file, error))?;
    match lock.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let message = format!("{}: another process works on this run", folder.display());
            Err(Failure::new(message, "wait for it, or end it"))
        }
        // Some file systems have no locks; the rest works without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(lock),
    }
}

/// Writes a file of a run whole.
pub fn put(path: &Path, text: &str) -> Result<(), Failure> {
    atomic::write(path, text.as_bytes()).map_err(|error| failed(path, error))
}

/// An error of the file system about a run's file.
pub fn failed(path: &Path, error: io::Error) -> Failure {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, then `srnn resume` the run: what was saved is intact"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make the folder writable, or give another one with --out DIR"
        }
        _ => "check the path, or give another one with --out DIR",
    };
    Failure::new(format!("{}: cannot be written: {error}", path.display()), remedy)
}

fn taken(path: &Path, error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
            let message = format!("{}: the folder is there already", path.display());
            let run = path.display();
            Failure::new(
                message,
                format!(
                    "--force replaces the run in it, `srnn resume {run}` goes on with it, or give another --out"
                ),
            )
        }
        ErrorKind::NotADirectory => {
            let message = format!("{}: this is a file, not a folder", path.display());
            Failure::new(message, "give another --out DIR")
        }
        _ => failed(path, error),
    }
}

fn fresh(name: &str, config: &str, data: &str) -> Result<PathBuf, Failure> {
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
            Err(error) => return Err(failed(&path, error)),
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
fn check_replaceable(path: &Path) -> Result<(), Failure> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(path, error)),
    };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if let Some(other) = names.iter().find(|name| !NAMES.iter().any(|known| *name == known)) {
        let (folder, other) = (path.display(), other.display());
        let message = format!("{folder}: holds {other}, which is no part of a run");
        return Err(Failure::new(message, "move it away, or give another --out"));
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
