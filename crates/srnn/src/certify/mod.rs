//! Proof that a network and an automaton agree on every word, of any length.
//!
//! `docs/src/certificate.md` defines what is proved and how; the letters here are its letters.
//! [`prove`] covers the reachable soft states by cells. It then finds radii with which the images
//! of every cell lie in cells, and checks that the classifier decides every cell. The result
//! becomes a [`Certificate`], which a separate crate checks. All bounds are rounded outward and
//! include the rounding errors of the program that runs (`certify::error_model`).

mod cell_graph;
mod certificate;
#[cfg(test)]
mod double_double;
#[cfg(test)]
mod engine_tests;
mod error_model;
mod gru;
mod interval;
mod margin;
mod matrix;
mod midpoints;
mod network;
mod pac;
mod parallel;
#[cfg(test)]
mod proof_tests;
mod prove;
mod radii;
#[cfg(test)]
mod random_networks;
mod softmax;
#[cfg(test)]
mod step_tests;
mod verdict;
#[cfg(test)]
mod verdict_tests;
mod zonotope;

pub use certificate::{Certificate, CertifiedAutomaton, check_proof, proof_checker, statement};
pub use pac::{Distribution, Pac, pac};
pub(crate) use prove::ProofAttempt;
pub use prove::{NotProved, Obstacle, Proof, ProofSearch, prove};
pub use verdict::{Verdict, certify, certify_checked};
