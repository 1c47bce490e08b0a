//! The strongest arithmetic for which a proof is found: single precision, double precision, or
//! none.

use super::prove::{NotProved, Proof, ProofSearch, prove};
use crate::engine::Arithmetic;
use crate::extract::TransitionSystem;

/// What could be proved of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// One proof for single precision, double precision and real arithmetic.
    ProvedF32(Proof),
    /// A proof for double precision and real arithmetic, and why single precision failed.
    ProvedF64(Proof, NotProved),
    /// No proof, and why double precision failed.
    NotProved(NotProved),
}

impl Verdict {
    /// The proof, if there is one.
    pub fn proof(&self) -> Option<&Proof> {
        match self {
            Verdict::ProvedF32(proof) | Verdict::ProvedF64(proof, _) => Some(proof),
            Verdict::NotProved(_) => None,
        }
    }

    /// Whether the proof covers `arithmetic`. A proof for single precision covers double precision.
    pub fn holds(&self, arithmetic: Arithmetic) -> bool {
        self.proof().is_some_and(|proof| proof.arithmetic >= arithmetic)
    }

    /// Why there is no stronger proof; `None` if single precision is proved.
    pub fn not_proved(&self) -> Option<&NotProved> {
        match self {
            Verdict::ProvedF32(_) => None,
            Verdict::ProvedF64(_, not_proved) | Verdict::NotProved(not_proved) => Some(not_proved),
        }
    }
}

/// Searches for a proof in single precision and, if that fails, in double precision.
pub fn certify(machine: &TransitionSystem, search: &ProofSearch) -> Verdict {
    let single = match prove(machine, Arithmetic::F32, search) {
        Ok(proof) => return Verdict::ProvedF32(proof),
        Err(not_proved) => not_proved,
    };
    match prove(machine, Arithmetic::F64, search) {
        Ok(proof) => Verdict::ProvedF64(proof, single),
        Err(not_proved) => Verdict::NotProved(not_proved),
    }
}
