//! The table of an experiment: our numbers compared with the paper's.

use super::matching::{MatchedTrial, match_outcomes, seeds_of, selected};
use super::{
    DataSpec, Experiment, Measure, ModelSpec, Shortcut, TrainSetting, Trial, TrialId, TrialOutcome,
    Validation,
};
use serde::Serialize;

/// The table of an experiment: our numbers compared with the paper's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultTable {
    /// The name of the experiment.
    pub item: String,
    /// A one-line title.
    pub title: String,
    /// What the paper trains, and where we differ.
    pub about: String,
    /// The measure of its numbers.
    pub measure: Measure,
    /// Where a baseline is known, a hit is a score at most the baseline divided by this.
    pub times_below: f64,
    /// The names of the tests.
    pub rows: Vec<String>,
    /// The number of seeds of every setting.
    pub seeds: u64,
    /// One block for each data set.
    pub blocks: Vec<DatasetBlock>,
}

/// The part of a table for one data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatasetBlock {
    /// The name of the data set.
    pub data: String,
    /// Its source.
    pub spec: String,
    /// The score of the best memoryless predictor, if it is known.
    pub baseline: Option<f64>,
    /// Rules without learning.
    pub shortcuts: Vec<Shortcut>,
    /// One column for each model.
    pub columns: Vec<ModelColumn>,
}

/// The results of a model on a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelColumn {
    /// The model.
    pub model: String,
    /// The number of trials with an outcome.
    pub finished: usize,
    /// The number of all trials.
    #[serde(rename = "cells")]
    pub trials: usize,
    /// The selected trial.
    pub selected: Option<SelectedTrial>,
    /// One entry for each test.
    pub entries: Vec<TableEntry>,
    /// The results of every setting, selected or not.
    #[serde(rename = "tried")]
    pub settings: Vec<SettingResult>,
}

/// The results of a setting of a model on a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingResult {
    /// The name of the setting.
    pub setting: String,
    /// The number of seeds without a result.
    pub diverged: usize,
    /// Statistics of its other seeds for each test; `None` where none has a result.
    pub spreads: Vec<Option<SeedStatistics>>,
}

/// The trial selected by validation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelectedTrial {
    /// Its names.
    #[serde(rename = "cell")]
    pub trial: TrialId,
    /// Its validation score.
    pub valid: Validation,
}

/// The numbers of a model on one test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TableEntry {
    /// The number that the paper reports.
    pub paper: Option<f64>,
    /// The score of the selected trial.
    pub ours: Option<f64>,
    /// How the two compare.
    pub mark: Mark,
    /// Statistics of the selected setting over its seeds.
    pub spread: Option<SeedStatistics>,
}

/// Statistics of scores over the seeds that have a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeedStatistics {
    /// The number of seeds.
    pub seeds: usize,
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; 0 for one seed.
    pub deviation: f64,
    /// The lowest score. Selection does not use it.
    pub best: f64,
}

/// The comparison of our score with the paper's, or with the baseline where the paper has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// At most the paper's number, or at most the baseline divided by `times_below`.
    Hit,
    /// Above that.
    Miss,
    /// One of the two numbers is missing.
    Open,
}

/// The table of an experiment, from the trials run so far. Outcomes of other settings or of older
/// data are ignored. Of several outcomes of a trial the last one counts.
pub fn table(experiment: &Experiment, outcomes: &[TrialOutcome]) -> ResultTable {
    let runs = match_outcomes(experiment, outcomes);
    let block = |data: &DataSpec| {
        let column = |model: &ModelSpec| {
            let here =
                |(trial, _): &&MatchedTrial<'_, '_>| trial.data == data && trial.model == model;
            column(experiment, &runs.iter().filter(here).copied().collect::<Vec<_>>())
        };
        DatasetBlock {
            data: data.name.clone(),
            spec: data.spec.to_string(),
            baseline: experiment.baseline(data),
            shortcuts: experiment
                .shortcuts
                .iter()
                .filter(|s| s.data == data.name)
                .cloned()
                .collect(),
            columns: experiment.models.iter().map(column).collect(),
        }
    };
    ResultTable {
        item: experiment.item.clone(),
        title: experiment.title.clone(),
        about: experiment.about.clone(),
        measure: experiment.measure,
        times_below: experiment.times_below,
        rows: experiment.tests.iter().map(|test| test.name.clone()).collect(),
        seeds: experiment.seeds,
        blocks: experiment.data.iter().map(block).collect(),
    }
}

impl ModelColumn {
    /// The number of entries with this mark.
    pub fn count(&self, mark: Mark) -> usize {
        self.entries.iter().filter(|entry| entry.mark == mark).count()
    }
}

/// The column of one model on one data set, from its trials with their outcomes.
fn column(experiment: &Experiment, runs: &[MatchedTrial<'_, '_>]) -> ModelColumn {
    let (measure, rows) = (experiment.measure, 0..experiment.tests.len());
    let Trial { data, model, .. } = runs[0].0;
    let selected = selected(measure, runs);
    let seeds = selected.map_or(vec![], |index| seeds_of(runs[index].0.setting, runs));
    let target = experiment.baseline(data).map(|baseline| baseline / experiment.times_below);
    let entry = |row: usize| {
        let paper = experiment.reported(data, model, row);
        let ours = selected.and_then(|index| runs[index].1?.test(row, measure));
        let mark = mark(paper.or(target), ours);
        TableEntry { paper, ours, mark, spread: seed_statistics(&seeds, row, measure) }
    };
    let result = |setting: &TrainSetting| {
        let seeds = seeds_of(setting, runs);
        SettingResult {
            setting: setting.name.clone(),
            diverged: seeds.iter().filter(|outcome| outcome.scores.is_none()).count(),
            spreads: rows.clone().map(|row| seed_statistics(&seeds, row, measure)).collect(),
        }
    };
    // The names of the outcome, not of the experiment: its network is stored under them.
    let named = |index: usize| {
        let outcome = runs[index].1?;
        Some(SelectedTrial { trial: outcome.trial.clone(), valid: outcome.scores.as_ref()?.valid })
    };
    ModelColumn {
        model: model.name.clone(),
        finished: runs.iter().filter(|(_, outcome)| outcome.is_some()).count(),
        trials: runs.len(),
        selected: selected.and_then(named),
        entries: rows.clone().map(entry).collect(),
        settings: experiment.settings_of(model).map(result).collect(),
    }
}

fn mark(target: Option<f64>, ours: Option<f64>) -> Mark {
    match (target, ours) {
        (Some(target), Some(ours)) if ours <= target => Mark::Hit,
        (Some(_), Some(_)) => Mark::Miss,
        _ => Mark::Open,
    }
}

/// Statistics of the scores on a test; `None` where no outcome has a result.
fn seed_statistics(
    outcomes: &[&TrialOutcome],
    row: usize,
    measure: Measure,
) -> Option<SeedStatistics> {
    let scores: Vec<f64> = outcomes.iter().filter_map(|o| o.test(row, measure)).collect();
    let best = scores.iter().copied().min_by(f64::total_cmp)?;
    let count = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    Some(SeedStatistics { seeds: scores.len(), mean, deviation, best })
}
