//! Automata as arguments of verbs.

mod flags;
mod operand;
mod pair;
mod read;

pub use flags::Flags;
pub use operand::{Operand, alphabet_of_flag};
pub use pair::{Side, comparable, difference, says};
pub use read::read;
pub use srnn::notation::{
    ACCEPT, Notation, REJECT, WriteOptions, YES, accepting, acceptor, complete, is_acceptor,
    listed, positive, read_as, symbols_of_expression, table, write, yes_class,
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use srnn::task::tomita::{Grammar, minimal_dfa};
use srnn_automata::{Alphabet, Dfa, Moore, State};

/// The minimal acceptor of a Tomita grammar.
pub fn tomita(grammar: Grammar) -> Dfa {
    let table = minimal_dfa(grammar);
    let next = table.next.iter().flatten().map(|&to| State(to)).collect();
    let alphabet = Alphabet::of_chars("01").expect("two characters");
    Moore::new(alphabet, State(table.start), table.accept, next).expect("a complete table")
}

/// Parses the name of a notation.
pub fn notations() -> impl TypedValueParser<Value = Notation> {
    PossibleValuesParser::new(Notation::ALL.map(|(name, _)| name)).map(|text| {
        let found = Notation::ALL.into_iter().find(|(name, _)| *name == text);
        found.expect("one of the possible values").1
    })
}
