//! Runs the trials of an experiment in parallel, and writes each outcome to disk on completion.

use super::checkpoints::{TrialCheckpoints, remove_empty_folder};
use super::folder::{OutcomeFolder, check_folder};
use super::progress::ReproduceProgress;
use crate::failure::Failure;
use crate::memory::MemoryLimit;
use crate::output::Output;
use srnn::engine::Hardware;
use srnn::engine::model::ModelFile;
use srnn::experiment::{
    CompletedTrial, DataSpec, Experiment, SequenceCounts, TestRow, Trial, TrialData,
    TrialDataError, TrialError, TrialOutcome, data_bytes, run_trial, training_bytes, trial_data,
};
use srnn::format::{grouped, plural};
use srnn::train::{Control, Event};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The experiment to run, with its folder and hardware.
pub struct ReproduceRequest {
    /// The experiment.
    pub experiment: Experiment,
    /// Only trials with this substring in their names are run.
    pub only: String,
    /// The folder of data sets that are files.
    pub data: PathBuf,
    /// The folder of outcomes and networks, which need not exist yet.
    pub path: PathBuf,
    /// The device and the number of threads.
    pub hardware: Hardware,
    /// The limit on memory.
    pub memory: MemoryLimit,
    /// The command that resumes this request.
    pub command: String,
}

/// The result of a request.
pub struct ReproduceSummary {
    /// The folder of outcomes and networks.
    pub folder: OutcomeFolder,
    /// The number of trials run now.
    pub run: usize,
    /// The number of trials that already had an outcome.
    pub skipped: usize,
    /// The experiment.
    pub experiment: Experiment,
    /// All outcomes of the folder.
    pub outcomes: Vec<TrialOutcome>,
}

/// Trial data by the name of the data set.
type DataByName = HashMap<String, TrialData>;

/// Runs the trials that have no outcome yet.
pub fn run_experiment(
    request: ReproduceRequest,
    output: &Output,
) -> Result<ReproduceSummary, Failure> {
    let ReproduceRequest { experiment, only, data, path, hardware, command, memory } = request;
    check_folder(&path, &experiment)?;
    let trials = filter_trials(&experiment, &only)?;
    check_data_memory(&experiment, &trials, memory)?;
    let data_by_name = load_data(&experiment, &trials, &data, output)?;
    check_training_memory(&trials, &data_by_name, hardware.threads, memory)?;
    // Only now: an invalid command must leave no file.
    let (folder, outcomes) = OutcomeFolder::open(&path, &experiment)?;
    folder.write_experiment(&experiment)?;
    let (skipped, todo) = split_by_outcome(&trials, &data_by_name, &outcomes);
    warn_of_replaced(&todo, &outcomes, output);
    let (before, workers) = (outcomes.len(), hardware.threads.clamp(1, todo.len().max(1)));
    output.note(plan_line(&experiment, todo.len(), skipped, workers));
    let pool = TrialPool {
        data_by_name: &data_by_name,
        hardware: hardware.shared_by(workers),
        stop: stop_on_ctrl_c()?,
        failure: Mutex::new(None),
        store: Mutex::new(OutcomeStore { folder, outcomes }),
        progress: ReproduceProgress::new(output, todo.len(), experiment.measure),
    };
    pool.run(&todo, workers);
    let TrialPool { stop, failure, store, .. } = pool;
    let OutcomeStore { folder, outcomes } =
        store.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure);
    }
    // A request to stop after the last trial interrupts nothing.
    if stop.load(Ordering::Relaxed) && outcomes.len() < before + todo.len() {
        let (path, kept) = (folder.path().display(), outcomes.len());
        let message = format!(
            "{path}: the outcomes of {kept} trials are kept, and checkpoints of the running ones"
        );
        return Err(Failure::interrupted(message, format!("to resume: {command}")));
    }
    remove_empty_folder(folder.path());
    let run = todo.len();
    Ok(ReproduceSummary { folder, run, skipped, experiment, outcomes })
}

