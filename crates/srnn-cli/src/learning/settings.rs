//! What a run is made from: flags over a file, and resolved into a file that repeats the run.

use super::data::Source;
use crate::failure::Failure;
use crate::reading::{ReadFlags, parse_count};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use srnn::engine::DeviceName;
use srnn::key::Key;
use srnn::model::{Arch, Init, Input, Temperature};
use srnn::task::{self, Split};
use srnn::train::{
    ArchName, Recipe, Sizes, TrainConfig, TrainJob, recipe_default, recipe_memory, recipe_paper,
};
use std::path::{Path, PathBuf};

/// Seeds tried where nothing is said: as many as keep `learn tomita:3` under a minute on two
/// cores.
pub const SEEDS: u64 = 4;

/// How a training file is divided where nothing is said.
const SPLIT: &str = "0.8/0.2";

/// Everything that decides the outcome of a run, as flags and configuration files give it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A built-in task or a file.
    pub source: Option<String>,
    /// The first seed.
    pub seed: Option<u64>,
    /// How many seeds.
    pub seeds: Option<u64>,
    /// Below this validation accuracy the answer is no.
    pub fail_under: Option<f64>,
    /// Without a proof the answer is no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_certify: Option<bool>,
    /// What trains.
    pub device: Option<DeviceName>,
    /// Where the data come from.
    pub data: Data,
    /// The network in a few words.
    #[serde(skip_serializing_if = "says_nothing")]
    pub network: Network,
    /// The network in full; resolved configurations have it.
    pub arch: Option<Arch>,
    /// How it begins.
    pub init: Option<Init>,
    /// How it is trained.
    pub train: Option<TrainConfig>,
}

/// Where the data come from.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Data")]
pub struct Data {
    /// A file of validation sequences; by default a part of SOURCE.
    #[arg(long, value_name = "FILE")]
    pub valid: Option<PathBuf>,
    /// A file of test sequences.
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
    /// How SOURCE is divided: train/valid or train/valid/test [default: 0.8/0.2].
    #[arg(long, value_name = "FRACTIONS")]
    pub split: Option<String>,
    /// Give this part of the training labels another value, to see what noise does.
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true)]
    pub label_noise: Option<f64>,
    /// Never believe that labels are wrong.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_name = "BOOL")]
    pub trust_labels: Option<bool>,
    /// Seed of the built-in sets, of the split and of label noise [default: 1].
    #[arg(long = "data-seed", id = "data_seed", value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// How files are read.
    #[command(flatten)]
    #[serde(skip_serializing_if = "says_nothing")]
    pub reading: ReadFlags,
}

/// The network in a few words.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Network and training")]
pub struct Network {
    /// Settings that work, or the paper's [default: default; for bp and palindrome: memory].
    #[arg(long, value_enum)]
    pub recipe: Option<RecipeName>,
    /// sr-gru, sr-lstm, sr-lstm-p, gru, lstm or lstm-p [default: sr-gru; for bp and palindrome:
    /// sr-lstm-p].
    #[arg(long)]
    pub arch: Option<ArchName>,
    /// Hidden units [default: 100].
    #[arg(long, value_name = "D", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub units: Option<usize>,
    /// Centroids [default: 50; for bp and palindrome: 5].
    #[arg(long, value_name = "K", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub k: Option<usize>,
    /// Temperature of the softmax over centroids [default: 1].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tau: Option<f64>,
    /// Updates; the recipe's phases are scaled to them [default: the recipe's].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    pub updates: Option<u64>,
    /// Weigh classes in the loss: by their frequency, or `=W,W,…` in the order of the classes.
    #[arg(long, value_name = "WEIGHTS", num_args = 0..=1, require_equals = true,
          default_missing_value = "balanced")]
    pub class_weights: Option<String>,
}

/// A set of settings that go together.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecipeName {
    /// What works.
    Default,
    /// As the paper tells it.
    Paper,
    /// What makes a cell state count, for sr-lstm-p and its like.
    Memory,
}

/// Settings with nothing left open.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// A built-in task or a file.
    pub source: Source,
    /// The seeds, ascending.
    pub seeds: Vec<u64>,
    /// Below this validation accuracy the answer is no.
    pub fail_under: Option<f64>,
    /// Without a proof the answer is no.
    pub must_certify: Option<bool>,
    /// What trains.
    pub device: DeviceName,
    /// Where the data come from; paths are absolute.
    pub data: Data,
    /// Network and training.
    pub recipe: Recipe,
}

