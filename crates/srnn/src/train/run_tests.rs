use super::super::batch::Sampler;
use super::super::checkpoint::{
    CheckpointError, CheckpointFolder, LatestCheckpoint, NoCheckpoints,
};
use super::super::config::{EarlyStopping, KeepModel, Sampling, TrainConfig};
use super::super::learning_rate::LearningRate;
use super::super::observer::{Control, NoObserver};
use super::super::regularisation::{Averaging, Regularisation};
use super::super::schedule::{Reseed, Schedule};
use super::super::stop::{NonFinite, Stop};
use super::super::testing::{
    arch, copying_engine, copying_recipe, engine, short_words, small_copying, small_split, words,
};
use super::super::training::is_finite;
use super::*;
use crate::engine::Optimiser;
use crate::engine::Runner;
use crate::engine::cpu::CpuTrainer;
use crate::engine::reference::ReferenceTrainer;
use crate::engine::{
    Batch, DeviceError, Fields, Gradients, LayerState, Mode, NextBatch, Regime, Snapshot, Step,
    Trace,
};
use crate::key::Key;
use crate::model::Arch;
use crate::model::{Init, Model};
use crate::task::Split;

const UNITS: usize = 4;
const K: usize = 3;

/// Every phase, reseeding, dropout, weight averaging and both kinds of evaluation in 37 updates.
fn config(sampling: Sampling) -> TrainConfig {
    let schedule = Schedule {
        warmup: 8,
        ramp: 9,
        settle: 6,
        harden: 7,
        finish: 7,
        curriculum: 8,
        saturation: 0.5,
        writing: 0.2,
        sharpen: 2.0,
        reseed: Reseed::KMeans { sequences: 9 },
        ..Schedule::default()
    };
    TrainConfig {
        schedule,
        sampling,
        batch_size: 5,
        validate_every: 4,
        train_sample: 11,
        checkpoint_every: 6,
        keep: KeepModel::Best,
        learning_rate: LearningRate::Cosine { rate: 1e-2, last: 1e-3 },
        regularisation: Regularisation {
            readout_dropout: 0.2,
            embedding_dropout: 0.1,
            averaging: Averaging::Exponential { every: 3, decay: 0.5 },
            ..Regularisation::default()
        },
        ..TrainConfig::default()
    }
}

fn interrupt_at(stop: u64) -> impl FnMut(&Event<'_>) -> Control {
    move |event| match event {
        Event::Updated { update, .. } if *update == stop => Control::Interrupt,
        _ => Control::Continue,
    }
}

/// Keeps all checkpoints in memory.
#[derive(Default)]
struct MemoryStore(Vec<Checkpoint<f64>>);

