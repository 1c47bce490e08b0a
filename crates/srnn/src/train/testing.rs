//! Small data sets and networks for the tests of this module.

use super::recipe::{ArchName, Recipe, Sizes, recipe_copying, recipe_default};
use crate::engine::reference::ReferenceTrainer;
use crate::engine::{Optimiser, Rule};
use crate::key::Key;
use crate::model::{Arch, Init, Model};
use crate::task::copying::{Copying, CopyingSizes, sets};
use crate::task::{Dataset, Sequence, Split};
use std::num::NonZeroUsize;

/// Words over 0 and 1, labelled by the parity of their 1s.
pub fn words<S: AsRef<str>>(words: &[S]) -> Dataset {
    let sequences = words
        .iter()
        .map(|word| {
            let tokens: Vec<u32> = word.as_ref().bytes().map(|b| (b - b'0') as u32).collect();
            let label = tokens.iter().sum::<u32>() % 2;
            Sequence { tokens, label }
        })
        .collect();
    let names = |a: &str, b: &str| vec![a.to_string(), b.to_string()];
    Dataset { alphabet: names("0", "1"), classes: names("even", "odd"), sequences }
}

/// All words of at most this length.
pub fn short_words(longest: usize) -> Dataset {
    let all: Vec<String> = (0..=longest).flat_map(words_of_length).collect();
    words(&all)
}

fn words_of_length(length: usize) -> Vec<String> {
    (0..1usize << length)
        .map(|bits| (0..length).map(|i| if bits >> i & 1 == 1 { '1' } else { '0' }).collect())
        .collect()
}

/// Training set: all words up to length 4. Validation set: all words of length 5.
pub fn small_split() -> Split {
    Split { train: short_words(4), valid: words(&words_of_length(5)), test: None }
}

/// An SR-GRU over 0 and 1.
pub fn arch(units: usize, k: usize) -> Arch {
    recipe_default(&Sizes { units, k, ..Sizes::of(2, 2) }).arch
}

/// An untrained SR-GRU on the reference engine, with Adam.
pub fn engine(units: usize, k: usize, seed: u64) -> ReferenceTrainer {
    let model = Model::new(arch(units, k), &Init::default(), Key::new(seed)).unwrap();
    ReferenceTrainer::new(&model.to_f64(), Optimiser::new(Rule::ADAM, 1.0))
}

/// The delay T of the small copying task.
const DELAY: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// A small copying task; every step has a target.
pub fn small_copying() -> Split<Copying> {
    sets(DELAY, &CopyingSizes { train: 20, valid: 6, test: 0 }, &Key::new(1))
}

/// A small SR-LSTM-P for [`small_copying`].
pub fn copying_recipe() -> Recipe {
    let sizes = Sizes { units: 5, k: 3, ..Sizes::copying(ArchName::SrLstmP, DELAY) };
    recipe_copying(&sizes, DELAY)
}

/// The network of [`copying_recipe`] on the reference engine.
pub fn copying_engine(seed: u64) -> ReferenceTrainer {
    let Recipe { arch, init, train } = copying_recipe();
    let model = Model::new(arch, &init, Key::new(seed)).unwrap();
    ReferenceTrainer::new(&model.to_f64(), train.optimiser)
}
