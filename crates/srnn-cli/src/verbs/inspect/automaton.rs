//! Describes an automaton file: sizes, classes, table.

use super::Description;
use crate::automaton::{complete, is_acceptor, quoted_list, read, table};
use crate::failure::Failure;
use serde_json::json;
use srnn::format::plural;
use std::fmt::Write as _;
use std::path::Path;

/// Maximum states of an automaton that is printed as a table.
const MAX_TABLE_STATES: usize = 50;

pub fn describe(path: &Path) -> Result<Description, Failure> {
    let named = read(path, None, None)?;
    let automaton = named.automaton();
    let name = path.display().to_string();
    let minimal = complete(&named, &name, None).ok().map(|moore| moore.minimize().state_count());
    let (states, unknown) = (automaton.state_count(), automaton.unknown().len());
    let mut text = format!("automaton {name}\n  {}", plural(states, "state"));
    let _ = match minimal {
        Some(minimal) if minimal == states => writeln!(text, ", minimal"),
        Some(minimal) => writeln!(text, ", {minimal} when minimal"),
        None => writeln!(text, ", {} unknown", plural(unknown, "transition")),
    };
    let _ = writeln!(text, "  alphabet  {}", quoted_list(automaton.alphabet().names()));
    let _ = writeln!(text, "  classes   {}", quoted_list(named.classes()));
    if states <= MAX_TABLE_STATES {
        text.push_str(&table(&named));
    }
    let value = json!({
        "kind": "automaton",
        "path": name,
        "states": states,
        "minimal_states": minimal,
        "unknown_transitions": unknown,
        "acceptor": is_acceptor(&named),
        "alphabet": automaton.alphabet().names(),
        "classes": named.classes(),
    });
    Ok(Description { text, value })
}
