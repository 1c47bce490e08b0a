//! Finite automata as values. Extraction results are checked with this crate.
//!
//! Automata are plain data ([`Moore`], [`Dfa`], [`Partial`]), and algorithms are functions on them.
//! Results carry a witness: [`distinguish`] returns the shortest word on which two automata differ,
//! [`Dfa::shortest_accepted`] a word of a language that is not empty, and [`conformance::suite`] the
//! words that decide whether a black box of bounded size equals an automaton. [`merging::merge`] finds
//! an automaton for labelled words. There are no networks, files, clocks or global random numbers here.
//!
//! ```
//! use srnn_automata::{distinguish, regex, text::dot, Alphabet, Limits};
//!
//! let bits = Alphabet::of_chars("01")?;
//! let even = regex::compile("(0|10*1)*", &bits, &Limits::default())?;
//! assert_eq!(even.state_count(), 2);
//!
//! let short = regex::compile("(0|101|11)*", &bits, &Limits::default())?;
//! let word = distinguish(&even, &short)?.expect("the languages differ");
//! assert_eq!(bits.format_word(&word), "1001");
//!
//! let again = dot::read_dfa(&dot::write_dfa(&even, "even"), &Limits::default())?;
//! assert_eq!(again.complete(false), even);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod alphabet;
mod compare;
pub mod conformance;
mod limits;
pub mod merging;
mod minimize;
mod moore;
mod partial;
mod random;
pub mod regex;
pub mod text;
mod words;

pub use alphabet::{Alphabet, InvalidAlphabet, Symbol, Word};
pub use compare::{
    AlphabetMismatch, difference, distinguish, intersection, product, symmetric_difference, union,
};
pub use limits::Limits;
pub use moore::{Dfa, InvalidAutomaton, Moore, State, StatePath};
pub use partial::{Incomplete, Partial, UnknownTransition};
pub use random::random_dfa;
pub use words::{Shortlex, shortlex};
