//! The state of a run other than parameters and optimiser moments: counters and history.

use super::config::{EarlyStopping, KeepModel, TrainConfig};
use super::evaluate::Evaluation;
use super::phases::best_of_phases;
use super::schedule::Phase;
use crate::engine::Step;
use serde::{Deserialize, Serialize};

/// The state of a run other than parameters and optimiser moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Updates made, including skipped ones.
    pub update: u64,
    /// One record per evaluation.
    pub history: Vec<Record>,
    /// Sums over the updates since the last evaluation.
    pub window: WindowSums,
    /// The update of the best evaluation, where the best network is kept.
    pub best: Option<u64>,
    /// The updates of the best evaluation of every phase, where networks of phases are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phase_best: Vec<u64>,
    /// Updates skipped because their gradient was not finite.
    #[serde(default, rename = "lost")]
    pub skipped_updates: u64,
    /// The number of consecutive skipped updates up to now.
    #[serde(default, rename = "lost_in_a_row")]
    pub skipped_in_a_row: u64,
}

/// An evaluation, and means over the updates since the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Updates made.
    pub update: u64,
    /// The phase of the last update.
    pub phase: Phase,
    /// λ of the last update. The evaluation uses the same λ.
    pub lambda: f64,
    /// The learning rate of the last update.
    pub learning_rate: f64,
    /// Mean regularised loss.
    pub loss: f64,
    /// Mean cross-entropy.
    pub task: f64,
    /// Mean (u − αS)²; 0 where its weight is 0.
    pub commitment: f64,
    /// Mean H(α) in nats; 0 where its weight is 0.
    pub entropy: f64,
    /// Mean distance of gates from saturation; 0 where its weight is 0.
    #[serde(default)]
    pub saturation: f64,
    /// Mean amount written to cell states; 0 where its weight is 0.
    #[serde(default)]
    pub writing: f64,
    /// Mean gradient norm before clipping.
    pub gradient_norm: f64,
    /// The score on the fixed sample of the training set.
    pub train: EvalScore,
    /// The score on the validation set.
    pub valid: EvalScore,
}

/// Accuracy and loss of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalScore {
    /// The fraction of targets predicted correctly.
    pub accuracy: f64,
    /// Mean cross-entropy.
    pub loss: f64,
}

impl EvalScore {
    /// Whether this score is better: higher accuracy, then lower loss.
    pub fn beats(&self, other: &EvalScore) -> bool {
        self.beats_by(other, KeepModel::Best)
    }

    /// Whether this score is better for a run that keeps this model.
    fn beats_by(&self, other: &EvalScore, keep: KeepModel) -> bool {
        match keep {
            KeepModel::LowestLoss => (-self.loss, self.accuracy) > (-other.loss, other.accuracy),
            KeepModel::Best | KeepModel::Last => {
                (self.accuracy, -self.loss) > (other.accuracy, -other.loss)
            }
        }
    }
}

impl From<&Evaluation> for EvalScore {
    fn from(evaluation: &Evaluation) -> EvalScore {
        EvalScore { accuracy: evaluation.accuracy, loss: evaluation.loss }
    }
}

/// Sums over the updates since the last evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSums {
    /// The number of updates.
    pub updates: u64,
    /// Sum of the regularised loss.
    pub loss: f64,
    /// Sum of the cross-entropy.
    pub task: f64,
    /// Sum of the mean (u − αS)².
    pub commitment: f64,
    /// Sum of the mean H(α).
    pub entropy: f64,
    /// Sum of the gates' mean distance from saturation.
    #[serde(default)]
    pub saturation: f64,
    /// Sum of the mean amount written to cell states.
    #[serde(default)]
    pub writing: f64,
    /// Sum of the gradient norm.
    pub gradient_norm: f64,
}

impl WindowSums {
    /// Adds an update.
    pub fn add(&mut self, step: &Step) {
        self.updates += 1;
        self.loss += step.loss.total;
        self.task += step.loss.task;
        self.commitment += step.loss.commitment;
        self.entropy += step.loss.entropy;
        self.saturation += step.loss.saturation;
        self.writing += step.loss.writing;
        self.gradient_norm += step.gradient_norm;
    }
}

/// Why a run stops before the end of its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyStop {
    /// Too many evaluations without an improvement.
    Patience,
    /// Enough evaluations in a row at the target accuracy.
    Converged,
}

impl Progress {
    /// Appends an evaluation after the last update to the history, and resets the window.
    pub fn record(&mut self, config: &TrainConfig, train: EvalScore, valid: EvalScore) {
        let last = self.update.saturating_sub(1);
        let regime = config.regime(last);
        let w = std::mem::take(&mut self.window);
        let mean = |sum: f64| sum / w.updates.max(1) as f64;
        self.history.push(Record {
            update: self.update,
            phase: config.schedule.phase(last),
            lambda: regime.lambda,
            learning_rate: regime.learning_rate,
            loss: mean(w.loss),
            task: mean(w.task),
            commitment: mean(w.commitment),
            entropy: mean(w.entropy),
            saturation: mean(w.saturation),
            writing: mean(w.writing),
            gradient_norm: mean(w.gradient_norm),
            train,
            valid,
        });
        if config.keep != KeepModel::Last {
            self.best = best(&self.history, config).map(|record| record.update);
        }
        if !config.keep_phases.is_never() {
            self.phase_best = best_of_phases(&self.history);
        }
    }