impl CheckpointStore<f64> for MemoryStore {
    fn save(
        &mut self,
        _: &RunIdentity,
        checkpoint: &Checkpoint<f64>,
    ) -> Result<(), CheckpointError> {
        self.0.push(checkpoint.clone());
        Ok(())
    }
    fn latest(&mut self, _: &RunIdentity) -> Result<LatestCheckpoint<f64>, CheckpointError> {
        Ok(LatestCheckpoint { checkpoint: self.0.last().cloned(), skipped: vec![] })
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let outcome = |seed| {
        let job = TrainJob { split: &split, config: &config, key: Key::new(seed) };
        let mut engine = engine(UNITS, K, seed);
        let run = train(&mut engine, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
        (run, engine.snapshot().unwrap())
    };
    assert_eq!(outcome(1), outcome(1));
    assert_ne!(outcome(1).1, outcome(2).1);
}

#[test]
fn the_result_is_the_average_of_the_sampled_updates() {
    let split = small_split();
    let params_after = |updates: u64, averaging: Averaging| {
        let regularisation = Regularisation { averaging, ..Regularisation::default() };
        let schedule = Schedule::plain(updates);
        let config = TrainConfig { schedule, regularisation, ..TrainConfig::default() };
        let job = TrainJob { split: &split, config: &config, key: Key::new(1) };
        let mut engine = engine(UNITS, K, 1);
        train(&mut engine, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
        engine.model().unwrap().params
    };
    let [second, fourth] = [2, 4].map(|updates| params_after(updates, Averaging::Never));
    let mean = second.iter().zip(&fourth).map(|(a, b)| 0.25 * a + 0.75 * b);
    let averaging = Averaging::Exponential { every: 2, decay: 0.25 };
    assert_eq!(params_after(5, averaging), mean.collect::<Vec<f64>>());
}

#[test]
fn a_run_stopped_at_any_update_resumes_to_the_same_bits() {
    for sampling in [Sampling::Draw, Sampling::Epochs] {
        let (split, config) = (small_split(), config(sampling));
        let job = TrainJob { split: &split, config: &config, key: Key::new(3) };
        let mut whole = engine(UNITS, K, 3);
        let expected = train(&mut whole, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
        assert_eq!((expected.stop.clone(), expected.updates), (Stop::Completed, 37));
        for stop in 0..37 {
            let context = format!("{sampling:?} stopped at {stop}");
            let mut store = MemoryStore::default();
            break_and_resume(&job, stop, &mut store, &expected, &whole, &context);
        }
        // On disk too, but at few updates: flushing is slow.
        for stop in [0, 5, 9, 23, 36] {
            let context = format!("{sampling:?} stopped at {stop}, on disk");
            let root = tempfile::tempdir().unwrap();
            let mut folder = CheckpointFolder::new(root.path().join("checkpoints"));
            break_and_resume(&job, stop, &mut folder, &expected, &whole, &context);
        }
    }
}

fn break_and_resume(
    job: &TrainJob<'_>,
    stop: u64,
    store: &mut dyn CheckpointStore<f64>,
    expected: &Run,
    whole: &ReferenceTrainer,
    context: &str,
) {
    let mut first = engine(UNITS, K, 3);
    let mut observer = |event: &Event<'_>| match event {
        Event::Started { .. } if stop == 0 => Control::Interrupt,
        event => interrupt_at(stop)(event),
    };
    let broken = train(&mut first, job, store, &mut observer).unwrap();
    assert_eq!((broken.stop, broken.updates), (Stop::Interrupted, stop), "{context}");
    assert_eq!(broken.final_evaluation, None, "{context}");
    // Another engine with another network: the whole state must come from the checkpoint.
    let mut second = engine(UNITS, K, 99);
    let run = train_or_resume(&mut second, job, store, &mut NoObserver).unwrap();
    assert_eq!(&run, expected, "{context}");
    assert_eq!(second.snapshot().unwrap(), whole.snapshot().unwrap(), "{context}");
}

#[test]
fn a_run_with_a_target_at_every_step_learns_and_resumes_to_the_same_bits() {
    let config = TrainConfig {
        schedule: Schedule { warmup: 4, ramp: 4, ..Schedule::plain(16) },
        batch_size: 5,
        validate_every: 6,
        ..copying_recipe().train
    };
    let job = TrainJob { split: &small_copying(), config: &config, key: Key::new(3) };
    let mut whole = copying_engine(3);
    let expected = train(&mut whole, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    let losses: Vec<f64> = expected.history.iter().map(|record| record.valid.loss).collect();
    assert!(losses.len() == 4 && losses.is_sorted_by(|a, b| a > b), "{losses:?}");
    let mut store = MemoryStore::default();
    let mut observer = interrupt_at(10);
    let mut broken = copying_engine(3);
    train(&mut broken, &job, &mut store, &mut observer).unwrap();
    let mut last = copying_engine(99);
    let run = train_or_resume(&mut last, &job, &mut store, &mut NoObserver).unwrap();
    assert_eq!(run, expected);
    assert_eq!(last.snapshot().unwrap(), whole.snapshot().unwrap());
}

#[test]
fn a_run_interrupted_many_times_resumes_to_the_same_bits() {
    let (split, config) = (small_split(), config(Sampling::Epochs));
    let job = TrainJob { split: &split, config: &config, key: Key::new(4) };
    let mut whole = engine(UNITS, K, 4);
    let expected = train(&mut whole, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    let mut store = MemoryStore::default();
    for stop in [1, 2, 7, 8, 9, 17, 18, 30, 36] {
        let mut engine = engine(UNITS, K, 4);
        let mut observer = interrupt_at(stop);
        let run = train_or_resume(&mut engine, &job, &mut store, &mut observer).unwrap();
        assert_eq!(run.stop, Stop::Interrupted);
    }
    let mut last = engine(UNITS, K, 4);
    let run = train_or_resume(&mut last, &job, &mut store, &mut NoObserver).unwrap();
    assert_eq!(run, expected);
    assert_eq!(last.snapshot().unwrap(), whole.snapshot().unwrap());
    let mut again = engine(UNITS, K, 4);
    let run = train_or_resume(&mut again, &job, &mut store, &mut NoObserver).unwrap();
    assert_eq!(run, expected, "a completed run stays completed");
    assert_eq!(again.model().unwrap(), whole.model().unwrap());
}

#[test]
fn the_cpu_engine_resumes_to_the_same_bits_with_another_number_of_threads() {
    let (split, config) = (small_split(), config(Sampling::Epochs));
    let job = TrainJob { split: &split, config: &config, key: Key::new(2) };
    let model = Model::new(arch(UNITS, K), &Init::default(), Key::new(2)).unwrap();
    let cpu = |threads| CpuTrainer::new(&model, config.optimiser, threads);
    let mut whole = cpu(1);
    let expected = train(&mut whole, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    for (stop, threads) in [(3, 1), (14, 2), (34, 3)] {
        let root = tempfile::tempdir().unwrap();
        let mut folder = CheckpointFolder::new(root.path());
        train(&mut cpu(threads), &job, &mut folder, &mut interrupt_at(stop)).unwrap();
        let mut second = cpu(4);
        let run = train_or_resume(&mut second, &job, &mut folder, &mut NoObserver).unwrap();
        assert_eq!(run, expected, "stopped at {stop}");
        assert_eq!(second.snapshot().unwrap(), whole.snapshot().unwrap(), "stopped at {stop}");
    }
}

#[test]
fn a_killed_process_resumes_from_its_last_checkpoint_to_the_same_bits() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(5) };
    let mut store = MemoryStore::default();
    let mut whole = engine(UNITS, K, 5);
    let expected = train(&mut whole, &job, &mut store, &mut NoObserver).unwrap();
    let updates: Vec<u64> = store.0.iter().map(|c| c.progress.update).collect();
    assert_eq!(updates, [6, 12, 18, 24, 30, 36, 37]);
    for checkpoint in store.0 {
        let mut engine = engine(UNITS, K, 5);
        let run =
            resume(&mut engine, checkpoint, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
        assert_eq!(run, expected);
        assert_eq!(engine.model().unwrap(), whole.model().unwrap());
    }
}

#[test]
fn checkpoints_of_another_seed_are_refused() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let root = tempfile::tempdir().unwrap();
    let mut store = CheckpointFolder::new(root.path());
    let job = |seed| TrainJob { split: &split, config: &config, key: Key::new(seed) };
    let mut observer = interrupt_at(3);
    train(&mut engine(UNITS, K, 1), &job(1), &mut store, &mut observer).unwrap();
    let mut engine = engine(UNITS, K, 1);
    let error = train_or_resume(&mut engine, &job(2), &mut store, &mut NoObserver).unwrap_err();
    assert!(error.to_string().contains("configuration or seed"), "{error}");
}

/// The reference engine with values that are not finite from an update on.
struct FaultyTrainer {
    inner: ReferenceTrainer,
    /// The number of calls of `step`.
    steps: u64,
    /// The first faulty update.
    at: u64,
    /// The first update after `at` without a fault.
    until: u64,
    fault: NonFinite,
}

impl Runner<f64> for FaultyTrainer {
    type Error = DeviceError;

    fn arch(&self) -> &Arch {
        self.inner.arch()
    }
    fn model(&self) -> Result<Model<f64>, DeviceError> {
        self.inner.model()
    }
    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f64>, DeviceError> {
        let mut trace = self.inner.trace(batch, mode, fields)?;
        if self.fault == NonFinite::Evaluation && self.inner.snapshot()?.updates > self.at {
            trace.logits.fill(f64::NAN);
        }
        Ok(trace)
    }
}

impl Trainer<f64> for FaultyTrainer {
    fn snapshot(&self) -> Result<Snapshot<f64>, DeviceError> {
        let mut snapshot = self.inner.snapshot()?;
        if self.fault == NonFinite::Parameters && snapshot.updates > self.at {
            snapshot.params[0] = f64::INFINITY;
        }
        Ok(snapshot)
    }
    fn restore(&mut self, snapshot: &Snapshot<f64>) -> Result<(), DeviceError> {
        self.inner.restore(snapshot)
    }
    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Result<Gradients<f64>, DeviceError> {
        self.inner.gradients(batch, regime)
    }
    fn step(&mut self, batch: &Batch, regime: &Regime) -> Result<Step, DeviceError> {
        let before = self.inner.snapshot()?;
        let mut step = self.inner.step(batch, regime)?;
        self.steps += 1;
        if (self.at..self.until).contains(&(self.steps - 1)) {
            match self.fault {
                NonFinite::Loss => step.loss.total = f64::NAN,
                NonFinite::Gradient => {
                    step.gradient_norm = f64::INFINITY;
                    self.inner.restore(&before)?;
                }
                NonFinite::Parameters | NonFinite::Evaluation => {}
            }
        }
        Ok(step)
    }
    fn last_states(&self) -> Result<Vec<LayerState>, DeviceError> {
        self.inner.last_states()
    }
    fn optimiser(&self) -> &Optimiser {
        self.inner.optimiser()
    }
}

#[test]
fn divergence_stops_the_run_names_the_batch_and_keeps_the_last_valid_checkpoint() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(6) };
    for (at, fault, shown_at) in [
        (14, NonFinite::Loss, 14),
        // Reported after three skipped updates.
        (14, NonFinite::Gradient, 17),
        // Reported at the next evaluation or checkpoint: after 16 and 18 updates.
        (14, NonFinite::Evaluation, 15),
        (14, NonFinite::Parameters, 17),
    ] {
        let root = tempfile::tempdir().unwrap();
        let mut store = CheckpointFolder::new(root.path());
        let mut engine =
            FaultyTrainer { inner: engine(UNITS, K, 6), steps: 0, at, until: u64::MAX, fault };
        let run = train(&mut engine, &job, &mut store, &mut NoObserver).unwrap();
        let batch = Sampler::new(&split.train, &config, job.key).indices(shown_at);
        assert_eq!(
            run.stop,
            Stop::Diverged { update: shown_at, quantity: fault, sequences: batch }
        );
        assert_eq!(run.final_evaluation, None);
        let words = run.stop.to_string();
        assert!(words.contains(&format!("update {shown_at}")) && words.contains('['), "{words}");
        let identity = RunIdentity::of(&job, &arch(UNITS, K));
        let latest = CheckpointStore::<f64>::latest(&mut store, &identity).unwrap();
        assert_eq!(latest.checkpoint.unwrap().progress.update, 12, "{fault:?}");
    }
}

#[test]
fn updates_without_a_finite_gradient_are_skipped_and_the_run_continues() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(6) };
    let inner = engine(UNITS, K, 6);
    let mut engine =
        FaultyTrainer { inner, steps: 0, at: 14, until: 17, fault: NonFinite::Gradient };
    let mut skipped = vec![];
    let mut observer = |event: &Event<'_>| {
        if let Event::UpdateSkipped { update } = event {
            skipped.push(*update);
        }
        Control::Continue
    };
    let run = train(&mut engine, &job, &mut NoCheckpoints, &mut observer).unwrap();
    assert_eq!((run.stop, run.updates, run.skipped_updates), (Stop::Completed, 37, 3));
    assert_eq!(skipped, [15, 16, 17]);
}

