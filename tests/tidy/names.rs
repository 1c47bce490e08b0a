//! Each type name has one meaning in the workspace.

use super::source::SourceFile;
use super::{check, planted};
use std::collections::BTreeMap;

/// Names that `srnn-check` defines as well, with the same meaning: it shares no code with what it
/// checks, so it has its own types for what it reads.
const CHECKER: &str = "crates/srnn-check/";

#[test]
fn every_type_name_has_one_meaning() {
    check(repeated_types);
}

#[test]
fn a_planted_second_meaning_is_found() {
    let files = [
        ("crates/srnn/src/a.rs", "pub struct Place;\n"),
        ("crates/engine/src/b.rs", "    enum Place<'a> { A }\n"),
        ("crates/srnn-check/src/c.rs", "pub struct Place;\n"),
    ];
    planted(repeated_types, &files, "Place");
}

fn repeated_types(files: &[SourceFile]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let ours = |file: &&SourceFile| file.path.starts_with("crates/") && file.is_rust();
    for file in files.iter().filter(ours) {
        if file.is_test() || file.path.starts_with(CHECKER) {
            continue;
        }
        for name in defined_types(&file.code()) {
            places.entry(name).or_default().push(&file.path);
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    repeated.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

/// Names of structs, enums, traits, unions and type aliases; associated types are none.
fn defined_types(code: &str) -> Vec<String> {
    let keywords = ["struct ", "enum ", "trait ", "union ", "type "];
    let mut names = vec![];
    for line in code.lines() {
        let item = without_visibility(line.trim_start());
        let Some(keyword) = keywords.iter().find(|keyword| item.starts_with(**keyword)) else {
            continue;
        };
        let nested = line.starts_with(' ');
        let rest = &item[keyword.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        let is_type = name.starts_with(|c: char| c.is_ascii_uppercase());
        if is_type && !(nested && *keyword == "type ") {
            names.push(name.to_string());
        }
    }
    names
}

fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or(item, |(_, rest)| rest.trim_start()),
        None => rest.trim_start(),
    }
}
