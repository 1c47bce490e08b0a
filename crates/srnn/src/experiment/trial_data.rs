//! The data of a trial, generated from a name and a seed or read from files.

use super::{CorpusSource, DataSpec, ImageSource, ImdbSource, TestRow, TestSource, TrainSource};
use crate::engine::hex::hex;
use crate::key::Key;
use crate::model::{ImageLayout, Model, ModelFile, Tokenizer};
use crate::task::builtin::{self, Task, TestError};
use crate::task::copying::{self, Copying, CopyingSizes};
use crate::task::images::{Images, ImagesError};
use crate::task::text::corpus::Corpus;
use crate::task::text::{CorpusError, ReviewError, imdb};
use crate::task::{Dataset, Split, UNKNOWN};
use crate::train::Examples;
use sha2::{Digest as _, Sha256};
use std::num::NonZeroUsize;
use std::path::Path;

/// A data set and its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialData {
    /// Training, validation and test sets.
    pub sets: TaskSets,
    /// The sha-256 of all sets, in hex.
    pub digest: String,
    /// How the texts of the data became tokens; `None` for data without texts.
    pub tokenizer: Option<Tokenizer>,
}

/// The sets by kind of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskSets {
    /// Token sequences with one label each.
    Labelled(SplitWithTests<Dataset>),
    /// Token sequences with a target at every step.
    Copying(SplitWithTests<Copying>),
    /// Sequences of pixels with one label each.
    Images(SplitWithTests<Images>),
    /// Windows of a text, in which every word is a target.
    Corpus(SplitWithTests<Corpus>),
}

/// Sets of one kind of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitWithTests<D> {
    /// Training and validation set.
    pub split: Split<D>,
    /// Test sets, in the order of the test rows.
    pub tests: Vec<D>,
}

/// The number of sequences of each set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceCounts {
    /// In the training set.
    pub train: usize,
    /// In the validation set.
    pub valid: usize,
    /// In each test set.
    pub tests: Vec<usize>,
}

/// The data of a trial cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TrialDataError {
    /// A test that cannot be generated, or is of another task.
    #[error(transparent)]
    Test(#[from] TestError),
    /// Image files that cannot be read.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// Reviews that cannot be read.
    #[error(transparent)]
    Reviews(#[from] ReviewError),
    /// A test needs more reviews than there are.
    #[error(
        "the test \"{test}\" needs {wanted} reviews, and there are {count}: reduce its strings"
    )]
    TooFewReviews {
        /// The name of the test.
        test: String,
        /// The number it needs.
        wanted: usize,
        /// The number there is.
        count: usize,
    },
    /// A text that cannot be read.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A test needs more windows of a text than there are.
    #[error(
        "the test \"{test}\" needs {wanted} windows, and there are {count}: reduce its strings"
    )]
    TooFewWindows {
        /// The name of the test.
        test: String,
        /// The number it needs.
        wanted: usize,
        /// The number of windows of the test text.
        count: usize,
    },
    /// A test needs more images than there are.
    #[error("the test \"{test}\" needs {wanted} images, and there are {count}: reduce its strings")]
    TooFewImages {
        /// The name of the test.
        test: String,
        /// The number it needs.
        wanted: usize,
        /// The number of test images.
        count: usize,
    },
}

/// Generates or reads a data set and its tests. Files are relative to `folder`.
pub fn trial_data(
    data: &DataSpec,
    tests: &[TestRow],
    folder: &Path,
) -> Result<TrialData, TrialDataError> {
    tests.iter().try_for_each(|row| data.spec.accepts_test(&row.spec))?;
    let key = Key::new(data.seed);
    let sets = match &data.spec {
        &TrainSource::Labelled(task) => TaskSets::Labelled(labelled(task, tests, &key)?),
        &TrainSource::Copying { delay, train } => {
            TaskSets::Copying(copying_sets(delay, train, tests, &key))
        }
        TrainSource::Images(source) => TaskSets::Images(images_from(source, tests, folder)?),
        TrainSource::Imdb(source) => TaskSets::Labelled(reviews_from(source, tests, folder)?),
        TrainSource::Corpus(source) => TaskSets::Corpus(corpus_from(source, tests, folder)?),
    };
    let digest = match &sets {
        TaskSets::Labelled(sets) => sets.digest(),
        TaskSets::Copying(sets) => sets.digest(),
        TaskSets::Images(sets) => sets.digest(),
        TaskSets::Corpus(sets) => sets.digest(),
    };
    Ok(TrialData { sets, digest, tokenizer: data.spec.tokenizer() })
}

impl TrialData {
    /// The number of sequences of each set.
    pub fn counts(&self) -> SequenceCounts {
        match &self.sets {
            TaskSets::Labelled(sets) => sets.counts(),
            TaskSets::Copying(sets) => sets.counts(),
            TaskSets::Images(sets) => sets.counts(),
            TaskSets::Corpus(sets) => sets.counts(),
        }
    }

