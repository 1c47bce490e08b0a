//! Reading values of JSON files. What is missing is empty, so that files of earlier versions are shown
//! as far as they go.

use crate::format::{grouped, percent};
use serde_json::Value;

/// A text; empty if there is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// A count; 0 if there is none.
pub(super) fn count(value: &Value) -> usize {
    value.as_u64().unwrap_or(0) as usize
}

/// The items of a list; none if there is no list.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The texts of a list.
pub(super) fn texts(value: &Value) -> Vec<String> {
    items(value).iter().map(|item| text(item).to_string()).collect()
}

/// A count with grouped digits.
pub(super) fn grouped_count(value: &Value) -> String {
    grouped(value.as_u64().unwrap_or(0))
}

/// A fraction in percent, or a dash.
pub(super) fn percent_or_dash(value: &Value) -> String {
    value.as_f64().map_or("–".into(), percent)
}
