//! Transition tables of automata as text.
//!
//! With a small alphabet, there is a row per state and a column per symbol; otherwise a row per state
//! and successor. `→` marks the start state, `*` accepting states. Transitions that no sequence of the
//! data takes are in parentheses.

use crate::format::is_display_control;
use srnn_automata::{Partial, State};

/// A transition table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransitionTable {
    /// The names of the symbols.
    pub symbols: Vec<String>,
    /// The states.
    pub rows: Vec<TableRow>,
    /// The index of the start state.
    pub start: usize,
}

/// The row of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableRow {
    /// Its name.
    pub label: String,
    /// A remark, such as the class; none if empty.
    pub note: String,
    /// Whether it accepts.
    pub accepting: bool,
    /// The index of the successor for each symbol, if known.
    pub next: Vec<Option<usize>>,
    /// How data support the row, if that was counted.
    pub support: Option<RowSupport>,
}

/// How data support the row of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowSupport {
    /// The number of sequences that end in the state.
    pub ends: u64,
    /// The number of times that the transition of each symbol is taken.
    pub taken: Vec<u64>,
}

/// Formats a table as text; every line ends in a line feed.
pub(crate) fn text(table: &TransitionTable) -> String {
    let cells = match table.symbols.len() <= MAX_COLUMNS {
        true => by_symbol(table),
        false => by_target(table),
    };
    align(&cells)
}

impl TransitionTable {
    /// A table of an automaton. `caption` gives the note of a state, and whether it accepts.
    pub(crate) fn of_automaton<O>(
        automaton: &Partial<O>,
        caption: impl Fn(&O) -> (String, bool),
    ) -> TransitionTable {
        let row = |state: State| {
            let (note, accepting) = caption(automaton.output(state));
            let next = automaton.successors(state).iter().map(|to| to.map(State::index)).collect();
            TableRow { label: state.0.to_string(), note, accepting, next, support: None }
        };
        TransitionTable {
            symbols: automaton.alphabet().names().to_vec(),
            rows: automaton.states().map(row).collect(),
            start: automaton.start().index(),
        }
    }
}

/// About what fits a terminal of 80 characters.
const MAX_COLUMNS: usize = 16;

fn by_symbol(table: &TransitionTable) -> Vec<Vec<String>> {
    let mut cells =
        vec![header_row(table, table.symbols.iter().map(|name| clip(escape_control(name))))];
    for (index, row) in table.rows.iter().enumerate() {
        let target = |(symbol, &to): (usize, &Option<usize>)| {
            bracketed(target_name(table, to), is_taken(row, symbol))
        };
        let targets = row.next.iter().enumerate().map(target);
        cells.push(state_cells(table, index).into_iter().chain(targets).collect());
    }
    cells
}

fn by_target(table: &TransitionTable) -> Vec<Vec<String>> {
    let mut cells = vec![header_row(table, ["to".to_string(), "with".to_string()].into_iter())];
    for (index, row) in table.rows.iter().enumerate() {
        let mut targets: Vec<Option<usize>> = Vec::new();
        for &to in &row.next {
            if !targets.contains(&to) {
                targets.push(to);
            }
        }
        for (number, &to) in targets.iter().enumerate() {
            let symbols = (0..row.next.len()).filter(|&symbol| row.next[symbol] == to);
            let name = |at: usize| bracketed(escape_control(&table.symbols[at]), is_taken(row, at));
            let names: Vec<String> = symbols.map(name).collect();
            let front = match number {
                0 => state_cells(table, index),
                _ => vec![String::new(); state_cells(table, index).len()],
            };
            cells.push(
                front.into_iter().chain([target_name(table, to), clip(names.join(" "))]).collect(),
            );
        }
    }
    cells
}

fn header_row(table: &TransitionTable, rest: impl Iterator<Item = String>) -> Vec<String> {
    let notes = has_notes(table).then(|| "output".to_string());
    let ends = has_support(table).then(|| "sequences".to_string());
    [String::new(), "state".to_string()].into_iter().chain(notes).chain(ends).chain(rest).collect()
}

fn state_cells(table: &TransitionTable, index: usize) -> Vec<String> {
    let row = &table.rows[index];
    let start = if index == table.start { "→" } else { " " };
    let accepting = if row.accepting { "*" } else { " " };
    let note = has_notes(table).then(|| clip(escape_control(&row.note)));
    let ends = row.support.as_ref().map(|support| support.ends.to_string());
    let name = [format!("{start}{accepting}"), escape_control(&row.label)];
    name.into_iter().chain(note).chain(ends).collect()
}

fn has_support(table: &TransitionTable) -> bool {
    table.rows.iter().any(|row| row.support.is_some())
}

/// Whether a sequence of the data takes a transition, or none were counted.
fn is_taken(row: &TableRow, symbol: usize) -> bool {
    row.support.as_ref().is_none_or(|support| support.taken[symbol] > 0)
}

