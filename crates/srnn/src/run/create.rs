//! The folder of a new run. It is written under a temporary name and locked before it takes its
//! place, so that no other process can come between.

use super::exchange::{Installed, exchange};
use super::lock::lock_folder;
use super::{ENTRIES, FolderLock, LOCK, RunFolder, RunLocation, check_is_run, check_own_files};
use crate::UserError;
use crate::atomic::{
    self, IfExists, abandoned_siblings, is_temporary, rename_new, temporary_sibling,
};
use crate::files::{create_folder, unwritable};
use crate::format::shell_word;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names and texts of the first files of a run.
type InitialFiles<'a> = [(&'a str, &'a str)];

/// Suffixes of temporary folders: a run that is being made, and a run that is being replaced.
const NEW: &str = "new";
pub(super) const OLD: &str = "old";

/// How often a folder is tried again because another process made or removed it meanwhile.
const ATTEMPTS: usize = 100;

/// A temporary folder without a lock is abandoned if it is older than this: its process locks it at
/// once.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Creates and locks the folder of a run.
pub fn create(location: &RunLocation, files: &InitialFiles<'_>) -> Result<RunFolder, UserError> {
    match location {
        RunLocation::Numbered(name) => create_numbered(name, files),
        RunLocation::New(path) => {
            let new = NewFolder::write(path, files).map_err(|error| creation_error(path, error))?;
            new.install(path).map_err(|(_, error)| creation_error(path, error))
        }
        RunLocation::Replace(path) => replace(path, files),
    }
}

/// A complete and locked folder that has not taken its place yet. Dropped before, it is removed.
struct NewFolder {
    path: PathBuf,
    /// `None` after it has taken its place.
    lock: Option<FolderLock>,
}

impl NewFolder {
    /// Writes the files of a run into a folder beside `path`.
    fn write(path: &Path, files: &InitialFiles<'_>) -> io::Result<NewFolder> {
        if let Some(parent) = path.parent() {
            create_folder(parent)?;
        }
        remove_abandoned(path)?;
        let new = NewFolder::locked(path)?;
        for (name, text) in files {
            atomic::write(&new.path.join(name), text.as_bytes(), IfExists::Refuse)?;
        }
        Ok(new)
    }

