//! The four methods of extraction by name, and their automata as files.

use crate::UserError;
use crate::extract::{EvaluatedAutomaton, EvaluatedCounts, ExtractError, Extraction};
use crate::notation::save;
use std::path::Path;

/// The counted automaton of soft runs, for people.
pub const COUNTED_SOFT: &str = "counted (mixture fed back)";
/// The counted automaton of hard runs.
pub const COUNTED_HARD: &str = "counted (centroid fed back)";
/// The automaton of the hard network.
pub const HARD_TABLE: &str = "hard table";

/// A method of extraction, and its result.
pub struct MethodResult<'a> {
    /// As in files and JSON.
    pub key: &'static str,
    /// For people.
    pub name: &'static str,
    /// What came of it, or why nothing did.
    pub found: Result<&'a EvaluatedAutomaton, String>,
}

/// The four methods; the one that is kept comes last.
pub fn methods(extraction: &Extraction) -> [MethodResult<'_>; 4] {
    fn counted(
        found: &Result<EvaluatedCounts, ExtractError>,
    ) -> Result<&EvaluatedAutomaton, String> {
        found.as_ref().map(|counts| &counts.evaluated).map_err(ToString::to_string)
    }
    let open = "its soft states do not close: train for longer, or with other --seeds";
    [
        MethodResult {
            key: "counted_soft",
            name: COUNTED_SOFT,
            found: counted(&extraction.counted_soft),
        },
        MethodResult {
            key: "counted_hard",
            name: COUNTED_HARD,
            found: counted(&extraction.counted_hard),
        },
        MethodResult {
            key: "hard_table",
            name: HARD_TABLE,
            found: extraction.hard_table.as_ref().map_err(ToString::to_string),
        },
        MethodResult {
            key: "cover",
            name: "cover of soft states",
            found: extraction.cover_evaluated.as_ref().ok_or_else(|| open.to_string()),
        },
    ]
}

/// Writes every automaton: `automaton.*` is the cover's, the others carry their names.
pub fn write_automata(
    folder: &Path,
    extraction: &Extraction,
    classes: &[String],
    title: &str,
) -> Result<(), UserError> {
    for MethodResult { key, name, found } in methods(extraction) {
        let Ok(judged) = found else { continue };
        let (file, title) = match key {
            "cover" => ("automaton", title.to_string()),
            _ => (key, format!("{title}: {name}")),
        };
        save(&folder.join(file), &judged.extracted, classes, &title)?;
    }
    Ok(())
}
