//! The training loop: updates, evaluations, checkpoints, and the reason to stop.

use super::carried::CarriedStates;
use super::checkpoint::{Checkpoint, CheckpointStore, RunIdentity};
use super::config::{KeepModel, Sampling, TrainConfig};
use super::evaluate::{evaluate, evaluate_subset, sample};
use super::examples::Examples;
use super::job::TrainJob;
use super::observer::{Control, Event, Observer};
use super::outcome::{FinalEvaluation, Run, TrainError};
use super::phases::{PhasedRun, keep_phase, phase_networks};
use super::prefetch::BatchPrefetcher;
use super::progress::{EarlyStop, Progress};
use super::reseed::reseed;
use super::schedule::Reseed;
use super::sharpen::sharpen;
use super::stop::{NonFinite, Stop};
use crate::engine::Real;
use crate::engine::{Batch, DeviceError, Mode, NextBatch, Regime, Snapshot, Trainer, Transition};
use std::sync::Arc;

/// The maximum number of consecutive updates with a gradient that is not finite. Over hundreds of
/// steps the gradient of a single batch can overflow although the network is sound.
const MAX_SKIPPED_IN_A_ROW: u64 = 3;

/// Why a run cannot continue.
enum Halt {
    /// A value is not finite.
    Diverged(NonFinite),
    /// The device failed, or a checkpoint could not be written.
    Failed(TrainError),
}

impl<E: Into<TrainError>> From<E> for Halt {
    fn from(error: E) -> Halt {
        Halt::Failed(error.into())
    }
}

/// The state of a run that is not in the engine.
pub(super) struct RunState<F> {
    pub progress: Progress,
    pub best: Option<Vec<F>>,
    pub average: Option<Vec<F>>,
    /// Parameters of the best evaluation of every phase, if they are kept.
    pub phases: Vec<Vec<F>>,
    pub carried: Vec<F>,
}

impl<F> Default for RunState<F> {
    fn default() -> Self {
        let (progress, phases, carried) = (Progress::default(), vec![], vec![]);
        RunState { progress, best: None, average: None, phases, carried }
    }
}

/// A run in progress.
pub(super) struct Training<'a, F, E: ?Sized, D> {
    engine: &'a mut E,
    identity: RunIdentity,
    job: &'a TrainJob<'a, D>,
    /// The configuration of the job, adapted to the architecture.
    config: TrainConfig,
    store: &'a mut dyn CheckpointStore<F>,
    observer: &'a mut dyn Observer,
    batches: BatchPrefetcher<'a, D>,
    /// The indices of the training sequences in evaluations.
    train_sample: Vec<usize>,
    progress: Progress,
    /// Parameters of the best evaluation, if they are kept.
    best: Option<Vec<F>>,
    /// The average of the weights, once there is a sample.
    average: Option<Vec<F>>,
    /// Parameters of the best evaluation of every phase, if they are kept.
    phases: Vec<Vec<F>>,
    /// The states that the next update starts from; `None` unless the data are a text.
    carried: Option<CarriedStates>,
    /// The update of the last checkpoint.
    saved: Option<u64>,
    control: Control,
}

impl<'a, F: Real, E: Trainer<F> + ?Sized, D: Examples> Training<'a, F, E, D> {
    pub fn new(
        engine: &'a mut E,
        job: &'a TrainJob<'a, D>,
        store: &'a mut dyn CheckpointStore<F>,
        observer: &'a mut dyn Observer,
        RunState { progress, best, average, phases, carried }: RunState<F>,
    ) -> Result<Self, TrainError> {
        let arch = engine.arch().clone();
        job.validate(&arch)?;
        let optimiser = engine.optimiser();
        assert_eq!(optimiser, &job.config.optimiser, "the engine has another optimiser");
        let config = job.adapted_config(&arch);
        let states = || CarriedStates::from_numbers(&arch, config.batch_size, &carried);
        let carried = (config.sampling == Sampling::Streams).then(states);
        Ok(Training {
            engine,
            identity: RunIdentity::of(job, &arch),
            batches: BatchPrefetcher::new(job, &config, arch),
            train_sample: sample(&job.split.train, job.config.train_sample, &job.key),
            job,
            config,
            store,
            observer,
            saved: Some(progress.update).filter(|&update| update > 0),
            progress,
            best,
            average,
            phases,
            carried,
            control: Control::Continue,
        })
    }

