//! The classes of an automaton by name, and the one that means yes.

use crate::UserError;
use crate::extract::json::NamedAutomaton;
use srnn_automata::{Dfa, Moore, Partial};

/// The class of words outside an acceptor's language.
pub const REJECT: &str = "reject";
/// The class of words in it.
pub const ACCEPT: &str = "accept";

/// What people call the positive class.
pub const YES: [&str; 7] = [ACCEPT, "accepted", "1", "true", "yes", "positive", "pos"];

/// An acceptor as an automaton with named classes.
pub fn acceptor(partial: &Partial<bool>) -> NamedAutomaton {
    let classes = [REJECT, ACCEPT].map(String::from).to_vec();
    named(classes, partial.map_outputs(|&accepting| u32::from(accepting)))
}

/// Whether all its classes are `reject` and `accept`.
pub fn is_acceptor(automaton: &NamedAutomaton) -> bool {
    automaton.classes().iter().all(|class| class == REJECT || class == ACCEPT)
}

/// The complete automaton: what is missing leads to a sink of the class `missing`, and is refused
/// where that is not given.
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
                "--missing CLASS sends them to a state of that class: {}",
                listed(automaton.classes())
            );
            UserError::new(format!("{name}: {incomplete}"), remedy)
        }),
    }
}

/// The acceptor of one class: `accept`, the class asked for, or the one of two that is named as
/// people name the positive one.
pub fn accepting(
    automaton: &NamedAutomaton,
    moore: &Moore<u32>,
    name: &str,
    accept: Option<&str>,
) -> Result<Dfa, UserError> {
    let class = yes_class(automaton, name, accept)?;
    Ok(moore.map_outputs(|&output| output == class))
}

/// The class that means yes: the one asked for, or the one whose name tells.
pub fn yes_class(
    automaton: &NamedAutomaton,
    name: &str,
    accept: Option<&str>,
) -> Result<u32, UserError> {
    match accept {
        Some(class) => class_named(automaton, name, class),
        None => positive(automaton.classes()).ok_or_else(|| {
            let classes = listed(automaton.classes());
            let message = format!("{name}: which of its classes means yes? It has {classes}");
            UserError::new(message, "--accept CLASS")
        }),
    }
}

/// Names in a message: quoted, and not endless.
pub fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("{name:?}")).collect();
    match names.len() {
        0 => "none".into(),
        n if n > MOST => format!("{} and {} more", shown.join(", "), n - MOST),
        _ => shown.join(", "),
    }
}

/// The class that means yes, where the names tell: pictures, tables, comparisons and files with
/// labels 1 and 0 all go by this.
pub fn positive(classes: &[String]) -> Option<u32> {
    let place = |name: &str| classes.iter().position(|class| class.eq_ignore_ascii_case(name));
    let known = is_subset_of_acceptor(classes) || classes.len() == 2;
    let means_yes = |class: &&String| YES.iter().any(|name| class.eq_ignore_ascii_case(name));
    // Two names for yes, and nobody knows which is meant.
    let known = known && classes.iter().filter(means_yes).count() < 2;
    let found = YES.iter().find_map(|name| place(name)).filter(|_| known);
    // An acceptor that accepts nothing need not name the class at all.
    found.or_else(|| is_subset_of_acceptor(classes).then_some(classes.len())).map(|at| at as u32)
}

fn is_subset_of_acceptor(classes: &[String]) -> bool {
    classes.iter().all(|class| class == REJECT || class == ACCEPT)
}

fn class_named(automaton: &NamedAutomaton, name: &str, class: &str) -> Result<u32, UserError> {
    let found = automaton.classes().iter().position(|known| known == class);
    found.map(|at| at as u32).ok_or_else(|| {
        let message = format!("{name}: {class:?} is none of its classes");
        UserError::new(message, format!("one of: {}", listed(automaton.classes())))
    })
}

fn has_every_transition<O>(partial: &Partial<O>) -> bool {
    let states = partial.states();
    states.into_iter().all(|state| !partial.successors(state).contains(&None))
}

pub(super) fn named(classes: Vec<String>, automaton: Partial<u32>) -> NamedAutomaton {
    NamedAutomaton::new(classes, automaton).expect("distinct names for every class")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_that_means_yes_is_told_by_its_name_and_not_by_its_place() {
        let of =
            |names: &[&str]| positive(&names.iter().map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(of(&["accept", "reject"]), Some(0));
        assert_eq!(of(&["reject", "accept"]), Some(1));
        assert_eq!(of(&["no", "Yes"]), Some(1));
        assert_eq!(of(&["0", "1"]), Some(1));
        assert_eq!(of(&["good enough", "insecure"]), None);
        assert_eq!(of(&["0", "1", "2"]), None);
        assert_eq!(of(&["yes", "accept"]), None);
        assert_eq!(of(&["Accept", "accept"]), None);
    }
}
