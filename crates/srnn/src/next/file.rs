//! The file of a model that predicts the next token: `next.json`. The weights of a network are beside
//! it, in a model folder as any network has.

use super::{AnomalyThresholds, NextKind, NextModel, NextVocabulary, TokenAutomaton, TokenNgrams};
use crate::engine::atomic::{self, IfExists};
use crate::engine::model::{FileError, ModelFile};
use crate::model::{Input, When};
use crate::task::files::TokenRule;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A model with its vocabulary and its thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct NextFile {
    /// The kind of model.
    pub kind: NextKind,
    /// The tokens.
    pub vocabulary: NextVocabulary,
    /// How strings are split into tokens.
    pub tokens: TokenRule,
    /// When a sequence is anomalous.
    pub thresholds: AnomalyThresholds,
    /// The model.
    pub model: NextModel,
}

/// Why a folder has no such model.
#[derive(Debug, thiserror::Error)]
pub enum NextFileError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is larger than any that is written.
    #[error("the file has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// It is not JSON of this form.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Its parts do not fit together.
    #[error("{0}")]
    Inconsistent(&'static str),
    /// The network cannot be read or written.
    #[error(transparent)]
    Network(#[from] FileError),
}

/// Two million contexts take less.
const MAX_BYTES: u64 = 512 << 20;

/// The content of the file. A network is not part of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredNext {
    format: String,
    kind: NextKind,
    vocabulary: NextVocabulary,
    tokens: TokenRule,
    thresholds: AnomalyThresholds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ngrams: Option<TokenNgrams>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    automaton: Option<TokenAutomaton>,
}

impl NextFile {
    /// The format that is written.
    pub const FORMAT: &'static str = "srnn-next-1";
    /// The name of the file in a model folder.
    pub const NAME: &'static str = "next.json";

    /// Writes the files of the model; `next.json` is the last.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), NextFileError> {
        std::fs::create_dir_all(folder)?;
        let NextFile { kind, vocabulary, tokens, thresholds, model } = self;
        let (mut ngrams, mut automaton) = (None, None);
        match model {
            NextModel::Ngrams(model) => ngrams = Some(model.clone()),
            NextModel::Automaton(model) => automaton = Some(model.clone()),
            NextModel::Network(model) => self.model_file(model).save(folder)?,
        }
        let stored = StoredNext {
            format: NextFile::FORMAT.into(),
            kind: *kind,
            vocabulary: vocabulary.clone(),
            tokens: tokens.clone(),
            thresholds: *thresholds,
            ngrams,
            automaton,
        };
        let text = serde_json::to_string(&stored)?;
        Ok(atomic::write(&folder.join(NextFile::NAME), text.as_bytes(), IfExists::Replace)?)
    }

    /// Reads the model of a folder.
    ///
    /// # Errors
    /// If it cannot be read, or its parts do not fit together.
    pub fn load(folder: &Path) -> Result<NextFile, NextFileError> {
        let mut bytes = vec![];
        let file = File::open(folder.join(NextFile::NAME))?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(NextFileError::TooLarge);
        }
        let stored: StoredNext = serde_json::from_slice(&bytes)?;
        if stored.format != NextFile::FORMAT {
            return Err(NextFileError::Inconsistent("another format"));
        }
        let StoredNext { kind, vocabulary, tokens, thresholds, ngrams, automaton, .. } = stored;
        let model = match (ngrams, automaton) {
            (Some(model), None) => NextModel::Ngrams(model),
            (None, Some(model)) => NextModel::Automaton(model),
            (None, None) => NextModel::Network(Box::new(load_network(folder, &vocabulary)?)),
            (Some(_), Some(_)) => return Err(NextFileError::Inconsistent("two models")),
        };
        let file = NextFile { kind, vocabulary, tokens, thresholds, model };
        match file.inconsistency() {
            Some(why) => Err(NextFileError::Inconsistent(why)),
            None => Ok(file),
        }
    }

    fn model_file(&self, model: &crate::model::Model<f32>) -> ModelFile {
        let alphabet = self.vocabulary.alphabet.clone();
        ModelFile {
            model: model.clone(),
            classes: alphabet.clone(),
            alphabet,
            unknown: Some(self.vocabulary.unknown()),
            image: None,
            tokenizer: self.tokens.tokenizer(),
        }
    }

    fn inconsistency(&self) -> Option<&'static str> {
        let AnomalyThresholds { max_bits, mean_bits, .. } = self.thresholds;
        let of_model = match &self.model {
            NextModel::Ngrams(model) => (model.tokens, model.inconsistency()),
            NextModel::Automaton(model) => (model.tokens, model.inconsistency()),
            NextModel::Network(model) => (model.arch.classes, None),
        };
        self.vocabulary.inconsistency().or(match of_model {
            _ if max_bits.is_nan() || mean_bits.is_nan() => Some("a threshold is not a number"),
            (tokens, _) if tokens != self.vocabulary.alphabet.len() => {
                Some("the number of tokens differs")
            }
            (_, why) => why,
        })
    }
}

