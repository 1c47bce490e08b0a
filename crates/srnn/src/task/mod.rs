//! Where labelled sequences come from: built-in grammars and files.
//!
//! Everything here ends in a [`Dataset`] or a [`Split`]: plain data, tokens as numbers. Nothing
//! here knows of batches, start tokens or networks.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Labelled sequences over a finite alphabet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    /// The name of every token; a token's id is its index. Sorted by name unless stated.
    pub alphabet: Vec<String>,
    /// The name of every class; a label's id is its index.
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

/// A training set with what is held out. All share one alphabet and one list of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// What the network learns from.
    pub train: Dataset,
    /// What selects among epochs and seeds.
    pub valid: Dataset,
    /// What nothing is selected by.
    pub test: Option<Dataset>,
}

impl Dataset {
    /// The sha-256 of a canonical encoding, in hex: equal exactly for equal data sets.
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
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// How many sequences each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for sequence in &self.sequences {
            counts[sequence.label as usize] += 1;
        }
        counts
    }
}

// Every part is preceded by its length, so that no two data sets encode alike.
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
