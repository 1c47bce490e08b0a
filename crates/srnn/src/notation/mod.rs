//! Automata with named classes as text and pictures: JSON, DOT, AT&T, regular expressions, SVG,
//! tables.
//!
//! An acceptor is an automaton whose classes are `reject` and `accept`.

mod classes;
mod read;
mod save;
mod write;

pub use classes::{
    ACCEPT, REJECT, YES, accepting, acceptor, complete, is_acceptor, listed, positive, yes_class,
};
pub use read::{read_as, symbols_of_expression};
pub use save::{SavedFiles, save, save_automaton};
pub use write::{WriteOptions, table, write};

use classes::named;
use std::path::Path;

/// A text or picture format for automata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// The lossless one: names, classes, unknown transitions.
    Json,
    /// DOT, as AALpy and the Automata Wiki write it.
    Dot,
    /// AT&T text, as OpenFst and foma use it; acceptors only.
    Att,
    /// A regular expression; acceptors only.
    Regex,
    /// A picture; written only.
    Svg,
    /// A table for people; written only.
    Table,
}

impl Notation {
    /// All of them, with the names that options use.
    pub const ALL: [(&'static str, Notation); 6] = [
        ("json", Notation::Json),
        ("dot", Notation::Dot),
        ("att", Notation::Att),
        ("regex", Notation::Regex),
        ("svg", Notation::Svg),
        ("table", Notation::Table),
    ];

    /// The notation that a file's extension stands for.
    pub fn of_name(path: &Path) -> Option<Notation> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "json" => Some(Notation::Json),
            "dot" | "gv" => Some(Notation::Dot),
            "att" | "fst" | "fsm" | "fsa" => Some(Notation::Att),
            "re" | "regex" => Some(Notation::Regex),
            "svg" => Some(Notation::Svg),
            "txt" | "table" => Some(Notation::Table),
            _ => None,
        }
    }

    /// The notation that a text looks like.
    pub fn of_text(text: &str) -> Option<Notation> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let words = || text.lines().next().unwrap_or("").split_ascii_whitespace();
        let dot = ["digraph", "strict", "graph", "//", "/*", "#"];
        match text.chars().next()? {
            '{' => Some(Notation::Json),
            _ if dot.iter().any(|begin| starts_with(text, begin)) => Some(Notation::Dot),
            c if c.is_ascii_digit() && (3..=5).contains(&words().count()) => Some(Notation::Att),
            _ => None,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Notation::Json => "JSON",
            Notation::Dot => "DOT",
            Notation::Att => "AT&T text",
            Notation::Regex => "a regular expression",
            Notation::Svg => "SVG",
            Notation::Table => "a table",
        }
    }
}

fn starts_with(text: &str, begin: &str) -> bool {
    text.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_its_notation() {
        for (text, notation) in [
            ("\u{feff} {\"format\": 1}", Some(Notation::Json)),
            ("// made by hand\ndigraph g {}", Some(Notation::Dot)),
            ("Digraph g {}", Some(Notation::Dot)),
            ("0\t1\ta\ta\n1\n", Some(Notation::Att)),
            ("(10)*", None),
            ("", None),
        ] {
            assert_eq!(Notation::of_text(text), notation, "{text:?}");
        }
    }
}
