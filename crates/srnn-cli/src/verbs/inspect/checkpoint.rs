//! Checkpoints: one, or all of a run.

use super::{About, tensors};
use crate::failure::Failure;
use crate::files;
use serde::Deserialize;
use serde_json::{Value, json};
use srnn::format::{percent, plural};
use srnn::train::{CheckpointFolder, Progress};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The part of a manifest that is shown.
#[derive(Deserialize)]
struct Manifest {
    format: u32,
    update: u64,
    config: String,
    data: String,
    files: BTreeMap<String, Seal>,
}

#[derive(Deserialize)]
struct Seal {
    bytes: u64,
}

pub fn about(folder: &Path) -> Result<About, Failure> {
    let manifest: Manifest = read(&folder.join("manifest.json"))?;
    let progress: Progress = read(&folder.join("progress.json"))?;
    check_sizes(folder, &manifest)?;
    let mut text = format!("checkpoint {}\n", folder.display());
    let _ = writeln!(text, "  after update {} (format {})", manifest.update, manifest.format);
    let _ =
        writeln!(text, "  configuration {}\n  data          {}", manifest.config, manifest.data);
    if let Some(last) = progress.history.last() {
        let (train, valid) = (percent(last.train.accuracy), percent(last.valid.accuracy));
        let _ = writeln!(
            text,
            "  {}; the last, at update {}: train {train}, validation {valid}, loss {:.4}",
            plural(progress.history.len(), "evaluation"),
            last.update,
            last.loss
        );
    }
    let state = tensors::about(&folder.join("state.safetensors"))?;
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
    Ok(About { text, value })
}

/// Whether a folder holds checkpoints, or folders of checkpoints.
pub fn is_among(folder: &Path) -> bool {
    !folders(folder).is_empty()
}

/// All checkpoints of a run: of one seed, or of each.
pub fn about_all(folder: &Path) -> Result<About, Failure> {
    let mut text = String::new();
    let mut values: Vec<Value> = Vec::new();
    for path in folders(folder) {
        let updates = CheckpointFolder::new(&path).list()?;
        let _ = writeln!(text, "checkpoints {}: updates {updates:?}", path.display());
        values.push(json!({ "path": path.display().to_string(), "updates": updates }));
    }
    Ok(About { text, value: json!({ "kind": "checkpoints", "folders": values }) })
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let has_some =
        |path: &PathBuf| CheckpointFolder::new(path).list().is_ok_and(|list| !list.is_empty());
    let inside = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    let mut found: Vec<PathBuf> = inside
        .chain([folder.to_path_buf()])
        .filter(|path| path.is_dir())
        .filter(has_some)
        .collect();
    found.sort();
    found
}

fn check_sizes(folder: &Path, manifest: &Manifest) -> Result<(), Failure> {
    for (name, seal) in &manifest.files {
        let path = folder.join(name);
        let found = files::open(&path)?.metadata()?.len();
        if found != seal.bytes {
            let message =
                format!("{}: {found} bytes, but the manifest says {}", path.display(), seal.bytes);
            return Err(Failure::new(message, "the checkpoint is damaged: use an older one"));
        }
    }
    Ok(())
}

fn read<A: for<'de> Deserialize<'de>>(path: &Path) -> Result<A, Failure> {
    let text = files::read_text(path)?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(message, "the checkpoint is damaged: use an older one")
    })
}
