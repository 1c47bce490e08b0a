//! Settings of a run from flags and configuration files.

use super::budget::parse_seconds;
use super::data::LearnSource;
use crate::failure::Failure;
use crate::files;
use crate::reading::{ReadFlags, parse_count};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use srnn::engine::DeviceName;
use srnn::engine::model::{Arch, Init, Temperature};
use srnn::learn::Preference;
use srnn::train::{ArchName, TrainConfig};
use std::path::{Path, PathBuf};

/// The default number of seeds: `learn tomita:3` takes less than a minute on two cores.
pub const DEFAULT_SEEDS: u64 = 4;

/// The default split of a training file.
const DEFAULT_SPLIT: &str = "0.8/0.2";

/// All settings that determine the result of a run, as given by flags and configuration files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A built-in task or a file.
    pub source: Option<String>,
    /// Whether the next token is predicted instead of a label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<bool>,
    /// With `next`, the fraction of the validation sequences that thresholds may flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flagged: Option<f64>,
    /// The first seed.
    pub seed: Option<u64>,
    /// The number of seeds.
    pub seeds: Option<u64>,
    /// The minimum validation accuracy for exit code 0.
    pub fail_under: Option<f64>,
    /// Whether exit code 0 requires a proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub must_certify: Option<bool>,
    /// Updates of the short training that is tried first; 0 for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_updates: Option<u64>,
    /// The training device.
    pub device: Option<DeviceName>,
    /// Whether several kinds of models are compared.
    #[serde(skip_serializing_if = "is_unset")]
    pub comparison: ComparisonSettings,
    /// Files, split and label noise.
    pub data: DataSettings,
    /// Network and training by recipe and sizes.
    #[serde(skip_serializing_if = "is_unset")]
    pub network: NetworkSettings,
    /// The complete architecture, as in resolved configurations.
    pub arch: Option<Arch>,
    /// Initialisation of the parameters.
    pub init: Option<Init>,
    /// Settings of the training loop.
    pub train: Option<TrainConfig>,
}

/// Which kinds of models are trained, and which of them is kept.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Candidates")]
pub struct ComparisonSettings {
    /// all: compare automaton, SR-GRU, SR-LSTM-P, plain networks and n-grams; one: train only the
    /// network that --arch or --recipe describes [default: all for files, if no option of the network
    /// is given].
    #[arg(long, value_enum)]
    pub candidates: Option<CandidateSet>,
    /// readable: keep the most readable candidate within one standard error of the best; accuracy:
    /// the best; automaton or proof: an automaton, a proved one [default: readable].
    #[arg(long, value_parser = parse_preference)]
    pub prefer: Option<Preference>,
    /// Time for all candidates on two cores, such as 60s or 10min. Networks that would take longer
    /// are trained for fewer updates [default: 5min].
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub budget: Option<f64>,
    /// Candidates that would take more bytes are left out. It is written if one is.
    #[arg(skip)]
    pub memory_limit: Option<u64>,
}

/// Which kinds of models are trained.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateSet {
    /// All kinds.
    All,
    /// One network.
    One,
}

/// Parses the argument of --prefer.
fn parse_preference(text: &str) -> Result<Preference, String> {
    let found = Preference::ALL.into_iter().find(|preference| preference.name() == text);
    found.ok_or_else(|| "use readable, accuracy, automaton or proof".into())
}

/// Files, split and label noise.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Data")]
pub struct DataSettings {
    /// A file of validation sequences [default: a part of SOURCE].
    #[arg(long, value_name = "FILE")]
    pub valid: Option<PathBuf>,
    /// A file of test sequences.
    #[arg(long, value_name = "FILE")]
    pub test: Option<PathBuf>,
    /// Fractions of SOURCE: train/valid or train/valid/test [default: 0.8/0.2].
    #[arg(long, value_name = "FRACTIONS")]
    pub split: Option<String>,
    /// Flip this fraction of the training labels, to measure the effect of label noise.
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true)]
    pub label_noise: Option<f64>,
    /// Use all labels as given, even if no network fits them.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_name = "BOOL")]
    pub trust_labels: Option<bool>,
    /// Seed of the built-in sets, of the split and of label noise [default: 1].
    #[arg(long = "data-seed", id = "data_seed", value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Options for reading files.
    #[command(flatten)]
    #[serde(skip_serializing_if = "is_unset")]
    pub reading: ReadFlags,
}

