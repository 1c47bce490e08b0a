//! `srnn data list`: the public data sets that the program knows.

use super::file_state::{FileState, set_states};
use super::sources::{Origin, PublicSet, SourceFlags};
use crate::failure::{Answer, Failure};
use crate::output::Output;
use clap::Args;
use serde_json::{Value, json};
use srnn::format::aligned;
use std::path::Path;

/// List the public data sets, and whether they are in the data folder.
#[derive(Args)]
#[command(before_help = "Examples:
  srnn data list
  srnn data list --data /srv/data --json")]
pub struct DataListArgs {
    #[command(flatten)]
    sources: SourceFlags,
}

pub fn run(arguments: &DataListArgs, output: &Output) -> Result<Answer, Failure> {
    let SourceFlags { data, .. } = &arguments.sources;
    let sets = arguments.sources.sets(&[])?;
    let states = sets.iter().map(|set| set_states(set, data)).collect::<Result<Vec<_>, _>>()?;
    let all = || sets.iter().zip(&states);
    let values: Vec<Value> = all().map(|(set, states)| value(set, states, data)).collect();
    output.result(
        text(all(), data),
        &json!({ "data": data.display().to_string(), "sets": values }),
    )?;
    Ok(Answer::Yes)
}

fn text<'a>(
    sets: impl Iterator<Item = (&'a PublicSet, &'a Vec<FileState>)>,
    data: &Path,
) -> String {
    let mut rows = vec![["name", "state", "size", "folder", "licence"].map(String::from).to_vec()];
    let mut notes = String::new();
    for (set, states) in sets {
        let size = match set.bytes() as f64 {
            bytes if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
            bytes => format!("{:.1} MB", bytes / 1e6),
        };
        let folder = data.join(&set.folder).display().to_string();
        rows.push(vec![set.name.clone(), summary(states), size, folder, set.licence.clone()]);
        notes.push_str(&format!("\n{}: {}", set.name, set.about));
        if !set.note.is_empty() {
            notes.push_str(&format!("; {}", set.note));
        }
    }
    format!("{}{notes}", aligned(&rows))
}

/// `verified`, `missing`, or what is the matter with how many files.
pub fn summary(states: &[FileState]) -> String {
    let count = |wanted: &FileState| states.iter().filter(|state| *state == wanted).count();
    let [missing, verified] = [FileState::Missing, FileState::Verified].map(|state| count(&state));
    let all = states.len();
    match all - missing - verified {
        0 if verified == all => "verified".into(),
        0 if missing == all => "missing".into(),
        0 => format!("{missing} of {all} files missing"),
        different => format!("{different} of {all} files differ"),
    }
}

/// A set and the states of its files as JSON.
pub fn value(set: &PublicSet, states: &[FileState], data: &Path) -> Value {
    let files = set.files.iter().zip(states).map(|(file, state)| {
        let mut value = json!(state);
        value["path"] = json!(set.path(data, file).display().to_string());
        value["bytes"] = json!(file.bytes);
        value["sha256"] = json!(file.sha256);
        value
    });
    let origin = match &set.origin {
        Origin::Download(address) => json!(address),
        Origin::Permutation { .. } => json!("computed"),
    };
    json!({
        "name": set.name,
        "state": summary(states),
        "about": set.about,
        "licence": set.licence,
        "bytes": set.bytes(),
        "origin": origin,
        "note": set.note,
        "files": files.collect::<Vec<_>>(),
    })
}
