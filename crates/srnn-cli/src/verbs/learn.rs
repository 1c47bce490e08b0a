//! `srnn learn`: trains, extracts and proves in one run.

use super::learn_next::{self, NextArguments};
use crate::failure::{Answer, Failure};
use crate::learning::{
    ComparisonSettings, DataSettings, LearnJob, NetworkSettings, Resolved, Settings, check_memory,
    data_record, data_warnings, default_memory_limit, describe_data, parse_bytes, read_data,
    run_job,
};
use crate::output::Output;
use crate::reading::parse_count;
use clap::Args;
use serde_json::Value;
use srnn::engine::{DeviceName, Hardware};
use srnn::learn::{LearnData, worker_count};
use srnn::run::{RunFolder, RunLocation};
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "Examples:
  srnn learn tomita:3
  srnn learn traces.csv --label-column outcome --seeds 2 --out runs/traces
  srnn learn --next events.txt --test new.txt";

/// Exit codes of `learn` and `resume`.
pub const EXIT_CODES: &str = "Exit codes: 0 done; 1 below --fail-under, or no proof with \
                              --must-certify; 2 error; 130 interrupted, with a checkpoint";

/// Train several networks on labelled sequences, select the best and extract its automaton.
#[derive(Args)]
#[command(before_help = EXAMPLES, after_help = EXIT_CODES)]
pub struct Learn {
    /// A file of labelled sequences, tomita:1 to tomita:7, or another task of `srnn data make`
    /// (bp:small:A, palindrome:B). With --next, a file of sequences.
    #[arg(required_unless_present = "config")]
    source: Option<String>,
    /// Predict the next token instead of a label: how surprising each step of a new sequence is finds
    /// anomalies without labels. A .txt file and a file of an unknown extension have a sequence per
    /// line; labels of other formats are not used. `srnn predict` shows the surprises.
    #[arg(long)]
    next: bool,
    /// With --next: the fraction of the validation sequences that may be called anomalous [default:
    /// 0.01].
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true)]
    flagged: Option<f64>,
    /// The first seed [default: 1].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// The largest number of seeds. Two are trained at a time, and no more once one fits all labels
    /// and is proved [default: 4].
    #[arg(long, value_name = "M", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seeds: Option<u64>,
    /// Updates of a short training of the first two seeds. If one fits all labels and is proved, the
    /// full training is left out; 0 for none [default: 1000, if the full training has twice as many].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    short_updates: Option<u64>,
    /// The run folder, which must not exist [default: runs/NAME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the run in --out.
    #[arg(long, requires = "out")]
    force: bool,
    /// Total number of threads; the result does not depend on it [default: all cores].
    #[arg(long, value_name = "N", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// The training device: cpu; cuda, an NVIDIA GPU; auto, the GPU if there is one. Results of cpu
    /// are bit-identical on all machines with the same vector instructions [default: cpu].
    #[arg(long)]
    device: Option<DeviceName>,
    /// Exit with 1 if the validation accuracy is below this.
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    fail_under: Option<f64>,
    /// Exit with 1 if no proof is found that network and automaton agree on every word.
    #[arg(long)]
    must_certify: bool,
    /// Refuse to train an SR-GRU that takes more memory, such as 4GiB, and leave out other candidates
    /// that do [default: 3/4 of the free memory].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory_limit: Option<u64>,
    /// Settings from a file, such as config.toml of a run; flags override it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print the settings with all defaults and exit.
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    comparison: ComparisonSettings,
    #[command(flatten)]
    network: NetworkSettings,
    #[command(flatten)]
    data: DataSettings,
}

