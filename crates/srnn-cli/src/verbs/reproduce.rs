//! `srnn reproduce`: trains the networks of a table of the paper.

use super::learn::hardware;
use crate::failure::{Answer, Failure};
use crate::files;
use crate::memory::MemoryLimit;
use crate::output::Output;
use crate::reading::parse_count;
use crate::reproducing::{
    ExperimentArgs, ReproduceRequest, ReproduceSummary, result_files, run_experiment, table_text,
};
use clap::Args;
use serde_json::json;
use srnn::engine::DeviceName;
use srnn::experiment::{Experiment, table};
use srnn::format::shell_word;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  srnn reproduce tomita --quick
  srnn reproduce bp --only small-A/sr-lstm-p --seeds 2";

/// Trials that train at the same time on a GPU; more would only wait for each other.
const TRIALS_PER_GPU: usize = 3;

/// Train the networks of a table of the paper, and print the paper's numbers next to ours.
///
/// Each finished trial is appended to outcomes.jsonl in the folder, and its network is saved under
/// models/. Trials in progress are saved under unfinished/ every half minute and on Ctrl-C. The same
/// command continues where it was interrupted and trains nothing twice. At the end it writes the
/// table and the validation curves (curves.csv, curves-DATA.svg).
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct ReproduceArgs {
    #[command(flatten)]
    choice: ExperimentArgs,
    /// The folder for outcomes, networks, table and curves [default: runs/reproduce-ITEM].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Trials that train at the same time; results do not depend on it [default: all cores, or 3 on a
    /// GPU].
    #[arg(long, alias = "workers", value_name = "N", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// The device: cpu, cuda (an NVIDIA GPU), or auto (the GPU if there is one). On cpu, results are
    /// bit-identical on all machines with the same vector instructions.
    #[arg(long, default_value_t)]
    device: DeviceName,
    /// Train only trials whose name, DATA/MODEL/SETTING/seed-N, contains this.
    #[arg(long, value_name = "SUBSTRING", default_value = "", hide_default_value = true)]
    only: String,
    /// Number of seeds per setting [default: the experiment's].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    seeds: Option<u64>,
    #[command(flatten)]
    memory: MemoryLimit,
}

pub fn run(arguments: &ReproduceArgs, output: &Output) -> Result<Answer, Failure> {
    let mut hardware = hardware(arguments.device, arguments.threads)?;
    if arguments.threads.is_none() && hardware.device.name() == DeviceName::Cuda {
        hardware.threads = hardware.threads.min(TRIALS_PER_GPU);
    }
    let experiment = experiment(arguments)?;
    let path = arguments.out.clone();
    let path = path.unwrap_or_else(|| arguments.choice.default_folder(&experiment));
    output.note(format!("folder {}", path.display()));
    output.note(format!("device {hardware}"));
    let (only, command) = (arguments.only.clone(), command(arguments));
    let (data, memory) = (arguments.choice.data.clone(), arguments.memory);
    let order =
        ReproduceRequest { experiment, only, data, path: path.clone(), hardware, command, memory };
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

fn experiment(arguments: &ReproduceArgs) -> Result<Experiment, Failure> {
    let mut experiment = arguments.choice.experiment()?;
    if let Some(seeds) = arguments.seeds {
        experiment.seeds = seeds;
        experiment.validate().map_err(|error| Failure::new(format!("--seeds: {error}"), ""))?;
    }
    Ok(experiment)
}

/// The command that continues this run; options without influence on results are left out.
fn command(arguments: &ReproduceArgs) -> String {
    let mut command = format!("srnn reproduce {}", arguments.choice.command_line());
    if let Some(out) = &arguments.out {
        command.push_str(&format!(" --out {}", files::shell_path(out)));
    }
    if arguments.device != DeviceName::Cpu {
        command.push_str(&format!(" --device {}", arguments.device));
    }
    if !arguments.only.is_empty() {
        command.push_str(&format!(" --only {}", shell_word(&arguments.only)));
    }
    if let Some(seeds) = arguments.seeds {
        command.push_str(&format!(" --seeds {seeds}"));
    }
    command
}
