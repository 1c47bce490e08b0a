//! Labelled texts in natural language, as sequences of words.

pub mod moses;
