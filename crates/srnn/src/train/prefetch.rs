//! Batches of a run, prepared ahead of their update where the engine allows it.

use super::batch::Sampler;
use super::config::TrainConfig;
use super::examples::Examples;
use super::job::TrainJob;
use crate::engine::Batch;
use crate::model::Arch;
use std::sync::Arc;

/// The purpose of the key of input noise.
const NOISE: &str = "input noise";

/// Makes the batches of a run. A batch depends on its update alone, prefetched or not.
pub(super) struct BatchPrefetcher<'a, D> {
    job: &'a TrainJob<'a, D>,
    arch: Arch,
    sampler: Sampler,
    /// The prefetched batch and its update.
    ready: Option<(u64, Arc<Batch>)>,
}

impl<'a, D: Examples> BatchPrefetcher<'a, D> {
    /// `config` is the configuration of `job`, adapted to `arch`.
    pub(super) fn new(job: &'a TrainJob<'a, D>, config: &TrainConfig, arch: Arch) -> Self {
        let sampler = Sampler::new(&job.split.train, config, job.key);
        BatchPrefetcher { job, arch, sampler, ready: None }
    }

    /// The indices of the training sequences of an update.
    pub(super) fn sequences(&mut self, update: u64) -> Vec<usize> {
        self.sampler.indices(update)
    }

    /// Whether an update is the first of its epoch.
    pub(super) fn starts_epoch(&self, update: u64) -> bool {
        self.sampler.position(update).batch == 0
    }

    /// The batch of an update: the prefetched one where it matches, otherwise a new one.
    pub(super) fn take(&mut self, update: u64) -> Arc<Batch> {
        match self.ready.take() {
            Some((made, batch)) if made == update => batch,
            _ => Arc::new(self.make(update)),
        }
    }

    /// Prepares the batch of a later update. [`Self::take`] returns the same allocation.
    pub(super) fn prefetch(&mut self, update: u64) -> Arc<Batch> {
        let batch = Arc::new(self.make(update));
        self.ready = Some((update, batch.clone()));
        batch
    }

    fn make(&mut self, update: u64) -> Batch {
        let sequences = self.sampler.indices(update);
        let (noise, key) =
            (&self.job.config.regularisation.noise, self.job.key.child(NOISE, update));
        let batch = self.job.split.train.noisy_batch(&sequences, &self.arch, noise, &key);
        Batch { class_weights: self.job.config.class_weights.clone(), ..batch }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedule;
    use super::super::testing::{arch, small_split};
    use super::*;
    use crate::key::Key;

    #[test]
    fn a_prefetched_batch_is_used_for_its_own_update_only() {
        let (split, schedule) = (small_split(), Schedule::plain(10));
        let config =
            TrainConfig { schedule, class_weights: vec![1.0, 2.0], ..TrainConfig::default() };
        let job = TrainJob { split: &split, config: &config, key: Key::new(1) };
        let new = || BatchPrefetcher::new(&job, &config, arch(2, 2));
        let alone = |update| new().take(update);
        assert_ne!(alone(3), alone(4));
        assert_eq!(alone(3).class_weights, [1.0, 2.0]);
        let mut batches = new();
        batches.prefetch(4);
        assert_eq!(batches.ready, Some((4, alone(4))));
        assert_eq!(batches.take(3), alone(3), "not prefetched");
        let made = batches.prefetch(4);
        let taken = [batches.take(4), batches.take(4)];
        assert!(
            Arc::ptr_eq(&made, &taken[0]),
            "engines recognise a prefetched batch by its address"
        );
        assert_eq!(taken, [alone(4), alone(4)]);
    }
}
