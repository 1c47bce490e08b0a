//! `srnn table`: prints a table of the paper with the numbers of `srnn reproduce`.

use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::reproducing::{
    ExperimentArgs, TrialStates, markdown_grid, read_outcomes, result_files, saved_experiment,
    selected_states, states_grid, table_markdown, table_text,
};
use clap::Args;
use srnn::experiment::{Experiment, MIN_DRIFT_STEPS, ResultTable, TrialOutcome, table};
use srnn::format::{aligned, plural};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  srnn table bp
  srnn table palindromes --markdown
  srnn table bp --states 'd20 l1000' --out pictures";

/// Print a table of the paper with our numbers next to the paper's.
///
/// `≤` marks an error at or below the paper's; `miss` marks one above it.
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct TableArgs {
    #[command(flatten)]
    choice: ExperimentArgs,
    /// The folder that `srnn reproduce` wrote [default: runs/reproduce-ITEM].
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Print Markdown.
    #[arg(long)]
    markdown: bool,
    /// Also run the selected networks on the test set of this name, and print which centroids they
    /// use and whether their states drift.
    #[arg(long, value_name = "TEST")]
    states: Option<String>,
    /// Write the table and the validation curves into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace existing files in --out.
    #[arg(long, requires = "out")]
    force: bool,
}

pub fn run(arguments: &TableArgs, output: &Output) -> Result<Answer, Failure> {
    let named = arguments.choice.experiment()?;
    let folder = folder(arguments, &named)?;
    let experiment = saved_experiment(&folder)?.unwrap_or(named);
    let outcomes = read_outcomes(&folder)?;
    let table = table(&experiment, &outcomes);
    note_missing(arguments, &folder, outcomes.len(), &table, output);
    note_origins(&outcomes, output);
    if let Some(out) = &arguments.out {
        save(out, arguments.force, &result_files(&experiment, &outcomes)?, output)?;
    }
    let watched = match &arguments.states {
        Some(test) => {
            selected_states(&folder, &experiment, &table, test, &arguments.choice.data, output)?
        }
        None => vec![],
    };
    show(arguments, &table, &watched, output)?;
    Ok(Answer::Yes)
}

fn show(
    arguments: &TableArgs,
    table: &ResultTable,
    watched: &[TrialStates],
    output: &Output,
) -> Result<(), Failure> {
    let mut value = serde_json::to_value(table)?;
    let heading = arguments.states.as_ref().map(|test| {
        let count = watched.first().map_or(0, |watched| watched.states.sequences);
        format!("States of the selected networks on {test} ({}), top layer; slopes on sequences of at least {MIN_DRIFT_STEPS} steps", plural(count, "sequence"))
    });
    if heading.is_some() {
        value["states"] = serde_json::to_value(watched)?;
    }
    let extra = |rows: &dyn Fn(&[Vec<String>]) -> String| {
        heading.as_ref().map_or(String::new(), |heading| {
            format!("\n{heading}\n\n{}", rows(&states_grid(watched)))
        })
    };
    match arguments.markdown && !output.json {
        true => files::print(&(table_markdown(table) + &extra(&markdown_grid))),
        false => output.result(table_text(table) + &extra(&aligned), &value),
    }
}

/// Writes files into a folder. Without `force`, writes none if one of them exists.
fn save(
    folder: &Path,
    force: bool,
    files: &[(String, String)],
    output: &Output,
) -> Result<(), Failure> {
    let paths = || files.iter().map(|(name, text)| (folder.join(name), text));
    let if_exists = files::if_exists(force);
    paths().try_for_each(|(path, _)| files::check_target(&path, if_exists))?;
    paths().try_for_each(|(path, text)| files::write(&path, text, if_exists))?;
    paths().for_each(|(path, _)| output.note(format!("written: {}", path.display())));
    Ok(())
}

/// The folder of outcomes. The folder of --from must exist and belong to this experiment.
fn folder(arguments: &TableArgs, named: &Experiment) -> Result<PathBuf, Failure> {
    let Some(folder) = &arguments.from else { return Ok(arguments.choice.default_folder(named)) };
    let shown = folder.display();
    match saved_experiment(folder)? {
        None => {
            let message = format!("{shown}: no experiment was run here");
            Err(Failure::new(
                message,
                "name a folder that `srnn reproduce` wrote: experiment.toml and outcomes.jsonl",
            ))
        }
        Some(other) if other.item != named.item => {
            let message =
                format!("{shown}: this is the folder of {}, not of {}", other.item, named.item);
            let from = files::shell_path(folder);
            Err(Failure::new(message, format!("srnn table {} --from {from}", other.item)))
        }
        Some(_) => Ok(folder.clone()),
    }
}

/// Notes if the outcomes come from several program versions or devices, which differ in rounding.
fn note_origins(outcomes: &[TrialOutcome], output: &Output) {
    let mut origins: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for outcome in outcomes {
        *origins.entry((&outcome.program, &outcome.device)).or_default() += 1;
    }
    if origins.len() < 2 {
        return;
    }
    let known = |name: &str| if name.is_empty() { "unknown".to_string() } else { name.into() };
    let line = |((program, device), count): (&(&str, &str), &usize)| {
        format!("{count} by {} on {}", known(program), known(device))
    };
    let lines: Vec<String> = origins.iter().map(line).collect();
    output.note(format!(
        "note: the outcomes are of several program versions or devices: {}",
        lines.join("; ")
    ));
}

fn note_missing(
    arguments: &TableArgs,
    folder: &Path,
    found: usize,
    table: &ResultTable,
    output: &Output,
) {
    let folder = folder.display();
    let columns = table.blocks.iter().flat_map(|block| &block.columns);
    let used: usize = columns.map(|column| column.finished).sum();
    if used == 0 {
        let command = format!("srnn reproduce {}", arguments.choice.command_line());
        output.note(format!("note: no outcomes in {folder} yet: {command}"));
    }
    if found > used {
        let left = found - used;
        output.note(format!(
            "note: {folder}: {left} outcomes of other settings, seeds or data are left out"
        ));
    }
}
