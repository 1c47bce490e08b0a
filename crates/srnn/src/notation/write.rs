//! Automata into text and pictures.

use super::{Notation, accepting, complete, is_acceptor, positive};
use crate::UserError;
use crate::extract::json::{NamedAutomaton, to_json};
use crate::render::dfa::{self, DfaPicture};
use crate::render::transition_table::{TableRow, TransitionTable, text};
use srnn_automata::text::{att, dot};
use srnn_automata::{Limits, State, regex};

/// How a person wants it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions<'a> {
    /// The class of an acceptor's words, where its name does not tell.
    pub accept: Option<&'a str>,
    /// The class of what is missing.
    pub missing: Option<&'a str>,
    /// A line above the picture, and the graph's name.
    pub title: &'a str,
}

/// Writes an automaton in a notation, or says what the notation cannot express.
pub fn write(
    automaton: &NamedAutomaton,
    name: &str,
    notation: Notation,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    match notation {
        Notation::Json => Ok(to_json(&filled(automaton, name, options)?)),
        Notation::Table => Ok(table(&filled(automaton, name, options)?)),
        Notation::Dot => write_dot(automaton, name, options),
        Notation::Svg => write_svg(automaton, name, options),
        Notation::Att => write_att(automaton, name, options),
        Notation::Regex => write_regex(automaton, name, options),
    }
}

/// A table for people; `?` where a transition is not known. A star marks the class that means yes;
/// where no name tells which that is, every state names its class.
pub fn table(automaton: &NamedAutomaton) -> String {
    let (partial, yes) = (automaton.automaton(), positive(automaton.classes()));
    let row = |state: State| {
        let class = *partial.output(state);
        let name = || automaton.classes()[class as usize].clone();
        TableRow {
            label: state.0.to_string(),
            note: if yes.is_some() { String::new() } else { name() },
            accepting: yes == Some(class),
            next: partial.successors(state).iter().map(|to| to.map(State::index)).collect(),
        }
    };
    text(&TransitionTable {
        symbols: partial.alphabet().names().to_vec(),
        rows: partial.states().map(row).collect(),
        start: partial.start().index(),
    })
}

/// What is missing is filled in only on demand.
fn filled(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<NamedAutomaton, UserError> {
    if options.missing.is_none() {
        return Ok(automaton.clone());
    }
    let moore = complete(automaton, name, options.missing)?;
    Ok(super::named(automaton.classes().to_vec(), (&moore).into()))
}

fn write_dot(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let moore = complete(automaton, name, options.missing)?;
    let title = if options.title.is_empty() { "automaton" } else { options.title };
    // Names that are not an acceptor's own would be lost as a DFA.
    match options.accept.is_some() || is_acceptor(automaton) {
        true => Ok(dot::write_dfa(&accepting(automaton, &moore, name, options.accept)?, title)),
        false => Ok(dot::write_moore(&automaton.with_class_names(&moore), title)),
    }
}

fn write_svg(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let moore = complete(automaton, name, options.missing)?;
    let rings = options.accept.is_some() || positive(automaton.classes()).is_some();
    let picture = match rings {
        true => DfaPicture::from(&accepting(automaton, &moore, name, options.accept)?),
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
    let moore = complete(automaton, name, options.missing)?;
    let dfa = accepting(automaton, &moore, name, options.accept)
        .map_err(|failure| only_acceptors(failure, Notation::Att))?;
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
    let moore = complete(automaton, name, options.missing)?;
    let dfa = accepting(automaton, &moore, name, options.accept)
        .map_err(|failure| only_acceptors(failure, Notation::Regex))?;
    let expression = regex::of_dfa(&dfa, &Limits::default()).map_err(|error| {
        UserError::new(format!("{name}: as an expression, {error}"), "--to att")
    })?;
    Ok(format!("{}\n", expression.to_text(dfa.alphabet())))
}

fn only_acceptors(failure: UserError, notation: Notation) -> UserError {
    let message =
        format!("{} (as {} only acceptors can be written)", failure.message, notation.name());
    UserError { message, ..failure }
}