#[test]
fn a_run_with_skipped_updates_resumes_to_the_same_bits() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(6) };
    let losing = |at| FaultyTrainer {
        inner: engine(UNITS, K, 6),
        steps: 0,
        at,
        until: at + 2,
        fault: NonFinite::Gradient,
    };
    let mut whole = losing(14);
    let expected = train(&mut whole, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut store = CheckpointFolder::new(root.path());
    train(&mut losing(14), &job, &mut store, &mut interrupt_at(20)).unwrap();
    let mut resumed = losing(u64::MAX - 2);
    let run = train_or_resume(&mut resumed, &job, &mut store, &mut NoObserver).unwrap();
    assert_eq!((run.skipped_updates, run), (2, expected));
    assert_eq!(resumed.model().unwrap(), whole.model().unwrap());
}

#[test]
fn a_huge_learning_rate_diverges() {
    let learning_rate = LearningRate::Constant { rate: f64::MAX };
    let config = TrainConfig { learning_rate, ..config(Sampling::Draw) };
    let split = small_split();
    let job = TrainJob { split: &split, config: &config, key: Key::new(6) };
    let mut store = MemoryStore::default();
    let run = train(&mut engine(UNITS, K, 6), &job, &mut store, &mut NoObserver).unwrap();
    assert!(matches!(run.stop, Stop::Diverged { .. }), "{:?}", run.stop);
    assert!(store.0.iter().all(|checkpoint| is_finite(&checkpoint.snapshot)));
}

