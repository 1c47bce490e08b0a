//! The automata of a run as files.

use super::folder::{failed, put};
use super::material::Source;
use crate::failure::Failure;
use srnn::extract::json::{NamedAutomaton, to_json};
use srnn::extract::{Extracted, Extraction, Judged, JudgedCounts, Refusal, acceptor};
use srnn::render::dfa::{DfaPicture, svg};
use srnn::render::table::TransitionTable;
use srnn_automata::text::dot;
use srnn_automata::{Moore, Partial};
use std::path::Path;

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
        Way {
            key: "counted_soft",
            name: "counted (mixture fed back)",
            found: counted(&extraction.counted_soft),
        },
        Way {
            key: "counted_hard",
            name: "counted (centroid fed back)",
            found: counted(&extraction.counted_hard),
        },
        Way {
            key: "hard_table",
            name: "hard table",
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
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for Way { key, name, found } in ways(extraction) {
        let Ok(judged) = found else { continue };
        let (file, title) = match key {
            "cover" => ("automaton", source.to_string()),
            _ => (key, format!("{source}: {name}")),
        };
        write_automaton(&folder.join(file), &judged.extracted, classes, &title)?;
    }
    Ok(())
}

fn write_automaton(
    path: &Path,
    extracted: &Extracted,
    classes: &[String],
    title: &str,
) -> Result<(), Failure> {
    let automaton = match &extracted.minimal {
        Ok(minimal) => Partial::from(minimal),
        Err(_) => extracted.automaton.clone(),
    };
    let named = NamedAutomaton::new(classes.to_vec(), automaton)?;
    put(&path.with_extension("json"), &to_json(&named))?;
    // DOT and pictures know no unknown transitions.
    let Ok(minimal) = &extracted.minimal else { return Ok(()) };
    put(&path.with_extension("dot"), &dot(minimal, classes, title))?;
    let drawn = svg(&DfaPicture { title: title.into(), ..picture(minimal, classes) });
    // An automaton too large to be drawn is no failure of the run; the table and DOT are there.
    drawn.map_or(Ok(()), |drawn| put(&path.with_extension("svg"), &drawn))
}

fn dot(minimal: &Moore<u32>, classes: &[String], title: &str) -> String {
    match classes.len() {
        2 => dot::write_dfa(&acceptor(minimal), title),
        _ => dot::write_moore(&named(minimal, classes), title),
    }
}

/// A picture: with two classes an acceptor of the second; classes are named unless the double
/// circle says it.
fn picture(minimal: &Moore<u32>, classes: &[String]) -> DfaPicture {
    if classes.len() != 2 {
        return DfaPicture::of_moore(&named(minimal, classes));
    }
    let mut picture = DfaPicture::from(&acceptor(minimal));
    if !says_itself(classes) {
        for (state, &class) in picture.states.iter_mut().zip(minimal.outputs()) {
            state.note = classes[class as usize].clone();
        }
    }
    picture
}

/// A table for the terminal, by the same rules.
pub fn table(minimal: &Moore<u32>, classes: &[String]) -> TransitionTable {
    if classes.len() == 2 && says_itself(classes) {
        return TransitionTable::from(&acceptor(minimal));
    }
    TransitionTable::of_moore(&named(minimal, classes))
}

fn says_itself(classes: &[String]) -> bool {
    classes == ["reject", "accept"] || classes == ["0", "1"]
}

fn named(minimal: &Moore<u32>, classes: &[String]) -> Moore<String> {
    minimal.map_outputs(|&class| classes[class as usize].clone())
}
