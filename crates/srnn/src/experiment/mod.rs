//! Tables of the paper as data: data sets, models, settings, seeds, tests and the paper's numbers.
//!
//! An [`Experiment`] is a list of trials (data × model × setting × seed) in a fixed order.
//! [`run_trial`] trains one. For each data set and model, one trial is selected by validation alone.
//! [`table`] compares its test scores with the paper's, and [`curves`] has its validation curve.
//! This module reads no experiment files and runs one trial at a time.

mod check;
mod corpus;
mod curves;
mod images;
mod imdb;
mod matching;
mod memory;
mod run;
mod select;
mod source;
mod states;
mod table;
mod trial;
mod trial_data;

pub use check::ExperimentError;
pub(crate) use corpus::CorpusSource;
pub use curves::{DatasetCurves, ModelCurves, curve_points, curves};
pub(crate) use images::ImageSource;
pub(crate) use imdb::ImdbSource;
pub use memory::{data_bytes, training_bytes};
pub(crate) use run::CurvePoint;
pub use run::{CompletedTrial, TrialError, TrialOutcome, run_trial};
pub(crate) use select::best;
pub use select::{Measure, Validation};
pub use source::{TestSource, TrainSource};
pub use states::{MIN_DRIFT_STEPS, StateReport, state_report};
pub use table::{
    DatasetBlock, Mark, ModelColumn, ResultTable, SeedStatistics, SettingResult, TableEntry, table,
};
pub use trial::{Trial, TrialId};
pub use trial_data::{SequenceCounts, TrialData, TrialDataError, trial_data};
pub(crate) use trial_data::{SplitWithTests, TaskSets};

use crate::model::{HeadWeights, Init, ReadFrom};
use crate::train::{ArchName, TrainConfig};
use serde::{Deserialize, Serialize};

/// A table of the paper: what is trained and tested, and the numbers to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The name on the command line.
    pub item: String,
    /// A one-line title.
    pub title: String,
    /// What the paper trains, and where we differ.
    pub about: String,
    /// Every setting of every model is trained with the seeds 1 to this number.
    pub seeds: u64,
    /// The measure of comparison, and of selection on the validation set. Default: the error.
    #[serde(default)]
    pub measure: Measure,
    /// Where a memoryless baseline is known, a hit is a score at most the baseline divided by this.
    /// Default 1.
    #[serde(default = "one")]
    pub times_below: f64,
    /// The data sets.
    pub data: Vec<DataSpec>,
    /// The models.
    pub models: Vec<ModelSpec>,
    /// The training settings. Every model is trained with all of them, so that none is tuned more
    /// than another, unless the model lists its own.
    pub settings: Vec<TrainSetting>,
    /// The tests of the selected networks.
    pub tests: Vec<TestRow>,
    /// The paper's numbers.
    #[serde(default)]
    pub paper: Vec<ReportedErrors>,
    /// Rules without learning, for comparison.
    #[serde(default)]
    pub shortcuts: Vec<Shortcut>,
    /// The small version, for checking that everything works.
    #[serde(default)]
    pub quick: Quick,
}

/// A data set of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// Its name.
    pub name: String,
    /// The task or files.
    pub spec: TrainSource,
    /// The seed of generated data.
    pub seed: u64,
    /// The name of the paper's data set to compare with; empty for none.
    #[serde(default)]
    pub paper: String,
}

/// A model of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// Its name.
    pub name: String,
    /// Its architecture.
    pub arch: ArchName,
    /// D: hidden units. Default: as in the recipe of the task.
    pub units: Option<usize>,
    /// K: centroids, for architectures that have them.
    pub k: Option<usize>,
    /// The number of layers, which are equal. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<usize>,
    /// The names of its settings; empty for all, as it should be where models are compared.
    #[serde(default)]
    pub settings: Vec<String>,
}

