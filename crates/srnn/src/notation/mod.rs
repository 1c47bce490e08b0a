//! Automata with named classes as JSON, DOT, AT&T text, regular expressions, SVG and tables.
//!
//! An acceptor is an automaton whose classes are `reject` and `accept`.

mod classes;
mod read;
mod save;
mod write;

pub use classes::{
    ACCEPT, ACCEPTING_NAMES, REJECT, accepting_class, acceptor, complete, find_accepting_class,
    is_acceptor, quoted_list, to_acceptor,
};
pub use read::{read_as, symbols_of_expression};
pub use save::{SavedFiles, save_automaton, save_extracted};
pub(crate) use write::table_with_support;
pub use write::{WriteOptions, picture, table, write};

use classes::named_automaton;
use std::path::Path;

/// A text or picture format for automata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// JSON, the only lossless notation: names, classes and unknown transitions.
    Json,
    /// DOT in the style of AALpy and the Automata Wiki.
    Dot,
    /// AT&T text as used by OpenFst and foma; acceptors only.
    Att,
    /// A regular expression; acceptors only.
    Regex,
    /// A file of JFLAP; acceptors only.
    Jflap,
    /// A picture; cannot be read.
    Svg,
    /// A picture for LaTeX; cannot be read.
    Tikz,
    /// A transition table as text; cannot be read.
    Table,
}

impl Notation {
    /// All notations with their names in options.
    pub const ALL: [(&'static str, Notation); 8] = [
        ("json", Notation::Json),
        ("dot", Notation::Dot),
        ("att", Notation::Att),
        ("regex", Notation::Regex),
        ("jflap", Notation::Jflap),
        ("svg", Notation::Svg),
        ("tikz", Notation::Tikz),
        ("table", Notation::Table),
    ];

    /// The notation of a file extension.
    pub fn of_name(path: &Path) -> Option<Notation> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "json" => Some(Notation::Json),
            "dot" | "gv" => Some(Notation::Dot),
            "att" | "fst" | "fsm" | "fsa" => Some(Notation::Att),
            "re" | "regex" => Some(Notation::Regex),
            "jff" => Some(Notation::Jflap),
            "svg" => Some(Notation::Svg),
            "tex" | "tikz" => Some(Notation::Tikz),
            "txt" | "table" => Some(Notation::Table),
            _ => None,
        }
    }

    /// Guesses the notation of a text from its beginning.
    pub fn of_text(text: &str) -> Option<Notation> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let words = || text.lines().next().unwrap_or("").split_ascii_whitespace();
        if text.starts_with("<?xml") || text.starts_with("<structure") {
            return Some(Notation::Jflap);
        }
        let dot = ["digraph", "strict", "graph", "//", "/*", "#"];
        match text.chars().next()? {
            '{' => Some(Notation::Json),
            _ if dot.iter().any(|prefix| starts_with(text, prefix)) => Some(Notation::Dot),
            c if c.is_ascii_digit() && (3..=5).contains(&words().count()) => Some(Notation::Att),
            _ => None,
        }
    }

    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Notation::Json => "JSON",
            Notation::Dot => "DOT",
            Notation::Att => "AT&T text",
            Notation::Regex => "a regular expression",
            Notation::Jflap => "a JFLAP file",
            Notation::Svg => "SVG",
            Notation::Tikz => "TikZ",
            Notation::Table => "a table",
        }
    }
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_of_a_text_is_guessed() {
        for (text, notation) in [
            ("\u{feff} {\"format\": 1}", Some(Notation::Json)),
            ("// made by hand\ndigraph g {}", Some(Notation::Dot)),
            ("Digraph g {}", Some(Notation::Dot)),
            ("0\t1\ta\ta\n1\n", Some(Notation::Att)),
            ("<?xml version=\"1.0\"?><structure>", Some(Notation::Jflap)),
            ("(10)*", None),
            ("", None),
        ] {
            assert_eq!(Notation::of_text(text), notation, "{text:?}");
        }
    }
}
