//! `srnn resume`: goes on with an interrupted run, to the same bits.

use super::learn::{EXIT_CODES, hardware};
use crate::failure::{Answer, Failure};
use crate::learning::{LearnJob, Settings, finished, perform, read_data};
use crate::output::Output;
use crate::reading::parse_count;
use crate::runs;
use clap::Args;
use serde_json::Value;
use srnn::engine::DeviceName;
use srnn::learn::LearnData;
use srnn::run::RunFolder;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "Examples:
  srnn resume runs/tomita-3
  srnn resume runs/traces --threads 8";

/// Go on with an interrupted run: the result is bit for bit that of a run without the break.
#[derive(Args)]
#[command(before_help = EXAMPLES, after_help = EXIT_CODES)]
pub struct Resume {
    /// The run's folder.
    run: PathBuf,
    /// Threads in all; the result does not depend on it [default: all].
    #[arg(long, value_name = "N", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// What trains from here on, cpu, cuda or auto; another device goes on to other bits
    /// [default: the run's].
    #[arg(long)]
    device: Option<DeviceName>,
}

/// Does it.
pub fn run(resume: Resume, output: &Output) -> Result<Answer, Failure> {
    let started = Instant::now();
    if !resume.run.exists() {
        let message = format!("{}: no such run", resume.run.display());
        return Err(Failure::new(message, runs::did_you_mean(&resume.run)));
    }
    let folder = RunFolder::open(&resume.run)?;
    if let Some(answer) = finished(&folder, output)? {
        return Ok(answer);
    }
    let settings = Settings::read(&folder.config())?;
    settings.check()?;
    let began_on = settings.device.unwrap_or_default();
    let hardware = hardware(resume.device.unwrap_or(began_on), resume.threads)?;
    let source = settings.source()?;
    let data = read_data(&source, &settings.data()?)?;
    check_same(&folder, &data)?;
    let resolved = settings.resolve(&data.split)?;
    output.note(format!("data   {source}"));
    output.note(format!("run    {}", folder.path().display()));
    output.note(format!("device {hardware}"));
    if hardware.device.name() != began_on {
        output.note(format!("note: the run began on {began_on}; from here on its bits are others"));
    }
    perform(&LearnJob { resolved, data, folder, hardware, started }, output)
}

/// A run goes on with the data it began with, or not at all.
fn check_same(folder: &RunFolder, data: &LearnData) -> Result<(), Failure> {
    let path = folder.data();
    let begin_again = "restore the data, or begin a new run with `srnn learn`";
    let wrong = |why: String| Failure::new(format!("{}: {why}", path.display()), begin_again);
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let account: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let digests = data.digests();
    for set in ["train", "valid", "test"] {
        let before = &account["digest"][set];
        if before != &digests[set] {
            let (before, now) = (short(before), short(&digests[set]));
            return Err(wrong(format!(
                "the {set} set has changed since the run began: its digest was {before} and is {now}"
            )));
        }
    }
    Ok(())
}

fn short(digest: &Value) -> String {
    let text = digest.as_str().unwrap_or("none");
    format!("{}…", text.chars().take(12).collect::<String>())
}
