//! When labels are doubted, and what for.
//!
//! Labels that some network gets right, every one, are not doubted, nor those that one had right
//! before its choices were hardened. Where none does, either the
//! networks fall short or some labels are wrong; an automaton that explains nearly all of them, and is
//! right on the validation labels (which it was chosen on, too) as often as the best network, speaks
//! for the latter.

use super::{Job, LearnCallbacks, Round};
use crate::noise::{
    CandidateAutomaton, MdlSelection, PrefixTree, SearchBudget, SuspectedLabel, candidate_automata,
    select_by_mdl, suspected_labels,
};
use crate::task::{Split, Subset};
use crate::train::{Evaluation, Record, SeedOutcome};

/// What labels are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// They are doubted where no network is right on all of them.
    #[default]
    WhileTheyFit,
    /// They are never doubted.
    Always,
}

/// What was made of the labels.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// Taken as they are: a network is right on all of them, or they are trusted anyway.
    Trusted,
    /// No network is right on all of them, and no automaton explains that by a few wrong ones.
    Unexplained(Unexplained),
    /// Some are believed wrong; networks were trained again with those believed.
    Corrected(Box<Correction>),
}

/// Why labels are left as they are although no network is right on all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Unexplained {
    /// No automaton could be had from any network.
    NoAutomaton,
    /// An automaton is right on all of them: it is the networks that fall short.
    NoneWrong(Box<MdlSelection>),
    /// A network was right on all of them, as far as its evaluations tell, and lost it again.
    RightBefore {
        /// Which.
        seed: u64,
        /// After how many updates, the last time.
        update: u64,
    },
    /// The best automaton contradicts more than a few, or has one state.
    TooMany(Box<MdlSelection>),
    /// It is hardly shorter than the labels by themselves: chance, or a language that is not regular.
    Weak(Box<MdlSelection>),
    /// It is right on fewer validation labels than the best network.
    Worse(Box<MdlSelection>),
}

/// Labels that were corrected.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// The automaton that contradicts them.
    pub belief: MdlSelection,
    /// The labels it contradicts.
    pub suspects: Vec<SuspectedLabel>,
    /// The networks of all rounds before the last.
    pub before: Vec<(Round, Vec<SeedOutcome<f32>>)>,
    /// What the last networks were trained on.
    pub round: Round,
    /// Whether the automaton of the network trained last is the one believed.
    pub reached: bool,
}

/// A few wrong labels are at most this part of all.
const A_FEW: f64 = 0.2;

/// An automaton that explains the labels saves at least a tenth of their bits. Noise of 10 % on rare
/// positives leaves three quarters; palindromes, which no automaton explains, more than nine tenths.
const EXPLAINED: f64 = 0.9;

/// Automata with more states than this are not made shorter: that would take too long.
const MOST_STATES: usize = 512;

/// Whether a network is right on every label, so that nothing speaks against them.
pub(super) fn fits(outcomes: &[SeedOutcome<f32>]) -> bool {
    let right = |e: &Evaluation| e.accuracy == 1.0;
    let ends = outcomes.iter().filter_map(|outcome| outcome.run.final_evaluation.as_ref());
    ends.into_iter().any(|end| right(&end.train) && right(&end.valid))
}

/// Looks for an automaton that explains why no network is right on all labels.
pub(super) fn doubt<C: LearnCallbacks>(
    job: &Job<'_, '_, C>,
    outcomes: &[SeedOutcome<f32>],
) -> Result<MdlSelection, Unexplained> {
    let split = &job.request.data.split;
    let cap = job.request.extraction.refine.cap.min(MOST_STATES);
    let trained = outcomes.iter().filter(|outcome| outcome.run.final_evaluation.is_some());
    let found: Vec<(u64, Vec<CandidateAutomaton>)> = trained
        .map(|outcome| {
            let mut engine = job.request.engine(&outcome.model);
            (outcome.seed, candidate_automata(&mut engine, &job.alphabet, &job.words, cap))
        })
        .collect();
    if found.iter().all(|(_, candidates)| candidates.is_empty()) {
        return Err(Unexplained::NoAutomaton);
    }
    let evidence = PrefixTree::of(&[&split.train, &split.valid]);
    let belief =
        select_by_mdl(&found, &evidence, SearchBudget::default()).expect("there are candidates");
    judged(belief, split, outcomes)
}

/// The last update after which a network was right on the training sample and on the whole
/// validation set: labels that can be learned so are not noise, though hardening may lose some.
fn right_before(outcome: &SeedOutcome<f32>) -> Option<(u64, u64)> {
    let right = |record: &&Record| record.train.accuracy == 1.0 && record.valid.accuracy == 1.0;
    outcome.run.history.iter().rev().find(right).map(|record| (outcome.seed, record.update))
}

fn judged(
    belief: MdlSelection,
    split: &Split,
    outcomes: &[SeedOutcome<f32>],
) -> Result<MdlSelection, Unexplained> {
    let (states, wrong) = (belief.simplified.automaton.state_count(), belief.simplified.errors);
    if wrong == 0 {
        return Err(Unexplained::NoneWrong(Box::new(belief)));
    }
    if let Some((seed, update)) = outcomes.iter().find_map(right_before) {
        return Err(Unexplained::RightBefore { seed, update });
    }
    if states == 1 || wrong as f64 > A_FEW * belief.labels as f64 {
        return Err(Unexplained::TooMany(Box::new(belief)));
    }
    if belief.simplified.bits > EXPLAINED * belief.baseline_bits {
        return Err(Unexplained::Weak(Box::new(belief)));
    }
    let contradicted = suspected_labels(&belief.simplified.automaton, split);
    let mine = contradicted.iter().filter(|suspect| suspect.part == Subset::Valid).count() as f64;
    let errors = |outcome: &SeedOutcome<f32>| {
        let end = outcome.run.final_evaluation.as_ref()?;
        Some(((1.0 - end.valid.accuracy) * split.valid.sequences.len() as f64).round())
    };
    let best = outcomes.iter().filter_map(errors).fold(f64::INFINITY, f64::min);
    // Among so few labels the better of two is known only up to a standard deviation.
    match mine <= best + best.sqrt() {
        true => Ok(belief),
        false => Err(Unexplained::Worse(Box::new(belief))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{EvalScore, Phase, Run, Stop};

    fn outcome(history: &[(f64, f64)]) -> SeedOutcome<f32> {
        let score = |accuracy| EvalScore { accuracy, loss: 0.1 };
        let record = |(place, &(train, valid)): (usize, &(f64, f64))| Record {
            update: 200 * (place as u64 + 1),
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
        SeedOutcome { seed: 3, run, model: model.unwrap(), quality: None }
    }

    #[test]
    fn labels_that_were_learned_once_are_remembered() {
        let lost = outcome(&[(0.9, 1.0), (1.0, 1.0), (1.0, 1.0), (0.99, 0.97)]);
        assert_eq!(right_before(&lost), Some((3, 600)));
        assert_eq!(right_before(&outcome(&[(1.0, 0.95), (0.99, 1.0)])), None);
    }
}
