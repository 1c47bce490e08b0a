//! Automata from text.

use super::{Notation, acceptor, named_automaton};
use crate::UserError;
use crate::extract::json::{self, JsonError, NamedAutomaton};
use srnn_automata::regex::RegexError;
use srnn_automata::text::{TextError, att, dot, jflap};
use srnn_automata::{Alphabet, Limits, Partial, regex};
use std::collections::HashMap;

/// Reads an automaton. `name` is used in messages; `alphabet` is that of a regular expression, by
/// default the symbols in it.
///
/// # Errors
/// If the text is not valid, or the notation cannot be read.
pub fn read_as(
    text: &str,
    name: &str,
    notation: Notation,
    alphabet: Option<&Alphabet>,
) -> Result<NamedAutomaton, UserError> {
    match notation {
        Notation::Json => {
            json::from_json(text, &json::JsonLimits::default()).map_err(|e| json_error(name, e))
        }
        Notation::Dot => read_dot(text).map_err(|e| text_error(name, e)),
        Notation::Att => read_att(text).map_err(|e| text_error(name, e)),
        Notation::Regex => read_regex(text, name, alphabet),
        Notation::Jflap => read_jflap(text).map_err(|e| text_error(name, e)),
        Notation::Svg | Notation::Tikz | Notation::Table => Err(UserError::new(
            format!("{name}: {} cannot be read as an automaton", notation.name()),
            "give the automaton as JSON, DOT, AT&T text, a JFLAP file or a regular expression",
        )),
    }
}

/// Reads a DFA, a Moore machine or a Mealy machine. If the text is none of them, the error is that of
/// the DFA reader.
fn read_dot(text: &str) -> Result<NamedAutomaton, TextError> {
    let limits = Limits::default();
    match dot::read_dfa(text, &limits) {
        Ok(dfa) => Ok(acceptor(&dfa)),
        Err(_) if dot::is_mealy(text, &limits) => {
            dot::read_mealy(text, &limits).map(|moore| from_moore(&moore))
        }
        Err(error) => dot::read_moore(text, &limits).map(|moore| from_moore(&moore)).or(Err(error)),
    }
}

/// A missing transition rejects, which is the convention of this format.
fn read_att(text: &str) -> Result<NamedAutomaton, TextError> {
    let partial = att::read_dfa(text, &Limits::default())?;
    Ok(acceptor(&Partial::from(&partial.complete(false))))
}

/// A missing transition rejects, as in JFLAP.
fn read_jflap(text: &str) -> Result<NamedAutomaton, TextError> {
    let partial = jflap::read_dfa(text, &Limits::default())?;
    Ok(acceptor(&Partial::from(&partial.complete(false))))
}

fn read_regex(
    text: &str,
    name: &str,
    alphabet: Option<&Alphabet>,
) -> Result<NamedAutomaton, UserError> {
    let text = text.trim_end_matches(['\n', '\r']);
    let collected;
    let alphabet = match alphabet {
        Some(alphabet) => alphabet,
        None => {
            collected = symbols_of_expression(text);
            &collected
        }
    };
    let dfa = regex::compile(text, alphabet, &Limits::default());
    Ok(acceptor(&Partial::from(&dfa.map_err(|e| regex_error(name, e))?)))
}

/// Classes are numbered in the order of their first state.
fn from_moore(moore: &Partial<String>) -> NamedAutomaton {
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut classes: Vec<String> = Vec::new();
    for output in moore.outputs() {
        numbers.entry(class_name(output)).or_insert_with(|| {
            classes.push(class_name(output).to_string());
            classes.len() as u32 - 1
        });
    }
    let automaton = moore.map_outputs(|output| numbers[class_name(output)]);
    named_automaton(classes, automaton)
}

/// DOT allows an empty output, but a class needs a name.
fn class_name(output: &str) -> &str {
    if output.is_empty() { "(none)" } else { output }
}

fn text_error(name: &str, error: TextError) -> UserError {
    UserError::new(format!("{name}:{}: {}", error.line, error.cause), error.remedy)
}

fn regex_error(name: &str, error: RegexError) -> UserError {
    UserError::new(format!("{name}: column {}: {}", error.column, error.cause), error.remedy)
}

fn json_error(name: &str, error: JsonError) -> UserError {
    let remedy = "write it as `srnn extract` does, or convert it with `srnn convert`";
    match error {
        JsonError::Shape { line, column, message } => {
            UserError::new(format!("{name}:{line}:{column}: {message}"), remedy)
        }
        other => UserError::new(format!("{name}: {other}"), remedy),
    }
}

/// The symbols of a regular expression, sorted: its default alphabet. Syntax errors are ignored
/// here; [`read_as`] reports them.
pub fn symbols_of_expression(text: &str) -> Alphabet {
    let mut names = std::collections::BTreeSet::new();
    let (mut rest, mut in_class) = (text.chars(), false);
    while let Some(c) = rest.next() {
        match c {
            '[' | ']' => in_class = c == '[',
            // A number of repetitions.
            '{' if !in_class => drop(rest.find(|&c| c == '}')),
            '\\' => names.extend(escaped(rest.next())),
            '<' => names.extend([bracketed(&mut rest)]),
            c if c.is_whitespace() || "|*+?()>.^-ε∅".contains(c) => {}
            c => names.extend([c.to_string()]),
        }
    }
    names.remove("");
    Alphabet::new(names.into_iter().collect()).expect("names are distinct and not empty")
}

fn escaped(c: Option<char>) -> Option<String> {
    match c? {
        'n' => Some("\n".into()),
        't' => Some("\t".into()),
        'r' => Some("\r".into()),
        c => Some(c.into()),
    }
}

fn bracketed(rest: &mut std::str::Chars<'_>) -> String {
    let mut name = String::new();
    while let Some(c) = rest.next() {
        match c {
            '>' => break,
            '\\' => name.extend(escaped(rest.next())),
            c => name.push(c),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_symbols_of_an_expression_are_found() {
        for (text, symbols) in [
            ("(10)*|<open>\\*", vec!["*", "0", "1", "open"]),
            ("[^a-c] ε∅", vec!["a", "c"]),
            ("<a\\>b>\\n", vec!["\n", "a>b"]),
            ("<", vec![]),
            ("a{10,12}b[{}]", vec!["a", "b", "{", "}"]),
            ("a\\{3{2", vec!["3", "a", "{"]),
        ] {
            assert_eq!(symbols_of_expression(text).names(), symbols, "{text:?}");
        }
    }
}
