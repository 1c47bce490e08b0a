//! Whatever is wrong with the input: exit code 2, a message that names the place and what to do,
//! and never a panic.

use super::program::{sr_gru, srnn};
use serde_json::json;
use std::fs;
use std::path::Path;

/// A file, a command on it, and what the message must hold.
struct Case {
    file: &'static str,
    bytes: Vec<u8>,
    command: &'static [&'static str],
    message: &'static [&'static str],
}

fn case(
    file: &'static str,
    bytes: impl AsRef<[u8]>,
    command: &'static [&'static str],
    message: &'static [&'static str],
) -> Case {
    Case { file, bytes: bytes.as_ref().to_vec(), command, message }
}

fn check(folder: &Path, name: &str, command: &[&str], message: &[&str]) {
    let ran = srnn(folder, command);
    assert_eq!(ran.code, 2, "{name}: {command:?}\n{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "", "{name}: {command:?}");
    assert!(!ran.stderr.contains("panicked"), "{name}: {}", ran.stderr);
    for part in message {
        assert!(ran.stderr.contains(part), "{name}: {part:?} is not in {}", ran.stderr);
    }
    let with_json: Vec<&str> = command.iter().copied().chain(["--json"]).collect();
    let value = srnn(folder, &with_json).json();
    assert_eq!(value["code"], json!(2), "{name}");
    assert!(value["error"].as_str().is_some_and(|error| !error.is_empty()), "{name}");
}

fn check_all(cases: Vec<Case>) {
    for Case { file, bytes, command, message } in cases {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(file), bytes).unwrap();
        check(folder.path(), file, command, message);
    }
}

fn automaton(replaced: &str, by: &str) -> String {
    let good = r#"{"format": "srnn-automaton", "version": 1, "alphabet": ["a", "b"],
"classes": ["reject", "accept"], "start": 0, "states": [
{"output": "accept", "next": [0, 1]}, {"output": "reject", "next": [1, null]}]}"#;
    assert!(good.contains(replaced), "{replaced}");
    good.replace(replaced, by)
}

#[test]
fn automata_in_json() {
    const INSPECT: &[&str] = &["inspect", "a.json"];
    check_all(vec![
        case("a.json", "", INSPECT, &["a.json:1:0", "EOF", "try:"]),
        case("a.json", "{\n\"format\":", INSPECT, &["a.json:2:"]),
        case("a.json", "[1, 2]", INSPECT, &["a.json:1:"]),
        case("a.json", automaton("srnn-automaton", "hoa"), INSPECT, &["format", "hoa"]),
        case("a.json", automaton("\"version\": 1", "\"version\": 9"), INSPECT, &["version 9"]),
        case("a.json", automaton("[1, null]", "[1]"), INSPECT, &["states[1].next", "2 symbols"]),
        case("a.json", automaton("[1, null]", "[7, 1]"), INSPECT, &["states[1].next[0]", "7"]),
        case("a.json", automaton("\"start\": 0", "\"start\": 2"), INSPECT, &["start"]),
        case("a.json", automaton("[\"a\", \"b\"]", "[\"a\", \"a\"]"), INSPECT, &["share the name"]),
        case(
            "a.json",
            automaton("\"reject\", \"next\"", "\"no\", \"next\""),
            INSPECT,
            &["states[1].output"],
        ),
        case("a.json", automaton("null", "-1"), INSPECT, &["a.json:3:"]),
        case("a.json", b"\xff\xfe\x00garbage", INSPECT, &["a.json: byte 0", "UTF-8"]),
        case("a.json", "[".repeat(100_000), INSPECT, &["a.json:1:"]),
        case(
            "a.json",
            automaton("null", "1"),
            &["compare", "a.json", "tomita:1"],
            &["different symbols", "\"a\"", "\"0\"", "try:"],
        ),
        case(
            "a.json",
            automaton("[1, null]", "[1, null]"),
            &["compare", "a.json", "re:a*"],
            &["state 1 with symbol \"b\"", "--missing"],
        ),
        case("a.json", automaton("null", "1"), &["convert", "a.json", "a.xyz"], &["a.xyz", "--to"]),
        case(
            "a.json",
            automaton("null", "1"),
            &["convert", "a.json", "a.att", "--accept", "maybe"],
            &["\"maybe\"", "one of"],
        ),
        case(
            "a.json",
            r#"{"format": "srnn-automaton", "version": 1, "alphabet": [], "classes": ["accept"], "start": 0, "states": [{"output": "accept", "next": []}]}"#,
            &["convert", "a.json", "a.att"],
            &["without symbols", "--to json"],
        ),
        case(
            "a.json",
            automaton("null", "1").replace("reject", "low").replace("accept", "high"),
            &["convert", "a.json", "a.att"],
            &["\"low\", \"high\"", "only acceptors", "--accept"],
        ),
    ]);
}

