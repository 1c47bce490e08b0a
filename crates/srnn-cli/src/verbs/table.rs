//! `srnn table`: the paper's numbers, and ours where there are any.

use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::reproducing::{Choice, markdown, read_outcomes, saved_experiment, text};
use clap::Args;
use srnn::experiment::{Experiment, Table, table};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  srnn table bp
  srnn table palindromes --markdown";

/// Print a table of the paper with our numbers beside the paper's.
///
/// `≤` marks an error at or below the paper's, `miss` one above it.
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct PrintTable {
    #[command(flatten)]
    choice: Choice,
    /// The folder that `srnn reproduce` wrote [default: runs/reproduce-ITEM].
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// As Markdown.
    #[arg(long)]
    markdown: bool,
}

/// Does it.
pub fn run(arguments: &PrintTable, output: &Output) -> Result<Answer, Failure> {
    let named = arguments.choice.experiment()?;
    let folder = folder(arguments, &named)?;
    let experiment = saved_experiment(&folder)?.unwrap_or(named);
    let outcomes = read_outcomes(&folder)?;
    let table = table(&experiment, &outcomes);
    remark(arguments, &folder, outcomes.len(), &table, output);
    let value = serde_json::to_value(&table)?;
    match arguments.markdown && !output.json {
        true => files::print(&markdown(&table))?,
        false => output.result(text(&table), &value)?,
    }
    Ok(Answer::Yes)
}

/// The folder of outcomes; one that is named must be there, and be this experiment's.
fn folder(arguments: &PrintTable, named: &Experiment) -> Result<PathBuf, Failure> {
    let Some(folder) = &arguments.from else { return Ok(arguments.choice.folder(named)) };
    let shown = folder.display();
    match saved_experiment(folder)? {
        None => {
            let message = format!("{shown}: no experiment was run here");
            Err(Failure::new(message, "name a folder that `srnn reproduce` wrote"))
        }
        Some(other) if other.item != named.item => {
            let message = format!("{shown}: this is of {}, not of {}", other.item, named.item);
            Err(Failure::new(message, format!("srnn table {} --from {shown}", other.item)))
        }
        Some(_) => Ok(folder.clone()),
    }
}

fn remark(arguments: &PrintTable, folder: &Path, found: usize, table: &Table, output: &Output) {
    let folder = folder.display();
    let columns = table.blocks.iter().flat_map(|block| &block.columns);
    let used: usize = columns.map(|column| column.finished).sum();
    if used == 0 {
        let command = format!("srnn reproduce {}", arguments.choice.spelled());
        output.note(format!("no numbers of ours in {folder} yet: {command}"));
    }
    if found > used {
        let left = found - used;
        output.note(format!("{folder}: {left} outcomes of other settings or data are left out"));
    }
}
