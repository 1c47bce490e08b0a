//! Text formats of automata.
//!
//! Text is not trusted. Readers check it against [`Limits`], report errors with line, cause and remedy,
//! and never panic. Readers return a [`Partial`], because files may leave transitions out. The caller
//! decides what that means: `complete(false)` if a missing transition rejects, `to_moore()` to require
//! a complete automaton.

pub mod att;
pub mod dot;
pub mod jflap;

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use crate::alphabet::Alphabet;
use crate::limits::Limits;
use crate::moore::State;
use crate::partial::Partial;

/// Why a text is not an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Line of the text, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.cause, self.remedy)
    }
}

impl Error for TextError {}

fn error(line: usize, cause: impl Into<String>, remedy: impl Into<String>) -> TextError {
    TextError { line, cause: cause.into(), remedy: remedy.into() }
}

fn too_many(line: usize, what: &str, limit: usize) -> TextError {
    error(line, format!("more than {limit} {what}"), "raise the limit if you trust this text")
}

fn check_bytes(text: &str, limits: &Limits) -> Result<(), TextError> {
    match text.len() > limits.bytes {
        true => Err(too_many(1, "bytes", limits.bytes)),
        false => Ok(()),
    }
}

/// Names numbered in the order in which they appear.
#[derive(Default)]
struct NameTable {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl NameTable {
    fn number(
        &mut self,
        name: &str,
        line: usize,
        what: &str,
        limit: usize,
    ) -> Result<u32, TextError> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        if self.names.len() >= limit {
            return Err(too_many(line, what, limit));
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_string(), number);
        self.names.push(name.to_string());
        Ok(number)
    }
}

/// A transition as a file gives it.
struct TextEdge {
    line: u32,
    from: u32,
    symbol: u32,
    to: u32,
}

/// Adds a transition. A deterministic automaton cannot have more transitions than table entries.
fn add_edge(edges: &mut Vec<TextEdge>, edge: TextEdge, limits: &Limits) -> Result<(), TextError> {
    if edges.len() >= limits.entries {
        return Err(too_many(edge.line as usize, "transitions", limits.entries));
    }
    edges.push(edge);
    Ok(())
}

/// Builds the automaton. The table is allocated only after its size was checked.
fn build<O>(
    symbols: Vec<String>,
    start: u32,
    outputs: Vec<O>,
    edges: &[TextEdge],
    limits: &Limits,
) -> Result<Partial<O>, TextError> {
    let width = symbols.len();
    let entries = outputs.len().saturating_mul(width);
    if entries > limits.entries {
        return Err(too_many(1, "table entries (states × symbols)", limits.entries));
    }
    let mut table: Vec<Option<State>> = vec![None; entries];
    for edge in edges {
        let entry = &mut table[edge.from as usize * width + edge.symbol as usize];
        if entry.is_some_and(|to| to.0 != edge.to) {
            let name = &symbols[edge.symbol as usize];
            return Err(error(
                edge.line as usize,
                format!("a second transition with symbol {name:?} leaves the same state"),
                "make the automaton deterministic first",
            ));
        }
        *entry = Some(State(edge.to));
    }
    let alphabet = Alphabet::new(symbols)
        .map_err(|e| error(1, e.to_string(), "rename the symbols in the text"))?;
    Partial::new(alphabet, State(start), outputs, table)
        .map_err(|e| error(1, e.to_string(), "give the text at least one state"))
}

#[cfg(test)]
mod tests {
    use crate::alphabet::Alphabet;
    use crate::random::stream;

    /// Names that text formats must escape.
    pub(crate) fn nasty_alphabet() -> Alphabet {
        let names = [
            "a",
            "0",
            " ",
            "two words",
            "\"",
            "\\",
            "\\s",
            "a\nb",
            "\t",
            "<eps>",
            "ε",
            ",",
            "a, b",
            "/",
            "in / out",
            "|",
            "]",
            ";",
            "->",
            "//",
            "/*",
            "#",
            "é",
            "\u{2028}",
            "\u{1}",
            "label=\"x\"",
            "<b>",
            "{x|y}",
            "(1, 2)",
            "'",
            "\\,",
            "  ",
        ];
        Alphabet::new(names.map(String::from).to_vec()).unwrap()
    }

    /// Calls `check` with randomly damaged copies of a text.
    pub(crate) fn mutate(text: &str, times: u64, check: impl Fn(&str)) {
        let pieces =
            ["\"", "\\", "[", "]", "{", "}", "<", ">", "->", ";", "\n", " ", "0", "é", "/*", ","];
        for seed in 0..times {
            let mut bits = stream(seed);
            let mut chars: Vec<char> = text.chars().collect();
            for _ in 0..1 + bits() % 4 {
                let at = (bits() % (chars.len() as u64 + 1)) as usize;
                let end = (at + (bits() % 8) as usize).min(chars.len());
                match bits() % 4 {
                    0 => drop(chars.drain(at..end)),
                    1 => chars.truncate(at),
                    2 => {
                        let piece = pieces[(bits() % pieces.len() as u64) as usize];
                        drop(chars.splice(at..at, piece.chars()));
                    }
                    _ => {
                        let copy = chars[at..end].to_vec();
                        drop(chars.splice(at..at, copy));
                    }
                }
            }
            check(&chars.into_iter().collect::<String>());
        }
    }
}
