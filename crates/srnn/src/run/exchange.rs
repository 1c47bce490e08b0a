//! Puts a new folder in the place of an old one. At no moment is nothing there, if the system can
//! exchange folders. Else the old one is renamed and put back after an error.

use super::create::OLD;
use crate::UserError;
use crate::atomic::{self, temporary_sibling};
use crate::files::unwritable;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The new folder is in its place.
pub struct Installed {
    /// The old folder, if it could not be removed.
    pub not_removed: Option<PathBuf>,
}

/// Exchanges the folders `new` and `path`, and removes the old one.
///
/// # Errors
/// If the new folder could not take its place. The error says where the old one is.
pub fn exchange(new: &Path, path: &Path) -> Result<Installed, UserError> {
    let old = match atomic::exchange(new, path) {
        Ok(()) => new.to_path_buf(),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            rename_both(new, path, &mut |from, to| fs::rename(from, to))?
        }
        Err(error) => return Err(unwritable(path, error)),
    };
    let not_removed = fs::remove_dir_all(&old).is_err().then_some(old);
    Ok(Installed { not_removed })
}

/// The exchange by two renames. Returns where the old folder is.
fn rename_both(
    new: &Path,
    path: &Path,
    rename: &mut dyn FnMut(&Path, &Path) -> io::Result<()>,
) -> Result<PathBuf, UserError> {
    let old = temporary_sibling(path, OLD);
    rename(path, &old).map_err(|error| unwritable(path, error))?;
    let Err(error) = rename(new, path) else { return Ok(old) };
    match rename(&old, path) {
        Ok(()) => {
            let message = format!("{}: the run cannot be replaced: {error}", path.display());
            Err(UserError::new(message, "the old run is there, unchanged; give another --out"))
        }
        Err(_) => {
            let (path, old) = (path.display(), old.display());
            let message = format!("{path}: the run cannot be replaced: {error}");
            Err(UserError::new(message, format!("the old run is now {old}: rename it to {path}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the runs `old` and `new`, each with its name in it.
    fn two_runs() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["new", "old"].map(|name| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("name"), name).unwrap();
            path
        });
        (folder, new, old)
    }

    fn name(run: &Path) -> String {
        fs::read_to_string(run.join("name")).unwrap()
    }

    #[test]
    fn the_new_folder_takes_the_place_of_the_old_one() {
        let (folder, new, path) = two_runs();
        assert!(exchange(&new, &path).unwrap().not_removed.is_none());
        assert_eq!(name(&path), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let (_folder, new, path) = two_runs();
        let old = rename_both(&new, &path, &mut |from, to| fs::rename(from, to)).unwrap();
        assert_eq!([name(&path), name(&old)], ["new", "old"]);
    }

    #[test]
    fn after_an_error_the_old_folder_is_in_its_place_or_the_error_names_it() {
        for working in 0..3 {
            let (_folder, new, path) = two_runs();
            let mut calls = 0;
            let mut moved = None;
            let mut rename = |from: &Path, to: &Path| {
                calls += 1;
                // The second rename always fails; the one back if fewer than two work.
                if calls == 2 || calls > working.max(1) + 1 || working == 0 {
                    return Err(io::Error::other("no"));
                }
                if calls == 1 {
                    moved = Some(to.to_path_buf());
                }
                fs::rename(from, to)
            };
            let error = rename_both(&new, &path, &mut rename).unwrap_err();
            match working {
                0 => assert_eq!(name(&path), "old"),
                1 => {
                    let old = moved.unwrap();
                    assert_eq!(name(&old), "old");
                    assert!(error.remedy.contains(&old.display().to_string()), "{error:?}");
                }
                _ => {
                    assert_eq!(name(&path), "old");
                    assert!(error.remedy.contains("the old run is there"), "{error:?}");
                }
            }
        }
    }
}
