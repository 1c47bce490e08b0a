//! An automaton as JSON, DOT and SVG files.

use super::{Notation, WriteOptions, write};
use crate::UserError;
use crate::extract::ExtractedAutomaton;
use crate::extract::json::NamedAutomaton;
use crate::files;
use srnn_automata::Partial;
use std::path::{Path, PathBuf};

/// The files that were written, and why others were not.
pub struct SavedFiles {
    /// The paths of the files.
    pub written: Vec<PathBuf>,
    /// One reason per file that was not written.
    pub left_out: Vec<String>,
}

/// Writes an extracted automaton, minimised if it is complete; see `save_automaton`.
///
/// # Errors
/// If a file cannot be written, or two classes have the same name.
pub fn save_extracted(
    stem: &Path,
    extracted: &ExtractedAutomaton,
    classes: &[String],
    title: &str,
) -> Result<SavedFiles, UserError> {
    let automaton = match &extracted.minimal {
        Ok(minimal) => Partial::from(minimal),
        Err(_) => extracted.automaton.clone(),
    };
    save_automaton(stem, automaton, classes, title)
}

/// Writes `stem.json`, and also DOT and SVG if every transition is known and the picture is not too
/// large.
///
/// # Errors
/// If a file cannot be written, or two classes have the same name.
pub fn save_automaton(
    stem: &Path,
    automaton: Partial<u32>,
    classes: &[String],
    title: &str,
) -> Result<SavedFiles, UserError> {
    let named = NamedAutomaton::new(classes.to_vec(), automaton)
        .map_err(|error| UserError::new(format!("{}: {error}", stem.display()), ""))?;
    let mut files = SavedFiles { written: vec![], left_out: vec![] };
    for (notation, extension) in
        [(Notation::Json, "json"), (Notation::Dot, "dot"), (Notation::Svg, "svg")]
    {
        let path = stem.with_extension(extension);
        let options = WriteOptions { title, ..WriteOptions::default() };
        match write(&named, &path.display().to_string(), notation, options) {
            Ok(text) => {
                files::write(&path, &text)?;
                files.written.push(path);
            }
            Err(error) => {
                // A file of an earlier automaton would be taken for a picture of this one.
                let _ = std::fs::remove_file(&path);
                files.left_out.push(error.message);
            }
        }
    }
    Ok(files)
}
