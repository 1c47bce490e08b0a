//! `srnn learn`: the main job in one go.

use crate::failure::{Answer, Failure};
use crate::learning::{
    Data, LearnJob, Network, Resolved, Settings, account, check_memory, describe, parse_bytes,
    perform, read_data, warnings,
};
use crate::output::Output;
use crate::reading::parse_count;
use clap::Args;
use serde_json::Value;
use srnn::engine::{DeviceName, Hardware};
use srnn::learn::{LearnData, workers};
use srnn::run::{RunFolder, RunPlace};
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "Examples:
  srnn learn tomita:3
  srnn learn traces.csv --label-column outcome --seeds 2 --out runs/traces";

/// Those of `resume`, too: it goes on with what was asked for.
pub const EXIT_CODES: &str = "Exit codes: 0 done; 1 below --fail-under, or no proof and \
                              --must-certify; 2 an error; 130 interrupted, with a checkpoint";

/// Train several networks on labelled sequences, keep the best, read the automaton it learned.
#[derive(Args)]
#[command(before_help = EXAMPLES, after_help = EXIT_CODES)]
pub struct Learn {
    /// A file of labelled sequences, tomita:1 to tomita:7, or another task as `srnn data make` names
    /// them (bp:small:A, palindrome:B).
    #[arg(required_unless_present = "config")]
    source: Option<String>,
    /// The first seed [default: 1].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// How many seeds are tried [default: 4].
    #[arg(long, value_name = "M", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seeds: Option<u64>,
    /// The run's folder, which must not be there [default: runs/NAME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the run that is in --out.
    #[arg(long, requires = "out")]
    force: bool,
    /// Threads in all; the result does not depend on it [default: all].
    #[arg(long, value_name = "N", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// What trains: cpu; cuda, an NVIDIA GPU; auto, the GPU where there is one. The bits of cpu are
    /// the same on every machine with the same vector instructions [default: cpu].
    #[arg(long)]
    device: Option<DeviceName>,
    /// Exit with 1 where the validation accuracy is below this.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    fail_under: Option<f64>,
    /// Exit with 1 where no proof is found that network and automaton agree on every word.
    #[arg(long)]
    must_certify: bool,
    /// Refuse to train where it would take more, as 4GiB [default: 3/4 of what is free].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory_limit: Option<u64>,
    /// Settings from a file, such as config.toml of a run; flags win over it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Write the settings with all defaults, and do nothing else.
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    network: Network,
    #[command(flatten)]
    data: Data,
}

/// Does it.
pub fn run(learn: Learn, output: &Output) -> Result<Answer, Failure> {
    let started = Instant::now();
    let mut settings = settings(&learn)?;
    settings.check()?;
    let hardware = hardware(settings.device.unwrap_or_default(), learn.threads)?;
    settings.device = Some(hardware.device.name());
    let source = settings.source()?;
    let data = read_data(&source, &settings.data()?)?;
    let resolved = settings.resolve(&data.split)?;
    if learn.print_config {
        let value = serde_json::to_value(resolved.settings()).unwrap_or(Value::Null);
        output.result(resolved.to_toml()?, &value)?;
        return Ok(Answer::Yes);
    }
    announce(&resolved, &data, output);
    let at_once = workers(resolved.seeds.len(), hardware.threads);
    let budget = check_memory(&resolved, &data, at_once, learn.memory_limit)?;
    output.note(format!("device {hardware}"));
    output.note(format!("plan   {budget}"));
    let account = account(&data, &resolved.data);
    let place = place(learn.out, learn.force, source.name());
    let folder = RunFolder::create(&place, &resolved.to_toml()?, &format!("{account:#}\n"))?;
    output.note(run_line(&place, &folder));
    perform(&LearnJob { resolved, data, folder, hardware, started }, output)
}

fn settings(learn: &Learn) -> Result<Settings, Failure> {
    let flags = Settings {
        source: learn.source.clone(),
        seed: learn.seed,
        seeds: learn.seeds,
        fail_under: learn.fail_under,
        must_certify: learn.must_certify.then_some(true),
        device: learn.device,
        data: learn.data.clone(),
        network: learn.network.clone(),
        ..Settings::default()
    };
    match &learn.config {
        None => Ok(flags),
        Some(path) => flags.over(Settings::read(path)?),
    }
}

/// What trains: a device, and so many threads of the processor.
pub fn hardware(device: DeviceName, given: Option<usize>) -> Result<Hardware, Failure> {
    let threads = threads(given)?;
    Ok(Hardware { device: device.open()?, threads })
}

/// The number of threads: as given, or one for each core.
pub fn threads(given: Option<usize>) -> Result<usize, Failure> {
    match given {
        Some(0) => Err(Failure::new("--threads 0", "--threads 1 or more")),
        Some(threads @ 1..=1024) => Ok(threads),
        Some(threads) => Err(Failure::new(format!("--threads {threads}"), "at most 1024 threads")),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

fn place(out: Option<PathBuf>, force: bool, name: String) -> RunPlace {
    match (out, force) {
        (None, _) => RunPlace::Fresh(name),
        (Some(path), false) => RunPlace::At(path),
        (Some(path), true) => RunPlace::Instead(path),
    }
}

/// Where the run is, with a word about a default folder that another run has.
fn run_line(place: &RunPlace, folder: &RunFolder) -> String {
    let path = folder.path().display();
    match place {
        RunPlace::Fresh(name) if !folder.path().ends_with(name) => {
            format!("run    runs/{name} is there already, so this run is {path}")
        }
        _ => format!("run    {path}"),
    }
}

fn announce(resolved: &Resolved, data: &LearnData, output: &Output) {
    output.note(format!("data   {}", resolved.source));
    describe(data).iter().for_each(|line| output.note(line));
    let min_count = resolved.data.reading.min_count;
    warnings(data, min_count).iter().for_each(|line| output.note(format!("note: {line}")));
}
