//! The certificate: its statement, what it means, and what it does not.

use super::contents::PageContents;
use super::escape::html_text;
use super::headline::is_proved;
use super::html::{facts, paragraph};
use super::run_files::RunFiles;
use super::values::{grouped_count, text};
use crate::format::shell_word;
use serde_json::Value;

/// What is proved, or why nothing is.
pub(super) fn body(files: &RunFiles, contents: &PageContents) -> String {
    match is_proved(files) {
        true => proved(files, contents),
        false => not_proved(files),
    }
}

fn proved(files: &RunFiles, contents: &PageContents) -> String {
    let record = &files.result["certificate"];
    let bytes = files.certificate.as_deref().unwrap_or_default();
    let file: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let covered = match record["f32"] == true {
        true => {
            "It covers the network as a formula, and the program that computes it with 32-bit \
             numbers and rounds at every step."
        }
        false => {
            "It covers the network as a formula and in double precision. It does not cover the \
             program with 32-bit numbers."
        }
    };
    let margin = record["margin"].as_f64().map_or("–".into(), |margin| format!("{margin:.2}"));
    [
        format!("<blockquote>{}</blockquote>\n", html_text(text(&file["statement"]))),
        paragraph(&format!(
            "<strong>What this means.</strong> The automaton is not an approximation of the network. \
             Whatever word it is given, however long, the network answers as the picture says. {covered}"
        )),
        paragraph(
            "<strong>What it does not mean.</strong> It says nothing about the labels: where the \
             network is wrong, the automaton is wrong in the same way. The accuracy below measures \
             that.",
        ),
        paragraph(
            "The proof cuts the states of the network into cells, and shows that every step leads \
             from one cell into another, and that all states of a cell have the same class. A checker \
             that shares no code with the prover verifies every inequality.",
        ),
        facts(&[
            ("cells", grouped_count(&record["cells"])),
            ("minimum logit margin", margin),
            ("weights (SHA-256)", format!("<code class=\"digest\">{}</code>", html_text(text(&file["model"]["digest"])))),
        ]),
        check_here(contents),
        paragraph(&format!(
            "On the command line: <code>srnn check {}</code>",
            html_text(&shell_word(&files.folder.to_string_lossy()))
        )),
    ]
    .concat()
}

/// The button that checks the proof. The script shows it.
fn check_here(contents: &PageContents) -> String {
    match contents.can_check() {
        true => "<div id=\"check\" hidden>\n<p><button type=\"button\" id=\"check-run\">Check the \
                 proof here</button></p>\n<div id=\"check-result\" role=\"status\"></div>\n</div>\n"
            .into(),
        false => paragraph(
            "Network and certificate are too large to be checked inside this page; they are in the \
             run folder.",
        ),
    }
}

fn not_proved(files: &RunFiles) -> String {
    let record = &files.result["certificate"];
    let what = match &files.automaton {
        None => return String::new(),
        Some(_) => paragraph(
            "Nothing is proved. Automaton and network were compared on words and on the data, but \
             they may differ on words that were not compared.",
        ),
    };
    let line = |name: &str, value: &Value| match text(value) {
        "" => String::new(),
        reason => paragraph(&format!("<strong>{name}:</strong> {}", html_text(reason))),
    };
    let agreement = &files.result["automaton"]["agreement"]["words"];
    let agreement = match agreement["rate"].as_f64() {
        Some(rate) => paragraph(&format!(
            "They agree on {} of {} words.",
            crate::format::percent(rate),
            grouped_count(&agreement["compared"])
        )),
        None => String::new(),
    };
    format!(
        "{what}{agreement}{}{}",
        line("Obstacle", &record["obstacle"]),
        line("Remedy", &record["remedy"])
    )
}