/// In parentheses unless `taken`.
fn bracketed(text: String, taken: bool) -> String {
    if taken { text } else { format!("({text})") }
}

fn has_notes(table: &TransitionTable) -> bool {
    table.rows.iter().any(|row| !row.note.is_empty())
}

fn target_name(table: &TransitionTable, to: Option<usize>) -> String {
    let row = to.and_then(|to| table.rows.get(to));
    row.map_or("?".to_string(), |row| escape_control(&row.label))
}

/// Escapes characters that change what a terminal shows.
pub fn escape_control(text: &str) -> String {
    let escaped = |c: char| match is_display_control(c) {
        true if !c.is_control() => c.escape_unicode().to_string(),
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// The largest width of a cell in characters.
const MAX_CELL: usize = 100;

/// Cuts a cell after [`MAX_CELL`] characters, and states its length.
fn clip(cell: String) -> String {
    let length = cell.chars().count();
    if length <= MAX_CELL {
        return cell;
    }
    let start: String = cell.chars().take(MAX_CELL).collect();
    format!("{start}… ({length} characters)")
}

/// `text` with trailing spaces up to `width` characters. `format!` only supports widths to 65,535.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    text.chars().chain(std::iter::repeat_n(' ', missing)).collect()
}

fn align(cells: &[Vec<String>]) -> String {
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
    let size = |cell: &String| cell.chars().count();
    let widest =
        |column: usize| cells.iter().filter_map(|row| row.get(column)).map(size).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let mut text = String::new();
    for row in cells {
        let padded = row.iter().zip(&widths).map(|(cell, &width)| pad(cell, width));
        let line = padded.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn_automata::{Alphabet, Dfa, Symbol};

    fn even(alphabet: &str) -> Dfa {
        let alphabet = Alphabet::of_chars(alphabet).unwrap();
        let next = |s: State, a: Symbol| State((s.0 + a.0) % 2);
        Dfa::from_fn(alphabet, 2, |s| s.0 == 0, next).unwrap()
    }

    fn table(dfa: &Dfa) -> TransitionTable {
        TransitionTable::of_automaton(&Partial::from(dfa), |&accepting| (String::new(), accepting))
    }

    #[test]
    fn the_symbols_of_a_large_alphabet_are_cut_and_counted() {
        let names = (0..70_000).map(|i| format!("word{i}")).collect();
        let alphabet = Alphabet::new(names).unwrap();
        let dfa = Dfa::from_fn(alphabet, 2, |s| s.0 == 0, |_, a| State(a.0 % 2)).unwrap();
        let text = text(&table(&dfa));
        assert!(text.lines().all(|line| line.chars().count() < 200), "{}", text.len());
        assert!(text.contains("characters)"));
    }

    #[test]
    fn a_small_alphabet_has_a_column_per_symbol() {
        let expected = "    state  0  1\n→*  0      0  1\n    1      1  0\n";
        assert_eq!(text(&table(&even("01"))), expected);
    }

    #[test]
    fn sequences_are_counted_and_transitions_without_one_are_in_parentheses() {
        let mut small = table(&even("01"));
        small.rows[0].support = Some(RowSupport { ends: 3, taken: vec![7, 0] });
        small.rows[1].support = Some(RowSupport { ends: 0, taken: vec![0, 0] });
        let expected = "    state  sequences  0    1\n→*  0      3          0    (1)\n    \
                        1      0          (1)  (0)\n";
        assert_eq!(text(&small), expected);
        let mut large = table(&even("abcdefghijklmnopq"));
        let taken = (0..17).map(|symbol| u64::from(symbol > 1)).collect();
        large.rows[0].support = Some(RowSupport { ends: 1, taken });
        let shown = text(&large);
        assert!(shown.contains("(a) c e") && shown.contains("(b) d f"), "{shown}");
    }

    #[test]
    fn a_large_alphabet_has_a_row_per_target() {
        let expected = "    state  to  with\n\
                        →*  0      0   a c e g i k m o q\n           1   b d f h j l n p\n    \
                        1      1   a c e g i k m o q\n           0   b d f h j l n p\n";
        assert_eq!(text(&table(&even("abcdefghijklmnopq"))), expected);
    }

    #[test]
    fn outputs_and_unknown_transitions_are_shown_and_control_characters_escaped() {
        let class = |&even: &bool| (if even { "even" } else { "odd\u{1b}[2J" }.into(), false);
        let mut table = TransitionTable::of_automaton(&Partial::from(&even("01")), class);
        table.rows[0].next[1] = None;
        let shown = text(&table);
        assert!(
            shown.starts_with("    state  output        0  1\n→   0      even          0  ?\n")
        );
        assert!(shown.contains("odd\\u{1b}[2J") && !shown.contains('\u{1b}'));
    }
}
