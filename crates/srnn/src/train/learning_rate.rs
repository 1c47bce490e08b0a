//! Learning-rate schedules.

use serde::{Deserialize, Serialize};

/// The learning rate as a function of the update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LearningRate {
    /// The same for every update.
    Constant {
        /// The learning rate.
        rate: f64,
    },
    /// Cosine decay over the whole schedule.
    Cosine {
        /// The learning rate of the first update.
        rate: f64,
        /// The learning rate at the end.
        last: f64,
    },
    /// Multiplied by a factor at given updates.
    Step {
        /// The learning rate of the first update.
        rate: f64,
        /// The factor.
        factor: f64,
        /// The updates, counted from 0, at which the rate is multiplied once more.
        at: Vec<u64>,
    },
}

impl LearningRate {
    /// The learning rate of an update, counted from 0, in a schedule of `updates`.
    pub fn at(&self, update: u64, updates: u64) -> f64 {
        match self {
            LearningRate::Constant { rate } => *rate,
            LearningRate::Cosine { rate, last } => {
                let progress = update.min(updates) as f64 / updates.max(1) as f64;
                last + (rate - last) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            LearningRate::Step { rate, factor, at } => {
                let times = at.iter().filter(|&&from| from <= update).count();
                rate * factor.powi(times as i32)
            }
        }
    }

    /// Whether all rates and factors are usable.
    pub(super) fn is_valid(&self) -> bool {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        match *self {
            LearningRate::Constant { rate } => positive(rate),
            LearningRate::Cosine { rate, last } => {
                positive(rate) && last.is_finite() && last >= 0.0
            }
            LearningRate::Step { rate, factor, .. } => positive(rate) && positive(factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_rates_have_the_expected_values_at_key_updates() {
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
