//! Finite automata as values: the referee of extraction.
//!
//! An automaton is plain data ([`Moore`], [`Dfa`], [`Partial`]), a question about it is a function,
//! and an answer that claims something carries its witness: [`distinguish`] gives the shortest word
//! on which two automata differ, [`Dfa::shortest_accepted`] a word that shows a language is not
//! empty. There is no network here, no file, no clock and no global randomness.
#![forbid(unsafe_code)]

mod alphabet;
mod compare;
mod minimize;
mod moore;
mod partial;
mod random;

mod words;

pub use alphabet::{Alphabet, InvalidAlphabet, Symbol, Word};
pub use compare::{
    AlphabetMismatch, difference, distinguish, intersection, product, symmetric_difference, union,
};
pub use moore::{Dfa, InvalidAutomaton, Moore, Path, State};
pub use partial::{Incomplete, Partial, Unknown};
pub use random::random;
pub use words::{Shortlex, shortlex};
