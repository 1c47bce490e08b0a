//! `srnn bench`: times training steps, after comparing them with the reference.

mod epoch;
mod growth;
mod on_request;
mod report;
mod shape;

use super::learn::hardware;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Args;
use shape::{cell_parser, parse_shape};
use srnn::bench::{
    self, BenchCell, BenchSetting, BenchShape, EPOCH_SETTING, GROWTH_BASE, Growth,
    ReferenceDeviation, StepTiming, TimedEngine, growth_settings, named_settings,
};
use srnn::engine::model::When;
use srnn::engine::{DeviceName, Hardware};
use std::path::{Path, PathBuf};

/// Time training steps, after comparing them with the f64 reference.
///
/// The network and the batches are made from a seed. The loss and every gradient must be within 1e-4
/// of the reference on four rows. Then steps (loss, gradients, update) are timed; several cells take
/// turns. The floor is the time that arithmetic and memory bandwidth allow on two cores with AVX-512
/// or on an H200.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn bench --setting bp,mnist
  srnn bench --shape 32,100,8,64,10 --cell sr-lstm,lstm --json
  srnn bench --epoch data/mnist --setting mnist,mnist-100 --device cuda")]
pub struct BenchArgs {
    /// Settings by name: bp, mnist, mnist-50, mnist-100, imdb, copying, tomita, lm [default: all but lm].
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "shape")]
    setting: Vec<String>,
    /// Other sizes: rows B, steps T, input width IN, units D, centroids K; with V, the input is tokens
    /// of V symbols and IN is the width of their embedding.
    #[arg(long, value_name = "B,T,IN,D,K[,V]", value_parser = parse_shape)]
    shape: Option<BenchShape>,
    /// Cells; times are compared with the first [default: the setting's own, or sr-lstm-p].
    #[arg(long, value_parser = cell_parser(), value_delimiter = ',')]
    cell: Vec<BenchCell>,
    /// The device.
    #[arg(long, value_name = "cpu|cuda|auto", default_value_t = DeviceName::Auto)]
    device: DeviceName,
    /// CPU threads [default: one per core].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Minimum number of training steps to time.
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeats: usize,
    /// The seed of weights and data.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// λ from 0 to 1. Below 1, the cell's own output is mixed into the state, as at the start of
    /// training.
    #[arg(long, value_name = "LAMBDA", default_value_t = 1.0, allow_negative_numbers = true)]
    lambda: f64,
    /// Measure how the time grows with T, B, D, K and V, each ×2 to ×16 from --shape, and fit
    /// exponents.
    #[arg(long, conflicts_with_all = ["setting", "export"])]
    growth: bool,
    /// Instead of timing, write weights, batches and expected gradients to DIR/SETTING, so that other
    /// programs can check and time the same step.
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Time whole epochs on the MNIST files in DIR, or files of the same format [default setting:
    /// mnist].
    #[arg(long, value_name = "DIR", conflicts_with_all = ["growth", "export", "on_request", "lambda"])]
    epoch: Option<PathBuf>,
    /// Epochs to time, after one warm-up epoch.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "epoch")]
    epochs: usize,
    /// For each line `step` or `gradients` on stdin, run one and print its seconds, so that another
    /// program can take turns. Needs one setting.
    #[arg(long, conflicts_with_all = ["growth", "export"])]
    on_request: bool,
}

pub fn run(arguments: &BenchArgs, output: &Output) -> Result<Answer, Failure> {
    check_numbers(arguments)?;
    let hardware = hardware(arguments.device, arguments.threads)?;
    if cfg!(debug_assertions) {
        output.note("note: this is a debug build; build with --release for meaningful times");
    }
    match (&arguments.export, &arguments.epoch) {
        (Some(folder), _) => export_all(arguments, &hardware, folder, output)?,
        (None, Some(folder)) => time_epochs(arguments, &hardware, folder, output)?,
        _ if arguments.growth => measure_growth(arguments, &hardware, output)?,
        _ if arguments.on_request => on_request(arguments, &hardware)?,
        _ => measure_all(arguments, &hardware, output)?,
    }
    Ok(Answer::Yes)
}

fn measure_all(arguments: &BenchArgs, hardware: &Hardware, output: &Output) -> Result<(), Failure> {
    let mut lines = vec![];
    for cells in settings(arguments)? {
        lines.extend(compare(arguments, hardware, cells, output)?);
    }
    output.result(report::text(hardware, &lines), &report::value(hardware, &lines))
}

