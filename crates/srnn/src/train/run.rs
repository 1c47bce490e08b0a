//! Starting and resuming a run.

use super::checkpoint::{Checkpoint, CheckpointStore, RunIdentity};
use super::examples::Examples;
use super::job::TrainJob;
use super::observer::{Event, Observer};
use super::outcome::{Run, TrainError};
use super::phases::PhasedRun;
use super::training::{RunState, Training};
use crate::engine::Real;
use crate::engine::Trainer;

/// Trains the engine's network from the first update.
///
/// # Panics
/// If the engine has made updates before, or has another optimiser than `job`.
pub fn train<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    job: &TrainJob<'_, D>,
    store: &mut dyn CheckpointStore<F>,
    observer: &mut dyn Observer,
) -> Result<Run, TrainError> {
    Ok(start(engine, job, store, observer)?.run)
}

/// Resumes from a checkpoint of the same job. The result has the same bits as an uninterrupted run.
pub fn resume<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    checkpoint: Checkpoint<F>,
    job: &TrainJob<'_, D>,
    store: &mut dyn CheckpointStore<F>,
    observer: &mut dyn Observer,
) -> Result<Run, TrainError> {
    Ok(proceed(engine, checkpoint, job, store, observer)?.run)
}

/// Resumes from the newest valid checkpoint of the store, or starts where there is none.
pub fn train_or_resume<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    job: &TrainJob<'_, D>,
    store: &mut dyn CheckpointStore<F>,
    observer: &mut dyn Observer,
) -> Result<Run, TrainError> {
    Ok(train_phases(engine, job, store, observer)?.run)
}

/// Like [`train_or_resume`]; also returns the networks of the phases, if the configuration keeps
/// them.
pub fn train_phases<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    job: &TrainJob<'_, D>,
    store: &mut dyn CheckpointStore<F>,
    observer: &mut dyn Observer,
) -> Result<PhasedRun<F>, TrainError> {
    let latest = store.latest(&RunIdentity::of(job, engine.arch()))?;
    for error in &latest.skipped {
        observer.event(&Event::CheckpointSkipped(error));
    }
    match latest.checkpoint {
        Some(checkpoint) => proceed(engine, checkpoint, job, store, observer),
        None => start(engine, job, store, observer),
    }
}

fn start<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    job: &TrainJob<'_, D>,
    store: &mut dyn CheckpointStore<F>,
    observer: &mut dyn Observer,
) -> Result<PhasedRun<F>, TrainError> {
    assert_eq!(engine.snapshot()?.updates, 0, "a new run needs an engine without updates");
    Training::new(engine, job, store, observer, RunState::default())?.run()
}

fn proceed<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    checkpoint: Checkpoint<F>,
    job: &TrainJob<'_, D>,
    store: &mut dyn CheckpointStore<F>,
    observer: &mut dyn Observer,
) -> Result<PhasedRun<F>, TrainError> {
    let Checkpoint { progress, snapshot, best, average, phases, carried } = checkpoint;
    engine.restore(&snapshot)?;
    let state = RunState { progress, best, average, phases, carried };
    Training::new(engine, job, store, observer, state)?.run()
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
