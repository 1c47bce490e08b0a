//! The data: sets, classes, lengths, symbols.

use super::html::{Open, TableLine, details, facts, name, paragraph, table};
use super::run_files::RunFiles;
use super::values::{count, grouped_count, items, text, texts};
use crate::format::plural;
use serde_json::Value;

/// Classes that are listed.
const MAX_CLASSES: usize = 50;
/// The room for symbols.
const MAX_SYMBOL_BYTES: usize = 80_000;
/// More symbols start closed.
const MAX_OPEN_SYMBOLS: usize = 60;

/// The summary of the data.
pub(super) fn body(files: &RunFiles) -> String {
    let data = &files.data;
    let sets = [("train", "training"), ("valid", "validation"), ("test", "test")];
    let mut rows = vec![("source", name(text(&data["source"])))];
    for (key, title) in sets {
        if !data[key].is_null() {
            rows.push((title, describe_set(data, key)));
        }
    }
    rows.push(("how text becomes tokens", name(text(&data["tokens"]))));
    let flipped = count(&data["labels_flipped"]);
    if flipped > 0 {
        rows.push((
            "label noise",
            format!("{} flipped on request", plural(flipped, "training label")),
        ));
    }
    format!("{}{}{}", facts(&rows), class_table(data), symbols(data))
}

fn describe_set(data: &Value, key: &str) -> String {
    let set = &data[key];
    let mut parts = vec![format!("{} sequences", grouped_count(&set["count"]))];
    if !set["lengths"].is_null() {
        let [least, median, most] =
            ["min", "median", "max"].map(|n| grouped_count(&set["lengths"][n]));
        parts.push(format!("lengths {least} to {most}, median {median}"));
    }
    let notes = [
        (&set["duplicates"], "that repeat an earlier one"),
        (&set["contradictions"], "that contradict an earlier one"),
        (&data["unreadable"][key], "with unknown tokens"),
        (&data["in_training"][key], "that are in the training set as well"),
    ];
    let notes = notes.into_iter().filter(|(value, _)| count(value) > 0);
    parts.extend(notes.map(|(value, what)| format!("{} {what}", grouped_count(value))));
    parts.join("; ")
}

fn class_table(data: &Value) -> String {
    let classes = texts(&data["classes"]);
    let sets = ["train", "valid", "test"].into_iter().filter(|key| !data[key].is_null());
    let sets: Vec<&str> = sets.collect();
    let row = |class: &String| {
        let of_set = |key: &&str| {
            let found = items(&data[key]["per_class"]).iter().find(|pair| text(&pair[0]) == class);
            grouped_count(found.map_or(&Value::Null, |pair| &pair[1]))
        };
        TableLine::plain([name(class)].into_iter().chain(sets.iter().map(of_set)).collect())
    };
    let rows: Vec<TableLine> = classes.iter().take(MAX_CLASSES).map(row).collect();
    let mut head = vec!["class"];
    head.extend(sets.iter().map(|key| match *key {
        "train" => "#training",
        "valid" => "#validation",
        _ => "#test",
    }));
    table("Sequences by class", &head, &rows)
}

/// The symbols as a list.
pub(super) fn symbols(data: &Value) -> String {
    let names = texts(&data["alphabet"]);
    let mut bytes = 0;
    let fits = |shown: &String| {
        bytes += shown.len();
        bytes <= MAX_SYMBOL_BYTES
    };
    let shown: Vec<String> = names.iter().map(|symbol| name(symbol)).take_while(fits).collect();
    let mut body = paragraph(&shown.join(" "));
    if names.len() > shown.len() {
        body += &paragraph(&format!(
            "{} more are not shown.",
            plural(names.len() - shown.len(), "symbol")
        ));
    }
    details(&plural(names.len(), "symbol"), &body, Open::up_to(names.len(), MAX_OPEN_SYMBOLS))
}
