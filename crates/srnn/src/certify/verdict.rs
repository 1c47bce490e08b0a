//! The two verdicts: the network itself, and the program that runs.

use super::prove::{NotProved, Proof, Search, prove};
use crate::engine::Arithmetic;
use crate::extract::TransitionSystem;

/// What could be proved of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Network and single-precision program: one proof covers both.
    Program(Proof),
    /// The network alone, and why not the program.
    Network(Proof, NotProved),
    /// Nothing, and why.
    Neither(NotProved),
}

impl Verdict {
    /// The proof, if there is one.
    pub fn proof(&self) -> Option<&Proof> {
        match self {
            Verdict::Program(proof) | Verdict::Network(proof, _) => Some(proof),
            Verdict::Neither(_) => None,
        }
    }

    /// Whether it is proved for an arithmetic: single precision includes double.
    pub fn holds(&self, arithmetic: Arithmetic) -> bool {
        self.proof().is_some_and(|proof| proof.arithmetic >= arithmetic)
    }

    /// What stands in the way of more.
    pub fn missing(&self) -> Option<&NotProved> {
        match self {
            Verdict::Program(_) => None,
            Verdict::Network(_, missing) | Verdict::Neither(missing) => Some(missing),
        }
    }
}

/// Looks for the strongest proof.
pub fn certify(machine: &TransitionSystem, search: &Search) -> Verdict {
    let program = match prove(machine, Arithmetic::F32, search) {
        Ok(proof) => return Verdict::Program(proof),
        Err(missing) => missing,
    };
    match prove(machine, Arithmetic::F64, search) {
        Ok(proof) => Verdict::Network(proof, program),
        Err(missing) => Verdict::Neither(missing),
    }
}
