//! The result of learning as text.

use super::LearnReport;
use super::candidates;
use super::labels::{accuracy_on_corrected, contradicted_text, correction_text};
use super::methods::{MethodResult, methods};
use super::notes::{majority_warning, notes};
use super::proof;
use super::support;
use crate::extract::json::NamedAutomaton;
use crate::extract::{Agreement, EvaluatedAutomaton, ExtractError, Extraction, WordSet};
use crate::format::{aligned, grouped, percent, plural, quoted};
use crate::learn::{KeptModel, LabelVerdict, Round};
use crate::notation::table;
use crate::render::transition_table::escape_control;
use crate::task::Confusion;
use crate::train::SeedOutcome;
use srnn_automata::{Alphabet, Moore, Partial, Word};

/// The text report of `learn`.
pub(super) fn text(report: &LearnReport<'_>) -> String {
    let mut parts: Vec<String> = correction_text(report).into_iter().collect();
    parts.extend(candidates::text(report));
    parts.extend(majority_warning(report).map(|warning| format!("warning: {warning}\n")));
    if report.learned.model == KeptModel::Network {
        parts.push(seed_table(report));
    }
    match &report.learned.extraction {
        Err(ExtractError::NotTrained) => {
            parts.extend(report.learned.automaton().map(|found| automaton_text(report, found)));
            parts.extend(contradicted_text(report));
            parts.push(format!("{}{}", accuracy_line(report), proof_status(report)));
        }
        Err(_) if report.learned.comparison.is_some() => parts.push(accuracy_line(report)),
        Err(refusal) => {
            parts.push(format!("No automaton: {refusal} (--arch sr-gru).\n"));
            parts.push(accuracy_line(report));
        }
        Ok(extraction) => {
            parts.push(automaton(report, extraction));
            parts.push(evaluation(report, extraction));
        }
    }
    let notes = notes(report);
    if !notes.is_empty() {
        parts.push(notes.iter().map(|line| format!("note: {line}\n")).collect());
    }
    parts.push(confusion("validation", &report.validation()));
    parts.extend(report.test().map(|test| confusion("test", &test)));
    parts.extend(candidates::conclusion(report));
    parts.push(format!("All files are in {}", report.run.display()));
    parts.join("\n")
}