#[test]
fn a_time_limit_stops_with_a_checkpoint_and_a_result() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(7) };
    let mut store = MemoryStore::default();
    let mut clock = |event: &Event<'_>| match event {
        Event::Updated { update: 10, .. } => Control::TimeUp,
        _ => Control::Continue,
    };
    let run = train(&mut engine(UNITS, K, 7), &job, &mut store, &mut clock).unwrap();
    assert_eq!((run.stop, run.updates), (Stop::TimeLimit, 10));
    assert!(run.final_evaluation.is_some());
    assert_eq!(store.0.last().unwrap().progress.update, 10);
}

#[test]
fn early_stopping_cuts_only_the_finish_phase_short() {
    let (split, mut config) = (small_split(), config(Sampling::Draw));
    config.stopping = EarlyStopping::Converged { accuracy: 0.0, evaluations: 1 };
    let job = TrainJob { split: &split, config: &config, key: Key::new(8) };
    let run = train(&mut engine(UNITS, K, 8), &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    assert_eq!((run.stop, run.updates), (Stop::Converged, 32), "the first evaluation after 30");
}

#[test]
fn the_best_network_of_the_last_phase_is_the_result_where_it_is_kept() {
    let (split, mut config) = (small_split(), config(Sampling::Draw));
    // Sharpening would change the network after its evaluation.
    config.schedule.sharpen = 1.0;
    let job = TrainJob { split: &split, config: &config, key: Key::new(9) };
    let mut engine = engine(UNITS, K, 9);
    let run = train(&mut engine, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    let best = run.history.iter().find(|record| record.update == run.kept).unwrap();
    assert_eq!(Some(best.valid), run.final_evaluation.as_ref().map(|e| (&e.valid).into()));
    let last = run.history.iter().filter(|record| record.update > 30);
    assert!(last.clone().all(|record| !record.valid.beats(&best.valid)));
    assert_eq!(last.count(), 3, "after 32, 36 and 37");
}

#[test]
fn the_observer_receives_all_events_in_order() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(1) };
    let mut events = String::new();
    let mut observer = |event: &Event<'_>| {
        events.push(match event {
            Event::Started { .. } => 'b',
            Event::Updated { .. } => 'u',
            Event::UpdateSkipped { .. } => 'l',
            Event::Reseeded { .. } => 'r',
            Event::Evaluated(_) => 'e',
            Event::CheckpointSaved { .. } => 's',
            Event::CheckpointSkipped(_) => 'x',
        });
        Control::Continue
    };
    train(&mut engine(UNITS, K, 1), &job, &mut NoCheckpoints, &mut observer).unwrap();
    let due = |update: u64| {
        let reseeded = if update == 9 { "r" } else { "" };
        let evaluated = if update.is_multiple_of(4) || update == 37 { "e" } else { "" };
        let saved = if update.is_multiple_of(6) || update == 37 { "s" } else { "" };
        format!("{reseeded}u{evaluated}{saved}")
    };
    assert_eq!(events, format!("b{}", (1..=37).map(due).collect::<String>()));
}

