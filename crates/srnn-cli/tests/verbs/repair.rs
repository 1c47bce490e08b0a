//! `repair`.

use super::program::srnn;
use serde_json::{Value, json};
use std::fs;

/// The automaton of Tomita 5 with one wrong transition.
fn write_wrong(folder: &std::path::Path) {
    srnn(folder, &["convert", "tomita:5", "five.json"]).yes();
    let text = fs::read_to_string(folder.join("five.json")).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let target = &mut value["states"][1]["next"][0];
    *target = json!((target.as_u64().unwrap() + 1) % 4);
    fs::write(folder.join("wrong.json"), value.to_string()).unwrap();
}

#[test]
fn a_wrong_transition_is_named_and_the_repaired_automaton_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    write_wrong(folder.path());
    srnn(folder.path(), &["compare", "wrong.json", "tomita:5"]).no();
    let all = ["repair", "wrong.json", "tomita:5", "--out", "repaired"];
    let ran = srnn(folder.path(), &all).no();
    assert!(ran.stdout.starts_with("1 change: 0 of "), "{}", ran.stdout);
    for part in ["state 1 with 0 leads to ", "shortest difference: ", "valid: ", "wrote "] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    srnn(folder.path(), &["compare", "repaired/automaton.json", "tomita:5"]).yes();
    let again = srnn(folder.path(), &all);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    let noisy = ["repair", "wrong.json", "tomita:5", "--label-noise", "0.05", "--json"];
    let value = srnn(folder.path(), &noisy).no().json();
    assert_eq!(value["changes"].as_array().unwrap().len(), 1, "{value}");
    assert!(value["errors"].as_u64() < value["errors_before"].as_u64());
    srnn(folder.path(), &["compile", "repaired/automaton.json", "--out", "network"]).yes();
}

#[test]
fn a_right_automaton_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let ran = srnn(folder.path(), &["repair", "tomita:3", "tomita:3"]).yes();
    assert!(ran.stdout.starts_with("not changed: 0 of "), "{}", ran.stdout);
    let value = srnn(folder.path(), &["repair", "tomita:3", "tomita:3", "--json"]).yes().json();
    assert_eq!((&value["changes"], &value["difference"]), (&json!([]), &Value::Null));
}

#[test]
fn symbols_and_classes_that_the_automaton_lacks_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String =
        (0..30).map(|i| format!("{},{}\n", i % 2, "a b ".repeat(i % 7 + 1))).collect();
    fs::write(folder.path().join("letters.csv"), format!("label,sequence\n{rows}")).unwrap();
    let ran = srnn(folder.path(), &["repair", "tomita:3", "letters.csv"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("symbols that the automaton does not read: \"a\""),
        "{}",
        ran.stderr
    );
    let rows: String = (0..30)
        .map(|i| format!("{},{}\n", ["red", "blue"][i % 2], "0 1 ".repeat(i % 7 + 1)))
        .collect();
    fs::write(folder.path().join("colours.csv"), format!("label,sequence\n{rows}")).unwrap();
    let ran = srnn(folder.path(), &["repair", "tomita:3", "colours.csv"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the classes of the data are"), "{}", ran.stderr);
}
