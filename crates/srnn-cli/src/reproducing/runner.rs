//! Runs the cells of an experiment, several at a time, each outcome on the disk before the next.

use super::folder::OutcomeFolder;
use super::progress::Progress;
use super::unfinished::{self, Unfinished};
use crate::failure::Failure;
use crate::output::Output;
use srnn::engine::Hardware;
use srnn::experiment::{
    Cell, CellError, Data, Done, Experiment, Material, NoMaterial, Outcome, Sequences, TestRow,
    material, run_cell,
};
use srnn::format::grouped;
use srnn::model::ModelFile;
use srnn::train::{Control, Event};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is to be done.
pub struct Order {
    /// The experiment.
    pub experiment: Experiment,
    /// Cells without this in their names are not run.
    pub only: String,
    /// Where data sets are that come as files.
    pub data: PathBuf,
    /// Where it goes.
    pub folder: OutcomeFolder,
    /// The outcomes that are there already.
    pub outcomes: Vec<Outcome>,
    /// What trains.
    pub hardware: Hardware,
    /// How to say all this again.
    pub command: String,
}

/// What was done.
pub struct Tally {
    /// The folder, with everything in it.
    pub folder: OutcomeFolder,
    /// Cells run now.
    pub run: usize,
    /// Cells that had an outcome before.
    pub skipped: usize,
    /// The experiment.
    pub experiment: Experiment,
    /// All outcomes of the folder.
    pub outcomes: Vec<Outcome>,
}

/// Materials by the names of their data sets.
type Materials = HashMap<String, Material>;

/// Runs what has no outcome yet.
pub fn perform(order: Order, output: &Output) -> Result<Tally, Failure> {
    let Order { experiment, only, data, folder, outcomes, hardware, command } = order;
    let chosen = chosen(&experiment, &only)?;
    let materials = materials(&experiment, &chosen, &data, output)?;
    // Not before: a command that cannot be run leaves a folder as it was.
    folder.put_experiment(&experiment)?;
    let (skipped, todo) = divide(&chosen, &materials, &outcomes);
    warn_of_replaced(&todo, &outcomes, output);
    let (before, workers) = (outcomes.len(), hardware.threads.clamp(1, todo.len().max(1)));
    output.note(plan(&experiment, todo.len(), skipped, workers));
    let desk = Desk {
        materials: &materials,
        hardware: hardware.shared_by(workers),
        stop: listen()?,
        trouble: Mutex::new(None),
        shelf: Mutex::new(Shelf { folder, outcomes }),
        progress: Progress::new(output, todo.len(), experiment.measure),
    };
    desk.work(&todo, workers);
    let Desk { stop, trouble, shelf, .. } = desk;
    let Shelf { folder, outcomes } = shelf.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(trouble) = trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(trouble);
    }
    // Where nothing is left to do, nothing was interrupted.
    if stop.load(Ordering::Relaxed) && outcomes.len() < before + todo.len() {
        let (path, kept) = (folder.path().display(), outcomes.len());
        let message = format!(
            "{path}: the outcomes of {kept} cells are kept, and those in flight as far as they were"
        );
        return Err(Failure::interrupted(message, format!("to go on: {command}")));
    }
    unfinished::tidy(folder.path());
    let run = todo.len();
    Ok(Tally { folder, run, skipped, experiment, outcomes })
}

fn chosen<'a>(experiment: &'a Experiment, only: &str) -> Result<Vec<Cell<'a>>, Failure> {
    let mut cells = experiment.cells();
    let first = cells[0].id();
    cells.retain(|cell| cell.id().to_string().contains(only));
    match cells.is_empty() {
        true => {
            let remedy = format!("a part of a cell's name, as {first}");
            Err(Failure::new(format!("--only {only}: no cell has this in its name"), remedy))
        }
        false => Ok(cells),
    }
}

/// Makes the data of these cells.
fn materials(
    experiment: &Experiment,
    cells: &[Cell<'_>],
    folder: &Path,
    output: &Output,
) -> Result<Materials, Failure> {
    let mut all = Materials::new();
    for data in &experiment.data {
        if !cells.iter().any(|cell| cell.data == data) {
            continue;
        }
        let material = made(data, &experiment.tests, folder)?;
        let Sequences { train, valid, tests } = material.sequences();
        let [train, valid] = [train, valid].map(|count| grouped(count as u64));
        let tests: Vec<String> = tests.iter().map(|&count| grouped(count as u64)).collect();
        let (name, spec, tests) = (&data.name, &data.spec, tests.join(" "));
        output.note(format!("data   {name} ({spec}): train {train}, valid {valid}, tests {tests}"));
        all.insert(data.name.clone(), material);
    }
    Ok(all)
}

/// A data set and its tests; files are looked for in `folder`.
pub fn made(data: &Data, tests: &[TestRow], folder: &Path) -> Result<Material, Failure> {
    let made = material(data, tests, folder);
    made.map_err(|error| match error {
        NoMaterial::Images(_) => {
            let remedy = "--data DIR or SRNN_DATA says where data sets are";
            Failure::new(error, remedy)
        }
        _ => error.into(),
    })
}

/// How many cells have an outcome, and the others.
fn divide<'a>(
    cells: &[Cell<'a>],
    materials: &Materials,
    outcomes: &[Outcome],
) -> (usize, Vec<Cell<'a>>) {
    let is_done = |cell: &Cell<'_>| {
        let (settings, data) = (cell.digest(), &materials[&cell.data.name].digest);
        outcomes.iter().any(|outcome| outcome.settings == settings && outcome.data == *data)
    };
    let todo: Vec<Cell<'a>> = cells.iter().filter(|cell| !is_done(cell)).copied().collect();
    (cells.len() - todo.len(), todo)
}

