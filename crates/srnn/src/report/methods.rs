//! The four extraction methods by name, and their automata as files.

use crate::UserError;
use crate::extract::{EvaluatedAutomaton, EvaluatedCounts, ExtractError, Extraction};
use crate::notation::save_extracted;
use std::path::Path;

/// Displayed name of transition counting with soft states.
pub const COUNTED_SOFT: &str = "counted (mixture fed back)";
/// Displayed name of transition counting with hard states.
pub const COUNTED_HARD: &str = "counted (centroid fed back)";
/// Displayed name of the exhaustive table of hard transitions.
pub const HARD_TABLE: &str = "hard table";

/// An extraction method and its result.
pub(super) struct MethodResult<'a> {
    /// The name in files and JSON.
    pub key: &'static str,
    /// The displayed name.
    pub name: &'static str,
    /// The automaton, or why there is none.
    pub automaton: Result<&'a EvaluatedAutomaton, String>,
}

/// The results of the four methods. The cover, whose automaton is reported, comes last.
pub(super) fn methods(extraction: &Extraction) -> [MethodResult<'_>; 4] {
    fn counted(
        counts: &Result<EvaluatedCounts, ExtractError>,
    ) -> Result<&EvaluatedAutomaton, String> {
        counts.as_ref().map(|counts| &counts.evaluated).map_err(ToString::to_string)
    }
    let open = "the cover of soft states is not closed: train longer, or try other --seeds";
    [
        MethodResult {
            key: "counted_soft",
            name: COUNTED_SOFT,
            automaton: counted(&extraction.counted_soft),
        },
        MethodResult {
            key: "counted_hard",
            name: COUNTED_HARD,
            automaton: counted(&extraction.counted_hard),
        },
        MethodResult {
            key: "hard_table",
            name: HARD_TABLE,
            automaton: extraction.hard_table.as_ref().map_err(ToString::to_string),
        },
        MethodResult {
            key: "cover",
            name: "cover of soft states",
            automaton: extraction.cover_evaluated.as_ref().ok_or_else(|| open.to_string()),
        },
    ]
}

/// Writes every automaton: `automaton.*` is that of the cover, the others have the method's key.
pub(super) fn write_automata(
    folder: &Path,
    extraction: &Extraction,
    classes: &[String],
    title: &str,
) -> Result<(), UserError> {
    for MethodResult { key, name, automaton } in methods(extraction) {
        let Ok(evaluated) = automaton else { continue };
        let (file, title) = match key {
            "cover" => ("automaton", title.to_string()),
            _ => (key, format!("{title}: {name}")),
        };
        save_extracted(&folder.join(file), &evaluated.extracted, classes, &title)?;
    }
    Ok(())
}
