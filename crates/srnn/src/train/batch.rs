//! Which sequences an update learns from, and how they become a batch.

use super::config::{Sampling, TrainConfig};
use super::examples::Examples;
use super::schedule::Schedule;
use crate::engine::{Batch, Targets};
use crate::key::Key;
use crate::model::Arch;
use crate::task::Dataset;

/// The sequences at `indices`, with the start and end tokens of the architecture.
///
/// # Panics
/// If an index is out of range.
pub fn batch(dataset: &Dataset, indices: &[usize], arch: &Arch) -> Batch {
    let rows = indices.iter().map(|&index| &dataset.sequences[index]);
    let words = rows.clone().map(|sequence| sequence.tokens.iter().copied());
    let labels = rows.map(|sequence| sequence.label).collect();
    Batch { targets: Targets::Rows(labels), ..Batch::of_words(&arch.input, words) }
}

/// The sequences of each update: a pure function of the key and the update, so that a resumed
/// run needs no replay.
pub struct Sampler {
    sampling: Sampling,
    batch_size: usize,
    schedule: Schedule,
    key: Key,
    curriculum: Curriculum,
    /// The order of the pass asked for last: the function again, but once a pass.
    pass: Option<(u64, Vec<usize>)>,
}

/// Sequences by length.
struct Curriculum {
    /// All indices, shorter sequences first.
    by_length: Vec<usize>,
    /// How many sequences are no longer than the j-th distinct length.
    up_to: Vec<usize>,
}

/// Where an update lies in passes over the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The pass, counted from 0.
    pub epoch: u64,
    /// The batch within it, counted from 0.
    pub batch: u64,
    /// Sequences in this pass.
    pub sequences: usize,
}

impl Sampler {
    /// The sampler of a run over `examples`.
    ///
    /// # Panics
    /// If there are no sequences.
    pub fn new(examples: &impl Examples, config: &TrainConfig, key: Key) -> Self {
        assert!(examples.count() > 0, "training on no sequences");
        Sampler {
            sampling: config.sampling,
            batch_size: config.batch_size,
            schedule: config.schedule.clone(),
            key: key.child("sampler", 0),
            curriculum: Curriculum::of(examples),
            pass: None,
        }
    }

    /// The indices of the sequences of an update, counted from 0.
    pub fn indices(&mut self, update: u64) -> Vec<usize> {
        match self.sampling {
            Sampling::Draw => {
                let open = &self.curriculum.by_length[..self.open(update)];
                let mut stream = self.key.child("draw", update).rng();
                (0..self.batch_size).map(|_| open[stream.below(open.len())]).collect()
            }
            Sampling::Epochs => {
                let place = self.place(update);
                let from = place.batch as usize * self.batch_size;
                let to = from.saturating_add(self.batch_size).min(place.sequences);
                self.order(place)[from..to].to_vec()
            }
        }
    }

    /// Where an update lies in passes over the data.
    pub fn place(&self, update: u64) -> Place {
        let (mut epoch, mut begin) = (0, 0);
        // Passes differ in size only while the curriculum opens; the rest is a division.
        loop {
            let sequences = self.open(begin);
            let batches = sequences.div_ceil(self.batch_size) as u64;
            if begin >= self.schedule.curriculum {
                let batch = (update - begin) % batches;
                return Place { epoch: epoch + (update - begin) / batches, batch, sequences };
            }
            if update < begin + batches {
                return Place { epoch, batch: update - begin, sequences };
            }
            epoch += 1;
            begin += batches;
        }
    }

    /// How many sequences, shortest first, are open at an update.
    pub fn open(&self, update: u64) -> usize {
        let lengths = self.curriculum.up_to.len();
        self.curriculum.up_to[self.schedule.longest(update, lengths)]
    }

    fn order(&mut self, place: Place) -> &[usize] {
        if self.pass.as_ref().is_none_or(|(epoch, _)| *epoch != place.epoch) {
            let mut order = self.curriculum.by_length[..place.sequences].to_vec();
            self.key.child("epoch", place.epoch).rng().shuffle(&mut order);
            self.pass = Some((place.epoch, order));
        }
        &self.pass.as_ref().expect("it was just made").1
    }
}

