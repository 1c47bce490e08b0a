//! The file of a baseline: `model/ngrams.json`.

use super::{Feature, NgramModel};
use crate::engine::atomic::{self, IfExists};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A baseline with its vocabulary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NgramFile {
    /// Version of the file format: [`NgramFile::FORMAT`].
    pub format: String,
    /// The name of each token, by id.
    pub alphabet: Vec<String>,
    /// The id that stands for tokens outside the vocabulary, if there is one.
    pub unknown: Option<u32>,
    /// The name of each class, by id.
    pub classes: Vec<String>,
    /// The baseline.
    pub model: NgramModel,
}

/// Why a file is not a baseline.
#[derive(Debug, thiserror::Error)]
pub enum NgramFileError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is larger than any baseline that is written or read.
    #[error("the file has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// It is not JSON of this form.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Its parts do not fit together.
    #[error("{0}")]
    Inconsistent(&'static str),
}

/// The weights of the largest baseline take about half of it.
const MAX_BYTES: u64 = 256 << 20;

impl NgramFile {
    /// The format that is written.
    pub const FORMAT: &'static str = "srnn-ngrams-1";
    /// The name of the file in a model folder.
    pub const NAME: &'static str = "ngrams.json";

    /// Writes the file atomically.
    ///
    /// # Errors
    /// If it cannot be written, or is too large to be read again.
    pub fn save(&self, folder: &Path) -> Result<(), NgramFileError> {
        self.save_within(folder, MAX_BYTES)
    }

    fn save_within(&self, folder: &Path, most: u64) -> Result<(), NgramFileError> {
        std::fs::create_dir_all(folder)?;
        let text = serde_json::to_string(self)?;
        if text.len() as u64 > most {
            return Err(NgramFileError::TooLarge);
        }
        Ok(atomic::write(&folder.join(NgramFile::NAME), text.as_bytes(), IfExists::Replace)?)
    }

    /// Reads the file of a model folder.
    ///
    /// # Errors
    /// If it cannot be read, or is not a baseline.
    pub fn load(folder: &Path) -> Result<NgramFile, NgramFileError> {
        let mut bytes = vec![];
        let file = File::open(folder.join(NgramFile::NAME))?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(NgramFileError::TooLarge);
        }
        let file: NgramFile = serde_json::from_slice(&bytes)?;
        file.check()?;
        Ok(file)
    }

    /// A feature in the words of the data: `open close`, or `A at position 31`, counted from 1.
    pub fn feature_name(&self, feature: &Feature) -> String {
        let name = |&id: &u32| self.alphabet[id as usize].as_str();
        match feature {
            Feature::Ngram(tokens) => tokens.iter().map(name).collect::<Vec<_>>().join(" "),
            Feature::At(position, token) => {
                format!("{} at position {}", name(token), position + 1)
            }
        }
    }

    fn check(&self) -> Result<(), NgramFileError> {
        let NgramModel { classes, features, weights, bias, .. } = &self.model;
        let token = |&id: &u32| (id as usize) < self.alphabet.len();
        let known = |feature: &Feature| match feature {
            Feature::Ngram(tokens) => tokens.iter().all(token),
            Feature::At(_, id) => token(id),
        };
        let refuse = |why| Err(NgramFileError::Inconsistent(why));
        match () {
            () if self.format != NgramFile::FORMAT => refuse("another format"),
            () if self.classes.len() < 2 => refuse("fewer than two classes"),
            () if self.classes.len() != *classes || bias.len() != *classes => {
                refuse("the number of classes differs")
            }
            () if Some(weights.len()) != features.len().checked_mul(*classes) => {
                refuse("the number of weights differs")
            }
            () if !features.is_sorted() || !features.iter().all(known) => {
                refuse("a feature has a token that is not in the vocabulary, or is out of order")
            }
            () if !weights.iter().chain(bias).all(|w| w.is_finite()) => {
                refuse("a weight is not finite")
            }
            () if self.unknown.is_some_and(|id| !token(&id)) => refuse("<unk> is out of range"),
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::dataset;

    fn file() -> NgramFile {
        let set = dataset(&[("ab", "x"), ("ba", "y"), ("ab", "x"), ("ba", "y")]);
        let model = NgramModel::fit(&set, &set, &[]);
        let format = NgramFile::FORMAT.into();
        NgramFile { format, alphabet: set.alphabet, unknown: None, classes: set.classes, model }
    }

    #[test]
    fn a_file_reads_back_to_the_same_bits() {
        let folder = tempfile::tempdir().unwrap();
        file().save(folder.path()).unwrap();
        assert_eq!(NgramFile::load(folder.path()).unwrap(), file());
    }

    #[test]
    fn a_file_that_could_not_be_read_again_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let refused = file().save_within(folder.path(), 100);
        assert!(matches!(refused, Err(NgramFileError::TooLarge)), "{refused:?}");
        assert!(!folder.path().join(NgramFile::NAME).exists());
    }

    #[test]
    fn parts_that_do_not_fit_together_are_refused() {
        let breaks: [fn(&mut NgramFile); 7] = [
            |f| f.format = "srnn-ngrams-9".into(),
            |f| f.classes.push("z".into()),
            |f| f.model.weights.truncate(f.model.weights.len() - 1),
            |f| f.model.features[0] = Feature::Ngram(vec![9]),
            |f| f.model.features.reverse(),
            |f| f.unknown = Some(2),
            |f| {
                (f.classes, f.model.classes) = (vec![], 0);
                (f.model.weights, f.model.bias) = (vec![], vec![]);
            },
        ];
        for damage in breaks {
            let mut file = file();
            damage(&mut file);
            assert!(matches!(file.check(), Err(NgramFileError::Inconsistent(_))), "{file:?}");
        }
        file().check().unwrap();
    }
}
