//! `unsafe` stands in the engines `cpu` and `cuda` only. One file more exports names to the script of a
//! page, which needs an attribute of that name, and has no `unsafe` code.

use super::source::SourceFile;
use super::{check, planted};

const ALLOWED: [&str; 2] = ["crates/engine/src/cpu/", "crates/engine/src/cuda/"];

#[test]
fn unsafe_code_stands_in_two_engines_only() {
    check(unsafe_elsewhere);
}

#[test]
fn planted_unsafe_code_is_found() {
    let code = "fn f() {\n    unsafe { g() }\n}\n";
    planted(unsafe_elsewhere, &[("crates/srnn/src/a.rs", code)], "a.rs:2");
    let allow = "#![allow(unsafe_code)]\n";
    planted(unsafe_elsewhere, &[("crates/engine/src/lib.rs", allow)], "lib.rs:1");
}

/// Where names are exported, and the lines that this needs.
const EXPORTS: &str = "crates/page/src/exports.rs";
const EXPORT_LINES: [&str; 2] = ["#[unsafe(no_mangle)]", "#![allow(unsafe_code)]"];

#[test]
fn exports_have_no_unsafe_code() {
    let code = "#![allow(unsafe_code)]\n#[unsafe(no_mangle)]\nfn f() { unsafe { g() } }\n";
    planted(unsafe_elsewhere, &[(EXPORTS, code)], "exports.rs:3");
    let exported = [SourceFile { path: EXPORTS.into(), text: code.replace("unsafe { g() }", "") }];
    assert_eq!(unsafe_elsewhere(&exported), Vec::<String>::new());
}

fn unsafe_elsewhere(files: &[SourceFile]) -> Vec<String> {
    let elsewhere = |file: &&SourceFile| {
        file.is_rust()
            && !file.path.starts_with("tests/tidy/")
            && !ALLOWED.iter().any(|folder| file.path.starts_with(folder))
    };
    let mut problems = vec![];
    for file in files.iter().filter(elsewhere) {
        for (number, line) in file.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if file.path == EXPORTS && EXPORT_LINES.contains(&code.trim()) {
                continue;
            }
            let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            if words.any(|word| word == "unsafe") || code.contains("allow(unsafe_code") {
                problems.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    problems
}
