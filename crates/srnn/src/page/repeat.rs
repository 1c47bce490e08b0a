//! How to make the run again: command, seed, configuration, digests.

use super::escape::html_text;
use super::html::{Open, details, facts, name, paragraph};
use super::run_files::RunFiles;
use super::values::{count, items, text};
use serde_json::Value;

/// The command, and what it needs.
pub(super) fn body(files: &RunFiles) -> String {
    let digest =
        |value: &Value| format!("<code class=\"digest\">{}</code>", html_text(text(value)));
    let kept = &files.result["kept"];
    let mut rows = vec![];
    if let Some(seed) = kept["seed"].as_u64() {
        let because = match text(&kept["because"]) {
            "" => String::new(),
            because => format!(" ({})", html_text(because)),
        };
        rows.push(("seed that was kept", format!("{seed}{because}")));
    }
    if !text(&files.result["device"]).is_empty() {
        rows.push(("trained on", html_text(text(&files.result["device"]))));
    }
    if let Some(seconds) = files.result["seconds"]["total"].as_f64() {
        rows.push(("time", format!("{seconds:.1} s")));
    }
    rows.push(("training data (SHA-256)", digest(&files.data["digest"]["train"])));
    rows.push(("validation data (SHA-256)", digest(&files.data["digest"]["valid"])));
    if !kept["digest"].is_null() {
        rows.push(("weights (SHA-256)", digest(&kept["digest"])));
    }
    rows.push(("page made by", format!("srnn {}", env!("CARGO_PKG_VERSION"))));
    let command = "<pre><code>srnn learn --config config.toml --out again</code></pre>\n";
    let introduction = paragraph(&format!(
        "Save the settings below as <code>config.toml</code>, beside the data {}, and run:",
        name(text(&files.result["source"]))
    ));
    let same = paragraph(
        "On the same kind of processor this gives the same bits, for any number of threads. Equal \
         digests below show that data and weights are the same.",
    );
    let settings = format!("<pre><code>{}</code></pre>\n", html_lines(&files.config));
    format!(
        "{introduction}{command}{same}{}{}{}",
        facts(&rows),
        details("Settings: config.toml", &settings, Open::No),
        seeds(files)
    )
}

/// The text with its lines.
fn html_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", html_text(line))).collect()
}

fn seeds(files: &RunFiles) -> String {
    let untrained = items(&files.result["untrained_seeds"]);
    match untrained.len() {
        0 => String::new(),
        _ => {
            let seeds: Vec<String> = untrained.iter().map(|seed| count(seed).to_string()).collect();
            paragraph(&format!(
                "Not trained: seed {}, since an earlier network fits all labels and is proved.",
                seeds.join(", ")
            ))
        }
    }
}
