//! `data make` and `data check`.

use super::program::{srnn, srnn_reading};
use serde_json::json;
use std::fs;

#[test]
fn a_made_set_can_be_read_and_trained_on_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let digests: Vec<String> = ["csv", "tsv", "jsonl", "txt", "dat"]
        .iter()
        .map(|extension| {
            let file = format!("set.{extension}");
            srnn(folder.path(), &["data", "make", "tomita:4", "--out", &file]).yes();
            let value = srnn(folder.path(), &["data", "check", &file, "--json"]).yes().json();
            assert_eq!(value["trainable"], json!(true));
            assert_eq!(value["alphabet"], json!(["0", "1"]));
            let classes = if *extension == "dat" { ["0", "1"] } else { ["accept", "reject"] };
            let names: Vec<&String> = value["per_class"].as_object().unwrap().keys().collect();
            assert_eq!(names, classes);
            value["digest"].as_str().unwrap().to_string()
        })
        .take(4) // Abbadingo's labels are 1 and 0.
        .collect();
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
}

#[test]
fn a_folder_gets_both_sets_and_the_seed_decides_them() {
    let folder = tempfile::tempdir().unwrap();
    let make = |out: &str, seed: &str| {
        let arguments = ["data", "make", "tomita:1", "--out", out, "--seed", seed, "--json"];
        srnn(folder.path(), &arguments).yes().json()["files"][0]["digest"].clone()
    };
    let first = make("a", "1");
    assert_eq!(first, make("b", "1"));
    assert_ne!(first, make("c", "2"));
    assert!(folder.path().join("a/train.csv").is_file());
    assert!(folder.path().join("a/valid.csv").is_file());
    let words =
        srnn(folder.path(), &["data", "make", "tomita:1", "--out", "-", "--format", "plain"]);
    assert!(
        words
            .yes()
            .stdout
            .lines()
            .all(|line| line.starts_with("accept") || line.starts_with("reject"))
    );
}

#[test]
fn a_test_set_is_made_with_the_depth_and_length_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["data", "make", "bp:small:B", "--test", "bp:d12:l150", "--strings", "40"];
    srnn(folder.path(), &[&arguments[..], &["--out", "bp"]].concat()).yes();
    let text = fs::read_to_string(folder.path().join("bp/test.csv")).unwrap();
    let accepted: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("accept,")).collect();
    assert_eq!((accepted.len(), text.lines().count()), (20, 41));
    for string in accepted {
        let mut open = 0i32;
        let deepest = string.chars().map(|c| {
            open += i32::from(c == '(') - i32::from(c == ')');
            open
        });
        assert_eq!(deepest.max(), Some(12), "{string}");
        assert!(string.len() <= 150);
    }
}

#[test]
fn problems_are_listed_with_their_lines_and_the_answer_is_no() {
    let folder = tempfile::tempdir().unwrap();
    let text = "label,sequence\nx,ab\ny,ab\nx,ba\n,bb\n";
    fs::write(folder.path().join("a.csv"), text).unwrap();
    let strict = ["data", "check", "a.csv", "--contradictions", "refuse", "--json"];
    let value = srnn(folder.path(), &strict).no().json();
    assert_eq!(value["sequences"], json!(3));
    assert_eq!(value["problems"][0]["kind"], json!("unlabelled"));
    assert_eq!(value["problems"][0]["lines"], json!([[5, 5]]));
    assert_eq!(value["problems"][1]["kind"], json!("contradictions"));
    assert_eq!(value["problems"][1]["lines"], json!([[2, 3]]));
    let text =
        srnn(folder.path(), &["data", "check", "a.csv", "--unlabelled", "skip"]).yes().stdout;
    assert!(text.contains("contradict  1; no model is right on more than 66.67 %"), "{text}");
    assert!(text.contains("unlabelled  1"), "{text}");
}

#[test]
fn one_class_is_nothing_to_learn() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "x ab\nx ba\n").unwrap();
    let text = srnn(folder.path(), &["data", "check", "a.txt"]).no().stdout;
    assert!(text.contains("nothing to classify"), "{text}");
}

#[test]
fn the_flags_of_the_reader_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), "p;a,b;1\nq;b,a;2\n").unwrap();
    let flags = [
        "data",
        "check",
        "a.csv",
        "--delimiter",
        ";",
        "--header",
        "absent",
        "--label-column",
        "1",
        "--sequence-column",
        "2",
        "--tokens",
        "separator:,",
        "--json",
    ];
    let value = srnn(folder.path(), &flags).yes().json();
    assert_eq!(value["per_class"], json!({ "p": 1, "q": 1 }));
    assert_eq!(value["tokens"], json!("separator:,"));
    let log = "id,what,when,how\n1,a,1,x\n2,b,1,y\n1,b,2,\n";
    fs::write(folder.path().join("log.csv"), log).unwrap();
    let flags = [
        "data",
        "check",
        "log.csv",
        "--format",
        "events",
        "--case-column",
        "id",
        "--activity-column",
        "what",
        "--time-column",
        "when",
        "--label-column",
        "how",
        "--json",
    ];
    assert_eq!(srnn(folder.path(), &flags).yes().json()["lengths"]["max"], json!(2));
}

#[test]
fn stdin_is_checked_where_its_format_is_given_and_listed_tokens_are_no_guess() {
    let folder = tempfile::tempdir().unwrap();
    let command = ["data", "check", "-", "--format", "abbadingo"];
    let text = srnn_reading(folder.path(), &command, b"2 2\n1 2 a b\n0 1 b\n").yes().stdout;
    assert!(text.contains("sequences   2") && !text.contains("guessed"), "{text}");
    let command = ["data", "check", "-", "--format", "plain"];
    let text = srnn_reading(folder.path(), &command, b"x ab\ny ba\n").yes().stdout;
    assert!(text.contains("guessed"), "{text}");
}

#[test]
fn data_with_one_symbol_need_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "x a\ny aa\n").unwrap();
    let text = srnn(folder.path(), &["data", "check", "a.txt"]).no().stdout;
    assert!(text.contains("only learn from the length") && text.contains("1 symbol:"), "{text}");
    srnn(folder.path(), &["data", "check", "a.txt", "--one-symbol"]).yes();
}
