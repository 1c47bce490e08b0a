//! The output of `extract`.

use super::ExtractionData;
use super::method::MethodOutput;
use crate::automaton::table;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::SavedModel;
use serde_json::{Value, json};
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{Agreement, CoverStatus, EvaluatedAutomaton, Extraction, KeptCover, WordSet};
use srnn::format::{grouped, percent, plural, quoted};
use srnn_automata::{Alphabet, Partial, UnknownTransition};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The results to print.
pub struct ExtractionReport<'a> {
    pub saved: &'a SavedModel,
    pub found: &'a Extraction,
    pub data: &'a ExtractionData,
    pub outputs: &'a [MethodOutput<'a>],
    /// The files of each method.
    pub files: &'a [Vec<PathBuf>],
}

/// Maximum states of an automaton that is printed as a table.
const MAX_TABLE_STATES: usize = 30;

/// Prints the results.
pub fn report(results: &ExtractionReport<'_>, output: &Output) -> Result<(), Failure> {
    if results.data.unreadable > 0 {
        let count = plural(results.data.unreadable, "sequence");
        output.note(format!("warning: left out for tokens that the model does not know: {count}"));
    }
    let mut text = String::new();
    let mut values = Vec::new();
    for (method, files) in results.outputs.iter().zip(results.files) {
        text.push_str(&lines(method, files, results.data.given));
        values.push(value(method, files, results.data.given));
    }
    let first = results.outputs.first().and_then(|first| first.judged.as_ref().ok());
    text.extend(first.and_then(|judged| small_table(results.saved, judged)));
    output.result(text, &summary(results, values))
}

fn summary(results: &ExtractionReport<'_>, methods: Vec<Value>) -> Value {
    let longest = match results.found.words {
        WordSet::UpTo { longest, .. } => Some(longest),
        WordSet::List(_) => None,
    };
    json!({
        "model": results.saved.folder.display().to_string(),
        "words": { "count": results.found.words.len(), "longest": longest },
        "data": results.data.given.then(|| {
            json!({ "words": results.data.words.len(), "unreadable": results.data.unreadable })
        }),
        "ways": methods,
    })
}

fn lines(method: &MethodOutput<'_>, files: &[PathBuf], on_data: bool) -> String {
    let name = method.name();
    let judged = match &method.judged {
        Ok(judged) => judged,
        Err(reason) => return format!("{name}: no automaton: {reason}\n"),
    };
    let extracted = &judged.extracted;
    let mut text = match &extracted.minimal {
        Ok(minimal) => format!("{name}: {}", plural(minimal.state_count(), "state")),
        Err(incomplete) => format!("{name}: not complete: {incomplete};"),
    };
    let _ = writeln!(
        text,
        " ({} before minimisation, {} of centroids used){}",
        extracted.automaton.state_count(),
        plural(extracted.used_centroids.tuples, "tuple"),
        method.kept.map_or(String::new(), |kept| format!(", {}", cover_status(kept)))
    );
    let alphabet = extracted.automaton.alphabet();
    let _ = writeln!(text, "  on all short words: {}", agreement(&judged.on_words, alphabet));
    if on_data {
        let _ = writeln!(text, "  on the data: {}", agreement(&judged.on_data, alphabet));
    }
    if !method.ties.is_empty() {
        let ties = plural(method.ties.len(), "transition");
        let _ = writeln!(text, "  chosen among equally frequent targets: {ties}");
    }
    for file in files {
        let _ = writeln!(text, "  wrote {}", file.display());
    }
    text
}

fn agreement(agreement: &Agreement, alphabet: &Alphabet) -> String {
    let all = agreement.words();
    let (equal, all) = (grouped(agreement.equal as u64), grouped(all as u64));
    let fraction = percent(agreement.rate());
    let mut text = format!("agrees with the network on {equal} of {all} ({fraction})");
    if agreement.unknown > 0 {
        let _ = write!(text, ", unknown transitions on {}", grouped(agreement.unknown as u64));
    }
    if let Some(word) = &agreement.difference {
        let _ = write!(text, ", differs on {}", quoted(alphabet, word));
    }
    text
}

fn cover_status(kept: &KeptCover) -> String {
    let tolerance = kept.cover.tolerance;
    match kept.status {
        CoverStatus::Confirmed { finer } => {
            format!("tolerance {tolerance}, confirmed by tolerance {finer}")
        }
        CoverStatus::Unconfirmed => format!("tolerance {tolerance}, not confirmed by a finer one"),
        CoverStatus::Disagrees => format!("tolerance {tolerance}, differs from the network"),
    }
}

fn small_table(saved: &SavedModel, judged: &EvaluatedAutomaton) -> Option<String> {
    let minimal = judged.extracted.minimal.as_ref().ok()?;
    let named = NamedAutomaton::new(saved.file.classes.clone(), Partial::from(minimal)).ok()?;
    (minimal.state_count() <= MAX_TABLE_STATES).then(|| table(&named))
}

fn value(method: &MethodOutput<'_>, files: &[PathBuf], on_data: bool) -> Value {
    let judged = method.judged.as_ref().ok();
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    json!({
        "method": method.name(),
        "refused": method.judged.as_ref().err(),
        "states": judged.map(|j| j.extracted.automaton.state_count()),
        "minimal_states": judged.and_then(|j| j.extracted.minimal.as_ref().ok()).map(|m| m.state_count()),
        "used_centroids": judged.map(|j| &j.extracted.used_centroids.layers),
        "unknown_pairs": judged.map(|j| unknown(&j.extracted.automaton)),
        "ties": method.ties.len(),
        "tolerance": method.kept.map(|kept| kept.cover.tolerance),
        "standing": method.kept.map(|kept| match kept.status {
            CoverStatus::Confirmed { .. } => "confirmed",
            CoverStatus::Unconfirmed => "unconfirmed",
            CoverStatus::Disagrees => "disagrees",
        }),
        "agreement": judged.map(|j| counts(&j.on_words, &j.extracted.automaton)),
        "agreement_on_data": judged.filter(|_| on_data).map(|j| counts(&j.on_data, &j.extracted.automaton)),
        "files": files,
    })
}

fn unknown(automaton: &Partial<u32>) -> Vec<Value> {
    let pair = |UnknownTransition { state, symbol }: UnknownTransition| json!({ "state": state.0, "symbol": automaton.alphabet().name(symbol) });
    automaton.unknown().into_iter().map(pair).collect()
}

fn counts(agreement: &Agreement, automaton: &Partial<u32>) -> Value {
    let names = |word: &srnn_automata::Word| -> Vec<String> {
        word.iter().map(|&symbol| automaton.alphabet().name(symbol).to_string()).collect()
    };
    json!({
        "compared": agreement.compared,
        "equal": agreement.equal,
        "unknown": agreement.unknown,
        "unanswered": agreement.unanswered,
        "part": agreement.rate(),
        "difference": agreement.difference.as_ref().map(names),
    })
}
