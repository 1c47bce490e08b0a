//! The output of `predict`.

use super::classify::{Classified, NetworkOutput};
use super::inputs::InputSequence;
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Map, Value, json};
use srnn::format::{percent, plural};
use srnn::task::{Confusion, Vocabulary};
use std::fmt::Write as _;
use std::path::Path;

/// Maximum warnings of one kind that are printed; the rest is counted.
const MAX_WARNINGS: usize = 5;

/// The model whose predictions are reported.
pub struct ReportedModel<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// The names of its classes.
    pub classes: &'a [String],
    /// Its tokens.
    pub vocabulary: &'a Vocabulary,
}

/// Prints the results, with a warning for every disagreement of network and automaton.
pub fn report(
    model: &ReportedModel<'_>,
    inputs: &[InputSequence],
    results: &[Classified],
    confusion: Option<&Confusion>,
    certificate: Value,
    output: &Output,
) -> Result<(), Failure> {
    let classes = model.classes;
    let disagreements = warnings(inputs, results, |_, result| disagreement(classes, result));
    let unlabelled = warnings(inputs, results, |_, result| {
        Some(format!("not labelled: {}", result.network.as_ref().err()?))
    });
    let unseen =
        warnings(inputs, results, |input, result| unseen_warning(model.vocabulary, input, result));
    for found in [&disagreements, &unlabelled, &unseen] {
        note_warnings(found, output);
    }
    let mut text = String::new();
    for (input, result) in inputs.iter().zip(results) {
        let _ = writeln!(text, "{}", line(classes, input, result));
    }
    text.extend(confusion.map(scores));
    let predictions =
        inputs.iter().zip(results).map(|(input, result)| prediction(classes, input, result));
    let value = json!({
        "model": model.folder.display().to_string(),
        "predictions": predictions.collect::<Vec<_>>(),
        "certificate": certificate,
        "disagreements": disagreements.len(),
        "not_labelled": unlabelled.len(),
        "accuracy": confusion.and_then(Confusion::accuracy),
        "confusion": confusion,
        "per_class": confusion.map(Confusion::scores),
    });
    output.result(text, &value)
}

/// Prints the first warnings of one kind, and the number of the others.
pub fn note_warnings(found: &[String], output: &Output) {
    for warning in found.iter().take(MAX_WARNINGS) {
        output.note(format!("warning: {warning}"));
    }
    if found.len() > MAX_WARNINGS {
        output.note(format!("warning: and {} more like this", found.len() - MAX_WARNINGS));
    }
}

fn warnings(
    inputs: &[InputSequence],
    results: &[Classified],
    warning: impl Fn(&InputSequence, &Classified) -> Option<String>,
) -> Vec<String> {
    let warned = |(input, result): (&InputSequence, &Classified)| {
        Some(format!("{}: {}", input.place, warning(input, result)?))
    };
    inputs.iter().zip(results).filter_map(warned).collect()
}

fn disagreement(classes: &[String], result: &Classified) -> Option<String> {
    let network = &classes[result.class()? as usize];
    let automaton = result.automaton.as_ref()?.label.as_ref()?;
    let message = format!("the network gives {network:?}, its automaton {automaton:?}");
    (network != automaton).then_some(message)
}

fn unseen_warning(
    vocabulary: &Vocabulary,
    input: &InputSequence,
    result: &Classified,
) -> Option<String> {
    let (position, token) = result.unseen.first()?;
    let unknown = &vocabulary.symbols()[vocabulary.unknown()? as usize];
    let tokens = input.tokens.len();
    if result.unseen.len() == tokens {
        return Some(format!(
            "0 of {} are known: each is read as {unknown:?}, so the label depends only on their \
             number",
            plural(tokens, "token")
        ));
    }
    let more = and_more(result.unseen.len());
    Some(format!("token {token:?}, number {}, is read as {unknown:?}{more}", position + 1))
}

/// How many tokens a warning does not name, if it names one of `count`.
pub fn and_more(count: usize) -> String {
    match count {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    }
}

/// One line: word, label, the probability of each class, path, reasons.
fn line(classes: &[String], input: &InputSequence, result: &Classified) -> String {
    let single = input.tokens.iter().all(|token| token.chars().count() == 1);
    let word = match input.tokens.is_empty() {
        true => "ε".to_string(),
        false => input.tokens.join(if single { "" } else { " " }),
    };
    let mut line = match &result.network {
        Ok(NetworkOutput { probabilities, .. }) => {
            let label = &classes[result.class().unwrap_or(0) as usize];
            let listed = classes.iter().zip(probabilities).map(|(c, p)| format!("{c} {p:.4}"));
            format!("{word}\t{label}\t{}", listed.collect::<Vec<_>>().join(", "))
        }
        Err(reason) => format!("{word}\t-\t{reason}"),
    };
    if let Some(path) = &result.automaton {
        let states: Vec<String> = path.states.iter().map(u32::to_string).collect();
        let end = if path.label.is_none() { " ?" } else { "" };
        let _ = write!(line, "\tpath {}{end}", states.join(" "));
    }
    if !result.reasons.is_empty() {
        let reasons = result.reasons.iter().map(|(name, weight)| format!("{name:?} {weight:+.2}"));
        let _ = write!(line, "\tbecause of {}", reasons.collect::<Vec<_>>().join(", "));
    }
    // A token may contain line ends.
    line.replace('\n', "\\n")
}

/// The accuracy and the confusion matrix.
pub fn scores(confusion: &Confusion) -> String {
    let accuracy = percent(confusion.accuracy().unwrap_or(0.0));
    let sequences = plural(confusion.total() as usize, "sequence");
    let mut text = format!("accuracy {accuracy} on {sequences}\n");
    let names: Vec<String> = confusion.classes.iter().map(|class| format!("{class:?}")).collect();
    let _ = writeln!(text, "label \\ predicted\t{}\tnone", names.join("\t"));
    for (row, name) in names.iter().enumerate() {
        let counts: Vec<String> = confusion.counts[row].iter().map(u64::to_string).collect();
        let _ = writeln!(text, "{name}\t{}\t{}", counts.join("\t"), confusion.unreadable[row]);
    }
    text
}

fn prediction(classes: &[String], input: &InputSequence, result: &Classified) -> Value {
    let label = result.class().map(|class| &classes[class as usize]);
    let probabilities = result.network.as_ref().ok().map(|network| {
        classes
            .iter()
            .cloned()
            .zip(network.probabilities.iter().map(|&p| json!(p)))
            .collect::<Map<_, _>>()
    });
    let path = result.automaton.as_ref();
    let automaton_label = path.and_then(|path| path.label.as_ref());
    json!({
        "place": input.place,
        "tokens": input.tokens,
        "label": label,
        "probabilities": probabilities,
        "truth": input.label,
        "reason": result.network.as_ref().err(),
        "unseen": unseen_tokens_value(&result.unseen),
        "path": path.map(|path| &path.states),
        "reasons": reasons_value(&result.reasons),
        "automaton_label": automaton_label,
        "agrees": automaton_label.zip(label).map(|(automaton, network)| automaton == network),
    })
}

fn reasons_value(reasons: &[(String, f64)]) -> Value {
    reasons.iter().map(|(name, weight)| json!({ "feature": name, "weight": weight })).collect()
}

/// Tokens that are read as `<unk>`, as JSON; positions from 1.
pub fn unseen_tokens_value(unseen: &[(usize, String)]) -> Value {
    unseen.iter().map(|(at, token)| json!({ "position": at + 1, "token": token })).collect()
}
