//! The strongest arithmetic for which a proof is found: single precision, double precision, or
//! none.

use super::prove::{NotProved, Obstacle, Proof, ProofAttempt, ProofSearch, prove};
use crate::engine::Arithmetic;
use crate::extract::TransitionSystem;
use srnn_automata::Word;

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

/// Searches for a proof in single precision and, if that fails, in double precision. The proof is not
/// checked.
pub fn certify(machine: &TransitionSystem, search: &ProofSearch) -> Verdict {
    certify_checked(machine, search, &mut |_| Ok(()))
}

/// Like [`certify`], but returns only a proof that `check` accepts, such as
/// [`check_proof`](super::check_proof). If it refuses one, the search is repeated with wider radii. A
/// proof that is refused again is no proof.
pub fn certify_checked(
    machine: &TransitionSystem,
    search: &ProofSearch,
    check: &mut dyn FnMut(&Proof) -> Result<(), String>,
) -> Verdict {
    let single = match prove_checked(machine, Arithmetic::F32, search, check) {
        Ok(proof) => return Verdict::ProvedF32(proof),
        Err(not_proved) => not_proved,
    };
    match prove_checked(machine, Arithmetic::F64, search, check) {
        Ok(proof) => Verdict::ProvedF64(proof, single),
        Err(not_proved) => Verdict::NotProved(not_proved),
    }
}

/// Factor by which the slack grows after a refusal.
const WIDER: f64 = 1e3;

fn prove_checked(
    machine: &TransitionSystem,
    arithmetic: Arithmetic,
    search: &ProofSearch,
    check: &mut dyn FnMut(&Proof) -> Result<(), String>,
) -> Result<Proof, NotProved> {
    let proof = prove(machine, arithmetic, search)?;
    if check(&proof).is_ok() {
        return Ok(proof);
    }
    let wider = ProofSearch { slack: search.slack * WIDER, ..*search };
    let proof = prove(machine, arithmetic, &wider)?;
    match check(&proof) {
        Ok(()) => Ok(proof),
        Err(why) => Err(refused(&proof, why)),
    }
}

fn refused(proof: &Proof, why: String) -> NotProved {
    let attempt = ProofAttempt {
        tolerance: proof.tolerance,
        depth: proof.depth(),
        cells: proof.cells.len(),
        access: Word::new(),
        obstacle: Obstacle::Refused { why },
    };
    NotProved { attempts: vec![attempt] }
}
