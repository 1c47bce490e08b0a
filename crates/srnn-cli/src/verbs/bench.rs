//! `srnn bench`: how long a training step takes, after checking that it is the right one.

mod check;
mod device;
mod measure;
mod report;
mod setting;

use super::learn::threads;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Args;
use device::Device;
use measure::{Side, measure};
use report::{Line, Machine};
use setting::{CellName, Setting, Shape, named};
use srnn::engine::{Batch, Regime};
use srnn::key::Key;

/// The paper's network. The step size is small: what is timed should stay what was checked.
const REGIME: Regime = Regime {
    lambda: 1.0,
    commitment: 0.0,
    entropy: 0.0,
    saturation: 0.0,
    writing: 0.0,
    tau: 1.0,
    margin: 0.0,
    learning_rate: 1e-4,
};

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
  srnn bench --shape 32,100,8,64,10 --cell sr-lstm,lstm --json")]
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
    #[arg(long, value_enum, default_value = "auto")]
    device: Device,
    /// Threads of the processor [default: one for each core].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Training steps to time, at least.
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeats: usize,
    /// The seed of weights and data.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Does it.
pub fn run(arguments: &Bench, output: &Output) -> Result<Answer, Failure> {
    let machine =
        Machine { device: arguments.device.resolved(), threads: threads(arguments.threads)? };
    if !(1..=1_000_000).contains(&arguments.repeats) {
        let message = format!("--repeats {}", arguments.repeats);
        return Err(Failure::new(message, "1 to 1,000,000"));
    }
    if cfg!(debug_assertions) {
        output.note("this is a debug build: build with --release for times that mean something");
    }
    let mut lines = vec![];
    for setting in settings(arguments)? {
        let cells: Vec<Setting> = match &arguments.cell[..] {
            [] => vec![setting],
            cells => cells.iter().map(|&cell| setting.with_cell(cell)).collect(),
        };
        lines.extend(compare(arguments, machine, cells, output)?);
    }
    output.result(report::text(machine, &lines), &report::value(machine, &lines))?;
    Ok(Answer::Yes)
}

/// What is asked for.
fn settings(arguments: &Bench) -> Result<Vec<Setting>, Failure> {
    if let Some(shape) = arguments.shape {
        return Ok(vec![Setting::free(CellName::SrLstmP, shape)]);
    }
    let all = named();
    if arguments.setting.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        all.iter().find(|setting| setting.name == *name).cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|setting| setting.name.as_str()).collect();
            let remedy = format!("one of {}, or --shape", names.join(", "));
            Failure::new(format!("--setting {name}: there is none of this name"), remedy)
        })
    };
    arguments.setting.iter().map(find).collect()
}

/// Measures settings against each other.
fn compare(
    arguments: &Bench,
    machine: Machine,
    settings: Vec<Setting>,
    output: &Output,
) -> Result<Vec<Line>, Failure> {
    let mut sides = vec![];
    let mut checked = vec![];
    for setting in &settings {
        let model = setting.model(arguments.seed)?;
        let mut engine = machine.device.engine(&model, machine.threads)?;
        let near = check::check(&mut *engine, &check::expected(setting, &model, arguments.seed))?;
        output.note(format!(
            "{} {}: checked on {} rows of {} steps",
            setting.name,
            setting.cell.name(),
            near.rows,
            near.steps
        ));
        sides.push(Side { engine, batches: batches(setting, arguments.seed) });
        checked.push(near);
    }
    let times = measure(&mut sides, arguments.repeats)?;
    let first = times[0].median;
    let lines = settings.into_iter().zip(checked).zip(times);
    Ok(lines
        .map(|((setting, near), times)| Line { setting, near, times, ratio: times.median / first })
        .collect())
}

/// The batches that are timed.
fn batches(setting: &Setting, seed: u64) -> Vec<Batch> {
    let (rows, steps) = (setting.shape.rows, setting.shape.steps);
    let key = |i| Key::new(seed).child("batch", i);
    (0..BATCHES).map(|i| setting.batch(rows, steps, key(i))).collect()
}
