//! Validation of experiments before anything is run.

use super::{Experiment, Shortcut, Trial};
use crate::engine::model::ModelLimits;
use crate::model::ArchError;
use crate::task::builtin::TestError;
use crate::train::ConfigError;

/// A larger number of seeds is probably a mistake.
const MAX_SEEDS: u64 = 10_000;

/// Four names are a part of a path.
const MAX_NAME: u64 = 100;

/// A larger number of trials is probably a mistake.
const MAX_TRIALS: u64 = 1_000_000;

/// An invalid experiment.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// An empty list.
    #[error("[[{list}]] is empty: give at least one")]
    Empty {
        /// The list.
        list: &'static str,
    },
    /// A name that is not a valid folder name.
    #[error(
        "invalid name \"{name}\" in [[{list}]]: use letters, digits and - _ . = only, a letter or digit \
         first"
    )]
    Name {
        /// The list it is in.
        list: &'static str,
        /// The name.
        name: String,
    },
    /// A duplicate name.
    #[error("[[{list}]] has \"{name}\" twice: names must differ")]
    Duplicate {
        /// The list it is in.
        list: &'static str,
        /// The name.
        name: String,
    },
    /// A reference to an unknown name.
    #[error("{place} names \"{name}\", which {list} does not have")]
    Unknown {
        /// The field with the reference.
        place: &'static str,
        /// The name.
        name: String,
        /// The list that should have it.
        list: &'static str,
    },
    /// A number out of range.
    #[error("{what} is {value}: must be {must}")]
    Range {
        /// The field.
        what: String,
        /// The number given.
        value: String,
        /// The allowed range.
        must: String,
    },
    /// `k` without centroids, or centroids without `k`.
    #[error("the model \"{model}\": {problem}")]
    Centroids {
        /// The name of the model.
        model: String,
        /// The problem, and how to fix it.
        problem: &'static str,
    },
    /// An invalid architecture.
    #[error("{trial}: {cause}")]
    Arch {
        /// The first such trial.
        trial: String,
        /// The reason.
        cause: ArchError,
    },
    /// An invalid training configuration.
    #[error("{trial}: {cause}")]
    Train {
        /// The first such trial.
        trial: String,
        /// The reason.
        cause: ConfigError,
    },
    /// A test of another task.
    #[error(transparent)]
    Test(#[from] TestError),
}

impl Experiment {
    /// Checks that every trial can be run; the error names the first problem.
    pub fn validate(&self) -> Result<(), ExperimentError> {
        check_name("item", &self.item)?;
        let (data, models, settings) = self.names();
        check_names("data", &data)?;
        check_names("models", &models)?;
        check_names("settings", &settings)?;
        in_range("seeds", self.seeds, 1, MAX_SEEDS)?;
        self.check_trial_count()?;
        self.check_times_below()?;
        self.check_tests()?;
        self.check_paper()?;
        self.check_shortcuts()?;
        self.check_quick()?;
        self.models.iter().try_for_each(check_centroids)?;
        self.models.iter().try_for_each(check_layers)?;
        for name in self.models.iter().flat_map(|model| &model.settings) {
            known("settings of [[models]]", name, "[[settings]]", &settings)?;
        }
        self.trials().iter().filter(|trial| trial.seed == 1).try_for_each(check_trial)
    }

    fn names(&self) -> (Vec<&String>, Vec<&String>, Vec<&String>) {
        (
            self.data.iter().map(|data| &data.name).collect(),
            self.models.iter().map(|model| &model.name).collect(),
            self.settings.iter().map(|setting| &setting.name).collect(),
        )
    }

    /// Before the list of trials is made. Models may use a part of the settings.
    fn check_trial_count(&self) -> Result<(), ExperimentError> {
        let lists = [self.data.len(), self.models.len(), self.settings.len()];
        let trials = lists.iter().fold(self.seeds, |n, &length| n.saturating_mul(length as u64));
        in_range("the number of trials (data × models × settings × seeds)", trials, 1, MAX_TRIALS)
    }

    fn check_times_below(&self) -> Result<(), ExperimentError> {
        let (value, most) = (self.times_below, 1e6);
        match (1.0..=most).contains(&value) {
            true => Ok(()),
            false => Err(ExperimentError::Range {
                what: "times_below".into(),
                value: value.to_string(),
                must: format!("from 1 to {most}"),
            }),
        }
    }

    fn check_tests(&self) -> Result<(), ExperimentError> {
        let names: Vec<&String> = self.tests.iter().map(|test| &test.name).collect();
        check_distinct("tests", &names)?;
        for test in &self.tests {
            let what = format!("strings of the test \"{}\"", test.name);
            in_range(&what, test.strings as u64, 1, 1 << 32)?;
            self.data.iter().try_for_each(|data| data.spec.accepts_test(&test.spec))?;
        }
        Ok(())
    }

