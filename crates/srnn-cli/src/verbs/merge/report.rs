//! The output of `merge`.

use crate::automaton::table;
use crate::failure::Failure;
use crate::output::Output;
use serde_json::{Value, json};
use srnn::extract::json::NamedAutomaton;
use srnn::format::{percent, plural};
use srnn::learn::LearnData;
use srnn::render::transition_table::escape_control;
use srnn_automata::merging::{MergeMethod, MergeOrder, Merged};
use srnn_automata::{Partial, UnknownTransition};
use std::fmt::Write as _;
use std::path::PathBuf;

/// How many sequences of a set the automaton classifies as labelled.
pub struct SetFit {
    pub name: &'static str,
    pub right: usize,
    pub sequences: usize,
}

/// The result to print.
pub struct MergeReport<'a> {
    pub merged: &'a Merged,
    pub data: &'a LearnData,
    /// The data as JSON.
    pub record: Value,
    pub fits: Vec<SetFit>,
    /// Whether labels were taken as given.
    pub trusted: bool,
    pub seconds: f64,
    pub written: Vec<PathBuf>,
}

/// Maximum states of an automaton that is printed as a table.
const MAX_TABLE_STATES: usize = 30;

/// Unseen transitions that are listed.
const MAX_UNSEEN: usize = 5;

impl MergeReport<'_> {
    /// Whether the automaton says more than a list of the labels.
    pub fn is_found(&self) -> bool {
        match self.trusted {
            true => self.merged.errors == 0,
            false => self.merged.bits < self.merged.baseline_bits,
        }
    }
}

/// Prints the automaton, how it fits the data, and what it rests on.
pub fn print(report: &MergeReport, output: &Output) -> Result<(), Failure> {
    output.result(text(report)?, &value(report))
}

fn text(report: &MergeReport) -> Result<String, Failure> {
    let merged = report.merged;
    let alphabet = merged.automaton.alphabet();
    let (states, symbols) = (merged.automaton.state_count(), alphabet.len());
    let mut text = format!(
        "merged: {} over {}, {} of {} contradicted\n",
        plural(states, "state"),
        plural(symbols, "symbol"),
        merged.errors,
        plural(merged.labels, "training label"),
    );
    for fit in &report.fits {
        let share = percent(fit.right as f64 / fit.sequences as f64);
        let _ =
            writeln!(text, "  {}: {} of {} right ({share})", fit.name, fit.right, fit.sequences);
    }
    let _ = writeln!(
        text,
        "  description length: {:.1} bits; without an automaton: {:.1} bits",
        merged.bits, merged.baseline_bits
    );
    let found = plural(merged.candidates, "automaton");
    let found = found.replace("automatons", "automata");
    let method = method_name(merged.method);
    let _ = writeln!(text, "  search: {method}; {found} compared; {:.2} s", report.seconds);
    text.push_str(&unseen_line(&merged.unseen, report));
    if !report.is_found() {
        text.push_str(match report.trusted {
            true => "  no automaton fits all labels: equal sequences have different labels\n",
            false => "  this is no finding: it is not shorter than a list of the labels\n",
        });
    }
    if states <= MAX_TABLE_STATES {
        let automaton = Partial::from(&merged.automaton);
        let classes = report.data.split.train.classes.clone();
        text.push_str(&table(&NamedAutomaton::new(classes, automaton)?));
    }
    for path in &report.written {
        let _ = writeln!(text, "wrote {}", path.display());
    }
    Ok(text)
}

fn unseen_line(unseen: &[UnknownTransition], report: &MergeReport) -> String {
    if unseen.is_empty() {
        return String::new();
    }
    let alphabet = report.merged.automaton.alphabet();
    let name = |t: &UnknownTransition| {
        format!("state {} with {}", t.state.0, escape_control(alphabet.name(t.symbol)))
    };
    let names: Vec<String> = unseen.iter().take(MAX_UNSEEN).map(name).collect();
    let more = if unseen.len() > MAX_UNSEEN { ", …" } else { "" };
    format!(
        "  no sequence shows {}, so the target is a guess: {}{more}\n",
        plural(unseen.len(), "transition"),
        names.join(", ")
    )
}

fn method_name(method: MergeMethod) -> String {
    match method {
        MergeMethod::RedBlue { order } => format!("red-blue merging by {}", order_name(order)),
        MergeMethod::Beam { width } => format!("beam of width {width}"),
        MergeMethod::MostFrequentClass => "most frequent class".into(),
    }
}

fn order_name(order: MergeOrder) -> &'static str {
    match order {
        MergeOrder::Evidence => "evidence",
        MergeOrder::Lead => "lead",
        MergeOrder::Traffic => "traffic",
        MergeOrder::Shortlex => "word order",
    }
}

fn value(report: &MergeReport) -> Value {
    let merged = report.merged;
    let alphabet = merged.automaton.alphabet();
    let fits = report.fits.iter().map(|fit| {
        let sets = json!({ "right": fit.right, "sequences": fit.sequences });
        (fit.name.to_string(), sets)
    });
    let unseen = merged.unseen.iter();
    let unseen = unseen.map(|t| json!({ "state": t.state.0, "symbol": alphabet.name(t.symbol) }));
    json!({
        "found": report.is_found(),
        "states": merged.automaton.state_count(),
        "symbols": alphabet.names(),
        "classes": report.data.split.train.classes,
        "errors": merged.errors,
        "labels": merged.labels,
        "bits": merged.bits,
        "baseline_bits": merged.baseline_bits,
        "fit": fits.collect::<serde_json::Map<String, Value>>(),
        "outputs": merged.automaton.outputs(),
        "transitions": transitions(report),
        "words_ending": merged.words_ending,
        "words_taking": merged.words_taking,
        "unseen": unseen.collect::<Vec<Value>>(),
        "search": method_name(merged.method),
        "candidates": merged.candidates,
        "steps": merged.steps,
        "seconds": report.seconds,
        "data": report.record,
        "files": report.written.iter().map(|p| p.display().to_string()).collect::<Vec<String>>(),
    })
}

/// The target of every state and symbol.
fn transitions(report: &MergeReport) -> Vec<Vec<u32>> {
    let automaton = &report.merged.automaton;
    let row = |state| automaton.successors(state).iter().map(|to| to.0).collect();
    automaton.states().map(row).collect()
}
