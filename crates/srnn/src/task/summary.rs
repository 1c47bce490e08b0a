//! Statistics of a data set.

use serde::Serialize;

use super::identical::{equal_groups, sorted_indices};
use super::{Dataset, Sequence};

/// Statistics of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The number of sequences.
    pub count: usize,
    /// The number of symbols of the alphabet.
    pub symbols: usize,
    /// Every class with the number of its sequences.
    pub per_class: Vec<(String, usize)>,
    /// The lengths of the sequences; `None` for an empty set.
    pub lengths: Option<LengthStats>,
    /// The number of sequences that repeat an earlier one and have the label of its first occurrence.
    pub duplicates: usize,
    /// The number of sequences that repeat an earlier one and have another label than its first
    /// occurrence.
    pub contradictions: usize,
    /// The number of errors that no classifier avoids: of equal sequences with different labels, those
    /// without the most frequent label.
    pub unavoidable_errors: usize,
    /// The first contradictions, at most [`Summary::EXAMPLES`].
    pub examples: Vec<Contradiction>,
}

/// The lengths of the sequences of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LengthStats {
    /// The smallest length.
    pub min: usize,
    /// The median; the lower one of two.
    pub median: usize,
    /// The largest length.
    pub max: usize,
}

/// Two equal sequences with different labels, by their indices in the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    /// The first occurrence.
    pub first: usize,
    /// An occurrence with another label.
    pub second: usize,
}

impl Summary {
    /// The largest number of examples.
    pub const EXAMPLES: usize = 5;

    /// The highest accuracy that a classifier can have on this set; 1 for an empty set.
    pub fn max_accuracy(&self) -> f64 {
        1.0 - self.unavoidable_errors as f64 / self.count.max(1) as f64
    }
}

pub(super) fn summarize(dataset: &Dataset) -> Summary {
    let (duplicates, mut contradictions) = repeats(&dataset.sequences);
    let count = contradictions.len();
    contradictions.truncate(Summary::EXAMPLES);
    Summary {
        count: dataset.sequences.len(),
        symbols: dataset.alphabet.len(),
        per_class: dataset.classes.iter().cloned().zip(dataset.class_counts()).collect(),
        lengths: lengths(&dataset.sequences),
        duplicates,
        contradictions: count,
        unavoidable_errors: unavoidable_errors(&dataset.sequences),
        examples: contradictions,
    }
}

/// The number of duplicates, and every contradiction in the order of the data.
pub(super) fn repeats(sequences: &[Sequence]) -> (usize, Vec<Contradiction>) {
    let (mut duplicates, mut contradictions) = (0, Vec::new());
    for group in equal_groups(&sorted_indices(sequences), sequences) {
        let first = group[0];
        for &second in &group[1..] {
            if sequences[second].label == sequences[first].label {
                duplicates += 1;
            } else {
                contradictions.push(Contradiction { first, second });
            }
        }
    }
    contradictions.sort_unstable_by_key(|found| found.second);
    (duplicates, contradictions)
}

fn unavoidable_errors(sequences: &[Sequence]) -> usize {
    let errors = |group: &[usize]| {
        let mut labels: Vec<u32> = group.iter().map(|&index| sequences[index].label).collect();
        labels.sort_unstable();
        let most = labels.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(0);
        group.len() - most
    };
    equal_groups(&sorted_indices(sequences), sequences).map(errors).sum()
}

fn lengths(sequences: &[Sequence]) -> Option<LengthStats> {
    let mut lengths: Vec<usize> = sequences.iter().map(|s| s.tokens.len()).collect();
    lengths.sort_unstable();
    Some(LengthStats {
        min: *lengths.first()?,
        median: lengths[(lengths.len() - 1) / 2],
        max: *lengths.last()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::dataset;

    #[test]
    fn a_summary_counts_classes_lengths_duplicates_and_contradictions() {
        let words = [("aab", "x"), ("b", "y"), ("aab", "y"), ("", "x"), ("b", "y"), ("aab", "x")];
        let summary = dataset(&words).summary();
        assert_eq!(summary.count, 6);
        assert_eq!(summary.symbols, 2);
        assert_eq!(summary.per_class, [("x".to_string(), 3), ("y".to_string(), 3)]);
        assert_eq!(summary.lengths, Some(LengthStats { min: 0, median: 1, max: 3 }));
        assert_eq!((summary.duplicates, summary.contradictions), (2, 1));
        assert_eq!(summary.examples, [Contradiction { first: 0, second: 2 }]);
        assert_eq!((summary.unavoidable_errors, summary.max_accuracy()), (1, 5.0 / 6.0));
    }

    #[test]
    fn the_most_frequent_label_of_equal_sequences_bounds_the_accuracy() {
        let words = [("a", "y"), ("a", "x"), ("a", "x"), ("b", "y"), ("b", "x"), ("c", "z")];
        let summary = dataset(&words).summary();
        assert_eq!((summary.contradictions, summary.unavoidable_errors), (3, 2));
    }

    #[test]
    fn examples_are_few_and_the_first() {
        let words: Vec<(String, &str)> = (0..20)
            .map(|i| ("a".repeat(20 - i), "x"))
            .chain((0..20).map(|i| ("a".repeat(20 - i), "y")))
            .collect();
        let words: Vec<(&str, &str)> = words.iter().map(|(w, l)| (w.as_str(), *l)).collect();
        let summary = dataset(&words).summary();
        assert_eq!(summary.contradictions, 20);
        assert_eq!(summary.examples.len(), Summary::EXAMPLES);
        assert_eq!(summary.examples[0], Contradiction { first: 0, second: 20 });
    }

    #[test]
    fn an_empty_set_has_no_lengths() {
        assert_eq!(Dataset::default().summary().lengths, None);
    }
}
