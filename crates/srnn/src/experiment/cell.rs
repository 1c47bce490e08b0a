//! One run of an experiment, and what tells it from every other.

use super::{Data, Network, Setting, TestRow};
use crate::engine::hex::hex;
use crate::model::Input;
use crate::train::{Recipe, Sizes};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell<'a> {
    /// What is learned from.
    pub data: &'a Data,
    /// What learns.
    pub model: &'a Network,
    /// How.
    pub setting: &'a Setting,
    /// What it is tested on.
    pub tests: &'a [TestRow],
    /// From which seed.
    pub seed: u64,
}

/// A cell by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellId {
    /// Of the data set.
    pub data: String,
    /// Of the model.
    pub model: String,
    /// Of the setting.
    pub setting: String,
    /// The seed.
    pub seed: u64,
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CellId { data, model, setting, seed } = self;
        write!(f, "{data}/{model}/{setting}/seed-{seed}")
    }
}

impl Cell<'_> {
    /// Its names.
    pub fn id(&self) -> CellId {
        CellId {
            data: self.data.name.clone(),
            model: self.model.name.clone(),
            setting: self.setting.name.clone(),
            seed: self.seed,
        }
    }

    /// Architecture, beginning and training.
    pub fn recipe(&self) -> Recipe {
        let Cell { data, model, setting, .. } = self;
        let usual = data.spec.sizes(model.arch);
        let (units, k) = (model.units.unwrap_or(usual.units), model.k.unwrap_or(0));
        let mut recipe = data.spec.recipe(&Sizes { units, k, ..usual });
        if let Input::Tokens { end, .. } = &mut recipe.arch.input {
            *end = setting.end;
        }
        recipe.arch.readout.from = setting.readout;
        recipe.init = setting.init.unwrap_or(recipe.init);
        let mut train = setting.train.clone();
        if let Some(updates) = setting.updates {
            train.schedule = train.schedule.scaled_to(updates);
        }
        train.schedule = train.schedule.suited_to(&recipe.arch);
        Recipe { train, ..recipe }
    }

    /// The sha-256 of everything that decides its outcome but the data themselves, in hex. Names
    /// are no part of it.
    pub fn digest(&self) -> String {
        let tests: Vec<_> = self.tests.iter().map(|test| (&test.spec, test.strings)).collect();
        let whole = (&self.data.spec, self.data.seed, tests, self.recipe(), self.seed);
        let text = serde_json::to_string(&whole).expect("plain data without odd keys");
        hex(&Sha256::digest(format!("srnn cell 1\n{text}")))
    }
}
