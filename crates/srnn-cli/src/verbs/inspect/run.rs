//! Describes a run by the parts that exist.

use super::{Description, automaton, certificate, checkpoint, model, next};
use crate::failure::Failure;
use crate::files;
use crate::runs;
use serde_json::{Map, Value, json};
use srnn::format::{percent, plural};
use srnn::learn::NgramFile;
use std::fmt::Write as _;
use std::path::Path;

pub fn describe(folder: &Path) -> Result<Description, Failure> {
    let mut text = format!("run {}\n", folder.display());
    let mut value = Map::new();
    value.insert("kind".into(), "run".into());
    value.insert("path".into(), folder.display().to_string().into());
    for (part, file) in [("data", "data.json"), ("result", "result.json")] {
        if let Some(found) = json_file(&folder.join(file))? {
            text.push_str(&scalar_fields(part, &found));
            text.push_str(&seeds(&found));
            value.insert(part.into(), found);
        }
    }
    if let Some(wrong) = wrong_labels(folder)? {
        text.push_str(&wrong.text);
        value.insert("wrong_labels".into(), wrong.value);
    }
    for (part, description) in parts(folder)? {
        text.push_str(&description.text);
        value.insert(part.into(), description.value);
    }
    Ok(Description { text, value: Value::Object(value) })
}

fn parts(folder: &Path) -> Result<Vec<(&'static str, Description)>, Failure> {
    let mut parts = Vec::new();
    let model_folder = folder.join("model");
    if next::is_next(&model_folder) {
        return Ok(vec![("model", next::describe(&model_folder)?)]);
    }
    if model_folder.is_dir() {
        parts.push(("model", saved_model(folder)?));
    }
    if let Some(file) = runs::automaton_in(folder) {
        parts.push(("automaton", automaton::describe(&file)?));
    }
    parts.push(("certificate", proof(folder)?));
    let checkpoints = folder.join("checkpoints");
    if checkpoint::has_checkpoints(&checkpoints) {
        parts.push(("checkpoints", checkpoint::describe_all(&checkpoints)?));
    }
    Ok(parts)
}

/// The model of a run: a network or n-grams.
fn saved_model(run: &Path) -> Result<Description, Failure> {
    let folder = run.join("model");
    let Some(ngrams) = runs::load_ngrams(run)? else { return model::describe(&folder) };
    let NgramFile { alphabet, classes, model, .. } = &ngrams.file;
    let features = model.features.len();
    let text = format!(
        "model {}\n  logistic regression on {}\n  {}, classes {}\n",
        folder.display(),
        plural(features, "n-gram"),
        plural(alphabet.len(), "token"),
        classes.join(", ")
    );
    let value = json!({ "kind": "n-grams", "features": features, "classes": classes });
    Ok(Description { text, value })
}

/// The certificate of a run, or a line that there is none.
fn proof(folder: &Path) -> Result<Description, Failure> {
    match folder.join(runs::CERTIFICATE) {
        path if path.is_file() => certificate::describe(&path),
        _ => {
            let run = files::shell_path(folder);
            let text = match folder.join("result.json").is_file() {
                true => format!(
                    "certificate: none, so nothing is proved; srnn certify {run} searches for a \
                     proof\n"
                ),
                // Without a result there may be no network to prove anything about.
                false => format!(
                    "result: none, so the run is not finished; srnn resume {run} continues it\n"
                ),
            };
            Ok(Description { text, value: Value::Null })
        }
    }
}

/// The number of labels suspected wrong, if the run listed any.
fn wrong_labels(folder: &Path) -> Result<Option<Description>, Failure> {
    let path = folder.join(runs::WRONG_LABELS);
    if !path.is_file() {
        return Ok(None);
    }
    let count = files::read_text(&path)?.lines().filter(|line| !line.trim().is_empty()).count();
    let (file, labels) = (path.display().to_string(), plural(count, "label"));
    let result = json_file(&folder.join("result.json"))?.unwrap_or_default();
    let corrected = match result["labels"]["verdict"].as_str() {
        Some("corrected") => {
            ";\n  the accuracies of the seeds use the corrected labels, unless marked \"as given\""
        }
        _ => "",
    };
    let text = format!("  {labels} suspected wrong, listed in {file}{corrected}\n");
    Ok(Some(Description { text, value: json!({ "count": count, "file": file }) }))
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

/// The fields that fit on one line; --json has all of them.
fn scalar_fields(part: &str, value: &Value) -> String {
    let mut text = format!("  {part}\n");
    for (name, field) in value.as_object().into_iter().flatten() {
        // Labels are flipped only by --label-noise; labels suspected wrong have their own line.
        if name == "labels_flipped" && field == 0 {
            continue;
        }
        if let Some(shown) = scalar_text(field) {
            let _ = writeln!(text, "    {:18} {shown}", name.replace('_', " "));
        }
    }
    text
}

/// The text of a scalar; `None` for null, arrays and objects.
fn scalar_text(field: &Value) -> Option<String> {
    match field {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(true) => Some("yes".into()),
        Value::Bool(false) => Some("no".into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// One line per seed. If labels are suspected wrong, accuracies use the corrected ones.
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

/// The accuracy by the labels as given, if some are suspected wrong.
fn as_given(seed: &Value) -> String {
    let given = seed["by_given_labels"]["valid_accuracy"].as_f64().map(percent);
    given.map_or(String::new(), |part| format!(" as corrected, {part} as given"))
}
