//! The homotopy from the vanilla network to the paper's, as a pure function of the update.
//!
//! Plain state-regularized training fails on the harder grammars. This schedule trains a vanilla
//! network first (λ = 0). It then moves h gradually from u to the mixture αS, while a commitment loss
//! pulls u towards αS. Finally it hardens α. At λ = 1 the network is exactly the paper's.

use crate::engine::Regime;
use crate::model::Arch;
use serde::{Deserialize, Serialize};

/// The phases of a run with their lengths in updates, and the weights of the loss. A phase of
/// length 0 is skipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Schedule {
    /// Updates at λ = 0, where the network is vanilla. Default 1,000.
    pub warmup: u64,
    /// Updates while λ rises linearly from 0. It is 1 at the first update after them.
    /// Default 2,000.
    pub ramp: u64,
    /// Updates at λ = 1. Default 1,000.
    pub settle: u64,
    /// Updates at λ = 1 with the hardening terms: entropy of α, gate saturation, writing.
    /// Default 600.
    pub harden: u64,
    /// Updates that continue the phase before; early stopping may cut them short. Default 0.
    pub finish: u64,
    /// Weight of the commitment loss at λ = 1; it is multiplied by λ. Default 0.3.
    pub commitment: f64,
    /// Weight of the entropy of α while hardening. Default 0.1.
    pub entropy: f64,
    /// Weight of the gates' distance from saturation while hardening. A cell state with saturated
    /// gates does not drift. Default 0.
    pub saturation: f64,
    /// Weight of the amount written to cell states while hardening. It suppresses needless
    /// counting. Default 0.
    pub writing: f64,
    /// At the end, the weights and biases of the cells are multiplied by this factor, which
    /// saturates nearly saturated gates. Default 1: no change.
    pub sharpen: f64,
    /// The factor of τ at the first update. It falls linearly to 1 where λ reaches 1, so that
    /// early transitions are softer. Default 1: the network's own τ throughout.
    pub tau: f64,
    /// The logit margin that the loss demands of a decision, from λ = 1 on. Default 0.
    pub margin: f64,
    /// The updates, from the first, over which the length curriculum grows; 0 disables it.
    /// Default 1,000.
    pub curriculum: u64,
    /// Whether the centroids are reseeded before the ramp. Default: never; with the commitment
    /// loss it is not needed.
    pub reseed: Reseed,
}

/// Whether the centroids are reseeded before the ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reseed {
    /// The centroids do not move.
    Never,
    /// The centroids move to hidden states of training sequences, chosen by k-means++. The
    /// optimiser's moments do not change.
    KMeans {
        /// The number of sampled training sequences.
        sequences: usize,
    },
}

/// A phase of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// λ = 0.
    Warmup,
    /// λ rises.
    Ramp,
    /// λ = 1.
    Settle,
    /// λ = 1, with the hardening terms in the loss.
    Harden,
    /// Continues the phase before; early stopping may cut it short.
    Finish,
}

impl Phase {
    /// The name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Warmup => "warmup",
            Phase::Ramp => "ramp",
            Phase::Settle => "settle",
            Phase::Harden => "harden",
            Phase::Finish => "finish",
        }
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            warmup: 1_000,
            ramp: 2_000,
            settle: 1_000,
            harden: 600,
            finish: 0,
            commitment: 0.3,
            entropy: 0.1,
            saturation: 0.0,
            writing: 0.0,
            sharpen: 1.0,
            tau: 1.0,
            margin: 0.0,
            curriculum: 1_000,
            reseed: Reseed::Never,
        }
    }
}

impl Schedule {
    /// All updates at λ = 1 without curriculum: training as the paper describes it.
    pub fn plain(updates: u64) -> Schedule {
        Schedule {
            warmup: 0,
            ramp: 0,
            settle: 0,
            harden: 0,
            finish: updates,
            commitment: 0.0,
            entropy: 0.0,
            saturation: 0.0,
            writing: 0.0,
            sharpen: 1.0,
            tau: 1.0,
            margin: 0.0,
            curriculum: 0,
            reseed: Reseed::Never,
        }
    }

    /// The schedule for an architecture. Without centroids there is no ramp and no commitment, and
    /// only gates can be hardened. The curriculum stays, and the updates of dropped phases become
    /// plain ones, so that architectures are compared at equal budgets.
    pub fn adapted_to(&self, arch: &Arch) -> Schedule {
        if arch.layers.iter().any(|layer| layer.centroids.is_some()) {
            return self.clone();
        }
        let (settle, harden) = match self.saturation > 0.0 || self.writing > 0.0 {
            true => (self.ramp.saturating_add(self.settle), self.harden),
            false => (0, 0),
        };
        Schedule {
            ramp: 0,
            settle,
            harden,
            finish: [self.warmup, settle, harden]
                .iter()
                .fold(self.updates(), |left, length| left.saturating_sub(*length)),
            commitment: 0.0,
            entropy: 0.0,
            tau: 1.0,
            reseed: Reseed::Never,
            ..self.clone()
        }
    }

