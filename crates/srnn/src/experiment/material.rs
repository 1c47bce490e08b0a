//! A cell's data, made from their name and a seed.

use super::{Data, Source, TestRow, TestSource};
use crate::hex::hex;
use crate::key::Key;
use crate::task::builtin::{self, Task, TestError};
use crate::task::copying::{self, Copying, Counts};
use crate::task::{Dataset, Split};
use crate::train::Examples;
use sha2::{Digest as _, Sha256};
use std::num::NonZeroUsize;

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

/// Makes a data set and its tests.
pub fn material(data: &Data, tests: &[TestRow]) -> Result<Material, TestError> {
    tests.iter().try_for_each(|row| data.spec.goes_with(&row.spec))?;
    let key = Key::new(data.seed);
    let sets = match data.spec {
        Source::Labelled(task) => Sets::Labelled(labelled(task, tests, &key)?),
        Source::Copying { delay, train } => Sets::Copying(copied(delay, train, tests, &key)),
    };
    let digest = match &sets {
        Sets::Labelled(made) => made.digest(),
        Sets::Copying(made) => made.digest(),
    };
    Ok(Material { sets, digest })
}

impl Material {
    /// How many sequences there are.
    pub fn sequences(&self) -> Sequences {
        match &self.sets {
            Sets::Labelled(made) => made.sequences(),
            Sets::Copying(made) => made.sequences(),
        }
    }

    /// The names of the symbols and of the classes.
    pub fn names(&self) -> (Vec<String>, Vec<String>) {
        let numbers = |count: usize| (0..count).map(|number| number.to_string()).collect();
        match &self.sets {
            Sets::Labelled(made) => {
                let train = &made.split.train;
                (train.alphabet.clone(), train.classes.clone())
            }
            Sets::Copying(_) => (numbers(copying::SYMBOLS), numbers(copying::CLASSES)),
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
        TestSource::Copying => Err(Source::Labelled(task).no_test(&row.spec)),
    });
    let tests = made.collect::<Result<Vec<Dataset>, TestError>>()?;
    Ok(Made { split, tests })
}

fn copied(delay: NonZeroUsize, train: usize, tests: &[TestRow], key: &Key) -> Made<Copying> {
    let split = copying::sets(delay, &Counts { train, test: 0, ..Counts::default() }, key);
    let test = |row: &TestRow| Copying::draw(delay, row.strings, &key_of(row, key));
    Made { split, tests: tests.iter().map(test).collect() }
}

fn key_of(row: &TestRow, key: &Key) -> Key {
    key.child(&row.spec.to_string(), 0)
}