/// Network and training by recipe and sizes.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[command(next_help_heading = "Network and training")]
pub struct NetworkSettings {
    /// A set of hyperparameters [default: default; for bp and palindrome: memory].
    #[arg(long, value_enum)]
    pub recipe: Option<RecipeName>,
    /// sr-gru, sr-lstm, sr-lstm-p, gru, lstm or lstm-p [default: sr-gru; for bp and palindrome:
    /// sr-lstm-p].
    #[arg(long)]
    pub arch: Option<ArchName>,
    /// Width of the embedding of a token [default: as many as hidden units].
    #[arg(long, value_name = "E", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub embedding: Option<usize>,
    /// Hidden units [default: 100].
    #[arg(long, value_name = "D", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub units: Option<usize>,
    /// Centroids [default: 50; for bp and palindrome: 5].
    #[arg(long, value_name = "K", value_parser = parse_count::<usize>, allow_negative_numbers = true)]
    pub k: Option<usize>,
    /// Temperature of the softmax over centroids [default: 1].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tau: Option<f64>,
    /// Number of updates; the phases of the recipe are scaled [default: that of the recipe].
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>, allow_negative_numbers = true)]
    pub updates: Option<u64>,
    /// Weigh classes in the loss: balanced, by inverse frequency; softened, by its square root; none; or
    /// W,W,… in the order of the classes. All candidates but state merging take them [default: softened
    /// if candidates are compared and a class has less than 10 % of the training sequences, else none].
    #[arg(long, value_name = "WEIGHTS", num_args = 0..=1, require_equals = true,
          default_missing_value = "balanced")]
    pub class_weights: Option<String>,
}

/// How candidates are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateChoice {
    /// Which one is kept.
    pub preference: Preference,
    /// Seconds on two cores.
    pub budget: f64,
    /// Candidates that would take more bytes are left out.
    pub memory_limit: Option<u64>,
}

/// Default of --budget.
pub(super) const BUDGET: f64 = 300.0;

/// A set of hyperparameters.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecipeName {
    /// Our recommended settings.
    Default,
    /// The settings of the paper.
    Paper,
    /// For cells with a cell state that must count, such as sr-lstm-p.
    Memory,
}

