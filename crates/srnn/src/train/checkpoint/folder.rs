//! Checkpoints in a folder.

use super::file_system::{FileSystem, OsFileSystem};
use super::manifest::{Manifest, damaged};
use super::state;
use super::{Checkpoint, CheckpointError, CheckpointStore, LatestCheckpoint, RunIdentity};
use crate::engine::Real;
use crate::train::progress::Progress;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The number of valid checkpoints that are kept. Two, so that damage to the newest is recoverable.
/// Each contains the best network's parameters, which need no checkpoint of their own.
const KEPT: usize = 2;

const MANIFEST: &str = "manifest.json";
const STATE: &str = "state.safetensors";
const PROGRESS: &str = "progress.json";

/// Enough for half a million evaluations. A larger file is a mistake or an attack.
const MAX_PROGRESS: u64 = 256 << 20;

/// Prefixes of temporary folders: being written, or being removed.
const HALF_WRITTEN: &str = ".new-";
const HALF_REMOVED: &str = ".old-";

/// Checkpoints in a folder, which belongs to one run and one process at a time.
pub struct CheckpointFolder {
    path: PathBuf,
    file_system: Box<dyn FileSystem>,
}

impl CheckpointFolder {
    /// The checkpoints in the folder at `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> CheckpointFolder {
        CheckpointFolder { path: path.into(), file_system: Box::new(OsFileSystem) }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The updates of all checkpoints, valid or not, newest first.
    pub fn list(&self) -> Result<Vec<u64>, CheckpointError> {
        let mut updates: Vec<u64> =
            self.names()?.iter().filter_map(|name| update_of(name)).collect();
        updates.sort_unstable_by(|a, b| b.cmp(a));
        Ok(updates)
    }

    /// Loads the checkpoint of an update. It fails if it is damaged or of another run.
    pub fn load<F: Real>(
        &self,
        identity: &RunIdentity,
        update: u64,
    ) -> Result<Checkpoint<F>, CheckpointError> {
        let folder = self.path.join(name_of(update));
        let path = folder.join(MANIFEST);
        let manifest = Manifest::read(&path)?;
        if manifest.update != update {
            let cause = format!("it is of update {}, but the folder of {update}", manifest.update);
            return Err(damaged(&path, cause));
        }
        manifest.check_run(&path, identity)?;
        let progress = read_progress(&manifest, &folder)?;
        let bytes = manifest.read_verified(&folder, STATE, state::max_bytes(identity))?;
        let checkpoint = state::decode(&bytes, identity, progress);
        checkpoint.map_err(|cause| damaged(&folder.join(STATE), cause))
    }

    fn names(&self) -> Result<Vec<String>, CheckpointError> {
        let failed = |source| error(&self.path, "list it", source);
        let entries = match fs::read_dir(&self.path) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            entries => entries.map_err(failed)?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        let names = names.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        Ok(names.into_iter().flatten().collect())
    }

    /// Writes the files into the temporary folder `new`.
    fn write_new(
        &mut self,
        new: &Path,
        files: &[(&str, &[u8])],
        manifest: &[u8],
    ) -> Result<(), CheckpointError> {
        self.make(new)?;
        for (name, bytes) in files.iter().copied().chain([(MANIFEST, manifest)]) {
            let path = new.join(name);
            self.file_system.write(&path, bytes).map_err(|e| error(&path, "write it", e))?;
        }
        self.sync(new)
    }

    fn make(&mut self, path: &Path) -> Result<(), CheckpointError> {
        self.file_system.create_dir_all(path).map_err(|e| error(path, "make the folder", e))
    }

    fn sync(&mut self, path: &Path) -> Result<(), CheckpointError> {
        self.file_system.sync_dir(path).map_err(|e| error(path, "flush the folder", e))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), CheckpointError> {
        self.file_system.rename(from, to).map_err(|e| error(to, "rename the folder to it", e))
    }

    fn remove(&mut self, path: &Path) -> Result<(), CheckpointError> {
        self.file_system.remove_dir_all(path).map_err(|e| error(path, "remove it", e))
    }

