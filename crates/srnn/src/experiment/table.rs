//! Our numbers beside the paper's.

use super::found::{Ran, found, seeds_of, selected};
use super::{
    Cell, CellId, Data, Experiment, Measure, Network, Outcome, Setting, Shortcut, Validation,
};
use serde::Serialize;

/// A table of the paper with our numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// The experiment's name.
    pub item: String,
    /// A line about it.
    pub title: String,
    /// What the paper trains.
    pub about: String,
    /// What its numbers are.
    pub measure: Measure,
    /// A score so many times below a baseline is a hit.
    pub times_below: f64,
    /// The names of the tests.
    pub rows: Vec<String>,
    /// Seeds of every setting.
    pub seeds: u64,
    /// A part for each data set.
    pub blocks: Vec<Block>,
}

/// A data set's part of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// The data set.
    pub data: String,
    /// What it holds.
    pub spec: String,
    /// What the best that has no memory scores, where it is known.
    pub baseline: Option<f64>,
    /// What does without learning.
    pub shortcuts: Vec<Shortcut>,
    /// One for each model.
    pub columns: Vec<Column>,
}

/// A model on a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// The model.
    pub model: String,
    /// Cells that have an outcome.
    pub finished: usize,
    /// Cells in all.
    pub cells: usize,
    /// The selected run.
    pub selected: Option<Selected>,
    /// One for each test.
    pub entries: Vec<Entry>,
    /// How every setting does, whether it was selected or not.
    pub tried: Vec<Tried>,
}

/// A setting of a model on a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Its name.
    pub setting: String,
    /// Seeds that ended without a result.
    pub diverged: usize,
    /// Its other seeds on each test; nothing where none has a result.
    pub spreads: Vec<Option<Spread>>,
}

/// The run selected by validation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Selected {
    /// Which.
    pub cell: CellId,
    /// How it does on the validation set.
    pub valid: Validation,
}

/// A model on a data set and a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// What the paper reports.
    pub paper: Option<f64>,
    /// The selected run's score.
    pub ours: Option<f64>,
    /// How the two compare.
    pub mark: Mark,
    /// The selected setting over its seeds.
    pub spread: Option<Spread>,
}

/// Scores of several seeds, those left out that ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// How many seeds.
    pub seeds: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, as of a sample; 0 for one seed.
    pub deviation: f64,
    /// The lowest: what luck could have selected, not what was.
    pub best: f64,
}

/// How our score compares with the paper's, or with the baseline where the paper has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// At most the paper's, or below the baseline by as much as the experiment asks for.
    Hit,
    /// Above it.
    Miss,
    /// One of the two is not there.
    Open,
}

/// The table of an experiment, as far as it was run. Outcomes of other settings are passed over,
/// and those of other data than the last; of several outcomes of a cell the last counts.
pub fn table(experiment: &Experiment, outcomes: &[Outcome]) -> Table {
    let runs = found(experiment, outcomes);
    let block = |data: &Data| {
        let column = |model: &Network| {
            let here = |(cell, _): &&Ran<'_, '_>| cell.data == data && cell.model == model;
            column(experiment, &runs.iter().filter(here).copied().collect::<Vec<_>>())
        };
        Block {
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
    Table {
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

impl Column {
    /// How many entries have this mark.
    pub fn count(&self, mark: Mark) -> usize {
        self.entries.iter().filter(|entry| entry.mark == mark).count()
    }
}

/// The cells of one data set and one model, with their outcomes.
fn column(experiment: &Experiment, runs: &[Ran<'_, '_>]) -> Column {
    let (measure, rows) = (experiment.measure, 0..experiment.tests.len());
    let Cell { data, model, .. } = runs[0].0;
    let selected = selected(measure, runs);
    let seeds = selected.map_or(vec![], |place| seeds_of(runs[place].0.setting, runs));
    let bar = experiment.baseline(data).map(|baseline| baseline / experiment.times_below);
    let entry = |row: usize| {
        let paper = experiment.reported(data, model, row);
        let ours = selected.and_then(|place| runs[place].1?.test(row, measure));
        let mark = mark(paper.or(bar), ours);
        Entry { paper, ours, mark, spread: spread(&seeds, row, measure) }
    };
    let tried = |setting: &Setting| {
        let seeds = seeds_of(setting, runs);
        Tried {
            setting: setting.name.clone(),
            diverged: seeds.iter().filter(|outcome| outcome.scores.is_none()).count(),
            spreads: rows.clone().map(|row| spread(&seeds, row, measure)).collect(),
        }
    };
    // Named as it was when it ran: that is where its network is.
    let named = |place: usize| {
        let outcome = runs[place].1?;
        Some(Selected { cell: outcome.cell.clone(), valid: outcome.scores.as_ref()?.valid })
    };
    Column {
        model: model.name.clone(),
        finished: runs.iter().filter(|(_, outcome)| outcome.is_some()).count(),
        cells: runs.len(),
        selected: selected.and_then(named),
        entries: rows.clone().map(entry).collect(),
        tried: experiment.settings_of(model).map(tried).collect(),
    }
}

fn mark(bar: Option<f64>, ours: Option<f64>) -> Mark {
    match (bar, ours) {
        (Some(bar), Some(ours)) if ours <= bar => Mark::Hit,
        (Some(_), Some(_)) => Mark::Miss,
        _ => Mark::Open,
    }
}

/// How these outcomes do on a test; nothing where none has a result.
fn spread(outcomes: &[&Outcome], row: usize, measure: Measure) -> Option<Spread> {
    let scores: Vec<f64> = outcomes.iter().filter_map(|o| o.test(row, measure)).collect();
    let best = scores.iter().copied().min_by(f64::total_cmp)?;
    let count = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    Some(Spread { seeds: scores.len(), mean, deviation, best })
}
