//! An automaton as files: the same for every verb that reads one off a network.

use super::{Notation, WriteOptions, write};
use crate::UserError;
use crate::extract::ExtractedAutomaton;
use crate::extract::json::NamedAutomaton;
use crate::files;
use srnn_automata::Partial;
use std::path::{Path, PathBuf};

/// What was written, and what could not be and why.
pub struct SavedFiles {
    /// The paths.
    pub written: Vec<PathBuf>,
    /// A reason for every file that is not there.
    pub left_out: Vec<String>,
}

/// Writes what was read off a network, minimal where that can be.
pub fn save(
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

/// Writes `stem.json` always; DOT and SVG where every transition is known and the picture can be
/// read. An automaton too large to be drawn is no failure.
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
                // A file of an earlier automaton beside this one's would be taken for its own.
                let _ = std::fs::remove_file(&path);
                files.left_out.push(error.message);
            }
        }
    }
    Ok(files)
}
