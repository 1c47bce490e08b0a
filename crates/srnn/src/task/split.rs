//! Splits one data set into training, validation and test sets.

use std::str::FromStr;

use crate::key::Key;

use super::identical::{equal_groups, sorted_indices};
use super::{Dataset, Split};

/// The fractions of a set for training, validation and test. They add up to 1 and are not negative;
/// the one for training is above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fractions([f64; 3]);

/// The subset of a split that a sequence belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subset {
    /// Used to train.
    Train,
    /// Used to select among epochs and seeds.
    Valid,
    /// Never used for selection.
    Test,
}

/// Fractions that do not describe a split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} does not split a data set: give train/valid or train/valid/test as numbers from 0 \
     to 1 that add up to 1, the first above 0, as in 0.8/0.1/0.1"
)]
pub struct BadFractions {
    /// The given text.
    pub given: String,
}

impl Fractions {
    /// Fails unless the fractions are at least 0 and add up to 1, and `train` is above 0.
    pub fn new(train: f64, valid: f64, test: f64) -> Result<Self, BadFractions> {
        let all = [train, valid, test];
        // In floating point, 0.7 + 0.2 + 0.1 is not exactly 1.
        let whole = (all.iter().sum::<f64>() - 1.0).abs() < 1e-9;
        if whole && train > 0.0 && all.iter().all(|subset| *subset >= 0.0) {
            return Ok(Fractions(all));
        }
        Err(BadFractions { given: format!("{train}/{valid}/{test}") })
    }

    /// The fractions for training, validation and test.
    pub fn get(self) -> [f64; 3] {
        self.0
    }
}

impl FromStr for Fractions {
    type Err = BadFractions;

    /// Reads `0.8/0.1/0.1`, or `0.8/0.2` for no test set.
    fn from_str(text: &str) -> Result<Self, BadFractions> {
        let bad = || BadFractions { given: text.into() };
        let numbers: Result<Vec<f64>, _> = text.split('/').map(|n| n.trim().parse()).collect();
        match *numbers.map_err(|_| bad())? {
            [train, valid] => Fractions::new(train, valid, 0.0),
            [train, valid, test] => Fractions::new(train, valid, test),
            _ => Err(bad()),
        }
        .map_err(|_| bad())
    }
}

/// Splits a data set. The test set is `None` if its fraction is 0.
pub fn split(dataset: &Dataset, fractions: Fractions, key: &Key) -> Split {
    let subsets = assign_subsets(dataset, fractions, key);
    let pick = |subset| {
        let chosen = dataset.sequences.iter().zip(&subsets).filter(|(_, p)| **p == subset);
        Dataset {
            sequences: chosen.map(|(s, _)| s.clone()).collect(),
            ..dataset.without_sequences()
        }
    };
    let test = (fractions.0[2] > 0.0).then(|| pick(Subset::Test));
    Split { train: pick(Subset::Train), valid: pick(Subset::Valid), test }
}

/// The subset of every sequence. Each class is split by the same fractions, as nearly as whole
/// numbers allow. Identical sequences are in one subset, so that no held-out sequence is in the
/// training set.
pub fn assign_subsets(dataset: &Dataset, fractions: Fractions, key: &Key) -> Vec<Subset> {
    let order = sorted_indices(&dataset.sequences);
    let mut by_class: Vec<Vec<&[usize]>> = vec![Vec::new(); dataset.classes.len()];
    for group in equal_groups(&order, &dataset.sequences) {
        by_class[dataset.sequences[group[0]].label as usize].push(group);
    }
    let mut subsets = vec![Subset::Train; dataset.sequences.len()];
    for (class, mut groups) in by_class.into_iter().enumerate() {
        key.child("split", class as u64).rng().shuffle(&mut groups);
        assign_class(&groups, fractions, &mut subsets);
    }
    subsets
}

/// The fold of every sequence, from 0 to `count − 1`. Each class is spread over the folds as evenly as
/// whole numbers allow, and identical sequences are in one fold.
///
/// # Panics
/// If `count` is 0.
pub fn assign_folds(dataset: &Dataset, count: usize, key: &Key) -> Vec<usize> {
    assert!(count > 0, "there must be a fold");
    let order = sorted_indices(&dataset.sequences);
    let mut by_class: Vec<Vec<&[usize]>> = vec![Vec::new(); dataset.classes.len()];
    for group in equal_groups(&order, &dataset.sequences) {
        by_class[dataset.sequences[group[0]].label as usize].push(group);
    }
    let mut folds = vec![0; dataset.sequences.len()];
    let mut sizes = vec![0; count];
    for (class, mut groups) in by_class.into_iter().enumerate() {
        key.child("folds", class as u64).rng().shuffle(&mut groups);
        groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
        let mut of_class = vec![0; count];
        for group in groups {
            // The first of the smallest folds; of equal ones the smallest over all classes.
            let fold = (0..count).min_by_key(|&f| (of_class[f], sizes[f])).unwrap_or(0);
            of_class[fold] += group.len();
            sizes[fold] += group.len();
            group.iter().for_each(|&index| folds[index] = fold);
        }
    }
    folds
}

/// Assigns each group to the subset that is farthest below its size. Large groups come first: small
/// groups can even out the differences that these leave.
fn assign_class(groups: &[&[usize]], fractions: Fractions, subsets: &mut [Subset]) {
    let total: usize = groups.iter().map(|group| group.len()).sum();
    let mut deficit = fractions.0.map(|fraction| fraction * total as f64);
    let mut largest_first: Vec<&[usize]> = groups.to_vec();
    largest_first.sort_by_key(|group| std::cmp::Reverse(group.len()));
    for group in largest_first {
        let subset = largest_deficit(&deficit, fractions);
        deficit[subset] -= group.len() as f64;
        for &index in group {
            subsets[index] = [Subset::Train, Subset::Valid, Subset::Test][subset];
        }
    }
}

