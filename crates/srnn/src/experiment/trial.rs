//! One trial of an experiment, and its digest.

use super::{DataSpec, ModelSpec, TestRow, TrainSetting};
use crate::engine::hex::hex;
use crate::model::Input;
use crate::train::{Recipe, Sizes};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// One trial of an experiment: a model trained with a setting and a seed on a data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial<'a> {
    /// The data set.
    pub data: &'a DataSpec,
    /// The model.
    pub model: &'a ModelSpec,
    /// The training setting.
    pub setting: &'a TrainSetting,
    /// The tests.
    pub tests: &'a [TestRow],
    /// The seed.
    pub seed: u64,
}

/// The names that identify a trial within an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialId {
    /// The data set.
    pub data: String,
    /// The model.
    pub model: String,
    /// The setting.
    pub setting: String,
    /// The seed.
    pub seed: u64,
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TrialId { data, model, setting, seed } = self;
        write!(f, "{data}/{model}/{setting}/seed-{seed}")
    }
}

impl Trial<'_> {
    /// The names that identify the trial.
    pub fn id(&self) -> TrialId {
        TrialId {
            data: self.data.name.clone(),
            model: self.model.name.clone(),
            setting: self.setting.name.clone(),
            seed: self.seed,
        }
    }

    /// Architecture, initialisation and training: the recipe of the task with the model's sizes and
    /// the setting.
    pub fn recipe(&self) -> Recipe {
        let Trial { data, model, setting, .. } = self;
        let default = data.spec.sizes(model.arch);
        let (units, k) = (model.units.unwrap_or(default.units), model.k.unwrap_or(0));
        let mut recipe = data.spec.recipe(&Sizes { units, k, ..default });
        recipe.arch.layers = vec![recipe.arch.top().clone(); model.layers.unwrap_or(1)];
        if let Input::Tokens { end, .. } = &mut recipe.arch.input {
            *end = setting.end;
        }
        recipe.arch.readout.from = setting.readout;
        recipe.arch.readout.weights = setting.head;
        recipe.init = setting.init.unwrap_or(recipe.init);
        let mut train = setting.train.clone();
        if let Some(updates) = setting.updates {
            train.schedule = train.schedule.scaled_to(updates);
        }
        train.schedule = train.schedule.adapted_to(&recipe.arch);
        Recipe { train, ..recipe }
    }

    /// The sha-256, in hex, of everything that determines the outcome except the content of the
    /// data. Names are not part of it.
    pub fn digest(&self) -> String {
        let tests: Vec<_> = self.tests.iter().map(|test| (&test.spec, test.strings)).collect();
        let whole = (&self.data.spec, self.data.seed, tests, self.recipe(), self.seed);
        let text = serde_json::to_string(&whole).expect("plain data with string keys");
        // The prefix identifies the format: outcomes of earlier versions have the same digests.
        hex(&Sha256::digest(format!("srnn cell 1\n{text}")))
    }
}
