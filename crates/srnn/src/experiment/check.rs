//! Refuses experiments that cannot be run, before anything is.

use super::{Cell, Experiment, Shortcut};
use crate::model::ArchError;
use crate::task::builtin::TestError;
use crate::train::ConfigError;

/// More than anyone waits for.
const MOST_SEEDS: u64 = 10_000;

/// An experiment that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum BadExperiment {
    /// A list with nothing in it.
    #[error("[[{list}]] is empty: give at least one")]
    Empty {
        /// Which.
        list: &'static str,
    },
    /// A name that makes no folder.
    #[error(
        "the name \"{name}\" in [[{list}]]: letters, digits and - _ . = only, a letter or digit first"
    )]
    Name {
        /// The list it is in.
        list: &'static str,
        /// The name.
        name: String,
    },
    /// A name that two have.
    #[error("[[{list}]] has \"{name}\" twice: names must differ")]
    Twice {
        /// The list it is in.
        list: &'static str,
        /// The name.
        name: String,
    },
    /// A name that nothing has.
    #[error("{place} names \"{name}\", which {list} does not have")]
    Unknown {
        /// Where it stands.
        place: &'static str,
        /// The name.
        name: String,
        /// Where it should be found.
        list: &'static str,
    },
    /// A number out of its range.
    #[error("{what} is {value}: must be {must}")]
    Range {
        /// Of what.
        what: String,
        /// The number.
        value: String,
        /// What it must be.
        must: String,
    },
    /// Centroids where there are none, or none where there must be some.
    #[error("the model \"{model}\": {problem}")]
    Centroids {
        /// Its name.
        model: String,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// A network that cannot be.
    #[error("{cell}: {cause}")]
    Arch {
        /// The first such cell.
        cell: String,
        /// Why.
        cause: ArchError,
    },
    /// A configuration that cannot be trained with.
    #[error("{cell}: {cause}")]
    Train {
        /// The first such cell.
        cell: String,
        /// Why.
        cause: ConfigError,
    },
    /// A test that is another task's.
    #[error(transparent)]
    Test(#[from] TestError),
}

impl Experiment {
    /// Refuses what cannot be run.
    pub fn validate(&self) -> Result<(), BadExperiment> {
        check_name("item", &self.item)?;
        let (data, models, settings) = self.names();
        check_names("data", &data)?;
        check_names("models", &models)?;
        check_names("settings", &settings)?;
        in_range("seeds", self.seeds, 1, MOST_SEEDS)?;
        self.check_times_below()?;
        self.check_tests()?;
        self.check_paper()?;
        self.check_shortcuts()?;
        self.check_quick()?;
        self.models.iter().try_for_each(check_centroids)?;
        for name in self.models.iter().flat_map(|model| &model.settings) {
            known("settings of [[models]]", name, "[[settings]]", &settings)?;
        }
        self.cells().iter().filter(|cell| cell.seed == 1).try_for_each(check_cell)
    }

    fn names(&self) -> (Vec<&String>, Vec<&String>, Vec<&String>) {
        (
            self.data.iter().map(|data| &data.name).collect(),
            self.models.iter().map(|model| &model.name).collect(),
            self.settings.iter().map(|setting| &setting.name).collect(),
        )
    }

    fn check_times_below(&self) -> Result<(), BadExperiment> {
        let (value, most) = (self.times_below, 1e6);
        match (1.0..=most).contains(&value) {
            true => Ok(()),
            false => Err(BadExperiment::Range {
                what: "times_below".into(),
                value: value.to_string(),
                must: format!("from 1 to {most}"),
            }),
        }
    }

    fn check_tests(&self) -> Result<(), BadExperiment> {
        let names: Vec<&String> = self.tests.iter().map(|test| &test.name).collect();
        check_distinct("tests", &names)?;
        for test in &self.tests {
            let what = format!("strings of the test \"{}\"", test.name);
            in_range(&what, test.strings as u64, 1, 1 << 32)?;
            self.data.iter().try_for_each(|data| data.spec.goes_with(&test.spec))?;
        }
        Ok(())
    }

    fn check_shortcuts(&self) -> Result<(), BadExperiment> {
        let tests = self.tests.len() as u64;
        for Shortcut { data, name, errors } in &self.shortcuts {
            known("data of [[shortcuts]]", data, "[[data]]", &self.names().0)?;
            let what = format!("errors of \"{name}\" in [[shortcuts]]: their number");
            in_range(&what, errors.len() as u64, tests, tests)?;
            are_errors("an error of [[shortcuts]]", errors)?;
        }
        Ok(())
    }

    fn check_paper(&self) -> Result<(), BadExperiment> {
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

    fn check_quick(&self) -> Result<(), BadExperiment> {
        let (data, _, settings) = self.names();
        for name in &self.quick.data {
            known("data of [quick]", name, "[[data]]", &data)?;
        }
        for name in &self.quick.settings {
            known("settings of [quick]", name, "[[settings]]", &settings)?;
        }
        let strings = self.quick.strings.map(|strings| strings as u64);
        in_range("seeds of [quick]", self.quick.seeds.unwrap_or(1), 1, MOST_SEEDS)?;
        in_range("train of [quick]", self.quick.train.unwrap_or(1) as u64, 1, 1 << 32)?;
        in_range("updates of [quick]", self.quick.updates.unwrap_or(1), 1, 1 << 40)?;
        in_range("strings of [quick]", strings.unwrap_or(1), 1, 1 << 32)
    }
}

fn check_centroids(model: &super::Network) -> Result<(), BadExperiment> {
    let problem = match (model.arch.is_state_regularized(), model.k) {
        (true, Some(1..)) | (false, None) => return Ok(()),
        (true, _) => "its architecture has centroids: give k, at least 1",
        (false, Some(_)) => "its architecture has no centroids: leave k out",
    };
    Err(BadExperiment::Centroids { model: model.name.clone(), problem })
}

fn check_cell(cell: &Cell<'_>) -> Result<(), BadExperiment> {
    let recipe = cell.recipe();
    let name = || cell.id().to_string();
    let arch = recipe.arch.validate();
    arch.map_err(|cause| BadExperiment::Arch { cell: name(), cause })?;
    let train = recipe.train.validate();
    train.map_err(|cause| BadExperiment::Train { cell: name(), cause })
}

/// Names become folders and parts of lines.
fn check_name(list: &'static str, name: &str) -> Result<(), BadExperiment> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && name.chars().all(good) {
        true => Ok(()),
        false => Err(BadExperiment::Name { list, name: name.into() }),
    }
}

fn check_names(list: &'static str, names: &[&String]) -> Result<(), BadExperiment> {
    names.iter().try_for_each(|name| check_name(list, name))?;
    check_distinct(list, names)
}

fn check_distinct(list: &'static str, names: &[&String]) -> Result<(), BadExperiment> {
    if names.is_empty() {
        return Err(BadExperiment::Empty { list });
    }
    let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    match twice {
        Some((_, name)) => Err(BadExperiment::Twice { list, name: name.to_string() }),
        None => Ok(()),
    }
}

fn known(
    place: &'static str,
    name: &String,
    list: &'static str,
    names: &[&String],
) -> Result<(), BadExperiment> {
    match names.contains(&name) {
        true => Ok(()),
        false => Err(BadExperiment::Unknown { place, name: name.clone(), list }),
    }
}

fn in_range(what: &str, value: u64, least: u64, most: u64) -> Result<(), BadExperiment> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(BadExperiment::Range {
            what: what.into(),
            value: value.to_string(),
            must: format!("from {least} to {most}"),
        }),
    }
}

fn are_errors(what: &str, errors: &[f64]) -> Result<(), BadExperiment> {
    match errors.iter().find(|error| !(0.0..=1.0).contains(*error)) {
        None => Ok(()),
        Some(error) => Err(BadExperiment::Range {
            what: what.into(),
            value: error.to_string(),
            must: "from 0 to 1".into(),
        }),
    }
}
