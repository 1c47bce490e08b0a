//! IMDB as a source of experiments: vocabulary, and where reviews are cut.

use crate::task::Split;
use crate::task::text::ReviewError;
use crate::task::text::imdb::{self, ImdbOptions};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// `imdb`: the reviews in the folder `imdb` of the user's data folder. `imdb:vocabulary=5000`: with
/// this many tokens. `imdb:train=10`: training reviews are cut after 10 words; `valid` is the same for
/// the validation set, which is cut like the training set without it. `imdb:most=600`: only the first
/// 600 training reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImdbSource(ImdbOptions);

/// `imdb`: the first test reviews. `imdb:tokens=100`: cut after 100 words. `imdb:train:tokens=100`:
/// the first training reviews instead, as long as the test says, for the paper's training errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImdbTest {
    /// Training reviews instead of test reviews.
    pub of_train: bool,
    /// The largest number of words of a review.
    pub words: usize,
}

/// The prefix of the names of sources and tests.
pub(super) const IMDB: &str = "imdb";

const TRAIN: &str = ":train";
const TOKENS: &str = ":tokens=";

/// A larger vocabulary is probably a mistake.
const MAX_VOCABULARY: usize = 1 << 20;

impl ImdbSource {
    /// V: the number of tokens.
    pub fn vocabulary(&self) -> usize {
        self.0.vocabulary
    }

    /// The same source with this many training reviews, including those held out.
    pub(super) fn with_train(self, most: usize) -> ImdbSource {
        ImdbSource(ImdbOptions { most, ..self.0 })
    }

    /// Reads the whole reviews from the folder `imdb` in `data`.
    pub(super) fn read_whole(&self, data: &Path) -> Result<Split, ReviewError> {
        imdb::whole(&data.join(IMDB), &self.0)
    }

    /// Cuts them as the source says. Test reviews stay whole.
    pub(super) fn cut(&self, whole: Split) -> Split {
        imdb::cut_sets(whole, &self.0)
    }
}

/// Parses the text after `imdb`: nothing, or `:name=number` several times.
impl FromStr for ImdbSource {
    type Err = ();
    fn from_str(text: &str) -> Result<ImdbSource, ()> {
        let mut options = ImdbOptions::default();
        let mut given = Vec::new();
        for part in text.split(':').skip(1) {
            let (name, number) = part.split_once('=').ok_or(())?;
            let number: usize = number.parse().map_err(|_| ())?;
            let (field, least) = match name {
                "vocabulary" => (&mut options.vocabulary, 2),
                "train" => (&mut options.train_words, 1),
                "valid" => (&mut options.valid_words, 1),
                "most" => (&mut options.most, imdb::CLASSES.len() * imdb::HELD_OUT),
                _ => return Err(()),
            };
            *field = number;
            if number < least || given.contains(&name) {
                return Err(());
            }
            given.push(name);
        }
        if !given.contains(&"valid") {
            options.valid_words = options.train_words;
        }
        let known = options.vocabulary <= MAX_VOCABULARY && !text.ends_with(':');
        (known && (text.is_empty() || text.starts_with(':')))
            .then_some(ImdbSource(options))
            .ok_or(())
    }
}

impl fmt::Display for ImdbSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImdbOptions { vocabulary, train_words, valid_words, most, .. } = self.0;
        let default = ImdbOptions::default();
        let fields = [
            ("vocabulary", vocabulary, default.vocabulary),
            ("train", train_words, default.train_words),
            ("valid", valid_words, train_words),
            ("most", most, default.most),
        ];
        f.write_str(IMDB)?;
        let mut changed = fields.iter().filter(|(_, value, default)| value != default);
        changed.try_for_each(|(name, value, _)| write!(f, ":{name}={value}"))
    }
}

/// Parses the text after `imdb`: `:train` or nothing, then `:tokens=100` or nothing.
impl FromStr for ImdbTest {
    type Err = ();
    fn from_str(text: &str) -> Result<ImdbTest, ()> {
        let (of_train, rest) = match text.strip_prefix(TRAIN) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest.is_empty() {
            return Ok(ImdbTest { of_train, words: usize::MAX });
        }
        let words = rest.strip_prefix(TOKENS).ok_or(())?.parse().map_err(|_| ())?;
        (words > 0).then_some(ImdbTest { of_train, words }).ok_or(())
    }
}

impl fmt::Display for ImdbTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(IMDB)?;
        if self.of_train {
            f.write_str(TRAIN)?;
        }
        match self.words {
            usize::MAX => Ok(()),
            words => write!(f, "{TOKENS}{words}"),
        }
    }
}

#[cfg(test)]
#[path = "imdb_tests.rs"]
mod tests;
