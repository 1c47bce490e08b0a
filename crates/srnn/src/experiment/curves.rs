//! The validation set along the runs of an experiment.

use super::found::{Ran, found, seeds_of, selected};
use super::{CellId, Data, Experiment, Network, Outcome, Point};
use serde::Serialize;

/// The curves of a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// The data set.
    pub data: String,
    /// What the best that has no memory scores, where it is known.
    pub baseline: Option<f64>,
    /// One for each model that has a result.
    pub models: Vec<Curve>,
}

/// A model's curves: of the seeds of the setting that is selected for the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The model.
    pub model: String,
    /// The setting.
    pub setting: String,
    /// Updates and the score after them, of the selected run.
    pub selected: Vec<(u64, f64)>,
    /// The same of the other seeds that have a result.
    pub others: Vec<Vec<(u64, f64)>>,
}

/// The curves of every data set, as far as it was run.
pub fn curves(experiment: &Experiment, outcomes: &[Outcome]) -> Vec<Curves> {
    let runs = found(experiment, outcomes);
    let of = |data: &Data| {
        let curve = |model: &Network| {
            let here = |(cell, _): &&Ran<'_, '_>| cell.data == data && cell.model == model;
            curve(experiment, &runs.iter().filter(here).copied().collect::<Vec<_>>())
        };
        Curves {
            data: data.name.clone(),
            baseline: experiment.baseline(data),
            models: experiment.models.iter().filter_map(curve).collect(),
        }
    };
    experiment.data.iter().map(of).collect()
}

/// Every point of every run, also of those that were not selected, in the order of the cells.
pub fn points(experiment: &Experiment, outcomes: &[Outcome]) -> Vec<(CellId, Point)> {
    let of = |(cell, outcome): Ran<'_, '_>| {
        let history = outcome.map_or(vec![], |outcome| outcome.history.clone());
        history.into_iter().map(|point| (cell.id(), point)).collect::<Vec<_>>()
    };
    found(experiment, outcomes).into_iter().flat_map(of).collect()
}

/// The curves of one data set and one model.
fn curve(experiment: &Experiment, runs: &[Ran<'_, '_>]) -> Option<Curve> {
    let (cell, own) = runs[selected(experiment.measure, runs)?];
    let own = own?;
    let point = |p: &Point| (p.update, experiment.measure.of(p.error, p.loss));
    let along = |outcome: &Outcome| outcome.history.iter().map(point).collect();
    let mut others = seeds_of(cell.setting, runs);
    others.retain(|other| other.scores.is_some() && other.settings != own.settings);
    Some(Curve {
        model: cell.model.name.clone(),
        setting: cell.setting.name.clone(),
        selected: along(own),
        others: others.into_iter().map(along).collect(),
    })
}