/// A training setting of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSetting {
    /// Its name.
    pub name: String,
    /// The input of the classifier. Default h.
    #[serde(default = "hidden")]
    pub readout: ReadFrom,
    /// The weights of the classifier. Default: its own.
    #[serde(default)]
    pub head: HeadWeights,
    /// Whether every sequence has an end token. Default: no.
    #[serde(default)]
    pub end: bool,
    /// The total number of updates, to which the schedule is scaled. Default: not scaled.
    pub updates: Option<u64>,
    /// The initialisation. Default: as in the recipe of the task.
    pub init: Option<Init>,
    /// The training configuration. Models without centroids skip the phases that need them, and
    /// train for as many updates.
    #[serde(default)]
    pub train: TrainConfig,
}

/// A test of the selected networks: a row of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRow {
    /// Its name.
    pub name: String,
    /// The task or files.
    pub spec: TestSource,
    /// The number of strings.
    pub strings: usize,
}

/// Error rates that the paper reports for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportedErrors {
    /// The paper's data set, as [`DataSpec::paper`] names it.
    pub data: String,
    /// The name of the model.
    pub model: String,
    /// In the order of the tests; there may be fewer.
    pub errors: Vec<f64>,
}

/// The expected error rates of a simple rule without learning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortcut {
    /// The name of the data set.
    pub data: String,
    /// The name of the rule.
    pub name: String,
    /// In the order of the tests.
    pub errors: Vec<f64>,
}

/// Overrides for a small version of an experiment. Absent fields do not change it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quick {
    /// The number of seeds.
    pub seeds: Option<u64>,
    /// Updates of every trial.
    pub updates: Option<u64>,
    /// Strings of every test.
    pub strings: Option<usize>,
    /// Training sequences, for tasks where their number is free.
    pub train: Option<usize>,
    /// The names of the data sets to keep; empty for all.
    pub data: Vec<String>,
    /// The names of the settings to keep; empty for all.
    pub settings: Vec<String>,
}

impl Experiment {
    /// The small version, without the paper's numbers.
    pub fn quick(&self) -> Experiment {
        let Quick { seeds, updates, strings, train, data, settings } = &self.quick;
        let keeps = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let mut small = self.clone();
        small.seeds = seeds.unwrap_or(self.seeds);
        small.data.retain(|set| keeps(data, &set.name));
        small.settings.retain(|setting| keeps(settings, &setting.name));
        small.models.retain_mut(|model| {
            let uses_all = model.settings.is_empty();
            model.settings.retain(|name| keeps(settings, name));
            uses_all || !model.settings.is_empty()
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
            .push_str(" — the quick version, which checks that it works and compares nothing");
        // The overrides are applied, and may name data sets and settings that were removed.
        small.quick = Quick::default();
        // After so little training a comparison with the paper means nothing.
        small.paper.clear();
        small.shortcuts.retain(|shortcut| small.data.iter().any(|set| set.name == shortcut.data));
        small
    }

    /// All trials: data × model × setting × seed, the last changing fastest.
    pub fn trials(&self) -> Vec<Trial<'_>> {
        let mut trials = Vec::new();
        for data in &self.data {
            for model in &self.models {
                for setting in self.settings_of(model) {
                    let seeds = 1..=self.seeds;
                    let tests = &self.tests;
                    trials.extend(seeds.map(|seed| Trial { data, model, setting, tests, seed }));
                }
            }
        }
        trials
    }

    /// The settings of a model.
    pub fn settings_of<'a>(
        &'a self,
        model: &'a ModelSpec,
    ) -> impl Iterator<Item = &'a TrainSetting> {
        let named = |setting: &&TrainSetting| model.settings.contains(&setting.name);
        self.settings.iter().filter(move |s| model.settings.is_empty() || named(s))
    }

    /// The score of the best memoryless predictor on a data set, if it is known.
    pub fn baseline(&self, data: &DataSpec) -> Option<f64> {
        match self.measure {
            Measure::Error => None,
            Measure::CrossEntropy => data.spec.baseline(),
            Measure::Perplexity => data.spec.baseline().map(f64::exp),
        }
    }

    /// The number that the paper reports for a model on a data set and a test, if any.
    pub fn reported(&self, data: &DataSpec, model: &ModelSpec, test: usize) -> Option<f64> {
        let same = |r: &&ReportedErrors| r.data == data.paper && r.model == model.name;
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
