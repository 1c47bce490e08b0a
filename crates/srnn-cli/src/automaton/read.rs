//! Automata from files.

use super::{Notation, read_as};
use crate::failure::Failure;
use crate::files;
use srnn::extract::json::NamedAutomaton;
use srnn_automata::Alphabet;
use std::path::Path;

/// Reads a file, or stdin for `-`. Without `from`, the name or the beginning of the text decides the
/// notation. `alphabet` is that of a regular expression.
pub fn read(
    path: &Path,
    from: Option<Notation>,
    alphabet: Option<&Alphabet>,
) -> Result<NamedAutomaton, Failure> {
    let text = files::read_text(path)?;
    let name = files::display_path(path);
    let readable =
        |notation: &Notation| !matches!(notation, Notation::Svg | Notation::Tikz | Notation::Table);
    let given = from.or_else(|| Notation::of_name(path).filter(readable));
    let notation = given.or_else(|| Notation::of_text(&text)).ok_or_else(|| {
        let message = format!("{name}: neither its name nor its content shows the notation");
        let remedy = "give it a name that ends in .json, .dot, .att, .jff or .re, or convert it first: \
                      srnn convert FILE automaton.json --from json|dot|att|jflap|regex";
        Failure::new(message, remedy)
    })?;
    Ok(read_as(&text, &name, notation, alphabet)?)
}
