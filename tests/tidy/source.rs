//! The files of the repository, and their code without comments and tests.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file; `path` is relative to the repository's root, with `/`.
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

/// Folders that hold no sources of ours.
const SKIPPED: [&str; 6] = ["target", ".git", "node_modules", "runs", "testdata", "book"];

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every source, manifest and document of the repository.
pub fn repository() -> Vec<SourceFile> {
    let mut files = vec![];
    collect(&root(), "", &mut files);
    assert!(files.len() > 300, "only {} files found: is this the repository?", files.len());
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<SourceFile>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("a folder").flatten().collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let name = entry.file_name().into_string().expect("a plain name");
        let path = format!("{prefix}{name}");
        if entry.path().is_dir() {
            if !SKIPPED.contains(&name.as_str()) && !name.starts_with('.') {
                collect(&entry.path(), &format!("{path}/"), files);
            }
        } else if [".rs", ".cu", ".cuh", ".toml", ".md"].iter().any(|end| name.ends_with(end)) {
            let text = fs::read_to_string(entry.path()).expect("a text file");
            files.push(SourceFile { path, text });
        }
    }
}

impl SourceFile {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is compiled for tests only.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let test_names = ["tests.rs", "testing.rs", "_tests.rs"];
        self.path.contains("/tests/")
            || self.path.starts_with("tests/")
            || test_names.iter().any(|end| name.ends_with(end))
    }

    /// The code before a closing module of tests. By convention it is the last item of a file.
    pub fn without_tests(&self) -> &str {
        let mut from = 0;
        while let Some(found) = self.text[from..].find("#[cfg(test)]\n") {
            let at = from + found;
            let item = self.text[at + "#[cfg(test)]\n".len()..].trim_start();
            if item.starts_with("mod ") && item.lines().next().is_some_and(|l| l.ends_with('{')) {
                return &self.text[..at];
            }
            from = at + 1;
        }
        &self.text
    }

    /// The same without comments.
    pub fn code(&self) -> String {
        let without_comment = |line: &str| line.split("//").next().unwrap_or("").to_string();
        let lines: Vec<String> = self.without_tests().lines().map(without_comment).collect();
        lines.join("\n")
    }
}
