//! Automata as text and pictures.

use super::{Notation, complete, find_accepting_class, is_acceptor, to_acceptor};
use crate::UserError;
use crate::extract::json::{NamedAutomaton, to_json};
use crate::render::dfa::{self, DfaPicture};
use crate::render::transition_table::{TableRow, TransitionTable, text};
use srnn_automata::text::{att, dot};
use srnn_automata::{Dfa, Limits, State, regex};

/// Options for writing an automaton.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions<'a> {
    /// The accepting class, if its name does not decide it.
    pub accept: Option<&'a str>,
    /// The class of words with missing transitions.
    pub missing: Option<&'a str>,
    /// The title of the picture and the name of the graph.
    pub title: &'a str,
}

/// Writes an automaton; `name` is used in messages.
///
/// # Errors
/// If the notation cannot express the automaton.
pub fn write(
    automaton: &NamedAutomaton,
    name: &str,
    notation: Notation,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    match notation {
        Notation::Json => Ok(to_json(&complete_if_asked(automaton, name, options)?)),
        Notation::Table => Ok(table(&complete_if_asked(automaton, name, options)?)),
        Notation::Dot => write_dot(automaton, name, options),
        Notation::Svg => write_svg(automaton, name, options),
        Notation::Att => write_att(automaton, name, options),
        Notation::Regex => write_regex(automaton, name, options),
    }
}

/// The transition table as text; `?` is an unknown transition. A star marks accepting states. If the
/// accepting class is not known, every state shows its class.
pub fn table(automaton: &NamedAutomaton) -> String {
    let partial = automaton.automaton();
    let accepting = find_accepting_class(automaton.classes());
    let row = |state: State| {
        let class = *partial.output(state);
        let name = || automaton.classes()[class as usize].clone();
        TableRow {
            label: state.0.to_string(),
            note: if accepting.is_some() { String::new() } else { name() },
            accepting: accepting == Some(class),
            next: partial.successors(state).iter().map(|to| to.map(State::index)).collect(),
        }
    };
    text(&TransitionTable {
        symbols: partial.alphabet().names().to_vec(),
        rows: partial.states().map(row).collect(),
        start: partial.start().index(),
    })
}

/// Completes the automaton if the class of missing transitions is given.
fn complete_if_asked(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<NamedAutomaton, UserError> {
    if options.missing.is_none() {
        return Ok(automaton.clone());
    }
    let moore = complete(automaton, name, options.missing)?;
    Ok(super::named_automaton(automaton.classes().to_vec(), (&moore).into()))
}

fn write_dot(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let moore = complete(automaton, name, options.missing)?;
    let title = if options.title.is_empty() { "automaton" } else { options.title };
    // A DFA has no class names: other names than `accept` and `reject` would be lost.
    match options.accept.is_some() || is_acceptor(automaton) {
        true => Ok(dot::write_dfa(&to_acceptor(automaton, &moore, name, options.accept)?, title)),
        false => Ok(dot::write_moore(&automaton.with_class_names(&moore), title)),
    }
}

fn write_svg(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let moore = complete(automaton, name, options.missing)?;
    let rings = options.accept.is_some() || find_accepting_class(automaton.classes()).is_some();
    let picture = match rings {
        true => DfaPicture::from(&to_acceptor(automaton, &moore, name, options.accept)?),
        false => DfaPicture::of_moore(&automaton.with_class_names(&moore)),
    };
    let picture = DfaPicture { title: options.title.into(), ..picture };
    dfa::svg(&picture).map_err(|error| UserError::new(format!("{name}: {error}"), "--to dot"))
}

fn write_att(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let dfa = complete_acceptor(automaton, name, Notation::Att, options)?;
    let text = att::write_dfa(&dfa);
    if text.is_empty() || dfa.alphabet().is_empty() {
        let message = format!("{name}: AT&T text cannot hold an automaton without symbols");
        return Err(UserError::new(message, "--to json"));
    }
    Ok(text)
}

fn write_regex(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let dfa = complete_acceptor(automaton, name, Notation::Regex, options)?;
    let expression = regex::of_dfa(&dfa, &Limits::default()).map_err(|error| {
        UserError::new(format!("{name}: no regular expression: {error}"), "--to att")
    })?;
    Ok(format!("{}\n", expression.to_text(dfa.alphabet())))
}

/// The acceptor to write in a notation that has no classes.
fn complete_acceptor(
    automaton: &NamedAutomaton,
    name: &str,
    notation: Notation,
    options: WriteOptions<'_>,
) -> Result<Dfa, UserError> {
    let moore = complete(automaton, name, options.missing)?;
    to_acceptor(automaton, &moore, name, options.accept).map_err(|error| {
        let notation = notation.name();
        let message = format!("{} (only acceptors can be written as {notation})", error.message);
        UserError { message, ..error }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn_automata::{Alphabet, Partial};

    /// One state per class; the symbol leads from each state to the next.
    fn cycle(classes: &[&str]) -> NamedAutomaton {
        let count = classes.len() as u32;
        let next = (0..count).map(|state| Some(State((state + 1) % count))).collect();
        let alphabet = Alphabet::of_chars("a").unwrap();
        let automaton = Partial::new(alphabet, State(0), (0..count).collect(), next).unwrap();
        NamedAutomaton::new(classes.iter().map(|name| name.to_string()).collect(), automaton)
            .unwrap()
    }

    #[test]
    fn notations_without_classes_need_an_accepting_class() {
        let coins = cycle(&["heads", "tails", "edge"]);
        for notation in [Notation::Att, Notation::Regex] {
            let error = write(&coins, "coins", notation, WriteOptions::default()).unwrap_err();
            let remark = format!("(only acceptors can be written as {})", notation.name());
            assert!(error.message.ends_with(&remark), "{}", error.message);
            assert_eq!(error.remedy, "--accept CLASS");
        }
        let options = WriteOptions { accept: Some("tails"), ..WriteOptions::default() };
        assert_eq!(write(&coins, "coins", Notation::Regex, options).unwrap(), "a(aaa)*\n");
        let att = write(&coins, "coins", Notation::Att, options).unwrap();
        assert!(att.contains("0\t1\ta\ta\n") && att.ends_with("1\n"), "{att:?}");
    }
}
