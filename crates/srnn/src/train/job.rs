//! Data, configuration and key of a run, and the check that they fit the architecture.

use super::config::{Sampling, TrainConfig};
use super::config_check::ConfigError;
use super::examples::Examples;
use crate::key::Key;
use crate::model::Arch;
use crate::task::{Dataset, Split};

/// Data, configuration and key of a run.
#[derive(Debug)]
pub struct TrainJob<'a, D = Dataset> {
    /// The data.
    pub split: &'a Split<D>,
    /// The training configuration.
    pub config: &'a TrainConfig,
    /// The key of all randomness after the initialisation of the network.
    pub key: Key,
}

/// Data, configuration and architecture do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainJobError {
    /// An invalid configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A set without sequences.
    #[error("the {set} set has no sequences: give at least one")]
    Empty {
        /// Which set.
        set: &'static str,
    },
    /// An architecture with other numbers of symbols or classes.
    #[error(
        "the {set} set has {found} {what}, the network {expected}: \
         make the architecture for this data"
    )]
    Sizes {
        /// Which set.
        set: &'static str,
        /// "symbols" or "classes".
        what: &'static str,
        /// The number in the set.
        found: usize,
        /// The number in the network.
        expected: usize,
    },
    /// A sequence with a token or a label out of range.
    #[error("sequence {index} of the {set} set has {what} {found}: must be below {limit}")]
    OutOfRange {
        /// Which set.
        set: &'static str,
        /// Which sequence, counted from 0.
        index: usize,
        /// "token" or "label".
        what: &'static str,
        /// The value found.
        found: u32,
        /// The number of valid values.
        limit: usize,
    },
    /// A copying sequence with an invalid symbol.
    #[error(
        "sequence {index} of the {set} set has symbol {found} to copy: symbols are 1 to 8; make the \
         set with task::copying"
    )]
    InvalidSymbol {
        /// Which set.
        set: &'static str,
        /// Which sequence, counted from 0.
        index: usize,
        /// The symbol found.
        found: u8,
    },
    /// The wrong number of class weights.
    #[error("{found} class weights for {classes} classes: give one for each, or none")]
    ClassWeights {
        /// The number of weights given.
        found: usize,
        /// The number of classes.
        classes: usize,
    },
    /// Noise that the training data cannot have.
    #[error("the training data cannot have this noise: {remedy}")]
    Noise {
        /// How to fix it.
        remedy: &'static str,
    },
    /// A text that is not read as streams, or other data that are.
    #[error("the training data {are} a text: set sampling to {remedy}")]
    Sampling {
        /// "are" or "are not".
        are: &'static str,
        /// How to fix it.
        remedy: &'static str,
    },
    /// An architecture that this kind of data cannot train.
    #[error("{data} cannot train a network with {what}: {remedy}")]
    Unsupported {
        /// The kind of data.
        data: &'static str,
        /// The unsupported part of the architecture.
        what: &'static str,
        /// How to fix it.
        remedy: &'static str,
    },
}

impl<D: Examples> TrainJob<'_, D> {
    /// Checks that configuration, architecture and data fit together.
    pub fn validate(&self, arch: &Arch) -> Result<(), TrainJobError> {
        self.config.validate()?;
        let weights = self.config.class_weights.len();
        if weights != 0 && weights != arch.classes {
            return Err(TrainJobError::ClassWeights { found: weights, classes: arch.classes });
        }
        self.split.train.check("training", arch)?;
        self.check_sampling()?;
        self.split.train.check_noise(&self.config.regularisation.noise)?;
        self.split.valid.check("validation", arch)
    }

    fn check_sampling(&self) -> Result<(), TrainJobError> {
        let streams = self.config.sampling == Sampling::Streams;
        match (self.split.train.continues(), streams) {
            (true, false) => Err(TrainJobError::Sampling { are: "are", remedy: "\"streams\"" }),
            (false, true) => {
                let remedy = "\"draw\", \"epochs\" or \"similar-lengths\"";
                Err(TrainJobError::Sampling { are: "are not", remedy })
            }
            _ => Ok(()),
        }
    }

    /// The configuration with its schedule adapted to the architecture.
    pub fn adapted_config(&self, arch: &Arch) -> TrainConfig {
        let schedule = self.config.schedule.adapted_to(arch);
        TrainConfig { schedule, ..self.config.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arch, small_split};
    use super::*;
    use crate::model::When;

    #[test]
    fn mismatched_parts_are_refused() {
        type Change = fn(&mut Split, &mut TrainConfig, &mut Arch);
        let cases: [(&str, Change); 9] = [
            ("training set has no sequences", |s, _, _| s.train.sequences.clear()),
            ("validation set has no sequences", |s, _, _| s.valid.sequences.clear()),
            ("3 symbols, the network 2", |s, _, _| s.train.alphabet.push("2".into())),
            ("2 classes, the network 3", |_, _, a| a.classes = 3),
            ("sequence 3 of the training set has token 7", |s, _, _| {
                s.train.sequences[3].tokens.push(7)
            }),
            ("sequence 0 of the validation set has label 2", |s, _, _| {
                s.valid.sequences[0].label = 2
            }),
            ("1 class weights for 2 classes", |_, c, _| c.class_weights = vec![1.0]),
            ("read-out at every step", |_, _, a| a.readout.when = When::EveryStep),
            ("batch_size", |_, c, _| c.batch_size = 0),
        ];
        let config = TrainConfig::default();
        let job = TrainJob { split: &small_split(), config: &config, key: Key::new(1) };
        job.validate(&arch(2, 2)).unwrap();
        for (words, change) in cases {
            let (mut split, mut config, mut arch) = (small_split(), config.clone(), arch(2, 2));
            change(&mut split, &mut config, &mut arch);
            let job = TrainJob { split: &split, config: &config, key: Key::new(1) };
            let error = job.validate(&arch).unwrap_err().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
