//! The batches of a run, made ahead where there is time for it.

use super::batch::Sampler;
use super::config::TrainConfig;
use super::examples::Examples;
use super::job::Job;
use crate::engine::Batch;
use crate::model::Arch;
use std::sync::Arc;

/// The batches of a run: a function of the update, whichever were made before.
pub(super) struct Feed<'a, D> {
    job: &'a Job<'a, D>,
    arch: Arch,
    sampler: Sampler,
    /// The batch of the update named, made ahead.
    ready: Option<(u64, Arc<Batch>)>,
}

impl<'a, D: Examples> Feed<'a, D> {
    /// Those of a job, with the configuration suited to the architecture.
    pub(super) fn new(job: &'a Job<'a, D>, config: &TrainConfig, arch: Arch) -> Self {
        let sampler = Sampler::new(&job.split.train, config, job.key);
        Feed { job, arch, sampler, ready: None }
    }

    /// The training sequences of an update.
    pub(super) fn sequences(&mut self, update: u64) -> Vec<usize> {
        self.sampler.indices(update)
    }

    /// The batch of an update.
    pub(super) fn take(&mut self, update: u64) -> Arc<Batch> {
        match self.ready.take() {
            Some((made, batch)) if made == update => batch,
            _ => Arc::new(self.make(update)),
        }
    }

    /// Makes the batch of an update that will be asked for; the same is taken then.
    pub(super) fn prepare(&mut self, update: u64) -> Arc<Batch> {
        let batch = Arc::new(self.make(update));
        self.ready = Some((update, batch.clone()));
        batch
    }

    fn make(&mut self, update: u64) -> Batch {
        let sequences = self.sampler.indices(update);
        let batch = self.job.split.train.batch(&sequences, &self.arch);
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
    fn a_batch_made_ahead_is_that_of_its_update_and_no_other() {
        let (split, schedule) = (small_split(), Schedule::plain(10));
        let config =
            TrainConfig { schedule, class_weights: vec![1.0, 2.0], ..TrainConfig::default() };
        let job = Job { split: &split, config: &config, key: Key::new(1) };
        let feed = || Feed::new(&job, &config, arch(2, 2));
        let alone = |update| feed().take(update);
        assert_ne!(alone(3), alone(4));
        assert_eq!(alone(3).class_weights, [1.0, 2.0]);
        let mut ahead = feed();
        ahead.prepare(4);
        assert_eq!(ahead.ready, Some((4, alone(4))));
        assert_eq!(ahead.take(3), alone(3), "one that was not made ahead");
        let made = ahead.prepare(4);
        let taken = [ahead.take(4), ahead.take(4)];
        assert!(Arc::ptr_eq(&made, &taken[0]), "an engine knows it by its address");
        assert_eq!(taken, [alone(4), alone(4)]);
    }
}
