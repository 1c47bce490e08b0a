//! `compile`.

use super::program::{srnn, srnn_reading};
use serde_json::json;
use std::fs;

#[test]
fn a_compiled_automaton_is_a_model_with_a_certificate_that_the_checker_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let all = ["compile", "tomita:3", "--out", "three", "--json"];
    let value = srnn(folder.path(), &all).yes().json();
    for key in ["certified", "f64", "f32"] {
        assert_eq!(value[key], json!(true), "{value}");
    }
    assert_eq!((&value["states"], &value["units"]), (&json!(5), &json!(12)));
    srnn(folder.path(), &["check", "three"]).yes();
    srnn(folder.path(), &["compare", "three", "tomita:3"]).yes();
    let spec = ["certify", "three", "--spec", "tomita:3", "--out", "again.json"];
    srnn(folder.path(), &spec).yes();
    let predicted = srnn(folder.path(), &["predict", "three", "101", "--json"]).yes().stdout;
    assert!(predicted.contains("reject"), "{predicted}");
}

#[test]
fn an_automaton_with_several_classes_is_minimised_and_compiled() {
    let folder = tempfile::tempdir().unwrap();
    // The length modulo 3, twice over, and a state that nothing leads to.
    let dot = "digraph {\n__start0 [label=\"\" shape=none];\n\
        a [label=\"a|zero\"]; b [label=\"b|one\"]; c [label=\"c|two\"];\n\
        d [label=\"d|zero\"]; e [label=\"e|one\"]; f [label=\"f|two\"]; g [label=\"g|two\"];\n\
        a -> b [label=\"x\"]; b -> c [label=\"x\"]; c -> d [label=\"x\"];\n\
        d -> e [label=\"x\"]; e -> f [label=\"x\"]; f -> a [label=\"x\"]; g -> a [label=\"x\"];\n\
        __start0 -> a;\n}\n";
    let all = ["compile", "-", "--from", "dot", "--out", "modulo", "--json"];
    let ran = srnn_reading(folder.path(), &all, dot.as_bytes()).yes().json();
    assert_eq!(ran["states"], json!(3), "{ran}");
    assert_eq!(ran["states_left_out"], json!(4));
    assert_eq!(ran["classes"], json!(["zero", "one", "two"]));
    srnn(folder.path(), &["check", "modulo"]).yes();
}

#[test]
fn an_existing_folder_is_kept_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    srnn(folder.path(), &["compile", "tomita:1", "--out", "model"]).yes();
    let before = fs::read(folder.path().join("model/config.json")).unwrap();
    let ran = srnn(folder.path(), &["compile", "tomita:2", "--out", "model"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(fs::read(folder.path().join("model/config.json")).unwrap(), before);
    srnn(folder.path(), &["compile", "tomita:2", "--out", "model", "--force"]).yes();
    srnn(folder.path(), &["check", "model"]).yes();
    srnn(folder.path(), &["compare", "model", "tomita:2"]).yes();
}

#[test]
fn a_run_of_learn_keeps_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = ["--units", "8", "--k", "4", "--updates", "20", "--seeds", "1", "--out", "run"];
    srnn(folder.path(), &[&["learn", "tomita:1"], &tiny[..]].concat()).yes();
    let before = fs::read(folder.path().join("run/model/config.json")).unwrap();
    for out in ["run", "run/model", "run/new"] {
        let ran = srnn(folder.path(), &["compile", "tomita:2", "--out", out, "--force"]);
        assert_eq!(ran.code, 2, "{out}: {}", ran.stdout);
        assert!(ran.stderr.contains("run of `learn`"), "{out}: {}", ran.stderr);
    }
    assert_eq!(fs::read(folder.path().join("run/model/config.json")).unwrap(), before);
}

#[test]
fn what_cannot_be_compiled_is_an_error_with_a_remedy_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dot = "digraph {\n__start0 [label=\"\" shape=none];\na [label=\"a|low\"]; b [label=\"b|high\"];\n\
        a -> b [label=\"x\"]; b -> a [label=\"y\"];\n__start0 -> a;\n}\n";
    fs::write(folder.path().join("partial.dot"), dot).unwrap();
    for (automaton, said) in [
        ("re:ε", "add a symbol"),
        ("partial.dot", "--missing CLASS"),
        ("re:a{1000}b{1000}c{200}", "split the automaton"),
        ("no-such-file", "no such file or run"),
    ] {
        let ran = srnn(folder.path(), &["compile", automaton, "--out", "model"]);
        assert_eq!(ran.code, 2, "{automaton}: {}", ran.stdout);
        assert!(ran.stderr.contains(said), "{automaton}: {}", ran.stderr);
        assert!(!folder.path().join("model").exists(), "{automaton}");
    }
    let all = ["compile", "partial.dot", "--missing", "low", "--out", "model"];
    srnn(folder.path(), &all).yes();
}
