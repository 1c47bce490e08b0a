//! `srnn data verify`: compares data sets in the data folder with the published files.

use super::file_state::{FileState, set_states};
use super::list::{summary, value};
use super::sources::{PublicSet, SourceFlags};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Args;
use serde_json::{Value, json};
use srnn::format::grouped;
use std::path::Path;

/// Verify size and sha256 of public data sets in the data folder.
///
/// Without names, it verifies every set of which there is a file. `srnn data check` is for data
/// files of your own.
#[derive(Args)]
#[command(
    before_help = "Examples:
  srnn data verify
  srnn data verify mnist --data /srv/data",
    after_help = "Exit codes: 0 all files are as published; 1 a file is missing or differs; 2 an error"
)]
pub struct DataVerifyArgs {
    /// Names of data sets; `srnn data list` shows them.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    sources: SourceFlags,
}

pub fn run(arguments: &DataVerifyArgs, output: &Output) -> Result<Answer, Failure> {
    let DataVerifyArgs { names, sources } = arguments;
    let mut found: Vec<(PublicSet, Vec<FileState>)> = Vec::new();
    for set in sources.sets(names)? {
        let states = set_states(&set, &sources.data)?;
        let is_there = states.iter().any(|state| *state != FileState::Missing);
        if is_there || !names.is_empty() {
            found.push((set, states));
        }
    }
    if found.is_empty() {
        let message = format!("{}: none of the public data sets is here", sources.data.display());
        return Err(Failure::new(
            message,
            "`srnn data get NAME`, or name the folder with --data DIR",
        ));
    }
    let is_good = found.iter().flat_map(|(_, states)| states).all(|s| *s == FileState::Verified);
    let text: String =
        found.iter().map(|(set, states)| lines(set, states, &sources.data)).collect();
    let values: Vec<Value> = found.iter().map(|(set, s)| value(set, s, &sources.data)).collect();
    output.result(text, &json!({ "verified": is_good, "sets": values }))?;
    Ok(if is_good { Answer::Yes } else { Answer::No })
}

fn lines(set: &PublicSet, states: &[FileState], data: &Path) -> String {
    let mut text = format!("{}: {}\n", set.name, summary(states));
    for (file, state) in set.files.iter().zip(states) {
        let path = set.path(data, file);
        let state = match state {
            FileState::Missing => format!("missing; `srnn data get {}` downloads it", set.name),
            FileState::Verified => format!("{} bytes, verified", grouped(file.bytes)),
            FileState::Different { why } => why.clone(),
        };
        text.push_str(&format!("  {}: {state}\n", path.display()));
    }
    text
}
