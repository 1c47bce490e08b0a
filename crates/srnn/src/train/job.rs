//! What a run is about, and whether its parts go together.

use super::config::{ConfigError, TrainConfig};
use super::examples::Examples;
use crate::key::Key;
use crate::model::Arch;
use crate::task::{Dataset, Split};

/// What a run is about.
#[derive(Debug)]
pub struct Job<'a, D = Dataset> {
    /// The data.
    pub split: &'a Split<D>,
    /// How to train.
    pub config: &'a TrainConfig,
    /// The run's randomness, beyond the network's beginning.
    pub key: Key,
}

/// Parts that do not go together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    /// A configuration that cannot be trained with.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A set without sequences.
    #[error("the {set} set has no sequences: give at least one")]
    Empty {
        /// Which set.
        set: &'static str,
    },
    /// An architecture for other data.
    #[error(
        "the {set} set has {found} {what}, the network {expected}: \
         make the architecture for this data"
    )]
    Sizes {
        /// Which set.
        set: &'static str,
        /// Symbols or classes.
        what: &'static str,
        /// In the set.
        found: usize,
        /// In the network.
        expected: usize,
    },
    /// A sequence with a token or a label out of range.
    #[error("sequence {index} of the {set} set has {what} {found}, but there are {limit}")]
    OutOfRange {
        /// Which set.
        set: &'static str,
        /// Which sequence, counted from 0.
        index: usize,
        /// Token or label.
        what: &'static str,
        /// What it has.
        found: u32,
        /// How many there are.
        limit: usize,
    },
    /// A copying sequence that remembers what is no symbol.
    #[error(
        "sequence {index} of the {set} set remembers {found}: the symbols are 1 to 8, draw the \
         set with task::copying"
    )]
    NoSymbol {
        /// Which set.
        set: &'static str,
        /// Which sequence, counted from 0.
        index: usize,
        /// What it has.
        found: u8,
    },
    /// Class weights for other classes.
    #[error("{found} class weights for {classes} classes: give one for each, or none")]
    ClassWeights {
        /// How many there are.
        found: usize,
        /// How many there should be.
        classes: usize,
    },
    /// A network that such data cannot train.
    #[error("{data} cannot train a network with {what}: {remedy}")]
    Unsupported {
        /// What there is to train it.
        data: &'static str,
        /// What it has.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
}

impl<D: Examples> Job<'_, D> {
    /// Refuses configuration, architecture and data that do not go together.
    pub fn validate(&self, arch: &Arch) -> Result<(), JobError> {
        self.config.validate()?;
        let weights = self.config.class_weights.len();
        if weights != 0 && weights != arch.classes {
            return Err(JobError::ClassWeights { found: weights, classes: arch.classes });
        }
        self.split.train.check("training", arch)?;
        self.split.valid.check("validation", arch)
    }

    /// The configuration with the schedule suited to the architecture.
    pub fn suited_config(&self, arch: &Arch) -> TrainConfig {
        let schedule = self.config.schedule.suited_to(arch);
        TrainConfig { schedule, ..self.config.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arch, small_split};
    use super::*;
    use crate::model::When;

    #[test]
    fn parts_that_do_not_go_together_are_refused_in_words() {
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
        let job = Job { split: &small_split(), config: &config, key: Key::new(1) };
        job.validate(&arch(2, 2)).unwrap();
        for (words, change) in cases {
            let (mut split, mut config, mut arch) = (small_split(), config.clone(), arch(2, 2));
            change(&mut split, &mut config, &mut arch);
            let job = Job { split: &split, config: &config, key: Key::new(1) };
            let error = job.validate(&arch).unwrap_err().to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
