//! The training loop.

use super::checkpoint::{Checkpoint, CheckpointError, Identity, Keeper};
use super::config::{Keep, TrainConfig};
use super::evaluate::{Evaluation, evaluate, evaluate_at};
use super::examples::Examples;
use super::feed::Feed;
use super::job::{Job, JobError};
use super::observer::{Control, Event, Observer};
use super::progress::{Enough, Progress, Record};
use super::reseed::reseed;
use super::schedule::Reseed;
use super::sharpen::sharpen;
use super::stop::{Found, Stop};
use crate::engine::Real;
use crate::engine::{DeviceError, Mode, NextBatch, Snapshot, Trainer, Transition};
use crate::model::ArchError;
use serde::{Deserialize, Serialize};

/// What came of a run. The network itself is in the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Why it ended.
    pub stop: Stop,
    /// Updates made.
    pub updates: u64,
    /// The update whose network is the result: the last, or the best.
    pub kept: u64,
    /// Updates that were not made, because their gradient was not a number.
    #[serde(default)]
    pub lost: u64,
    /// One record per evaluation.
    pub history: Vec<Record>,
    /// The resulting network on all of the data; nothing where the run was interrupted or
    /// diverged, because then there is no result yet.
    pub end: Option<End>,
}

/// The resulting network, as it is deployed (λ = 1), on all of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The training set.
    pub train: Evaluation,
    /// The validation set.
    pub valid: Evaluation,
}

/// A run that could not be, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Configuration, architecture and data do not go together.
    #[error(transparent)]
    Job(#[from] JobError),
    /// An architecture that cannot be.
    #[error(transparent)]
    Arch(#[from] ArchError),
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The device is not there, or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Trains a new network: the engine's, which has made no updates yet.
pub fn train<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    job: &Job<'_, D>,
    keeper: &mut dyn Keeper<F>,
    observer: &mut dyn Observer,
) -> Result<Run, TrainError> {
    assert_eq!(engine.snapshot()?.updates, 0, "a new run on an engine that was trained before");
    let (progress, best) = (Progress::default(), None);
    Training::new(engine, job, keeper, observer, progress, best)?.run()
}

/// Goes on where a checkpoint of the same job was taken, to the same bits as without the break.
pub fn resume<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    checkpoint: Checkpoint<F>,
    job: &Job<'_, D>,
    keeper: &mut dyn Keeper<F>,
    observer: &mut dyn Observer,
) -> Result<Run, TrainError> {
    engine.restore(&checkpoint.snapshot)?;
    let Checkpoint { progress, best, .. } = checkpoint;
    Training::new(engine, job, keeper, observer, progress, best)?.run()
}

/// Goes on from the keeper's newest good checkpoint, or begins where there is none.
pub fn train_or_resume<F: Real, E: Trainer<F> + ?Sized, D: Examples>(
    engine: &mut E,
    job: &Job<'_, D>,
    keeper: &mut dyn Keeper<F>,
    observer: &mut dyn Observer,
) -> Result<Run, TrainError> {
    let latest = keeper.latest(&Identity::of(job, engine.arch()))?;
    for error in &latest.skipped {
        observer.event(&Event::Skipped(error));
    }
    match latest.checkpoint {
        Some(checkpoint) => resume(engine, checkpoint, job, keeper, observer),
        None => train(engine, job, keeper, observer),
    }
}

/// So many updates in a row may have a gradient that is not a number: over hundreds of steps one can
/// overflow although the network is sound, and the next batch does not.
const MOST_LOST: u64 = 3;

/// Why a run cannot go on.
enum Halt {
    /// A number is none.
    Broken(Found),
    /// The device failed, or a checkpoint could not be written.
    Failed(TrainError),
}

impl<E: Into<TrainError>> From<E> for Halt {
    fn from(error: E) -> Halt {
        Halt::Failed(error.into())
    }
}

struct Training<'a, F, E: ?Sized, D> {
    engine: &'a mut E,
    identity: Identity,
    job: &'a Job<'a, D>,
    /// The job's, with the schedule suited to the architecture.
    config: TrainConfig,
    keeper: &'a mut dyn Keeper<F>,
    observer: &'a mut dyn Observer,
    feed: Feed<'a, D>,
    /// The training sequences that evaluations look at.
    train_sample: Vec<usize>,
    progress: Progress,
    /// Parameters of the best evaluation, where they are kept.
    best: Option<Vec<F>>,
    saved: Option<u64>,
    control: Control,
}

