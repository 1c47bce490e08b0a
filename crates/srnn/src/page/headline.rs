//! What was learned, in one sentence and a few numbers.

use super::escape::html_text;
use super::html::{facts, paragraph};
use super::run_files::RunFiles;
use super::values::{count, grouped_count, items, percent_or_dash, text};
use crate::format::{grouped, plural};
use serde_json::Value;

/// The sentence, the numbers, and warnings.
pub(super) fn headline(files: &RunFiles) -> String {
    let warnings = items(&files.result["notes"]).iter().map(|note| {
        format!("<p class=\"note\"><strong>Note:</strong> {}.</p>\n", html_text(text(note)))
    });
    let warnings: String = warnings.collect();
    format!("<p class=\"lead\">{}</p>\n{}{warnings}", sentence(files), numbers(files))
}

/// What was learned, and how certain it is; HTML.
pub(super) fn sentence(files: &RunFiles) -> String {
    let train = plural(count(&files.data["train"]["count"]), "labelled sequence");
    let accuracy = percent_or_dash(&files.result["network"]["valid_accuracy"]);
    let valid = plural(count(&files.data["valid"]["count"]), "validation sequence");
    let right = format!("right on <strong>{accuracy}</strong> of the {valid}");
    let Some(automaton) = &files.automaton else {
        let model = model_name(files);
        return format!("From {train}, srnn learned {model}. It is {right}. It has no automaton.");
    };
    let states = plural(automaton.automaton().state_count(), "state");
    let learned = format!("From {train}, srnn learned an <strong>automaton with {states}</strong>");
    match is_proved(files) {
        true => format!(
            "{learned}. It is {right}, and it is <strong>proved</strong> to agree with the network \
             on every word, of any length."
        ),
        false => format!(
            "{learned}. The network that has it is {right}. That both agree on every word is not \
             proved."
        ),
    }
}

/// The kept model with its article.
pub(super) fn model_name(files: &RunFiles) -> String {
    let named = match text(&files.result["kept"]["kind"]) {
        "ngrams" => "a logistic regression on n-grams",
        "automaton" | "sr-gru" => "an SR-GRU, a state-regularized network",
        "sr-lstm-p" => "an SR-LSTM-P, a state-regularized network",
        "gru" => "a plain GRU network",
        "lstm" => "a plain LSTM network",
        "merged" => "a network that an automaton was written into",
        _ => return network_name(files),
    };
    named.into()
}

/// The kept network by its architecture.
fn network_name(files: &RunFiles) -> String {
    let config = files.network.as_ref().map(|network| &network.config[..]).unwrap_or_default();
    let config: Value = serde_json::from_slice(config).unwrap_or_default();
    let layer = &config["arch"]["layers"][0];
    let cell = match text(&layer["cell"]["kind"]) {
        "" => return "a model".into(),
        kind => kind.to_uppercase(),
    };
    match layer["centroids"].is_null() {
        true => format!("a plain {} network", html_text(&cell)),
        false => format!("an SR-{}, a state-regularized network", html_text(&cell)),
    }
}

/// Whether network and automaton are proved to agree.
pub(super) fn is_proved(files: &RunFiles) -> bool {
    files.result["certificate"]["certified"] == true && files.certificate.is_some()
}

fn numbers(files: &RunFiles) -> String {
    let network = &files.result["network"];
    let mut rows = vec![("validation accuracy", percent_or_dash(&network["valid_accuracy"]))];
    if !network["test_accuracy"].is_null() {
        rows.push(("test accuracy", percent_or_dash(&network["test_accuracy"])));
    }
    if let Some(automaton) = &files.automaton {
        rows.push(("states", grouped(automaton.automaton().state_count() as u64)));
        rows.push((
            "equal to the network",
            if is_proved(files) { "proved" } else { "not proved" }.into(),
        ));
    }
    rows.push(("symbols", grouped(items(&files.data["alphabet"]).len() as u64)));
    rows.push(("training sequences", grouped_count(&files.data["train"]["count"])));
    facts(&rows).replacen("<dl>", "<dl class=\"tiles\">", 1)
}

/// The conclusion that `learn` printed, as paragraphs.
pub(super) fn conclusion(printed: &Value) -> String {
    let lines = text(printed).lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| paragraph(&html_text(line))).collect()
}
