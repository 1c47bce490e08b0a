//! Texts in natural language, as sequences of words: labelled reviews, and plain text.

mod archive;
pub mod corpus;
mod corpus_error;
mod error;
pub mod imdb;
pub mod moses;
mod reviews;

pub use corpus_error::{CorpusCause, CorpusError};
pub use error::{ReviewCause, ReviewError};

use crate::model::Tokenizer;

/// The tokens of a text, with a space between two.
pub fn tokenize(text: &str, tokenizer: Tokenizer) -> String {
    match tokenizer {
        Tokenizer::MosesLowerCase => moses::tokenize(text).to_lowercase(),
    }
}
