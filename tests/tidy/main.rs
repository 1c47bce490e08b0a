//! Checks that the source tree is what ARCHITECTURE.md and STYLE.md state.
//!
//! Every rule is a function from files to problems. It is applied to the repository, and to a few
//! files with a planted violation, so that a rule that finds nothing is noticed.

mod documents;
mod layers;
mod names;
mod sizes;
mod source;
mod unsafe_code;

use source::{SourceFile, repository};

/// Applies a rule to the repository.
fn check(rule: fn(&[SourceFile]) -> Vec<String>) {
    let problems = rule(&repository());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Applies a rule to planted files, and expects one problem that contains `part`.
fn planted(rule: fn(&[SourceFile]) -> Vec<String>, files: &[(&str, &str)], part: &str) {
    let files: Vec<SourceFile> = files
        .iter()
        .map(|&(path, text)| SourceFile { path: path.into(), text: text.into() })
        .collect();
    let problems = rule(&files);
    assert!(problems.len() == 1 && problems[0].contains(part), "{part:?} in {problems:?}");
}