    /// Removes a checkpoint. The rename is atomic, so a crash leaves no partial checkpoint.
    fn remove_checkpoint(&mut self, update: u64) -> Result<(), CheckpointError> {
        let old = self.path.join(format!("{HALF_REMOVED}{}", name_of(update)));
        self.rename(&self.path.join(name_of(update)), &old)?;
        self.remove(&old)
    }

    /// Removes temporary folders that a crash left behind.
    fn remove_temporary(&mut self) -> Result<(), CheckpointError> {
        for name in self.names()? {
            if name.starts_with(HALF_WRITTEN) || name.starts_with(HALF_REMOVED) {
                self.remove(&self.path.join(name))?;
            }
        }
        Ok(())
    }

    /// Removes all but the newest valid checkpoints. Damaged ones do not count: they could displace
    /// the last valid one.
    fn prune<F: Real>(&mut self, identity: &RunIdentity) -> Result<(), CheckpointError> {
        let mut valid = 0;
        for update in self.list()? {
            if valid == KEPT {
                self.remove_checkpoint(update)?;
            } else if self.load::<F>(identity, update).is_ok() {
                valid += 1;
            }
        }
        Ok(())
    }
}

impl<F: Real> CheckpointStore<F> for CheckpointFolder {
    fn save(
        &mut self,
        identity: &RunIdentity,
        checkpoint: &Checkpoint<F>,
    ) -> Result<(), CheckpointError> {
        let update = checkpoint.progress.update;
        // The same run always writes the same bits: a valid checkpoint is already this one.
        let exists = self.list()?.contains(&update);
        if exists && self.load::<F>(identity, update).is_ok() {
            return Ok(());
        }
        let progress = serde_json::to_vec(&checkpoint.progress).expect("progress is plain data");
        let state = state::encode(checkpoint);
        let files = [(PROGRESS, &progress[..]), (STATE, &state[..])];
        let manifest = serde_json::to_vec_pretty(&Manifest::of(identity, update, &files))
            .expect("a manifest is plain data");
        self.make(&self.path.clone())?;
        self.remove_temporary()?;
        let new = self.path.join(format!("{HALF_WRITTEN}{}", name_of(update)));
        if let Err(error) = self.write_new(&new, &files, &manifest) {
            // A partial checkpoint only takes space. If this fails too, the next save removes it.
            let _ = self.file_system.remove_dir_all(&new);
            return Err(error);
        }
        if exists {
            self.remove_checkpoint(update)?;
        }
        self.rename(&new, &self.path.join(name_of(update)))?;
        self.sync(&self.path.clone())?;
        self.prune::<F>(identity)
    }

    fn latest(&mut self, identity: &RunIdentity) -> Result<LatestCheckpoint<F>, CheckpointError> {
        let mut skipped = vec![];
        for update in self.list()? {
            match self.load(identity, update) {
                Ok(checkpoint) => {
                    return Ok(LatestCheckpoint { checkpoint: Some(checkpoint), skipped });
                }
                // This is no damage: older checkpoints are of another run too.
                Err(other @ CheckpointError::OtherRun { .. }) => return Err(other),
                Err(error) => skipped.push(error),
            }
        }
        if skipped.is_empty() {
            return Ok(LatestCheckpoint { checkpoint: None, skipped });
        }
        Err(CheckpointError::NoneValid { path: self.path.clone(), skipped })
    }
}

fn read_progress(manifest: &Manifest, folder: &Path) -> Result<Progress, CheckpointError> {
    let path = folder.join(PROGRESS);
    let bytes = manifest.read_verified(folder, PROGRESS, MAX_PROGRESS)?;
    let progress: Progress = serde_json::from_slice(&bytes).map_err(|e| damaged(&path, e))?;
    if progress.update != manifest.update {
        let cause = format!("it is of update {}, not {}", progress.update, manifest.update);
        return Err(damaged(&path, cause));
    }
    Ok(progress)
}

fn name_of(update: u64) -> String {
    format!("update-{update:07}")
}

/// The update of a checkpoint folder. Only the exact form of [`name_of`] is accepted.
fn update_of(name: &str) -> Option<u64> {
    let update = name.strip_prefix("update-")?.parse().ok()?;
    (name_of(update) == name).then_some(update)
}

fn error(path: &Path, doing: &'static str, source: io::Error) -> CheckpointError {
    CheckpointError::Io { path: path.to_path_buf(), doing, source }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