fn measure_growth(
    arguments: &BenchArgs,
    hardware: &Hardware,
    output: &Output,
) -> Result<(), Failure> {
    let shape = arguments.shape.unwrap_or(GROWTH_BASE);
    let cell = *arguments.cell.first().unwrap_or(&BenchCell::SrLstmP);
    let base = BenchSetting::free(cell, shape).with(cell, arguments.lambda);
    let mut growths = vec![];
    for (axis, settings) in growth_settings(&base) {
        growths.push(Growth { axis, timings: compare(arguments, hardware, settings, output)? });
    }
    let value = growth::value(hardware, &base, &growths);
    output.result(growth::text(hardware, &base, &growths), &value)
}

fn time_epochs(
    arguments: &BenchArgs,
    hardware: &Hardware,
    folder: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let read = bench::read_images(folder, arguments.epochs)?;
    let mut lines = vec![];
    for setting in settings(arguments)?.into_iter().flatten() {
        lines.push(bench::time_epochs(
            setting,
            hardware,
            arguments.seed,
            &read.images,
            arguments.epochs,
        )?);
    }
    let value = epoch::value(hardware, &read, &lines);
    output.result(epoch::text(hardware, &read, &lines), &value)
}

fn export_all(
    arguments: &BenchArgs,
    hardware: &Hardware,
    folder: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let mut written = vec![];
    for setting in settings(arguments)?.into_iter().flatten() {
        let folder = folder.join(&setting.name);
        bench::export(&setting, hardware, arguments.seed, &folder)?;
        written.push(folder.display().to_string());
    }
    output.result(written.join("\n"), &serde_json::json!({ "exported": written }))
}

fn on_request(arguments: &BenchArgs, hardware: &Hardware) -> Result<(), Failure> {
    let settings: Vec<BenchSetting> = settings(arguments)?.into_iter().flatten().collect();
    let [setting] = &settings[..] else {
        let message = format!("--on-request: {} settings or cells", settings.len());
        return Err(Failure::new(message, "choose one with --setting or --cell"));
    };
    on_request::serve(&mut TimedEngine::prepare(setting, hardware, arguments.seed)?.0)
}

fn check_numbers(arguments: &BenchArgs) -> Result<(), Failure> {
    let BenchArgs { repeats, lambda, epochs, .. } = *arguments;
    if !(1..=1_000_000).contains(&repeats) {
        return Err(Failure::new(format!("--repeats {repeats}"), "1 to 1,000,000"));
    }
    if !(1..=1_000).contains(&epochs) {
        return Err(Failure::new(format!("--epochs {epochs}"), "1 to 1,000"));
    }
    if !(0.0..=1.0).contains(&lambda) {
        return Err(Failure::new(
            format!("--lambda {lambda}: not a fraction"),
            "give a number from 0 to 1",
        ));
    }
    if arguments.cell.len() > 1 && (arguments.growth || arguments.export.is_some()) {
        let message = "--cell: --growth and --export take one cell";
        return Err(Failure::new(message, "give one cell"));
    }
    Ok(())
}

/// The settings to measure, each with the cells to compare.
fn settings(arguments: &BenchArgs) -> Result<Vec<Vec<BenchSetting>>, Failure> {
    let all = named_settings();
    let find = |name: &String| {
        all.iter().find(|setting| setting.name == *name).cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|setting| setting.name.as_str()).collect();
            let remedy = format!("one of {}, or --shape", names.join(", "));
            Failure::new(format!("--setting {name}: there is no such setting"), remedy)
        })
    };
    let chosen = match (arguments.shape, &arguments.setting[..]) {
        (Some(shape), _) => vec![BenchSetting::free(BenchCell::SrLstmP, shape)],
        (None, []) if arguments.epoch.is_some() => vec![find(&EPOCH_SETTING.into())?],
        // A step of a language model takes long on a CPU.
        (None, []) => all.iter().filter(|s| s.shape.when == When::Last).cloned().collect(),
        (None, names) => names.iter().map(find).collect::<Result<_, _>>()?,
    };
    let lambda = arguments.lambda;
    let cells = |setting: BenchSetting| match &arguments.cell[..] {
        [] => vec![setting.with(setting.cell, lambda)],
        cells => cells.iter().map(|&cell| setting.with(cell, lambda)).collect(),
    };
    Ok(chosen.into_iter().map(cells).collect())
}

/// Times settings in turn, for comparison.
fn compare(
    arguments: &BenchArgs,
    hardware: &Hardware,
    settings: Vec<BenchSetting>,
    output: &Output,
) -> Result<Vec<StepTiming>, Failure> {
    let checked = |setting: &BenchSetting, deviation: &ReferenceDeviation| {
        let (name, cell, shape) = (&setting.name, setting.cell.name(), setting.shape);
        let ReferenceDeviation { rows, steps, .. } = deviation;
        output.note(format!("{name} {cell} {shape}: checked on {rows} rows of {steps} steps"));
    };
    Ok(bench::compare(settings, hardware, arguments.seed, arguments.repeats, checked)?)
}
