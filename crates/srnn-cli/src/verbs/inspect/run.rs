//! A run: its parts, each as far as it is there.

use super::{About, automaton, checkpoint, model};
use crate::failure::Failure;
use crate::files;
use crate::runs;
use crate::words::percent;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::path::Path;

pub fn about(folder: &Path) -> Result<About, Failure> {
    let mut text = format!("run {}\n", folder.display());
    let mut value = Map::new();
    value.insert("kind".into(), "run".into());
    value.insert("path".into(), folder.display().to_string().into());
    for (part, file) in [("data", "data.json"), ("result", "result.json")] {
        if let Some(found) = json_file(&folder.join(file))? {
            text.push_str(&scalars(part, &found));
            text.push_str(&seeds(&found));
            value.insert(part.into(), found);
        }
    }
    for (part, about) in parts(folder)? {
        text.push_str(&about.text);
        value.insert(part.into(), about.value);
    }
    Ok(About { text, value: Value::Object(value) })
}

fn parts(folder: &Path) -> Result<Vec<(&'static str, About)>, Failure> {
    let mut parts = Vec::new();
    if folder.join("model").is_dir() {
        parts.push(("model", model::about(&folder.join("model"))?));
    }
    if let Some(file) = runs::automaton_in(folder) {
        parts.push(("automaton", automaton::about(&file)?));
    }
    let checkpoints = folder.join("checkpoints");
    if checkpoint::is_among(&checkpoints) {
        parts.push(("checkpoints", checkpoint::about_all(&checkpoints)?));
    }
    Ok(parts)
}

fn json_file(path: &Path) -> Result<Option<Value>, Failure> {
    if !path.is_file() {
        return Ok(None);
    }
    let text = files::read_text(path)?;
    let value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()), "restore it from a copy, or remove it")
    })?;
    Ok(Some(value))
}

/// What fits a line each; the rest is for programs.
fn scalars(part: &str, value: &Value) -> String {
    let mut text = format!("  {part}\n");
    for (name, field) in value.as_object().into_iter().flatten() {
        if let Some(words) = in_words(field) {
            let _ = writeln!(text, "    {:18} {words}", name.replace('_', " "));
        }
    }
    text
}

/// A field that is one thing; nothing where there is nothing to say.
fn in_words(field: &Value) -> Option<String> {
    match field {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("yes".into()),
        Value::Bool(false) => Some("no".into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// How each seed was trained, as far as the result says.
fn seeds(result: &Value) -> String {
    let mut text = String::new();
    let kept = &result["kept"]["seed"];
    for seed in result["seeds"].as_array().into_iter().flatten() {
        let accuracy = |name: &str| match seed[name].as_f64() {
            Some(accuracy) => percent(accuracy),
            None => "–".into(),
        };
        let _ = writeln!(
            text,
            "    seed {}: {} updates, train {}, validation {}{}",
            seed["seed"],
            seed["updates"],
            accuracy("train_accuracy"),
            accuracy("valid_accuracy"),
            if &seed["seed"] == kept { ", kept" } else { "" }
        );
    }
    text
}