    /// The schedule scaled to exactly `updates` updates, in the same proportions.
    pub fn scaled_to(&self, updates: u64) -> Schedule {
        let total = self.updates().max(1) as u128;
        let scale = |point: u64| (point as u128 * updates as u128 / total) as u64;
        let mut scaled = Schedule { curriculum: scale(self.curriculum), ..self.clone() };
        let mut end = 0;
        let mut scaled_end = 0;
        for (phase, length) in self.phases() {
            end = length.saturating_add(end);
            *scaled.length_mut(phase) = scale(end) - scaled_end;
            scaled_end = scale(end);
        }
        scaled
    }

    /// The total number of updates. It saturates; [`TrainConfig::validate`] refuses such a schedule.
    ///
    /// [`TrainConfig::validate`]: crate::train::TrainConfig::validate
    pub fn updates(&self) -> u64 {
        self.phases().iter().fold(0, |sum, &(_, length)| length.saturating_add(sum))
    }

    /// The phase of an update, counted from 0. Beyond the end it is the last phase.
    pub fn phase(&self, update: u64) -> Phase {
        let mut end = 0;
        let mut last = Phase::Finish;
        for (phase, length) in self.phases() {
            end += length;
            if update < end {
                return phase;
            }
            last = if length > 0 { phase } else { last };
        }
        last
    }

    /// Whether a phase ends after this many updates.
    pub fn ends_phase(&self, updates: u64) -> bool {
        updates > 0 && self.phase(updates - 1) != self.phase(updates)
    }

    /// The phase that ends the run.
    pub fn last_phase(&self) -> Phase {
        self.phase(self.updates())
    }

    /// λ, the weights of the loss and the learning rate of an update, counted from 0.
    pub fn regime(&self, update: u64, learning_rate: f64) -> Regime {
        let phase = self.phase(update);
        let lambda = match phase {
            Phase::Warmup => 0.0,
            Phase::Ramp => (update - self.warmup) as f64 / self.ramp as f64,
            Phase::Settle | Phase::Harden | Phase::Finish => 1.0,
        };
        let hard = phase == Phase::Harden || (phase == Phase::Finish && self.harden > 0);
        let [entropy, saturation, writing] =
            [self.entropy, self.saturation, self.writing].map(|w| if hard { w } else { 0.0 });
        let margin = if lambda == 1.0 { self.margin } else { 0.0 };
        let (commitment, tau) = (self.commitment * lambda, self.tau_factor(update));
        Regime {
            lambda,
            commitment,
            entropy,
            saturation,
            writing,
            tau,
            margin,
            ..Regime::plain(learning_rate)
        }
    }

    /// The factor of τ at an update.
    fn tau_factor(&self, update: u64) -> f64 {
        let end = self.warmup + self.ramp;
        match update < end {
            true => self.tau + (1.0 - self.tau) * update as f64 / end as f64,
            false => 1.0,
        }
    }

    /// Whether the centroids are reseeded before this update, the first of the ramp.
    pub fn reseeds_before(&self, update: u64) -> bool {
        self.reseed != Reseed::Never && self.ramp > 0 && update == self.warmup
    }

    /// The index of the longest admitted length at update i, among `lengths` distinct sequence
    /// lengths in ascending order: ⌊lengths · i / curriculum⌋.
    ///
    /// # Panics
    /// If there are no lengths.
    pub fn longest(&self, update: u64, lengths: usize) -> usize {
        assert!(lengths > 0, "curriculum over no sequences");
        if update >= self.curriculum {
            return lengths - 1;
        }
        (lengths as u128 * update as u128 / self.curriculum as u128) as usize
    }

    fn phases(&self) -> [(Phase, u64); 5] {
        [
            (Phase::Warmup, self.warmup),
            (Phase::Ramp, self.ramp),
            (Phase::Settle, self.settle),
            (Phase::Harden, self.harden),
            (Phase::Finish, self.finish),
        ]
    }

