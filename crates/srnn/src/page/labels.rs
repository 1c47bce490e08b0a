//! Labels that are believed to be wrong.

use super::escape::html_text;
use super::html::{Open, TableLine, details, fitting, name, paragraph, table, word};
use super::run_files::RunFiles;
use super::values::{count, grouped_count, text, texts};
use crate::format::{grouped, plural};
use serde_json::Value;

/// A longer table starts closed.
const MAX_OPEN_ROWS: usize = 12;

/// The suspected labels; empty if no label is suspected.
pub(super) fn body(files: &RunFiles) -> String {
    let record = &files.result["labels"];
    let (lines, total) = &files.wrong_labels;
    let introduction = match text(&record["verdict"]) {
        "corrected" => format!(
            "An automaton with {} explains the data best, by description length (MDL). It contradicts \
             {} of {}. These labels were corrected, and the network was trained again.",
            plural(count(&record["states"]), "state"),
            grouped(*total as u64),
            plural(count(&record["labels"]), "label")
        ),
        "contradicted" => format!(
            "The automaton contradicts {} of {}, which may be wrong. Rare exceptions to a rule look \
             like wrong labels, too.",
            grouped(*total as u64),
            plural(count(&record["labels"]), "label")
        ),
        "unexplained" => return paragraph(&html_text(text(&record["why"]))),
        _ => return String::new(),
    };
    format!("{}{}", paragraph(&introduction), suspects(lines, *total))
}

fn suspects(lines: &[Value], total: usize) -> String {
    let row = |suspect: &Value| {
        let tokens = texts(&suspect["sequence"]);
        TableLine::plain(vec![
            word(&tokens, tokens.len()),
            name(text(&suspect["given"])),
            name(text(&suspect["believed"])),
            text(&suspect["set"]).into(),
            if suspect["line"].is_null() { "–".into() } else { grouped_count(&suspect["line"]) },
        ])
    };
    let (rows, _) = fitting(lines.iter().map(row).collect());
    let head = ["sequence", "label as given", "believed", "set", "#line of the file"];
    let mut body = table("Labels believed wrong", &head, &rows);
    if total > rows.len() {
        body += &paragraph(&format!(
            "The first {} of {}; <code>wrong_labels.jsonl</code> has all.",
            rows.len(),
            grouped(total as u64)
        ));
    }
    details(&plural(total, "suspected label"), &body, Open::up_to(rows.len(), MAX_OPEN_ROWS))
}
