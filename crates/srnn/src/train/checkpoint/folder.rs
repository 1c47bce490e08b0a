//! Checkpoints in a folder.

use super::disk::{self, Disk};
use super::manifest::{Manifest, damaged};
use super::state;
use super::{Checkpoint, CheckpointError, Identity, Keeper, Latest};
use crate::engine::Real;
use crate::train::progress::Progress;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many good checkpoints stay. Two, so that damage to the newest is not the end; the best
/// network's parameters are inside each, so that no third one is needed for them.
const STAY: usize = 2;

const MANIFEST: &str = "manifest.json";
const STATE: &str = "state.safetensors";
const PROGRESS: &str = "progress.json";

/// Half a million evaluations; more is a mistake or an attack.
const MAX_PROGRESS: u64 = 256 << 20;

/// Names that are not checkpoints: being written, or being removed.
const HALF_WRITTEN: &str = ".new-";
const HALF_REMOVED: &str = ".old-";

/// Checkpoints in a folder. It belongs to one run and one process at a time.
pub struct Folder {
    path: PathBuf,
    disk: Box<dyn Disk>,
}

impl Folder {
    /// The checkpoints in the folder at `path`, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into(), disk: Box::new(disk::Real) }
    }

    /// Where.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The updates of all checkpoints, good or not, newest first.
    pub fn list(&self) -> Result<Vec<u64>, CheckpointError> {
        let mut updates: Vec<u64> =
            self.names()?.iter().filter_map(|name| update_of(name)).collect();
        updates.sort_unstable_by(|a, b| b.cmp(a));
        Ok(updates)
    }

    /// The checkpoint of an update, if it is good and of this run.
    pub fn load<F: Real>(
        &self,
        identity: &Identity,
        update: u64,
    ) -> Result<Checkpoint<F>, CheckpointError> {
        let folder = self.path.join(name_of(update));
        let path = folder.join(MANIFEST);
        let manifest = Manifest::read(&path)?;
        if manifest.update != update {
            let cause = format!("it is of update {}, the folder of {update}", manifest.update);
            return Err(damaged(&path, cause));
        }
        manifest.check_run(&path, identity)?;
        let progress = read_progress(&manifest, &folder)?;
        let bytes = manifest.read_sealed(&folder, STATE, state::largest(identity))?;
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

    /// Writes the files beside their place.
    fn write_new(
        &mut self,
        new: &Path,
        files: &[(&str, &[u8])],
        manifest: &[u8],
    ) -> Result<(), CheckpointError> {
        self.make(new)?;
        for (name, bytes) in files.iter().copied().chain([(MANIFEST, manifest)]) {
            let path = new.join(name);
            self.disk.write(&path, bytes).map_err(|e| error(&path, "write it", e))?;
        }
        self.sync(new)
    }

    fn make(&mut self, path: &Path) -> Result<(), CheckpointError> {
        self.disk.create_dir_all(path).map_err(|e| error(path, "make the folder", e))
    }

    fn sync(&mut self, path: &Path) -> Result<(), CheckpointError> {
        self.disk.sync_dir(path).map_err(|e| error(path, "flush the folder", e))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), CheckpointError> {
        self.disk.rename(from, to).map_err(|e| error(to, "rename the folder to it", e))
    }

    fn remove(&mut self, path: &Path) -> Result<(), CheckpointError> {
        self.disk.remove_dir_all(path).map_err(|e| error(path, "remove it", e))
    }

    /// Takes a checkpoint away in one step, so that a crash leaves no half of one in its place.
    fn retire(&mut self, update: u64) -> Result<(), CheckpointError> {
        let old = self.path.join(format!("{HALF_REMOVED}{}", name_of(update)));
        self.rename(&self.path.join(name_of(update)), &old)?;
        self.remove(&old)
    }

    /// Removes what a crash left behind.
    fn sweep(&mut self) -> Result<(), CheckpointError> {
        for name in self.names()? {
            if name.starts_with(HALF_WRITTEN) || name.starts_with(HALF_REMOVED) {
                self.remove(&self.path.join(name))?;
            }
        }
        Ok(())
    }

    /// Removes what is older than the newest good ones. Damaged ones do not count, or they could
    /// push out the last good one.
    fn prune<F: Real>(&mut self, identity: &Identity) -> Result<(), CheckpointError> {
        let mut good = 0;
        for update in self.list()? {
            if good == STAY {
                self.retire(update)?;
            } else if self.load::<F>(identity, update).is_ok() {
                good += 1;
            }
        }
        Ok(())
    }
}

impl<F: Real> Keeper<F> for Folder {
    fn save(
        &mut self,
        identity: &Identity,
        checkpoint: &Checkpoint<F>,
    ) -> Result<(), CheckpointError> {
        let update = checkpoint.progress.update;
        // The same run always writes the same bits: a good one is already this one.
        let there = self.list()?.contains(&update);
        if there && self.load::<F>(identity, update).is_ok() {
            return Ok(());
        }
        let progress = serde_json::to_vec(&checkpoint.progress).expect("progress is plain data");
        let state = state::encode(checkpoint);
        let files = [(PROGRESS, &progress[..]), (STATE, &state[..])];
        let manifest = serde_json::to_vec_pretty(&Manifest::of(identity, update, &files))
            .expect("a manifest is plain data");
        self.make(&self.path.clone())?;
        self.sweep()?;
        let new = self.path.join(format!("{HALF_WRITTEN}{}", name_of(update)));
        if let Err(error) = self.write_new(&new, &files, &manifest) {
            // Half a checkpoint would only fill the disk further. If even this fails, the next
            // save sweeps it away.
            let _ = self.disk.remove_dir_all(&new);
            return Err(error);
        }
        if there {
            self.retire(update)?;
        }
        self.rename(&new, &self.path.join(name_of(update)))?;
        self.sync(&self.path.clone())?;
        self.prune::<F>(identity)
    }

    fn latest(&mut self, identity: &Identity) -> Result<Latest<F>, CheckpointError> {
        let mut skipped = vec![];
        for update in self.list()? {
            match self.load(identity, update) {
                Ok(checkpoint) => {
                    return Ok(Latest { checkpoint: Some(checkpoint), skipped });
                }
                // Not damage: an older one would be of another run too.
                Err(other @ CheckpointError::OtherRun { .. }) => return Err(other),
                Err(error) => skipped.push(error),
            }
        }
        if skipped.is_empty() {
            return Ok(Latest { checkpoint: None, skipped });
        }
        Err(CheckpointError::NoneGood { path: self.path.clone(), skipped })
    }
}

fn read_progress(manifest: &Manifest, folder: &Path) -> Result<Progress, CheckpointError> {
    let path = folder.join(PROGRESS);
    let bytes = manifest.read_sealed(folder, PROGRESS, MAX_PROGRESS)?;
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

/// The update of a checkpoint's name; only the very name it would be given.
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