impl Settings {
    /// Reads a configuration file.
    pub fn read(path: &Path) -> Result<Settings, Failure> {
        let text = files::read_text_within(path, files::MAX_SETTINGS).map_err(|failure| {
            let remedy = "name a file in the format that `srnn learn … --print-config` prints";
            Failure { remedy: remedy.into(), ..failure }
        })?;
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let remedy = "`srnn learn tomita:3 --print-config` prints every key";
            Failure::new(format!("{}: {error}", path.display()), remedy)
        })
    }

    /// These settings; values that are not set are taken from `below`.
    ///
    /// # Errors
    /// If both set the architecture or the recipe.
    pub fn over(self, below: Settings) -> Result<Settings, Failure> {
        let conflict = |flag: &str, table: &str| {
            let message = format!("--{flag} conflicts with [{table}] in the configuration");
            Failure::new(message, format!("leave --{flag} out, or remove [{table}] from the file"))
        };
        if below.arch.is_some() && self.network.arch.is_some() {
            return Err(conflict("arch", "arch"));
        }
        if (below.arch.is_some() || below.train.is_some()) && self.network.recipe.is_some() {
            let table = if below.arch.is_some() { "arch" } else { "train" };
            return Err(conflict("recipe", table));
        }
        let mut table = toml::Table::try_from(below)?;
        overlay(&mut table, toml::Table::try_from(self)?);
        Ok(table.try_into()?)
    }

    /// The parsed source.
    ///
    /// # Errors
    /// If there is none, or it is not valid.
    pub fn source(&self) -> Result<LearnSource, Failure> {
        let missing = "srnn learn tomita:3, or srnn learn FILE";
        let text = self.source.as_deref().ok_or_else(|| Failure::new("no SOURCE", missing))?;
        LearnSource::parse(text)
    }

    /// The data settings with absolute paths and all defaults filled in.
    pub fn data(&self) -> Result<DataSettings, Failure> {
        let absolute = |path: &Option<PathBuf>| path.as_ref().map(std::path::absolute).transpose();
        let data = &self.data;
        let split = match (&data.split, &data.valid) {
            (Some(split), _) => split.clone(),
            (None, None) => DEFAULT_SPLIT.into(),
            (None, Some(_)) => "1/0".into(),
        };
        Ok(DataSettings {
            valid: absolute(&data.valid)?,
            test: absolute(&data.test)?,
            split: Some(split),
            seed: Some(data.seed.unwrap_or(1)),
            ..data.clone()
        })
    }

    /// Checks the settings that do not depend on the data.
    ///
    /// # Errors
    /// If one is not valid.
    pub fn check(&self) -> Result<(), Failure> {
        let NetworkSettings { embedding, units, k, updates, .. } = self.network;
        let zeros = [
            ("embedding", embedding == Some(0)),
            ("units", units == Some(0)),
            ("k", k == Some(0)),
            ("updates", updates == Some(0)),
        ];
        if let Some((flag, _)) = zeros.iter().find(|(_, zero)| *zero) {
            return Err(Failure::new(format!("--{flag} 0"), format!("--{flag} 1 or more")));
        }
        if let Some(tau) = self.network.tau {
            let remedy = "--tau 1 is the standard softmax";
            Temperature::new(tau).map_err(|e| Failure::new(format!("--tau {tau}: {e}"), remedy))?;
        }
        let fraction = |flag: &str, value: Option<f64>, example: &str| match value {
            Some(x) if !(0.0..=1.0).contains(&x) => {
                let message = format!("--{flag} {x} is not a fraction");
                Err(Failure::new(message, format!("give a number from 0 to 1, such as {example}")))
            }
            _ => Ok(()),
        };
        fraction("fail-under", self.fail_under, "0.95")?;
        fraction("label-noise", self.data.label_noise, "0.05")?;
        self.check_split()?;
        self.seed_list().map(drop)
    }

    /// The comparison of candidates; `None` to train one network. A file is learned by comparison,
    /// unless an option or a table describes the network. Class weights are for all candidates.
    pub(super) fn comparison(&self) -> Result<Option<CandidateChoice>, Failure> {
        let ComparisonSettings { candidates, prefer, budget, memory_limit } = self.comparison;
        let network = NetworkSettings { class_weights: None, ..self.network.clone() };
        let described = self.arch.is_some() || self.train.is_some() || !is_unset(&network);
        let file = matches!(self.source()?, LearnSource::File(_));
        let compared = match candidates {
            Some(set) => set == CandidateSet::All,
            None => file && !described,
        };
        if !compared && (prefer.is_some() || budget.is_some()) {
            let message =
                "--prefer and --budget choose among candidates, and one network is trained";
            return Err(Failure::new(message, "add --candidates all, or leave them out"));
        }
        let preference = prefer.unwrap_or_default();
        let budget = budget.unwrap_or(BUDGET);
        Ok(compared.then_some(CandidateChoice { preference, budget, memory_limit }))
    }

    /// Built-in tasks define their own sets, so `--split` is refused.
    fn check_split(&self) -> Result<(), Failure> {
        match (&self.source, &self.data.split) {
            (Some(source), Some(split))
                if matches!(LearnSource::parse(source)?, LearnSource::BuiltIn(_)) =>
            {
                let message = format!("--split {split}: {source} is built in and has fixed sets");
                Err(Failure::new(message, "leave --split out"))
            }
            _ => Ok(()),
        }
    }

    /// The seeds, ascending.
    pub(super) fn seed_list(&self) -> Result<Vec<u64>, Failure> {
        /// Keeps the last seed within a TOML integer.
        const MAX_SEEDS: u64 = 10_000;
        let (first, count) = (self.seed.unwrap_or(1), self.seeds.unwrap_or(DEFAULT_SEEDS));
        if !(1..=MAX_SEEDS).contains(&count) {
            return Err(Failure::new(
                format!("--seeds {count}"),
                format!("give 1 to {MAX_SEEDS} seeds"),
            ));
        }
        if first > i64::MAX as u64 - MAX_SEEDS {
            return Err(Failure::new(format!("--seed {first}"), "give a seed below 2^62"));
        }
        Ok((first..first + count).collect())
    }
}

/// Whether no value is set, so that the table is left out of the configuration file.
pub fn is_unset<A: Serialize>(settings: &A) -> bool {
    toml::Table::try_from(settings).is_ok_and(|table| table.is_empty())
}

/// Replaces values in `below` with those in `above`, table by table.
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

    fn flags(text: &str) -> Settings {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn flags_override_only_the_values_they_set() {
        let file =
            flags("seed = 5\nseeds = 2\n[network]\nunits = 7\n[data.reading]\nmin_count = 3");
        let above = flags("seed = 9\n[network]\nk = 3\n[data.reading]\ntokens = 'characters'");
        let both = above.over(file).unwrap();
        assert_eq!((both.seed, both.seeds), (Some(9), Some(2)));
        assert_eq!((both.network.units, both.network.k), (Some(7), Some(3)));
        let reading = &both.data.reading;
        assert_eq!((reading.min_count, reading.tokens.as_deref()), (Some(3), Some("characters")));
    }
}
