//! The classes of an automaton by name, and its accepting class.

use crate::UserError;
use crate::extract::json::NamedAutomaton;
use srnn_automata::{Dfa, Moore, Partial};

/// The class of words that an acceptor rejects.
pub const REJECT: &str = "reject";
/// The class of words that an acceptor accepts.
pub const ACCEPT: &str = "accept";

/// Common names of the accepting class.
pub const ACCEPTING_NAMES: [&str; 13] = [
    ACCEPT,
    "accepted",
    "accepting",
    "1",
    "true",
    "yes",
    "positive",
    "pos",
    "ok",
    "okay",
    "good",
    "normal",
    "valid",
];

/// An acceptor as an automaton with named classes.
pub fn acceptor(partial: &Partial<bool>) -> NamedAutomaton {
    let classes = [REJECT, ACCEPT].map(String::from).to_vec();
    named_automaton(classes, partial.map_outputs(|&accepting| u32::from(accepting)))
}

/// Whether every class is `reject` or `accept`.
pub fn is_acceptor(automaton: &NamedAutomaton) -> bool {
    has_acceptor_classes(automaton.classes())
}

/// The complete automaton. Missing transitions lead to a sink state of the class `missing`.
///
/// # Errors
/// If transitions are missing and `missing` is `None` or not a class.
pub fn complete(
    automaton: &NamedAutomaton,
    name: &str,
    missing: Option<&str>,
) -> Result<Moore<u32>, UserError> {
    let partial = automaton.automaton();
    match missing {
        _ if has_every_transition(partial) => Ok(partial.complete(0)),
        Some(class) => Ok(partial.complete(class_named(automaton, name, class)?)),
        None => partial.to_moore().map_err(|incomplete| {
            let remedy = format!(
                "--missing CLASS gives these words a class: {}",
                quoted_list(automaton.classes())
            );
            UserError::new(format!("{name}: {incomplete}"), remedy)
        }),
    }
}

/// The acceptor of the accepting class, see [`accepting_class`].
///
/// # Errors
/// If the accepting class is not known.
pub fn to_acceptor(
    automaton: &NamedAutomaton,
    moore: &Moore<u32>,
    name: &str,
    accept: Option<&str>,
) -> Result<Dfa, UserError> {
    let class = accepting_class(automaton, name, accept)?;
    Ok(moore.map_outputs(|&output| output == class))
}

/// The accepting class: `accept` if given, else the one found by its name.
///
/// # Errors
/// If there is no such class, or the names do not decide.
pub fn accepting_class(
    automaton: &NamedAutomaton,
    name: &str,
    accept: Option<&str>,
) -> Result<u32, UserError> {
    match accept {
        Some(class) => class_named(automaton, name, class),
        None => find_accepting_class(automaton.classes()).ok_or_else(|| {
            let classes = quoted_list(automaton.classes());
            let message =
                format!("{name}: which class is the accepting one? The classes are {classes}");
            UserError::new(message, "--accept CLASS")
        }),
    }
}

/// Names for a message: quoted, with at most 20 names.
pub fn quoted_list(names: &[String]) -> String {
    const MAX_NAMES: usize = 20;
    let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("{name:?}")).collect();
    match names.len() {
        0 => "none".into(),
        n if n > MAX_NAMES => format!("{} and {} more", shown.join(", "), n - MAX_NAMES),
        _ => shown.join(", "),
    }
}

/// The accepting class, if the names decide it. Pictures, tables, comparisons and files with labels
/// 1 and 0 use this rule.
pub fn find_accepting_class(classes: &[String]) -> Option<u32> {
    let index = |name: &str| classes.iter().position(|class| class.eq_ignore_ascii_case(name));
    let accepting =
        |class: &&String| ACCEPTING_NAMES.iter().any(|name| class.eq_ignore_ascii_case(name));
    let two_classes = has_acceptor_classes(classes) || classes.len() == 2;
    let unique = classes.iter().filter(accepting).count() < 2;
    let found =
        ACCEPTING_NAMES.iter().find_map(|name| index(name)).filter(|_| two_classes && unique);
    // An acceptor that accepts nothing may lack the class `accept`.
    found.or_else(|| has_acceptor_classes(classes).then_some(classes.len())).map(|at| at as u32)
}

fn has_acceptor_classes(classes: &[String]) -> bool {
    classes.iter().all(|class| class == REJECT || class == ACCEPT)
}

fn class_named(automaton: &NamedAutomaton, name: &str, class: &str) -> Result<u32, UserError> {
    let found = automaton.classes().iter().position(|known| known == class);
    found.map(|at| at as u32).ok_or_else(|| {
        let message = format!("{name}: there is no class {class:?}");
        UserError::new(message, format!("one of: {}", quoted_list(automaton.classes())))
    })
}

/// Unreachable states count: without them, the others would get new numbers.
pub(super) fn has_every_transition<O>(partial: &Partial<O>) -> bool {
    let states = partial.states();
    states.into_iter().all(|state| !partial.successors(state).contains(&None))
}

pub(super) fn named_automaton(classes: Vec<String>, automaton: Partial<u32>) -> NamedAutomaton {
    NamedAutomaton::new(classes, automaton).expect("class names are distinct")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accepting_class_is_found_by_its_name_and_not_by_its_position() {
        let of = |names: &[&str]| {
            find_accepting_class(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["accept", "reject"]), Some(0));
        assert_eq!(of(&["reject", "accept"]), Some(1));
        assert_eq!(of(&["no", "Yes"]), Some(1));
        assert_eq!(of(&["0", "1"]), Some(1));
        for good in ["ok", "OK", "good", "normal", "valid", "Accepting"] {
            assert_eq!(of(&["abnormal", good]), Some(1), "{good}");
        }
        assert_eq!(of(&["good", "ok"]), None);
        assert_eq!(of(&["good enough", "insecure"]), None);
        assert_eq!(of(&["0", "1", "2"]), None);
        assert_eq!(of(&["yes", "accept"]), None);
        assert_eq!(of(&["Accept", "accept"]), None);
    }
}
