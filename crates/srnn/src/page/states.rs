//! The states: how many training sequences end in each, the shortest word that reaches it, examples.

use super::html::{Open, TableLine, details, fitting, name, paragraph, stored_word, table, word};
use super::run_files::RunFiles;
use super::values::items;
use crate::extract::json::NamedAutomaton;
use crate::format::{grouped, plural};
use srnn_automata::{State, Symbol};
use std::collections::VecDeque;

/// A longer table starts closed.
const MAX_OPEN_ROWS: usize = 16;
/// States that are listed.
const MAX_ROWS: usize = 500;

/// The table of states; empty if there is no automaton.
pub(super) fn body(files: &RunFiles) -> String {
    let Some(automaton) = &files.automaton else { return String::new() };
    let words = shortest_words(automaton);
    let ends = items(&files.result["automaton"]["sequences"]);
    let examples = items(&files.examples["automaton"]["ending"]);
    let names = automaton.automaton().alphabet().names();
    let row = |state: State| {
        let reached = match &words[state.index()] {
            Some(path) => {
                let tokens: Vec<String> =
                    path.iter().map(|&symbol| names[symbol].clone()).collect();
                word(&tokens, tokens.len())
            }
            None => "unreachable".into(),
        };
        let count = ends.get(state.index()).and_then(|count| count.as_u64());
        let ending = match count {
            Some(0) => "<span class=\"guess\">(0)</span>".into(),
            count => count.map_or("–".into(), grouped),
        };
        let mut cells = vec![
            state.0.to_string(),
            name(&automaton.classes()[*automaton.automaton().output(state) as usize]),
            ending,
            reached,
        ];
        if !examples.is_empty() {
            let found = examples.get(state.index()).map(items).unwrap_or_default();
            cells.push(found.iter().map(stored_word).collect::<Vec<_>>().join("<br>"));
        }
        TableLine { cells, attributes: format!(" data-row=\"{}\"", state.0) }
    };
    let count = automaton.automaton().state_count();
    let rows: Vec<TableLine> = automaton.automaton().states().take(MAX_ROWS).map(row).collect();
    let mut head = vec!["state", "class", "#training sequences that end here", "shortest word"];
    head.extend((!examples.is_empty()).then_some("shortest training sequences that end here"));
    let (rows, _) = fitting(rows);
    let shown = rows.len();
    let mut table = table("States", &head, &rows);
    if table.contains("class=\"guess\"") {
        table += &paragraph(
            "In <span class=\"guess\">(parentheses)</span>: no training sequence ends there, so the \
             class is a guess.",
        );
    }
    if count > shown {
        table += &paragraph(&format!("{} more are not shown.", plural(count - shown, "state")));
    }
    details(
        &format!("{} and what reaches them", plural(count, "state")),
        &table,
        Open::up_to(count, MAX_OPEN_ROWS),
    )
}

/// The shortest word that reaches each state, the first in the order of symbols.
fn shortest_words(automaton: &NamedAutomaton) -> Vec<Option<Vec<usize>>> {
    let partial = automaton.automaton();
    let mut words: Vec<Option<Vec<usize>>> = vec![None; partial.state_count()];
    words[partial.start().index()] = Some(vec![]);
    let mut queue = VecDeque::from([partial.start()]);
    while let Some(state) = queue.pop_front() {
        let path = words[state.index()].clone().unwrap_or_default();
        for symbol in 0..partial.alphabet().len() {
            let Some(to) = partial.next(state, Symbol(symbol as u32)) else { continue };
            if words[to.index()].is_none() {
                words[to.index()] = Some([&path[..], &[symbol]].concat());
                queue.push_back(to);
            }
        }
    }
    words
}
