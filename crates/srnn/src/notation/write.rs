//! Automata as text and pictures.

use super::classes::{has_every_transition, named_automaton};
use super::{Notation, accepting_class, complete, find_accepting_class, is_acceptor, to_acceptor};
use crate::UserError;
use crate::extract::json::{NamedAutomaton, to_json};
use crate::render::dfa::{self, DfaPicture};
use crate::render::tikz::tikz;
use crate::render::transition_table::{RowSupport, TransitionTable, text};
use srnn_automata::text::{att, dot, jflap};
use srnn_automata::{Dfa, Limits, Partial, regex};
use std::borrow::Cow;

/// Options for writing an automaton.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions<'a> {
    /// The accepting class, if its name does not decide it.
    pub accept: Option<&'a str>,
    /// The class of words with missing transitions.
    pub missing: Option<&'a str>,
    /// The title of the picture and the name of the graph.
    pub title: &'a str,
    /// Leave sinks out of the picture: states that do not accept and that no edge leaves.
    pub hide_sinks: bool,
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
        Notation::Json => Ok(to_json(&*complete_if_asked(automaton, name, options)?)),
        Notation::Table => Ok(table(&*complete_if_asked(automaton, name, options)?)),
        Notation::Dot => write_dot(automaton, name, options),
        Notation::Svg => write_svg(automaton, name, options),
        Notation::Tikz => write_tikz(automaton, name, options),
        Notation::Jflap => write_jflap(automaton, name, options),
        Notation::Att => write_att(automaton, name, options),
        Notation::Regex => write_regex(automaton, name, options),
    }
}

/// The transition table as text; `?` is an unknown transition. A star marks accepting states. If the
/// accepting class is not known, every state shows its class.
pub fn table(automaton: &NamedAutomaton) -> String {
    let accepting = find_accepting_class(automaton.classes());
    let caption = |&class: &u32| caption(automaton, accepting, class);
    text(&TransitionTable::of_automaton(automaton.automaton(), caption))
}

/// The same with the number of sequences that end in each state. Transitions that no sequence takes are
/// in parentheses.
pub(crate) fn table_with_support(automaton: &NamedAutomaton, rows: &[RowSupport]) -> String {
    let accepting = find_accepting_class(automaton.classes());
    let caption = |&class: &u32| caption(automaton, accepting, class);
    let mut table = TransitionTable::of_automaton(automaton.automaton(), caption);
    for (row, support) in table.rows.iter_mut().zip(rows) {
        row.support = Some(support.clone());
    }
    text(&table)
}

/// The note of a state of this class, and whether it is accepting. The note is the name of the class
/// if the accepting class is not known.
fn caption(automaton: &NamedAutomaton, accepting: Option<u32>, class: u32) -> (String, bool) {
    match accepting {
        Some(accepting) => (String::new(), class == accepting),
        None => (automaton.classes()[class as usize].clone(), false),
    }
}

/// Completes the automaton if the class of missing transitions is given.
fn complete_if_asked<'a>(
    automaton: &'a NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<Cow<'a, NamedAutomaton>, UserError> {
    match options.missing {
        None => Ok(Cow::Borrowed(automaton)),
        Some(_) => with_every_transition(automaton, name, options),
    }
}

/// The automaton itself if no transition is missing, else the completed one; see [`complete`].
fn with_every_transition<'a>(
    automaton: &'a NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<Cow<'a, NamedAutomaton>, UserError> {
    if has_every_transition(automaton.automaton()) {
        return Ok(Cow::Borrowed(automaton));
    }
    let moore = complete(automaton, name, options.missing)?;
    Ok(Cow::Owned(named_automaton(automaton.classes().to_vec(), (&moore).into())))
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
        false => Ok(dot::write_moore(&moore, title, |&class| &automaton.classes()[class as usize])),
    }
}

fn write_svg(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let picture = picture_to_write(automaton, name, options)?;
    dfa::svg(&picture).map_err(|error| UserError::new(format!("{name}: {error}"), "--to dot"))
}

