//! Proof that a network and an automaton agree on every word, of any length.
//!
//! What is proved and how is told in `docs/certificate.md`; the letters here are its letters.
//! [`prove`] covers the reachable soft states by cells, finds radii with which every cell's images
//! lie in cells, and checks that the classifier decides every cell; the result becomes a
//! [`Certificate`], which a separate crate checks. All bounds are rounded outward, and the rounding
//! of the program that runs is charged ([`Arithmetic`]).

mod arithmetic;
mod cell;
mod certificate;
mod close;
mod decide;
mod interval;
mod margin;
mod matrix;
mod network;
#[cfg(test)]
mod oracle;
mod outline;
mod pac;
#[cfg(test)]
mod program_tests;
#[cfg(test)]
mod proof_tests;
mod prove;
#[cfg(test)]
mod samples;
mod set;
mod softmax;
#[cfg(test)]
mod step_tests;
mod verdict;

pub use arithmetic::Errors;
pub use certificate::{
    Certificate, CertifiedAutomaton, CertifiedCell, CertifiedModel, check_proof, statement,
};
pub use close::Overflow;
pub use margin::Undecided;
pub use pac::{Distribution, Pac, pac};
pub use prove::{Attempt, NotProved, Obstacle, Proof, ProvedCell, Search, prove};
pub use set::Ball;
pub use verdict::{Verdict, certify};
