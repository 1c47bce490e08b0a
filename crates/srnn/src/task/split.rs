//! Holding out a part of one data set.

use std::str::FromStr;

use crate::key::Key;

use super::identical::{groups, side_by_side};
use super::{Dataset, Split};

/// How much of a set is for training, validation and test. They add up to 1, and none is
/// negative; some training is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fractions([f64; 3]);

/// Where a sequence goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The network learns from it.
    Train,
    /// It selects among epochs and seeds.
    Valid,
    /// Nothing is selected by it.
    Test,
}

/// Numbers that do not divide a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} does not split a data set: give train/valid or train/valid/test as numbers from 0 \
     to 1 that add up to 1, the first above 0, as in 0.8/0.1/0.1"
)]
pub struct BadFractions {
    /// What was given.
    pub given: String,
}

impl Fractions {
    /// Fractions of at least 0 that add up to 1, `train` above 0.
    pub fn new(train: f64, valid: f64, test: f64) -> Result<Self, BadFractions> {
        let all = [train, valid, test];
        // Decimal fractions such as 0.7 + 0.2 + 0.1 add up to 1 only nearly.
        let whole = (all.iter().sum::<f64>() - 1.0).abs() < 1e-9;
        if whole && train > 0.0 && all.iter().all(|part| *part >= 0.0) {
            return Ok(Fractions(all));
        }
        Err(BadFractions { given: format!("{train}/{valid}/{test}") })
    }

    /// The part for training, validation and test.
    pub fn get(self) -> [f64; 3] {
        self.0
    }
}

impl FromStr for Fractions {
    type Err = BadFractions;

    /// Reads `0.8/0.1/0.1`, or `0.8/0.2` where there is no test.
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

/// Divides a data set. There is a test set where its fraction is above 0.
pub fn split(dataset: &Dataset, fractions: Fractions, key: &Key) -> Split {
    let parts = assign(dataset, fractions, key);
    let pick = |part| {
        let chosen = dataset.sequences.iter().zip(&parts).filter(|(_, p)| **p == part);
        Dataset { sequences: chosen.map(|(s, _)| s.clone()).collect(), ..dataset.emptied() }
    };
    let test = (fractions.0[2] > 0.0).then(|| pick(Part::Test));
    Split { train: pick(Part::Train), valid: pick(Part::Valid), test }
}

/// Which part every sequence goes to. Every class is divided by the same fractions, as nearly
/// as whole numbers allow, and identical sequences go together: nothing held out has been seen.
pub fn assign(dataset: &Dataset, fractions: Fractions, key: &Key) -> Vec<Part> {
    let order = side_by_side(&dataset.sequences);
    let mut by_class: Vec<Vec<&[usize]>> = vec![Vec::new(); dataset.classes.len()];
    for group in groups(&order, &dataset.sequences) {
        by_class[dataset.sequences[group[0]].label as usize].push(group);
    }
    let mut parts = vec![Part::Train; dataset.sequences.len()];
    for (class, mut groups) in by_class.into_iter().enumerate() {
        key.child("split", class as u64).rng().shuffle(&mut groups);
        assign_class(&groups, fractions, &mut parts);
    }
    parts
}

/// Gives each group to the part that lacks most. Large groups come first, since small ones can
/// still level what these leave uneven.
fn assign_class(groups: &[&[usize]], fractions: Fractions, parts: &mut [Part]) {
    let total: usize = groups.iter().map(|group| group.len()).sum();
    let mut lacking = fractions.0.map(|fraction| fraction * total as f64);
    let mut largest_first: Vec<&[usize]> = groups.to_vec();
    largest_first.sort_by_key(|group| std::cmp::Reverse(group.len()));
    for group in largest_first {
        let part = most_lacking(&lacking, fractions);
        lacking[part] -= group.len() as f64;
        for &index in group {
            parts[index] = [Part::Train, Part::Valid, Part::Test][part];
        }
    }
}

/// The first of the largest, among the parts that are wanted at all.
fn most_lacking(lacking: &[f64; 3], fractions: Fractions) -> usize {
    let wanted = (1..3).filter(|&part| fractions.0[part] > 0.0);
    wanted.fold(0, |best, part| if lacking[part] > lacking[best] { part } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Sequence;
    use crate::task::tests::dataset;

    fn random(n: usize, seed: u64) -> Dataset {
        let mut stream = Key::new(seed).rng();
        let mut data = dataset(&[("abc", "x"), ("b", "y"), ("c", "z")]);
        data.sequences = (0..n)
            .map(|_| Sequence {
                tokens: (0..stream.below(6)).map(|_| stream.below(3) as u32).collect(),
                label: [0, 0, 0, 1, 1, 2][stream.below(6)],
            })
            .collect();
        data
    }

    fn part_sizes(parts: &[Part]) -> [usize; 3] {
        [Part::Train, Part::Valid, Part::Test].map(|p| parts.iter().filter(|x| **x == p).count())
    }

    #[test]
    fn identical_sequences_never_land_on_both_sides() {
        let data = random(1_000, 5);
        let parts = assign(&data, "0.6/0.2/0.2".parse().unwrap(), &Key::new(1));
        let order = side_by_side(&data.sequences);
        let mut repeated = 0;
        for group in groups(&order, &data.sequences) {
            repeated += group.len() - 1;
            assert!(group.iter().all(|&i| parts[i] == parts[group[0]]));
        }
        assert!(repeated > 500, "the test must meet duplicates, and met {repeated}");
    }

    #[test]
    fn every_class_is_divided_by_the_same_fractions() {
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
    fn a_split_loses_nothing_and_is_a_function_of_its_key() {
        let data = random(300, 6);
        let fractions: Fractions = "0.7/0.3".parse().unwrap();
        let parts = |seed| assign(&data, fractions, &Key::new(seed));
        assert_eq!(parts(1), parts(1));
        assert_ne!(parts(1), parts(2));
        let split = split(&data, fractions, &Key::new(1));
        assert_eq!(split.train.sequences.len() + split.valid.sequences.len(), 300);
        assert_eq!(part_sizes(&parts(1))[2], 0);
        assert!(split.test.is_none());
    }

    #[test]
    fn a_lone_sequence_is_for_training() {
        let data = dataset(&[("a", "x"), ("b", "y")]);
        let parts = assign(&data, "0.4/0.3/0.3".parse().unwrap(), &Key::new(0));
        assert_eq!(parts, [Part::Train, Part::Train]);
    }

    #[test]
    fn fractions_that_do_not_divide_a_whole_are_refused_with_an_example() {
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
