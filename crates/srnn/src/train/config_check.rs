//! Validation of a training configuration.

use super::config::{EarlyStopping, Sampling, TrainConfig};
use super::regularisation::{Averaging, Regularisation};
use super::schedule::Reseed;
use crate::engine::{Optimiser, Rule};

/// An invalid training configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A transition that has no gradient.
    #[error(
        "transition \"{name}\" cannot be trained: choosing one centroid has no gradient. \
         Train with \"mixture\" (Eq. 6); \"{name}\" can be run on the trained network"
    )]
    Untrainable {
        /// The name given.
        name: String,
    },
    /// An unknown transition.
    #[error("unknown transition \"{name}\": only \"mixture\" can be trained")]
    UnknownTransition {
        /// The name given.
        name: String,
    },
    /// A count of zero.
    #[error("{field} is 0: give at least 1")]
    Zero {
        /// The field.
        field: &'static str,
    },
    /// A value out of range.
    #[error("{field} is {value}: must be {must}")]
    Range {
        /// The field.
        field: &'static str,
        /// The value given.
        value: String,
        /// The allowed range.
        must: &'static str,
    },
}

/// A longer phase is probably a mistake.
const MAX_UPDATES: u64 = 1 << 40;

/// A larger factor is probably a mistake: gates saturate at much smaller ones.
const MAX_SHARPEN: f64 = 1000.0;

/// A larger batch is probably a mistake.
const MAX_BATCH: usize = 1 << 24;

impl TrainConfig {
    /// Checks every field; the error names the first invalid one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_counts()?;
        self.validate_schedule()?;
        self.validate_optimiser()?;
        self.validate_regularisation()?;
        check(self.learning_rate.is_valid(), "learning_rate", &self.learning_rate, POSITIVE)?;
        let weights_good = self.class_weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        check(weights_good, "class_weights", &self.class_weights, NOT_NEGATIVE)?;
        let some_weight =
            self.class_weights.is_empty() || self.class_weights.iter().any(|w| *w > 0.0);
        check(some_weight, "class_weights", &self.class_weights, "above 0 for some class")?;
        if let EarlyStopping::Converged { accuracy, .. } = self.stopping {
            let good = (0.0..=1.0).contains(&accuracy);
            check(good, "stopping.accuracy", &accuracy, "between 0 and 1")?;
        }
        Ok(())
    }

    fn validate_counts(&self) -> Result<(), ConfigError> {
        let patience = match self.stopping {
            EarlyStopping::Never => 1,
            EarlyStopping::Patience { evaluations } => evaluations,
            EarlyStopping::Converged { evaluations, .. } => evaluations,
        };
        let sequences = match self.schedule.reseed {
            Reseed::Never => 1,
            Reseed::KMeans { sequences } => sequences,
        };
        at_least_one("batch_size", self.batch_size as u64)?;
        check(self.batch_size <= MAX_BATCH, "batch_size", &self.batch_size, "at most 2^24")?;
        let streams = self.sampling == Sampling::Streams && self.schedule.curriculum > 0;
        check(!streams, "schedule.curriculum", &self.schedule.curriculum, "0 for streams")?;
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
        at_least_one("the number of updates of the schedule", s.updates())?;
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

    fn validate_regularisation(&self) -> Result<(), ConfigError> {
        let Regularisation { readout_dropout, embedding_dropout, noise, averaging } =
            self.regularisation;
        for (field, rate) in [
            ("regularisation.readout_dropout", readout_dropout),
            ("regularisation.embedding_dropout", embedding_dropout),
            ("regularisation.noise.word_dropout", noise.word_dropout),
        ] {
            check((0.0..1.0).contains(&rate), field, &rate, BELOW_ONE)?;
        }
        let Averaging::Exponential { every, decay } = averaging else { return Ok(()) };
        at_least_one("regularisation.averaging.every", every)?;
        check((0.0..1.0).contains(&decay), "regularisation.averaging.decay", &decay, BELOW_ONE)
    }

    fn validate_optimiser(&self) -> Result<(), ConfigError> {
        let Optimiser { rule, clip, l2, weight_decay } = self.optimiser;
        check(clip > 0.0, "optimiser.clip", &clip, "above 0 (infinity never clips)")?;
        for (field, x) in [("optimiser.l2", l2), ("optimiser.weight_decay", weight_decay)] {
            check(x.is_finite() && x >= 0.0, field, &x, NOT_NEGATIVE)?;
        }
        let (decays, epsilon) = match rule {
            Rule::Adam { beta1, beta2, epsilon } => ([beta1, beta2], epsilon),
            Rule::RmsProp { decay, momentum, epsilon, .. } => ([decay, momentum], epsilon),
            Rule::AdaDelta { decay, epsilon } => ([decay, decay], epsilon),
        };
        let good = decays.iter().all(|m| (0.0..1.0).contains(m));
        check(good, "a decay rate of optimiser.rule", &decays, BELOW_ONE)?;
        check(epsilon.is_finite() && epsilon > 0.0, "optimiser.rule.epsilon", &epsilon, POSITIVE)
    }
}

const BELOW_ONE: &str = "at least 0 and below 1";
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
    use super::super::learning_rate::LearningRate;
    use super::super::schedule::Schedule;
    use super::*;

    #[test]
    fn errors_name_the_invalid_field() {
        type Change = fn(&mut TrainConfig);
        let cases: [(&str, Change); 24] = [
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
            ("optimiser.weight_decay", |c| c.optimiser.weight_decay = f64::NAN),
            ("readout_dropout", |c| c.regularisation.readout_dropout = 1.0),
            ("embedding_dropout", |c| c.regularisation.embedding_dropout = -0.1),
            ("word_dropout", |c| c.regularisation.noise.word_dropout = f64::NAN),
            ("averaging.decay", |c| {
                c.regularisation.averaging = Averaging::Exponential { every: 1, decay: 1.0 }
            }),
            ("class_weights", |c| c.class_weights = vec![1.0, f32::INFINITY]),
            ("class_weights", |c| c.class_weights = vec![0.0, 0.0]),
            ("evaluations", |c| c.stopping = EarlyStopping::Patience { evaluations: 0 }),
            ("rule", |c| c.optimiser.rule = Rule::AdaDelta { decay: 1.0, epsilon: 1e-6 }),
        ];
        for (name, change) in cases {
            let mut config = TrainConfig::default();
            change(&mut config);
            let error = config.validate().unwrap_err().to_string();
            assert!(error.contains(name), "{name}: {error}");
        }
    }
}
