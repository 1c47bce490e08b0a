//! Which candidate is kept.

use super::{Candidate, CandidateKind};
use serde::{Deserialize, Serialize};

/// What matters most when a candidate is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// The most readable candidate within one standard error of the best.
    #[default]
    Readable,
    /// The highest score.
    Accuracy,
    /// An automaton, if there is one.
    Automaton,
    /// A proved automaton, if there is one.
    Proof,
}

impl Preference {
    /// All of them.
    pub const ALL: [Preference; 4] =
        [Preference::Readable, Preference::Accuracy, Preference::Automaton, Preference::Proof];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Preference::Readable => "readable",
            Preference::Accuracy => "accuracy",
            Preference::Automaton => "automaton",
            Preference::Proof => "proof",
        }
    }
}

/// Why a candidate is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepReason {
    /// It has the highest score.
    Best,
    /// It is the most readable within one standard error of the best.
    WithinOneError,
    /// It is the preferred kind.
    Preferred,
    /// The preferred kind does not exist, so the most readable within one error is kept.
    PreferredMissing,
    /// No candidate is better than the majority class by a standard error; the best one is kept.
    NothingLearned,
}

/// The index of the highest score among candidates that can be kept. Beside scores of a
/// cross-validation, a score on the few sequences of the validation set counts with its standard error
/// subtracted.
pub(super) fn best(candidates: &[Candidate]) -> Option<usize> {
    let folds = candidates.iter().any(|candidate| candidate.cross_validated.is_some());
    let score = |index: usize| match (candidates[index].score(), candidates[index].cross_validated)
    {
        (None, _) => f64::NEG_INFINITY,
        (Some(score), None) if folds => score.value - score.error,
        (Some(score), _) => score.value,
    };
    let eligible = (0..candidates.len()).filter(|&index| candidates[index].is_eligible());
    // The first of equal ones is the most readable.
    eligible.reduce(|best, next| if score(next) > score(best) { next } else { best })
}

/// The index of the candidate to keep, and why; `None` if none can be kept. `candidates` are in the
/// order of readability.
pub(super) fn choose(
    candidates: &[Candidate],
    preference: Preference,
) -> Option<(usize, KeepReason)> {
    let best = best(candidates)?;
    let wanted = match preference {
        Preference::Readable => return Some(readable(candidates, best)),
        Preference::Accuracy => return Some((best, KeepReason::Best)),
        Preference::Automaton => has_automaton as fn(&Candidate) -> bool,
        Preference::Proof => |c: &Candidate| c.proved && has_automaton(c),
    };
    match fewest_states(candidates, wanted) {
        Some(index) => Some((index, KeepReason::Preferred)),
        None => Some((readable(candidates, best).0, KeepReason::PreferredMissing)),
    }
}

/// The index of the automaton with the fewest states, the first of equal ones.
fn fewest_states(candidates: &[Candidate], wanted: impl Fn(&Candidate) -> bool) -> Option<usize> {
    let wanted = (0..candidates.len()).filter(|&index| wanted(&candidates[index]));
    wanted.min_by_key(|&index| candidates[index].states)
}

/// Also automata that are too large to be kept by default.
fn has_automaton(candidate: &Candidate) -> bool {
    candidate.valid.is_some() && candidate.states.is_some()
}

fn readable(candidates: &[Candidate], best: usize) -> (usize, KeepReason) {
    let top = candidates[best].score().expect("the best has a score");
    let majority = candidates.iter().find(|c| c.kind == CandidateKind::Majority);
    if majority.and_then(Candidate::score).is_some_and(|m| top.value <= m.value + top.error) {
        return (best, KeepReason::NothingLearned);
    }
    let close = |c: &Candidate| {
        c.is_eligible() && c.score().is_some_and(|score| score.value >= top.value - top.error)
    };
    // Of several automata the one with the fewest states is the most readable.
    let automaton = fewest_states(candidates, |c| close(c) && c.states.is_some());
    let index = automaton.or_else(|| candidates.iter().position(close)).unwrap_or(best);
    let equal = candidates[index].score().is_some_and(|score| score.value == top.value);
    (index, if equal { KeepReason::Best } else { KeepReason::WithinOneError })
}

#[cfg(test)]
mod tests {
    use super::super::HeldOutScore;
    use super::*;

    fn candidate(kind: CandidateKind, value: f64) -> Candidate {
        let score = HeldOutScore { value, error: 0.01 };
        let (cross_validated, test, states, note, remark) = (None, None, None, None, None);
        let valid = Some(score);
        Candidate { kind, valid, cross_validated, test, states, proved: false, note, remark }
    }

