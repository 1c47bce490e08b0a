//! Labelled texts in natural language, as sequences of words.

mod archive;
mod error;
pub mod imdb;
pub mod moses;
mod reviews;

pub use error::{ReviewCause, ReviewError};

use crate::model::Tokenizer;

/// The tokens of a text, with a space between two.
pub fn tokenize(text: &str, tokenizer: Tokenizer) -> String {
    match tokenizer {
        Tokenizer::MosesLowerCase => moses::tokenize(text).to_lowercase(),
    }
}
