//! Sequences without labels, for models that predict the next token.

use super::text::corpus::END_OF_LINE;
use super::{hash_count, hash_names};
use crate::engine::hex::hex;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Sequences without labels. Every token is to be predicted from the tokens before it, and so is the
/// end of the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSequences {
    /// The name of each token, by id. The last one is [`TokenSequences::END`].
    pub alphabet: Arc<[String]>,
    /// The sequences, without their ends. They may be empty.
    pub sequences: Vec<Vec<u32>>,
}

impl TokenSequences {
    /// The token that ends every sequence. A model reads it before the first token.
    pub const END: &'static str = END_OF_LINE;

    /// The id of [`TokenSequences::END`].
    pub fn end(&self) -> u32 {
        self.alphabet.len() as u32 - 1
    }

    /// The number of predictions: all tokens, and one end per sequence.
    pub fn predictions(&self) -> usize {
        self.sequences.iter().map(|sequence| sequence.len() + 1).sum()
    }

    /// The SHA-256 of a canonical encoding, in hex.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"srnn token sequences 1\n");
        hash_names(&mut hash, &self.alphabet);
        hash_count(&mut hash, self.sequences.len());
        for sequence in &self.sequences {
            hash_count(&mut hash, sequence.len());
            sequence.iter().for_each(|token| hash.update(token.to_le_bytes()));
        }
        hex(&hash.finalize())
    }
}

/// What a model reads to predict each token of a sequence, the end included.
pub fn inputs_of(sequence: &[u32], end: u32) -> impl Iterator<Item = u32> {
    std::iter::once(end).chain(sequence.iter().copied())
}

/// What a model predicts after each of its inputs.
pub fn targets_of(sequence: &[u32], end: u32) -> impl Iterator<Item = u32> {
    sequence.iter().copied().chain([end])
}
