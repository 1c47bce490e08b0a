//! Links in documents lead to files that are there.

use super::source::{SourceFile, root};
use super::{check, planted};
use std::path::Path;

#[test]
fn links_in_documents_exist() {
    check(broken_links);
}

#[test]
fn a_planted_broken_link_is_found() {
    let text = "See [this](docs/no-such-file.md#part), [that](https://example.org) and `[x](y)`.\n";
    planted(broken_links, &[("README.md", text)], "docs/no-such-file.md");
}

fn broken_links(files: &[SourceFile]) -> Vec<String> {
    let mut problems = vec![];
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let folder = root().join(Path::new(&file.path).parent().expect("a folder"));
        for (number, target) in links(&file.text) {
            let path = target.split('#').next().unwrap_or("");
            if !path.is_empty() && !folder.join(path).exists() {
                problems.push(format!("{}:{number}: {target} is not there", file.path));
            }
        }
    }
    problems
}

/// Targets of `[text](target)` outside of code, with their lines; addresses on the web are none.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = vec![];
    let mut in_block = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        // Every second part stands between back-ticks.
        for prose in line.split('`').step_by(2) {
            for part in prose.split("](").skip(1) {
                let target = part.split(')').next().unwrap_or("").trim();
                if !target.contains("://") && !target.starts_with("mailto:") {
                    found.push((number + 1, target.to_string()));
                }
            }
        }
    }
    found
}
