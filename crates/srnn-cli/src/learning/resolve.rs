//! Settings with all defaults filled in.

use super::data::LearnSource;
use super::settings::{
    CandidateChoice, CandidateSet, ComparisonSettings, DataSettings, NetworkSettings, RecipeName,
    Settings,
};
use crate::failure::Failure;
use srnn::engine::DeviceName;
use srnn::engine::key::Key;
use srnn::engine::model::{Arch, Input, Temperature};
use srnn::learn::{CandidatePlan, HeldOutMeasure, SHORT_UPDATES};
use srnn::task::{self, Split};
use srnn::train::{
    ArchName, KeepPhases, Recipe, Sizes, TrainJob, recipe_default, recipe_memory, recipe_paper,
};

/// Settings with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// A built-in task or a file.
    pub source: LearnSource,
    /// The seeds, ascending.
    pub seeds: Vec<u64>,
    /// The minimum validation accuracy for exit code 0.
    pub fail_under: Option<f64>,
    /// Whether exit code 0 requires a proof.
    pub must_certify: Option<bool>,
    /// Updates of the short training that is tried first; 0 for none.
    pub short_updates: u64,
    /// The training device.
    pub device: DeviceName,
    /// Files, split and label noise; paths are absolute.
    pub data: DataSettings,
    /// Network and training.
    pub recipe: Recipe,
    /// The comparison with other kinds of models; `None` to train one network.
    pub comparison: Option<CandidateChoice>,
}

impl Settings {
    /// Fills in all defaults for these data.
    ///
    /// # Errors
    /// If the settings are not valid for them.
    pub fn resolve(&self, split: &Split) -> Result<Resolved, Failure> {
        let (mut recipe, mut seeds) = (self.recipe(split)?, self.seed_list()?);
        let comparison = self.comparison()?;
        let chosen = self.network.class_weights.is_some() || self.train.is_some();
        if comparison.is_some() && !chosen && has_rare_class(split) {
            recipe.train.class_weights = class_weights("softened", split)?;
        }
        let recipe = match comparison {
            Some(choice) => self.compared_recipe(recipe, split, &mut seeds, choice),
            None => recipe,
        };
        recipe.arch.validate()?;
        TrainJob { split, config: &recipe.train, key: Key::new(0) }.validate(&recipe.arch)?;
        Ok(Resolved {
            source: self.source()?,
            seeds,
            fail_under: self.fail_under,
            must_certify: self.must_certify,
            short_updates: self.short_updates.unwrap_or(match self.train {
                // A configuration without the key means what it meant before there was one.
                Some(_) => 0,
                None => SHORT_UPDATES,
            }),
            device: self.device.unwrap_or_default(),
            data: self.data()?,
            recipe,
            comparison,
        })
    }

    /// The recipe of the SR-GRU in a comparison: it keeps the networks of its phases, and fits the
    /// budget. A recipe from a configuration file fits already.
    fn compared_recipe(
        &self,
        mut recipe: Recipe,
        split: &Split,
        seeds: &mut Vec<u64>,
        choice: CandidateChoice,
    ) -> Recipe {
        if self.train.is_some() {
            return recipe;
        }
        recipe.train.keep_phases = KeepPhases::LowestLoss;
        let count = seeds.len();
        let (recipe, allowed) = CandidatePlan::fit_automaton(&recipe, split, count, choice.budget);
        if self.seeds.is_none() {
            seeds.truncate(allowed);
        }
        recipe
    }

