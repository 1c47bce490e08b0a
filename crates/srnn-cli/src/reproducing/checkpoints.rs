//! Checkpoints of trials in progress, so that an interrupted `reproduce` resumes them.

use crate::failure::Failure;
use srnn::experiment::{Trial, TrialData};
use srnn::train::{
    Checkpoint, CheckpointError, CheckpointFolder, CheckpointStore, LatestCheckpoint, RunIdentity,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The folder with checkpoints of trials in progress.
const UNFINISHED: &str = "unfinished";

/// The file with the seconds that a trial was trained before its interruption.
const SECONDS: &str = "seconds";

/// The minimum time between checkpoints, because there are many short trials. A request to stop
/// overrides it.
const INTERVAL: Duration = Duration::from_secs(30);

/// The checkpoints of one trial.
pub struct TrialCheckpoints<'a> {
    folder: CheckpointFolder,
    stop: &'a AtomicBool,
    started: Instant,
    /// Seconds of training before this process.
    earlier_seconds: f64,
    last_saved: Instant,
}

impl<'a> TrialCheckpoints<'a> {
    /// The checkpoints of a trial on a device. Other settings and data have other checkpoints.
    pub fn of(
        outcomes: &Path,
        trial: &Trial<'_>,
        trial_data: &TrialData,
        device: &str,
        stop: &'a AtomicBool,
    ) -> TrialCheckpoints<'a> {
        let name = format!("{device}-{}-{}", &trial.digest()[..16], &trial_data.digest[..16]);
        let path = outcomes.join(UNFINISHED).join(name);
        let seconds = std::fs::read_to_string(path.join(SECONDS)).ok();
        let earlier_seconds = seconds.and_then(|text| text.trim().parse().ok()).unwrap_or(0.0);
        let (folder, now) = (CheckpointFolder::new(path), Instant::now());
        TrialCheckpoints { folder, stop, started: now, earlier_seconds, last_saved: now }
    }

    /// Seconds that the trial has been trained in total.
    pub fn seconds(&self) -> f64 {
        self.earlier_seconds + self.started.elapsed().as_secs_f64()
    }

    /// Removes the checkpoints of a completed trial.
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

/// Removes the folder of trials in progress if it is empty.
pub fn remove_empty_folder(outcomes: &Path) {
    let _ = std::fs::remove_dir(outcomes.join(UNFINISHED));
}

impl CheckpointStore<f32> for TrialCheckpoints<'_> {
    fn save(
        &mut self,
        identity: &RunIdentity,
        checkpoint: &Checkpoint<f32>,
    ) -> Result<(), CheckpointError> {
        if self.last_saved.elapsed() < INTERVAL && !self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.folder.save(identity, checkpoint)?;
        self.last_saved = Instant::now();
        // Best effort: without this file an outcome has only the seconds of the last process.
        let _ = srnn::files::write(&self.seconds_file(), &format!("{:.3}\n", self.seconds()));
        Ok(())
    }

    /// Unusable checkpoints, for example of another version, are removed and the trial restarts.
    fn latest(&mut self, identity: &RunIdentity) -> Result<LatestCheckpoint<f32>, CheckpointError> {
        self.folder.latest(identity).or_else(|error| {
            let _ = std::fs::remove_dir_all(self.folder.path());
            self.earlier_seconds = 0.0;
            Ok(LatestCheckpoint { checkpoint: None, skipped: vec![error] })
        })
    }
}
