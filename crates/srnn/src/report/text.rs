//! The result of a run as text.

use super::LearnReport;
use super::advice::advice;
use super::labels::{by_labels_believed, doubted};
use super::methods::{MethodResult, methods};
use super::proof;
use crate::extract::json::NamedAutomaton;
use crate::extract::{Agreement, EvaluatedAutomaton, Extraction, WordSet};
use crate::format::{aligned, grouped, percent, plural, quoted};
use crate::learn::Labels;
use crate::notation::table;
use crate::render::transition_table::escape_control;
use crate::task::Confusion;
use crate::train::SeedOutcome;
use srnn_automata::{Alphabet, Partial, Word};

/// The report for a terminal.
pub(super) fn text(report: &LearnReport<'_>) -> String {
    let mut parts: Vec<String> = doubted(report).into_iter().collect();
    parts.push(seeds(report));
    match &report.learned.extraction {
        Err(refusal) => {
            parts.push(format!("No automaton: {refusal} (--arch sr-gru).\n"));
            parts.push(network(report));
        }
        Ok(extraction) => {
            parts.push(automaton(report, extraction));
            parts.push(three_numbers(report, extraction));
        }
    }
    let advice = advice(report);
    if !advice.is_empty() {
        parts.push(advice.iter().map(|line| format!("note: {line}\n")).collect());
    }
    parts.push(confusion("validation", &report.validation()));
    parts.extend(report.test().map(|test| confusion("test", &test)));
    parts.push(format!("Everything is in {}", report.run.display()));
    parts.join("\n")
}

