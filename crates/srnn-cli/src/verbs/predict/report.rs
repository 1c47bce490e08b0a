//! What is shown of predictions.

use super::inputs::Asked;
use super::say::{Said, Spoken};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Saved;
use serde_json::{Map, Value, json};
use srnn::format::{percent, plural};
use srnn::task::Confusion;
use std::fmt::Write as _;

/// Warnings of one kind that are shown; the rest is counted.
const MOST_WARNINGS: usize = 5;

/// Shows what was said, with a warning wherever network and automaton disagree.
pub fn report(
    saved: &Saved,
    asked: &[Asked],
    said: &[Said],
    confusion: Option<&Confusion>,
    certificate: Value,
    output: &Output,
) -> Result<(), Failure> {
    let classes = &saved.file.classes;
    let disagreements = warnings(asked, said, |said| disagreement(classes, said));
    let unread = warnings(asked, said, |said| {
        Some(format!("not labelled: {}", said.network.as_ref().err()?))
    });
    let unseen = warnings(asked, said, |said| stand_ins(saved, said));
    for found in [&disagreements, &unread, &unseen] {
        for warning in found.iter().take(MOST_WARNINGS) {
            output.note(format!("warning: {warning}"));
        }
        if found.len() > MOST_WARNINGS {
            output.note(format!("warning: and {} more like this", found.len() - MOST_WARNINGS));
        }
    }
    let mut text = String::new();
    for (asked, said) in asked.iter().zip(said) {
        let _ = writeln!(text, "{}", line(classes, asked, said));
    }
    text.extend(confusion.map(scores));
    let predictions = asked.iter().zip(said).map(|(asked, said)| prediction(saved, asked, said));
    let value = json!({
        "model": saved.folder.display().to_string(),
        "predictions": predictions.collect::<Vec<_>>(),
        "certificate": certificate,
        "disagreements": disagreements.len(),
        "not_labelled": unread.len(),
        "accuracy": confusion.and_then(Confusion::accuracy),
        "confusion": confusion,
        "per_class": confusion.map(Confusion::scores),
    });
    output.result(text, &value)
}

fn warnings(
    asked: &[Asked],
    said: &[Said],
    warning: impl Fn(&Said) -> Option<String>,
) -> Vec<String> {
    let warned =
        |(asked, said): (&Asked, &Said)| Some(format!("{}: {}", asked.place, warning(said)?));
    asked.iter().zip(said).filter_map(warned).collect()
}

fn disagreement(classes: &[String], said: &Said) -> Option<String> {
    let network = &classes[said.class()? as usize];
    let automaton = said.automaton.as_ref()?.label.as_ref()?;
    let message = format!("the network says {network:?}, its automaton {automaton:?}");
    (network != automaton).then_some(message)
}

fn stand_ins(saved: &Saved, said: &Said) -> Option<String> {
    let (position, token) = said.unseen.first()?;
    let unknown = &saved.file.alphabet[saved.file.unknown? as usize];
    let more = match said.unseen.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    Some(format!("token {token:?}, number {}, is read as {unknown:?}{more}", position + 1))
}

/// Word, label, the probability of each class, path.
fn line(classes: &[String], asked: &Asked, said: &Said) -> String {
    let single = asked.tokens.iter().all(|token| token.chars().count() == 1);
    let word = match asked.tokens.is_empty() {
        true => "ε".to_string(),
        false => asked.tokens.join(if single { "" } else { " " }),
    };
    let mut line = match &said.network {
        Ok(Spoken { probabilities, .. }) => {
            let label = &classes[said.class().unwrap_or(0) as usize];
            let shares = classes.iter().zip(probabilities).map(|(c, p)| format!("{c} {p:.4}"));
            format!("{word}\t{label}\t{}", shares.collect::<Vec<_>>().join(", "))
        }
        Err(reason) => format!("{word}\t-\t{reason}"),
    };
    if let Some(track) = &said.automaton {
        let states: Vec<String> = track.states.iter().map(u32::to_string).collect();
        let end = if track.label.is_none() { " ?" } else { "" };
        let _ = write!(line, "\tpath {}{end}", states.join(" "));
    }
    // A token may hold the ends of lines and columns.
    line.replace('\n', "\\n")
}

/// The accuracy, and who was taken for whom.
pub fn scores(confusion: &Confusion) -> String {
    let accuracy = percent(confusion.accuracy().unwrap_or(0.0));
    let sequences = plural(confusion.total() as usize, "sequence");
    let mut text = format!("accuracy {accuracy} on {sequences}\n");
    let names: Vec<String> = confusion.classes.iter().map(|class| format!("{class:?}")).collect();
    let _ = writeln!(text, "truth \\ said\t{}\tunread", names.join("\t"));
    for (row, name) in names.iter().enumerate() {
        let counts: Vec<String> = confusion.counts[row].iter().map(u64::to_string).collect();
        let _ = writeln!(text, "{name}\t{}\t{}", counts.join("\t"), confusion.unreadable[row]);
    }
    text
}

fn prediction(saved: &Saved, asked: &Asked, said: &Said) -> Value {
    let classes = &saved.file.classes;
    let label = said.class().map(|class| &classes[class as usize]);
    let shares = said.network.as_ref().ok().map(|spoken| {
        classes
            .iter()
            .cloned()
            .zip(spoken.probabilities.iter().map(|&p| json!(p)))
            .collect::<Map<_, _>>()
    });
    let unseen =
        said.unseen.iter().map(|(at, token)| json!({ "position": at + 1, "token": token }));
    let track = said.automaton.as_ref();
    let automaton_label = track.and_then(|track| track.label.as_ref());
    json!({
        "place": asked.place,
        "tokens": asked.tokens,
        "label": label,
        "probabilities": shares,
        "truth": asked.label,
        "reason": said.network.as_ref().err(),
        "unseen": unseen.collect::<Vec<_>>(),
        "path": track.map(|track| &track.states),
        "automaton_label": automaton_label,
        "agrees": automaton_label.zip(label).map(|(automaton, network)| automaton == network),
    })
}
