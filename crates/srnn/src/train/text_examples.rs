//! Texts as training examples: a sequence is a window, every step has a target, and each window
//! continues the one before.

use super::examples::{Examples, check_every_step, check_sizes, drop_words};
use super::job::TrainJobError;
use super::regularisation::InputNoise;
use crate::engine::{Batch, Inputs, Targets};
use crate::key::Key;
use crate::model::Arch;
use crate::task::text::corpus::Corpus;

/// The id of `<unk>`, the first word of every vocabulary.
const UNKNOWN: u32 = 0;

impl Examples for Corpus {
    fn count(&self) -> usize {
        self.windows()
    }

    fn length(&self, index: usize) -> usize {
        self.targets(index).len()
    }

    fn continues(&self) -> bool {
        true
    }

    fn batch(&self, indices: &[usize], _: &Arch) -> Batch {
        let (mut offsets, mut inputs, mut targets) = (vec![0], vec![], vec![]);
        for &window in indices {
            inputs.extend(self.inputs(window));
            targets.extend(self.targets(window));
            offsets.push(targets.len());
        }
        let (input, targets) = (Inputs::Tokens(inputs), Targets::Steps(targets));
        Batch { offsets, input, targets, class_weights: vec![], initial: vec![] }
    }

    fn noisy_batch(&self, indices: &[usize], arch: &Arch, noise: &InputNoise, key: &Key) -> Batch {
        let mut batch = self.batch(indices, arch);
        if let Inputs::Tokens(ids) = &mut batch.input {
            drop_words(ids, UNKNOWN, self.vocabulary.len(), noise.word_dropout, key);
        }
        batch
    }

    fn check_noise(&self, noise: &InputNoise) -> Result<(), TrainJobError> {
        match noise.shift {
            0 => Ok(()),
            _ => Err(TrainJobError::Noise {
                remedy: "set regularisation.noise.shift to 0: it moves images",
            }),
        }
    }

    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), TrainJobError> {
        check_every_step(arch)?;
        let words = self.vocabulary.len();
        check_sizes(set, [self.count(), words, words], arch)
    }

    fn digest(&self) -> String {
        self.digest()
    }

    fn bytes(&self) -> u64 {
        size_of_val(&self.tokens[..]) as u64
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
