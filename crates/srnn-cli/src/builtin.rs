//! Built-in languages by name.

use crate::failure::Failure;
use srnn::task::tomita::Grammar;

/// The grammar that `tomita:3` names. `None` if `text` does not start with `tomita:`.
pub fn tomita(text: &str) -> Result<Option<Grammar>, Failure> {
    let Some(number) = text.strip_prefix("tomita:") else { return Ok(None) };
    let found = number.parse().ok().and_then(Grammar::numbered);
    found.map(Some).ok_or_else(|| {
        Failure::new(format!("{text:?}: there is no such grammar"), "tomita:1 to tomita:7")
    })
}
