//! Automata from text.

use super::{Notation, acceptor, map_outputs, named};
use crate::failure::Failure;
use crate::files;
use srnn::extract::json::{self, JsonError, NamedAutomaton};
use srnn_automata::regex::RegexError;
use srnn_automata::text::{TextError, att, dot};
use srnn_automata::{Alphabet, Limits, Partial, regex};
use std::collections::HashMap;
use std::path::Path;

/// Reads a file, or stdin for `-`; its name or its first characters tell the notation. `alphabet`
/// is that of a regular expression.
pub fn read(
    path: &Path,
    from: Option<Notation>,
    alphabet: Option<&Alphabet>,
) -> Result<NamedAutomaton, Failure> {
    let text = files::read_text(path)?;
    let name = files::shown(path);
    let readable = |notation: &Notation| !matches!(notation, Notation::Svg | Notation::Table);
    let told = from.or_else(|| Notation::of_name(path).filter(readable));
    let notation = told.or_else(|| Notation::of_text(&text)).ok_or_else(|| {
        let message = format!("{name}: neither its name nor its text tells what it is");
        let remedy = "give it a name that ends in .json, .dot, .att or .re, or convert it first: \
                      srnn convert FILE automaton.json --from json|dot|att|regex";
        Failure::new(message, remedy)
    })?;
    read_as(&text, &name, notation, alphabet)
}

/// Reads a text in a notation; `name` is for messages.
pub fn read_as(
    text: &str,
    name: &str,
    notation: Notation,
    alphabet: Option<&Alphabet>,
) -> Result<NamedAutomaton, Failure> {
    match notation {
        Notation::Json => {
            json::from_json(text, &json::Limits::default()).map_err(|e| in_json(name, e))
        }
        Notation::Dot => read_dot(text).map_err(|e| in_text(name, e)),
        Notation::Att => read_att(text).map_err(|e| in_text(name, e)),
        Notation::Regex => read_regex(text, name, alphabet),
        Notation::Svg | Notation::Table => Err(Failure::new(
            format!("{name}: {} cannot be read back", notation.name()),
            "give the automaton as JSON, DOT, AT&T text or a regular expression",
        )),
    }
}

/// A DFA, or else a Moore machine. Where it is neither, the DFA's error is the one that helps.
fn read_dot(text: &str) -> Result<NamedAutomaton, TextError> {
    let limits = Limits::default();
    match dot::read_dfa(text, &limits) {
        Ok(dfa) => Ok(acceptor(&dfa)),
        Err(error) => dot::read_moore(text, &limits).map(|moore| of_moore(&moore)).or(Err(error)),
    }
}

/// By the convention of the format, a missing transition rejects.
fn read_att(text: &str) -> Result<NamedAutomaton, TextError> {
    let partial = att::read_dfa(text, &Limits::default())?;
    Ok(acceptor(&Partial::from(&partial.complete(false))))
}

fn read_regex(
    text: &str,
    name: &str,
    alphabet: Option<&Alphabet>,
) -> Result<NamedAutomaton, Failure> {
    let text = text.trim_end_matches(['\n', '\r']);
    let collected;
    let alphabet = match alphabet {
        Some(alphabet) => alphabet,
        None => {
            collected = super::symbols_of_expression(text);
            &collected
        }
    };
    let dfa = regex::compile(text, alphabet, &Limits::default());
    Ok(acceptor(&Partial::from(&dfa.map_err(|e| in_regex(name, e))?)))
}

/// Classes in the order in which states name them.
fn of_moore(moore: &Partial<String>) -> NamedAutomaton {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut classes: Vec<String> = Vec::new();
    for output in moore.outputs() {
        numbers.entry(spelled(output)).or_insert_with(|| {
            classes.push(spelled(output).to_string());
            classes.len() as u32 - 1
        });
    }
    let automaton = map_outputs(moore, |output| numbers[spelled(output)]);
    named(classes, automaton)
}

/// Classes need a name, and DOT may leave the output blank.
fn spelled(output: &str) -> &str {
    if output.is_empty() { "(none)" } else { output }
}

fn in_text(name: &str, error: TextError) -> Failure {
    Failure::new(format!("{name}:{}: {}", error.line, error.cause), error.remedy)
}

pub(super) fn in_regex(name: &str, error: RegexError) -> Failure {
    Failure::new(format!("{name}: column {}: {}", error.column, error.cause), error.remedy)
}

fn in_json(name: &str, error: JsonError) -> Failure {
    let remedy = "write it as `srnn extract` does, or convert it with `srnn convert`";
    match error {
        JsonError::Shape { line, column, message } => {
            Failure::new(format!("{name}:{line}:{column}: {message}"), remedy)
        }
        other => Failure::new(format!("{name}: {other}"), remedy),
    }
}
