//! Two automata made comparable: by the names of their classes, or as acceptors.

use super::{ACCEPT, REJECT, is_acceptor, to_acceptor};
use crate::failure::Failure;
use srnn::extract::json::NamedAutomaton;
use srnn_automata::{Moore, Symbol, Word, distinguish};

/// One of two automata.
#[derive(Clone)]
pub struct ComparedAutomaton {
    /// The name for messages.
    pub name: String,
    /// The automaton.
    pub automaton: NamedAutomaton,
    /// The completed automaton.
    pub moore: Moore<u32>,
    /// The accepting class, if it was given.
    pub accept: Option<String>,
}

/// Both automata with class names as outputs. If only one of them is an acceptor, or an accepting
/// class is given, both become acceptors.
pub fn to_comparable(pair: &[ComparedAutomaton; 2]) -> Result<[Moore<String>; 2], Failure> {
    let [left, right] = pair;
    let alike = is_acceptor(&left.automaton) == is_acceptor(&right.automaton);
    let asked = left.accept.is_some() || right.accept.is_some();
    let with_class_names = |one: &ComparedAutomaton| one.automaton.with_class_names(&one.moore);
    let as_acceptor = |one: &ComparedAutomaton| {
        let dfa = to_acceptor(&one.automaton, &one.moore, &one.name, one.accept.as_deref())?;
        let class = |&accepts: &bool| if accepts { ACCEPT } else { REJECT }.to_string();
        Ok::<_, Failure>(dfa.map_outputs(class))
    };
    match alike && !asked {
        true => Ok([with_class_names(left), with_class_names(right)]),
        false => Ok([as_acceptor(left)?, as_acceptor(right)?]),
    }
}

/// A shortest word on which they differ, in the symbols of the first.
pub fn shortest_difference(
    pair: &[ComparedAutomaton; 2],
    machines: &[Moore<String>; 2],
) -> Result<Option<Word>, Failure> {
    distinguish(&machines[0], &machines[1]).map_err(|mismatch| {
        let message = format!(
            "{} and {} have different symbols: only the first has {:?}, only the second {:?}",
            pair[0].name, pair[1].name, mismatch.only_left, mismatch.only_right
        );
        Failure::new(message, "rename symbols, or add the missing ones")
    })
}

/// The outputs of both for a word in the symbols of the first.
pub fn outputs_on(machines: &[Moore<String>; 2], word: &[Symbol]) -> [String; 2] {
    let names = word.iter().map(|&symbol| machines[0].alphabet().name(symbol));
    let other = machines[1].alphabet();
    let renamed: Word =
        names.map(|name| other.symbol(name).expect("the alphabets are equal")).collect();
    [machines[0].output_of(word).clone(), machines[1].output_of(&renamed).clone()]
}