#[test]
fn parity_is_learned_end_to_end() {
    let train_set = short_words(8);
    let long: Vec<String> = (0..60u32).map(|i| format!("{:011b}", i * 33 % 2_048)).collect();
    let split = Split { train: train_set, valid: words(&long), test: None };
    let schedule = Schedule::default().scaled_to(900);
    let config = TrainConfig {
        schedule,
        batch_size: 16,
        learning_rate: LearningRate::Constant { rate: 1e-2 },
        ..TrainConfig::default()
    };
    let model = Model::new(arch(8, 4), &Init::default(), Key::new(1)).unwrap();
    let mut engine = ReferenceTrainer::new(&model.to_f64(), config.optimiser);
    let job = TrainJob { split: &split, config: &config, key: Key::new(1) };
    let run = train(&mut engine, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    let last = run.final_evaluation.unwrap();
    assert_eq!((last.train.accuracy, last.valid.accuracy), (1.0, 1.0), "{:?}", run.history.last());
    assert_eq!(run.stop, Stop::Completed);
}

/// The reference engine. It compares every batch with the one announced before, and fails at an
/// update.
struct PrefetchRecorder {
    inner: ReferenceTrainer,
    next: Option<NextBatch>,
    /// The number of steps that were announced correctly.
    announced: u64,
    /// The update at which the device fails.
    fails_at: u64,
}

impl Runner<f64> for PrefetchRecorder {
    type Error = DeviceError;

    fn arch(&self) -> &Arch {
        self.inner.arch()
    }
    fn model(&self) -> Result<Model<f64>, DeviceError> {
        self.inner.model()
    }
    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f64>, DeviceError> {
        self.inner.trace(batch, mode, fields)
    }
}

impl Trainer<f64> for PrefetchRecorder {
    fn snapshot(&self) -> Result<Snapshot<f64>, DeviceError> {
        self.inner.snapshot()
    }
    fn restore(&mut self, snapshot: &Snapshot<f64>) -> Result<(), DeviceError> {
        self.inner.restore(snapshot)
    }
    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Result<Gradients<f64>, DeviceError> {
        self.inner.gradients(batch, regime)
    }
    fn step(&mut self, _: &Batch, _: &Regime) -> Result<Step, DeviceError> {
        unreachable!("training announces the next batch")
    }
    fn step_and_prefetch(
        &mut self,
        batch: &Batch,
        regime: &Regime,
        next: &mut dyn FnMut() -> Option<NextBatch>,
    ) -> Result<Step, DeviceError> {
        if self.inner.snapshot()?.updates == self.fails_at {
            return Err(DeviceError::NotBuilt);
        }
        let next_batch = self.next.take();
        let same = |next: NextBatch| *next.batch == *batch && next.regime == *regime;
        self.announced += next_batch.is_some_and(same) as u64;
        let step = self.inner.step(batch, regime)?;
        self.next = next();
        Ok(step)
    }
    fn last_states(&self) -> Result<Vec<LayerState>, DeviceError> {
        self.inner.last_states()
    }
    fn optimiser(&self) -> &Optimiser {
        self.inner.optimiser()
    }
}

#[test]
fn every_batch_but_the_first_is_announced_to_the_engine() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(6) };
    let mut engine = PrefetchRecorder {
        inner: engine(UNITS, K, 6),
        next: None,
        announced: 0,
        fails_at: u64::MAX,
    };
    let run = train(&mut engine, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    assert_eq!((engine.announced, engine.next), (run.updates - 1, None));
}

#[test]
fn a_device_failure_ends_the_run_and_leaves_the_last_checkpoint() {
    let (split, config) = (small_split(), config(Sampling::Draw));
    let job = TrainJob { split: &split, config: &config, key: Key::new(6) };
    let root = tempfile::tempdir().unwrap();
    let mut store = CheckpointFolder::new(root.path());
    let inner = engine(UNITS, K, 6);
    let mut failing = PrefetchRecorder { inner, next: None, announced: 0, fails_at: 14 };
    let error = train(&mut failing, &job, &mut store, &mut NoObserver).unwrap_err();
    assert!(matches!(error, TrainError::Device(_)), "{error}");
    let resumed = {
        let mut engine = engine(UNITS, K, 6);
        train_or_resume(&mut engine, &job, &mut store, &mut NoObserver).unwrap();
        engine.model().unwrap()
    };
    let mut whole = engine(UNITS, K, 6);
    train(&mut whole, &job, &mut NoCheckpoints, &mut NoObserver).unwrap();
    assert_eq!(resumed, whole.model().unwrap(), "the same network as without the failure");
}
