//! Tables of the paper as data: what is trained, how, from which seeds, what it is tested on, and
//! the paper's numbers.
//!
//! An [`Experiment`] is a list of cells, data × model × setting × seed, in a fixed order. Each is
//! trained by [`run_cell`]; for each data set and model one is selected, by validation alone, and
//! [`table`] puts its test errors beside the paper's. Reading files and running several cells at
//! a time is done elsewhere.

mod cell;
mod check;
mod run;
mod select;
mod table;

pub use cell::{Cell, CellId};
pub use check::BadExperiment;
pub use run::{CellError, Done, Material, Outcome, Point, RowError, Scores, material, run_cell};
pub use select::{Validation, best};
pub use table::{Block, Column, Entry, Mark, Selected, Spread, Table, Tried, table};

use crate::model::{Init, ReadFrom};
use crate::task::builtin::{Task, TestSet};
use crate::train::{ArchName, TrainConfig};
use serde::{Deserialize, Serialize};

/// A table of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What it is called on the command line.
    pub item: String,
    /// A line about it.
    pub title: String,
    /// What the paper trains, and where we differ.
    pub about: String,
    /// Every setting of every model is trained from the seeds 1 to this.
    pub seeds: u64,
    /// What is learned from.
    pub data: Vec<Data>,
    /// What learns.
    pub models: Vec<Network>,
    /// How: every one is tried with every model, so that none is tuned more than another.
    pub settings: Vec<Setting>,
    /// What the selected networks are tested on.
    pub tests: Vec<TestRow>,
    /// The paper's numbers, where it has some.
    #[serde(default)]
    pub paper: Vec<Reported>,
    /// A small version that shows whether everything works.
    #[serde(default)]
    pub quick: Quick,
}

/// A data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub spec: Task,
    /// The seed it is made from.
    pub seed: u64,
    /// The name of the paper's data set that it is compared with; none where it is empty.
    #[serde(default)]
    pub paper: String,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// Its architecture.
    pub arch: ArchName,
    /// D: hidden units.
    pub units: usize,
    /// K: centroids, for the architectures that have them.
    pub k: Option<usize>,
}

/// A way to train.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What the classifier reads. Default h.
    #[serde(default = "hidden")]
    pub readout: ReadFrom,
    /// Whether an end token closes every sequence. Default: no.
    #[serde(default)]
    pub end: bool,
    /// All updates: the phases of the schedule are scaled to them. Default: as they are.
    pub updates: Option<u64>,
    /// How networks begin.
    #[serde(default)]
    pub init: Init,
    /// How they are trained. The schedule's parts that need centroids are dropped for models
    /// without; these train as many updates.
    #[serde(default)]
    pub train: TrainConfig,
}

/// A set the selected networks are tested on: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRow {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub spec: TestSet,
    /// How many strings.
    pub strings: usize,
}

/// Error rates that the paper reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    /// The paper's data set, as [`Data::paper`] names it.
    pub data: String,
    /// The model's name.
    pub model: String,
    /// In the order of the tests; tests beyond them have none.
    pub errors: Vec<f64>,
}

/// A small version: what is left out is as in the whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// Seeds.
    pub seeds: Option<u64>,
    /// Updates of every run.
    pub updates: Option<u64>,
    /// Strings of every test.
    pub strings: Option<usize>,
    /// The names of the data sets that stay; all where it is empty.
    pub data: Vec<String>,
    /// The names of the settings that stay; all where it is empty.
    pub settings: Vec<String>,
}

impl Experiment {
    /// The small version.
    pub fn quick(&self) -> Experiment {
        let Quick { seeds, updates, strings, data, settings } = &self.quick;
        let stays = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let mut small = self.clone();
        small.seeds = seeds.unwrap_or(self.seeds);
        small.data.retain(|set| stays(data, &set.name));
        small.settings.retain(|setting| stays(settings, &setting.name));
        for setting in &mut small.settings {
            setting.updates = updates.or(setting.updates);
        }
        for test in &mut small.tests {
            test.strings = strings.unwrap_or(test.strings);
        }
        small
            .title
            .push_str(" — the quick version, which shows that it works and compares nothing");
        // What is small already has nothing smaller, and names what is still there.
        small.quick = Quick::default();
        small.paper.retain(|reported| small.data.iter().any(|set| set.paper == reported.data));
        small
    }

    /// Everything there is to train: data × model × setting × seed, the last changing fastest.
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let mut cells = Vec::new();
        for data in &self.data {
            for model in &self.models {
                for setting in &self.settings {
                    let seeds = 1..=self.seeds;
                    let tests = &self.tests;
                    cells.extend(seeds.map(|seed| Cell { data, model, setting, tests, seed }));
                }
            }
        }
        cells
    }

    /// What the paper reports for a model on a data set and a test.
    pub fn reported(&self, data: &Data, model: &Network, test: usize) -> Option<f64> {
        let same = |r: &&Reported| r.data == data.paper && r.model == model.name;
        self.paper.iter().find(same)?.errors.get(test).copied()
    }
}

fn hidden() -> ReadFrom {
    ReadFrom::H
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
