//! Atomic writes, with a remedy in every error.

use crate::UserError;
use crate::atomic;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Writes or replaces a file atomically, and creates its folder if needed.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), UserError> {
    write_bytes(path, text.as_bytes())
}

/// Like [`write()`], for bytes.
///
/// # Errors
/// If the file cannot be written.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), UserError> {
    if path.file_name().is_none() {
        return Err(UserError::new(
            format!("{}: this is not a file name", path.display()),
            "give the name of a file",
        ));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| unwritable(path, error))?;
    }
    atomic::write(path, bytes).map_err(|error| unwritable(path, error))
}

/// The error for a file that could not be written.
pub fn unwritable(path: &Path, error: io::Error) -> UserError {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, then `srnn resume` the run: its checkpoints are intact"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make the folder writable, or name another one"
        }
        _ => "check that the folder is writable and has free space",
    };
    UserError::new(format!("{}: cannot be written: {error}", path.display()), remedy)
}