    pub fn run(mut self) -> Result<PhasedRun<F>, TrainError> {
        let (update, updates) = (self.progress.update, self.updates());
        self.notify(Event::Started { update, updates });
        match self.run_updates() {
            Ok(stop) => self.finish(stop),
            Err(Halt::Diverged(quantity)) => {
                let stop = self.diverged(quantity);
                self.finish(stop)
            }
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    fn run_updates(&mut self) -> Result<Stop, Halt> {
        loop {
            if let Some(stop) = self.stop_reason() {
                self.save()?;
                return Ok(stop);
            }
            self.advance()?;
        }
    }

    /// The stop reason with the update and the batch that caused it.
    fn diverged(&mut self, quantity: NonFinite) -> Stop {
        let update = match quantity {
            NonFinite::Loss | NonFinite::Gradient => self.progress.update,
            NonFinite::Parameters | NonFinite::Evaluation => self.progress.update.saturating_sub(1),
        };
        Stop::Diverged { update, quantity, sequences: self.batches.sequences(update) }
    }

    fn updates(&self) -> u64 {
        self.config.schedule.updates()
    }

    fn notify(&mut self, event: Event<'_>) {
        let control = self.observer.event(&event);
        if self.control == Control::Continue {
            self.control = control;
        }
    }

    /// The reason to stop now, if any. The end of the schedule comes first: a request to stop that
    /// arrives with the last update has no effect.
    fn stop_reason(&self) -> Option<Stop> {
        match self.progress.early_stop(&self.config) {
            Some(EarlyStop::Patience) => return Some(Stop::Patience),
            Some(EarlyStop::Converged) => return Some(Stop::Converged),
            None => {}
        }
        if self.progress.update >= self.updates() {
            return Some(Stop::Completed);
        }
        match self.control {
            Control::Continue => None,
            Control::Interrupt => Some(Stop::Interrupted),
            Control::TimeUp => Some(Stop::TimeLimit),
        }
    }

    /// Makes one update, with the evaluation and the checkpoint that are due after it.
    fn advance(&mut self) -> Result<(), Halt> {
        self.reseed_if_due()?;
        self.update()?;
        let made = self.progress.update;
        let averaging = self.config.regularisation.averaging;
        averaging.add_sample(&mut self.average, made, || {
            self.engine.model().map(|model| model.params)
        })?;
        if self.evaluation_is_due() {
            self.evaluate()?;
        }
        if made.is_multiple_of(self.config.checkpoint_every) {
            self.save()?;
        }
        Ok(())
    }

    fn evaluation_is_due(&self) -> bool {
        let TrainConfig { schedule, validate_every, keep_phases, .. } = &self.config;
        let made = self.progress.update;
        let ends_phase = !keep_phases.is_never() && schedule.ends_phase(made);
        made.is_multiple_of(*validate_every) || made == self.updates() || ends_phase
    }

    fn reseed_if_due(&mut self) -> Result<(), DeviceError> {
        let update = self.progress.update;
        if !self.config.schedule.reseeds_before(update) {
            return Ok(());
        }
        if let Reseed::KMeans { sequences } = self.config.schedule.reseed {
            reseed(self.engine, &self.job.split.train, sequences, self.job.key)?;
            self.notify(Event::Reseeded { update });
        }
        Ok(())
    }

    /// The regime of an update, with its dropout.
    fn regime(&self, update: u64) -> Regime {
        let dropout = self.config.regularisation.dropout(update, &self.job.key);
        Regime { dropout, ..self.config.regime(update) }
    }

    /// The batch of an update. The first of an epoch of a text starts from zero states.
    fn batch(&mut self, update: u64) -> Arc<Batch> {
        let batch = self.batches.take(update);
        let Some(states) = &mut self.carried else { return batch };
        let arch = self.engine.arch();
        if self.batches.starts_epoch(update) {
            *states = CarriedStates::zeros(arch, self.config.batch_size);
        }
        Arc::new(states.continued(Batch::clone(&batch), arch))
    }

    fn update(&mut self) -> Result<(), Halt> {
        let update = self.progress.update;
        let (batch, regime) = (self.batch(update), self.regime(update));
        // The next batch of a text starts from states that only this update computes.
        let known = self.carried.is_none();
        let after = Some(update + 1).filter(|&after| known && after < self.updates());
        let next_regime = self.regime(update + 1);
        let mut next = || {
            let after = after?;
            Some(NextBatch { batch: self.batches.prefetch(after), regime: next_regime })
        };
        let step = self.engine.step_and_prefetch(&batch, &regime, &mut next)?;
        // A skipped update has states, too: only its gradient overflowed.
        if let (Some(states), true) = (&mut self.carried, step.loss.is_finite()) {
            states.keep(&self.engine.last_states()?);
        }
        if !step.loss.is_finite() {
            return Err(Halt::Diverged(NonFinite::Loss));
        }
        if !step.gradient_norm.is_finite() {
            return self.skip_update();
        }
        self.progress.skipped_in_a_row = 0;
        self.progress.window.add(&step);
        self.progress.update += 1;
        self.notify(Event::Updated {
            update: update + 1,
            updates: self.updates(),
            phase: self.config.schedule.phase(update),
            regime,
            step,
            tokens: batch.steps(),
        });
        Ok(())
    }

    /// Skips an update whose gradient is not finite. The engine has not changed the parameters.
    fn skip_update(&mut self) -> Result<(), Halt> {
        let Progress { update, skipped_updates, skipped_in_a_row, .. } = &mut self.progress;
        if *skipped_in_a_row == MAX_SKIPPED_IN_A_ROW {
            return Err(Halt::Diverged(NonFinite::Gradient));
        }
        *skipped_updates += 1;
        *skipped_in_a_row += 1;
        *update += 1;
        let update = *update;
        self.notify(Event::UpdateSkipped { update });
        Ok(())
    }

    /// Evaluates the network at the λ of the last update.
    fn evaluate(&mut self) -> Result<(), Halt> {
        let lambda = self.config.regime(self.progress.update - 1).lambda;
        let mode = Mode { transition: Transition::Mixture, lambda, tau: 1.0 };
        let trained = self.insert_average()?;
        let split = self.job.split;
        let train = evaluate_subset(self.engine, &split.train, &self.train_sample, mode)?;
        let valid = evaluate(self.engine, &split.valid, mode)?;
        if !train.loss.is_finite() || !valid.loss.is_finite() {
            return Err(Halt::Diverged(NonFinite::Evaluation));
        }
        self.progress.record(&self.config, (&train).into(), (&valid).into());
        if self.progress.is_best_now() {
            self.best = Some(self.engine.model()?.params);
        }
        keep_phase(&mut self.phases, &self.progress, || {
            self.engine.model().map(|model| model.params)
        })?;
        if let Some(trained) = trained {
            self.engine.restore(&trained)?;
        }
        let record = *self.progress.history.last().expect("a record was just added");
        self.notify(Event::Evaluated(&record));
        Ok(())
    }

    /// Puts the average of the weights into the engine, if there is one. Returns what it replaces.
    fn insert_average(&mut self) -> Result<Option<Snapshot<F>>, DeviceError> {
        let Some(params) = &self.average else { return Ok(None) };
        let trained = self.engine.snapshot()?;
        self.engine.restore(&Snapshot { params: params.clone(), ..trained.clone() })?;
        Ok(Some(trained))
    }

    /// Saves a checkpoint. Parameters that are not finite are never saved.
    fn save(&mut self) -> Result<(), Halt> {
        let update = self.progress.update;
        if self.saved == Some(update) {
            return Ok(());
        }
        let snapshot = self.engine.snapshot()?;
        if !is_finite(&snapshot) {
            return Err(Halt::Diverged(NonFinite::Parameters));
        }
        let (progress, best) = (self.progress.clone(), self.best.clone());
        let carried = self.carried.as_ref().map_or(vec![], CarriedStates::to_numbers);
        let (average, phases) = (self.average.clone(), self.phases.clone());
        let checkpoint = Checkpoint { progress, snapshot, best, average, phases, carried };
        let saved = self.store.save(&self.identity, &checkpoint);
        saved.map_err(TrainError::from)?;
        self.saved = Some(update);
        self.notify(Event::CheckpointSaved { update });
        Ok(())
    }

    fn finish(mut self, stop: Stop) -> Result<PhasedRun<F>, TrainError> {
        let has_result = !matches!(stop, Stop::Diverged { .. } | Stop::Interrupted);
        let final_evaluation = if has_result { Some(self.final_evaluation()?) } else { None };
        let best = self.progress.best.filter(|_| has_result);
        let phases = phase_networks(&self.progress, std::mem::take(&mut self.phases));
        let Progress { update: updates, skipped_updates, history, .. } = self.progress;
        let kept = best.unwrap_or(updates);
        let run = Run { stop, updates, kept, skipped_updates, history, final_evaluation };
        Ok(PhasedRun { run, phases })
    }

    /// Puts the resulting network into the engine and evaluates it as it is deployed.
    fn final_evaluation(&mut self) -> Result<FinalEvaluation, DeviceError> {
        let kept = match self.config.keep {
            KeepModel::Best | KeepModel::LowestLoss => self.best.take().or(self.average.take()),
            KeepModel::Last => self.average.take(),
        };
        if let Some(params) = kept {
            self.engine.restore(&Snapshot { params, ..self.engine.snapshot()? })?;
        }
        sharpen(self.engine, self.config.schedule.sharpen)?;
        let mode = Mode::default();
        let split = self.job.split;
        let train = evaluate(self.engine, &split.train, mode)?;
        Ok(FinalEvaluation { train, valid: evaluate(self.engine, &split.valid, mode)? })
    }
}

/// Whether parameters and moments are finite.
pub(super) fn is_finite<F: Real>(snapshot: &Snapshot<F>) -> bool {
    let mut all = snapshot.moments.iter().flatten().chain(&snapshot.params);
    all.all(|x| x.to().is_finite())
}