#[test]
fn automata_in_other_notations() {
    const DOT: &[&str] = &["inspect", "a.dot"];
    const ATT: &[&str] = &["inspect", "a.att"];
    check_all(vec![
        case(
            "a.dot",
            "digraph g {\ns0 [label=\"s0\"];\ns0 -> s0 [label=\"a\";\n}\n",
            DOT,
            &["a.dot:4", "try:"],
        ),
        case(
            "a.dot",
            "digraph g {\ns0;\n__start0 -> s0;\ns0 -> s0;\n}\n",
            DOT,
            &["a.dot:4", "no label", "try:"],
        ),
        case(
            "a.dot",
            "digraph g {\ns0 -> s1 [label=\"a/x\"];\ns0 -> s1 [label=\"a/y\"];\n__start0 -> s0;\n}\n",
            DOT,
            &["a.dot:3", "second output", "try:"],
        ),
        case(
            "a.dot",
            "digraph g {\ns0 -> s0 [label=\"a\"];\n}\n",
            DOT,
            &["nothing marks the start"],
        ),
        case(
            "a.dot",
            "digraph g {\n__start0 -> s0;\ns0 -> s0 [label=\"a\"];\ns0 -> s1 [label=\"a\"];\n}\n",
            DOT,
            &["a.dot:4", "second transition"],
        ),
        case("a.dot", "digraph g {", DOT, &["a.dot:1"]),
        case("a.att", "0 1 a a\n1 0 <eps> <eps>\n1\n", ATT, &["a.att:2", "epsilons"]),
        case("a.att", "0 1 a b\n1\n", ATT, &["a.att:1", "acceptor"]),
        case("a.att", "0 1 a a 0.5 7 8\n", ATT, &["a.att:1", "fields"]),
        case("a.att", "", ATT, &["a.att:1", "no state"]),
        case(
            "a.re",
            "(10",
            &["compare", "a.re", "tomita:1"],
            &["column 1", "not closed", "add `)`"],
        ),
        case("a.re", "10)", &["compare", "tomita:1", "a.re"], &["column 3", "has no opening `("]),
        case(
            "a.re",
            "(2)*",
            &["compare", "a.re", "tomita:1"],
            &["column 2", "not in the alphabet", "0 1"],
        ),
        case("a.re", "(".repeat(1000), &["convert", "a.re", "a.dot"], &["nested groups"]),
        case("a.svg", "<svg/>", &["convert", "a.svg", "a.json"], &["a.svg", "--from"]),
        case(
            "a.svg",
            "<svg/>",
            &["convert", "a.svg", "a.json", "--from", "svg"],
            &["cannot be read as an automaton"],
        ),
        case(
            "garbage",
            [0x80, 0, 1, 2, 255],
            &["compare", "garbage", "tomita:1"],
            &["garbage: byte 0", "UTF-8"],
        ),
        case("notes", "dear diary", &["inspect", "notes"], &["notes", "srnn convert FILE"]),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            &["data", "make", "tomita:1", "--out", "a.csv"],
            &["a.csv", "--force"],
        ),
        case("a.re", "1*", &["convert", "a.re", "a.re"], &["a.re", "--force"]),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            &["inspect", "a.csv"],
            &["a.csv", "looks like a data file", "srnn data check a.csv"],
        ),
    ]);
}

