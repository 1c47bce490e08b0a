//! What is shown of an extraction.

use super::Counted;
use super::way::Way;
use crate::automaton::table;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Saved;
use serde_json::{Value, json};
use srnn::extract::json::NamedAutomaton;
use srnn::extract::{Agreement, CoverStatus, EvaluatedAutomaton, Extraction, KeptCover, WordSet};
use srnn::format::{grouped, percent, plural, quoted};
use srnn_automata::{Alphabet, Partial, UnknownTransition};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Everything there is to show.
pub struct Study<'a> {
    pub saved: &'a Saved,
    pub found: &'a Extraction,
    pub data: &'a Counted,
    pub ways: &'a [Way<'a>],
    /// The files of each way.
    pub files: &'a [Vec<PathBuf>],
}

/// States of an automaton that is shown as a table.
const MOST_STATES: usize = 30;

/// Shows it.
pub fn report(study: &Study<'_>, output: &Output) -> Result<(), Failure> {
    if study.data.unreadable > 0 {
        let count = plural(study.data.unreadable, "sequence");
        output.note(format!("warning: not read for tokens that the model does not know: {count}"));
    }
    let mut text = String::new();
    let mut values = Vec::new();
    for (way, files) in study.ways.iter().zip(study.files) {
        text.push_str(&lines(way, files, study.data.given));
        values.push(value(way, files, study.data.given));
    }
    let first = study.ways.first().and_then(|way| way.judged.as_ref().ok());
    text.extend(first.and_then(|judged| small_table(study.saved, judged)));
    output.result(text, &summary(study, values))
}

fn summary(study: &Study<'_>, ways: Vec<Value>) -> Value {
    let longest = match study.found.words {
        WordSet::UpTo { longest, .. } => Some(longest),
        WordSet::List(_) => None,
    };
    json!({
        "model": study.saved.folder.display().to_string(),
        "words": { "count": study.found.words.len(), "longest": longest },
        "data": study.data.given.then(|| {
            json!({ "words": study.data.words.len(), "unreadable": study.data.unreadable })
        }),
        "ways": ways,
    })
}

fn lines(way: &Way<'_>, files: &[PathBuf], on_data: bool) -> String {
    let name = way.name();
    let judged = match &way.judged {
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
        " ({} before minimising, {} of centroids used){}",
        extracted.automaton.state_count(),
        plural(extracted.used_centroids.tuples, "tuple"),
        way.kept.map_or(String::new(), |kept| format!(", {}", standing(kept)))
    );
    let alphabet = extracted.automaton.alphabet();
    let _ = writeln!(text, "  on all short words: {}", agreement(&judged.on_words, alphabet));
    if on_data {
        let _ = writeln!(text, "  on the data: {}", agreement(&judged.on_data, alphabet));
    }
    if !way.ties.is_empty() {
        let ties = plural(way.ties.len(), "transition");
        let _ = writeln!(text, "  chosen among equally frequent ones: {ties}");
    }
    for file in files {
        let _ = writeln!(text, "  wrote {}", file.display());
    }
    text
}

fn agreement(agreement: &Agreement, alphabet: &Alphabet) -> String {
    let all = agreement.words();
    let (equal, all) = (grouped(agreement.equal as u64), grouped(all as u64));
    let part = percent(agreement.rate());
    let mut text = format!("agrees with the network on {equal} of {all} ({part})");
    if agreement.unknown > 0 {
        let _ = write!(text, ", unknown transitions on {}", grouped(agreement.unknown as u64));
    }
    if let Some(word) = &agreement.difference {
        let _ = write!(text, ", not on {}", quoted(alphabet, word));
    }
    text
}

fn standing(kept: &KeptCover) -> String {
    let tolerance = kept.cover.tolerance;
    match kept.status {
        CoverStatus::Confirmed { finer } => {
            format!("tolerance {tolerance}, confirmed by tolerance {finer}")
        }
        CoverStatus::Unconfirmed => format!("tolerance {tolerance}, confirmed by no finer one"),
        CoverStatus::Disagrees => {
            format!("tolerance {tolerance}, and it disagrees with the network")
        }
    }
}

fn small_table(saved: &Saved, judged: &EvaluatedAutomaton) -> Option<String> {
    let minimal = judged.extracted.minimal.as_ref().ok()?;
    let named = NamedAutomaton::new(saved.file.classes.clone(), Partial::from(minimal)).ok()?;
    (minimal.state_count() <= MOST_STATES).then(|| table(&named))
}

fn value(way: &Way<'_>, files: &[PathBuf], on_data: bool) -> Value {
    let judged = way.judged.as_ref().ok();
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    json!({
        "method": way.name(),
        "refused": way.judged.as_ref().err(),
        "states": judged.map(|j| j.extracted.automaton.state_count()),
        "minimal_states": judged.and_then(|j| j.extracted.minimal.as_ref().ok()).map(|m| m.state_count()),
        "used_centroids": judged.map(|j| &j.extracted.used_centroids.layers),
        "unknown_pairs": judged.map(|j| unknown(&j.extracted.automaton)),
        "ties": way.ties.len(),
        "tolerance": way.kept.map(|kept| kept.cover.tolerance),
        "standing": way.kept.map(|kept| match kept.status {
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
