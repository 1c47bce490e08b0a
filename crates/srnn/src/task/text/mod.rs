//! Labelled texts in natural language, as sequences of words.

mod archive;
mod error;
pub mod imdb;
pub mod moses;
mod reviews;

pub use error::{ReviewCause, ReviewError};
