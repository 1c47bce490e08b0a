//! The content of one file.

use crate::task::Dataset;

use super::error::{Cause, CauseAtLine, DataError};
use super::options::{OneSymbol, TokenRule};

/// The labelled sequences of one file, with their lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// The file name as given.
    pub file: String,
    /// The sequences. Alphabet and classes are those of this file, sorted by name.
    pub data: Dataset,
    /// `[sequences]`: the line in which each begins, from 1; for a case, its first row.
    pub lines: Vec<u64>,
    /// How strings were split into tokens; never a guess. Stored with a model, to read more data.
    pub tokens: TokenRule,
    /// The number of sequences that were strings, and so depend on `tokens`. The others were lists
    /// of tokens.
    pub texts: usize,
    /// The number of sequences that were skipped because they have no label.
    pub unlabelled: usize,
}

impl Samples {
    /// Fails if there is only one class, or only one symbol without [`OneSymbol::Keep`].
    pub fn check_trainable(&self, one_symbol: OneSymbol) -> Result<(), DataError> {
        let Dataset { alphabet, classes, .. } = &self.data;
        if classes.len() < 2 {
            let cause = Cause::OneClass { classes: classes.clone() };
            return Err(CauseAtLine::from(cause).in_file(&self.file));
        }
        let least = if one_symbol == OneSymbol::Keep { 1 } else { 2 };
        if alphabet.len() < least {
            let cause = Cause::OneSymbol { symbols: alphabet.clone() };
            return Err(CauseAtLine::from(cause).in_file(&self.file));
        }
        Ok(())
    }
}
