//! An automaton as a table for the terminal.
//!
//! One row a state and one column a symbol where the alphabet is small; otherwise one row for all
//! symbols that lead from one state to another. `→` marks the start, `*` accepting states.

use std::fmt::Display;

use srnn_automata::{Dfa, Moore, State};

/// What a table shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionTable {
    /// The names of the symbols.
    pub symbols: Vec<String>,
    /// The states.
    pub rows: Vec<TableRow>,
    /// The start's place among the rows.
    pub start: usize,
}

/// A state of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// Its name.
    pub label: String,
    /// A remark, such as the class; none where it is empty.
    pub note: String,
    /// Whether it accepts.
    pub accepting: bool,
    /// For each symbol the place of the state it leads to, where that is known.
    pub next: Vec<Option<usize>>,
}

/// Lays a table out as text; every line ends in a line feed.
pub fn text(table: &TransitionTable) -> String {
    let cells = match table.symbols.len() <= MOST_COLUMNS {
        true => by_symbol(table),
        false => by_target(table),
    };
    align(&cells)
}

impl TransitionTable {
    /// A table of an automaton with outputs.
    pub fn of_moore<O: Display>(moore: &Moore<O>) -> TransitionTable {
        table(moore, |output| (output.to_string(), false))
    }
}

impl From<&Dfa> for TransitionTable {
    fn from(dfa: &Dfa) -> TransitionTable {
        table(dfa, |&accepting| (String::new(), accepting))
    }
}

/// About what fits a terminal of 80 characters.
const MOST_COLUMNS: usize = 16;

fn table<O>(moore: &Moore<O>, show: impl Fn(&O) -> (String, bool)) -> TransitionTable {
    let row = |state: State| {
        let (note, accepting) = show(moore.output(state));
        let next = moore.successors(state).iter().map(|to| Some(to.index())).collect();
        TableRow { label: state.0.to_string(), note, accepting, next }
    };
    TransitionTable {
        symbols: moore.alphabet().names().to_vec(),
        rows: moore.states().map(row).collect(),
        start: moore.start().index(),
    }
}

fn by_symbol(table: &TransitionTable) -> Vec<Vec<String>> {
    let mut cells = vec![heading(table, table.symbols.iter().map(|name| clipped(visible(name))))];
    for (place, row) in table.rows.iter().enumerate() {
        let targets = row.next.iter().map(|&to| target(table, to));
        cells.push(front(table, place).into_iter().chain(targets).collect());
    }
    cells
}

fn by_target(table: &TransitionTable) -> Vec<Vec<String>> {
    let mut cells = vec![heading(table, ["to".to_string(), "with".to_string()].into_iter())];
    for (place, row) in table.rows.iter().enumerate() {
        let mut targets: Vec<Option<usize>> = Vec::new();
        for &to in &row.next {
            if !targets.contains(&to) {
                targets.push(to);
            }
        }
        for (number, &to) in targets.iter().enumerate() {
            let named = table.symbols.iter().zip(&row.next).filter(|&(_, &next)| next == to);
            let names: Vec<String> = named.map(|(name, _)| visible(name)).collect();
            let front = match number {
                0 => front(table, place),
                _ => vec![String::new(); front(table, place).len()],
            };
            cells.push(
                front.into_iter().chain([target(table, to), clipped(names.join(" "))]).collect(),
            );
        }
    }
    cells
}

fn heading(table: &TransitionTable, rest: impl Iterator<Item = String>) -> Vec<String> {
    let notes = has_notes(table).then(|| "output".to_string());
    [String::new(), "state".to_string()].into_iter().chain(notes).chain(rest).collect()
}

fn front(table: &TransitionTable, place: usize) -> Vec<String> {
    let row = &table.rows[place];
    let start = if place == table.start { "→" } else { " " };
    let accepting = if row.accepting { "*" } else { " " };
    let note = has_notes(table).then(|| clipped(visible(&row.note)));
    [format!("{start}{accepting}"), visible(&row.label)].into_iter().chain(note).collect()
}

fn has_notes(table: &TransitionTable) -> bool {
    table.rows.iter().any(|row| !row.note.is_empty())
}

fn target(table: &TransitionTable, to: Option<usize>) -> String {
    let row = to.and_then(|to| table.rows.get(to));
    row.map_or("?".to_string(), |row| visible(&row.label))
}

/// A name as a terminal may show it: terminals obey control characters, so they are spelled out.
pub fn visible(text: &str) -> String {
    let spelled = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(spelled).collect()
}

/// Longest cell; the rest of a longer one is counted instead of shown.
const WIDEST: usize = 100;

/// A cell that fits on a screen.
fn clipped(cell: String) -> String {
    let length = cell.chars().count();
    if length <= WIDEST {
        return cell;
    }
    let start: String = cell.chars().take(WIDEST).collect();
    format!("{start}… ({length} characters)")
}

/// `text` with spaces behind it up to `width` characters. The width of `format!` ends at 65,535.
pub fn pad(text: &str, width: usize) -> String {
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
    use srnn_automata::{Alphabet, Symbol};

    fn even(alphabet: &str) -> Dfa {
        let alphabet = Alphabet::of_chars(alphabet).unwrap();
        let next = |s: State, a: Symbol| State((s.0 + a.0) % 2);
        Dfa::from_fn(alphabet, 2, |s| s.0 == 0, next).unwrap()
    }

    #[test]
    fn a_huge_alphabet_is_counted_not_shown() {
        let names = (0..70_000).map(|i| format!("word{i}")).collect();
        let alphabet = Alphabet::new(names).unwrap();
        let dfa = Dfa::from_fn(alphabet, 2, |s| s.0 == 0, |_, a| State(a.0 % 2)).unwrap();
        let text = text(&TransitionTable::from(&dfa));
        assert!(text.lines().all(|line| line.chars().count() < 200), "{}", text.len());
        assert!(text.contains("characters)"));
    }

    #[test]
    fn a_small_alphabet_has_a_column_per_symbol() {
        let expected = "    state  0  1\n→*  0      0  1\n    1      1  0\n";
        assert_eq!(text(&TransitionTable::from(&even("01"))), expected);
    }

    #[test]
    fn a_large_alphabet_has_a_row_per_target() {
        let expected = "    state  to  with\n\
                        →*  0      0   a c e g i k m o q\n           1   b d f h j l n p\n    \
                        1      1   a c e g i k m o q\n           0   b d f h j l n p\n";
        assert_eq!(text(&TransitionTable::from(&even("abcdefghijklmnopq"))), expected);
    }

    #[test]
    fn outputs_and_unknown_transitions_are_shown_and_control_characters_spelled_out() {
        let moore = even("01").map_outputs(|&even| if even { "even" } else { "odd\u{1b}[2J" });
        let mut table = TransitionTable::of_moore(&moore);
        table.rows[0].next[1] = None;
        let shown = text(&table);
        assert!(
            shown.starts_with("    state  output        0  1\n→   0      even          0  ?\n")
        );
        assert!(shown.contains("odd\\u{1b}[2J") && !shown.contains('\u{1b}'));
    }
}