    /// The names of the symbols, empty for images, and of the classes.
    pub fn names(&self) -> (Vec<String>, Vec<String>) {
        let numbers = |count: usize| (0..count).map(|number| number.to_string()).collect();
        match &self.sets {
            TaskSets::Labelled(sets) => {
                let train = &sets.split.train;
                (train.alphabet.clone(), train.classes.clone())
            }
            TaskSets::Copying(_) => (numbers(copying::SYMBOLS), numbers(copying::CLASSES)),
            TaskSets::Images(sets) => (vec![], sets.split.train.classes().to_vec()),
            TaskSets::Corpus(sets) => {
                let words = sets.split.train.vocabulary.to_vec();
                (words.clone(), words)
            }
        }
    }

    /// A model trained on these data, with all that is needed to read new data.
    pub fn model_file(&self, model: Model<f32>) -> ModelFile {
        let (alphabet, classes) = self.names();
        let unknown = alphabet.iter().position(|name| name == UNKNOWN).map(|id| id as u32);
        let (image, tokenizer) = (self.image_layout(), self.tokenizer);
        ModelFile { model, alphabet, unknown, classes, image, tokenizer }
    }

    /// Size and pixel order of the images; `None` for other data.
    fn image_layout(&self) -> Option<ImageLayout> {
        match &self.sets {
            TaskSets::Images(sets) => Some(sets.split.train.layout()),
            TaskSets::Labelled(_) | TaskSets::Copying(_) | TaskSets::Corpus(_) => None,
        }
    }
}

impl<D: Examples> SplitWithTests<D> {
    fn counts(&self) -> SequenceCounts {
        let Split { train, valid, .. } = &self.split;
        let tests = self.tests.iter().map(D::count).collect();
        SequenceCounts { train: train.count(), valid: valid.count(), tests }
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let sets = [&self.split.train, &self.split.valid].into_iter().chain(&self.tests);
        sets.for_each(|set| hash.update(set.digest()));
        hex(&hash.finalize())
    }
}

fn labelled(
    task: Task,
    tests: &[TestRow],
    key: &Key,
) -> Result<SplitWithTests<Dataset>, TestError> {
    let split = builtin::sets(task, key);
    let tests = tests.iter().map(|row| match &row.spec {
        TestSource::Labelled(set) => {
            builtin::test(task, set, row.strings, &split, &key_of(row, key))
        }
        TestSource::Copying | TestSource::Images | TestSource::Imdb(_) | TestSource::Corpus => {
            Err(TrainSource::Labelled(task).other_task(&row.spec))
        }
    });
    let tests = tests.collect::<Result<Vec<Dataset>, TestError>>()?;
    Ok(SplitWithTests { split, tests })
}

fn copying_sets(
    delay: NonZeroUsize,
    train: usize,
    tests: &[TestRow],
    key: &Key,
) -> SplitWithTests<Copying> {
    let split =
        copying::sets(delay, &CopyingSizes { train, test: 0, ..CopyingSizes::default() }, key);
    let test = |row: &TestRow| Copying::draw(delay, row.strings, &key_of(row, key));
    SplitWithTests { split, tests: tests.iter().map(test).collect() }
}

fn images_from(
    source: &ImageSource,
    tests: &[TestRow],
    folder: &Path,
) -> Result<SplitWithTests<Images>, TrialDataError> {
    let mut split = source.read(folder)?;
    let all = split.test.take().expect("images have a test set");
    let first = |row: &TestRow| {
        let (wanted, count) = (row.strings, all.count());
        if wanted > count {
            return Err(TrialDataError::TooFewImages { test: row.name.clone(), wanted, count });
        }
        Ok(all.first(wanted))
    };
    Ok(SplitWithTests { tests: tests.iter().map(first).collect::<Result<_, _>>()?, split })
}

fn corpus_from(
    source: &CorpusSource,
    tests: &[TestRow],
    folder: &Path,
) -> Result<SplitWithTests<Corpus>, TrialDataError> {
    let mut split = source.read(folder)?;
    let whole = split.test.take().expect("a corpus has a test text");
    let first = |row: &TestRow| {
        let (wanted, count) = (row.strings, whole.windows());
        if wanted > count {
            return Err(TrialDataError::TooFewWindows { test: row.name.clone(), wanted, count });
        }
        Ok(whole.clone().first(wanted))
    };
    Ok(SplitWithTests { tests: tests.iter().map(first).collect::<Result<_, _>>()?, split })
}

fn reviews_from(
    source: &ImdbSource,
    tests: &[TestRow],
    folder: &Path,
) -> Result<SplitWithTests<Dataset>, TrialDataError> {
    let whole = source.read_whole(folder)?;
    let test = |row: &TestRow| {
        let TestSource::Imdb(test) = &row.spec else {
            return Err(TrainSource::Imdb(*source).other_task(&row.spec).into());
        };
        let reviews = match test.of_train {
            true => &whole.train,
            false => whole.test.as_ref().expect("reviews have a test set"),
        };
        let (wanted, count) = (row.strings, reviews.sequences.len());
        if wanted > count {
            return Err(TrialDataError::TooFewReviews { test: row.name.clone(), wanted, count });
        }
        Ok(imdb::cut(reviews, wanted, test.words))
    };
    let tests = tests.iter().map(test).collect::<Result<_, TrialDataError>>()?;
    let split = Split { test: None, ..source.cut(whole) };
    Ok(SplitWithTests { tests, split })
}

fn key_of(row: &TestRow, key: &Key) -> Key {
    key.child(&row.spec.to_string(), 0)
}