fn seed_table(report: &LearnReport<'_>) -> String {
    let [train, valid] = match report.learned.label_verdict {
        LabelVerdict::Corrected(_) => ["train (corrected labels)", "valid (corrected labels)"],
        LabelVerdict::Trusted | LabelVerdict::NotCorrected(_) => ["train", "valid"],
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
    let (seed, ended) = (report.learned.kept().seed, ended_early(report));
    format!("{}selected: seed {seed} ({reason})\n{ended}", aligned(&rows))
}

/// What was not trained because a network fits all labels and is proved; empty if all was.
fn ended_early(report: &LearnReport<'_>) -> String {
    let learned = report.learned;
    let short = learned.round == Round::Short;
    let others: Vec<String> = learned.untrained.iter().map(u64::to_string).collect();
    match (short, others.is_empty()) {
        (false, true) => String::new(),
        (true, _) => "The short training is sufficient: a network fits all labels and is proved \
                      (--short-updates 0 trains all seeds in full).\n"
            .into(),
        (false, false) => {
            format!(
                "Not trained: {}, since a network fits all labels and is proved.\n",
                plural_seeds(&others)
            )
        }
    }
}

fn plural_seeds(seeds: &[String]) -> String {
    format!("{} {}", if seeds.len() == 1 { "seed" } else { "seeds" }, seeds.join(", "))
}

fn quality(outcome: &SeedOutcome<f32>) -> String {
    match outcome.quality {
        None => "–".into(),
        Some(quality) if quality.closed => {
            let proved = if quality.certified.is_some() { ", certified" } else { "" };
            let (states, agrees) = (plural(quality.states, "state"), percent(quality.agreement));
            format!("{states}, agrees {agrees}{proved}")
        }
        Some(_) => "cover not closed".into(),
    }
}

fn automaton(report: &LearnReport<'_>, extraction: &Extraction) -> String {
    let Some(minimal) = report.learned.automaton() else {
        let [.., cover] = methods(extraction);
        return format!("No automaton: {}.\n", cover.automaton.err().unwrap_or_default());
    };
    automaton_text(report, minimal)
}

fn automaton_text(report: &LearnReport<'_>, minimal: &Moore<u32>) -> String {
    let files = report.run.join("automaton");
    let table = automaton_table(report, minimal).unwrap_or_else(|| {
        format!("too many states to list: {}\n", files.join("automaton.json").display())
    });
    let picture = match files.join("automaton.svg") {
        drawn if drawn.is_file() => format!("picture: {}\n", drawn.display()),
        _ => format!("too large for a picture: {}\n", files.join("automaton.dot").display()),
    };
    let states = plural(minimal.state_count(), "state");
    let origin = match report.learned.model {
        KeptModel::Compiled { .. } => "Automaton of state merging, written into a network",
        KeptModel::Network | KeptModel::Ngrams(_) => "Extracted automaton",
    };
    format!("{origin}, {states}:\n{table}{picture}")
}

/// The transition table; `None` if it is too large. If the data come from a file, it shows how they
/// support the automaton.
fn automaton_table(report: &LearnReport<'_>, minimal: &Moore<u32>) -> Option<String> {
    let data = report.learned.data;
    let classes = data.split.train.classes.clone();
    let named = NamedAutomaton::new(classes, Partial::from(minimal)).ok()?;
    let listed = minimal.state_count() <= MAX_LISTED_STATES;
    listed.then(|| match data.truth {
        Some(_) => table(&named),
        None => support::text(&named, &support::support(minimal, &data.split.train)),
    })
}

/// Larger automata are not listed: the table would push the rest of the report off the screen.
const MAX_LISTED_STATES: usize = 40;

/// The kind of the kept model.
fn kept_model(report: &LearnReport<'_>) -> &'static str {
    match report.learned.model {
        KeptModel::Network | KeptModel::Compiled { .. } => "network",
        KeptModel::Ngrams(_) => "n-grams",
    }
}

/// Accuracy of the kept model on held-out data.
fn accuracy_line(report: &LearnReport<'_>) -> String {
    let part = |confusion: &Confusion| confusion.accuracy().map_or("–".into(), percent);
    let valid = part(&report.validation());
    let test = report.test().map(|test| format!(", {} on the test set", part(&test)));
    let corrected = accuracy_on_corrected(report)
        .map(|accuracy| format!(" as given ({} with corrected labels)", percent(accuracy)));
    format!(
        "{}: {valid} accuracy on the validation set{}{}\n",
        kept_model(report),
        corrected.unwrap_or_default(),
        test.unwrap_or_default()
    )
}

/// Accuracy of the network, agreement of each automaton with it, and whether equality is proved.
fn evaluation(report: &LearnReport<'_>, extraction: &Extraction) -> String {
    let truth = report.learned.data.truth.is_some();
    let alphabet = report.alphabet();
    let mut head =
        vec!["extraction method", "states", "centroids used", "agrees on words", "on the data"];
    head.extend(truth.then_some("equals the truth"));
    let mut rows = vec![head.into_iter().map(String::from).collect::<Vec<_>>()];
    rows.extend(methods(extraction).iter().map(|method| method_row(method, &alphabet, truth)));
    format!(
        "{}{}words: {}\n{}",
        accuracy_line(report),
        aligned(&rows),
        describe_words(&extraction.words),
        proof_status(report)
    )
}

/// Whether network and automaton are proved to agree on every word.
fn proof_status(report: &LearnReport<'_>) -> String {
    let Some(verdict) = &report.learned.verdict else { return unproved(report) };
    let [network, program] = proof::status_lines(verdict);
    let size = proof::size_line(verdict).map(|size| format!("  {size}\n")).unwrap_or_default();
    let obstacle = verdict.not_proved().map(|not_proved| {
        let [why, remedy] = proof::obstacle(not_proved, &report.alphabet());
        format!("  {why}\n  try: {remedy}\n")
    });
    let obstacle = obstacle.unwrap_or_default();
    format!(
        "proof that network and automaton are equal on every word, of any length:\n  {network}\n  \
         {program}\n{size}{obstacle}"
    )
}

/// Where a network is too large for a quick proof.
fn unproved(report: &LearnReport<'_>) -> String {
    match report.learned.model {
        KeptModel::Compiled { .. } => format!(
            "proof that network and automaton are equal on every word: not tried, the network is \
             large\n  try: srnn certify {}\n",
            report.run.display()
        ),
        KeptModel::Network | KeptModel::Ngrams(_) => String::new(),
    }
}

fn method_row(method: &MethodResult, alphabet: &Alphabet, truth: bool) -> Vec<String> {
    let evaluated = match &method.automaton {
        Err(refusal) => return vec![method.name.into(), format!("none: {refusal}")],
        Ok(evaluated) => evaluated,
    };
    let states = match &evaluated.extracted.minimal {
        Ok(minimal) => minimal.state_count().to_string(),
        Err(_) => format!("{}, incomplete", evaluated.extracted.automaton.state_count()),
    };
    let used: Vec<String> =
        evaluated.extracted.used_centroids.layers.iter().map(usize::to_string).collect();
    let mut cells = vec![
        method.name.into(),
        states,
        used.join(" + "),
        agrees(&evaluated.on_words, alphabet),
        agrees(&evaluated.on_data, alphabet),
    ];
    cells.extend(truth.then(|| comparison_with_truth(evaluated, alphabet)));
    cells
}

fn agrees(agreement: &Agreement, alphabet: &Alphabet) -> String {
    let part = percent(agreement.rate());
    match &agreement.difference {
        Some(word) => format!("{part} (not on {})", table_word(alphabet, word)),
        None => part,
    }
}

fn comparison_with_truth(evaluated: &EvaluatedAutomaton, alphabet: &Alphabet) -> String {
    match &evaluated.truth {
        None => "–".into(),
        Some(verdict) => match &verdict.shortest_difference {
            None => "yes".into(),
            Some(word) => format!("no: {}", table_word(alphabet, word)),
        },
    }
}

/// A word for a table cell: control characters escaped, shortened if long.
fn table_word(alphabet: &Alphabet, word: &Word) -> String {
    const MAX_CHARS: usize = 24;
    let text = escape_control(&quoted(alphabet, word));
    match text.chars().count() > MAX_CHARS {
        true => text.chars().take(MAX_CHARS).chain(['…']).collect(),
        false => text,
    }
}

fn describe_words(words: &WordSet) -> String {
    let count = grouped(words.len() as u64);
    match words {
        WordSet::UpTo { longest, .. } => {
            format!("all {count} of at most {}", plural(*longest, "symbol"))
        }
        WordSet::List(_) => count,
    }
}

/// A confusion matrix with more classes is not printed; result.json has it.
const MAX_CLASSES: usize = 12;

fn confusion(set: &str, confusion: &Confusion) -> String {
    if confusion.classes.len() > MAX_CLASSES {
        let accuracy = confusion.accuracy().map_or("–".into(), percent);
        return format!("{set} set: {accuracy} accuracy; result.json has the confusion matrix\n");
    }
    let has_unreadable = confusion.unreadable.iter().any(|&n| n > 0);
    let names = confusion.classes.iter().map(|name| escape_control(name));
    let head = [format!("{set} set: truth \\ predicted")].into_iter().chain(names);
    let mut rows =
        vec![head.chain(has_unreadable.then(|| "unreadable".into())).collect::<Vec<_>>()];
    for (truth, counts) in confusion.counts.iter().enumerate() {
        let counts = counts.iter().map(|&n| grouped(n));
        let unreadable = has_unreadable.then(|| grouped(confusion.unreadable[truth]));
        let name = escape_control(&confusion.classes[truth]);
        rows.push([name].into_iter().chain(counts).chain(unreadable).collect());
    }
    aligned(&rows)
}