    /// Whether the current network has the best evaluation and must be kept.
    pub fn is_best_now(&self) -> bool {
        self.best == Some(self.update)
    }

    /// The early-stopping criterion that the last evaluation meets, if any.
    pub fn early_stop(&self, config: &TrainConfig) -> Option<EarlyStop> {
        let recent = self.history.last().is_some_and(|record| record.update == self.update);
        if !recent {
            return None;
        }
        let finish: Vec<&Record> =
            self.history.iter().filter(|record| record.phase == Phase::Finish).collect();
        match config.stopping {
            EarlyStopping::Never => None,
            EarlyStopping::Patience { evaluations } => {
                let best = best(&self.history, config)?.update;
                let since = finish.iter().filter(|record| record.update > best).count();
                (since >= evaluations).then_some(EarlyStop::Patience)
            }
            EarlyStopping::Converged { accuracy, evaluations } => {
                let good =
                    |r: &&&Record| r.train.accuracy >= accuracy && r.valid.accuracy >= accuracy;
                let since = finish.iter().rev().take_while(good).count();
                (since >= evaluations).then_some(EarlyStop::Converged)
            }
        }
    }
}

/// The best record of the schedule's last phase. Earlier phases do not count: their networks are
/// not yet the paper's, or not yet hardened.
pub fn best<'a>(history: &'a [Record], config: &TrainConfig) -> Option<&'a Record> {
    let last = config.schedule.last_phase();
    let candidates = history.iter().filter(|record| record.phase == last);
    let better = |record: &Record, best: &Record| record.valid.beats_by(&best.valid, config.keep);
    candidates.reduce(|best, record| if better(record, best) { record } else { best })
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedule;
    use super::*;

    fn after(accuracies: &[f64], config: &TrainConfig) -> Progress {
        let mut progress = Progress::default();
        for &accuracy in accuracies {
            progress.update += 10;
            let score = EvalScore { accuracy, loss: 0.5 };
            progress.record(config, score, score);
        }
        progress
    }

    #[test]
    fn patience_counts_evaluations_since_the_best() {
        let stopping = EarlyStopping::Patience { evaluations: 2 };
        let schedule = Schedule::plain(1_000);
        let config = TrainConfig { schedule, stopping, ..TrainConfig::default() };
        assert_eq!(after(&[0.5, 0.9, 0.8], &config).early_stop(&config), None);
        let stop = after(&[0.5, 0.9, 0.8, 0.9], &config).early_stop(&config);
        assert_eq!(stop, Some(EarlyStop::Patience), "an equal score is no improvement");
    }

    #[test]
    fn convergence_needs_consecutive_evaluations_in_the_finish_phase() {
        let stopping = EarlyStopping::Converged { accuracy: 1.0, evaluations: 2 };
        let schedule = Schedule::plain(1_000);
        let config = TrainConfig { schedule, stopping, ..TrainConfig::default() };
        assert_eq!(after(&[1.0, 0.9, 1.0], &config).early_stop(&config), None);
        assert_eq!(
            after(&[0.9, 1.0, 1.0], &config).early_stop(&config),
            Some(EarlyStop::Converged)
        );
        let homotopy = TrainConfig { stopping, ..TrainConfig::default() };
        assert_eq!(
            after(&[1.0; 460], &homotopy).early_stop(&homotopy),
            None,
            "hardening is never cut short"
        );
    }

    #[test]
    fn a_language_model_keeps_the_lowest_loss_not_the_highest_accuracy() {
        let schedule = Schedule::plain(1_000);
        let best = |keep| {
            let config = TrainConfig { schedule: schedule.clone(), keep, ..TrainConfig::default() };
            let mut progress = Progress::default();
            for (accuracy, loss) in [(0.20, 5.0), (0.21, 4.8), (0.22, 4.9)] {
                progress.update += 10;
                let score = EvalScore { accuracy, loss };
                progress.record(&config, score, score);
            }
            progress.best
        };
        assert_eq!(best(KeepModel::LowestLoss), Some(20));
        assert_eq!(best(KeepModel::Best), Some(30));
    }

    #[test]
    fn the_best_evaluation_is_of_the_last_phase() {
        let schedule = Schedule { warmup: 20, ramp: 0, settle: 20, ..Schedule::plain(30) };
        let config = TrainConfig { schedule, keep: KeepModel::Best, ..TrainConfig::default() };
        let progress = after(&[1.0, 1.0, 1.0, 1.0, 0.5, 0.7, 0.7], &config);
        assert_eq!(progress.best, Some(60));
        assert_eq!(after(&[1.0, 1.0], &config).best, None);
    }
}
