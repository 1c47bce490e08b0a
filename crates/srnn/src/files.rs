//! Files written whole, with the remedy in every error.

use crate::UserError;
use crate::atomic;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Replaces a file, and makes its folder if there is none. Nobody sees half of it: it is written
/// beside its place and renamed.
pub fn write(path: &Path, text: &str) -> Result<(), UserError> {
    write_bytes(path, text.as_bytes())
}

/// The same for bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), UserError> {
    if path.file_name().is_none() {
        return Err(UserError::new(format!("{}: names no file", path.display()), "name a file"));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| unwritable(path, error))?;
    }
    atomic::write(path, bytes).map_err(|error| unwritable(path, error))
}

/// An error of the file system about a file to be written.
pub fn unwritable(path: &Path, error: io::Error) -> UserError {
    let remedy = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, then `srnn resume` the run: what was saved is intact"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make the folder writable, or name another one"
        }
        _ => "check that the folder may be written to and has space",
    };
    UserError::new(format!("{}: cannot be written: {error}", path.display()), remedy)
}