fn seeds(report: &LearnReport<'_>) -> String {
    let [train, valid] = match report.learned.labels {
        Labels::Corrected(_) => ["train, as believed", "valid, as believed"],
        Labels::Trusted | Labels::Unexplained(_) => ["train", "valid"],
    };
    let head = ["", "seed", train, valid, "automaton", "status"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (index, outcome) in report.learned.outcomes.iter().enumerate() {
        let kept = if index == report.learned.selection.index { "*" } else { "" };
        let train = outcome.run.final_evaluation.as_ref().map(|end| end.train.accuracy);
        let shown = |part: Option<f64>| part.map_or("–".into(), percent);
        rows.push(vec![
            kept.into(),
            outcome.seed.to_string(),
            shown(train),
            shown(report.valid_accuracy(outcome)),
            quality(outcome),
            outcome.run.stop.to_string(),
        ]);
    }
    let reason = report.learned.selection.reason.describe();
    format!("{}kept: seed {} ({reason})\n", aligned(&rows), report.learned.kept().seed)
}

fn quality(outcome: &SeedOutcome<f32>) -> String {
    match outcome.quality {
        None => "–".into(),
        Some(quality) if quality.closed => {
            let proved = if quality.certified.is_some() { ", certified" } else { "" };
            let (states, agrees) = (plural(quality.states, "state"), percent(quality.agreement));
            format!("{states}, agrees {agrees}{proved}")
        }
        Some(_) => "does not close".into(),
    }
}

fn automaton(report: &LearnReport<'_>, extraction: &Extraction) -> String {
    let Some(minimal) = report.learned.automaton() else {
        let [.., cover] = methods(extraction);
        return format!("No automaton: {}.\n", cover.found.err().unwrap_or_default());
    };
    let classes = report.learned.data.split.train.classes.clone();
    let files = report.run.join("automaton");
    let named = NamedAutomaton::new(classes, Partial::from(minimal));
    let table = match named {
        Ok(named) if minimal.state_count() <= MOST_STATES => table(&named),
        _ => format!("too many to list: {}\n", files.join("automaton.json").display()),
    };
    let picture = match files.join("automaton.svg") {
        drawn if drawn.is_file() => format!("picture: {}\n", drawn.display()),
        _ => format!("too large for a picture: {}\n", files.join("automaton.dot").display()),
    };
    let states = plural(minimal.state_count(), "state");
    format!("The automaton of the network, {states}:\n{table}{picture}")
}

/// A longer table would push everything else off the screen.
const MOST_STATES: usize = 40;

/// How often the network is right, on what it was not trained on.
fn network(report: &LearnReport<'_>) -> String {
    let part = |confusion: &Confusion| confusion.accuracy().map_or("–".into(), percent);
    let valid = part(&report.validation());
    let test = report.test().map(|test| format!(", {} of the test set", part(&test)));
    let believed = by_labels_believed(report);
    format!(
        "network: right on {valid} of the validation set{believed}{}\n",
        test.unwrap_or_default()
    )
}

/// Accuracy of the network, agreement of each automaton with it, and whether it is proved.
fn three_numbers(report: &LearnReport<'_>, extraction: &Extraction) -> String {
    let truth = report.learned.data.truth.is_some();
    let alphabet = report.alphabet();
    let mut head = vec!["automaton", "states", "centroids used", "agrees on words", "on the data"];
    head.extend(truth.then_some("is the truth"));
    let mut rows = vec![head.into_iter().map(String::from).collect::<Vec<_>>()];
    rows.extend(methods(extraction).iter().map(|method| row(method, &alphabet, truth)));
    format!(
        "{}{}words: {}\n{}",
        network(report),
        aligned(&rows),
        described(&extraction.words),
        proved(report)
    )
}

/// Whether network and automaton agree on every word.
fn proved(report: &LearnReport<'_>) -> String {
    let Some(verdict) = &report.learned.verdict else { return String::new() };
    let [network, program] = proof::lines(verdict);
    let size = proof::size(verdict).map(|size| format!("  {size}\n")).unwrap_or_default();
    let missing = verdict.not_proved().map(|missing| {
        let [why, remedy] = proof::obstacle(missing, &report.alphabet());
        format!("  {why}\n  try: {remedy}\n")
    });
    let missing = missing.unwrap_or_default();
    format!("equal on every word, of any length?\n  {network}\n  {program}\n{size}{missing}")
}

fn row(method: &MethodResult, alphabet: &Alphabet, truth: bool) -> Vec<String> {
    let judged = match &method.found {
        Err(refusal) => return vec![method.name.into(), format!("none: {refusal}")],
        Ok(judged) => judged,
    };
    let states = match &judged.extracted.minimal {
        Ok(minimal) => minimal.state_count().to_string(),
        Err(_) => format!("{}, incomplete", judged.extracted.automaton.state_count()),
    };
    let used: Vec<String> =
        judged.extracted.used_centroids.layers.iter().map(usize::to_string).collect();
    let mut cells = vec![
        method.name.into(),
        states,
        used.join(" + "),
        agrees(&judged.on_words, alphabet),
        agrees(&judged.on_data, alphabet),
    ];
    cells.extend(truth.then(|| verdict(judged, alphabet)));
    cells
}

fn agrees(agreement: &Agreement, alphabet: &Alphabet) -> String {
    let part = percent(agreement.rate());
    match &agreement.difference {
        Some(word) => format!("{part} (not {})", spelled(alphabet, word)),
        None => part,
    }
}

fn verdict(judged: &EvaluatedAutomaton, alphabet: &Alphabet) -> String {
    match &judged.truth {
        None => "–".into(),
        Some(verdict) => match &verdict.shortest_difference {
            None => "yes".into(),
            Some(word) => format!("no: {}", spelled(alphabet, word)),
        },
    }
}

/// A word within a table: harmless, and not endless.
fn spelled(alphabet: &Alphabet, word: &Word) -> String {
    const LONGEST: usize = 24;
    let text = escape_control(&quoted(alphabet, word));
    match text.chars().count() > LONGEST {
        true => text.chars().take(LONGEST).chain(['…']).collect(),
        false => text,
    }
}

fn described(words: &WordSet) -> String {
    let count = grouped(words.len() as u64);
    match words {
        WordSet::UpTo { longest, .. } => {
            format!("all {count} of at most {}", plural(*longest, "symbol"))
        }
        WordSet::List(_) => count,
    }
}

/// More classes than this make no table that anyone reads; result.json has it.
const MOST_CLASSES: usize = 12;

fn confusion(set: &str, confusion: &Confusion) -> String {
    if confusion.classes.len() > MOST_CLASSES {
        let accuracy = confusion.accuracy().map_or("–".into(), percent);
        return format!("{set} set: {accuracy} right; result.json has the confusion matrix\n");
    }
    let unread = confusion.unreadable.iter().any(|&n| n > 0);
    let names = confusion.classes.iter().map(|name| escape_control(name));
    let head = [format!("{set} set: truth \\ network")].into_iter().chain(names);
    let mut rows = vec![head.chain(unread.then(|| "unreadable".into())).collect::<Vec<_>>()];
    for (truth, counts) in confusion.counts.iter().enumerate() {
        let counts = counts.iter().map(|&n| grouped(n));
        let unreadable = unread.then(|| grouped(confusion.unreadable[truth]));
        let name = escape_control(&confusion.classes[truth]);
        rows.push([name].into_iter().chain(counts).chain(unreadable).collect());
    }
    aligned(&rows)
}
