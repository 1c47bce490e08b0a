//! `srnn bench`: how long a training step takes, after checking that it is the right one.

mod check;
mod epoch;
mod export;
mod growth;
mod measure;
mod report;
mod request;
mod setting;

use super::learn::hardware;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use check::Nearness;
use clap::Args;
use growth::Growth;
use measure::{Side, measure};
use report::Line;
use setting::{CellName, Setting, Shape, named};
use srnn::engine::{Batch, DeviceName, Hardware};
use srnn::engine::{Optimiser, Rule};
use srnn::key::Key;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What updates are made with: Adam as usual.
const OPTIMISER: Optimiser = Optimiser { rule: Rule::ADAM, clip: 1.0, l2: 0.0 };

/// A step reads another batch than the one before.
const BATCHES: u64 = 4;

/// Time training steps, and check first that they compute what the f64 reference computes.
///
/// A network and batches are made from a seed. Loss and every gradient of the engine must be within
/// 1e-4 of the reference on four rows; then steps (loss, gradients, update) are timed, several
/// cells in turn. Floors are what arithmetic and memory allow: two cores with AVX-512, an H200.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn bench --setting bp,mnist
  srnn bench --shape 32,100,8,64,10 --cell sr-lstm,lstm --json
  srnn bench --epoch data/mnist --setting mnist,mnist-100 --device cuda")]
pub struct Bench {
    /// Settings by name: bp, mnist, mnist-50, mnist-100, imdb, copying, tomita [default: all].
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "shape")]
    setting: Vec<String>,
    /// Free sizes: rows, steps, numbers a step, units, centroids; and, for tokens, symbols: then IN
    /// is the width of their embedding.
    #[arg(long, value_name = "B,T,IN,D,K[,V]")]
    shape: Option<Shape>,
    /// Cells, compared with the first [default: the setting's own, or sr-lstm-p].
    #[arg(long, value_enum, value_delimiter = ',')]
    cell: Vec<CellName>,
    /// Where to compute.
    #[arg(long, value_name = "cpu|cuda|auto", default_value_t = DeviceName::Auto)]
    device: DeviceName,
    /// Threads of the processor [default: one for each core].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Training steps to time, at least.
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeats: usize,
    /// The seed of weights and data.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// λ from 0 to 1: below 1 is the direct form that the homotopy of training begins with.
    #[arg(long, value_name = "LAMBDA", default_value_t = 1.0, allow_negative_numbers = true)]
    lambda: f64,
    /// How times grow with T, B, D, K and V, each ×2 to ×16 from --shape, and the exponents.
    #[arg(long, conflicts_with_all = ["setting", "export"])]
    growth: bool,
    /// Time nothing; write weights, batches and the gradients expected to DIR/SETTING, for other
    /// programs to check and time.
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Time whole epochs: read MNIST (or what has its form) from DIR, and train on every image once,
    /// batch by batch [default setting: mnist].
    #[arg(long, value_name = "DIR", conflicts_with_all = ["growth", "export", "on_request", "lambda"])]
    epoch: Option<PathBuf>,
    /// Epochs to time, after one that is not.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "epoch")]
    epochs: usize,
    /// For each line of stdin, `step` or `gradients`, do one and say its seconds, so that another
    /// program can take turns; one setting.
    #[arg(long, conflicts_with_all = ["growth", "export"])]
    on_request: bool,
}

/// Does it.
pub fn run(arguments: &Bench, output: &Output) -> Result<Answer, Failure> {
    check_numbers(arguments)?;
    let hardware = hardware(arguments.device, arguments.threads)?;
    if cfg!(debug_assertions) {
        output.note("this is a debug build: build with --release for times that mean something");
    }
    match (&arguments.export, &arguments.epoch) {
        (Some(folder), _) => export_all(arguments, &hardware, folder, output)?,
        (None, Some(folder)) => time_epochs(arguments, &hardware, folder, output)?,
        _ if arguments.growth => grow(arguments, &hardware, output)?,
        _ if arguments.on_request => on_request(arguments, &hardware)?,
        _ => measure_all(arguments, &hardware, output)?,
    }
    Ok(Answer::Yes)
}

fn measure_all(arguments: &Bench, hardware: &Hardware, output: &Output) -> Result<(), Failure> {
    let mut lines = vec![];
    for cells in settings(arguments)? {
        lines.extend(compare(arguments, hardware, cells, output)?);
    }
    output.result(report::text(hardware, &lines), &report::value(hardware, &lines))
}

fn grow(arguments: &Bench, hardware: &Hardware, output: &Output) -> Result<(), Failure> {
    let shape = arguments.shape.unwrap_or(growth::BASE.parse().expect("written there"));
    let cell = *arguments.cell.first().unwrap_or(&CellName::SrLstmP);
    let base = Setting::free(cell, shape).with(cell, arguments.lambda);
    let mut growths = vec![];
    for (axis, settings) in growth::settings(&base) {
        growths.push(Growth { axis, lines: compare(arguments, hardware, settings, output)? });
    }
    let value = growth::value(hardware, &base, &growths);
    output.result(growth::text(hardware, &base, &growths), &value)
}

