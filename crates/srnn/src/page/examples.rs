//! Held-out sequences that the kept model classifies right and wrong.

use super::html::{Open, TableLine, details, fitting, name, paragraph, stored_word, table};
use super::run_files::RunFiles;
use super::values::{grouped_count, items, text};
use serde_json::Value;

/// Samples of right and wrong answers on each set.
pub(super) fn body(files: &RunFiles) -> String {
    match items(&files.examples["sets"]) {
        [] => paragraph(
            "This run has no <code>examples.json</code>: it was made by an earlier version of srnn. \
             <code>srnn learn --config</code> repeats it with one.",
        ),
        sets => sets.iter().map(of_set).collect(),
    }
}

fn of_set(set: &Value) -> String {
    let title = match text(&set["set"]) {
        "test" => "test",
        _ => "validation",
    };
    let examined = match set["examined"] == set["sequences"] {
        true => format!("Of all {} {title} sequences", grouped_count(&set["examined"])),
        false => format!(
            "Of {} of the {} {title} sequences",
            grouped_count(&set["examined"]),
            grouped_count(&set["sequences"])
        ),
    };
    let (right, wrong) = (grouped_count(&set["right"]), grouped_count(&set["wrong"]));
    let summary = paragraph(&format!(
        "{examined}, <strong>{right}</strong> are classified right and <strong>{wrong}</strong> wrong."
    ));
    let wrong =
        answers(items(&set["wrong_examples"]), &format!("Wrong on the {title} set"), Open::Yes);
    let open = if wrong.is_empty() { Open::Yes } else { Open::No };
    let right = answers(items(&set["right_examples"]), &format!("Right on the {title} set"), open);
    format!("{summary}{wrong}{right}")
}

fn answers(examples: &[Value], title: &str, open: Open) -> String {
    if examples.is_empty() {
        return String::new();
    }
    let has_lines = examples.iter().any(|example| !example["line"].is_null());
    let row = |example: &Value| {
        let mut cells = vec![stored_word(example)];
        let (given, predicted) = (text(&example["given"]), text(&example["predicted"]));
        cells.push(name(given));
        cells.push(match given == predicted {
            true => name(predicted),
            false => format!("<span class=\"error\">{}</span>", name(predicted)),
        });
        cells.push(grouped_count(&example["length"]));
        cells.extend(has_lines.then(|| grouped_count(&example["line"])));
        TableLine::plain(cells)
    };
    let (rows, _) = fitting(examples.iter().map(row).collect());
    let mut head = vec!["sequence", "label", "answer", "#length"];
    head.extend(has_lines.then_some("#line of the file"));
    let count = rows.len();
    details(&format!("{title}: {count} examples"), &table(title, &head, &rows), open)
}
