//! A cell's data, made from their name and a seed.

use super::{Data, ImageSource, Source, TestRow, TestSource};
use crate::engine::hex::hex;
use crate::key::Key;
use crate::task::builtin::{self, Task, TestError};
use crate::task::copying::{self, Copying, Counts};
use crate::task::images::{self, Images, ImagesError};
use crate::task::{Dataset, Split};
use crate::train::Examples;
use sha2::{Digest as _, Sha256};
use std::num::NonZeroUsize;
use std::path::Path;

/// A data set and its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// All sequences.
    pub sets: Sets,
    /// The sha-256 of all of it, in hex.
    pub digest: String,
}

/// Sequences by their kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sets {
    /// With a label each.
    Labelled(Made<Dataset>),
    /// With a target at every step.
    Copying(Made<Copying>),
    /// With a number at every step.
    Images(Made<Images>),
}

/// Sequences of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made<D> {
    /// What is learned from.
    pub split: Split<D>,
    /// What is tested on, in the order of the rows.
    pub tests: Vec<D>,
}

/// How many sequences there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// To learn from.
    pub train: usize,
    /// To select by.
    pub valid: usize,
    /// In each test.
    pub tests: Vec<usize>,
}

/// A data set or a test that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum NoMaterial {
    /// A test that cannot be drawn, or is another task's.
    #[error(transparent)]
    Test(#[from] TestError),
    /// Files that cannot be read.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// A test of more images than there are.
    #[error("the test \"{test}\" asks for {wanted} images, and there are {count}: ask for fewer")]
    Fewer {
        /// Its name.
        test: String,
        /// How many it asks for.
        wanted: usize,
        /// How many there are.
        count: usize,
    },
}

/// Makes a data set and its tests; what comes from files is looked for in `folder`.
pub fn material(data: &Data, tests: &[TestRow], folder: &Path) -> Result<Material, NoMaterial> {
    tests.iter().try_for_each(|row| data.spec.goes_with(&row.spec))?;
    let key = Key::new(data.seed);
    let sets = match &data.spec {
        &Source::Labelled(task) => Sets::Labelled(labelled(task, tests, &key)?),
        &Source::Copying { delay, train } => Sets::Copying(copied(delay, train, tests, &key)),
        Source::Images(source) => Sets::Images(read(source, tests, folder)?),
    };
    let digest = match &sets {
        Sets::Labelled(made) => made.digest(),
        Sets::Copying(made) => made.digest(),
        Sets::Images(made) => made.digest(),
    };
    Ok(Material { sets, digest })
}

impl Material {
    /// How many sequences there are.
    pub fn sequences(&self) -> Sequences {
        match &self.sets {
            Sets::Labelled(made) => made.sequences(),
            Sets::Copying(made) => made.sequences(),
            Sets::Images(made) => made.sequences(),
        }
    }

    /// The names of the symbols, where there are some, and of the classes.
    pub fn names(&self) -> (Vec<String>, Vec<String>) {
        let numbers = |count: usize| (0..count).map(|number| number.to_string()).collect();
        match &self.sets {
            Sets::Labelled(made) => {
                let train = &made.split.train;
                (train.alphabet.clone(), train.classes.clone())
            }
            Sets::Copying(_) => (numbers(copying::SYMBOLS), numbers(copying::CLASSES)),
            Sets::Images(_) => (vec![], numbers(images::CLASSES)),
        }
    }
}

impl<D: Examples> Made<D> {
    fn sequences(&self) -> Sequences {
        let Split { train, valid, .. } = &self.split;
        let tests = self.tests.iter().map(D::count).collect();
        Sequences { train: train.count(), valid: valid.count(), tests }
    }

    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let sets = [&self.split.train, &self.split.valid].into_iter().chain(&self.tests);
        sets.for_each(|set| hash.update(set.digest()));
        hex(&hash.finalize())
    }
}

fn labelled(task: Task, tests: &[TestRow], key: &Key) -> Result<Made<Dataset>, TestError> {
    let split = builtin::sets(task, key);
    let made = tests.iter().map(|row| match &row.spec {
        TestSource::Labelled(set) => {
            builtin::test(task, set, row.strings, &split, &key_of(row, key))
        }
        TestSource::Copying | TestSource::Images => Err(Source::Labelled(task).no_test(&row.spec)),
    });
    let tests = made.collect::<Result<Vec<Dataset>, TestError>>()?;
    Ok(Made { split, tests })
}

fn copied(delay: NonZeroUsize, train: usize, tests: &[TestRow], key: &Key) -> Made<Copying> {
    let split = copying::sets(delay, &Counts { train, test: 0, ..Counts::default() }, key);
    let test = |row: &TestRow| Copying::draw(delay, row.strings, &key_of(row, key));
    Made { split, tests: tests.iter().map(test).collect() }
}

fn read(
    source: &ImageSource,
    tests: &[TestRow],
    folder: &Path,
) -> Result<Made<Images>, NoMaterial> {
    let mut split = source.read(folder)?;
    let all = split.test.take().expect("images have a test set");
    let first = |row: &TestRow| {
        let (wanted, count) = (row.strings, all.count());
        if wanted > count {
            return Err(NoMaterial::Fewer { test: row.name.clone(), wanted, count });
        }
        Ok(all.first(wanted))
    };
    Ok(Made { tests: tests.iter().map(first).collect::<Result<_, _>>()?, split })
}

fn key_of(row: &TestRow, key: &Key) -> Key {
    key.child(&row.spec.to_string(), 0)
}
