//! `merge`.

use super::program::srnn;
use serde_json::json;
use std::fs;
use std::path::Path;

/// Words over a and b by the parity of a, as CSV. The labels of the words with these numbers are wrong.
fn write_parity(path: &Path, wrong: &[u32]) {
    let mut text = String::from("label,sequence\n");
    for number in 1..600u32 {
        let bits = number.ilog2();
        let letters = (0..bits).map(|bit| if number >> bit & 1 == 1 { "a" } else { "b" });
        let odd = (number.count_ones() - 1) % 2 == 1;
        let label = if odd == wrong.contains(&number) { "even" } else { "odd" };
        text.push_str(&format!("{label},{}\n", letters.collect::<Vec<_>>().join(" ")));
    }
    fs::write(path, text).unwrap();
}

#[test]
fn a_grammar_is_merged_and_its_files_are_read_by_other_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let all = ["merge", "tomita:5", "--out", "five", "--json"];
    let value = srnn(folder.path(), &all).yes().json();
    assert_eq!((&value["states"], &value["errors"]), (&json!(4), &json!(0)), "{value}");
    assert_eq!(value["unseen"], json!([]));
    let ending = value["words_ending"].as_array().unwrap().iter();
    let ending: u64 = ending.map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(ending, value["labels"]);
    for file in ["automaton.json", "automaton.dot", "automaton.svg"] {
        assert!(folder.path().join("five").join(file).is_file(), "{file}");
    }
    srnn(folder.path(), &["compare", "five/automaton.json", "tomita:5"]).yes();
    let again = srnn(folder.path(), &["merge", "tomita:5", "--out", "five"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    srnn(folder.path(), &["merge", "tomita:1", "--out", "five", "--force"]).yes();
    srnn(folder.path(), &["compare", "five/automaton.json", "tomita:1"]).yes();
}

#[test]
fn wrong_labels_are_contradicted_unless_they_are_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let wrong: Vec<u32> = (1..20).map(|i| 31 * i).collect();
    write_parity(&folder.path().join("words.csv"), &wrong);
    let all = ["merge", "words.csv", "--split", "0.8/0.1/0.1"];
    let ran = srnn(folder.path(), &all).yes();
    assert!(ran.stdout.starts_with("merged: 2 states over 2 symbols, "), "{}", ran.stdout);
    for part in ["train:", "valid:", "test:", "description length:", "\u{2192}"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let value = srnn(folder.path(), &[&all[..], &["--json"]].concat()).yes().json();
    let sets = ["train", "valid", "test"].map(|set| &value["fit"][set]);
    let missed = sets.map(|s| s["sequences"].as_u64().unwrap() - s["right"].as_u64().unwrap());
    assert_eq!(missed.iter().sum::<u64>(), wrong.len() as u64);
    let trusted = srnn(folder.path(), &[&all[..], &["--json", "--trust-labels"]].concat()).yes();
    let trusted = trusted.json();
    assert_eq!(trusted["errors"], json!(0));
    assert!(trusted["states"].as_u64() > value["states"].as_u64());
}

#[test]
fn transitions_that_no_sequence_shows_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("label,sequence\n");
    for length in 0..60 {
        let word = vec!["a"; length].join(" ");
        text.push_str(&format!("{},b {word}\n", if length % 2 == 0 { "even" } else { "odd" }));
    }
    fs::write(folder.path().join("words.csv"), text).unwrap();
    let ran = srnn(folder.path(), &["merge", "words.csv"]).yes();
    assert!(ran.stdout.contains("so the target is a guess: state "), "{}", ran.stdout);
}

#[test]
fn labels_without_a_pattern_are_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("label,sequence\n");
    for number in 1..120u32 {
        let letters = (0..number.ilog2()).map(|bit| if number >> bit & 1 == 1 { "a" } else { "b" });
        let label = number.wrapping_mul(2_654_435_761) >> 31;
        text.push_str(&format!("{label},{}\n", letters.collect::<Vec<_>>().join(" ")));
    }
    fs::write(folder.path().join("words.csv"), text).unwrap();
    let ran = srnn(folder.path(), &["merge", "words.csv", "--steps", "5000000"]).no();
    assert!(ran.stdout.contains("this is no finding"), "{}", ran.stdout);
}

#[test]
fn bad_input_is_an_error_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("one.csv"), "label,sequence\nyes,a b\n").unwrap();
    for (source, said) in
        [("no-such.csv", "no such file"), ("one.csv", "one.csv"), ("tomita:9", "tomita")]
    {
        let ran = srnn(folder.path(), &["merge", source]);
        assert_eq!(ran.code, 2, "{source}: {}", ran.stdout);
        assert!(ran.stderr.contains(said), "{source}: {}", ran.stderr);
    }
}
