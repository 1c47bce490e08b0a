//! Networks for an automaton that is believed.

use super::select::trial;
use super::{Job, LearnCallbacks, LearnError, Round};
use crate::noise::correct_labels;
use crate::task::Split;
use crate::train::SeedOutcome;
use srnn_automata::Moore;

/// Networks trained on the labels believed.
pub(super) struct Retrained {
    /// In the order of training; never empty.
    pub rounds: Vec<(Round, Vec<SeedOutcome<f32>>)>,
    /// Whether the automaton of the last is the one believed.
    pub reached: bool,
}

/// Trains one seed after the other until a network's automaton is the one believed. A network may
/// lack just the words that are held out, short ones above all. So if no seed succeeds, all are
/// trained again on training and validation set together.
pub(super) fn retrain<C: LearnCallbacks>(
    job: &Job<'_, '_, C>,
    believed: &Moore<u32>,
) -> Result<Retrained, LearnError> {
    let held_out = correct_labels(believed, &job.request.data.split);
    let mut whole = held_out.clone();
    whole.train.sequences.extend(held_out.valid.sequences.iter().cloned());
    let mut rounds = vec![];
    for (round, split) in [(Round::Believed, &held_out), (Round::Whole, &whole)] {
        let (outcomes, reached) = one_round(job, believed, round, split)?;
        rounds.push((round, outcomes));
        if reached {
            return Ok(Retrained { rounds, reached });
        }
    }
    Ok(Retrained { rounds, reached: false })
}

fn one_round<C: LearnCallbacks>(
    job: &Job<'_, '_, C>,
    believed: &Moore<u32>,
    round: Round,
    split: &Split,
) -> Result<(Vec<SeedOutcome<f32>>, bool), LearnError> {
    let mut outcomes = vec![];
    for seed in &job.request.seeds {
        outcomes.extend(job.train(std::slice::from_ref(seed), round, split)?);
        let last = outcomes.last().expect("one seed was trained");
        let found = last
            .run
            .final_evaluation
            .as_ref()
            .and_then(|_| trial(job, &last.model, &last.model.to_f64())?.kept);
        if found.is_some_and(|kept| kept.minimal == *believed) {
            return Ok((outcomes, true));
        }
    }
    Ok((outcomes, false))
}
