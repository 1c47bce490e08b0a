//! Describes one checkpoint, or all checkpoints of a run.

use super::{Description, tensors};
use crate::failure::Failure;
use crate::files;
use serde::Deserialize;
use serde_json::{Value, json};
use srnn::format::{percent, plural};
use srnn::train::{CheckpointFolder, Progress};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The fields of a manifest that are printed or checked.
#[derive(Deserialize)]
struct ManifestFields {
    format: u32,
    update: u64,
    config: String,
    data: String,
    files: BTreeMap<String, ManifestFile>,
}

#[derive(Deserialize)]
struct ManifestFile {
    bytes: u64,
}

pub fn describe(folder: &Path) -> Result<Description, Failure> {
    let manifest: ManifestFields = read_json(&folder.join("manifest.json"))?;
    let progress: Progress = read_json(&folder.join("progress.json"))?;
    check_sizes(folder, &manifest)?;
    let mut text = format!("checkpoint {}\n", folder.display());
    let _ = writeln!(text, "  after update {} (format {})", manifest.update, manifest.format);
    let _ =
        writeln!(text, "  configuration {}\n  data          {}", manifest.config, manifest.data);
    if let Some(last) = progress.history.last() {
        let (train, valid) = (percent(last.train.accuracy), percent(last.valid.accuracy));
        let _ = writeln!(
            text,
            "  {}; the latest at update {}: train {train}, validation {valid}, loss {:.4}",
            plural(progress.history.len(), "evaluation"),
            last.update,
            last.loss
        );
    }
    let state = tensors::describe(&folder.join("state.safetensors"))?;
    text.push_str(&state.text);
    let value = json!({
        "kind": "checkpoint",
        "path": folder.display().to_string(),
        "update": manifest.update,
        "config": manifest.config,
        "data": manifest.data,
        "evaluations": progress.history.len(),
        "last": progress.history.last(),
        "best": progress.best,
        "tensors": state.value["tensors"],
    });
    Ok(Description { text, value })
}

/// Whether a folder holds checkpoints, or folders of checkpoints.
pub fn has_checkpoints(folder: &Path) -> bool {
    !folders(folder).is_empty()
}

/// Lists the checkpoints of a run, of one seed or of each.
pub fn describe_all(folder: &Path) -> Result<Description, Failure> {
    let mut text = String::new();
    let mut values: Vec<Value> = Vec::new();
    for path in folders(folder) {
        let updates = CheckpointFolder::new(&path).list()?;
        let _ = writeln!(text, "checkpoints {}: updates {updates:?}", path.display());
        values.push(json!({ "path": path.display().to_string(), "updates": updates }));
    }
    Ok(Description { text, value: json!({ "kind": "checkpoints", "folders": values }) })
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let is_nonempty =
        |path: &PathBuf| CheckpointFolder::new(path).list().is_ok_and(|list| !list.is_empty());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = entries
        .chain([folder.to_path_buf()])
        .filter(|path| path.is_dir())
        .filter(is_nonempty)
        .collect();
    found.sort();
    found
}

fn check_sizes(folder: &Path, manifest: &ManifestFields) -> Result<(), Failure> {
    for (name, file) in &manifest.files {
        let path = folder.join(name);
        let found = files::open(&path)?.metadata()?.len();
        if found != file.bytes {
            let message =
                format!("{}: {found} bytes, but the manifest says {}", path.display(), file.bytes);
            return Err(Failure::new(message, "the checkpoint is damaged: use an older one"));
        }
    }
    Ok(())
}

fn read_json<A: for<'de> Deserialize<'de>>(path: &Path) -> Result<A, Failure> {
    let text = files::read_text(path)?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(message, "the checkpoint is damaged: use an older one")
    })
}
