//! Labelled sequences from built-in tasks and from files.
//!
//! All functions return a [`Dataset`] or a [`Split`]: plain data, with tokens as ids. Nothing here
//! depends on batches, start tokens or networks. [`copying`] has a target at every step, and the
//! steps of [`images`] are numbers; both have types of their own.
//!
//! **Vocabulary.** The vocabulary is that of the training set. [`files::RareTokens`] selects rare
//! training tokens that become [`UNKNOWN`], which is trained on them; unseen tokens of held-out data
//! become [`UNKNOWN`] too. Without rare tokens, the model cannot read a held-out sequence with an
//! unseen token: it is listed as [`files::Unreadable`] and counts as an error.

pub mod builtin;
mod confusion;
pub mod copying;
pub mod files;
mod identical;
pub mod images;
mod labels;
pub mod palindrome;
pub mod parentheses;
mod split;
mod summary;
pub mod text;
mod token_sequences;
pub mod tomita;
mod vocabulary;

use crate::engine::hex::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use confusion::Confusion;
pub use labels::{Rate, class_weights, label_noise, softened_class_weights};
pub use split::{Fractions, Subset, assign_folds, assign_subsets, split};
pub use summary::Summary;
pub use token_sequences::{TokenSequences, inputs_of, targets_of};
pub use vocabulary::{UNKNOWN, UnseenToken, Vocabulary};

/// Labelled sequences over a finite alphabet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    /// The name of each token, by id. Sorted by name unless stated otherwise.
    pub alphabet: Vec<String>,
    /// The name of each class, by id.
    pub classes: Vec<String>,
    /// The sequences, in the order of their source.
    pub sequences: Vec<Sequence>,
}

/// One labelled sequence. It may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Indices into the alphabet.
    pub tokens: Vec<u32>,
    /// Index into the classes.
    pub label: u32,
}

/// A training set with its held-out sets. All share one alphabet and one list of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split<D = Dataset> {
    /// The training set.
    pub train: D,
    /// The validation set, which selects among epochs and seeds.
    pub valid: D,
    /// The test set, which is never used for selection.
    pub test: Option<D>,
}

impl Dataset {
    /// Statistics to look at before training.
    pub fn summary(&self) -> Summary {
        summary::summarize(self)
    }

    /// The SHA-256 of a canonical encoding, in hex.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"srnn dataset 1\n");
        hash_names(&mut hash, &self.alphabet);
        hash_names(&mut hash, &self.classes);
        hash_count(&mut hash, self.sequences.len());
        for sequence in &self.sequences {
            hash.update(sequence.label.to_le_bytes());
            hash_count(&mut hash, sequence.tokens.len());
            for token in &sequence.tokens {
                hash.update(token.to_le_bytes());
            }
        }
        hex(&hash.finalize())
    }

    /// The number of sequences of each class.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for sequence in &self.sequences {
            counts[sequence.label as usize] += 1;
        }
        counts
    }

    /// The same alphabet and classes, without sequences.
    pub(crate) fn without_sequences(&self) -> Dataset {
        Dataset {
            alphabet: self.alphabet.clone(),
            classes: self.classes.clone(),
            sequences: Vec::new(),
        }
    }
}

// Every part is preceded by its length, so that different data sets have different encodings.
fn hash_names(hash: &mut Sha256, names: &[String]) {
    hash_count(hash, names.len());
    for name in names {
        hash_count(hash, name.len());
        hash.update(name.as_bytes());
    }
}

fn hash_count(hash: &mut Sha256, count: usize) {
    hash.update((count as u64).to_le_bytes());
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A data set of words with one-character tokens; classes are sorted.
    pub(crate) fn dataset(words: &[(&str, &str)]) -> Dataset {
        let mut symbols: Vec<String> =
            words.iter().flat_map(|(word, _)| word.chars().map(String::from)).collect();
        let mut classes: Vec<String> = words.iter().map(|(_, label)| label.to_string()).collect();
        for names in [&mut symbols, &mut classes] {
            names.sort();
            names.dedup();
        }
        let id = |names: &[String], name: &str| names.binary_search(&name.into()).unwrap() as u32;
        let sequences = words
            .iter()
            .map(|(word, label)| Sequence {
                tokens: word.chars().map(|c| id(&symbols, &c.to_string())).collect(),
                label: id(&classes, label),
            })
            .collect();
        Dataset { alphabet: symbols, classes, sequences }
    }

    #[test]
    fn the_digest_changes_with_every_part_of_the_data() {
        let base = dataset(&[("ab", "x"), ("b", "y"), ("", "y")]);
        let mut seen = vec![base.digest()];
        assert_eq!(seen[0].len(), 64);
        let changes: [fn(&mut Dataset); 6] = [
            |d| d.alphabet[0] = "c".into(),
            |d| d.classes.push("z".into()),
            |d| d.sequences[0].label = 1,
            |d| d.sequences[0].tokens.push(0),
            |d| d.sequences.swap(0, 1),
            |d| {
                let moved = d.sequences[1].tokens.pop().unwrap();
                d.sequences[2].tokens.push(moved);
            },
        ];
        for change in changes {
            let mut other = base.clone();
            change(&mut other);
            let digest = other.digest();
            assert!(!seen.contains(&digest));
            seen.push(digest);
        }
    }

    #[test]
    fn the_digest_is_pinned_so_that_old_records_stay_comparable() {
        let digest = dataset(&[("ab", "x"), ("b", "y")]).digest();
        assert_eq!(digest, "f4374192f94d05b07403784a5aa7f946cad2d9bb3864028ca36cc74ecff9139e");
    }
}
