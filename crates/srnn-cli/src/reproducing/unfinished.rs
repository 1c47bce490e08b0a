//! Cells that were not trained to their end: what goes on from where it was interrupted.

use crate::failure::Failure;
use crate::files;
use srnn::experiment::{Cell, Material};
use srnn::train::{Checkpoint, CheckpointError, Folder, Identity, Keeper, Latest};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The folder of unfinished cells in a folder of outcomes.
const UNFINISHED: &str = "unfinished";

/// How long a cell trained before it was interrupted, in seconds, beside its checkpoints.
const SECONDS: &str = "seconds";

/// Checkpoints are so far apart, unless somebody wants to end: cells are short, and many.
const APART: Duration = Duration::from_secs(30);

/// Keeps the checkpoints of one cell.
pub struct Unfinished<'a> {
    folder: Folder,
    stop: &'a AtomicBool,
    began: Instant,
    /// Seconds of the parts before this one.
    before: f64,
    saved: Instant,
}

impl<'a> Unfinished<'a> {
    /// The checkpoints of a cell; another device, other data or settings have others.
    pub fn of(
        outcomes: &Path,
        cell: &Cell<'_>,
        material: &Material,
        device: &str,
        stop: &'a AtomicBool,
    ) -> Unfinished<'a> {
        let name = format!("{device}-{}-{}", &cell.digest()[..16], &material.digest[..16]);
        let path = outcomes.join(UNFINISHED).join(name);
        let before = std::fs::read_to_string(path.join(SECONDS)).ok();
        let before = before.and_then(|text| text.trim().parse().ok()).unwrap_or(0.0);
        let now = Instant::now();
        Unfinished { folder: Folder::new(path), stop, began: now, before, saved: now }
    }

    /// Seconds that the cell has been trained in all.
    pub fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    /// The cell has an outcome: its checkpoints are of no more use.
    pub fn remove(self) -> Result<(), Failure> {
        let path = self.folder.path();
        if path.exists() {
            std::fs::remove_dir_all(path)?;
        }
        Ok(())
    }

    fn seconds_file(&self) -> PathBuf {
        self.folder.path().join(SECONDS)
    }
}

/// Takes the folder of unfinished cells away where there are none.
pub fn tidy(outcomes: &Path) {
    let _ = std::fs::remove_dir(outcomes.join(UNFINISHED));
}

impl Keeper<f32> for Unfinished<'_> {
    fn save(
        &mut self,
        identity: &Identity,
        checkpoint: &Checkpoint<f32>,
    ) -> Result<(), CheckpointError> {
        if self.saved.elapsed() < APART && !self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.folder.save(identity, checkpoint)?;
        self.saved = Instant::now();
        // Without it the seconds of an outcome would be those of its last part.
        let _ = files::write(&self.seconds_file(), &format!("{:.3}\n", self.seconds()));
        Ok(())
    }

    /// Checkpoints that cannot be used, as those of another version, are no reason not to begin.
    fn latest(&mut self, identity: &Identity) -> Result<Latest<f32>, CheckpointError> {
        self.folder.latest(identity).or_else(|error| {
            let _ = std::fs::remove_dir_all(self.folder.path());
            self.before = 0.0;
            Ok(Latest { checkpoint: None, skipped: vec![error] })
        })
    }
}
