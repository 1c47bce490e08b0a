//! The training configuration.

use super::config_check::ConfigError;
use super::learning_rate::LearningRate;
use super::phases::KeepPhases;
use super::regularisation::Regularisation;
use super::schedule::Schedule;
use crate::engine::{Optimiser, Regime, Rule};
use serde::{Deserialize, Serialize};

/// The training configuration. Absent fields have their defaults; unknown fields are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// The optimiser. Default: Adam, gradient norm clipped at 1.
    pub optimiser: Optimiser,
    /// The learning-rate schedule. Default: constant 0.001.
    pub learning_rate: LearningRate,
    /// Sequences per update. Default 64.
    pub batch_size: usize,
    /// How the sequences of an update are sampled. Default: drawn with replacement.
    pub sampling: Sampling,
    /// The homotopy schedule. Its phases add up to the number of updates.
    pub schedule: Schedule,
    /// Dropout, noise on the inputs, and weight averaging. Default: none.
    // Not written if there is none: configurations from before it have the same digest.
    #[serde(skip_serializing_if = "Regularisation::is_none")]
    pub regularisation: Regularisation,
    /// The weight of each class in the loss; empty (the default) means all ones.
    pub class_weights: Vec<f32>,
    /// The map from α to the next hidden state in training. Only the mixture can be trained.
    pub transition: TrainTransition,
    /// Updates between two evaluations. Default 200.
    pub validate_every: u64,
    /// The number of training sequences in an evaluation, a fixed sample. Default 512.
    pub train_sample: usize,
    /// Early stopping. Default: never.
    pub stopping: EarlyStopping,
    /// Which network is the result. Default: the last, because hardening lasts until the end.
    pub keep: KeepModel,
    /// Whether networks of earlier phases are kept beside the result. Default: never.
    #[serde(skip_serializing_if = "KeepPhases::is_never")]
    pub keep_phases: KeepPhases,
    /// Updates between two checkpoints. Default 500.
    pub checkpoint_every: u64,
}

/// How the sequences of an update are sampled. Every way depends on the key and the update alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Drawn uniformly, with replacement.
    Draw,
    /// Shuffled epochs over the whole set; the last batch of an epoch may be smaller. While the
    /// curriculum grows, an epoch has the sequences that were available at its start.
    Epochs,
    /// Epochs in which the sequences of a batch have similar lengths: an update takes as long as
    /// its longest sequence.
    SimilarLengths,
    /// For the windows of a text: each of `batch_size` rows reads consecutive windows, and its state
    /// is carried from one update to the next. Gradients end at the first step of a window. An epoch
    /// starts from zero states.
    Streams,
}

/// The map from α to the next hidden state in training. Only the mixture has a gradient; other
/// names are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TrainTransition {
    /// `h = Σ α_i s_i` (Eq. 6).
    #[default]
    Mixture,
}

impl TryFrom<String> for TrainTransition {
    type Error = ConfigError;
    fn try_from(name: String) -> Result<Self, ConfigError> {
        match name.as_str() {
            "mixture" => Ok(TrainTransition::Mixture),
            "sample" | "argmax" => Err(ConfigError::Untrainable { name }),
            _ => Err(ConfigError::UnknownTransition { name }),
        }
    }
}

impl From<TrainTransition> for String {
    fn from(_: TrainTransition) -> String {
        "mixture".into()
    }
}

/// When a run may stop before the end of its schedule. Only the phase `finish` can be cut short:
/// a network that is accurate early still has to be ramped and hardened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum EarlyStopping {
    /// Never.
    Never,
    /// After this many evaluations without an improvement on the validation set.
    Patience {
        /// The number of evaluations.
        evaluations: usize,
    },
    /// After this many consecutive evaluations at the accuracy or above, on both the training
    /// sample and the validation set.
    Converged {
        /// Between 0 and 1.
        accuracy: f64,
        /// The number of evaluations.
        evaluations: usize,
    },
}

/// Which network is the result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepModel {
    /// The network after the last update.
    Last,
    /// The one with the best evaluation in the schedule's last phase: highest validation accuracy,
    /// then lowest validation loss, then earliest.
    Best,
    /// The same with the lowest validation loss first: for language models.
    LowestLoss,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            optimiser: Optimiser::new(Rule::ADAM, 1.0),
            learning_rate: LearningRate::Constant { rate: 1e-3 },
            batch_size: 64,
            sampling: Sampling::Draw,
            schedule: Schedule::default(),
            regularisation: Regularisation::default(),
            class_weights: vec![],
            transition: TrainTransition::Mixture,
            validate_every: 200,
            train_sample: 512,
            stopping: EarlyStopping::Never,
            keep: KeepModel::Last,
            keep_phases: KeepPhases::Never,
            checkpoint_every: 500,
        }
    }
}

impl TrainConfig {
    /// λ, loss weights and learning rate of an update, counted from 0. Dropout needs the key of the
    /// run and is added by the loop.
    pub fn regime(&self, update: u64) -> Regime {
        let rate = self.learning_rate.at(update, self.schedule.updates());
        self.schedule.regime(update, rate)
    }
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
    fn transitions_without_a_gradient_are_refused() {
        for name in ["sample", "argmax"] {
            let json = format!(r#"{{"transition": "{name}"}}"#);
            let error = serde_json::from_str::<TrainConfig>(&json).unwrap_err().to_string();
            assert!(error.contains("no gradient") && error.contains("mixture"), "{error}");
        }
        assert!(serde_json::from_str::<TrainConfig>(r#"{"transition": "mixture"}"#).is_ok());
        assert!(serde_json::from_str::<TrainConfig>(r#"{"transition": "soft"}"#).is_err());
    }
}