/// The first subset with the largest deficit, among those with a fraction above 0.
fn largest_deficit(deficit: &[f64; 3], fractions: Fractions) -> usize {
    let wanted = (1..3).filter(|&subset| fractions.0[subset] > 0.0);
    wanted.fold(0, |best, subset| if deficit[subset] > deficit[best] { subset } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Sequence;
    use crate::task::tests::dataset;

    fn random(n: usize, seed: u64) -> Dataset {
        let mut rng = Key::new(seed).rng();
        let mut data = dataset(&[("abc", "x"), ("b", "y"), ("c", "z")]);
        data.sequences = (0..n)
            .map(|_| Sequence {
                tokens: (0..rng.below(6)).map(|_| rng.below(3) as u32).collect(),
                label: [0, 0, 0, 1, 1, 2][rng.below(6)],
            })
            .collect();
        data
    }

    fn subset_sizes(subsets: &[Subset]) -> [usize; 3] {
        [Subset::Train, Subset::Valid, Subset::Test]
            .map(|p| subsets.iter().filter(|x| **x == p).count())
    }

    #[test]
    fn identical_sequences_are_in_one_subset() {
        let data = random(1_000, 5);
        let subsets = assign_subsets(&data, "0.6/0.2/0.2".parse().unwrap(), &Key::new(1));
        let order = sorted_indices(&data.sequences);
        let mut repeated = 0;
        for group in equal_groups(&order, &data.sequences) {
            repeated += group.len() - 1;
            assert!(group.iter().all(|&i| subsets[i] == subsets[group[0]]));
        }
        assert!(repeated > 500, "the data have too few duplicates: {repeated}");
    }

    #[test]
    fn every_class_is_split_by_the_same_fractions() {
        let words: Vec<(String, &str)> = (0..200)
            .map(|i| (format!("{i:08b}").replace('0', "a"), if i % 4 == 0 { "x" } else { "y" }))
            .collect();
        let words: Vec<(&str, &str)> = words.iter().map(|(w, l)| (w.as_str(), *l)).collect();
        let data = dataset(&words);
        let split = split(&data, "0.8/0.1/0.1".parse().unwrap(), &Key::new(2));
        assert_eq!(split.train.class_counts(), [40, 120]);
        assert_eq!(split.valid.class_counts(), [5, 15]);
        assert_eq!(split.test.unwrap().class_counts(), [5, 15]);
    }

    #[test]
    fn folds_are_equal_in_size_stratified_and_a_function_of_their_key() {
        let words: Vec<(String, &str)> = (0..103)
            .map(|i| (format!("{i:08b}").replace('0', "a"), if i % 4 == 0 { "x" } else { "y" }))
            .collect();
        let words: Vec<(&str, &str)> = words.iter().map(|(w, l)| (w.as_str(), *l)).collect();
        let data = dataset(&words);
        let folds = assign_folds(&data, 5, &Key::new(2));
        for fold in 0..5 {
            let members = || (0..103).filter(|&i| folds[i] == fold);
            assert!((20..=21).contains(&members().count()), "{folds:?}");
            let x = members().filter(|&i| data.sequences[i].label == 0).count();
            assert!((5..=6).contains(&x), "{x} of 26 in fold {fold}");
        }
        assert_eq!(folds, assign_folds(&data, 5, &Key::new(2)));
        assert_ne!(folds, assign_folds(&data, 5, &Key::new(3)));
        let repeated = random(1_000, 5);
        let folds = assign_folds(&repeated, 5, &Key::new(1));
        let order = sorted_indices(&repeated.sequences);
        for group in equal_groups(&order, &repeated.sequences) {
            assert!(group.iter().all(|&i| folds[i] == folds[group[0]]));
        }
    }

    #[test]
    fn a_split_loses_nothing_and_is_a_function_of_its_key() {
        let data = random(300, 6);
        let fractions: Fractions = "0.7/0.3".parse().unwrap();
        let subsets = |seed| assign_subsets(&data, fractions, &Key::new(seed));
        assert_eq!(subsets(1), subsets(1));
        assert_ne!(subsets(1), subsets(2));
        let split = split(&data, fractions, &Key::new(1));
        assert_eq!(split.train.sequences.len() + split.valid.sequences.len(), 300);
        assert_eq!(subset_sizes(&subsets(1))[2], 0);
        assert!(split.test.is_none());
    }

    #[test]
    fn a_lone_sequence_is_for_training() {
        let data = dataset(&[("a", "x"), ("b", "y")]);
        let subsets = assign_subsets(&data, "0.4/0.3/0.3".parse().unwrap(), &Key::new(0));
        assert_eq!(subsets, [Subset::Train, Subset::Train]);
    }

    #[test]
    fn fractions_that_describe_no_split_are_refused_with_an_example() {
        let all = "0.8 0.8/0.1 1.2/-0.2 0/1 nan/0.5 a/b / 0.5/0.25/0.125/0.125";
        for bad in all.split(' ') {
            let error = bad.parse::<Fractions>().unwrap_err();
            assert!(error.to_string().contains("0.8/0.1/0.1"), "{bad}");
            assert_eq!(error.given, bad);
        }
        assert_eq!("0.7/0.2/0.1".parse::<Fractions>().unwrap().get(), [0.7, 0.2, 0.1]);
        assert_eq!("1/0".parse::<Fractions>().unwrap().get(), [1.0, 0.0, 0.0]);
    }
}
