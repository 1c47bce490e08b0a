//! Validation curves of the trials of an experiment.

use super::matching::{MatchedTrial, match_outcomes, seeds_of, selected};
use super::{CurvePoint, DataSpec, Experiment, ModelSpec, TrialId, TrialOutcome};
use serde::Serialize;

/// The validation curves of a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetCurves {
    /// The data set.
    pub data: String,
    /// The score of the best memoryless predictor, if it is known.
    pub baseline: Option<f64>,
    /// The curves of each model that has a result.
    pub models: Vec<ModelCurves>,
}

/// The validation curves of a model: all seeds of the setting that the table selects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelCurves {
    /// The model.
    pub model: String,
    /// The setting.
    pub setting: String,
    /// The curve of the selected trial: updates made, and the score after them.
    pub selected: Vec<(u64, f64)>,
    /// The curves of the other seeds that have a result.
    pub others: Vec<Vec<(u64, f64)>>,
}

/// The curves of every data set, from the trials run so far.
pub fn curves(experiment: &Experiment, outcomes: &[TrialOutcome]) -> Vec<DatasetCurves> {
    let runs = match_outcomes(experiment, outcomes);
    let of_data = |data: &DataSpec| {
        let curve = |model: &ModelSpec| {
            let here =
                |(trial, _): &&MatchedTrial<'_, '_>| trial.data == data && trial.model == model;
            curve(experiment, &runs.iter().filter(here).copied().collect::<Vec<_>>())
        };
        DatasetCurves {
            data: data.name.clone(),
            baseline: experiment.baseline(data),
            models: experiment.models.iter().filter_map(curve).collect(),
        }
    };
    experiment.data.iter().map(of_data).collect()
}

/// Every point of every trial, selected or not, in the order of the trials.
pub fn curve_points(
    experiment: &Experiment,
    outcomes: &[TrialOutcome],
) -> Vec<(TrialId, CurvePoint)> {
    let points = |(trial, outcome): MatchedTrial<'_, '_>| {
        let history = outcome.map_or(vec![], |outcome| outcome.history.clone());
        history.into_iter().map(|point| (trial.id(), point)).collect::<Vec<_>>()
    };
    match_outcomes(experiment, outcomes).into_iter().flat_map(points).collect()
}

/// The curves of one model on one data set; `None` where no trial has a result.
fn curve(experiment: &Experiment, runs: &[MatchedTrial<'_, '_>]) -> Option<ModelCurves> {
    let (trial, own) = runs[selected(experiment.measure, runs)?];
    let own = own?;
    let point = |p: &CurvePoint| (p.update, experiment.measure.of(p.error, p.loss));
    let along = |outcome: &TrialOutcome| outcome.history.iter().map(point).collect();
    let mut others = seeds_of(trial.setting, runs);
    others.retain(|other| other.scores.is_some() && other.settings != own.settings);
    Some(ModelCurves {
        model: trial.model.name.clone(),
        setting: trial.setting.name.clone(),
        selected: along(own),
        others: others.into_iter().map(along).collect(),
    })
}