fn write_tikz(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let picture = picture_to_write(automaton, name, options)?;
    tikz(&picture).map_err(|error| UserError::new(format!("{name}: {error}"), "--to dot"))
}

fn picture_to_write(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<DfaPicture, UserError> {
    let automaton = with_every_transition(automaton, name, options)?;
    let accepting = match options.accept {
        Some(_) => Some(accepting_class(&automaton, name, options.accept)?),
        None => find_accepting_class(automaton.classes()),
    };
    let picture = DfaPicture { title: options.title.into(), ..picture(&automaton, accepting) };
    Ok(if options.hide_sinks { picture.without_sinks() } else { picture })
}

fn write_jflap(
    automaton: &NamedAutomaton,
    name: &str,
    options: WriteOptions<'_>,
) -> Result<String, UserError> {
    let dfa = complete_acceptor(automaton, name, Notation::Jflap, options)?;
    let caption = |&accepting: &bool| (String::new(), accepting);
    let picture = DfaPicture::of_automaton(&Partial::from(&dfa), caption);
    // Automata that are too large for a picture are put in rows.
    let places = dfa::positions(&picture).unwrap_or_else(|_| {
        dfa.states().map(|s| (f64::from(s.0 % 40) * 90.0, f64::from(s.0 / 40) * 90.0)).collect()
    });
    Ok(jflap::write_dfa(&dfa, |state| places[state.index()]))
}

/// A picture of an automaton without a title. If the accepting class is not known, every state shows
/// its class, with the colour and the mark of the class. Unknown transitions are not drawn.
pub fn picture(automaton: &NamedAutomaton, accepting: Option<u32>) -> DfaPicture {
    let caption = |&class: &u32| caption(automaton, accepting, class);
    let mut picture = DfaPicture::of_automaton(automaton.automaton(), caption);
    if accepting.is_none() {
        for (state, &class) in picture.states.iter_mut().zip(automaton.automaton().outputs()) {
            state.class = Some(class as usize);
        }
    }
    picture
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
    use srnn_automata::{Alphabet, State};

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
        for notation in [Notation::Att, Notation::Regex, Notation::Jflap] {
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

    #[test]
    fn pictures_show_classes_unless_one_accepts() {
        let shown = |automaton: &NamedAutomaton, accept| {
            let options = WriteOptions { accept, ..WriteOptions::default() };
            let drawn = write(automaton, "coins", Notation::Svg, options).unwrap();
            (drawn.matches("<circle").count(), drawn.contains("tails"))
        };
        let coins = cycle(&["heads", "tails", "edge"]);
        assert_eq!(shown(&coins, None), (3, true));
        assert_eq!(shown(&coins, Some("tails")), (4, false));
        assert_eq!(shown(&cycle(&["reject", "accept"]), None), (3, false));
    }

    #[test]
    fn pictures_draw_the_sink_of_missing_transitions_and_no_unreachable_state() {
        let alphabet = Alphabet::of_chars("a").unwrap();
        let draw = |next: [Option<u32>; 2], missing| {
            let next = next.map(|to| to.map(State)).to_vec();
            let partial = Partial::new(alphabet.clone(), State(0), vec![0, 1], next).unwrap();
            let classes = ["heads", "tails"].map(String::from).to_vec();
            let automaton = NamedAutomaton::new(classes, partial).unwrap();
            let options = WriteOptions { missing, ..WriteOptions::default() };
            let drawn = write(&automaton, "coins", Notation::Svg, options);
            drawn.map(|drawn| drawn.matches("<circle").count()).map_err(|error| error.remedy)
        };
        assert_eq!(draw([Some(1), None], Some("heads")), Ok(3));
        assert_eq!(draw([Some(0), None], None), Ok(1));
        assert!(draw([Some(1), None], None).unwrap_err().contains("--missing CLASS"));
    }
}
