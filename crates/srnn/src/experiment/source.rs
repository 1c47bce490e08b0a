//! Data sources of experiments by name: built-in tasks with a label per sequence, the copying task
//! with a target at every step, images, reviews, and texts.

use super::corpus::{CORPUS, CorpusSource};
use super::images::{IMAGES, ImageSource};
use super::imdb::{IMDB, ImdbSource, ImdbTest};
use crate::model::{Temperature, Tokenizer};
use crate::task::builtin::{Task, TestError, TestSet, UnknownTask, UnknownTest};
use crate::task::copying::{self, CopyingSizes};
use crate::task::text::imdb;
use crate::train::{
    ArchName, Recipe, Sizes, recipe_copying, recipe_corpus, recipe_default, recipe_images,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// A source of training data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TrainSource {
    /// A built-in task.
    Labelled(Task),
    /// `copy:T=100`: the copying task, generated batch by batch.
    Copying {
        /// The delay T.
        delay: NonZeroUsize,
        /// The number of training sequences: as in the paper, or as in `copy:T=100:2000`.
        train: usize,
    },
    /// `images:mnist`: images from files.
    Images(ImageSource),
    /// `imdb`: reviews from files.
    Imdb(ImdbSource),
    /// `corpus:wikitext-2`: a text from files, for a language model.
    Corpus(CorpusSource),
}

/// A source of test data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TestSource {
    /// A test set of a built-in task.
    Labelled(TestSet),
    /// `copy`: the copying task with the delay of the training set.
    Copying,
    /// `images`: the first test images of the same folder.
    Images,
    /// `imdb:tokens=100`: the first test reviews.
    Imdb(ImdbTest),
    /// `corpus`: the first windows of the test text.
    Corpus,
}

/// An unknown data source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; or copy:T=100, copy:T=500; or images:mnist, images:mnist:by=FILE; or imdb, imdb:train=10; or corpus:FOLDER"
)]
pub struct UnknownTrainSource(#[from] UnknownTask);

/// An unknown test source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; or copy, images, corpus, imdb, imdb:tokens=100")]
pub struct UnknownTestSource(#[from] UnknownTest);

/// Every built-in task has two classes.
const CLASSES: usize = 2;

const COPY: &str = "copy";

/// A longer delay is probably a mistake.
const MAX_DELAY: usize = 100_000;

impl TrainSource {
    /// The default sizes of a network for this source.
    pub fn sizes(&self, arch: ArchName) -> Sizes {
        let tau = Temperature::ONE;
        match *self {
            TrainSource::Labelled(task) => {
                Sizes { arch, tau, ..Sizes::of(task.symbols(), CLASSES) }
            }
            TrainSource::Copying { delay, .. } => Sizes { tau, ..Sizes::copying(arch, delay) },
            TrainSource::Images(_) => Sizes { tau, ..Sizes::images(arch) },
            // PAPER: 256 units; k = 2, 5, 10 and 50.
            TrainSource::Imdb(source) => {
                Sizes { arch, tau, units: 256, k: 10, ..Sizes::of(source.vocabulary(), CLASSES) }
            }
            TrainSource::Corpus(ref source) => Sizes::corpus(arch, source.vocabulary()),
        }
    }

    /// The recipe of the task, before settings are applied.
    pub fn recipe(&self, sizes: &Sizes) -> Recipe {
        match *self {
            TrainSource::Labelled(_) | TrainSource::Imdb(_) => recipe_default(sizes),
            TrainSource::Copying { delay, .. } => recipe_copying(sizes, delay),
            TrainSource::Images(_) => recipe_images(sizes),
            TrainSource::Corpus(_) => recipe_corpus(sizes),
        }
    }

    /// The cross-entropy of the best memoryless predictor, if it is known.
    pub fn baseline(&self) -> Option<f64> {
        match *self {
            TrainSource::Labelled(_)
            | TrainSource::Images(_)
            | TrainSource::Imdb(_)
            | TrainSource::Corpus(_) => None,
            TrainSource::Copying { delay, .. } => Some(copying::baseline(delay)),
        }
    }

    /// How the texts of the source become tokens; `None` if it has no texts.
    pub fn tokenizer(&self) -> Option<Tokenizer> {
        match self {
            TrainSource::Labelled(_)
            | TrainSource::Copying { .. }
            | TrainSource::Images(_)
            | TrainSource::Corpus(_) => None,
            TrainSource::Imdb(_) => Some(imdb::TOKENIZER),
        }
    }

    /// The same source with `train` training sequences, where their number is free.
    pub fn with_train(&self, train: usize) -> TrainSource {
        match self {
            TrainSource::Labelled(_) => self.clone(),
            TrainSource::Copying { delay, .. } => TrainSource::Copying { delay: *delay, train },
            TrainSource::Images(images) => {
                TrainSource::Images(ImageSource { most: Some(train), ..images.clone() })
            }
            TrainSource::Imdb(source) => TrainSource::Imdb(source.with_train(train)),
            TrainSource::Corpus(source) => TrainSource::Corpus(source.with_train(train)),
        }
    }

    /// Fails unless `test` is a test of this task.
    pub fn accepts_test(&self, test: &TestSource) -> Result<(), TestError> {
        match (self, test) {
            (TrainSource::Labelled(task), TestSource::Labelled(set)) => task.check_test_set(set),
            (TrainSource::Copying { .. }, TestSource::Copying) => Ok(()),
            (TrainSource::Images(_), TestSource::Images) => Ok(()),
            (TrainSource::Imdb(_), TestSource::Imdb(_)) => Ok(()),
            (TrainSource::Corpus(_), TestSource::Corpus) => Ok(()),
            _ => Err(self.other_task(test)),
        }
    }

    /// The error for a test of another task.
    pub(super) fn other_task(&self, test: &TestSource) -> TestError {
        TestError::OtherTask { test: test.to_string(), task: self.to_string() }
    }
}

impl FromStr for TrainSource {
    type Err = UnknownTrainSource;
    fn from_str(text: &str) -> Result<TrainSource, UnknownTrainSource> {
        let unknown = || UnknownTask(text.into()).into();
        if let Some(rest) = text.strip_prefix(IMDB) {
            return rest.parse().map(TrainSource::Imdb).map_err(|()| unknown());
        }
        match text.split_once(':') {
            Some((COPY, rest)) => parse_copying(rest).ok_or_else(unknown),
            Some((IMAGES, rest)) => rest.parse().map(TrainSource::Images).map_err(|()| unknown()),
            Some((CORPUS, rest)) => rest.parse().map(TrainSource::Corpus).map_err(|()| unknown()),
            _ => Ok(TrainSource::Labelled(text.parse()?)),
        }
    }
}

/// Parses `T=100` or `T=100:2000`.
fn parse_copying(text: &str) -> Option<TrainSource> {
    let numbers = text.strip_prefix("T=")?;
    let (delay, train) = match numbers.split_once(':') {
        Some((delay, train)) => (delay, train.parse().ok()?),
        None => (numbers, CopyingSizes::default().train),
    };
    let delay: NonZeroUsize = delay.parse().ok()?;
    let valid = delay.get() <= MAX_DELAY && (1..=1 << 32).contains(&train);
    valid.then_some(TrainSource::Copying { delay, train })
}

impl FromStr for TestSource {
    type Err = UnknownTestSource;
    fn from_str(text: &str) -> Result<TestSource, UnknownTestSource> {
        if let Some(rest) = text.strip_prefix(IMDB) {
            return rest
                .parse()
                .map(TestSource::Imdb)
                .map_err(|()| UnknownTest(text.into()).into());
        }
        match text {
            COPY => Ok(TestSource::Copying),
            IMAGES => Ok(TestSource::Images),
            CORPUS => Ok(TestSource::Corpus),
            _ => Ok(TestSource::Labelled(text.parse()?)),
        }
    }
}

impl fmt::Display for TrainSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrainSource::Labelled(task) => task.fmt(f),
            TrainSource::Copying { delay, train } if *train == CopyingSizes::default().train => {
                write!(f, "{COPY}:T={delay}")
            }
            TrainSource::Copying { delay, train } => write!(f, "{COPY}:T={delay}:{train}"),
            TrainSource::Images(images) => images.fmt(f),
            TrainSource::Imdb(reviews) => reviews.fmt(f),
            TrainSource::Corpus(source) => source.fmt(f),
        }
    }
}

