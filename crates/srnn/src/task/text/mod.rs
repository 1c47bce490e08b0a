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
