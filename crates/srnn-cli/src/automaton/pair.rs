//! Two automata made comparable: by the names of their classes, or by yes and no.

use super::{ACCEPT, REJECT, accepting, is_acceptor};
use crate::failure::Failure;
use srnn::extract::json::NamedAutomaton;
use srnn_automata::{Moore, Symbol, Word, distinguish};

/// One of two automata.
pub struct Side {
    /// As it was named.
    pub name: String,
    /// The automaton.
    pub automaton: NamedAutomaton,
    /// The same, complete.
    pub moore: Moore<u32>,
    /// The class that means yes, where a person said so.
    pub yes: Option<String>,
}

/// Both by the names of their classes; where only one of them is an acceptor, or a class that means
/// yes is given, both become acceptors.
pub fn comparable(sides: &[Side; 2]) -> Result<[Moore<String>; 2], Failure> {
    let [left, right] = sides;
    let alike = is_acceptor(&left.automaton) == is_acceptor(&right.automaton);
    let asked = left.yes.is_some() || right.yes.is_some();
    let by_name = |side: &Side| side.automaton.with_class_names(&side.moore);
    let by_word = |side: &Side| {
        let dfa = accepting(&side.automaton, &side.moore, &side.name, side.yes.as_deref())?;
        Ok::<_, Failure>(dfa.map_outputs(|&yes| if yes { ACCEPT } else { REJECT }.to_string()))
    };
    match alike && !asked {
        true => Ok([by_name(left), by_name(right)]),
        false => Ok([by_word(left)?, by_word(right)?]),
    }
}

/// A shortest word on which they differ, in the symbols of the first.
pub fn difference(
    sides: &[Side; 2],
    machines: &[Moore<String>; 2],
) -> Result<Option<Word>, Failure> {
    distinguish(&machines[0], &machines[1]).map_err(|mismatch| {
        let message = format!(
            "{} and {} have different symbols: only the first has {:?}, only the second {:?}",
            sides[0].name, sides[1].name, mismatch.only_left, mismatch.only_right
        );
        Failure::new(message, "rename them or add what is missing")
    })
}

/// What both say of a word in the symbols of the first.
pub fn says(machines: &[Moore<String>; 2], word: &[Symbol]) -> [String; 2] {
    let names = word.iter().map(|&symbol| machines[0].alphabet().name(symbol));
    let other = machines[1].alphabet();
    let renamed: Word =
        names.map(|name| other.symbol(name).expect("alphabets were compared")).collect();
    [machines[0].output_of(word).clone(), machines[1].output_of(&renamed).clone()]
}
