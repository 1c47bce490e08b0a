//! How a network is trained: numbers and choices, all in one value.

use super::schedule::{Reseed, Schedule};
use crate::engine::Regime;
use crate::engine::{Optimiser, Rule};
use serde::{Deserialize, Serialize};

/// How a network is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// The update rule. Default: Adam, gradient norm clipped at 1.
    pub optimiser: Optimiser,
    /// The step size over the run. Default: constant 0.001.
    pub learning_rate: LearningRate,
    /// Sequences per update. Default 64.
    pub batch_size: usize,
    /// How the sequences of an update are found. Default: drawn.
    pub sampling: Sampling,
    /// The homotopy, and how many updates there are.
    pub schedule: Schedule,
    /// Weight of each class in the loss; empty (the default) is all ones.
    pub class_weights: Vec<f32>,
    /// The map from α to the next hidden state in training. Only the mixture can be trained.
    pub transition: Trained,
    /// Updates between two evaluations. Default 200.
    pub validate_every: u64,
    /// Training sequences an evaluation looks at: a fixed draw of so many. Default 512.
    pub train_sample: usize,
    /// What may end the run before its schedule. Default: nothing.
    pub stopping: Stopping,
    /// Which network is the result. Default: the last, because hardening goes on to the end.
    pub keep: Keep,
    /// Updates between two checkpoints. Default 500.
    pub checkpoint_every: u64,
}

/// The step size over a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LearningRate {
    /// Always the same.
    Constant {
        /// The step size.
        rate: f64,
    },
    /// Half a cosine over the whole schedule.
    Cosine {
        /// At the first update.
        rate: f64,
        /// Where it goes.
        last: f64,
    },
    /// Multiplied by a factor at given updates.
    Step {
        /// At the first update.
        rate: f64,
        /// The factor.
        factor: f64,
        /// The updates, counted from 0, from which on it is applied once more.
        at: Vec<u64>,
    },
}

impl LearningRate {
    /// The step size of an update, counted from 0, of so many.
    pub fn at(&self, update: u64, updates: u64) -> f64 {
        match self {
            LearningRate::Constant { rate } => *rate,
            LearningRate::Cosine { rate, last } => {
                let way = update.min(updates) as f64 / updates.max(1) as f64;
                last + (rate - last) * 0.5 * (1.0 + (std::f64::consts::PI * way).cos())
            }
            LearningRate::Step { rate, factor, at } => {
                let times = at.iter().filter(|&&from| from <= update).count();
                rate * factor.powi(times as i32)
            }
        }
    }

    fn is_valid(&self) -> bool {
        let step = |x: f64| x.is_finite() && x > 0.0;
        match *self {
            LearningRate::Constant { rate } => step(rate),
            LearningRate::Cosine { rate, last } => step(rate) && last.is_finite() && last >= 0.0,
            LearningRate::Step { rate, factor, .. } => step(rate) && step(factor),
        }
    }
}

/// How the sequences of an update are found. Either way they are a function of the key and the
/// update alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Drawn uniformly, with replacement.
    Draw,
    /// Passes over the whole set, each in an order of its own; the last batch of a pass may be
    /// smaller. While the curriculum opens, a pass is over what was open when it began.
    Epochs,
}

/// The map from α to the next hidden state in training. There is one that can be trained; a
/// configuration that asks for another is refused in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Trained {
    /// `h = Σ α_i s_i` (Eq. 6).
    #[default]
    Mixture,
}

impl TryFrom<String> for Trained {
    type Error = ConfigError;
    fn try_from(name: String) -> Result<Self, ConfigError> {
        match name.as_str() {
            "mixture" => Ok(Trained::Mixture),
            "sample" | "argmax" => Err(ConfigError::Untrainable { name }),
            _ => Err(ConfigError::UnknownTransition { name }),
        }
    }
}

impl From<Trained> for String {
    fn from(_: Trained) -> String {
        "mixture".into()
    }
}

/// What may end a run before its schedule. Only the schedule's `finish` can be cut short: a
/// network that looks done early has still to be ramped and hardened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Stopping {
    /// Nothing.
    Never,
    /// So many evaluations in a row without a better one on the validation set.
    Patience {
        /// How many.
        evaluations: usize,
    },
    /// So many evaluations in a row at this accuracy or above, on the training sample and on
    /// the validation set.
    Converged {
        /// Between 0 and 1.
        accuracy: f64,
        /// How many.
        evaluations: usize,
    },
}

/// Which network is the result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// The one after the last update.
    Last,
    /// The one of the best evaluation of the schedule's last phase: highest validation accuracy,
    /// then lowest validation loss, then earliest.
    Best,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            optimiser: Optimiser { rule: Rule::ADAM, clip: 1.0, l2: 0.0 },
            learning_rate: LearningRate::Constant { rate: 1e-3 },
            batch_size: 64,
            sampling: Sampling::Draw,
            schedule: Schedule::default(),
            class_weights: vec![],
            transition: Trained::Mixture,
            validate_every: 200,
            train_sample: 512,
            stopping: Stopping::Never,
            keep: Keep::Last,
            checkpoint_every: 500,
        }
    }
}

