//! Texts for language models as a source of experiments.

use crate::task::Split;
use crate::task::text::CorpusError;
use crate::task::text::corpus::{self, Corpus, CorpusOptions};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// `corpus:wikitext-2`: the texts in the folder `wikitext-2` of the user's data folder.
/// `corpus:wikitext-2:vocabulary=33278`: with this many words, `<unk>` counted. `window=35`: gradients
/// pass through 35 words. `most=300`: only the first 300 windows of the training and of the validation
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusSource {
    folder: String,
    options: CorpusOptions,
}

/// The prefix of the names of sources, and the name of the test.
pub(super) const CORPUS: &str = "corpus";

/// A larger vocabulary or window is probably a mistake.
const MAX_VOCABULARY: usize = 1 << 20;
const MAX_WINDOW: usize = 1 << 16;

impl CorpusSource {
    /// V: the number of words.
    pub fn vocabulary(&self) -> usize {
        self.options.vocabulary
    }

    /// The same source with this many windows.
    pub(super) fn with_train(&self, most: usize) -> CorpusSource {
        let options = CorpusOptions { most, ..self.options };
        CorpusSource { folder: self.folder.clone(), options }
    }

    /// Reads the texts. Folders are relative to `data`.
    pub(super) fn read(&self, data: &Path) -> Result<Split<Corpus>, CorpusError> {
        corpus::sets(&data.join(&self.folder), &self.options)
    }
}

/// Parses the text after `corpus:`: a folder, then `:name=number` several times.
impl FromStr for CorpusSource {
    type Err = ();
    fn from_str(text: &str) -> Result<CorpusSource, ()> {
        let mut parts = text.split(':');
        let folder = parts.next().filter(|folder| !folder.is_empty()).ok_or(())?.to_string();
        let mut options = CorpusOptions::default();
        let mut given = Vec::new();
        for part in parts {
            let (name, number) = part.split_once('=').ok_or(())?;
            let number: usize = number.parse().map_err(|_| ())?;
            let (field, range) = match name {
                "vocabulary" => (&mut options.vocabulary, 2..=MAX_VOCABULARY),
                "window" => (&mut options.window, 1..=MAX_WINDOW),
                "most" => (&mut options.most, 1..=usize::MAX),
                _ => return Err(()),
            };
            *field = number;
            if !range.contains(&number) || given.contains(&name) {
                return Err(());
            }
            given.push(name);
        }
        Ok(CorpusSource { folder, options })
    }
}

impl fmt::Display for CorpusSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (CorpusOptions { vocabulary, window, most }, default) =
            (self.options, CorpusOptions::default());
        write!(f, "{CORPUS}:{}", self.folder)?;
        for (name, value, default) in [
            ("vocabulary", vocabulary, default.vocabulary),
            ("window", window, default.window),
            ("most", most, default.most),
        ] {
            if value != default {
                write!(f, ":{name}={value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_corpora_round_trip_and_invalid_ones_are_refused() {
        for name in ["wikitext-2", "a/b:vocabulary=33278:window=35", "a:most=7"] {
            let source: CorpusSource = name.parse().unwrap();
            assert_eq!(source.to_string(), format!("corpus:{name}"));
        }
        let wrong =
            ["", ":window=3", "a:", "a:window=0", "a:vocabulary=1", "a:window=3:window=4", "a:b=1"];
        for name in wrong {
            assert!(name.parse::<CorpusSource>().is_err(), "{name}");
        }
    }
}
