//! Tables of the paper as data: what is trained, how, from which seeds, what it is tested on, and
//! the paper's numbers.
//!
//! An [`Experiment`] is a list of cells, data × model × setting × seed, in a fixed order. Each is
//! trained by [`run_cell`]; for each data set and model one is selected, by validation alone, and
//! [`table`] puts its test scores beside the paper's; [`curves`] tells how it came there. Reading
//! files and running several cells at a time is done elsewhere.

mod cell;
mod check;
mod curves;
mod found;
mod images;
mod material;
mod run;
mod select;
mod source;
mod states;
mod table;

pub use cell::{Cell, CellId};
pub use check::BadExperiment;
pub use curves::{Curve, Curves, curves, points};
pub use images::ImageSource;
pub use material::{Made, Material, NoMaterial, Sequences, Sets, material};
pub use run::{CellError, Done, Outcome, Point, RowScore, Scores, run_cell};
pub use select::{Measure, Validation, best};
pub use source::{Source, TestSource, UnknownSource, UnknownTestSource};
pub use states::{LONG, States, states};
pub use table::{Block, Column, Entry, Mark, Selected, Spread, Table, Tried, table};

use crate::model::{Init, ReadFrom};
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
    /// What is compared, and selected by on the validation set. Default: the error.
    #[serde(default)]
    pub measure: Measure,
    /// A score so many times below the baseline of what has no memory is a hit, where there is such
    /// a baseline. Default 1.
    #[serde(default = "one")]
    pub times_below: f64,
    /// What is learned from.
    pub data: Vec<Data>,
    /// What learns.
    pub models: Vec<Network>,
    /// How: every one is tried with every model, so that none is tuned more than another, unless a
    /// model says otherwise.
    pub settings: Vec<Setting>,
    /// What the selected networks are tested on.
    pub tests: Vec<TestRow>,
    /// The paper's numbers, where it has some.
    #[serde(default)]
    pub paper: Vec<Reported>,
    /// What does without learning, to be seen beside what learns.
    #[serde(default)]
    pub shortcuts: Vec<Shortcut>,
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
    pub spec: Source,
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
    /// D: hidden units. Default: those of the task's recipe.
    pub units: Option<usize>,
    /// K: centroids, for the architectures that have them.
    pub k: Option<usize>,
    /// The settings it is tried with; all where it is empty, as it should be where models are
    /// compared.
    #[serde(default)]
    pub settings: Vec<String>,
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
    /// How networks begin. Default: as in the task's recipe.
    pub init: Option<Init>,
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
    pub spec: TestSource,
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

/// The error rates, expected, of a rule that anyone could follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortcut {
    /// The data set's name.
    pub data: String,
    /// The rule.
    pub name: String,
    /// In the order of the tests.
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
    /// Sequences to learn from, of tasks that have as many as are asked for.
    pub train: Option<usize>,
    /// The names of the data sets that stay; all where it is empty.
    pub data: Vec<String>,
    /// The names of the settings that stay; all where it is empty.
    pub settings: Vec<String>,
}

impl Experiment {
    /// The small version.
    pub fn quick(&self) -> Experiment {
        let Quick { seeds, updates, strings, train, data, settings } = &self.quick;
        let stays = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let mut small = self.clone();
        small.seeds = seeds.unwrap_or(self.seeds);
        small.data.retain(|set| stays(data, &set.name));
        small.settings.retain(|setting| stays(settings, &setting.name));
        small.models.retain_mut(|model| {
            let takes_all = model.settings.is_empty();
            model.settings.retain(|name| stays(settings, name));
            takes_all || !model.settings.is_empty()
        });
        for set in &mut small.data {
            if let Some(train) = *train {
                set.spec = set.spec.with_train(train);
            }
        }
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
        // With so little training nobody's numbers are worth standing beside the paper's.
        small.paper.clear();
        small.shortcuts.retain(|shortcut| small.data.iter().any(|set| set.name == shortcut.data));
        small
    }

    /// Everything there is to train: data × model × setting × seed, the last changing fastest.
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let mut cells = Vec::new();
        for data in &self.data {
            for model in &self.models {
                for setting in self.settings_of(model) {
                    let seeds = 1..=self.seeds;
                    let tests = &self.tests;
                    cells.extend(seeds.map(|seed| Cell { data, model, setting, tests, seed }));
                }
            }
        }
        cells
    }

    /// The settings that a model is tried with.
    pub fn settings_of<'a>(&'a self, model: &'a Network) -> impl Iterator<Item = &'a Setting> {
        let named = |setting: &&Setting| model.settings.contains(&setting.name);
        self.settings.iter().filter(move |s| model.settings.is_empty() || named(s))
    }

    /// What the best that has no memory scores on a data set, where it is known.
    pub fn baseline(&self, data: &Data) -> Option<f64> {
        match self.measure {
            Measure::Error => None,
            Measure::CrossEntropy => data.spec.baseline(),
        }
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

fn one() -> f64 {
    1.0
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