impl<'a, F: Real, E: Trainer<F> + ?Sized, D: Examples> Training<'a, F, E, D> {
    fn new(
        engine: &'a mut E,
        job: &'a Job<'a, D>,
        keeper: &'a mut dyn Keeper<F>,
        observer: &'a mut dyn Observer,
        progress: Progress,
        best: Option<Vec<F>>,
    ) -> Result<Self, TrainError> {
        let arch = engine.arch().clone();
        job.validate(&arch)?;
        let rule = engine.optimiser();
        assert_eq!(rule, &job.config.optimiser, "the engine's optimiser and the configured one");
        let config = job.suited_config(&arch);
        Ok(Training {
            engine,
            identity: Identity::of(job, &arch),
            feed: Feed::new(job, &config, arch),
            train_sample: train_sample(job),
            job,
            config,
            keeper,
            observer,
            saved: Some(progress.update).filter(|&update| update > 0),
            progress,
            best,
            control: Control::Continue,
        })
    }

    fn run(mut self) -> Result<Run, TrainError> {
        let (update, updates) = (self.progress.update, self.updates());
        self.tell(Event::Begun { update, updates });
        match self.advance_until_finished() {
            Ok(stop) => self.conclude(stop),
            Err(Halt::Broken(found)) => {
                let stop = self.diverged(found);
                self.conclude(stop)
            }
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    fn advance_until_finished(&mut self) -> Result<Stop, Halt> {
        loop {
            if let Some(stop) = self.finished() {
                self.save()?;
                return Ok(stop);
            }
            self.advance()?;
        }
    }

    /// Names the update and the batch: sampling is a function of the update.
    fn diverged(&mut self, found: Found) -> Stop {
        let update = match found {
            Found::Loss | Found::Gradient => self.progress.update,
            Found::Parameters | Found::Evaluation => self.progress.update.saturating_sub(1),
        };
        Stop::Diverged { update, found, sequences: self.feed.sequences(update) }
    }

    fn updates(&self) -> u64 {
        self.config.schedule.updates()
    }

    fn tell(&mut self, event: Event<'_>) {
        let wish = self.observer.event(&event);
        if self.control == Control::Continue {
            self.control = wish;
        }
    }

    /// The reason to end here, if there is one. The schedule's comes first: a wish to end that
    /// arrives with the last update changes nothing.
    fn finished(&self) -> Option<Stop> {
        match self.progress.enough(&self.config) {
            Some(Enough::Patience) => return Some(Stop::Patience),
            Some(Enough::Converged) => return Some(Stop::Converged),
            None => {}
        }
        if self.progress.update >= self.updates() {
            return Some(Stop::Updates);
        }
        match self.control {
            Control::Continue => None,
            Control::Interrupt => Some(Stop::Interrupted),
            Control::TimeUp => Some(Stop::Time),
        }
    }

    /// One update with all that is due after it.
    fn advance(&mut self) -> Result<(), Halt> {
        self.reseed_if_due()?;
        self.update()?;
        let made = self.progress.update;
        if made.is_multiple_of(self.config.validate_every) || made == self.updates() {
            self.evaluate()?;
        }
        if made.is_multiple_of(self.config.checkpoint_every) {
            self.save()?;
        }
        Ok(())
    }

    fn reseed_if_due(&mut self) -> Result<(), DeviceError> {
        let update = self.progress.update;
        if !self.config.schedule.reseeds_before(update) {
            return Ok(());
        }
        if let Reseed::KMeans { sequences } = self.config.schedule.reseed {
            reseed(self.engine, &self.job.split.train, sequences, self.job.key)?;
            self.tell(Event::Reseeded { update });
        }
        Ok(())
    }

    fn update(&mut self) -> Result<(), Halt> {
        let update = self.progress.update;
        let (batch, regime) = (self.feed.take(update), self.config.regime(update));
        let after = Some(update + 1).filter(|&after| after < self.updates());
        let mut next = || {
            let after = after?;
            Some(NextBatch { batch: self.feed.prepare(after), regime: self.config.regime(after) })
        };
        let step = self.engine.step_and_prefetch(&batch, &regime, &mut next)?;
        if !step.loss.is_finite() {
            return Err(Halt::Broken(Found::Loss));
        }
        if !step.gradient_norm.is_finite() {
            return self.lose();
        }
        self.progress.lost_in_a_row = 0;
        self.progress.window.add(&step);
        self.progress.update += 1;
        self.tell(Event::Updated {
            update: update + 1,
            updates: self.updates(),
            phase: self.config.schedule.phase(update),
            regime,
            step,
            tokens: batch.steps(),
        });
        Ok(())
    }

    /// Goes on without an update whose gradient is not a number.
    fn lose(&mut self) -> Result<(), Halt> {
        let Progress { update, lost, lost_in_a_row, .. } = &mut self.progress;
        if *lost_in_a_row == MOST_LOST {
            return Err(Halt::Broken(Found::Gradient));
        }
        *lost += 1;
        *lost_in_a_row += 1;
        *update += 1;
        let update = *update;
        self.tell(Event::Lost { update });
        Ok(())
    }

    /// Evaluates the network at the λ of the last update.
    fn evaluate(&mut self) -> Result<(), Halt> {
        let lambda = self.config.regime(self.progress.update - 1).lambda;
        let mode = Mode { transition: Transition::Mixture, lambda, tau: 1.0 };
        let split = self.job.split;
        let train = evaluate_at(self.engine, &split.train, &self.train_sample, mode)?;
        let valid = evaluate(self.engine, &split.valid, mode)?;
        if !train.loss.is_finite() || !valid.loss.is_finite() {
            return Err(Halt::Broken(Found::Evaluation));
        }
        self.progress.record(&self.config, (&train).into(), (&valid).into());
        if self.progress.is_best_now() {
            self.best = Some(self.engine.model()?.params);
        }
        let record = *self.progress.history.last().expect("it was just recorded");
        self.tell(Event::Evaluated(&record));
        Ok(())
    }

    /// Hands a checkpoint to the keeper; parameters that are not numbers are never kept.
    fn save(&mut self) -> Result<(), Halt> {
        let update = self.progress.update;
        if self.saved == Some(update) {
            return Ok(());
        }
        let snapshot = self.engine.snapshot()?;
        if !is_finite(&snapshot) {
            return Err(Halt::Broken(Found::Parameters));
        }
        let (progress, best) = (self.progress.clone(), self.best.clone());
        let saved = self.keeper.save(&self.identity, &Checkpoint { progress, snapshot, best });
        saved.map_err(TrainError::from)?;
        self.saved = Some(update);
        self.tell(Event::Saved { update });
        Ok(())
    }

    fn conclude(mut self, stop: Stop) -> Result<Run, TrainError> {
        let unfinished = matches!(stop, Stop::Diverged { .. } | Stop::Interrupted);
        let end = if unfinished { None } else { Some(self.end()?) };
        let best = self.progress.best.filter(|_| !unfinished);
        let Progress { update: updates, lost, history, .. } = self.progress;
        Ok(Run { stop, updates, kept: best.unwrap_or(updates), lost, history, end })
    }

    /// Puts the resulting network into the engine and evaluates it as it is deployed.
    fn end(&mut self) -> Result<End, DeviceError> {
        if let (Keep::Best, Some(params)) = (self.config.keep, self.best.take()) {
            self.engine.restore(&Snapshot { params, ..self.engine.snapshot()? })?;
        }
        sharpen(self.engine, self.config.schedule.sharpen)?;
        let mode = Mode::default();
        let split = self.job.split;
        let train = evaluate(self.engine, &split.train, mode)?;
        Ok(End { train, valid: evaluate(self.engine, &split.valid, mode)? })
    }
}

/// A fixed draw of training sequences, ascending: evaluations along a run are comparable.
fn train_sample<D: Examples>(job: &Job<'_, D>) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..job.split.train.count()).collect();
    job.key.child("train sample", 0).rng().shuffle(&mut indices);
    indices.truncate(job.config.train_sample);
    indices.sort_unstable();
    indices
}

fn is_finite<F: Real>(snapshot: &Snapshot<F>) -> bool {
    let mut all = snapshot.moments.iter().flatten().chain(&snapshot.params);
    all.all(|x| x.to().is_finite())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
