//! `data make` and `data check`.

use super::program::srnn;
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
            value["digest"].as_str().unwrap().to_string()
        })
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
    assert_eq!(make("a", "1"), make("b", "1"));
    assert_ne!(make("a", "1"), make("c", "2"));
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
fn problems_are_listed_with_their_lines_and_the_answer_is_no() {
    let folder = tempfile::tempdir().unwrap();
    let text = "label,sequence\nx,ab\ny,ab\nx,ba\n,bb\n";
    fs::write(folder.path().join("a.csv"), text).unwrap();
    let value = srnn(folder.path(), &["data", "check", "a.csv", "--json"]).no().json();
    assert_eq!(value["sequences"], json!(3));
    assert_eq!(value["problems"][0]["kind"], json!("unlabelled"));
    assert_eq!(value["problems"][0]["lines"], json!([[5, 5]]));
    assert_eq!(value["problems"][1]["kind"], json!("contradictions"));
    assert_eq!(value["problems"][1]["lines"], json!([[2, 3]]));
    let flags = ["data", "check", "a.csv", "--contradictions", "keep", "--unlabelled", "skip"];
    let text = srnn(folder.path(), &flags).yes().stdout;
    assert!(text.contains("contradict  1") && text.contains("unlabelled  1"), "{text}");
}

#[test]
fn one_class_is_nothing_to_learn() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "x ab\nx ba\n").unwrap();
    let text = srnn(folder.path(), &["data", "check", "a.txt"]).no().stdout;
    assert!(text.contains("nothing to tell apart"), "{text}");
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