    fn recipe(&self, split: &Split) -> Result<Recipe, Failure> {
        let (symbols, classes) = (split.train.alphabet.len(), split.train.classes.len());
        let (defaults, default_recipe) = defaults(self.source()?, symbols, classes);
        let NetworkSettings { recipe, arch, units, k, tau, updates, .. } = &self.network;
        let sizes = Sizes {
            arch: arch.unwrap_or(defaults.arch),
            units: units.unwrap_or(defaults.units),
            k: k.unwrap_or(defaults.k),
            tau: tau.map_or(Ok(defaults.tau), Temperature::new)?,
            ..defaults
        };
        let mut result = match recipe.unwrap_or(default_recipe) {
            RecipeName::Default => recipe_default(&sizes),
            RecipeName::Paper => recipe_paper(&sizes),
            RecipeName::Memory => recipe_memory(&sizes)?,
        };
        if let Some(arch) = &self.arch {
            result.arch = fit_to_data(arch, symbols, classes);
        }
        self.resize(&mut result.arch)?;
        result.init = self.init.unwrap_or(result.init);
        result.train = self.train.clone().unwrap_or(result.train);
        if let Some(updates) = updates {
            result.train.schedule = result.train.schedule.scaled_to(*updates);
        }
        if let Some(weights) = &self.network.class_weights {
            result.train.class_weights = class_weights(weights, split)?;
        }
        Ok(result)
    }

    /// Overrides the sizes of a complete architecture.
    fn resize(&self, arch: &mut Arch) -> Result<(), Failure> {
        let NetworkSettings { embedding, units, k, tau, .. } = self.network;
        for layer in &mut arch.layers {
            layer.units = units.unwrap_or(layer.units);
            let Some(centroids) = &mut layer.centroids else {
                if k.is_some() || tau.is_some() {
                    let message = "--k and --tau need centroids, and this network has none";
                    return Err(Failure::new(message, "leave them out, or use --arch sr-gru"));
                }
                continue;
            };
            centroids.k = k.unwrap_or(centroids.k);
            centroids.tau = tau.map_or(Ok(centroids.tau), Temperature::new)?;
        }
        if let (Input::Tokens { embedding: width, .. }, Some(given)) =
            (&mut arch.input, embedding.or(units))
        {
            *width = given;
        }
        Ok(())
    }
}

impl Resolved {
    /// The candidates to compare, if several kinds of models are.
    pub fn candidates(&self, split: &Split) -> Option<CandidatePlan> {
        let CandidateChoice { preference, budget, memory_limit } = self.comparison?;
        let mut plan = CandidatePlan::new(split, &self.recipe, &self.seeds, preference, budget);
        if let Some(limit) = memory_limit {
            plan.limit_memory(split, limit);
        }
        Some(plan)
    }

    /// Applies a memory limit to the candidates. It is stored only if one is left out: then the result
    /// depends on it.
    pub fn limit_memory(&mut self, split: &Split, limit: u64) {
        let Some(mut plan) = self.candidates(split) else { return };
        let before = plan.clone();
        plan.limit_memory(split, limit);
        if let (Some(choice), true) = (&mut self.comparison, plan != before) {
            choice.memory_limit = Some(limit);
        }
    }

    /// The configuration file; `learn --config` with it repeats the run to the same bits.
    pub fn to_toml(&self) -> Result<String, Failure> {
        let comment = "# `srnn learn --config` with this file repeats the run to the same bits.\n";
        Ok(format!("{comment}{}", toml::to_string(&self.settings())?))
    }

    /// The comparison as settings. One network is what a configuration with an architecture means,
    /// so it is not written.
    fn comparison_settings(&self) -> ComparisonSettings {
        match self.comparison {
            None => ComparisonSettings::default(),
            Some(CandidateChoice { preference, budget, memory_limit }) => ComparisonSettings {
                candidates: Some(CandidateSet::All),
                prefer: Some(preference),
                budget: Some(budget),
                memory_limit,
            },
        }
    }

