//! The lock of a folder: one process at a time works on a run.

use super::LOCK;
use crate::UserError;
use crate::atomic::{is_same_file, open_regular};
use crate::files::unwritable;
use std::fs::{File, TryLockError};
use std::path::Path;

/// The lock of a folder. It is held until this value is dropped, or the process ends in any way.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// How often the lock is tried again because the folder was replaced meanwhile.
const ATTEMPTS: usize = 100;

/// Locks a folder for this process.
///
/// # Errors
/// If another process holds the lock, or the lock file cannot be written.
pub fn lock_folder(folder: &Path) -> Result<FolderLock, UserError> {
    let path = folder.join(LOCK);
    for _ in 0..ATTEMPTS {
        let file = open_regular(&path, File::options().create(true).append(true));
        let file = file.map_err(|error| unwritable(&path, error))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(in_use(folder));
        }
        // Some file systems do not support locks; everything else works without.
        // Between opening and locking, the holder may have replaced the folder.
        if is_same_file(&file, &path) {
            return Ok(FolderLock { _file: file });
        }
    }
    Err(in_use(folder))
}

fn in_use(folder: &Path) -> UserError {
    let message = format!("{}: another process is working on this run", folder.display());
    UserError::new(message, "wait until it ends, or stop it")
}