/// A configuration that cannot be trained with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A transition that has no gradient.
    #[error(
        "transition \"{name}\" cannot be trained: a choice of one centroid has no gradient. \
         Train with \"mixture\" (Eq. 6); \"{name}\" can be run on the trained network"
    )]
    Untrainable {
        /// What was asked for.
        name: String,
    },
    /// A transition nobody knows.
    #[error("unknown transition \"{name}\": \"mixture\" is the one that can be trained")]
    UnknownTransition {
        /// What was asked for.
        name: String,
    },
    /// A count of zero.
    #[error("{field} is 0: give at least 1")]
    Zero {
        /// The field.
        field: &'static str,
    },
    /// A number out of its range.
    #[error("{field} is {value}: must be {must}")]
    Range {
        /// The field.
        field: &'static str,
        /// What was given.
        value: String,
        /// What it must be.
        must: &'static str,
    },
}

/// Beyond this many updates a phase is taken for a mistake.
const MAX_UPDATES: u64 = 1 << 40;

/// Weights so many times as large are taken for a mistake: gates are 0 or 1 long before.
const MAX_SHARPEN: f64 = 1000.0;

/// Beyond this many sequences an update is taken for a mistake.
const MAX_BATCH: usize = 1 << 24;

impl TrainConfig {
    /// The regime of an update, counted from 0: λ, the weights of the loss, the step size.
    pub fn regime(&self, update: u64) -> Regime {
        let rate = self.learning_rate.at(update, self.schedule.updates());
        self.schedule.regime(update, rate)
    }

    /// Refuses what cannot be trained with.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_counts()?;
        self.validate_schedule()?;
        self.validate_optimiser()?;
        check(self.learning_rate.is_valid(), "learning_rate", &self.learning_rate, POSITIVE)?;
        let weights_good = self.class_weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        check(weights_good, "class_weights", &self.class_weights, NOT_NEGATIVE)?;
        if let Stopping::Converged { accuracy, .. } = self.stopping {
            let good = (0.0..=1.0).contains(&accuracy);
            check(good, "stopping.accuracy", &accuracy, "between 0 and 1")?;
        }
        Ok(())
    }

    fn validate_counts(&self) -> Result<(), ConfigError> {
        let patience = match self.stopping {
            Stopping::Never => 1,
            Stopping::Patience { evaluations } => evaluations,
            Stopping::Converged { evaluations, .. } => evaluations,
        };
        let sequences = match self.schedule.reseed {
            Reseed::Never => 1,
            Reseed::KMeans { sequences } => sequences,
        };
        at_least_one("batch_size", self.batch_size as u64)?;
        check(self.batch_size <= MAX_BATCH, "batch_size", &self.batch_size, "at most 2^24")?;
        at_least_one("validate_every", self.validate_every)?;
        at_least_one("train_sample", self.train_sample as u64)?;
        at_least_one("checkpoint_every", self.checkpoint_every)?;
        at_least_one("stopping.evaluations", patience as u64)?;
        at_least_one("schedule.reseed.sequences", sequences as u64)
    }

    fn validate_schedule(&self) -> Result<(), ConfigError> {
        let s = &self.schedule;
        for (field, length) in [
            ("schedule.warmup", s.warmup),
            ("schedule.ramp", s.ramp),
            ("schedule.settle", s.settle),
            ("schedule.harden", s.harden),
            ("schedule.finish", s.finish),
            ("schedule.curriculum", s.curriculum),
        ] {
            check(length <= MAX_UPDATES, field, &length, "at most 2^40")?;
        }
        at_least_one("the schedule's number of updates", s.updates())?;
        let weight = |x: f64| x.is_finite() && x >= 0.0;
        check(weight(s.commitment), "schedule.commitment", &s.commitment, NOT_NEGATIVE)?;
        check(weight(s.entropy), "schedule.entropy", &s.entropy, NOT_NEGATIVE)?;
        for (field, w) in [("schedule.saturation", s.saturation), ("schedule.writing", s.writing)] {
            check(weight(w), field, &w, NOT_NEGATIVE)?;
            check(w == 0.0 || s.harden > 0, field, &w, "0 where schedule.harden is 0")?;
        }
        let sharp = s.sharpen > 0.0 && s.sharpen <= MAX_SHARPEN;
        check(sharp, "schedule.sharpen", &s.sharpen, "above 0 and at most 1000")?;
        check(weight(s.margin), "schedule.margin", &s.margin, NOT_NEGATIVE)?;
        check(s.tau.is_finite() && s.tau > 0.0, "schedule.tau", &s.tau, POSITIVE)
    }

    fn validate_optimiser(&self) -> Result<(), ConfigError> {
        let Optimiser { rule, clip, l2 } = self.optimiser;
        check(clip > 0.0, "optimiser.clip", &clip, "above 0 (infinity never clips)")?;
        check(l2.is_finite() && l2 >= 0.0, "optimiser.l2", &l2, NOT_NEGATIVE)?;
        let (memories, epsilon) = match rule {
            Rule::Adam { beta1, beta2, epsilon } => ([beta1, beta2], epsilon),
            Rule::RmsProp { decay, momentum, epsilon, .. } => ([decay, momentum], epsilon),
            Rule::AdaDelta { decay, epsilon } => ([decay, decay], epsilon),
        };
        let good = memories.iter().all(|m| (0.0..1.0).contains(m));
        check(good, "a memory of optimiser.rule", &memories, "at least 0 and below 1")?;
        check(epsilon.is_finite() && epsilon > 0.0, "optimiser.rule.epsilon", &epsilon, POSITIVE)
    }
}