    fn length_mut(&mut self, phase: Phase) -> &mut u64 {
        match phase {
            Phase::Warmup => &mut self.warmup,
            Phase::Ramp => &mut self.ramp,
            Phase::Settle => &mut self.settle,
            Phase::Harden => &mut self.harden,
            Phase::Finish => &mut self.finish,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recipe::{ArchName, Sizes, recipe_default};
    use super::*;

    fn at(update: u64) -> (Phase, f64, f64, f64) {
        let schedule = Schedule::default();
        let regime = schedule.regime(update, 1e-3);
        (schedule.phase(update), regime.lambda, regime.commitment, regime.entropy)
    }

    #[test]
    fn the_default_schedule_has_the_measured_values_at_phase_boundaries() {
        assert_eq!(Schedule::default().updates(), 4_600);
        assert_eq!(at(0), (Phase::Warmup, 0.0, 0.0, 0.0));
        assert_eq!(at(999), (Phase::Warmup, 0.0, 0.0, 0.0));
        assert_eq!(at(1_000), (Phase::Ramp, 0.0, 0.0, 0.0));
        assert_eq!(at(2_000), (Phase::Ramp, 0.5, 0.15, 0.0));
        assert_eq!(at(2_999), (Phase::Ramp, 0.9995, 0.3 * 0.9995, 0.0));
        assert_eq!(at(3_000), (Phase::Settle, 1.0, 0.3, 0.0));
        assert_eq!(at(3_999), (Phase::Settle, 1.0, 0.3, 0.0));
        assert_eq!(at(4_000), (Phase::Harden, 1.0, 0.3, 0.1));
        assert_eq!(at(4_599), (Phase::Harden, 1.0, 0.3, 0.1));
        assert_eq!(at(9_999), (Phase::Harden, 1.0, 0.3, 0.1), "beyond the end");
    }

    #[test]
    fn the_temperature_factor_falls_to_one_and_the_margin_starts_there() {
        let schedule = Schedule { tau: 3.0, margin: 2.0, ..Schedule::default() };
        let at = |update| {
            let regime = schedule.regime(update, 1e-3);
            (regime.tau, regime.margin)
        };
        assert_eq!(at(0), (3.0, 0.0));
        assert_eq!(at(1_500), (2.0, 0.0));
        assert_eq!(at(3_000), (1.0, 2.0));
        assert_eq!(at(9_999), (1.0, 2.0));
        assert_eq!(Schedule::default().regime(500, 1e-3).tau, 1.0);
    }

    #[test]
    fn the_curriculum_admits_one_length_after_the_other() {
        let schedule = Schedule::default();
        let longest = |update| schedule.longest(update, 16);
        assert_eq!(longest(0), 0);
        assert_eq!(longest(62), 0);
        assert_eq!(longest(63), 1);
        assert_eq!(longest(500), 8);
        assert_eq!(longest(937), 14);
        assert_eq!(longest(938), 15);
        assert_eq!(longest(999), 15);
        assert_eq!(longest(1_000), 15);
        assert_eq!(longest(4_599), 15);
        assert_eq!(schedule.longest(0, 1), 0);
        assert_eq!(schedule.longest(999, 5_000), 4_995, "more lengths than updates");
        assert_eq!(schedule.longest(1_000, 5_000), 4_999);
        assert_eq!(Schedule::plain(10).longest(0, 16), 15, "no curriculum");
    }

    #[test]
    fn plain_training_is_the_papers_network_from_the_first_update() {
        let plain = Schedule::plain(10);
        assert_eq!(plain.phase(0), Phase::Finish);
        let regime = plain.regime(0, 0.01);
        assert_eq!((regime.lambda, regime.commitment, regime.entropy), (1.0, 0.0, 0.0));
        assert_eq!(regime.learning_rate, 0.01);
    }

    #[test]
    fn the_finish_continues_the_phase_before_it() {
        let hardened = Schedule { finish: 10, ..Schedule::default() };
        assert_eq!(hardened.regime(4_605, 1e-3).entropy, 0.1);
        assert_eq!(hardened.last_phase(), Phase::Finish);
        let soft = Schedule { harden: 0, finish: 10, ..Schedule::default() };
        assert_eq!(soft.regime(4_005, 1e-3).entropy, 0.0);
        assert_eq!(soft.regime(4_005, 1e-3).commitment, 0.3);
    }

    #[test]
    fn scaling_keeps_the_total_and_the_order_of_phases() {
        let scaled = Schedule::default().scaled_to(460);
        assert_eq!((scaled.warmup, scaled.ramp, scaled.settle, scaled.harden), (100, 200, 100, 60));
        assert_eq!(scaled.curriculum, 100);
        for updates in [0, 1, 2, 3, 7, 100, 4_599, 4_601, 1_000_000] {
            assert_eq!(Schedule::default().scaled_to(updates).updates(), updates);
        }
    }

    #[test]
    fn hardening_penalises_unsaturated_gates_in_every_architecture() {
        let schedule = Schedule { saturation: 2.0, finish: 10, ..Schedule::default() };
        let sizes = Sizes { arch: ArchName::Lstm, ..Sizes::of(2, 2) };
        let vanilla = schedule.adapted_to(&recipe_default(&sizes).arch);
        assert_eq!(vanilla.updates(), schedule.updates());
        for schedule in [schedule, vanilla] {
            let at = |update| schedule.regime(update, 1e-3).saturation;
            assert_eq!([at(0), at(3_999), at(4_000), at(4_605)], [0.0, 0.0, 2.0, 2.0]);
        }
    }

    #[test]
    fn reseeding_happens_once_at_the_start_of_the_ramp() {
        let reseed = Reseed::KMeans { sequences: 10 };
        let schedule = Schedule { reseed, ..Schedule::default() };
        let times: Vec<u64> = (0..4_600).filter(|&i| schedule.reseeds_before(i)).collect();
        assert_eq!(times, [1_000]);
        assert!(!(0..4_600).any(|i| Schedule::default().reseeds_before(i)));
    }
}