    fn all(automaton: f64, soft: f64, lstm: f64, ngrams: f64) -> Vec<Candidate> {
        vec![
            candidate(CandidateKind::Majority, 0.5),
            Candidate {
                states: Some(5),
                proved: true,
                ..candidate(CandidateKind::Automaton, automaton)
            },
            candidate(CandidateKind::SrGru, soft),
            candidate(CandidateKind::Lstm, lstm),
            candidate(CandidateKind::Ngrams, ngrams),
        ]
    }

    fn kept(candidates: &[Candidate], preference: Preference) -> (CandidateKind, KeepReason) {
        let (index, reason) = choose(candidates, preference).unwrap();
        (candidates[index].kind, reason)
    }

    #[test]
    fn the_most_readable_within_one_error_is_kept() {
        let (automaton, lstm) = (CandidateKind::Automaton, CandidateKind::Lstm);
        let readable = |set: &[Candidate]| kept(set, Preference::Readable);
        assert_eq!(readable(&all(0.9, 0.9, 0.905, 0.8)), (automaton, KeepReason::WithinOneError));
        assert_eq!(readable(&all(0.9, 0.9, 0.9, 0.9)), (automaton, KeepReason::Best));
        assert_eq!(readable(&all(0.5, 0.7, 0.905, 0.8)), (lstm, KeepReason::Best));
        let soft = (CandidateKind::SrGru, KeepReason::WithinOneError);
        assert_eq!(readable(&all(0.5, 0.896, 0.905, 0.8)), soft);
    }

    #[test]
    fn of_several_automata_the_one_with_the_fewest_states_is_kept() {
        let mut set = all(0.9, 0.9, 0.905, 0.8);
        let merged = |states, value| Candidate {
            states: Some(states),
            ..candidate(CandidateKind::Merged, value)
        };
        set.insert(2, merged(4, 0.896));
        assert_eq!(kept(&set, Preference::Readable).0, CandidateKind::Merged);
        set[2] = merged(5, 0.9);
        assert_eq!(kept(&set, Preference::Readable).0, CandidateKind::Automaton);
        set[2] = merged(4, 0.89);
        assert_eq!(kept(&set, Preference::Readable).0, CandidateKind::Automaton);
        assert_eq!(kept(&set, Preference::Automaton).0, CandidateKind::Merged);
        assert_eq!(kept(&set, Preference::Proof).0, CandidateKind::Automaton);
    }

    #[test]
    fn folds_decide_and_a_score_on_few_sequences_alone_counts_less() {
        // The automaton was not cross-validated: 0.95 ± 0.05 on a small validation set.
        let mut set = all(0.95, 0.9, 0.99, 0.9);
        set[1].valid = Some(HeldOutScore { value: 0.95, error: 0.05 });
        let folds = |value| Some(HeldOutScore { value, error: 0.01 });
        for (candidate, value) in set.iter_mut().skip(2).zip([0.8, 0.85, 0.92]) {
            candidate.cross_validated = folds(value);
        }
        assert_eq!(kept(&set, Preference::Accuracy).0, CandidateKind::Ngrams);
        assert_eq!(kept(&set, Preference::Readable).0, CandidateKind::Automaton);
        set[1].valid = Some(HeldOutScore { value: 0.9, error: 0.05 });
        assert_eq!(kept(&set, Preference::Readable).0, CandidateKind::Ngrams);
    }

    #[test]
    fn preferences_override_readability() {
        let set = all(0.6, 0.7, 0.9, 0.8);
        assert_eq!(kept(&set, Preference::Accuracy).0, CandidateKind::Lstm);
        let preferred = (CandidateKind::Automaton, KeepReason::Preferred);
        assert_eq!(kept(&set, Preference::Automaton), preferred);
        assert_eq!(kept(&set, Preference::Proof), preferred);
        let mut unproved = set.clone();
        unproved[1].proved = false;
        unproved[1].note = Some("too many states".into());
        assert_eq!(kept(&unproved, Preference::Automaton), preferred);
        let missing = (CandidateKind::Lstm, KeepReason::PreferredMissing);
        assert_eq!(kept(&unproved, Preference::Proof), missing);
    }

    #[test]
    fn candidates_with_a_note_and_the_majority_are_not_kept() {
        let mut set = all(0.95, 0.7, 0.9, 0.8);
        set[1].note = Some("too many states".into());
        assert_eq!(kept(&set, Preference::Readable), (CandidateKind::Lstm, KeepReason::Best));
        let nothing = all(0.505, 0.5, 0.49, 0.4);
        let expected = (CandidateKind::Automaton, KeepReason::NothingLearned);
        assert_eq!(kept(&nothing, Preference::Readable), expected);
        assert_eq!(choose(&[candidate(CandidateKind::Majority, 0.5)], Preference::Readable), None);
    }
}
