//! The callbacks of a run: checkpoints, metrics, progress, interruption, and the time of each stage.

use super::progress::{LearnProgress, SeedProgress, StageLine};
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Map, Value};
use srnn::files::unwritable;
use srnn::learn::{CandidateKind, LearnCallbacks, Round, Stage};
use srnn::run::{MetricsFile, RunFolder};
use srnn::train::{
    Checkpoint, CheckpointError, CheckpointFolder, CheckpointStore, Control, Event,
    LatestCheckpoint, Observer, RunIdentity,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The callbacks of a run.
pub struct RunCallbacks<'a> {
    folder: &'a RunFolder,
    progress: LearnProgress,
    metrics: Mutex<MetricsFile>,
    stop: Arc<StopFlags>,
    /// The first failure outside of training.
    failure: Mutex<Option<Failure>>,
    clock: Mutex<StageClock>,
}

/// Flags shared with the Ctrl-C handler.
#[derive(Debug, Default)]
pub struct StopFlags {
    /// Training must end with a checkpoint: Ctrl-C was pressed, or a file could not be written.
    pub requested: AtomicBool,
    /// Whether no seed is being trained.
    pub trained: AtomicBool,
}

/// The start of each stage.
struct StageClock {
    stages: Vec<(&'static str, Instant)>,
}

impl<'a> RunCallbacks<'a> {
    /// Opens the metrics file and starts the clock at `started`.
    pub fn new(
        folder: &'a RunFolder,
        output: &'a Output,
        stop: Arc<StopFlags>,
        started: Instant,
    ) -> Result<RunCallbacks<'a>, Failure> {
        let path = folder.metrics();
        let metrics = MetricsFile::open(&path).map_err(|error| unwritable(&path, error))?;
        Ok(RunCallbacks {
            folder,
            progress: LearnProgress::new(output),
            metrics: Mutex::new(metrics),
            stop,
            failure: Mutex::new(None),
            clock: Mutex::new(StageClock { stages: vec![("data", started)] }),
        })
    }

    /// Records the start of a stage.
    pub fn start_stage(&self, stage: &'static str) {
        lock(&self.clock).stages.push((stage, Instant::now()));
    }

    /// Seconds of each stage so far, and the total. A stage may come several times.
    pub fn seconds(&self) -> Map<String, Value> {
        let (clock, now) = (lock(&self.clock), Instant::now());
        let ends = clock.stages.iter().skip(1).map(|&(_, start)| start).chain([now]);
        let mut times: BTreeMap<&str, Duration> = BTreeMap::new();
        for (&(stage, start), end) in clock.stages.iter().zip(ends) {
            *times.entry(stage).or_default() += end - start;
        }
        times.insert("total", now - clock.stages[0].1);
        times.into_iter().map(|(stage, time)| (stage.into(), milliseconds(time))).collect()
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

    fn write_metrics(&self, round: Round, seed: u64, event: &Event<'_>) {
        let Event::Evaluated(record) = event else { return };
        if let Err(error) = lock(&self.metrics).add(round, seed, record) {
            lock(&self.failure).get_or_insert(unwritable(&self.folder.metrics(), error).into());
            self.stop.requested.store(true, Ordering::Relaxed);
        }
    }
}

impl LearnCallbacks for RunCallbacks<'_> {
    fn checkpoints(&self, round: Round, seed: u64) -> Box<dyn CheckpointStore<f32> + '_> {
        let folder = CheckpointFolder::new(self.folder.checkpoints(round, seed));
        Box::new(StoppingStore { folder, stop: &self.stop.requested })
    }

    fn observer(&self, round: Round, seed: u64) -> Box<dyn Observer + '_> {
        let progress = self.progress.seed(round, seed);
        Box::new(SeedObserver { callbacks: self, round, seed, progress })
    }

    fn fold_observer(&self, kind: CandidateKind) -> Box<dyn Observer + '_> {
        let progress = self.progress.fold(kind);
        Box::new(FoldObserver { callbacks: self, progress })
    }

    fn selecting(&self, done: usize, all: usize) {
        self.progress.selecting(done, all);
    }

    fn stage(&self, stage: Stage) -> Control {
        self.start_stage(match stage {
            Stage::Train => "train",
            Stage::CheckLabels => "doubt",
            Stage::Retrain => "retrain",
            Stage::Select => "select",
            Stage::Extract => "extract",
            Stage::Certify => "certify",
            Stage::Candidate(kind) | Stage::CrossValidate(kind) => kind.key(),
        });
        let training = match stage {
            // These are not trained in steps, so Ctrl-C ends the process at once.
            Stage::Candidate(CandidateKind::Ngrams | CandidateKind::Merged) => false,
            Stage::Train | Stage::Retrain | Stage::Candidate(_) | Stage::CrossValidate(_) => true,
            Stage::CheckLabels | Stage::Select | Stage::Extract | Stage::Certify => false,
        };
        self.stop.trained.store(!training, Ordering::Relaxed);
        self.progress.stage(&stage_line(stage));
        self.control()
    }
}

/// The line about a stage.
fn stage_line(stage: Stage) -> StageLine {
    let line = match stage {
        Stage::Train => "training …".into(),
        Stage::CheckLabels => "no network fits all labels: searching for wrong labels …".into(),
        Stage::Retrain => "retraining with corrected labels …".into(),
        Stage::Select => "selecting a network, extracting its automaton, proving it …".into(),
        Stage::Extract => return StageLine::Detail("extracting the automaton …".into()),
        Stage::Certify => return StageLine::Detail("searching for a proof …".into()),
        Stage::Candidate(kind) => format!("candidate: {} …", kind.title()),
        Stage::CrossValidate(kind) => {
            return StageLine::Detail(format!("cross-validation: {} …", kind.title()));
        }
    };
    StageLine::Stage(line)
}

/// Watches the training of a fold, which is not recorded.
struct FoldObserver<'a> {
    callbacks: &'a RunCallbacks<'a>,
    progress: SeedProgress,
}

impl Observer for FoldObserver<'_> {
    fn event(&mut self, event: &Event<'_>) -> Control {
        self.progress.show(event);
        self.callbacks.control()
    }
}

struct SeedObserver<'a> {
    callbacks: &'a RunCallbacks<'a>,
    round: Round,
    seed: u64,
    progress: SeedProgress,
}

impl Observer for SeedObserver<'_> {
    fn event(&mut self, event: &Event<'_>) -> Control {
        self.progress.show(event);
        self.callbacks.write_metrics(self.round, self.seed, event);
        self.callbacks.control()
    }
}

/// Checkpoints in a folder. If one cannot be written, all seeds are stopped, because their training
/// would be lost.
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

/// Ignores poisoning: a panic in another thread is reported by itself.
fn lock<A>(mutex: &Mutex<A>) -> std::sync::MutexGuard<'_, A> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn milliseconds(time: Duration) -> Value {
    Value::from((time.as_secs_f64() * 1e3).round() / 1e3)
}
