//! What one file holds.

use crate::task::Dataset;

use super::error::{Cause, DataError, fault};
use super::options::{OneSymbol, Tokens};

/// The labelled sequences of one file, with their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// The file's name as it was given.
    pub file: String,
    /// The sequences; alphabet and classes are this file's, sorted by name.
    pub data: Dataset,
    /// `[sequences]`: the line each begins in, from 1; of a case its first row.
    pub lines: Vec<u64>,
    /// How texts were divided; never a guess. A model keeps this, to read more of them.
    pub tokens: Tokens,
    /// How many sequences came as texts, and so depend on `tokens`; the others list their tokens.
    pub texts: usize,
    /// How many sequences were left out because they have no label.
    pub unlabelled: usize,
}

impl Samples {
    /// Refuses data that nothing can be learned from: one class, or one symbol where lengths are
    /// not meant.
    pub fn check_trainable(&self, one_symbol: OneSymbol) -> Result<(), DataError> {
        let Dataset { alphabet, classes, .. } = &self.data;
        if classes.len() < 2 {
            let cause = Cause::OneClass { classes: classes.clone() };
            return Err(fault(cause).in_file(&self.file));
        }
        let least = if one_symbol == OneSymbol::Keep { 1 } else { 2 };
        if alphabet.len() < least {
            let cause = Cause::OneSymbol { symbols: alphabet.clone() };
            return Err(fault(cause).in_file(&self.file));
        }
        Ok(())
    }
}
