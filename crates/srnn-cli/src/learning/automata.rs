//! The automata of a run as files.

use super::material::Source;
use crate::automaton::save;
use crate::failure::Failure;
use srnn::extract::{Extraction, Judged, JudgedCounts, Refusal};
use std::path::Path;

/// The counted automaton of soft runs, for people.
pub const COUNTED_SOFT: &str = "counted (mixture fed back)";
/// The counted automaton of hard runs.
pub const COUNTED_HARD: &str = "counted (centroid fed back)";
/// The automaton of the hard network.
pub const HARD_TABLE: &str = "hard table";

/// A way of extraction, by its name and what came of it.
pub struct Way<'a> {
    /// As in files and JSON.
    pub key: &'static str,
    /// For people.
    pub name: &'static str,
    /// What came of it, or why nothing did.
    pub found: Result<&'a Judged, String>,
}

/// The four ways, the one that is kept last.
pub fn ways(extraction: &Extraction) -> [Way<'_>; 4] {
    fn counted(found: &Result<JudgedCounts, Refusal>) -> Result<&Judged, String> {
        found.as_ref().map(|counts| &counts.judged).map_err(ToString::to_string)
    }
    let open = "its soft states do not close: train for longer, or with other --seeds";
    [
        Way { key: "counted_soft", name: COUNTED_SOFT, found: counted(&extraction.counted_soft) },
        Way { key: "counted_hard", name: COUNTED_HARD, found: counted(&extraction.counted_hard) },
        Way {
            key: "hard_table",
            name: HARD_TABLE,
            found: extraction.hard_table.as_ref().map_err(ToString::to_string),
        },
        Way {
            key: "cover",
            name: "cover of soft states",
            found: extraction.cover_judged.as_ref().ok_or_else(|| open.to_string()),
        },
    ]
}

/// Writes every automaton: `automaton.*` is the cover's, the others carry their names.
pub fn write_automata(
    folder: &Path,
    extraction: &Extraction,
    classes: &[String],
    source: &Source,
) -> Result<(), Failure> {
    let source = source.title();
    for Way { key, name, found } in ways(extraction) {
        let Ok(judged) = found else { continue };
        let (file, title) = match key {
            "cover" => ("automaton", source.clone()),
            _ => (key, format!("{source}: {name}")),
        };
        save(&folder.join(file), &judged.extracted, classes, &title)?;
    }
    Ok(())
}
