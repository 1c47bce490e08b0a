//! `srnn resume`: continues an interrupted run to the same bits.

use super::learn::{EXIT_CODES, hardware};
use super::learn_next;
use crate::failure::{Answer, Failure};
use crate::files;
use crate::learning::{LearnJob, Settings, finished_result, read_data, run_job};
use crate::output::Output;
use crate::reading::parse_count;
use crate::runs;
use clap::Args;
use serde_json::Value;
use srnn::engine::DeviceName;
use srnn::run::RunFolder;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "Examples:
  srnn resume runs/tomita-3
  srnn resume runs/traces --threads 8";

/// Continue an interrupted run. The result is bit-identical to that of an uninterrupted run.
#[derive(Args)]
#[command(before_help = EXAMPLES, after_help = EXIT_CODES)]
pub struct Resume {
    /// The run folder.
    run: PathBuf,
    /// Total number of threads; the result does not depend on it [default: all cores].
    #[arg(long, value_name = "N", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// The training device from now on: cpu, cuda or auto. Another device changes the bits of the
    /// result [default: that of the run].
    #[arg(long)]
    device: Option<DeviceName>,
}

/// Runs `srnn resume`.
pub fn run(resume: Resume, output: &Output) -> Result<Answer, Failure> {
    let started = Instant::now();
    if !resume.run.exists() {
        let message = format!("{}: no such run", resume.run.display());
        return Err(Failure::new(message, runs::did_you_mean(&resume.run)));
    }
    let folder = RunFolder::open(&resume.run)?;
    if let Some(answer) = finished_result(&folder, output)? {
        return Ok(answer);
    }
    let settings = Settings::read(&folder.config())?;
    settings.check()?;
    let first_device = settings.device.unwrap_or_default();
    let hardware = hardware(resume.device.unwrap_or(first_device), resume.threads)?;
    if settings.predicts_next() {
        return learn_next::resume(&settings, folder, hardware, started, output);
    }
    let source = settings.source()?;
    let data = read_data(&source, &settings.data()?)?;
    check_digests(&folder, &data.digests())?;
    let resolved = settings.resolve(&data.split)?;
    output.note(format!("data   {source}"));
    output.note(format!("run    {}", folder.path().display()));
    output.note(format!("device {hardware}"));
    if hardware.device.name() != first_device {
        output.note(format!("note: the run was started on {first_device}; another device changes the bits of the result"));
    }
    run_job(&LearnJob { resolved, data, folder, hardware, started }, output)
}

/// Refuses to continue with other data.
pub fn check_digests(folder: &RunFolder, digests: &Value) -> Result<(), Failure> {
    let path = folder.data();
    let remedy = "restore the data, or start a new run with `srnn learn`";
    let failure = |why: String| Failure::new(format!("{}: {why}", path.display()), remedy);
    let text = files::read_own_text(&path)?.ok_or_else(|| failure("it is missing".into()))?;
    let record: Value = serde_json::from_str(&text).map_err(|error| failure(error.to_string()))?;
    for set in ["train", "valid", "test"] {
        let before = &record["digest"][set];
        if before != &digests[set] {
            let (before, now) = (short(before), short(&digests[set]));
            return Err(failure(format!(
                "the {set} set has changed since the run started: its digest was {before} and is {now}"
            )));
        }
    }
    Ok(())
}

fn short(digest: &Value) -> String {
    let text = digest.as_str().unwrap_or("none");
    format!("{}…", text.chars().take(12).collect::<String>())
}