/// Loads the network beside the file, which must predict the tokens that it reads.
fn load_network(
    folder: &Path,
    vocabulary: &NextVocabulary,
) -> Result<crate::model::Model<f32>, NextFileError> {
    let file = ModelFile::load(folder)?;
    let plain_tokens =
        matches!(file.model.arch.input, Input::Tokens { start: false, end: false, .. });
    let names = &vocabulary.alphabet[..];
    let same = file.alphabet == names && file.classes == names;
    match plain_tokens && same && file.model.arch.readout.when == When::EveryStep {
        true => Ok(file.model),
        false => Err(NextFileError::Inconsistent("the network predicts something else")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::sequences;
    use super::*;
    use crate::key::Key;
    use crate::model::{Init, Model};
    use crate::train::{ArchName, Sizes, recipe_corpus};

    fn file(model: NextModel) -> NextFile {
        let alphabet = sequences(&[]).alphabet.to_vec();
        NextFile {
            kind: NextKind::Ngrams,
            vocabulary: NextVocabulary { alphabet, unknown_in_training: false },
            tokens: TokenRule::Characters,
            thresholds: AnomalyThresholds {
                flagged: 0.01,
                sequences: 10,
                top_g: 2,
                max_bits: 7.25,
                mean_bits: 1.5,
            },
            model,
        }
    }

    fn models() -> Vec<NextModel> {
        let train = sequences(&["abab", "ab"]);
        let sizes = Sizes { units: 4, k: 3, ..Sizes::corpus(ArchName::SrGru, 4) };
        let network =
            Model::new(recipe_corpus(&sizes).arch, &Init::default(), Key::new(1)).unwrap();
        let automaton = TokenAutomaton::extract(&network, &train, vec![0.25; 4]).unwrap();
        vec![
            NextModel::Ngrams(TokenNgrams::fit(&train, &train)),
            NextModel::Automaton(automaton),
            NextModel::Network(Box::new(network)),
        ]
    }

    #[test]
    fn every_kind_of_model_is_read_back_to_the_same_bits() {
        for model in models() {
            let folder = tempfile::tempdir().unwrap();
            file(model.clone()).save(folder.path()).unwrap();
            assert_eq!(NextFile::load(folder.path()).unwrap(), file(model));
        }
    }

    #[test]
    fn a_broken_file_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NextFile::NAME);
        file(models().remove(0)).save(folder.path()).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        for (from, to, why) in [
            ("srnn-next-1", "srnn-next-9", "another format"),
            ("\"tokens\":4", "\"tokens\":5", "number of tokens"),
            ("\"b\",", "\"a\",", "not sorted"),
            ("\"kappa\":", "\"kappa\":-", "not positive"),
            ("\"max_bits\":7.25", "\"max_bits\":null", "null"),
            ("\"ngrams\":", "\"n-grams\":", "unknown field"),
        ] {
            assert!(good.contains(from), "{from}");
            std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
            let error = NextFile::load(folder.path()).unwrap_err().to_string();
            assert!(error.contains(why), "{error} lacks {why}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(NextFile::load(folder.path()).is_err());
    }
}