const POSITIVE: &str = "a finite number above 0";
const NOT_NEGATIVE: &str = "finite and at least 0";

fn at_least_one(field: &'static str, count: u64) -> Result<(), ConfigError> {
    if count == 0 { Err(ConfigError::Zero { field }) } else { Ok(()) }
}

fn check(
    good: bool,
    field: &'static str,
    value: &dyn std::fmt::Debug,
    must: &'static str,
) -> Result<(), ConfigError> {
    if good { Ok(()) } else { Err(ConfigError::Range { field, value: format!("{value:?}"), must }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_survive_a_round_trip() {
        let config = TrainConfig::default();
        config.validate().unwrap();
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<TrainConfig>(&json).unwrap(), config);
        assert_eq!(serde_json::from_str::<TrainConfig>("{}").unwrap(), config);
    }

    #[test]
    fn a_misspelt_field_is_refused() {
        let error = serde_json::from_str::<TrainConfig>(r#"{"bach_size": 3}"#).unwrap_err();
        assert!(error.to_string().contains("bach_size"), "{error}");
    }

    #[test]
    fn training_through_a_choice_is_refused_in_words() {
        for name in ["sample", "argmax"] {
            let json = format!(r#"{{"transition": "{name}"}}"#);
            let error = serde_json::from_str::<TrainConfig>(&json).unwrap_err().to_string();
            assert!(error.contains("no gradient") && error.contains("mixture"), "{error}");
        }
        assert!(serde_json::from_str::<TrainConfig>(r#"{"transition": "mixture"}"#).is_ok());
        assert!(serde_json::from_str::<TrainConfig>(r#"{"transition": "soft"}"#).is_err());
    }

    #[test]
    fn what_cannot_be_trained_with_is_refused_by_name() {
        type Change = fn(&mut TrainConfig);
        let cases: [(&str, Change); 18] = [
            ("batch_size", |c| c.batch_size = 0),
            ("validate_every", |c| c.validate_every = 0),
            ("checkpoint_every", |c| c.checkpoint_every = 0),
            ("number of updates", |c| c.schedule = Schedule::plain(0)),
            ("schedule.ramp", |c| c.schedule.ramp = u64::MAX),
            ("commitment", |c| c.schedule.commitment = f64::NAN),
            ("schedule.margin", |c| c.schedule.margin = -1.0),
            ("schedule.saturation is 2.0: must be 0 where schedule.harden is 0", |c| {
                (c.schedule.saturation, c.schedule.harden) = (2.0, 0)
            }),
            ("schedule.writing is 1.0: must be 0 where", |c| {
                (c.schedule.writing, c.schedule.harden) = (1.0, 0)
            }),
            ("schedule.sharpen", |c| c.schedule.sharpen = 1e4),
            ("schedule.sharpen", |c| c.schedule.sharpen = f64::NAN),
            ("schedule.tau", |c| c.schedule.tau = 0.0),
            ("learning_rate", |c| c.learning_rate = LearningRate::Constant { rate: -1.0 }),
            ("optimiser.clip", |c| c.optimiser.clip = f64::NAN),
            ("optimiser.l2", |c| c.optimiser.l2 = -1.0),
            ("class_weights", |c| c.class_weights = vec![1.0, f32::INFINITY]),
            ("evaluations", |c| c.stopping = Stopping::Patience { evaluations: 0 }),
            ("rule", |c| c.optimiser.rule = Rule::AdaDelta { decay: 1.0, epsilon: 1e-6 }),
        ];
        for (name, change) in cases {
            let mut config = TrainConfig::default();
            change(&mut config);
            let error = config.validate().unwrap_err().to_string();
            assert!(error.contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn learning_rates_have_their_values_at_the_corners() {
        let cosine = LearningRate::Cosine { rate: 1.0, last: 0.1 };
        assert_eq!(cosine.at(0, 100), 1.0);
        assert!((cosine.at(50, 100) - 0.55).abs() < 1e-15);
        assert!((cosine.at(100, 100) - 0.1).abs() < 1e-15);
        let step = LearningRate::Step { rate: 1.0, factor: 0.5, at: vec![10, 20] };
        let rates = [0, 9, 10, 19, 20, 99].map(|update| step.at(update, 100));
        assert_eq!(rates, [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]);
        assert_eq!(LearningRate::Constant { rate: 0.3 }.at(7, 100), 0.3);
    }
}