fn time_epochs(
    arguments: &Bench,
    hardware: &Hardware,
    folder: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let read = epoch::read_images(folder, arguments.epochs)?;
    let mut lines = vec![];
    for setting in settings(arguments)?.into_iter().flatten() {
        lines.push(epoch::measure(arguments, hardware, setting, &read.images)?);
    }
    let value = epoch::value(hardware, &read, &lines);
    output.result(epoch::text(hardware, &read, &lines), &value)
}

fn export_all(
    arguments: &Bench,
    hardware: &Hardware,
    folder: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let mut written = vec![];
    for setting in settings(arguments)?.into_iter().flatten() {
        let folder = folder.join(&setting.name);
        export::export(&setting, arguments.seed, hardware, &folder)?;
        written.push(folder.display().to_string());
    }
    output.result(written.join("\n"), &serde_json::json!({ "exported": written }))
}

fn on_request(arguments: &Bench, hardware: &Hardware) -> Result<(), Failure> {
    let settings: Vec<Setting> = settings(arguments)?.into_iter().flatten().collect();
    let [setting] = &settings[..] else {
        let message = format!("--on-request: {} settings or cells", settings.len());
        return Err(Failure::new(message, "name one with --setting"));
    };
    request::answer(&mut prepare(arguments, hardware, setting)?.0)
}

fn check_numbers(arguments: &Bench) -> Result<(), Failure> {
    let Bench { repeats, lambda, epochs, .. } = *arguments;
    if !(1..=1_000_000).contains(&repeats) {
        return Err(Failure::new(format!("--repeats {repeats}"), "1 to 1,000,000"));
    }
    if !(1..=1_000).contains(&epochs) {
        return Err(Failure::new(format!("--epochs {epochs}"), "1 to 1,000"));
    }
    if !(0.0..=1.0).contains(&lambda) {
        return Err(Failure::new(format!("--lambda {lambda}: no part of a whole"), "0 to 1"));
    }
    if arguments.cell.len() > 1 && (arguments.growth || arguments.export.is_some()) {
        let message = "--cell: several cells are compared with each other only";
        return Err(Failure::new(message, "name one with --growth and --export"));
    }
    Ok(())
}

/// What is asked for: settings, each with the cells to compare.
fn settings(arguments: &Bench) -> Result<Vec<Vec<Setting>>, Failure> {
    let all = named();
    let find = |name: &String| {
        all.iter().find(|setting| setting.name == *name).cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|setting| setting.name.as_str()).collect();
            let remedy = format!("one of {}, or --shape", names.join(", "));
            Failure::new(format!("--setting {name}: there is none of this name"), remedy)
        })
    };
    let chosen = match (arguments.shape, &arguments.setting[..]) {
        (Some(shape), _) => vec![Setting::free(CellName::SrLstmP, shape)],
        (None, []) if arguments.epoch.is_some() => vec![find(&epoch::USUAL.into())?],
        (None, []) => all.clone(),
        (None, names) => names.iter().map(find).collect::<Result<_, _>>()?,
    };
    let lambda = arguments.lambda;
    let cells = |setting: Setting| match &arguments.cell[..] {
        [] => vec![setting.with(setting.cell, lambda)],
        cells => cells.iter().map(|&cell| setting.with(cell, lambda)).collect(),
    };
    Ok(chosen.into_iter().map(cells).collect())
}

/// Measures settings against each other.
fn compare(
    arguments: &Bench,
    hardware: &Hardware,
    settings: Vec<Setting>,
    output: &Output,
) -> Result<Vec<Line>, Failure> {
    let mut sides = vec![];
    let mut checked = vec![];
    for setting in &settings {
        let (side, near) = prepare(arguments, hardware, setting)?;
        let (name, cell, shape) = (&setting.name, setting.cell.name(), setting.shape);
        let Nearness { rows, steps, .. } = near;
        output.note(format!("{name} {cell} {shape}: checked on {rows} rows of {steps} steps"));
        sides.push(side);
        checked.push(near);
    }
    let times = measure(&mut sides, arguments.repeats)?;
    let first = times[0].median;
    let lines = settings.into_iter().zip(checked).zip(times);
    Ok(lines
        .map(|((setting, near), times)| Line { setting, near, times, ratio: times.median / first })
        .collect())
}

/// An engine that was checked, and the batches to time it on.
fn prepare(
    arguments: &Bench,
    hardware: &Hardware,
    setting: &Setting,
) -> Result<(Side, Nearness), Failure> {
    let model = setting.model(arguments.seed)?;
    let mut engine = hardware.trainer(&model, OPTIMISER)?;
    let expected = check::expected(setting, &model, arguments.seed)?;
    let near = check::check(&mut *engine, &expected, setting)?;
    let batches = batches(setting, arguments.seed);
    Ok((Side { engine, batches, regime: setting.regime() }, near))
}

/// The batches that are timed.
fn batches(setting: &Setting, seed: u64) -> Vec<Arc<Batch>> {
    let (rows, steps) = (setting.shape.rows, setting.shape.steps);
    let key = |i| Key::new(seed).child("batch", i);
    (0..BATCHES).map(|i| Arc::new(setting.batch(rows, steps, key(i)))).collect()
}