#[test]
fn invalid_names_and_numbers() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for (command, message) in [
        (&["inspect", "nowhere"][..], &["nowhere", "check the path"][..]),
        (&["inspect", "empty"], &["no known file", "name a run"]),
        (&["predict", "nowhere", "01"], &["no such run"]),
        (&["predict", "empty", "01"], &["neither a run nor a model"]),
        (&["extract", "empty"], &["neither a run nor a model"]),
        (&["compare", "empty", "tomita:1"], &["no automaton", "srnn extract"]),
        (&["compare", "tomita:0", "tomita:1"], &["no such grammar", "tomita:7"]),
        (&["compare", "tomita:x", "tomita:1"], &["no such grammar"]),
        (&["compare", "tomtia:1", "tomita:1"], &["no such file or run", "did you mean tomita:1?"]),
        (&["compare", "(10)*", "tomita:1"], &["no such file or run", "re:(10)*"]),
        (&["compare", "re:a", "re:b", "--alphabet", ""], &["--alphabet"]),
        (&["data", "check", "nowhere.csv"], &["nowhere.csv", "check the path"]),
        (&["data", "check", "empty"], &["folder"]),
        (&["data", "make", "mnist", "--out", "x"], &["no built-in task", "bp:small:A"]),
        (
            &["data", "make", "bp:small:A", "--test", "palindrome:l100", "--out", "x"],
            &["is no test set of \"bp:small:A\""],
        ),
        (&["data", "make", "tomita:1", "--out", "x.yaml"], &["x.yaml", ".jsonl"]),
        (&["data", "check", "-"], &["stdin", "--format"]),
        (&["data", "make", "tomita:1", "--out", "x", "--format", "events"], &["event log", "CSV"]),
    ] {
        check(folder.path(), &format!("{command:?}"), command, message);
    }
}

#[test]
fn data_files() {
    const CHECK: &[&str] = &["data", "check", "a.csv"];
    check_all(vec![
        case("a.csv", "", CHECK, &["a.csv", "no sequences"]),
        case("a.csv", "label,sequence\nx,\"ab\n", CHECK, &["a.csv:2", "never closed"]),
        case("a.csv", "label,sequence\nx,ab,c\n", CHECK, &["a.csv:2", "3 fields", "--delimiter"]),
        case("a.csv", "u,v\n1,2\n", CHECK, &["a.csv:1", "--sequence-column"]),
        case("a.csv", b"label,sequence\nx,\xff\xfe\n", CHECK, &["a.csv:2", "UTF-8"]),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            &["data", "check", "a.csv", "--tokens", "letters"],
            &["letters", "--tokens characters"],
        ),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            &["data", "check", "a.csv", "--tokens", "separator:"],
            &["separator", "--tokens characters"],
        ),
        case(
            "a.csv",
            "x,ab\ny,ba\n",
            &["data", "check", "a.csv", "--header", "absent", "--label-column", "x"],
            &["a.csv:1", "by number"],
        ),
        case(
            "a.csv",
            "label,sequence\nx,ab\n",
            &["data", "check", "a.csv", "--delimiter", ";;"],
            &["--delimiter"],
        ),
        case(
            "a.csv",
            "label,sequence\nx,abcde\n",
            &["data", "check", "a.csv", "--max-tokens", "3"],
            &["a.csv:2", "--max-tokens"],
        ),
        case("a.bin", "x", &["data", "check", "a.bin"], &["a.bin", "--format"]),
        case("a.csv.gz", [0x1f, 0x8b, 1, 2, 3], &["data", "check", "a.csv.gz"], &["damaged"]),
    ]);
}

