//! Estimates of the memory of an experiment, before it is taken.

use super::trial_data::TaskSets;
use super::{DataSpec, TestRow, TestSource, TrainSource, Trial, TrialData};
use crate::task::copying::REMEMBERED;
use crate::train::{Examples, Recipe, estimate};

/// The approximate memory of a data set and its tests that are generated, in bytes. Files have limits
/// of their own. It saturates.
pub fn data_bytes(data: &DataSpec, tests: &[TestRow]) -> u64 {
    let remembered = |count: usize| (count as u64).saturating_mul(REMEMBERED as u64);
    let train = match data.spec {
        TrainSource::Copying { train, .. } => remembered(train),
        _ => 0,
    };
    let test = |row: &TestRow| match &row.spec {
        TestSource::Labelled(set) => set.bytes(row.strings),
        TestSource::Copying => remembered(row.strings),
        TestSource::Images | TestSource::Imdb(_) | TestSource::Corpus => 0,
    };
    tests.iter().map(test).fold(train, u64::saturating_add)
}

/// The approximate memory of training a trial, in bytes. It saturates.
pub fn training_bytes(trial: &Trial<'_>, data: &TrialData) -> u64 {
    let recipe = trial.recipe();
    match &data.sets {
        TaskSets::Labelled(sets) => bytes(&recipe, &sets.split.train),
        TaskSets::Copying(sets) => bytes(&recipe, &sets.split.train),
        TaskSets::Images(sets) => bytes(&recipe, &sets.split.train),
        TaskSets::Corpus(sets) => bytes(&recipe, &sets.split.train),
    }
}

fn bytes(recipe: &Recipe, train: &impl Examples) -> u64 {
    estimate(&recipe.arch, &recipe.train, train, 1).bytes
}
