//! The page of `learn --next`: models that predict the next token, and their thresholds.

use super::document::assemble;
use super::escape::html_text;
use super::headline::conclusion;
use super::html::{Open, TableLine, details, facts, name, paragraph, table};
use super::interactive::Embedded;
use super::run_files::RunFiles;
use super::values::{count, grouped_count, items, percent_or_dash, text};
use super::{curves, data, repeat};
use crate::format::plural;
use serde_json::Value;

/// More lines of the automaton start closed.
const MAX_OPEN_LINES: usize = 16;

/// The page.
pub(super) fn page(files: &RunFiles) -> String {
    let sections = [
        ("automaton", "The automaton", automaton(files)),
        ("accuracy", "Models compared", models(files)),
        ("curves", "Training", curves::body(files)),
        ("data", "Data", data_summary(files)),
        ("again", "Make it again", repeat::body(files)),
    ];
    assemble(&files.title(), &headline(files), &sections, &Embedded::default())
}

fn kept(files: &RunFiles) -> &Value {
    let candidates = items(&files.result["candidates"]);
    candidates.iter().find(|candidate| candidate["kept"] == true).unwrap_or(&Value::Null)
}

fn headline(files: &RunFiles) -> String {
    let kept = kept(files);
    let train = plural(count(&files.data["train"]["sequences"]), "sequence");
    let valid = plural(count(&files.data["valid"]["sequences"]), "validation sequence");
    let sentence = format!(
        "From {train} without labels, srnn learned to predict the next token. The model that is kept, \
         <strong>{}</strong>, needs <strong>{}</strong> per token on the {valid}.",
        html_text(text(&kept["name"])),
        bits(&kept["valid"]),
    );
    let thresholds = &kept["thresholds"];
    let tiles = facts(&[
        ("bits per token", bits(&kept["valid"])),
        ("most probable token is right", percent_or_dash(&kept["valid"]["top_1"])),
        ("a step is surprising from", number(&thresholds["max_bits"], " bits")),
        ("sequences flagged at most", percent_or_dash(&thresholds["flagged"])),
    ]);
    format!(
        "<p class=\"lead\">{sentence}</p>\n{}",
        tiles.replacen("<dl>", "<dl class=\"tiles\">", 1)
    )
}

fn bits(score: &Value) -> String {
    number(&score["bits"], " bits")
}

fn number(value: &Value, unit: &str) -> String {
    match (value.as_f64(), value.as_str()) {
        (Some(value), _) => format!("{value:.2}{unit}"),
        // An infinite threshold is a word.
        (None, Some(word)) => html_text(word),
        (None, None) => "–".into(),
    }
}

fn models(files: &RunFiles) -> String {
    let row = |candidate: &Value| {
        let (title, score) = (html_text(text(&candidate["name"])), &candidate["valid"]);
        let is_kept = candidate["kept"] == true;
        let title = if is_kept { format!("<strong>{title}</strong> (kept)") } else { title };
        let error = score["error"].as_f64().map_or(String::new(), |error| format!(" ± {error:.3}"));
        let cells = vec![
            title,
            format!("{}{error}", score["bits"].as_f64().map_or("–".into(), |b| format!("{b:.3}"))),
            number(&score["perplexity"], ""),
            percent_or_dash(&score["top_1"]),
            candidate["size"].as_u64().map_or("–".into(), crate::format::grouped),
            html_text(text(&candidate["note"])),
        ];
        TableLine { cells, attributes: if is_kept { " class=\"kept\"" } else { "" }.into() }
    };
    let rows: Vec<TableLine> = items(&files.result["candidates"]).iter().map(row).collect();
    let head = [
        "model",
        "#bits per token",
        "#perplexity",
        "#most probable token is right",
        "#size",
        "note",
    ];
    let explained = paragraph(
        "± is one standard error. Fewer bits are better: a model that knew the next token would need \
         none.",
    );
    let caption = "Models on the validation set, the most readable first";
    format!("{}{explained}{}", table(caption, &head, &rows), conclusion(&files.result["text"]))
}

fn automaton(files: &RunFiles) -> String {
    let Some(printed) = &files.next_automaton else { return String::new() };
    let lines: Vec<&str> = printed.lines().collect();
    let shown: String = lines.iter().map(|line| format!("{}\n", html_text(line))).collect();
    let body = format!("<pre class=\"wide\" tabindex=\"0\"><code>{shown}</code></pre>\n");
    let explained = paragraph(
        "Each line is a state: how often it is visited, and the most probable tokens with the state \
         they lead to. <code>automaton/next.dot</code> has all of them.",
    );
    let summary = format!("{} of states", plural(lines.len(), "line"));
    format!("{explained}{}", details(&summary, &body, Open::up_to(lines.len(), MAX_OPEN_LINES)))
}

fn data_summary(files: &RunFiles) -> String {
    let record = &files.data;
    let mut rows = vec![("source", name(text(&record["source"])))];
    for (key, title) in [("train", "training"), ("valid", "validation"), ("test", "test")] {
        if !record[key].is_null() {
            rows.push((
                title,
                format!(
                    "{} sequences, {} tokens with their ends",
                    grouped_count(&record[key]["sequences"]),
                    grouped_count(&record[key]["predictions"])
                ),
            ));
        }
    }
    rows.push(("how text becomes tokens", name(text(&record["tokens"]))));
    format!("{}{}", facts(&rows), data::symbols(record))
}