/// A damage to a model's folder, and what the message must hold.
type Damage = (&'static str, fn(&Path), &'static [&'static str]);

fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn edit_config(folder: &Path, replaced: &str, by: &str) {
    let path = folder.join("config.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(replaced), "{replaced} is not in {text}");
    fs::write(path, text.replacen(replaced, by, 1)).unwrap();
}

const DAMAGES: &[Damage] = &[
    (
        "no weights",
        |m| fs::remove_file(m.join("model.safetensors")).unwrap(),
        &["model.safetensors", "no such file"],
    ),
    (
        "empty weights",
        |m| edit(&m.join("model.safetensors"), Vec::clear),
        &["model.safetensors", "again"],
    ),
    (
        "truncated weights",
        |m| edit(&m.join("model.safetensors"), |b| b.truncate(b.len() - 5)),
        &["model.safetensors", "again"],
    ),
    (
        "truncated header",
        |m| edit(&m.join("model.safetensors"), |b| b.truncate(30)),
        &["model.safetensors", "again"],
    ),
    (
        "a flipped byte in the header",
        |m| edit(&m.join("model.safetensors"), |b| b[9] ^= 0x55),
        &["model.safetensors"],
    ),
    (
        "an enormous header",
        |m| edit(&m.join("model.safetensors"), |b| b[..8].copy_from_slice(&u64::MAX.to_le_bytes())),
        &["header", "limit"],
    ),
    (
        "a flipped weight",
        |m| edit(&m.join("model.safetensors"), |b| *b.last_mut().unwrap() ^= 1),
        &["digest"],
    ),
    (
        "NaN",
        |m| {
            edit(&m.join("model.safetensors"), |b| {
                let n = b.len();
                b[n - 4..].copy_from_slice(&f32::NAN.to_le_bytes())
            })
        },
        &["NaN", "finite"],
    ),
    (
        "garbage weights",
        |m| fs::write(m.join("model.safetensors"), [7; 900]).unwrap(),
        &["model.safetensors"],
    ),
    (
        "empty config",
        |m| edit(&m.join("config.json"), Vec::clear),
        &["config.json", "docs/src/model-format.md"],
    ),
    (
        "truncated config",
        |m| edit(&m.join("config.json"), |b| b.truncate(b.len() / 2)),
        &["config.json", "line"],
    ),
    (
        "another shape",
        |m| edit_config(m, "\"units\": 4", "\"units\": 5"),
        &["shape", "different models"],
    ),
    ("another format", |m| edit_config(m, "srnn-model", "onnx"), &["onnx"]),
    ("a later version", |m| edit_config(m, "\"version\": 1", "\"version\": 2"), &["version 2"]),
    (
        "a temperature of zero",
        |m| edit_config(m, "\"tau\": 1.0", "\"tau\": 0.0"),
        &["temperature 0"],
    ),
    (
        "too many units",
        |m| edit_config(m, "\"units\": 4", "\"units\": 4000000000"),
        &["units", "limit"],
    ),
    (
        "an empty alphabet",
        |m| edit_config(m, "\"symbols\": 2", "\"symbols\": 0"),
        &["the alphabet is 0"],
    ),
    (
        "another class",
        |m| edit_config(m, "\"no\"", "\"maybe\""),
        &["config.json", "changed after it was written", "config_digest"],
    ),
    ("a symbol twice", |m| edit_config(m, "\"1\"", "\"0\""), &["occurs twice"]),
    ("a class too few", |m| edit_config(m, "\"no\",", ""), &["the classes", "1 names for 2"]),
    (
        "an unknown out of range",
        |m| edit_config(m, "\"unknown\": null", "\"unknown\": 9"),
        &["unknown symbol is 9"],
    ),
    (
        "a field too many",
        |m| edit_config(m, "\"version\"", "\"extra\": 1, \"version\""),
        &["extra"],
    ),
];

#[test]
fn damaged_models() {
    for (name, damage, message) in DAMAGES {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m");
        sr_gru(&["0", "1"], &["no", "yes"]).save(&model).unwrap();
        damage(&model);
        for command in [&["predict", "m", "01"][..], &["extract", "m"], &["inspect", "m"]] {
            check(folder.path(), name, command, message);
        }
    }
}

#[test]
fn questions_that_a_model_cannot_answer() {
    let folder = tempfile::tempdir().unwrap();
    sr_gru(&["0", "1"], &["no", "yes"]).save(&folder.path().join("m")).unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file("other.csv", "label,sequence\nno,01\nmaybe,10\n");
    file("bare.csv", "sequence\n01\n");
    file("none.txt", "");
    file("m/data.json", "{");
    for (command, message) in [
        (&["predict", "m"][..], &["no sequence"][..]),
        (
            &["predict", "m", "--file", "other.csv"],
            &["other.csv:3", "\"maybe\"", "\"no\", \"yes\""],
        ),
        (&["predict", "m", "--file", "bare.csv", "--fail-under", "0.5"], &["no labels"]),
        (&["predict", "m", "--file", "bare.csv", "--fail-under", "50"], &["--fail-under 50"]),
        (&["predict", "m", "--file", "none.txt", "--lines"], &["no sequence"]),
        (&["predict", "m", "--file", "nowhere.csv"], &["nowhere.csv", "check the path"]),
        (&["predict", "m", "01", "--tokens", "separator:"], &["separator is empty"]),
        (&["predict", "bare.csv", "01"], &["this is a file"]),
        (&["extract", "m", "--tau", "0"], &["temperature 0"]),
        (&["extract", "m", "--tau", "NaN"], &["temperature NaN"]),
        (&["extract", "m", "--tolerance", "-1"], &["--tolerance"]),
        (&["extract", "m", "--words", "0"], &["--words 0", "1000 or more"]),
        (&["extract", "m", "--data", "none.txt"], &["no sequences"]),
        (&["extract", "m", "--out", "bare.csv"], &["bare.csv", "cannot be written"]),
    ] {
        check(folder.path(), &format!("{command:?}"), command, message);
    }
}

#[test]
fn usage_errors_are_errors_too() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["compare", "tomita:1"][..],
        &["convert", "tomita:1"],
        &["frobnicate"],
        &["predict", "m", "a", "--file", "b"],
        &["data", "check", "a.csv", "--format", "xml"],
    ] {
        let ran = srnn(folder.path(), command);
        assert_eq!(ran.code, 2, "{command:?}");
        assert!(ran.stderr.contains("--help") || ran.stderr.contains("tip"), "{}", ran.stderr);
        let with_json: Vec<&str> = command.iter().copied().chain(["--json"]).collect();
        assert_eq!(srnn(folder.path(), &with_json).json()["code"], json!(2), "{command:?}");
    }
}

#[test]
fn help_lists_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    for verb in [
        "",
        "learn",
        "resume",
        "predict",
        "extract",
        "certify",
        "check",
        "compare",
        "conform",
        "data check",
    ] {
        for flag in ["-h", "--help"] {
            let arguments: Vec<&str> = verb.split_whitespace().chain([flag]).collect();
            let text = srnn(folder.path(), &arguments).yes().stdout;
            let codes = text.lines().find(|line| line.starts_with("Exit codes: 0 "));
            assert!(codes.is_some_and(|codes| codes.contains("1 ")), "{verb} {flag}: {text}");
        }
    }
}

#[test]
fn every_help_opens_with_two_examples() {
    let folder = tempfile::tempdir().unwrap();
    for verb in [
        "learn",
        "resume",
        "predict",
        "explain",
        "extract",
        "certify",
        "check",
        "compare",
        "conform",
        "convert",
        "data",
        "data make",
        "data check",
        "inspect",
        "reproduce",
        "table",
        "bench",
        "completions",
        "manpages",
    ] {
        let arguments: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let text = srnn(folder.path(), &arguments).yes().stdout;
        let lines: Vec<&str> = text.lines().take(3).collect();
        assert_eq!(lines[0], "Examples:", "{text}");
        let begins = format!("  srnn {}", verb.split(' ').next().unwrap());
        assert!(lines[1..].iter().all(|line| line.starts_with(&begins)), "{text}");
    }
}
