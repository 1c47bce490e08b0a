//! Automata as arguments of verbs.

mod flags;
mod operand;
mod pair;
mod read;

pub use flags::AutomatonFlags;
pub use operand::{AutomatonArg, alphabet_of_flag};
pub use pair::{ComparedAutomaton, outputs_on, shortest_difference, to_comparable};
pub use read::read;
pub use srnn::notation::{
    ACCEPT, ACCEPTING_NAMES, Notation, REJECT, WriteOptions, accepting_class, acceptor, complete,
    find_accepting_class, is_acceptor, quoted_list, read_as, symbols_of_expression, table,
    to_acceptor, write,
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use srnn::task::tomita::{Grammar, minimal_dfa};
use srnn_automata::{Alphabet, Dfa, Moore, State};

/// The minimal acceptor of a Tomita grammar.
pub fn tomita_dfa(grammar: Grammar) -> Dfa {
    let table = minimal_dfa(grammar);
    let next = table.next.iter().flatten().map(|&to| State(to)).collect();
    let alphabet = Alphabet::of_chars("01").expect("two characters");
    Moore::new(alphabet, State(table.start), table.accept, next).expect("a complete table")
}

/// Parses the name of a notation.
pub fn notation_parser() -> impl TypedValueParser<Value = Notation> {
    PossibleValuesParser::new(Notation::ALL.map(|(name, _)| name)).map(|text| {
        let found = Notation::ALL.into_iter().find(|(name, _)| *name == text);
        found.expect("one of the possible values").1
    })
}