/// Networks lie by the names of their cells: those of settings or data that were changed go.
fn warn_of_replaced(todo: &[Cell<'_>], outcomes: &[Outcome], output: &Output) {
    let has_network = |cell: &&Cell<'_>| {
        outcomes.iter().any(|outcome| outcome.cell == cell.id() && outcome.scores.is_some())
    };
    let replaced = todo.iter().filter(has_network).count();
    if replaced > 0 {
        output.note(format!(
            "warning: networks of {replaced} cells with the same names but other settings or data \
             will be replaced: choose another folder with --out to keep them"
        ));
    }
}

fn plan(experiment: &Experiment, todo: usize, skipped: usize, workers: usize) -> String {
    let Experiment { data, models, settings, seeds, .. } = experiment;
    let (data, models, settings) = (data.len(), models.len(), settings.len());
    let had = match skipped {
        0 => String::new(),
        _ => format!(", {skipped} were done before"),
    };
    format!(
        "plan   data {data}, models {models}, settings {settings}, seeds {seeds}: \
         {todo} cells to run{had}, {workers} at a time"
    )
}

/// Ctrl-C ends the cells in flight; twice, the program at once.
fn listen() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })?;
    Ok(stop)
}

/// What the workers share.
struct Desk<'a> {
    materials: &'a Materials,
    /// Of each engine.
    hardware: Hardware,
    stop: Arc<AtomicBool>,
    trouble: Mutex<Option<Failure>>,
    shelf: Mutex<Shelf>,
    progress: Progress,
}

/// What has been done, in memory and on the disk.
struct Shelf {
    folder: OutcomeFolder,
    outcomes: Vec<Outcome>,
}

/// Ends the other cells where one panics, as it does when a GPU fails: they would go on for hours
/// before anybody is told.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Desk<'_> {
    fn work(&self, cells: &[Cell<'_>], workers: usize) {
        let next = AtomicUsize::new(0);
        let work = || {
            let _alarm = Alarm(&self.stop);
            while !self.stop.load(Ordering::Relaxed) {
                let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                if let Err(failure) = self.cell(cell) {
                    self.trouble
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get_or_insert(failure);
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

    fn cell(&self, cell: &Cell<'_>) -> Result<(), Failure> {
        let progress = self.progress.begin(&cell.id());
        let mut watch = |event: &Event<'_>| {
            progress.show(event);
            match self.stop.load(Ordering::Relaxed) {
                true => Control::Interrupt,
                false => Control::Continue,
            }
        };
        let material = &self.materials[&cell.data.name];
        let mut keeper = self.unfinished(cell, material);
        let done = run_cell(cell, material, &self.hardware, &mut keeper, &mut watch);
        let Done { mut outcome, model } = match done {
            Err(CellError::Interrupted) => return Ok(()),
            done => done.map_err(|error| Failure::new(format!("{}: {error}", cell.id()), ""))?,
        };
        outcome.seconds = (keeper.seconds() * 1e3).round() / 1e3;
        outcome.program = format!("srnn {}", crate::VERSION);
        let (alphabet, classes) = material.names();
        let model = ModelFile { model, alphabet, unknown: None, classes };
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        self.progress.finish(&outcome);
        shelf.add(outcome, &model)?;
        keeper.remove()
    }

    fn unfinished(&self, cell: &Cell<'_>, material: &Material) -> Unfinished<'_> {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let device = self.hardware.device.name().to_string();
        Unfinished::of(shelf.folder.path(), cell, material, &device, &self.stop)
    }
}

impl Shelf {
    /// Keeps an outcome and its network. The network goes first: an outcome on the disk has its
    /// network there.
    fn add(&mut self, outcome: Outcome, model: &ModelFile) -> Result<(), Failure> {
        if outcome.scores.is_some() {
            self.folder.save(&outcome.cell, model)?;
        }
        self.folder.append(&outcome)?;
        self.outcomes.push(outcome);
        Ok(())
    }
}
