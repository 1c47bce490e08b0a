//! Files that are written whole: after a crash a file has either its old or its new content.
//!
//! Every file of the program is written here, except those that grow line by line. Those are opened
//! by [`open_regular`]. What exists is replaced only if it is a regular file and the caller says so.

mod regular;
mod rename;
mod temporary;

pub use regular::{check_target, irregular_kind, is_same_file, open_regular};
pub use rename::{exchange, rename_new};
pub use temporary::{abandoned_siblings, is_temporary, temporary_sibling};

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What happens if there is a regular file at the path. Anything else, such as a symbolic link, a
/// pipe or a device, is never replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// The file stays, and writing fails with [`io::ErrorKind::AlreadyExists`].
    Refuse,
    /// The file is replaced: it belongs to the caller, or the user asked for it.
    Replace,
}

/// A file that is written under a temporary name. [`commit`](PendingFile::commit) moves it to its
/// path; dropped before, it is removed.
#[derive(Debug)]
pub struct PendingFile {
    /// Locked, so that other processes know that the file is in use.
    file: File,
    temp_path: PathBuf,
    path: PathBuf,
    if_exists: IfExists,
}

/// Writes a file: writes a temporary file, syncs it to disk, renames it.
pub fn write(path: &Path, bytes: &[u8], if_exists: IfExists) -> io::Result<()> {
    let mut pending = PendingFile::create(path, if_exists)?;
    pending.write_all(bytes)?;
    pending.commit()
}

impl PendingFile {
    /// Creates a temporary file in the folder of `path`. Temporary files for the same path that
    /// killed processes left there are removed.
    pub fn create(path: &Path, if_exists: IfExists) -> io::Result<PendingFile> {
        check_target(path, if_exists)?;
        for abandoned in abandoned_siblings(path, temporary::FILE)? {
            remove_if_unlocked(&abandoned);
        }
        let (file, temp_path) = create_locked(path)?;
        Ok(PendingFile { file, temp_path, path: path.to_path_buf(), if_exists })
    }

    /// The path of the temporary file.
    pub fn temp_path(&self) -> &Path {
        &self.temp_path
    }

    /// Syncs the file to disk and renames it to its path.
    pub fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        check_target(&self.path, self.if_exists)?;
        match self.if_exists {
            IfExists::Refuse => rename_new(&self.temp_path, &self.path)?,
            IfExists::Replace => fs::rename(&self.temp_path, &self.path)?,
        }
        sync_folder(&self.path)
    }
}

impl io::Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a commit there is nothing to remove. An error here is ignored: an earlier error is
        // the one to report.
        let _ = fs::remove_file(&self.temp_path);
    }
}

/// Creates and locks a temporary file. A name that a killed process has used is passed over.
fn create_locked(path: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let temp_path = temporary_sibling(path, temporary::FILE);
        let file = match File::create_new(&temp_path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        // Another process may take the file for an abandoned one before it is locked.
        let in_use = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if !in_use && is_same_file(&file, &temp_path) {
            return Ok((file, temp_path));
        }
    }
}

/// Removes a temporary file whose process has ended. Errors are ignored: the file is in nobody's way.
fn remove_if_unlocked(path: &Path) {
    if let Ok(file) = open_regular(path, File::options().read(true))
        && file.try_lock().is_ok()
        && is_same_file(&file, path)
    {
        let _ = fs::remove_file(path);
    }
}

/// Syncs the folder: the rename is durable only after that.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if folder != Path::new("") => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

/// Does nothing: elsewhere a folder cannot be opened as a file.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
