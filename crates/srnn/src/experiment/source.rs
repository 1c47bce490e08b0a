//! What experiments learn from and test on, by name: the built-in tasks, with a label for each
//! sequence; copying, with a target at every step; and images.

use super::images::{IMAGES, ImageSource};
use crate::model::Temperature;
use crate::task::builtin::{Task, TestError, TestSet, UnknownTask, UnknownTest};
use crate::task::copying::{self, Counts};
use crate::train::{ArchName, Recipe, Sizes, recipe_copying, recipe_default, recipe_images};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// What there is to learn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Source {
    /// A built-in task.
    Labelled(Task),
    /// `copy:T=100`: copying memory, made where a batch is.
    Copying {
        /// T.
        delay: NonZeroUsize,
        /// Sequences to learn from: as many as in the paper, or `copy:T=100:2000`.
        train: usize,
    },
    /// `images:mnist`: images, from files.
    Images(ImageSource),
}

/// Sequences that nothing is selected by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TestSource {
    /// Of a built-in task.
    Labelled(TestSet),
    /// `copy`: copying memory with the delay of the training set.
    Copying,
    /// `images`: the first of the test images beside those to learn from.
    Images,
}

/// A name that nothing to learn from has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; or copy:T=100, copy:T=500; or images:mnist, images:mnist:by=FILE")]
pub struct UnknownSource(#[from] UnknownTask);

/// A name that no test has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; or copy, images")]
pub struct UnknownTestSource(#[from] UnknownTest);

/// Strings are balanced or not, palindromes or not: every built-in task has two classes.
const CLASSES: usize = 2;

const COPY: &str = "copy";

/// A longer delay is taken for a mistake.
const LONGEST_DELAY: usize = 100_000;

impl Source {
    /// Architecture and sizes of a network, where nothing is said about them.
    pub fn sizes(&self, arch: ArchName) -> Sizes {
        let tau = Temperature::ONE;
        match *self {
            Source::Labelled(task) => Sizes { arch, tau, ..Sizes::of(task.symbols(), CLASSES) },
            Source::Copying { delay, .. } => Sizes { tau, ..Sizes::copying(arch, delay) },
            Source::Images(_) => Sizes { tau, ..Sizes::images(arch) },
        }
    }

    /// The recipe that settings are put into.
    pub fn recipe(&self, sizes: &Sizes) -> Recipe {
        match *self {
            Source::Labelled(_) => recipe_default(sizes),
            Source::Copying { delay, .. } => recipe_copying(sizes, delay),
            Source::Images(_) => recipe_images(sizes),
        }
    }

    /// The cross-entropy of the best that has no memory, where it is known.
    pub fn baseline(&self) -> Option<f64> {
        match *self {
            Source::Labelled(_) | Source::Images(_) => None,
            Source::Copying { delay, .. } => Some(copying::baseline(delay)),
        }
    }

    /// The same with so many sequences to learn from, where their number is free.
    pub fn with_train(&self, train: usize) -> Source {
        match self {
            Source::Labelled(_) => self.clone(),
            Source::Copying { delay, .. } => Source::Copying { delay: *delay, train },
            Source::Images(images) => {
                Source::Images(ImageSource { most: Some(train), ..images.clone() })
            }
        }
    }

    /// Whether `test` can be made for it.
    pub fn goes_with(&self, test: &TestSource) -> Result<(), TestError> {
        match (self, test) {
            (Source::Labelled(task), TestSource::Labelled(set)) => task.goes_with(set),
            (Source::Copying { .. }, TestSource::Copying) => Ok(()),
            (Source::Images(_), TestSource::Images) => Ok(()),
            _ => Err(self.no_test(test)),
        }
    }

    /// The error that says that `test` is another task's.
    pub(super) fn no_test(&self, test: &TestSource) -> TestError {
        TestError::OtherTask { test: test.to_string(), task: self.to_string() }
    }
}

impl FromStr for Source {
    type Err = UnknownSource;
    fn from_str(text: &str) -> Result<Source, UnknownSource> {
        let unknown = || UnknownTask(text.into()).into();
        match text.split_once(':') {
            Some((COPY, rest)) => copy_of(rest).ok_or_else(unknown),
            Some((IMAGES, rest)) => rest.parse().map(Source::Images).map_err(|()| unknown()),
            _ => Ok(Source::Labelled(text.parse()?)),
        }
    }
}

/// `T=100`, or `T=100:2000`.
fn copy_of(text: &str) -> Option<Source> {
    let numbers = text.strip_prefix("T=")?;
    let (delay, train) = match numbers.split_once(':') {
        Some((delay, train)) => (delay, train.parse().ok()?),
        None => (numbers, Counts::default().train),
    };
    let delay: NonZeroUsize = delay.parse().ok()?;
    let usual = delay.get() <= LONGEST_DELAY && (1..=1 << 32).contains(&train);
    usual.then_some(Source::Copying { delay, train })
}

impl FromStr for TestSource {
    type Err = UnknownTestSource;
    fn from_str(text: &str) -> Result<TestSource, UnknownTestSource> {
        match text {
            COPY => Ok(TestSource::Copying),
            IMAGES => Ok(TestSource::Images),
            _ => Ok(TestSource::Labelled(text.parse()?)),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Labelled(task) => task.fmt(f),
            Source::Copying { delay, train } if *train == Counts::default().train => {
                write!(f, "{COPY}:T={delay}")
            }
            Source::Copying { delay, train } => write!(f, "{COPY}:T={delay}:{train}"),
            Source::Images(images) => images.fmt(f),
        }
    }
}

impl fmt::Display for TestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TestSource::Labelled(set) => set.fmt(f),
            TestSource::Copying => f.write_str(COPY),
            TestSource::Images => f.write_str(IMAGES),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = UnknownSource;
    fn try_from(text: String) -> Result<Source, UnknownSource> {
        text.parse()
    }
}

impl TryFrom<String> for TestSource {
    type Error = UnknownTestSource;
    fn try_from(text: String) -> Result<TestSource, UnknownTestSource> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> String {
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
    fn names_are_read_as_they_are_written_and_others_refused() {
        let images = ["images:mnist", "images:a/b:by=order.txt", "images:c:by=d:99", "images:c:12"];
        let others = ["tomita:3", "bp:large:B", "copy:T=100", "copy:T=7:50"];
        for name in images.into_iter().chain(others) {
            assert_eq!(name.parse::<Source>().unwrap().to_string(), name);
        }
        for name in ["copy", "copy:100", "copy:T=0", "copy:T=-1", "copy:T=5:0", "copy:T=5:x"] {
            let error = name.parse::<Source>().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("copy:T=100"), "{error}");
        }
        for name in
            ["images", "images:", "images::5", "images:a:11", "images:a:by=", "images:a:9:9"]
        {
            let error = name.parse::<Source>().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("images:mnist"), "{error}");
        }
        for name in ["bp:d5:l200", "copy", "images"] {
            assert_eq!(name.parse::<TestSource>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn a_test_goes_with_its_own_task_alone() {
        let [bp, copy]: [Source; 2] = ["bp:small:A", "copy:T=5"].map(|name| name.parse().unwrap());
        let [rows, copied] = ["bp:d5:l200", "copy"].map(|name| name.parse().unwrap());
        assert!(bp.goes_with(&rows).is_ok() && copy.goes_with(&copied).is_ok());
        let error = copy.goes_with(&rows).unwrap_err().to_string();
        assert!(error.contains("\"bp:d5:l200\" is no test of \"copy:T=5\""), "{error}");
        assert!(bp.goes_with(&copied).is_err());
    }
}
