//! The search for wrong labels, if no network fits all of them.
//!
//! Labels are accepted if some network classifies every one correctly, now or at an earlier
//! evaluation. Otherwise either the networks are inadequate or some labels are wrong. Labels are
//! suspected if the automaton with the minimum description length (MDL) explains nearly all of them
//! and is as accurate on the validation set as the best network. Note that the automaton is also
//! selected on the validation set.

use super::{LearnCallbacks, Pipeline, Round};
use crate::noise::{
    CandidateAutomaton, MdlSelection, SearchBudget, SuspectedLabel, candidate_automata,
    prefix_tree, select_by_mdl, suspected_labels,
};
use crate::task::{Split, Subset};
use crate::train::{Evaluation, Record, SeedOutcome};

/// Whether labels may be corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelPolicy {
    /// Labels are checked if no network fits all of them.
    #[default]
    Check,
    /// Labels are never changed.
    Trust,
}

/// The result of the label check.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelVerdict {
    /// The labels are used as given: a network fits all of them, or the policy is to trust them.
    Trusted,
    /// No network fits all labels, and still none is corrected.
    NotCorrected(NotCorrected),
    /// Some labels are suspected to be wrong; networks were retrained with corrected labels.
    Corrected(Box<Correction>),
}

/// Why no label is corrected although no network fits all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum NotCorrected {
    /// No automaton could be extracted from any network.
    NoAutomaton,
    /// An automaton fits all labels, so the networks are inadequate.
    NoErrors(Box<MdlSelection>),
    /// A network fitted all labels it was evaluated on, and later did not.
    FittedEarlier {
        /// The seed of the network.
        seed: u64,
        /// The last update after which it fitted them.
        update: u64,
    },
    /// The selected automaton contradicts more than a few labels, or has a single state.
    TooManyErrors(Box<MdlSelection>),
    /// Its description length is hardly below the baseline: the labels are random, or the language
    /// is not regular.
    WeakCompression(Box<MdlSelection>),
    /// It is less accurate on the validation set than the best network.
    LessAccurate(Box<MdlSelection>),
}

/// The correction of suspected labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// The automaton that was selected by description length.
    pub selected: MdlSelection,
    /// The labels that it contradicts.
    pub suspects: Vec<SuspectedLabel>,
    /// The networks of all rounds before the last.
    pub earlier_rounds: Vec<(Round, Vec<SeedOutcome<f32>>)>,
    /// The last round.
    pub round: Round,
    /// Whether the automaton of the last network equals the selected one.
    pub reproduced: bool,
}

/// The largest fraction of labels that may be suspected.
pub(super) const MAX_ERROR_RATE: f64 = 0.2;

/// The selected automaton must save a tenth of the baseline's bits. Noise of 10 % on rare positives
/// leaves three quarters of them; palindromes, which no automaton explains, more than nine tenths.
const MAX_BITS_RATIO: f64 = 0.9;

/// Larger automata are not simplified, because that takes too long.
const MAX_STATES: usize = 512;

/// Whether contradicted labels may be mistakes: they are few, and the automaton compresses the labels.
pub(super) fn may_be_noise(errors: usize, labels: usize, bits: f64, baseline_bits: f64) -> bool {
    errors as f64 <= MAX_ERROR_RATE * labels as f64 && bits <= MAX_BITS_RATIO * baseline_bits
}

/// Whether some network classifies every label correctly.
pub(super) fn any_fits(outcomes: &[SeedOutcome<f32>]) -> bool {
    outcomes.iter().any(fits)
}

/// Whether a network classifies every label correctly.
pub(super) fn fits(outcome: &SeedOutcome<f32>) -> bool {
    let perfect = |evaluation: &Evaluation| evaluation.accuracy == 1.0;
    let end = outcome.run.final_evaluation.as_ref();
    end.is_some_and(|end| perfect(&end.train) && perfect(&end.valid))
}

