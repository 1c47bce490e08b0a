//! `srnn report`: the page of a run.

use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::runs;
use clap::Args;
use serde_json::json;
use srnn::run::RunFolder;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  srnn report runs/tomita-3
  srnn report runs/traces --out traces.html";

/// Write the page of a finished run: one HTML file that needs nothing else.
///
/// The page shows what was learned, the automaton, the proof, the accuracy beside the baselines, the
/// training, examples, the data, and how to make it again. It loads nothing from elsewhere, and
/// everything can be read without scripts. `learn` writes it, too.
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct ReportArgs {
    /// The folder of a finished run.
    run: PathBuf,
    /// The file [default: report.html in RUN, which is replaced].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file of --out.
    #[arg(long, requires = "out")]
    force: bool,
}

/// Runs `srnn report`.
pub fn run(arguments: &ReportArgs, output: &Output) -> Result<Answer, Failure> {
    let ReportArgs { run, out, force } = arguments;
    if !runs::is_run(run) {
        runs::find(run)?;
    }
    let path = match out {
        Some(path) => {
            let if_exists = files::if_exists(*force);
            files::check_target(path, if_exists)?;
            files::write(path, &srnn::page::page(run)?, if_exists)?;
            path.clone()
        }
        None => {
            let _locked = RunFolder::open(run)?;
            srnn::page::write_page(run)?
        }
    };
    let bytes = std::fs::metadata(&path).map_or(0, |about| about.len());
    let value = json!({ "file": path.display().to_string(), "bytes": bytes });
    let size = bytes.div_ceil(1000);
    output.result(format!("{}: {size} kB; open it in a browser", path.display()), &value)?;
    Ok(Answer::Yes)
}
