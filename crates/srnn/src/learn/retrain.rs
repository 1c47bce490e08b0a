//! Retraining with corrected labels.

use super::select::extract_cover;
use super::{LearnCallbacks, LearnError, Pipeline, Round};
use crate::noise::correct_labels;
use crate::task::Split;
use crate::train::SeedOutcome;
use srnn_automata::Moore;

/// Networks trained on corrected labels.
pub(super) struct Retrained {
    /// In the order of training; never empty.
    pub rounds: Vec<(Round, Vec<SeedOutcome<f32>>)>,
    /// Whether the automaton of the last network equals the selected one.
    pub reproduced: bool,
}

/// Trains one seed after the other until a network's automaton equals the selected one. A network may
/// fail because it lacks the held-out words, short ones above all. So if no seed succeeds, all are
/// trained again on training and validation set together, unless candidates are compared.
pub(super) fn retrain<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    selected: &Moore<u32>,
) -> Result<Retrained, LearnError> {
    let held_out = correct_labels(selected, &pipeline.request.data.split);
    let mut all = held_out.clone();
    all.train.sequences.extend(held_out.valid.sequences.iter().cloned());
    let mut rounds = vec![];
    let mut tried = vec![(Round::Corrected, &held_out)];
    // Candidates are compared on the validation set, so none may be trained on it.
    if pipeline.request.candidates.is_none() {
        tried.push((Round::CorrectedAll, &all));
    }
    for (round, split) in tried {
        let (outcomes, reproduced) = train_round(pipeline, selected, round, split)?;
        rounds.push((round, outcomes));
        if reproduced {
            return Ok(Retrained { rounds, reproduced });
        }
    }
    Ok(Retrained { rounds, reproduced: false })
}

fn train_round<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    selected: &Moore<u32>,
    round: Round,
    split: &Split,
) -> Result<(Vec<SeedOutcome<f32>>, bool), LearnError> {
    let mut outcomes = vec![];
    let plan = pipeline.request.candidates.as_ref();
    let most = plan.map_or(usize::MAX, |plan| plan.limits.retrained_seeds);
    let mut recipe = pipeline.request.recipe.clone();
    if let Some(plan) = plan
        && plan.limits.retrain_updates < recipe.train.schedule.updates()
    {
        recipe.train.set_updates(plan.limits.retrain_updates);
    }
    for seed in pipeline.request.seeds.iter().take(most) {
        outcomes.extend(pipeline.train(&recipe, std::slice::from_ref(seed), round, split)?);
        let last = outcomes.last().expect("one seed was trained");
        let found = last
            .run
            .final_evaluation
            .as_ref()
            .and_then(|_| extract_cover(pipeline, &last.model, &last.model.to_f64())?.kept);
        if found.is_some_and(|kept| kept.minimal == *selected) {
            return Ok((outcomes, true));
        }
    }
    Ok((outcomes, false))
}