/// Runs `srnn learn`.
pub fn run(learn: Learn, output: &Output) -> Result<Answer, Failure> {
    let started = Instant::now();
    let mut settings = settings(&learn)?;
    settings.check()?;
    if settings.predicts_next() {
        let Learn { out, force, threads, memory_limit, print_config, .. } = learn;
        let location = Box::new(move |name| location(out, force, name));
        let arguments = NextArguments { location, threads, memory_limit, print_config };
        return learn_next::run(&settings, arguments, started, output);
    }
    if settings.flagged.is_some() {
        let message = "--flagged is about anomalies, which --next finds";
        return Err(Failure::new(message, "add --next, or leave it out"));
    }
    let hardware = hardware(settings.device.unwrap_or_default(), learn.threads)?;
    settings.device = Some(hardware.device.name());
    let source = settings.source()?;
    let data = read_data(&source, &settings.data()?)?;
    let mut resolved = settings.resolve(&data.split)?;
    resolved.limit_memory(&data.split, learn.memory_limit.unwrap_or_else(default_memory_limit));
    if learn.print_config {
        let value = serde_json::to_value(resolved.settings()).unwrap_or(Value::Null);
        output.result(resolved.to_toml()?, &value)?;
        return Ok(Answer::Yes);
    }
    print_data(&resolved, &data, output);
    let workers = worker_count(resolved.seeds.len(), hardware.threads);
    let budget = check_memory(&resolved, &data, workers, learn.memory_limit)?;
    output.note(format!("device {hardware}"));
    output.note(format!("plan   {budget}"));
    let record = data_record(&data, &resolved.data);
    let location = location(learn.out, learn.force, source.name());
    let folder = RunFolder::create(&location, &resolved.to_toml()?, &format!("{record:#}\n"))?;
    output.note(run_line(&location, &folder));
    if let Some(old) = folder.not_removed() {
        output.note(format!("warning: {}: the replaced run could not be removed", old.display()));
    }
    run_job(&LearnJob { resolved, data, folder, hardware, started }, output)
}

fn settings(learn: &Learn) -> Result<Settings, Failure> {
    let flags = Settings {
        source: learn.source.clone(),
        next: learn.next.then_some(true),
        flagged: learn.flagged,
        seed: learn.seed,
        seeds: learn.seeds,
        fail_under: learn.fail_under,
        must_certify: learn.must_certify.then_some(true),
        short_updates: learn.short_updates,
        device: learn.device,
        data: learn.data.clone(),
        comparison: learn.comparison.clone(),
        network: learn.network.clone(),
        ..Settings::default()
    };
    match &learn.config {
        None => Ok(flags),
        Some(path) => flags.over(Settings::read(path)?),
    }
}

/// Opens the training device; `given` is `--threads`.
pub fn hardware(device: DeviceName, given: Option<usize>) -> Result<Hardware, Failure> {
    let threads = threads(given)?;
    Ok(Hardware { device: device.open()?, threads })
}

/// The number of threads: as given, or one per core.
pub fn threads(given: Option<usize>) -> Result<usize, Failure> {
    match given {
        Some(0) => Err(Failure::new("--threads 0", "give --threads 1 or more")),
        Some(threads @ 1..=1024) => Ok(threads),
        Some(threads) => {
            Err(Failure::new(format!("--threads {threads}"), "give at most 1024 threads"))
        }
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

fn location(out: Option<PathBuf>, force: bool, name: String) -> RunLocation {
    match (out, force) {
        (None, _) => RunLocation::Numbered(name),
        (Some(path), false) => RunLocation::New(path),
        (Some(path), true) => RunLocation::Replace(path),
    }
}

/// The path of the run folder, and a hint if the default folder exists already.
fn run_line(location: &RunLocation, folder: &RunFolder) -> String {
    let path = folder.path().display();
    match location {
        RunLocation::Numbered(name) if !folder.path().ends_with(name) => {
            format!("run    {path} (runs/{name} exists already)")
        }
        _ => format!("run    {path}"),
    }
}

fn print_data(resolved: &Resolved, data: &LearnData, output: &Output) {
    output.note(format!("data   {}", resolved.source));
    describe_data(data).iter().for_each(|line| output.note(line));
    let min_count = resolved.data.reading.min_count;
    data_warnings(data, min_count).iter().for_each(|line| output.note(format!("note: {line}")));
}
