//! The files in a folder of ours. Somebody else may have put links, pipes or devices there: they are
//! never followed or waited for.

use super::{AUTOMATON, MODEL};
use crate::UserError;
use crate::atomic::{irregular_kind, is_temporary};
use std::fs;
use std::io;
use std::path::Path;

/// Folders in a run folder are not nested deeper: `checkpoints/SEED/UPDATE`, `models/DATA/MODEL/…`.
const MAX_DEPTH: usize = 8;

/// Refuses a folder that has anything but regular files and folders in it.
///
/// # Errors
/// If there is something else, such as a link, or a folder cannot be read.
pub fn check_own_files(folder: &Path) -> Result<(), UserError> {
    check_within(folder, MAX_DEPTH)
}

fn check_within(folder: &Path, depth: usize) -> Result<(), UserError> {
    let refused = |path: &Path, what: String| {
        let message = format!("{}: {what}", path.display());
        UserError::new(message, "move it away: a run has only files and folders of its own")
    };
    let entries = match fs::read_dir(folder) {
        // A file or folder may be removed by another process meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| refused(folder, error.to_string()))?,
    };
    for entry in entries {
        let entry = entry.map_err(|error| refused(folder, error.to_string()))?;
        let Ok(kind) = entry.file_type() else { continue };
        let path = entry.path();
        if let Some(kind) = irregular_kind(kind) {
            return Err(refused(&path, format!("this is {kind}, not a file of the run")));
        }
        if kind.is_dir() {
            match depth {
                0 => return Err(refused(&path, "folders are nested too deeply".into())),
                _ => check_within(&path, depth - 1)?,
            }
        }
    }
    Ok(())
}

/// Removes temporary files that a killed process left in a run folder. The caller holds its lock.
/// Errors are ignored: the files are in nobody's way.
pub fn remove_temporary_files(run: &Path) {
    for folder in [run.to_path_buf(), run.join(MODEL), run.join(AUTOMATON)] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_temporary(&entry.file_name())) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
