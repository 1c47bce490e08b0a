//! Candidates that are networks: the soft SR-GRU, and networks of other architectures.

use super::entries::{Entry, HeldOut, Scale, Trained, empty, missing};
use super::{CandidateKind, CandidatePlan};
use crate::engine::Mode;
use crate::learn::{LearnCallbacks, LearnError, Learned, Pipeline, Round, Stage};
use crate::model::Model;
use crate::task::Dataset;
use crate::train::{Control, Phase, Recipe, SeedOutcome, Stop, evaluate, select};

/// A network that a training passed through.
pub(super) struct PassedNetwork {
    /// The index of its seed.
    pub seed: usize,
    /// Updates made.
    pub update: u64,
    /// The network.
    pub model: Model<f32>,
}

/// The network of lowest validation loss among the results of all seeds and the networks before
/// hardening; `None` if no seed has a result.
pub(super) fn lowest_loss(outcomes: &[SeedOutcome<f32>]) -> Option<PassedNetwork> {
    let mut found: Option<(f64, PassedNetwork)> = None;
    let mut consider = |loss: f64, network: &dyn Fn() -> PassedNetwork| {
        if found.as_ref().is_none_or(|(least, _)| loss < *least) {
            found = Some((loss, network()));
        }
    };
    for (seed, outcome) in outcomes.iter().enumerate() {
        let Some(loss) = validation_loss(outcome) else { continue };
        let passed = |update, model| PassedNetwork { seed, update, model };
        consider(loss, &|| passed(outcome.run.kept, outcome.model.clone()));
        for phase in outcome.phases.iter().filter(|phase| phase.record.phase >= Phase::Settle) {
            let model = || phase.model(&outcome.model.arch);
            consider(phase.record.valid.loss, &|| passed(phase.record.update, model()));
        }
    }
    found.map(|(_, network)| network)
}

/// The validation loss of a result; `None` if training has none.
pub(super) fn validation_loss(outcome: &SeedOutcome<f32>) -> Option<f64> {
    outcome.run.final_evaluation.as_ref().map(|end| end.valid.loss)
}

/// The SR-GRU as a network whose states need not form an automaton. `failure` says why it has no
/// result.
pub(super) fn sr_gru<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    learned: &Learned<'_>,
    failure: Option<&str>,
) -> Entry {
    let kind = CandidateKind::SrGru;
    let found = if failure.is_none() { lowest_loss(&learned.outcomes) } else { None };
    let Some(PassedNetwork { seed, update, model }) = found else {
        return missing(kind, failure.unwrap_or("no seed has a result"));
    };
    let held_out = run_network(pipeline, scale, &model);
    scale.entry(kind, held_out, Some(Trained::Phase { seed, update, model: Box::new(model) }))
}

/// A network of another architecture: trained unless `skipped` says why not.
pub(super) fn network<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    plan: &CandidatePlan,
    (kind, recipe): (CandidateKind, &Recipe),
    skipped: Option<&str>,
) -> Result<Entry, LearnError> {
    if let Some(why) = skipped {
        return Ok(missing(kind, why));
    }
    match pipeline.callbacks.stage(Stage::Candidate(kind)) {
        Control::Continue => {}
        Control::Interrupt => return Err(LearnError::Interrupted),
        Control::TimeUp => return Ok(missing(kind, "not tried: the budget is used up")),
    }
    let round = Round::Candidate(kind);
    let outcomes = pipeline.train(recipe, &plan.seeds, round, &scale.data.split)?;
    let Some(selection) = select(&outcomes) else {
        let candidate = empty(kind, outcomes.first().map(|first| failed(&first.run.stop)));
        return Ok(Entry { candidate, held_out: None, trained: None });
    };
    let held_out = run_network(pipeline, scale, &outcomes[selection.index].model);
    Ok(scale.entry(kind, held_out, Some(Trained::Network { round, outcomes, selection })))
}

/// The note of a candidate whose training has no result.
pub(super) fn failed(stop: &Stop) -> String {
    format!("failed: {}", stop.cause())
}

fn run_network<C: LearnCallbacks>(
    pipeline: &Pipeline<'_, '_, C>,
    scale: &Scale<'_>,
    model: &Model<f32>,
) -> HeldOut {
    let mut engine = pipeline.request.engine(model);
    let split = &scale.data.split;
    let mut evaluated = |set: &Dataset| {
        let Ok(evaluation) = evaluate(&mut engine, set, Mode::default());
        evaluation
    };
    let valid = evaluated(&split.valid);
    let test = split.test.as_ref().filter(|test| !test.sequences.is_empty());
    HeldOut { valid, test: test.map(evaluated) }
}
