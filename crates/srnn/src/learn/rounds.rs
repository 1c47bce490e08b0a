//! The rounds of training: a short one, the full one two seeds at a time, and one with corrected
//! labels.
//!
//! Training ends as soon as a network fits all labels and is proved equal to its automaton: further
//! seeds could not be better.

use super::label_check::{any_fits, check_labels, fits};
use super::retrain::{Retrained, retrain};
use super::{
    Correction, LabelPolicy, LabelVerdict, LearnCallbacks, LearnError, Learned, Pipeline, Round,
    Stage,
};
use crate::noise::suspected_labels;
use crate::train::{Recipe, SeedOutcome};

/// Seeds that are trained before it is decided whether more are needed. The number does not depend
/// on the machine, so that the same command gives the same result everywhere.
pub(super) const SEEDS_AT_A_TIME: usize = 2;

/// The full training must be this many times as long as the short one, or the short one is left out.
const MIN_RATIO: u64 = 2;

/// The result of the short training.
pub(super) enum ShortTraining<'a> {
    /// A network fits all labels and is proved: nothing else has to be trained.
    Solved(Box<Learned<'a>>),
    /// Networks that do not solve the task; empty if there is no short training.
    Unsolved(Vec<SeedOutcome<f32>>),
}

/// Learns with the recipe of the request.
pub(super) fn learn_automaton<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
) -> Result<Learned<'a>, LearnError> {
    match short_training(pipeline)? {
        ShortTraining::Solved(learned) => Ok(*learned),
        ShortTraining::Unsolved(short) => full_training(pipeline, short),
    }
}

/// Trains the first seeds for a few updates.
pub(super) fn short_training<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
) -> Result<ShortTraining<'a>, LearnError> {
    let Some(recipe) = short_recipe(pipeline) else { return Ok(ShortTraining::Unsolved(vec![])) };
    let seeds = pipeline.request.seeds.chunks(SEEDS_AT_A_TIME).next().unwrap_or_default();
    let outcomes = train(pipeline, &recipe, seeds, Round::Short)?;
    let Some(learned) = solved(pipeline, Round::Short, &outcomes)? else {
        return Ok(ShortTraining::Unsolved(outcomes));
    };
    let untrained = pipeline.request.seeds[seeds.len()..].to_vec();
    Ok(ShortTraining::Solved(Box::new(Learned { untrained, ..learned })))
}

/// Trains as long as the recipe says, and with corrected labels if some are probably wrong. `short`
/// are the networks of the short training; they become part of the result.
pub(super) fn full_training<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    short: Vec<SeedOutcome<f32>>,
) -> Result<Learned<'a>, LearnError> {
    let mut learned = all_seeds(pipeline)?;
    if !short.is_empty() {
        learned.other_rounds.push((Round::Short, short));
    }
    Ok(learned)
}

/// The recipe of the short training; `None` if there is none, or if no proof can end it.
fn short_recipe<C: LearnCallbacks>(pipeline: &Pipeline<'_, '_, C>) -> Option<Recipe> {
    let (recipe, updates) = (&pipeline.request.recipe, pipeline.request.short_updates);
    let schedule = &recipe.train.schedule;
    let provable = recipe.arch.is_memoryless() && recipe.arch.is_state_regularized();
    if updates == 0 || !provable || schedule.updates() < MIN_RATIO * updates {
        return None;
    }
    let mut recipe = recipe.clone();
    recipe.train.schedule = schedule.scaled_to(updates);
    Some(recipe)
}

fn all_seeds<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
) -> Result<Learned<'a>, LearnError> {
    let request = pipeline.request;
    let mut outcomes = vec![];
    for seeds in request.seeds.chunks(SEEDS_AT_A_TIME) {
        outcomes.extend(train(pipeline, &request.recipe, seeds, Round::Given)?);
        if outcomes.len() < request.seeds.len()
            && let Some(learned) = solved(pipeline, Round::Given, &outcomes)?
        {
            let untrained = request.seeds[outcomes.len()..].to_vec();
            return Ok(Learned { untrained, ..learned });
        }
    }
    if request.label_policy == LabelPolicy::Trust || any_fits(&outcomes) {
        return pipeline.finish(Round::Given, outcomes, LabelVerdict::Trusted);
    }
    pipeline.begin(Stage::CheckLabels)?;
    let selected = match check_labels(pipeline, &outcomes) {
        Err(why) => {
            return pipeline.finish(Round::Given, outcomes, LabelVerdict::NotCorrected(why));
        }
        Ok(selected) => selected,
    };
    pipeline.begin(Stage::Retrain)?;
    let Retrained { mut rounds, reproduced } = retrain(pipeline, &selected.simplified.automaton)?;
    rounds.insert(0, (Round::Given, outcomes));
    let (round, last) = rounds.pop().expect("there is a retraining round");
    let suspects = suspected_labels(&selected.simplified.automaton, &request.data.split);
    let correction = Correction { selected, suspects, earlier_rounds: rounds, round, reproduced };
    pipeline.finish(round, last, LabelVerdict::Corrected(Box::new(correction)))
}

fn train<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    recipe: &Recipe,
    seeds: &[u64],
    round: Round,
) -> Result<Vec<SeedOutcome<f32>>, LearnError> {
    pipeline.begin(Stage::Train)?;
    pipeline.train(recipe, seeds, round, &pipeline.request.data.split)
}

/// The result, if a network fits all labels and is proved equal to its automaton.
fn solved<'a, C: LearnCallbacks>(
    pipeline: &Pipeline<'_, 'a, C>,
    round: Round,
    outcomes: &[SeedOutcome<f32>],
) -> Result<Option<Learned<'a>>, LearnError> {
    if !any_fits(outcomes) {
        return Ok(None);
    }
    let learned = pipeline.finish(round, outcomes.to_vec(), LabelVerdict::Trusted)?;
    Ok(Some(learned).filter(|learned| learned.is_proved() && fits(learned.kept())))
}
