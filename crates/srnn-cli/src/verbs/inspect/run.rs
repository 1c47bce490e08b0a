//! A run: its parts, each as far as it is there.

use super::{About, automaton, certificate, checkpoint, model};
use crate::failure::Failure;
use crate::files;
use crate::runs;
use serde_json::{Map, Value, json};
use srnn::format::{percent, plural};
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
    if let Some(doubted) = doubted(folder)? {
        text.push_str(&doubted.text);
        value.insert("wrong_labels".into(), doubted.value);
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
    parts.push(("certificate", proof(folder)?));
    let checkpoints = folder.join("checkpoints");
    if checkpoint::is_among(&checkpoints) {
        parts.push(("checkpoints", checkpoint::about_all(&checkpoints)?));
    }
    Ok(parts)
}

/// What the certificate of a run claims, or that there is none.
fn proof(folder: &Path) -> Result<About, Failure> {
    match folder.join(runs::CERTIFICATE) {
        path if path.is_file() => certificate::about(&path),
        _ => {
            let run = folder.display();
            let remedy = format!("srnn certify {run} looks for a proof");
            let text = format!("certificate: none, so nothing is proved; {remedy}\n");
            Ok(About { text, value: Value::Null })
        }
    }
}

/// How many labels the run believes to be wrong, where it doubted them.
fn doubted(folder: &Path) -> Result<Option<About>, Failure> {
    let path = folder.join(runs::WRONG_LABELS);
    if !path.is_file() {
        return Ok(None);
    }
    let count = files::read_text(&path)?.lines().filter(|line| !line.trim().is_empty()).count();
    let (file, labels) = (path.display().to_string(), plural(count, "label"));
    let text = format!(
        "  {labels} believed wrong, listed in {file};\n  the accuracies of the seeds are by the \
         labels believed, where nothing else is said\n"
    );
    Ok(Some(About { text, value: json!({ "count": count, "file": file }) }))
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

/// How each seed was trained, as far as the result says; by the labels believed where some are
/// not.
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
            "    seed {}: {} updates, train {}, validation {}{}{}",
            seed["seed"],
            seed["updates"],
            accuracy("train_accuracy"),
            accuracy("valid_accuracy"),
            as_given(seed),
            if &seed["seed"] == kept { ", kept" } else { "" }
        );
    }
    text
}

/// A phrase that tells how often a seed is right by the labels given, where some are not believed.
fn as_given(seed: &Value) -> String {
    let given = seed["by_given_labels"]["valid_accuracy"].as_f64().map(percent);
    given.map_or(String::new(), |part| format!(" as believed, {part} as given"))
}
