//! `srnn inspect`: describes a file or folder.

mod automaton;
mod certificate;
mod checkpoint;
mod model;
mod next;
mod run;
mod tensors;

use crate::failure::{Answer, Failure};
use crate::files;
use crate::output::Output;
use crate::runs;
use clap::Args;
use serde_json::Value;
use srnn::task::files::Format;
use std::path::{Path, PathBuf};

/// Describe a model, a run, a checkpoint, a certificate or an automaton file.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn inspect runs/tomita-3
  srnn inspect runs/tomita-3/automaton/automaton.json --json")]
pub struct InspectArgs {
    /// A folder or a file.
    path: PathBuf,
}

/// The description of a file or folder.
pub struct Description {
    /// What is printed without --json.
    text: String,
    /// For --json; `kind` names what it is.
    value: Value,
}

pub fn run(arguments: &InspectArgs, output: &Output) -> Result<Answer, Failure> {
    let description = describe(&arguments.path)?;
    output.result(description.text, &description.value)?;
    Ok(Answer::Yes)
}

fn describe(path: &Path) -> Result<Description, Failure> {
    match path {
        path if path.is_dir() => describe_folder(path),
        path if path.extension().is_some_and(|extension| extension == "safetensors") => {
            tensors::describe(path)
        }
        path if has_sibling(path, "config.json", "model.safetensors") => {
            model::describe(folder_of(path))
        }
        path if has_sibling(path, "manifest.json", "state.safetensors") => {
            checkpoint::describe(folder_of(path))
        }
        path if certificate::is_certificate(path) => certificate::describe(path),
        path => automaton::describe(path).map_err(|failure| suggest_data_check(path, failure)),
    }
}

fn describe_folder(folder: &Path) -> Result<Description, Failure> {
    match folder {
        folder if next::is_next(folder) => next::describe(folder),
        folder if folder.join("config.json").exists() => model::describe(folder),
        folder if folder.join("manifest.json").exists() => checkpoint::describe(folder),
        folder if runs::is_run(folder) || folder.join("model").is_dir() => run::describe(folder),
        folder if checkpoint::has_checkpoints(folder) => checkpoint::describe_all(folder),
        folder => match runs::automaton_in(folder) {
            Some(file) => automaton::describe(&file),
            None => Err(Failure::new(
                format!("{}: no known file is in this folder", folder.display()),
                "name a run, a model, a checkpoint or an automaton file",
            )),
        },
    }
}

/// A file that is not an automaton but has the extension of a data file: names `data check`.
fn suggest_data_check(path: &Path, failure: Failure) -> Failure {
    let shown = path.display();
    match Format::of_file_name(&path.to_string_lossy()) {
        Some(_) if path.is_file() => Failure::new(
            format!("{shown}: not an automaton; it looks like a data file"),
            format!("srnn data check {}", files::shell_path(path)),
        ),
        _ => failure,
    }
}

/// Whether `path` is named `name` and has `other` next to it.
fn has_sibling(path: &Path, name: &str, other: &str) -> bool {
    path.file_name().is_some_and(|file| file == name) && folder_of(path).join(other).exists()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
