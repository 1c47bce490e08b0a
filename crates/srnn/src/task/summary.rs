//! What a data set looks like, as plain data.

use serde::Serialize;

use super::identical::{groups, side_by_side};
use super::{Dataset, Sequence};

/// What there is to know about a data set before training on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// How many sequences there are.
    pub count: usize,
    /// How many symbols the alphabet has.
    pub symbols: usize,
    /// Every class with the number of its sequences.
    pub per_class: Vec<(String, usize)>,
    /// How long the sequences are; nothing for a set without any.
    pub lengths: Option<Lengths>,
    /// How many sequences repeat an earlier one with the same label as its first.
    pub duplicates: usize,
    /// How many sequences repeat an earlier one with another label than its first.
    pub contradictions: usize,
    /// The first of these contradictions, at most [`Summary::EXAMPLES`].
    pub examples: Vec<Contradiction>,
}

/// The spread of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// The shortest.
    pub min: usize,
    /// The one in the middle (of two, the lower).
    pub median: usize,
    /// The longest.
    pub max: usize,
}

/// Two equal sequences with different labels, by their indices in the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Contradiction {
    /// Where the sequence occurs first.
    pub first: usize,
    /// Where it occurs with another label.
    pub second: usize,
}

impl Summary {
    /// How many contradictions are shown.
    pub const EXAMPLES: usize = 5;
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
        examples: contradictions,
    }
}

/// The number of duplicates, and every contradiction in the order of the data.
pub(super) fn repeats(sequences: &[Sequence]) -> (usize, Vec<Contradiction>) {
    let (mut duplicates, mut contradictions) = (0, Vec::new());
    for group in groups(&side_by_side(sequences), sequences) {
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

fn lengths(sequences: &[Sequence]) -> Option<Lengths> {
    let mut lengths: Vec<usize> = sequences.iter().map(|s| s.tokens.len()).collect();
    lengths.sort_unstable();
    Some(Lengths {
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
        assert_eq!(summary.lengths, Some(Lengths { min: 0, median: 1, max: 3 }));
        assert_eq!((summary.duplicates, summary.contradictions), (2, 1));
        assert_eq!(summary.examples, [Contradiction { first: 0, second: 2 }]);
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