    fn locked(path: &Path) -> io::Result<NewFolder> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let new = temporary_sibling(path, NEW);
            match fs::create_dir(&new) {
                // Of a killed process with the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            match lock_folder(&new) {
                Ok(lock) => return Ok(NewFolder { path: new, lock: Some(lock) }),
                // Another process may have taken the folder for an abandoned one.
                Err(error) => last = Some(error),
            }
            let _ = fs::remove_dir_all(&new);
        }
        Err(last.map_or(ErrorKind::AlreadyExists.into(), io::Error::other))
    }

    /// Moves the folder to a path where nothing is, or an empty folder.
    fn install(self, path: &Path) -> Result<RunFolder, (NewFolder, io::Error)> {
        self.install_by(path, |new| fs::rename(new, path))
    }

    fn install_by(
        mut self,
        path: &Path,
        rename: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<RunFolder, (NewFolder, io::Error)> {
        match rename(&self.path) {
            Ok(()) => Ok(self.opened(path, None)),
            Err(error) => Err((self, error)),
        }
    }

    fn opened(&mut self, path: &Path, not_removed: Option<PathBuf>) -> RunFolder {
        let lock = self.lock.take().expect("a folder takes its place once");
        RunFolder { path: path.into(), _lock: lock, not_removed }
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // The error that prevented the folder from taking its place is reported.
        if self.lock.is_some() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn create_numbered(name: &str, files: &InitialFiles<'_>) -> Result<RunFolder, UserError> {
    let runs = Path::new("runs");
    for number in 1.. {
        let path = match number {
            1 => runs.join(name),
            _ => runs.join(format!("{name}-{number}")),
        };
        if path.symlink_metadata().is_ok() {
            continue;
        }
        let new = NewFolder::write(&path, files).map_err(|error| unwritable(&path, error))?;
        match new.install_by(&path, |new| rename_new(new, &path)) {
            Ok(run) => return Ok(run),
            Err((_, error)) if is_occupied(&error) => continue,
            Err((_, error)) => return Err(unwritable(&path, error)),
        }
    }
    unreachable!("some number is free")
}

/// Replaces the run at `path`. Its lock is held from the check until it is removed, and the lock of
/// the new run from before it takes its place.
fn replace(path: &Path, files: &InitialFiles<'_>) -> Result<RunFolder, UserError> {
    let mut new = NewFolder::write(path, files).map_err(|error| unwritable(path, error))?;
    for _ in 0..ATTEMPTS {
        check_is_folder(path)?;
        new = match new.install(path) {
            Ok(run) => return Ok(run),
            Err((new, error)) if is_occupied(&error) => new,
            Err((_, error)) => return Err(unwritable(path, error)),
        };
        if !path.is_dir() {
            continue;
        }
        check_is_run(path)?;
        let old_lock = lock_folder(path)?;
        check_replaceable(path)?;
        let Installed { not_removed } = exchange(&new.path, path)?;
        drop(old_lock);
        return Ok(new.opened(path, not_removed));
    }
    let message = format!("{}: other processes keep replacing this run", path.display());
    Err(UserError::new(message, "wait until they end, or give another --out"))
}

fn is_occupied(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists)
}

fn check_is_folder(path: &Path) -> Result<(), UserError> {
    let Ok(about) = path.symlink_metadata() else { return Ok(()) };
    if about.is_symlink() {
        let message = format!("{}: this is a symbolic link, not a run", path.display());
        return Err(UserError::new(message, "give the folder that it names as --out"));
    }
    if !about.is_dir() {
        return Err(creation_error(path, ErrorKind::NotADirectory.into()));
    }
    Ok(())
}

/// Refuses to replace a folder that has other files than those of a run in it. The caller holds its
/// lock.
fn check_replaceable(path: &Path) -> Result<(), UserError> {
    let entries = fs::read_dir(path).map_err(|error| unwritable(path, error))?;
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    if let Some(other) = names.iter().find(|name| !is_run_file(name)) {
        let (folder, other) = (path.display(), other.display());
        let message = format!("{folder}: contains {other}, which is not part of a run");
        return Err(UserError::new(message, "move it away, or give another --out"));
    }
    check_own_files(path)
}

fn creation_error(path: &Path, error: io::Error) -> UserError {
    let shown = path.display();
    match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => UserError::new(
            format!("{shown}: this folder exists already"),
            format!(
                "--force replaces the run, `srnn resume {}` continues it, or give another --out",
                shell_word(&path.to_string_lossy())
            ),
        ),
        ErrorKind::NotADirectory => {
            let message = format!("{shown}: this is a file, not a folder, or within a file");
            UserError::new(message, "give another --out DIR")
        }
        _ => unwritable(path, error),
    }
}

/// Removes temporary folders beside `path` whose process was killed. The run that a killed process
/// was replacing is put back if nothing is in its place. Errors are ignored, because these folders
/// are in nobody's way.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    for old in abandoned_siblings(path, OLD)?.iter().filter(|folder| is_ours(folder)) {
        // The lock is held by the process that replaces the run.
        let Ok(_lock) = lock_folder(old) else { continue };
        if rename_new(old, path).is_err() {
            let _ = fs::remove_dir_all(old);
        }
    }
    for new in abandoned_siblings(path, NEW)?.iter().filter(|folder| is_ours(folder)) {
        let has_lock = new.join(LOCK).symlink_metadata().is_ok();
        let lock = has_lock.then(|| lock_folder(new));
        if lock.map_or(is_old(new), |lock| lock.is_ok()) {
            let _ = fs::remove_dir_all(new);
        }
    }
    Ok(())
}

/// Whether this is a folder with nothing but files of a run in it.
fn is_ours(folder: &Path) -> bool {
    let is_folder = folder.symlink_metadata().is_ok_and(|about| about.is_dir());
    let entries = fs::read_dir(folder).into_iter().flatten();
    is_folder && entries.flatten().all(|entry| is_run_file(&entry.file_name()))
}

/// Whether this is the name of an entry of a run folder.
fn is_run_file(name: &OsStr) -> bool {
    ENTRIES.iter().any(|known| name == *known) || is_temporary(name)
}

fn is_old(folder: &Path) -> bool {
    let changed = folder.metadata().and_then(|about| about.modified());
    changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED_AFTER))
}
