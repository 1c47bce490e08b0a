//! `srnn inspect`: what is in a file or folder.

mod automaton;
mod certificate;
mod checkpoint;
mod model;
mod run;
mod tensors;

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::runs;
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Tell what is in a model, a run, a checkpoint, a certificate or an automaton file.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn inspect runs/tomita-3
  srnn inspect runs/tomita-3/automaton/automaton.json --json")]
pub struct Inspect {
    /// A folder or a file.
    path: PathBuf,
}

/// What there is to say about something.
pub struct About {
    /// For people.
    text: String,
    /// For programs; `kind` tells what it is.
    value: Value,
}

/// Does it.
pub fn run(arguments: &Inspect, output: &Output) -> Result<Answer, Failure> {
    let about = about(&arguments.path)?;
    output.result(about.text, &about.value)?;
    Ok(Answer::Yes)
}

fn about(path: &Path) -> Result<About, Failure> {
    match path {
        path if path.is_dir() => about_folder(path),
        path if path.extension().is_some_and(|extension| extension == "safetensors") => {
            tensors::about(path)
        }
        path if beside(path, "config.json", "model.safetensors") => model::about(folder_of(path)),
        path if beside(path, "manifest.json", "state.safetensors") => {
            checkpoint::about(folder_of(path))
        }
        path if certificate::is_one(path) => certificate::about(path),
        path => automaton::about(path),
    }
}

fn about_folder(folder: &Path) -> Result<About, Failure> {
    match folder {
        folder if folder.join("config.json").exists() => model::about(folder),
        folder if folder.join("manifest.json").exists() => checkpoint::about(folder),
        folder if runs::is_run(folder) || folder.join("model").is_dir() => run::about(folder),
        folder if checkpoint::is_among(folder) => checkpoint::about_all(folder),
        folder => match runs::automaton_in(folder) {
            Some(file) => automaton::about(&file),
            None => Err(Failure::new(
                format!("{}: nothing known is in this folder", folder.display()),
                "name a run, a model, a checkpoint or an automaton file",
            )),
        },
    }
}

fn beside(path: &Path, name: &str, other: &str) -> bool {
    path.file_name().is_some_and(|file| file == name) && folder_of(path).join(other).exists()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
