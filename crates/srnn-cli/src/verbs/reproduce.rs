//! `srnn reproduce`: trains everything a table of the paper needs.

use super::learn::hardware;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::reading::whole;
use crate::reproducing::{
    ExperimentArgs, OutcomeFolder, ReproduceRequest, ReproduceSummary, result_files,
    run_experiment, table_text,
};
use clap::Args;
use serde_json::json;
use srnn::engine::DeviceName;
use srnn::experiment::{Experiment, table};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  srnn reproduce tomita --quick
  srnn reproduce bp --only small-A/sr-lstm-p --seeds 2";

/// Cells that are trained at a time on a GPU: more of them only wait for each other.
const ON_A_GPU: usize = 3;

/// Train everything a table of the paper needs, and print its numbers beside ours.
///
/// Every outcome is kept in outcomes.jsonl of the folder as soon as it is there, and its network
/// under models/; Ctrl-C keeps what is in flight under unfinished/, as it is kept every half minute.
/// The same command goes on where it was interrupted, and trains nothing twice. At the end come the
/// table and the curves of the validation set (curves.csv, curves-DATA.svg).
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Reproduce {
    #[command(flatten)]
    choice: ExperimentArgs,
    /// The folder of outcomes, networks, table and curves [default: runs/reproduce-ITEM].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Cells trained at a time; the result does not depend on it [default: all cores, or 3 on a GPU].
    #[arg(long, alias = "workers", value_name = "N", value_parser = whole::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// What trains: cpu; cuda, an NVIDIA GPU; auto, the GPU where there is one. The bits of cpu are
    /// the same on every machine with the same vector instructions.
    #[arg(long, default_value_t)]
    device: DeviceName,
    /// Train only cells whose name, DATA/MODEL/SETTING/seed-N, has this in it.
    #[arg(long, value_name = "SUBSTRING", default_value = "", hide_default_value = true)]
    only: String,
    /// Seeds of every setting [default: the experiment's].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_negative_numbers = true)]
    seeds: Option<u64>,
}

/// Does it.
pub fn run(arguments: &Reproduce, output: &Output) -> Result<Answer, Failure> {
    let mut hardware = hardware(arguments.device, arguments.threads)?;
    if arguments.threads.is_none() && hardware.device.name() == DeviceName::Cuda {
        hardware.threads = hardware.threads.min(ON_A_GPU);
    }
    let experiment = experiment(arguments)?;
    let path = arguments.out.clone();
    let path = path.unwrap_or_else(|| arguments.choice.default_folder(&experiment));
    let (folder, outcomes) = OutcomeFolder::open(&path, &experiment)?;
    output.note(format!("folder {}", path.display()));
    output.note(format!("device {hardware}"));
    let (only, command) = (arguments.only.clone(), command(arguments));
    let data = arguments.choice.data.clone();
    let order = ReproduceRequest { experiment, only, data, folder, outcomes, hardware, command };
    let ReproduceSummary { folder, run, skipped, experiment, outcomes } =
        run_experiment(order, output)?;
    for (name, text) in result_files(&experiment, &outcomes)? {
        folder.write(&name, &text)?;
    }
    let table = table(&experiment, &outcomes);
    let value = json!({ "folder": path, "run": run, "skipped": skipped, "table": table });
    output.result(table_text(&table), &value)?;
    Ok(Answer::Yes)
}

fn experiment(arguments: &Reproduce) -> Result<Experiment, Failure> {
    let mut experiment = arguments.choice.experiment()?;
    if let Some(seeds) = arguments.seeds {
        experiment.seeds = seeds;
        experiment.validate().map_err(|error| Failure::new(format!("--seeds: {error}"), ""))?;
    }
    Ok(experiment)
}

/// The command again, without what does not matter.
fn command(arguments: &Reproduce) -> String {
    let mut command = format!("srnn reproduce {}", arguments.choice.command_line());
    if let Some(out) = &arguments.out {
        command.push_str(&format!(" --out {}", out.display()));
    }
    if arguments.device != DeviceName::Cpu {
        command.push_str(&format!(" --device {}", arguments.device));
    }
    if !arguments.only.is_empty() {
        command.push_str(&format!(" --only {}", arguments.only));
    }
    if let Some(seeds) = arguments.seeds {
        command.push_str(&format!(" --seeds {seeds}"));
    }
    command
}