/// The trials with `only` in their names.
fn filter_trials<'a>(experiment: &'a Experiment, only: &str) -> Result<Vec<Trial<'a>>, Failure> {
    let mut trials = experiment.trials();
    let first = trials[0].id();
    trials.retain(|trial| trial.id().to_string().contains(only));
    match trials.is_empty() {
        true => {
            let remedy = format!("use a part of a trial's name, such as {first}");
            Err(Failure::new(format!("--only {only}: no trial has this in its name"), remedy))
        }
        false => Ok(trials),
    }
}

/// Refuses data sets that are too large together: all of them are in memory.
fn check_data_memory(
    experiment: &Experiment,
    trials: &[Trial<'_>],
    memory: MemoryLimit,
) -> Result<(), Failure> {
    let is_used = |data: &&DataSpec| trials.iter().any(|trial| trial.data == *data);
    let sizes = experiment.data.iter().filter(is_used);
    let sizes = sizes.map(|data| data_bytes(data, &experiment.tests));
    let bytes = sizes.fold(0, u64::saturating_add);
    memory.check("the data of the experiment", bytes, "lower the numbers of strings in the file")
}

/// Refuses trials that are too large to be trained at the same time.
fn check_training_memory(
    trials: &[Trial<'_>],
    data_by_name: &DataByName,
    workers: usize,
    memory: MemoryLimit,
) -> Result<(), Failure> {
    let bytes = |trial: &Trial<'_>| training_bytes(trial, &data_by_name[&trial.data.name]);
    let mut sizes: Vec<(u64, &Trial<'_>)> = trials.iter().map(|t| (bytes(t), t)).collect();
    sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let largest = sizes.first().map(|(_, trial)| trial.id().to_string()).unwrap_or_default();
    let together = sizes.iter().take(workers.max(1));
    let bytes = together.map(|(bytes, _)| *bytes).fold(0, u64::saturating_add);
    let what =
        format!("training {} trials at a time, the largest {largest},", workers.min(sizes.len()));
    memory.check(&what, bytes, "lower its sizes or batch_size, use fewer --threads")
}

/// Loads the data of these trials.
fn load_data(
    experiment: &Experiment,
    trials: &[Trial<'_>],
    folder: &Path,
    output: &Output,
) -> Result<DataByName, Failure> {
    let mut loaded = DataByName::new();
    for data in &experiment.data {
        if !trials.iter().any(|trial| trial.data == data) {
            continue;
        }
        let trial_data = load_trial_data(data, &experiment.tests, folder)?;
        let SequenceCounts { train, valid, tests } = trial_data.counts();
        let [train, valid] = [train, valid].map(|count| grouped(count as u64));
        let tests: Vec<String> = tests.iter().map(|&count| grouped(count as u64)).collect();
        let (name, spec, tests) = (&data.name, &data.spec, tests.join(" "));
        output.note(format!("data   {name} ({spec}): train {train}, valid {valid}, tests {tests}"));
        loaded.insert(data.name.clone(), trial_data);
    }
    Ok(loaded)
}

/// Loads a data set and its tests. Files are relative to `folder`.
pub fn load_trial_data(
    data: &DataSpec,
    tests: &[TestRow],
    folder: &Path,
) -> Result<TrialData, Failure> {
    trial_data(data, tests, folder).map_err(|error| match error {
        TrialDataError::Images(_) | TrialDataError::Reviews(_) => {
            let remedy = "set the folder of data sets with --data DIR or SRNN_DATA; `srnn data get` \
                          downloads public ones";
            Failure::new(error, remedy)
        }
        _ => error.into(),
    })
}

/// The number of trials that have an outcome, and the trials that have none.
fn split_by_outcome<'a>(
    trials: &[Trial<'a>],
    data_by_name: &DataByName,
    outcomes: &[TrialOutcome],
) -> (usize, Vec<Trial<'a>>) {
    let is_done = |trial: &Trial<'_>| {
        let (settings, data) = (trial.digest(), &data_by_name[&trial.data.name].digest);
        outcomes.iter().any(|outcome| outcome.settings == settings && outcome.data == *data)
    };
    let todo: Vec<Trial<'a>> = trials.iter().filter(|trial| !is_done(trial)).copied().collect();
    (trials.len() - todo.len(), todo)
}

/// Networks are stored under the names of their trials: changed settings or data replace them.
fn warn_of_replaced(todo: &[Trial<'_>], outcomes: &[TrialOutcome], output: &Output) {
    let has_network = |trial: &&Trial<'_>| {
        outcomes.iter().any(|outcome| outcome.trial == trial.id() && outcome.scores.is_some())
    };
    let replaced = todo.iter().filter(has_network).count();
    if replaced > 0 {
        output.note(format!(
            "warning: networks of {replaced} trials with the same names but other settings or data \
             will be replaced: choose another folder with --out to keep them"
        ));
    }
}

fn plan_line(experiment: &Experiment, todo: usize, skipped: usize, workers: usize) -> String {
    let Experiment { data, models, settings, seeds, .. } = experiment;
    let (data, models, settings) = (data.len(), models.len(), settings.len());
    let todo = plural(todo, "trial");
    let done = match skipped {
        0 => String::new(),
        _ => format!(", {skipped} already done"),
    };
    format!(
        "plan   data {data}, models {models}, settings {settings}, seeds {seeds}: \
         {todo} to run{done}, {workers} at a time"
    )
}

/// A flag that Ctrl-C sets to stop the running trials. A second Ctrl-C exits at once.
fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(stop)
}

/// The state that the workers share.
struct TrialPool<'a> {
    data_by_name: &'a DataByName,
    /// The hardware of each engine.
    hardware: Hardware,
    stop: Arc<AtomicBool>,
    /// The first failure.
    failure: Mutex<Option<Failure>>,
    store: Mutex<OutcomeStore>,
    progress: ReproduceProgress,
}

/// All outcomes, in memory and on disk.
struct OutcomeStore {
    folder: OutcomeFolder,
    outcomes: Vec<TrialOutcome>,
}

/// Stops the other trials when one panics. They would otherwise run for hours before the panic is
/// reported.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl TrialPool<'_> {
    fn run(&self, trials: &[Trial<'_>], workers: usize) {
        let next = AtomicUsize::new(0);
        let work = || {
            let _guard = StopOnPanic(&self.stop);
            while !self.stop.load(Ordering::Relaxed) {
                let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                if let Err(failure) = self.run_one(trial) {
                    lock(&self.failure).get_or_insert(failure);
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
    }

    fn run_one(&self, trial: &Trial<'_>) -> Result<(), Failure> {
        let progress = self.progress.start(&trial.id());
        let mut observer = |event: &Event<'_>| {
            progress.show(event);
            match self.stop.load(Ordering::Relaxed) {
                true => Control::Interrupt,
                false => Control::Continue,
            }
        };
        let trial_data = &self.data_by_name[&trial.data.name];
        let mut checkpoints = self.checkpoints(trial, trial_data);
        let done = run_trial(trial, trial_data, &self.hardware, &mut checkpoints, &mut observer);
        let CompletedTrial { mut outcome, model } = match done {
            Err(TrialError::Interrupted) => return Ok(()),
            done => done.map_err(|error| Failure::new(format!("{}: {error}", trial.id()), ""))?,
        };
        outcome.seconds = (checkpoints.seconds() * 1e3).round() / 1e3;
        outcome.program = format!("srnn {}", crate::VERSION);
        let model = trial_data.model_file(model);
        let mut store = lock(&self.store);
        self.progress.finish(&outcome);
        store.add(outcome, &model)?;
        checkpoints.remove()
    }

    fn checkpoints(&self, trial: &Trial<'_>, trial_data: &TrialData) -> TrialCheckpoints<'_> {
        let store = lock(&self.store);
        let device = self.hardware.device.name().to_string();
        TrialCheckpoints::of(store.folder.path(), trial, trial_data, &device, &self.stop)
    }
}

impl OutcomeStore {
    /// Adds an outcome and its network. The network is written first, so that every outcome on disk
    /// has its network.
    fn add(&mut self, outcome: TrialOutcome, model: &ModelFile) -> Result<(), Failure> {
        if outcome.scores.is_some() {
            self.folder.save(&outcome.trial, model)?;
        }
        self.folder.append(&outcome)?;
        self.outcomes.push(outcome);
        Ok(())
    }
}

/// Locks a mutex whose data stays valid after a panic elsewhere.
fn lock<A>(mutex: &Mutex<A>) -> MutexGuard<'_, A> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
