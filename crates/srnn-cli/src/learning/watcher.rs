//! The callbacks of a run: checkpoints, metrics, progress, Ctrl-C, the clock.

use super::progress::{Progress, SeedProgress};
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Map, Value};
use srnn::files::unwritable;
use srnn::learn::{LearnCallbacks, Round, Stage};
use srnn::run::{Metrics, RunFolder};
use srnn::train::{
    Checkpoint, CheckpointError, CheckpointFolder, CheckpointStore, Control, Event,
    LatestCheckpoint, Observer, RunIdentity,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The callbacks of a run.
pub struct Watcher<'a> {
    folder: &'a RunFolder,
    output: &'a Output,
    progress: Progress,
    metrics: Mutex<Metrics>,
    stop: Arc<StopFlags>,
    /// The first failure outside of training.
    failure: Mutex<Option<Failure>>,
    clock: Mutex<Clock>,
}

/// Shared with the handler of Ctrl-C.
#[derive(Debug, Default)]
pub struct StopFlags {
    /// End with a checkpoint: Ctrl-C was pressed, or the disk is full.
    pub requested: AtomicBool,
    /// No seed is being trained.
    pub trained: AtomicBool,
}

/// When each stage began.
struct Clock {
    stages: Vec<(&'static str, Instant)>,
}

impl<'a> Watcher<'a> {
    /// A watcher whose `stop` ends the run with a checkpoint.
    pub fn new(
        folder: &'a RunFolder,
        output: &'a Output,
        stop: Arc<StopFlags>,
        started: Instant,
    ) -> Result<Watcher<'a>, Failure> {
        let path = folder.metrics();
        let metrics = Metrics::open(&path).map_err(|error| unwritable(&path, error))?;
        Ok(Watcher {
            folder,
            output,
            progress: Progress::new(output),
            metrics: Mutex::new(metrics),
            stop,
            failure: Mutex::new(None),
            clock: Mutex::new(Clock { stages: vec![("data", started)] }),
        })
    }

    /// A stage begins.
    pub fn mark(&self, stage: &'static str) {
        lock(&self.clock).stages.push((stage, Instant::now()));
    }

    /// Seconds of each stage so far, and in all.
    pub fn seconds(&self) -> Map<String, Value> {
        let (clock, now) = (lock(&self.clock), Instant::now());
        let ends = clock.stages.iter().skip(1).map(|&(_, begins)| begins).chain([now]);
        let mut seconds: Map<String, Value> = clock
            .stages
            .iter()
            .zip(ends)
            .map(|(&(stage, begins), ends)| (stage.into(), rounded(ends - begins)))
            .collect();
        seconds.insert("total".into(), rounded(now - clock.stages[0].1));
        seconds
    }

    /// The first failure outside of training.
    pub fn failure(&self) -> Option<Failure> {
        lock(&self.failure).take()
    }

    fn control(&self) -> Control {
        match self.stop.requested.load(Ordering::Relaxed) {
            true => Control::Interrupt,
            false => Control::Continue,
        }
    }

    fn keep_metrics(&self, round: Round, seed: u64, event: &Event<'_>) {
        let Event::Evaluated(record) = event else { return };
        if let Err(error) = lock(&self.metrics).add(round, seed, record) {
            lock(&self.failure).get_or_insert(unwritable(&self.folder.metrics(), error).into());
            self.stop.requested.store(true, Ordering::Relaxed);
        }
    }
}

impl LearnCallbacks for Watcher<'_> {
    fn checkpoints(&self, round: Round, seed: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        let folder = CheckpointFolder::new(self.folder.checkpoints(round, seed));
        Box::new(StoppingStore { folder, stop: &self.stop.requested })
    }

    fn observer(&self, round: Round, seed: u64) -> Box<dyn Observer + '_> {
        let progress = self.progress.seed(round, seed);
        Box::new(SeedWatcher { watcher: self, round, seed, progress })
    }

    fn stage(&self, stage: Stage) -> Control {
        self.mark(match stage {
            Stage::Train => "train",
            Stage::Doubt => "doubt",
            Stage::Retrain => "retrain",
            Stage::Select => "select",
            Stage::Extract => "extract",
            Stage::Certify => "certify",
        });
        let training = matches!(stage, Stage::Train | Stage::Retrain);
        self.stop.trained.store(!training, Ordering::Relaxed);
        match stage {
            Stage::Train => {}
            Stage::Doubt => {
                self.output.note("no network is right on all labels: looking for wrong ones …");
            }
            Stage::Retrain => self.output.note("retraining with corrected labels …"),
            Stage::Select => self.output.note("selecting a seed …"),
            Stage::Extract => self.output.note("extracting the automaton …"),
            Stage::Certify => self.output.note("searching for a proof …"),
        }
        self.control()
    }
}

struct SeedWatcher<'a> {
    watcher: &'a Watcher<'a>,
    round: Round,
    seed: u64,
    progress: SeedProgress,
}

impl Observer for SeedWatcher<'_> {
    fn event(&mut self, event: &Event<'_>) -> Control {
        self.progress.show(event);
        self.watcher.keep_metrics(self.round, self.seed, event);
        self.watcher.control()
    }
}

/// Checkpoints in a folder. If one cannot be written, the other seeds are stopped too: their
/// training would be lost.
struct StoppingStore<'a> {
    folder: CheckpointFolder,
    stop: &'a AtomicBool,
}

impl CheckpointStore<f32> for StoppingStore<'_> {
    fn save(
        &mut self,
        id: &RunIdentity,
        checkpoint: &Checkpoint<f32>,
    ) -> Result<(), CheckpointError> {
        let saved = self.folder.save(id, checkpoint);
        if saved.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        saved
    }

    fn latest(&mut self, id: &RunIdentity) -> Result<LatestCheckpoint<f32>, CheckpointError> {
        let latest = self.folder.latest(id);
        if latest.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        latest
    }
}

/// A panic elsewhere is reported by itself; what is locked here stays usable.
fn lock<A>(mutex: &Mutex<A>) -> std::sync::MutexGuard<'_, A> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn rounded(time: std::time::Duration) -> Value {
    Value::from((time.as_secs_f64() * 1e3).round() / 1e3)
}