impl Settings {
    /// Reads a configuration file.
    pub fn read(path: &Path) -> Result<Settings, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let remedy = "name a file that `srnn learn … --print-config` could have written";
            Failure::new(format!("{}: {error}", path.display()), remedy)
        })?;
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let remedy = "`srnn learn tomita:3 --print-config` shows every key";
            Failure::new(format!("{}: {error}", path.display()), remedy)
        })
    }

    /// These settings, and `below` where they are silent.
    pub fn over(self, below: Settings) -> Result<Settings, Failure> {
        let both_say = |what: &str, table: &str| {
            let message = format!("--{what} and the configuration's [{table}] both say it");
            Failure::new(message, format!("leave --{what} out, or remove [{table}] from the file"))
        };
        if below.arch.is_some() && self.network.arch.is_some() {
            return Err(both_say("arch", "arch"));
        }
        if (below.arch.is_some() || below.train.is_some()) && self.network.recipe.is_some() {
            let table = if below.arch.is_some() { "arch" } else { "train" };
            return Err(both_say("recipe", table));
        }
        let mut table = toml::Table::try_from(below)?;
        overlay(&mut table, toml::Table::try_from(self)?);
        Ok(table.try_into()?)
    }

    /// The source, which must have been given.
    pub fn source(&self) -> Result<Source, Failure> {
        let missing = "srnn learn tomita:3, or srnn learn FILE";
        let text = self.source.as_deref().ok_or_else(|| Failure::new("no SOURCE", missing))?;
        Source::parse(text)
    }

    /// The data's part, with absolute paths and no defaults left open.
    pub fn data(&self) -> Result<Data, Failure> {
        let absolute = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
        let data = &self.data;
        let split = match (&data.split, &data.valid) {
            (Some(split), _) => split.clone(),
            (None, None) => SPLIT.into(),
            (None, Some(_)) => "1/0".into(),
        };
        Ok(Data {
            valid: absolute(&data.valid)?,
            test: absolute(&data.test)?,
            split: Some(split),
            seed: Some(data.seed.unwrap_or(1)),
            ..data.clone()
        })
    }

    /// Settles everything for these data.
    pub fn resolve(&self, split: &Split) -> Result<Resolved, Failure> {
        let recipe = self.recipe(split)?;
        recipe.arch.validate()?;
        TrainJob { split, config: &recipe.train, key: Key::new(0) }.validate(&recipe.arch)?;
        Ok(Resolved {
            source: self.source()?,
            seeds: self.seed_list()?,
            fail_under: self.fail_under,
            must_certify: self.must_certify,
            device: self.device.unwrap_or_default(),
            data: self.data()?,
            recipe,
        })
    }

    /// Refuses what is wrong whatever the data, before they are read.
    pub fn check(&self) -> Result<(), Failure> {
        let Network { units, k, updates, .. } = self.network;
        let zeros =
            [("units", units == Some(0)), ("k", k == Some(0)), ("updates", updates == Some(0))];
        if let Some((flag, _)) = zeros.iter().find(|(_, zero)| *zero) {
            return Err(Failure::new(format!("--{flag} 0"), format!("--{flag} 1 or more")));
        }
        if let Some(tau) = self.network.tau {
            let remedy = "--tau 1 is the standard softmax";
            Temperature::new(tau).map_err(|e| Failure::new(format!("--tau {tau}: {e}"), remedy))?;
        }
        let part = |flag: &str, value: Option<f64>, usual: &str| match value {
            Some(x) if !(0.0..=1.0).contains(&x) => {
                let message = format!("--{flag} {x} is no part of a whole");
                Err(Failure::new(message, format!("0 to 1, as {usual}")))
            }
            _ => Ok(()),
        };
        part("fail-under", self.fail_under, "0.95")?;
        part("label-noise", self.data.label_noise, "0.05")?;
        self.check_split()?;
        self.seed_list().map(drop)
    }

    /// A built-in set is made in two parts; it cannot be divided otherwise.
    fn check_split(&self) -> Result<(), Failure> {
        match (&self.source, &self.data.split) {
            (Some(source), Some(split)) if matches!(Source::parse(source)?, Source::BuiltIn(_)) => {
                let message = format!("--split {split}: {source} is built in, and divided already");
                Err(Failure::new(message, "leave --split out"))
            }
            _ => Ok(()),
        }
    }

    fn seed_list(&self) -> Result<Vec<u64>, Failure> {
        /// More networks than anyone waits for, and within what a TOML integer holds.
        const MOST: u64 = 10_000;
        let (first, count) = (self.seed.unwrap_or(1), self.seeds.unwrap_or(SEEDS));
        if !(1..=MOST).contains(&count) {
            return Err(Failure::new(format!("--seeds {count}"), format!("1 to {MOST} seeds")));
        }
        if first > i64::MAX as u64 - MOST {
            return Err(Failure::new(format!("--seed {first}"), "a seed below 2^62"));
        }
        Ok((first..first + count).collect())
    }

    fn recipe(&self, split: &Split) -> Result<Recipe, Failure> {
        let (symbols, classes) = (split.train.alphabet.len(), split.train.classes.len());
        let (usual, usual_recipe) = usual(self.source()?, symbols, classes);
        let Network { recipe, arch, units, k, tau, updates, .. } = &self.network;
        let sizes = Sizes {
            arch: arch.unwrap_or(usual.arch),
            units: units.unwrap_or(usual.units),
            k: k.unwrap_or(usual.k),
            tau: tau.map_or(Ok(usual.tau), Temperature::new)?,
            ..usual
        };
        let mut made = match recipe.unwrap_or(usual_recipe) {
            RecipeName::Default => recipe_default(&sizes),
            RecipeName::Paper => recipe_paper(&sizes),
            RecipeName::Memory => recipe_memory(&sizes)?,
        };
        if let Some(arch) = &self.arch {
            made.arch = fitted(arch, symbols, classes);
        }
        self.resize(&mut made.arch)?;
        made.init = self.init.unwrap_or(made.init);
        made.train = self.train.clone().unwrap_or(made.train);
        if let Some(updates) = updates {
            made.train.schedule = made.train.schedule.scaled_to(*updates);
        }
        if let Some(weights) = &self.network.class_weights {
            made.train.class_weights = class_weights(weights, split)?;
        }
        Ok(made)
    }

    /// Sizes given in a few words win over an architecture given in full.
    fn resize(&self, arch: &mut Arch) -> Result<(), Failure> {
        let Network { units, k, tau, .. } = self.network;
        for layer in &mut arch.layers {
            layer.units = units.unwrap_or(layer.units);
            let Some(centroids) = &mut layer.centroids else {
                if k.is_some() || tau.is_some() {
                    let message = "--k and --tau are about centroids, and this network has none";
                    return Err(Failure::new(message, "leave them out, or use --arch sr-gru"));
                }
                continue;
            };
            centroids.k = k.unwrap_or(centroids.k);
            centroids.tau = tau.map_or(Ok(centroids.tau), Temperature::new)?;
        }
        if let (Input::Tokens { embedding, .. }, Some(units)) = (&mut arch.input, units) {
            *embedding = units;
        }
        Ok(())
    }
}

