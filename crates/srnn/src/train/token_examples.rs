//! Sequences without labels as training examples: every step predicts the token that comes next,
//! and the last step predicts the end.

use super::examples::{Examples, check_every_step, check_sizes, drop_words};
use super::job::TrainJobError;
use super::regularisation::InputNoise;
use crate::engine::{Batch, Inputs, Targets};
use crate::key::Key;
use crate::model::Arch;
use crate::task::{TokenSequences, UNKNOWN, inputs_of, targets_of};

impl Examples for TokenSequences {
    fn count(&self) -> usize {
        self.sequences.len()
    }

    fn length(&self, index: usize) -> usize {
        self.sequences[index].len() + 1
    }

    fn batch(&self, indices: &[usize], _: &Arch) -> Batch {
        let (mut offsets, mut inputs, mut targets) = (vec![0], vec![], vec![]);
        for &index in indices {
            inputs.extend(inputs_of(&self.sequences[index], self.end()));
            targets.extend(targets_of(&self.sequences[index], self.end()));
            offsets.push(targets.len());
        }
        let (input, targets) = (Inputs::Tokens(inputs), Targets::Steps(targets));
        Batch { offsets, input, targets, class_weights: vec![], initial: vec![] }
    }

    fn noisy_batch(&self, indices: &[usize], arch: &Arch, noise: &InputNoise, key: &Key) -> Batch {
        let mut batch = self.batch(indices, arch);
        let unknown = self.alphabet.iter().position(|name| name == UNKNOWN);
        if let (Inputs::Tokens(ids), Some(unknown)) = (&mut batch.input, unknown) {
            // The end is the last id; it is not dropped, because sequences begin with it.
            drop_words(ids, unknown as u32, self.end() as usize, noise.word_dropout, key);
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

    fn has_confusion(&self) -> bool {
        false
    }

    fn check(&self, set: &'static str, arch: &Arch) -> Result<(), TrainJobError> {
        check_every_step(arch)?;
        let tokens = self.alphabet.len();
        check_sizes(set, [self.count(), tokens, tokens], arch)
    }

    fn digest(&self) -> String {
        self.digest()
    }

    fn bytes(&self) -> u64 {
        let tokens: usize = self.sequences.iter().map(Vec::len).sum();
        (tokens * size_of::<u32>() + self.sequences.len() * size_of::<Vec<u32>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::evaluate;
    use super::super::recipe::{ArchName, Sizes, recipe_corpus};
    use super::*;
    use crate::engine::reference::Reference;
    use crate::engine::{Mode, Runner as _};
    use crate::model::{Init, Model};

    fn set() -> TokenSequences {
        let alphabet = ["a", "b", UNKNOWN, TokenSequences::END].map(String::from).into();
        TokenSequences { alphabet, sequences: vec![vec![0, 1, 1], vec![], vec![1]] }
    }

    #[test]
    fn every_token_and_the_end_is_predicted_from_the_tokens_before() {
        let set = set();
        let arch = recipe_corpus(&Sizes::corpus(ArchName::Lstm, 4)).arch;
        set.check("training", &arch).unwrap();
        let batch = set.batch(&[0, 1, 2], &arch);
        assert_eq!(batch.offsets, [0, 4, 5, 7]);
        assert_eq!(batch.input, Inputs::Tokens(vec![3, 0, 1, 1, 3, 3, 1]));
        assert_eq!(batch.target_ids(), [0, 1, 1, 3, 3, 1, 3]);
        let noise = InputNoise { word_dropout: 1.0, shift: 0 };
        let batch = set.noisy_batch(&[0, 1, 2], &arch, &noise, &Key::new(1));
        assert_eq!(batch.input, Inputs::Tokens(vec![3, 2, 2, 2, 3, 3, 2]));
        assert_eq!(batch.target_ids(), [0, 1, 1, 3, 3, 1, 3], "targets have no noise");
    }

    #[test]
    fn an_evaluation_is_the_mean_over_all_predictions() {
        let set = set();
        let sizes = Sizes { units: 5, ..Sizes::corpus(ArchName::Lstm, 4) };
        let arch = recipe_corpus(&sizes).arch;
        let model = Model::new(arch.clone(), &Init::default(), Key::new(3)).unwrap();
        let mut engine = Reference::new(&model.to_f64());
        let whole = evaluate(&mut engine, &set, Mode::default()).unwrap();
        let Ok((loss, _)) = engine.loss(&set.batch(&[0, 1, 2], &arch), Mode::default());
        assert!((whole.loss - loss.task).abs() < 1e-12, "{} {}", whole.loss, loss.task);
        assert_eq!(whole.accuracy, loss.correct as f64 / 7.0);
        assert!(whole.confusion.is_empty());
    }
}
