//! Our numbers beside the paper's.

use super::{Cell, CellId, Data, Experiment, Network, Outcome, Setting, Validation, best};
use serde::Serialize;
use std::collections::HashMap;

/// A table of the paper with our numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// The experiment's name.
    pub item: String,
    /// A line about it.
    pub title: String,
    /// What the paper trains.
    pub about: String,
    /// The names of the tests.
    pub rows: Vec<String>,
    /// Settings tried with every model.
    pub settings: usize,
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
    /// Its seeds on each test; nothing where none has a result.
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
    /// The selected run's error.
    pub ours: Option<f64>,
    /// How the two compare.
    pub mark: Mark,
    /// The selected setting over its seeds.
    pub spread: Option<Spread>,
}

/// Errors of several seeds.
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

/// How our error compares with the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// At most the paper's.
    Hit,
    /// Above it.
    Miss,
    /// One of the two is not there.
    Open,
}

/// The table of an experiment, as far as it was run. Outcomes of other settings are passed over,
/// and those of other data than the last; of several outcomes of a cell the last counts.
pub fn table(experiment: &Experiment, outcomes: &[Outcome]) -> Table {
    let cells = experiment.cells();
    let digests: Vec<String> = cells.iter().map(Cell::digest).collect();
    let found = found(&cells, &digests, outcomes);
    let block = |data: &Data| {
        let column = |model: &Network| {
            let here = |&place: &usize| cells[place].data == data && cells[place].model == model;
            let runs = (0..cells.len()).filter(here).map(|place| (cells[place], found[place]));
            column(experiment, &runs.collect::<Vec<_>>())
        };
        let columns = experiment.models.iter().map(column).collect();
        Block { data: data.name.clone(), spec: data.spec.to_string(), columns }
    };
    Table {
        item: experiment.item.clone(),
        title: experiment.title.clone(),
        about: experiment.about.clone(),
        rows: experiment.tests.iter().map(|test| test.name.clone()).collect(),
        settings: experiment.settings.len(),
        seeds: experiment.seeds,
        blocks: experiment.data.iter().map(block).collect(),
    }
}

/// The outcome of each cell. A data set's outcomes must be of the same strings: where the program
/// came to make others, the newer ones count.
fn found<'a>(
    cells: &[Cell<'_>],
    digests: &[String],
    outcomes: &'a [Outcome],
) -> Vec<Option<&'a Outcome>> {
    let mut newest: HashMap<&str, &str> = HashMap::new();
    for outcome in outcomes {
        for place in (0..cells.len()).filter(|&place| digests[place] == outcome.settings) {
            newest.insert(&cells[place].data.name, &outcome.data);
        }
    }
    let of = |(cell, digest): (&Cell<'_>, &String)| {
        let data = newest.get(cell.data.name.as_str())?;
        outcomes.iter().rev().find(|o| o.settings == *digest && o.data == **data)
    };
    cells.iter().zip(digests).map(of).collect()
}

impl Column {
    /// How many entries have this mark.
    pub fn count(&self, mark: Mark) -> usize {
        self.entries.iter().filter(|entry| entry.mark == mark).count()
    }
}

/// The cells of one data set and one model, with their outcomes.
fn column(experiment: &Experiment, runs: &[(Cell<'_>, Option<&Outcome>)]) -> Column {
    let valid = |outcome: &Outcome| outcome.scores.as_ref().map(|scores| scores.valid);
    let validations: Vec<Option<Validation>> =
        runs.iter().map(|(_, outcome)| outcome.and_then(valid)).collect();
    let selected = best(validations.iter().copied());
    let setting = selected.map(|place| runs[place].0.setting);
    let Cell { data, model, .. } = runs[0].0;
    let error =
        |place: usize, row: usize| Some(runs[place].1?.scores.as_ref()?.tests.get(row)?.error);
    let seeds = |of: &Setting, row: usize| {
        let same = |&place: &usize| runs[place].0.setting == of;
        let errors = (0..runs.len()).filter(same).filter_map(|place| error(place, row));
        spread(&errors.collect::<Vec<f64>>())
    };
    let entry = |row: usize| {
        let paper = experiment.reported(data, model, row);
        let ours = selected.and_then(|place| error(place, row));
        let spread = setting.and_then(|setting| seeds(setting, row));
        Entry { paper, ours, mark: mark(paper, ours), spread }
    };
    let rows = 0..experiment.tests.len();
    let tried = |setting: &Setting| Tried {
        setting: setting.name.clone(),
        spreads: rows.clone().map(|row| seeds(setting, row)).collect(),
    };
    // Named as it was when it ran: that is where its network is.
    let named = |place: usize| {
        Some(Selected { cell: runs[place].1?.cell.clone(), valid: validations[place]? })
    };
    Column {
        model: model.name.clone(),
        finished: runs.iter().filter(|(_, outcome)| outcome.is_some()).count(),
        cells: runs.len(),
        selected: selected.and_then(named),
        entries: rows.clone().map(entry).collect(),
        tried: experiment.settings.iter().map(tried).collect(),
    }
}

fn mark(paper: Option<f64>, ours: Option<f64>) -> Mark {
    match (paper, ours) {
        (Some(paper), Some(ours)) if ours <= paper => Mark::Hit,
        (Some(_), Some(_)) => Mark::Miss,
        _ => Mark::Open,
    }
}

fn spread(errors: &[f64]) -> Option<Spread> {
    let best = errors.iter().copied().min_by(f64::total_cmp)?;
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    Some(Spread { seeds: errors.len(), mean, deviation, best })
}