    /// The same as settings.
    pub fn settings(&self) -> Settings {
        let Recipe { arch, init, train } = self.recipe.clone();
        Settings {
            source: Some(self.source.to_string()),
            next: None,
            flagged: None,
            seed: self.seeds.first().copied(),
            seeds: Some(self.seeds.len() as u64),
            fail_under: self.fail_under,
            must_certify: self.must_certify,
            short_updates: Some(self.short_updates),
            comparison: self.comparison_settings(),
            device: Some(self.device),
            data: match self.source {
                LearnSource::BuiltIn(_) => DataSettings { split: None, ..self.data.clone() },
                LearnSource::File(_) => self.data.clone(),
            },
            network: NetworkSettings::default(),
            arch: Some(arch),
            init: Some(init),
            train: Some(train),
        }
    }
}

/// Default sizes and recipe. Languages that are not regular need a network with a cell state.
fn defaults(source: LearnSource, symbols: usize, classes: usize) -> (Sizes, RecipeName) {
    let sizes = Sizes::of(symbols, classes);
    match source {
        LearnSource::BuiltIn(task) if task.minimal_automaton().is_none() => {
            (Sizes { arch: ArchName::SrLstmP, k: 5, ..sizes }, RecipeName::Memory)
        }
        LearnSource::BuiltIn(_) | LearnSource::File(_) => (sizes, RecipeName::Default),
    }
}

/// The architecture with the alphabet size and the number of classes of the data.
fn fit_to_data(arch: &Arch, symbols: usize, classes: usize) -> Arch {
    let mut arch = Arch { classes, ..arch.clone() };
    if let Input::Tokens { symbols: old, .. } = &mut arch.input {
        *old = symbols;
    }
    arch
}

/// Whether accuracy says little, by the rule by which candidates are compared by F1.
fn has_rare_class(split: &Split) -> bool {
    HeldOutMeasure::of(&split.train.class_counts()) != HeldOutMeasure::Accuracy
}

fn class_weights(text: &str, split: &Split) -> Result<Vec<f32>, Failure> {
    let single = |weights: Vec<f64>| Ok(weights.into_iter().map(|w| w as f32).collect());
    match text {
        "balanced" => return single(task::class_weights(&split.train)),
        "softened" => return single(task::softened_class_weights(&split.train)),
        "none" => return Ok(vec![]),
        _ => {}
    }
    let weights: Result<Vec<f32>, _> = text.split(',').map(|w| w.trim().parse()).collect();
    weights.map_err(|_| {
        let remedy =
            "--class-weights=balanced, softened or none, or 1,3 in the order of the classes";
        Failure::new(format!("--class-weights={text}: these are not numbers"), remedy)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use srnn::task::tomita::{Grammar, sets};

    fn flags(text: &str) -> Settings {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_resolved_configuration_resolves_to_itself() {
        let split = sets(Grammar::T2, &Key::new(1));
        for (device, network) in [
            ("cpu", "recipe = 'paper'\nclass_weights = 'balanced'"),
            ("cuda", "arch = 'lstm'"),
            ("auto", "tau = 0.1"),
        ] {
            let top = format!("source = 'tomita:2'\ndevice = '{device}'");
            let resolved = flags(&format!("{top}\n[network]\n{network}")).resolve(&split).unwrap();
            let text = resolved.to_toml().unwrap();
            let again = flags(&text).resolve(&split).unwrap();
            assert_eq!(again.recipe, resolved.recipe);
            assert_eq!(again.device.to_string(), device);
            assert_eq!(again.to_toml().unwrap(), text);
        }
    }

    #[test]
    fn sizes_override_a_complete_architecture_and_a_second_architecture_is_refused() {
        let split = sets(Grammar::T2, &Key::new(1));
        let full = flags("source = 'tomita:2'").resolve(&split).unwrap().settings();
        let small = flags("[network]\nunits = 6\nk = 3").over(full.clone()).unwrap();
        let arch = small.resolve(&split).unwrap().recipe.arch;
        assert_eq!((arch.input.width(), arch.top().units), (6, 6));
        assert_eq!(arch.top().centroids.unwrap().k, 3);
        let failure = flags("[network]\narch = 'gru'").over(full).unwrap_err();
        assert!(failure.remedy.contains("leave --arch out"), "{failure:?}");
    }
}
