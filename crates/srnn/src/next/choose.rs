//! Which candidate is kept: the rule of [`learn`](crate::learn), with bits per token as the measure.

use super::{NextCandidate, NextKind};
use crate::learn::{KeepReason, Preference};

/// The index of the least bits among candidates that can be kept, the most readable of equal ones.
pub(super) fn best(candidates: &[NextCandidate]) -> Option<usize> {
    let bits = |index: usize| candidates[index].valid.map_or(f64::INFINITY, |score| score.bits);
    let eligible = (0..candidates.len()).filter(|&index| is_eligible(&candidates[index]));
    eligible.reduce(|best, next| if bits(next) < bits(best) { next } else { best })
}

/// The index of the candidate to keep, and why. `candidates` are in the order of readability.
///
/// # Panics
/// If none can be kept: n-grams always can.
pub(super) fn choose(candidates: &[NextCandidate], preference: Preference) -> (usize, KeepReason) {
    let best = best(candidates).expect("n-grams can always be kept");
    let top = candidates[best].valid.expect("the best has a score");
    let frequencies = candidates.iter().find(|c| c.kind == NextKind::Frequencies);
    let baseline = frequencies.and_then(|c| c.valid).map_or(f64::INFINITY, |score| score.bits);
    if top.bits >= baseline - top.error {
        return (best, KeepReason::NothingLearned);
    }
    if preference == Preference::Accuracy {
        return (best, KeepReason::Best);
    }
    let close = |candidate: &NextCandidate| {
        let near = candidate.valid.is_some_and(|score| score.bits <= top.bits + top.error);
        is_eligible(candidate) && near
    };
    match candidates.iter().position(close) {
        Some(index) if index != best => (index, KeepReason::WithinOneError),
        _ => (best, KeepReason::Best),
    }
}

fn is_eligible(candidate: &NextCandidate) -> bool {
    candidate.kind != NextKind::Frequencies
        && candidate.note.is_none()
        && candidate.valid.is_some_and(|score| score.bits.is_finite())
}

#[cfg(test)]
mod tests {
    use super::super::{NextScore, missing};
    use super::*;

    fn candidate(kind: NextKind, bits: f64) -> NextCandidate {
        let score = NextScore { bits, error: 0.1, top_1: 0.5, top_g: 0.9 };
        NextCandidate { valid: Some(score), ..missing(kind, None) }
    }

    fn all(automaton: f64, ngrams: f64, lstm: f64) -> Vec<NextCandidate> {
        vec![
            candidate(NextKind::Frequencies, 3.0),
            candidate(NextKind::Automaton, automaton),
            candidate(NextKind::Ngrams, ngrams),
            missing(NextKind::SrLstmP, None),
            candidate(NextKind::Lstm, lstm),
        ]
    }

    #[test]
    fn the_most_readable_within_one_error_of_the_best_is_kept() {
        let kept = |candidates: &[NextCandidate]| choose(candidates, Preference::Readable);
        assert_eq!(kept(&all(1.09, 1.05, 1.0)), (1, KeepReason::WithinOneError));
        assert_eq!(kept(&all(1.2, 1.05, 1.0)), (2, KeepReason::WithinOneError));
        assert_eq!(kept(&all(1.2, 1.15, 1.0)), (4, KeepReason::Best));
        assert_eq!(kept(&all(1.0, 1.0, 1.0)), (1, KeepReason::Best));
        assert_eq!(choose(&all(1.09, 1.05, 1.0), Preference::Accuracy), (4, KeepReason::Best));
        assert_eq!(kept(&all(3.0, 2.95, 3.1)), (2, KeepReason::NothingLearned));
        let mut large = all(1.0, 1.05, 1.0);
        large[1].note = Some("too many states to read".into());
        assert_eq!(kept(&large), (2, KeepReason::WithinOneError));
    }
}