    fn check_shortcuts(&self) -> Result<(), ExperimentError> {
        let tests = self.tests.len() as u64;
        for Shortcut { data, name, errors } in &self.shortcuts {
            known("data of [[shortcuts]]", data, "[[data]]", &self.names().0)?;
            let what = format!("errors of \"{name}\" in [[shortcuts]]: their number");
            in_range(&what, errors.len() as u64, tests, tests)?;
            are_errors("an error of [[shortcuts]]", errors)?;
        }
        Ok(())
    }

    fn check_paper(&self) -> Result<(), ExperimentError> {
        let columns: Vec<&String> = self.data.iter().map(|data| &data.paper).collect();
        let models = self.names().1;
        for reported in &self.paper {
            known("data of [[paper]]", &reported.data, "`paper` of any [[data]]", &columns)?;
            known("model of [[paper]]", &reported.model, "[[models]]", &models)?;
            let what = format!("errors of \"{}\" in [[paper]]: their number", reported.model);
            in_range(&what, reported.errors.len() as u64, 1, self.tests.len() as u64)?;
            are_errors("an error of [[paper]]", &reported.errors)?;
        }
        Ok(())
    }

    fn check_quick(&self) -> Result<(), ExperimentError> {
        let (data, _, settings) = self.names();
        for name in &self.quick.data {
            known("data of [quick]", name, "[[data]]", &data)?;
        }
        for name in &self.quick.settings {
            known("settings of [quick]", name, "[[settings]]", &settings)?;
        }
        let strings = self.quick.strings.map(|strings| strings as u64);
        in_range("seeds of [quick]", self.quick.seeds.unwrap_or(1), 1, MAX_SEEDS)?;
        in_range("train of [quick]", self.quick.train.unwrap_or(1) as u64, 1, 1 << 32)?;
        in_range("updates of [quick]", self.quick.updates.unwrap_or(1), 1, 1 << 40)?;
        in_range("strings of [quick]", strings.unwrap_or(1), 1, 1 << 32)
    }
}

fn check_centroids(model: &super::ModelSpec) -> Result<(), ExperimentError> {
    let problem = match (model.arch.is_state_regularized(), model.k) {
        (true, Some(1..)) | (false, None) => return Ok(()),
        (true, _) => "its architecture has centroids: give k, at least 1",
        (false, Some(_)) => "its architecture has no centroids: leave k out",
    };
    Err(ExperimentError::Centroids { model: model.name.clone(), problem })
}

fn check_layers(model: &super::ModelSpec) -> Result<(), ExperimentError> {
    let what = format!("layers of the model \"{}\"", model.name);
    // Networks with more layers could be saved but not loaded.
    let most = ModelLimits::default().layers as u64;
    in_range(&what, model.layers.unwrap_or(1) as u64, 1, most)
}

fn check_trial(trial: &Trial<'_>) -> Result<(), ExperimentError> {
    let recipe = trial.recipe();
    let name = || trial.id().to_string();
    let arch = recipe.arch.validate();
    arch.map_err(|cause| ExperimentError::Arch { trial: name(), cause })?;
    let train = recipe.train.validate();
    train.map_err(|cause| ExperimentError::Train { trial: name(), cause })
}

/// Names become folders and parts of output lines.
fn check_name(list: &'static str, name: &str) -> Result<(), ExperimentError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match starts_well && name.chars().all(allowed) {
        true => {
            let what = format!("the length of a name in [[{list}]]");
            in_range(&what, name.len() as u64, 1, MAX_NAME)
        }
        false => Err(ExperimentError::Name { list, name: name.into() }),
    }
}

fn check_names(list: &'static str, names: &[&String]) -> Result<(), ExperimentError> {
    names.iter().try_for_each(|name| check_name(list, name))?;
    check_distinct(list, names)
}

fn check_distinct(list: &'static str, names: &[&String]) -> Result<(), ExperimentError> {
    if names.is_empty() {
        return Err(ExperimentError::Empty { list });
    }
    let duplicate = names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
    match duplicate {
        Some((_, name)) => Err(ExperimentError::Duplicate { list, name: name.to_string() }),
        None => Ok(()),
    }
}

fn known(
    place: &'static str,
    name: &String,
    list: &'static str,
    names: &[&String],
) -> Result<(), ExperimentError> {
    match names.contains(&name) {
        true => Ok(()),
        false => Err(ExperimentError::Unknown { place, name: name.clone(), list }),
    }
}

fn in_range(what: &str, value: u64, least: u64, most: u64) -> Result<(), ExperimentError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(ExperimentError::Range {
            what: what.into(),
            value: value.to_string(),
            must: format!("from {least} to {most}"),
        }),
    }
}

fn are_errors(what: &str, errors: &[f64]) -> Result<(), ExperimentError> {
    match errors.iter().find(|error| !(0.0..=1.0).contains(*error)) {
        None => Ok(()),
        Some(error) => Err(ExperimentError::Range {
            what: what.into(),
            value: error.to_string(),
            must: "from 0 to 1".into(),
        }),
    }
}
