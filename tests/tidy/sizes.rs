//! No file passes 400 lines without its tests.

use super::source::SourceFile;
use super::{check, planted};

const MOST_LINES: usize = 400;

#[test]
fn files_are_short_enough_to_hold_in_mind() {
    check(long_files);
}

#[test]
fn a_planted_long_file_is_found() {
    let long = "let x = 1;\n".repeat(MOST_LINES + 1);
    planted(long_files, &[("crates/srnn/src/long.rs", &long)], "401 lines");
    let with_tests = format!("{}#[cfg(test)]\nmod tests {{\n{long}}}\n", "\n".repeat(MOST_LINES));
    let fine = [SourceFile { path: "crates/srnn/src/fine.rs".into(), text: with_tests }];
    assert_eq!(long_files(&fine), Vec::<String>::new());
}

fn long_files(files: &[SourceFile]) -> Vec<String> {
    let is_code = |file: &&SourceFile| {
        [".rs", ".cu", ".cuh"].iter().any(|end| file.path.ends_with(end)) && !file.is_test()
    };
    let count = |file: &SourceFile| (file.without_tests().lines().count(), file.path.clone());
    let counted = files.iter().filter(is_code).map(count);
    let long = counted.filter(|(lines, _)| *lines > MOST_LINES);
    long.map(|(lines, path)| format!("{path}: {lines} lines")).collect()
}
