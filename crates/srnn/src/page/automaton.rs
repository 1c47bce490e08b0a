//! The automaton: its picture and its transition table.

use super::html::{Open, TableLine, details, fitting, name, paragraph, table};
use super::picture;
use super::run_files::RunFiles;
use super::values::{count, items};
use crate::extract::json::NamedAutomaton;
use crate::format::plural;
use crate::notation::find_accepting_class;
use serde_json::Value;
use srnn_automata::State;
use std::collections::BTreeMap;

/// With more symbols, the table has a row for each state and successor instead of a column for each
/// symbol.
const MAX_COLUMNS: usize = 10;
/// A longer table starts closed.
const MAX_OPEN_ROWS: usize = 16;
/// Symbols of one cell that are listed.
const MAX_SYMBOLS: usize = 200;

/// Picture and table, with the panel to try a word between them.
pub(super) fn body(files: &RunFiles, panel: &str) -> String {
    let Some(automaton) = &files.automaton else { return missing(files) };
    let table = table_part(automaton, &files.examples);
    format!("{}{panel}{table}", picture_part(automaton))
}

fn missing(files: &RunFiles) -> String {
    match files.result["no_automaton"].as_str() {
        Some(why) => paragraph(&format!("There is none: {}.", super::escape::html_text(why))),
        None => paragraph("No automaton is kept."),
    }
}

fn picture_part(automaton: &NamedAutomaton) -> String {
    let Some(svg) = picture::svg(automaton) else {
        let states = plural(automaton.automaton().state_count(), "state");
        let too_large =
            format!("With {states} and its edges, the automaton is too large for a picture here.");
        return paragraph(&too_large);
    };
    let reading = match find_accepting_class(automaton.classes()) {
        Some(accepting) if (accepting as usize) < automaton.classes().len() => format!(
            "A double circle marks the states of the class {}.",
            name(&automaton.classes()[accepting as usize])
        ),
        _ => "Each circle shows its number and the class of the words that end there.".into(),
    };
    format!(
        "<figure class=\"picture\" id=\"picture\"><div class=\"wide\" tabindex=\"0\" \
         role=\"region\" aria-label=\"Picture of the automaton\">{svg}</div>\n\
         <figcaption>A word starts at the arrow and follows one edge per symbol. {reading} The table \
         below has the same transitions.</figcaption></figure>\n"
    )
}

fn table_part(automaton: &NamedAutomaton, examples: &Value) -> String {
    let taken = &examples["automaton"]["taken"];
    let (head, rows) = match automaton.automaton().alphabet().len() <= MAX_COLUMNS {
        true => by_symbol(automaton, taken),
        false => by_target(automaton, taken),
    };
    let count = rows.len();
    let (shown, left_out) = fitting(rows);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut body = table("Transitions", &head, &shown);
    if left_out > 0 {
        body += &paragraph(&format!(
            "{} more are not shown; <code>automaton/automaton.json</code> has all.",
            plural(left_out, "row")
        ));
    }
    if body.contains("class=\"guess\"") {
        body += &paragraph(
            "In <span class=\"guess\">(parentheses)</span>: no training sequence takes the \
             transition, so where it leads is a guess.",
        );
    }
    details("Transition table", &body, Open::up_to(count, MAX_OPEN_ROWS))
}

/// A row for each state, a column for each symbol.
fn by_symbol(automaton: &NamedAutomaton, taken: &Value) -> (Vec<String>, Vec<TableLine>) {
    let partial = automaton.automaton();
    let symbols = partial.alphabet().names().iter().map(|symbol| format!("after {}", name(symbol)));
    let head = ["state".to_string(), "class".into()].into_iter().chain(symbols).collect();
    let row = |state: State| {
        let next = partial.successors(state).iter().enumerate().map(|(symbol, to)| {
            let target = to.map_or("unknown".into(), |to| to.0.to_string());
            if_taken(target, taken, state, symbol)
        });
        row_of(state, state_cells(automaton, state).into_iter().chain(next).collect())
    };
    (head, partial.states().map(row).collect())
}

/// A row for each state and successor.
fn by_target(automaton: &NamedAutomaton, taken: &Value) -> (Vec<String>, Vec<TableLine>) {
    let partial = automaton.automaton();
    let mut rows = vec![];
    for state in partial.states() {
        let mut symbols: BTreeMap<Option<u32>, Vec<usize>> = BTreeMap::new();
        for (symbol, to) in partial.successors(state).iter().enumerate() {
            symbols.entry(to.map(|to| to.0)).or_default().push(symbol);
        }
        for (to, symbols) in symbols {
            let mut cells = state_cells(automaton, state);
            cells.push(to.map_or("unknown".into(), |to| to.to_string()));
            cells.push(symbol_list(automaton, &symbols, taken, state));
            rows.push(row_of(state, cells));
        }
    }
    (["state", "class", "goes to", "after one of"].map(String::from).to_vec(), rows)
}

/// Symbols with the same successor; those that training sequences take come first.
fn symbol_list(
    automaton: &NamedAutomaton,
    symbols: &[usize],
    taken: &Value,
    state: State,
) -> String {
    let names = automaton.automaton().alphabet().names();
    let (used, guessed): (Vec<usize>, Vec<usize>) =
        symbols.iter().partition(|&&symbol| is_taken(taken, state, symbol));
    let listed = |symbols: &[usize]| -> String {
        let shown: Vec<String> =
            symbols.iter().take(MAX_SYMBOLS).map(|&symbol| name(&names[symbol])).collect();
        let more = symbols.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", shown.join(" "))
    };
    let mut parts = vec![];
    if !used.is_empty() {
        parts.push(listed(&used));
    }
    if !guessed.is_empty() {
        parts.push(format!("<span class=\"guess\">({})</span>", listed(&guessed)));
    }
    parts.join(" ")
}

fn row_of(state: State, cells: Vec<String>) -> TableLine {
    TableLine { cells, attributes: format!(" data-row=\"{}\"", state.0) }
}

fn state_cells(automaton: &NamedAutomaton, state: State) -> Vec<String> {
    let partial = automaton.automaton();
    let start = if state == partial.start() { "→ " } else { "" };
    let class = &automaton.classes()[*partial.output(state) as usize];
    vec![format!("{start}{}", state.0), name(class)]
}

/// Whether training sequences take a transition; yes if that was not counted.
fn is_taken(taken: &Value, state: State, symbol: usize) -> bool {
    match items(taken).get(state.index()) {
        Some(row) => count(&row[symbol]) > 0,
        None => true,
    }
}

fn if_taken(target: String, taken: &Value, state: State, symbol: usize) -> String {
    match is_taken(taken, state, symbol) {
        true => target,
        false => format!("<span class=\"guess\">({target})</span>"),
    }
}