/// Selects an automaton by description length and decides whether the labels it contradicts are to
/// be corrected.
pub(super) fn check_labels<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    outcomes: &[SeedOutcome<f32>],
) -> Result<MdlSelection, NotCorrected> {
    let split = &pipeline.request.data.split;
    let cap = pipeline.request.extraction.refine.cap.min(MAX_STATES);
    let trained = outcomes.iter().filter(|outcome| outcome.run.final_evaluation.is_some());
    let found: Vec<(u64, Vec<CandidateAutomaton>)> = trained
        .map(|outcome| {
            let mut engine = pipeline.request.engine(&outcome.model);
            let candidates =
                candidate_automata(&mut engine, &pipeline.alphabet, &pipeline.words, cap);
            (outcome.seed, candidates)
        })
        .collect();
    if found.iter().all(|(_, candidates)| candidates.is_empty()) {
        return Err(NotCorrected::NoAutomaton);
    }
    let labels = prefix_tree(&[&split.train, &split.valid]);
    let plan = pipeline.request.candidates.as_ref();
    let budget = plan
        .map_or_else(SearchBudget::default, |plan| SearchBudget { steps: plan.limits.label_steps });
    let selected = select_by_mdl(&found, &labels, budget).expect("there are candidates");
    accept(selected, split, outcomes)
}

/// The last update after which a network was correct on the training sample and on the whole
/// validation set. Labels that can be learned like this are not noise; hardening may lose some.
fn fitted_earlier(outcome: &SeedOutcome<f32>) -> Option<(u64, u64)> {
    let fits = |record: &&Record| record.train.accuracy == 1.0 && record.valid.accuracy == 1.0;
    outcome.run.history.iter().rev().find(fits).map(|record| (outcome.seed, record.update))
}

fn accept(
    selected: MdlSelection,
    split: &Split,
    outcomes: &[SeedOutcome<f32>],
) -> Result<MdlSelection, NotCorrected> {
    let (states, wrong) = (selected.simplified.automaton.state_count(), selected.simplified.errors);
    if wrong == 0 {
        return Err(NotCorrected::NoErrors(Box::new(selected)));
    }
    if let Some((seed, update)) = outcomes.iter().find_map(fitted_earlier) {
        return Err(NotCorrected::FittedEarlier { seed, update });
    }
    if states == 1 || wrong as f64 > MAX_ERROR_RATE * selected.labels as f64 {
        return Err(NotCorrected::TooManyErrors(Box::new(selected)));
    }
    if selected.simplified.bits > MAX_BITS_RATIO * selected.baseline_bits {
        return Err(NotCorrected::WeakCompression(Box::new(selected)));
    }
    let suspects = suspected_labels(&selected.simplified.automaton, split);
    let valid_errors =
        suspects.iter().filter(|suspect| suspect.part == Subset::Valid).count() as f64;
    let errors = |outcome: &SeedOutcome<f32>| {
        let end = outcome.run.final_evaluation.as_ref()?;
        Some(((1.0 - end.valid.accuracy) * split.valid.sequences.len() as f64).round())
    };
    let best = outcomes.iter().filter_map(errors).fold(f64::INFINITY, f64::min);
    // A difference of one standard deviation of the number of errors is not significant.
    match valid_errors <= best + best.sqrt() {
        true => Ok(selected),
        false => Err(NotCorrected::LessAccurate(Box::new(selected))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{EvalScore, Phase, Run, Stop};

    fn outcome(history: &[(f64, f64)]) -> SeedOutcome<f32> {
        let score = |accuracy| EvalScore { accuracy, loss: 0.1 };
        let record = |(index, &(train, valid)): (usize, &(f64, f64))| Record {
            update: 200 * (index as u64 + 1),
            phase: Phase::Settle,
            lambda: 1.0,
            learning_rate: 1e-3,
            loss: 0.1,
            task: 0.1,
            commitment: 0.0,
            entropy: 0.0,
            saturation: 0.0,
            writing: 0.0,
            gradient_norm: 1.0,
            train: score(train),
            valid: score(valid),
        };
        let history = history.iter().enumerate().map(record).collect();
        let run = Run {
            stop: Stop::Completed,
            updates: 800,
            kept: 800,
            skipped_updates: 0,
            history,
            final_evaluation: None,
        };
        let recipe = crate::train::recipe_default(&crate::train::Sizes::of(2, 2));
        let model = crate::model::Model::new(recipe.arch, &recipe.init, crate::key::Key::new(1));
        SeedOutcome { seed: 3, run, model: model.unwrap(), phases: vec![], quality: None }
    }

    #[test]
    fn the_last_update_that_fitted_all_labels_is_found() {
        let lost = outcome(&[(0.9, 1.0), (1.0, 1.0), (1.0, 1.0), (0.99, 0.97)]);
        assert_eq!(fitted_earlier(&lost), Some((3, 600)));
        assert_eq!(fitted_earlier(&outcome(&[(1.0, 0.95), (0.99, 1.0)])), None);
    }
}
