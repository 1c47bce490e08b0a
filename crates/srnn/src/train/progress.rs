//! How far a run is: everything it knows beside parameters and moments, and what follows from it.

use super::config::{Keep, Stopping, TrainConfig};
use super::evaluate::Evaluation;
use super::schedule::Phase;
use crate::engine::Step;
use serde::{Deserialize, Serialize};

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Updates made, or lost.
    pub update: u64,
    /// One record per evaluation.
    pub history: Vec<Record>,
    /// The updates since the last evaluation.
    pub window: Window,
    /// The update after which the network was at its best, where it is kept.
    pub best: Option<u64>,
    /// Updates that were not made, because their gradient was not a number.
    #[serde(default)]
    pub lost: u64,
    /// How many of them were the last ones.
    #[serde(default)]
    pub lost_in_a_row: u64,
}

/// An evaluation, and the updates that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Updates made.
    pub update: u64,
    /// The phase of the last of them.
    pub phase: Phase,
    /// λ of the last of them; the evaluation is of the network at this λ.
    pub lambda: f64,
    /// Its step size.
    pub learning_rate: f64,
    /// Mean regularised loss of the updates since the evaluation before.
    pub loss: f64,
    /// Mean cross-entropy of these.
    pub task: f64,
    /// Mean (u − αS)² of these; 0 where its weight is 0.
    pub commitment: f64,
    /// Mean H(α) of these, in nats; 0 where its weight is 0.
    pub entropy: f64,
    /// Mean distance of their gates from saturation; 0 where its weight is 0.
    #[serde(default)]
    pub saturation: f64,
    /// How much they write on average; 0 where its weight is 0.
    #[serde(default)]
    pub writing: f64,
    /// Mean norm of their gradients before clipping.
    pub gradient_norm: f64,
    /// On the fixed sample of the training set.
    pub train: Score,
    /// On the validation set.
    pub valid: Score,
}

/// An evaluation in two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The part that is right.
    pub accuracy: f64,
    /// Mean cross-entropy.
    pub loss: f64,
}

impl Score {
    /// Whether this one is to be preferred: more right, then lower loss.
    pub fn beats(&self, other: &Score) -> bool {
        (self.accuracy, -self.loss) > (other.accuracy, -other.loss)
    }
}

impl From<&Evaluation> for Score {
    fn from(evaluation: &Evaluation) -> Score {
        Score { accuracy: evaluation.accuracy, loss: evaluation.loss }
    }
}

/// Sums over the updates since the last evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// How many.
    pub updates: u64,
    /// Of the regularised loss.
    pub loss: f64,
    /// Of the cross-entropy.
    pub task: f64,
    /// Of the mean (u − αS)².
    pub commitment: f64,
    /// Of the mean H(α).
    pub entropy: f64,
    /// Of the gates' mean distance from saturation.
    #[serde(default)]
    pub saturation: f64,
    /// Of how much is written on average.
    #[serde(default)]
    pub writing: f64,
    /// Of the gradient's norm.
    pub gradient_norm: f64,
}

impl Window {
    /// One more update.
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

/// Why a schedule may end early, as far as the history tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enough {
    /// Nothing better for long.
    Patience,
    /// Good for long.
    Converged,
}

impl Progress {
    /// Closes the window with an evaluation of the network as it is after the last update.
    pub fn record(&mut self, config: &TrainConfig, train: Score, valid: Score) {
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
        if config.keep == Keep::Best {
            self.best = best(&self.history, config).map(|record| record.update);
        }
    }

    /// Whether the network as it is now is the best so far, and to be kept for that.
    pub fn is_best_now(&self) -> bool {
        self.best == Some(self.update)
    }

    /// Whether the history says that the run may end here.
    pub fn enough(&self, config: &TrainConfig) -> Option<Enough> {
        let recent = self.history.last().is_some_and(|record| record.update == self.update);
        if !recent {
            return None;
        }
        let open: Vec<&Record> =
            self.history.iter().filter(|record| record.phase == Phase::Finish).collect();
        match config.stopping {
            Stopping::Never => None,
            Stopping::Patience { evaluations } => {
                let best = best(&self.history, config)?.update;
                let since = open.iter().filter(|record| record.update > best).count();
                (since >= evaluations).then_some(Enough::Patience)
            }
            Stopping::Converged { accuracy, evaluations } => {
                let good =
                    |r: &&&Record| r.train.accuracy >= accuracy && r.valid.accuracy >= accuracy;
                let since = open.iter().rev().take_while(good).count();
                (since >= evaluations).then_some(Enough::Converged)
            }
        }
    }
}

/// The best record of the schedule's last phase. Earlier phases are other networks: not yet the
/// paper's, or not yet hard.
pub fn best<'a>(history: &'a [Record], config: &TrainConfig) -> Option<&'a Record> {
    let last = config.schedule.last_phase();
    let candidates = history.iter().filter(|record| record.phase == last);
    candidates.reduce(|best, record| if record.valid.beats(&best.valid) { record } else { best })
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedule;
    use super::*;

    fn after(accuracies: &[f64], config: &TrainConfig) -> Progress {
        let mut progress = Progress::default();
        for &accuracy in accuracies {
            progress.update += 10;
            let score = Score { accuracy, loss: 0.5 };
            progress.record(config, score, score);
        }
        progress
    }

    #[test]
    fn patience_counts_evaluations_since_the_best() {
        let stopping = Stopping::Patience { evaluations: 2 };
        let schedule = Schedule::plain(1_000);
        let config = TrainConfig { schedule, stopping, ..TrainConfig::default() };
        assert_eq!(after(&[0.5, 0.9, 0.8], &config).enough(&config), None);
        let enough = after(&[0.5, 0.9, 0.8, 0.9], &config).enough(&config);
        assert_eq!(enough, Some(Enough::Patience), "an equal one is not better");
    }

    #[test]
    fn convergence_needs_its_evaluations_in_a_row_and_the_finish() {
        let stopping = Stopping::Converged { accuracy: 1.0, evaluations: 2 };
        let schedule = Schedule::plain(1_000);
        let config = TrainConfig { schedule, stopping, ..TrainConfig::default() };
        assert_eq!(after(&[1.0, 0.9, 1.0], &config).enough(&config), None);
        assert_eq!(after(&[0.9, 1.0, 1.0], &config).enough(&config), Some(Enough::Converged));
        let homotopy = TrainConfig { stopping, ..TrainConfig::default() };
        assert_eq!(after(&[1.0; 460], &homotopy).enough(&homotopy), None, "hardened to the end");
    }

    #[test]
    fn the_best_is_looked_for_in_the_last_phase_only() {
        let schedule = Schedule { warmup: 20, ramp: 0, settle: 20, ..Schedule::plain(30) };
        let config = TrainConfig { schedule, keep: Keep::Best, ..TrainConfig::default() };
        let progress = after(&[1.0, 1.0, 1.0, 1.0, 0.5, 0.7, 0.7], &config);
        assert_eq!(progress.best, Some(60));
        assert_eq!(after(&[1.0, 1.0], &config).best, None);
    }
}
