//! The output of `repair`.

use crate::automaton::table;
use crate::failure::Failure;
use crate::output::Output;
use crate::verbs::merge::SetFit;
use serde_json::{Value, json};
use srnn::extract::json::NamedAutomaton;
use srnn::format::{percent, plural};
use srnn::render::transition_table::escape_control;
use srnn_automata::merging::{AutomatonChange, Repaired};
use srnn_automata::{Moore, Partial, Word};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The result to print.
pub struct RepairReport<'a> {
    pub given: &'a Moore<u32>,
    pub repaired: &'a Repaired,
    pub classes: &'a [String],
    pub fits: Vec<SetFit>,
    /// Whether labels were taken as given.
    pub trusted: bool,
    /// The data as JSON.
    pub record: Value,
    /// A shortest word that both automata classify differently.
    pub difference: Option<Word>,
    pub seconds: f64,
    pub written: Vec<PathBuf>,
}

/// Largest number of states of an automaton that is printed as a table.
const MAX_TABLE_STATES: usize = 30;

impl RepairReport<'_> {
    /// Whether the automaton contradicts most labels, although it was changed.
    pub fn is_contradicted(&self) -> bool {
        2 * self.repaired.errors > self.repaired.labels
    }

    /// Whether it contradicts labels that are trusted.
    pub fn is_stuck(&self) -> bool {
        self.trusted && self.repaired.errors > 0
    }
}

/// Prints what was changed, and how the automaton fits the data.
pub fn print(report: &RepairReport, output: &Output) -> Result<(), Failure> {
    output.result(text(report)?, &value(report))
}

fn text(report: &RepairReport) -> Result<String, Failure> {
    let repaired = report.repaired;
    let labels = plural(repaired.labels, "training label");
    let mut text = match repaired.changes.len() {
        0 => format!("not changed: {} of {labels} contradicted\n", repaired.errors),
        n => format!(
            "{}: {} of {labels} contradicted, {} before\n",
            plural(n, "change"),
            repaired.errors,
            repaired.errors_before
        ),
    };
    for change in &repaired.changes {
        let _ = writeln!(text, "  {}", change_text(report, change));
    }
    for fit in &report.fits {
        let share = percent(fit.right as f64 / fit.sequences as f64);
        let _ =
            writeln!(text, "  {}: {} of {} right ({share})", fit.name, fit.right, fit.sequences);
    }
    if let Some(word) = &report.difference {
        let [before, now] = [report.given, &repaired.automaton]
            .map(|automaton| class(report, *automaton.output_of(word)));
        let word = word_text(report, word);
        let _ = writeln!(text, "  shortest difference: {word} is {now}, {before} before");
    }
    text.push_str(&advice(report));
    let _ = writeln!(text, "  search: {:.2} s", report.seconds);
    if repaired.automaton.state_count() <= MAX_TABLE_STATES {
        let automaton = Partial::from(&repaired.automaton);
        text.push_str(&table(&NamedAutomaton::new(report.classes.to_vec(), automaton)?));
    }
    for path in &report.written {
        let _ = writeln!(text, "wrote {}", path.display());
    }
    Ok(text)
}

/// What the result does not rest on, and what to try.
fn advice(report: &RepairReport) -> String {
    let mut text = String::new();
    let taken = &report.repaired.words_taking;
    let unseen = taken.iter().filter(|&&count| count == 0).count();
    if unseen > 0 {
        let all = plural(taken.len(), "transition");
        let _ = writeln!(text, "  no sequence shows {unseen} of {all}: they stay as they were");
    }
    if report.is_contradicted() {
        text.push_str(
            "  most labels are contradicted: are the classes exchanged? `srnn merge` finds an \
             automaton without a given one\n",
        );
    } else if report.is_stuck() {
        text.push_str(
            "  labels are left that no single change explains: equal sequences may have different \
             labels, or the automaton is far from the data; try `srnn merge`\n",
        );
    }
    text
}

fn change_text(report: &RepairReport, change: &AutomatonChange) -> String {
    match *change {
        AutomatonChange::Target { state, symbol, before, now } => {
            let symbols = report.given.alphabet();
            let slot = state.0 as usize * symbols.len() + symbol.0 as usize;
            format!(
                "state {} with {} leads to {}, not to {}; {} show it",
                state.0,
                escape_control(symbols.name(symbol)),
                now.0,
                before.0,
                plural(report.repaired.words_taking[slot], "step")
            )
        }
        AutomatonChange::Class { state, before, now } => format!(
            "state {} is {}, not {}; {} there",
            state.0,
            class(report, now),
            class(report, before),
            match report.repaired.words_ending[state.0 as usize] {
                1 => "1 sequence ends".into(),
                n => format!("{n} sequences end"),
            }
        ),
        AutomatonChange::Added { state } => format!("state {} is added", state.0),
    }
}

fn class(report: &RepairReport, class: u32) -> String {
    escape_control(&report.classes[class as usize])
}

fn word_text(report: &RepairReport, word: &Word) -> String {
    let names = word.iter().map(|&symbol| escape_control(report.given.alphabet().name(symbol)));
    match word.is_empty() {
        true => "the empty sequence".into(),
        false => format!("`{}`", names.collect::<Vec<_>>().join(" ")),
    }
}

fn value(report: &RepairReport) -> Value {
    let RepairReport { repaired, classes, .. } = report;
    let symbols = report.given.alphabet();
    let changes = repaired.changes.iter().map(|change| match *change {
        AutomatonChange::Target { state, symbol, before, now } => json!({
            "state": state.0, "symbol": symbols.name(symbol), "before": before.0, "now": now.0,
        }),
        AutomatonChange::Class { state, before, now } => json!({
            "state": state.0, "class_before": classes[before as usize], "class": classes[now as usize],
        }),
        AutomatonChange::Added { state } => json!({ "added": state.0 }),
    });
    let fits = report.fits.iter().map(|fit| {
        let sets = json!({ "right": fit.right, "sequences": fit.sequences });
        (fit.name.to_string(), sets)
    });
    let automaton = &repaired.automaton;
    let row = |state| automaton.successors(state).iter().map(|to| to.0).collect::<Vec<u32>>();
    let word = |word: &Word| word.iter().map(|&s| symbols.name(s)).collect::<Vec<&str>>();
    json!({
        "changed": !repaired.changes.is_empty(),
        "changes": changes.collect::<Vec<Value>>(),
        "errors_before": repaired.errors_before,
        "errors": repaired.errors,
        "labels": repaired.labels,
        "fit": fits.collect::<serde_json::Map<String, Value>>(),
        "difference": report.difference.as_ref().map(word),
        "states": automaton.state_count(),
        "start": automaton.start().0,
        "symbols": symbols.names(),
        "classes": classes,
        "outputs": automaton.outputs(),
        "transitions": automaton.states().map(row).collect::<Vec<_>>(),
        "words_ending": repaired.words_ending,
        "words_taking": repaired.words_taking,
        "seconds": report.seconds,
        "data": report.record,
        "files": report.written.iter().map(|p| p.display().to_string()).collect::<Vec<String>>(),
    })
}