impl fmt::Display for TestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TestSource::Labelled(set) => set.fmt(f),
            TestSource::Copying => f.write_str(COPY),
            TestSource::Images => f.write_str(IMAGES),
            TestSource::Corpus => f.write_str(CORPUS),
            TestSource::Imdb(test) => test.fmt(f),
        }
    }
}

impl TryFrom<String> for TrainSource {
    type Error = UnknownTrainSource;
    fn try_from(text: String) -> Result<TrainSource, UnknownTrainSource> {
        text.parse()
    }
}

impl TryFrom<String> for TestSource {
    type Error = UnknownTestSource;
    fn try_from(text: String) -> Result<TestSource, UnknownTestSource> {
        text.parse()
    }
}

impl From<TrainSource> for String {
    fn from(source: TrainSource) -> String {
        source.to_string()
    }
}

impl From<TestSource> for String {
    fn from(test: TestSource) -> String {
        test.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_invalid_ones_are_refused() {
        let images = ["images:mnist", "images:a/b:by=order.txt", "images:c:by=d:99", "images:c:12"];
        let others = ["tomita:3", "bp:large:B", "copy:T=100", "copy:T=7:50"];
        for name in images.into_iter().chain(others) {
            assert_eq!(name.parse::<TrainSource>().unwrap().to_string(), name);
        }
        for name in ["copy", "copy:100", "copy:T=0", "copy:T=-1", "copy:T=5:0", "copy:T=5:x"] {
            let error = name.parse::<TrainSource>().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("copy:T=100"), "{error}");
        }
        for name in
            ["images", "images:", "images::5", "images:a:11", "images:a:by=", "images:a:9:9"]
        {
            let error = name.parse::<TrainSource>().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("images:mnist"), "{error}");
        }
        for name in ["bp:d5:l200", "copy", "images", "corpus"] {
            assert_eq!(name.parse::<TestSource>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn a_test_is_accepted_by_its_own_task_only() {
        let [bp, copy]: [TrainSource; 2] =
            ["bp:small:A", "copy:T=5"].map(|name| name.parse().unwrap());
        let [rows, copied] = ["bp:d5:l200", "copy"].map(|name| name.parse().unwrap());
        assert!(bp.accepts_test(&rows).is_ok() && copy.accepts_test(&copied).is_ok());
        let error = copy.accepts_test(&rows).unwrap_err().to_string();
        assert!(error.contains("\"bp:d5:l200\" is no test set of \"copy:T=5\""), "{error}");
        assert!(bp.accepts_test(&copied).is_err());
    }
}
