//! Tokens and labels are data: whatever they hold is escaped wherever they are shown.

use super::program::{sr_gru, srnn};
use serde_json::json;
use std::fs;
use std::path::Path;

const SYMBOLS: [&str; 4] = ["<script>alert(1)</script>", "\u{1b}[2J", "a\"b\\\n", "&lt;]]>"];
const CLASSES: [&str; 2] = ["no\u{7}", "<b>yes</b>\u{1b}[31m"];

fn hostile(folder: &Path) {
    sr_gru(&SYMBOLS, &CLASSES).save(&folder.join("m")).unwrap();
    let ran = srnn(folder, &["extract", "m", "--words", "500"]).yes();
    check_shown(&ran.stdout);
    check_shown(&ran.stderr);
}

fn check_shown(text: &str) {
    let raw = text.chars().find(|c| c.is_control() && !"\n\t".contains(*c));
    assert_eq!(raw, None, "{text:?}");
}

#[test]
fn pictures_and_graphs_hold_no_markup_from_names() {
    let folder = tempfile::tempdir().unwrap();
    hostile(folder.path());
    let svg = fs::read_to_string(folder.path().join("m/automaton/automaton.svg")).unwrap();
    assert!(!svg.contains("<script") && !svg.contains("<b>"), "{svg}");
    check_shown(&svg);
    let dot = fs::read_to_string(folder.path().join("m/automaton/automaton.dot")).unwrap();
    assert!(!dot.contains("<script>"), "{dot}");
    check_shown(&dot);
    let same = ["compare", "m/automaton/automaton.dot", "m/automaton/automaton.json"];
    srnn(folder.path(), &same).yes();
}

#[test]
fn control_characters_never_reach_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    hostile(folder.path());
    fs::write(
        folder.path().join("a.jsonl"),
        json!({ "sequence": [SYMBOLS[0], SYMBOLS[1], "\u{1b}]0;x\u{7}"], "label": CLASSES[1] })
            .to_string(),
    )
    .unwrap();
    let commands: [&[&str]; 7] = [
        &["inspect", "m"],
        &["inspect", "m/automaton"],
        &["predict", "m", "--file", "a.jsonl"],
        &["predict", "m", "\u{1b}[2J \u{7}"],
        &["data", "check", "a.jsonl"],
        &["convert", "m", "-", "--to", "table"],
        &["compare", "m", "re:<\u{1b}[2J>", "--accept", CLASSES[1]],
    ];
    for command in commands {
        let ran = srnn(folder.path(), command);
        assert!(ran.code < 2, "{command:?}: {}", ran.stderr);
        check_shown(&ran.stdout);
        check_shown(&ran.stderr);
    }
    for command in [&["inspect", "\u{1b}[2J"][..], &["compare", "m", "re:\u{1b}[2J("]] {
        let ran = srnn(folder.path(), command);
        assert_eq!(ran.code, 2, "{command:?}");
        check_shown(&ran.stderr);
    }
}

#[test]
fn names_come_back_from_json_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    hostile(folder.path());
    let value = srnn(folder.path(), &["inspect", "m", "--json"]).yes().json();
    assert_eq!(value["alphabet"], json!(SYMBOLS));
    assert_eq!(value["classes"], json!(CLASSES));
}