impl Resolved {
    /// As a configuration file: learning from it gives the same bits.
    pub fn to_toml(&self) -> Result<String, Failure> {
        let comment = "# `srnn learn --config` with this file repeats the run to the same bits.\n";
        Ok(format!("{comment}{}", toml::to_string(&self.settings())?))
    }

    /// As settings in which nothing is left open.
    pub fn settings(&self) -> Settings {
        let Recipe { arch, init, train } = self.recipe.clone();
        Settings {
            source: Some(self.source.to_string()),
            seed: self.seeds.first().copied(),
            seeds: Some(self.seeds.len() as u64),
            fail_under: self.fail_under,
            must_certify: self.must_certify,
            device: Some(self.device),
            data: match self.source {
                Source::BuiltIn(_) => Data { split: None, ..self.data.clone() },
                Source::File(_) => self.data.clone(),
            },
            network: Network::default(),
            arch: Some(arch),
            init: Some(init),
            train: Some(train),
        }
    }
}

/// Sizes and recipe where nothing is said: languages that no automaton accepts need a memory.
fn usual(source: Source, symbols: usize, classes: usize) -> (Sizes, RecipeName) {
    let sizes = Sizes::of(symbols, classes);
    match source {
        Source::BuiltIn(task) if task.minimal_automaton().is_none() => {
            (Sizes { arch: ArchName::SrLstmP, k: 5, ..sizes }, RecipeName::Memory)
        }
        Source::BuiltIn(_) | Source::File(_) => (sizes, RecipeName::Default),
    }
}

/// The same network for other data: what these decide is not the configuration's to say.
fn fitted(arch: &Arch, symbols: usize, classes: usize) -> Arch {
    let mut arch = Arch { classes, ..arch.clone() };
    if let Input::Tokens { symbols: old, .. } = &mut arch.input {
        *old = symbols;
    }
    arch
}

fn class_weights(text: &str, split: &Split) -> Result<Vec<f32>, Failure> {
    if text == "balanced" {
        return Ok(task::class_weights(&split.train).into_iter().map(|w| w as f32).collect());
    }
    let weights: Result<Vec<f32>, _> = text.split(',').map(|w| w.trim().parse()).collect();
    weights.map_err(|_| {
        let remedy = "--class-weights alone, or --class-weights=1,3 in the order of the classes";
        Failure::new(format!("--class-weights={text}: these are no numbers"), remedy)
    })
}

/// Whether nothing is set: an empty table would only be read past.
pub fn says_nothing<A: Serialize>(settings: &A) -> bool {
    toml::Table::try_from(settings).is_ok_and(|table| table.is_empty())
}

fn overlay(below: &mut toml::Table, above: toml::Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => overlay(old, new),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
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
    fn flags_win_over_the_file_and_only_where_they_speak() {
        let file =
            flags("seed = 5\nseeds = 2\n[network]\nunits = 7\n[data.reading]\nmin_count = 3");
        let above = flags("seed = 9\n[network]\nk = 3\n[data.reading]\ntokens = 'characters'");
        let both = above.over(file).unwrap();
        assert_eq!((both.seed, both.seeds), (Some(9), Some(2)));
        assert_eq!((both.network.units, both.network.k), (Some(7), Some(3)));
        let reading = &both.data.reading;
        assert_eq!((reading.min_count, reading.tokens.as_deref()), (Some(3), Some("characters")));
    }

    #[test]
    fn sizes_win_over_an_architecture_in_full_and_a_second_architecture_is_refused() {
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
