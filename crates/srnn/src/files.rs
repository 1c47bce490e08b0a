//! Atomic writes, with a remedy in every error.

use crate::UserError;
use crate::atomic::{self, IfExists};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Writes or replaces a file of the caller's own atomically, and creates its folder if needed.
///
/// # Errors
/// If the file cannot be written, or something else than a regular file is there.
pub fn write(path: &Path, text: &str) -> Result<(), UserError> {
    write_bytes(path, text.as_bytes(), IfExists::Replace)
}

/// Writes a file atomically, and creates its folder if needed.
///
/// # Errors
/// If the file cannot be written, or what is there may not be replaced.
pub fn write_bytes(path: &Path, bytes: &[u8], if_exists: IfExists) -> Result<(), UserError> {
    check_target(path, if_exists)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder).map_err(|error| unwritable(path, error))?;
    }
    atomic::write(path, bytes, if_exists).map_err(|error| unwritable(path, error))
}

/// Creates a folder and its parents. A file in its place is [`ErrorKind::NotADirectory`].
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let why = format!("{} is a file, not a folder", folder.display());
            io::Error::new(ErrorKind::NotADirectory, why)
        }
        _ => error,
    })
}

/// Whether a file may be written to `path`: before long work, and again by [`write_bytes`].
///
/// # Errors
/// If this is no file name, or what is there may not be replaced.
pub fn check_target(path: &Path, if_exists: IfExists) -> Result<(), UserError> {
    if path.file_name().is_none() {
        return Err(UserError::new(
            format!("{}: this is not a file name", path.display()),
            "give the name of a file",
        ));
    }
    match atomic::check_target(path, if_exists) {
        // A missing or unreadable folder is reported when the file is written.
        Err(error)
            if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::InvalidInput) =>
        {
            Err(unwritable(path, error))
        }
        _ => Ok(()),
    }
}

/// The error for a file that could not be written.
pub fn unwritable(path: &Path, error: io::Error) -> UserError {
    let remedy = match error.kind() {
        ErrorKind::AlreadyExists => {
            let message = format!("{}: {error}", path.display());
            return UserError::new(message, "--force replaces it, or give another name");
        }
        ErrorKind::InvalidInput => "only regular files are written: give another name",
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