impl Curriculum {
    fn of(examples: &impl Examples) -> Self {
        let length = |&index: &usize| examples.length(index);
        let mut by_length: Vec<usize> = (0..examples.count()).collect();
        by_length.sort_by_key(length);
        let mut up_to: Vec<usize> =
            by_length.chunk_by(|a, b| length(a) == length(b)).map(<[usize]>::len).collect();
        for j in 1..up_to.len() {
            up_to[j] += up_to[j - 1];
        }
        Curriculum { by_length, up_to }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arch, words};
    use super::*;
    use crate::engine::Inputs;

    fn config(sampling: Sampling, batch_size: usize, curriculum: u64) -> TrainConfig {
        let schedule = Schedule { curriculum, ..Schedule::plain(1_000) };
        TrainConfig { sampling, batch_size, schedule, ..TrainConfig::default() }
    }

    #[test]
    fn a_batch_frames_every_sequence_with_the_tokens_of_the_architecture() {
        let set = words(&["01", "", "1"]);
        let mut arch = arch(4, 2);
        let batch = batch(&set, &[2, 0, 1], &arch);
        assert_eq!(batch.offsets, [0, 2, 5, 6]);
        assert_eq!(batch.input, Inputs::Tokens(vec![2, 1, 2, 0, 1, 2]));
        assert_eq!(batch.targets, Targets::Rows(vec![1, 1, 0]));
        if let crate::model::Input::Tokens { end, .. } = &mut arch.input {
            *end = true;
        }
        let batch = super::batch(&set, &[1, 0], &arch);
        assert_eq!(batch.input, Inputs::Tokens(vec![2, 3, 2, 0, 1, 3]));
    }

    #[test]
    fn every_pass_sees_every_sequence_once_and_in_another_order() {
        let set = words(&["", "0", "1", "00", "01", "10", "11"]);
        let config = config(Sampling::Epochs, 3, 0);
        let mut sampler = Sampler::new(&set, &config, Key::new(1));
        let mut passes = vec![];
        for epoch in 0..4 {
            let updates = 3 * epoch..3 * (epoch + 1);
            let pass: Vec<usize> = updates.flat_map(|u| sampler.indices(u)).collect();
            let mut sorted = pass.clone();
            sorted.sort();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6]);
            assert!(!passes.contains(&pass));
            passes.push(pass);
        }
    }

    #[test]
    fn the_sequences_of_an_update_do_not_depend_on_what_was_asked_before() {
        let set = words(&["", "0", "1", "00", "01", "10", "11", "000", "0000"]);
        for sampling in [Sampling::Draw, Sampling::Epochs] {
            let config = config(sampling, 2, 20);
            let mut forward = Sampler::new(&set, &config, Key::new(1));
            let ahead: Vec<_> = (0..50).map(|u| forward.indices(u)).collect();
            for update in (0..50).rev() {
                let alone = Sampler::new(&set, &config, Key::new(1)).indices(update);
                assert_eq!(alone, ahead[update as usize], "{sampling:?} {update}");
            }
        }
    }

    #[test]
    fn only_open_lengths_are_drawn() {
        let set = words(&["000", "", "00", "01", "0000"]);
        for sampling in [Sampling::Draw, Sampling::Epochs] {
            let config = config(sampling, 4, 40);
            let mut sampler = Sampler::new(&set, &config, Key::new(5));
            let mut longest = |update| {
                let drawn = sampler.indices(update);
                drawn.iter().map(|&i| set.sequences[i].tokens.len()).max().unwrap()
            };
            assert_eq!((0..10).map(&mut longest).max(), Some(0), "{sampling:?}");
            assert_eq!((10..20).map(&mut longest).max(), Some(2), "{sampling:?}");
            assert_eq!((30..60).map(&mut longest).max(), Some(4), "{sampling:?}");
        }
    }
}
