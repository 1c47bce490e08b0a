//! Built-in tasks and languages by name.

use crate::failure::Failure;
use srnn::task::builtin::Task;
use srnn::task::tomita::Grammar;

/// The grammar that `tomita:3` names. `None` if `text` does not start with `tomita:`.
pub fn tomita(text: &str) -> Result<Option<Grammar>, Failure> {
    let Some(number) = text.strip_prefix("tomita:") else { return Ok(None) };
    let found = number.parse().ok().and_then(Grammar::numbered);
    found.map(Some).ok_or_else(|| {
        Failure::new(format!("{text:?}: there is no such grammar"), "tomita:1 to tomita:7")
    })
}

/// The built-in task whose name differs from `text` by a typing error before the first colon.
pub fn did_you_mean(text: &str) -> Option<Task> {
    let (typed, rest) = text.split_once(':')?;
    let distance = |family: &&str| strsim::levenshtein(family, typed);
    let family = Task::FAMILIES.into_iter().min_by_key(distance)?;
    // Two edits exchange two letters; most of a name must be right.
    let similar = distance(&family) <= 2.min(family.len() / 2);
    format!("{family}:{rest}").parse().ok().filter(|_| similar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_task_is_found_and_a_path_is_not() {
        for (text, task) in [
            ("tomtia:3", "tomita:3"),
            ("tomite:7", "tomita:7"),
            ("palindrom:A", "palindrome:A"),
            ("b:small:A", "bp:small:A"),
        ] {
            assert_eq!(did_you_mean(text).map(|task| task.to_string()).as_deref(), Some(task));
        }
        for text in ["tomtia:9", "tomtia", "data:3", "c:small:A", "words.csv", ""] {
            assert_eq!(did_you_mean(text), None, "{text}");
        }
    }
}
