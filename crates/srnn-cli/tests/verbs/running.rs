//! `predict --automaton`.

use super::program::{run_folder, srnn, srnn_reading};
use serde_json::{Value, json};
use srnn::task::tomita::{Grammar, minimal_dfa};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const PREDICT: [&str; 2] = ["predict", "--automaton"];

fn with<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&PREDICT, arguments].concat()
}

fn place(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Words and what the third Tomita grammar says of them.
fn tomita_3(count: usize) -> (String, String) {
    let table = minimal_dfa(Grammar::T3);
    let (mut words, mut answers, mut bits) = (String::new(), String::new(), 1u64);
    for number in 0..count {
        let mut state = table.start;
        for _ in 0..number % 37 {
            bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let bit = (bits >> 63) as usize;
            state = table.next[state as usize][bit];
            words.push(if bit == 1 { '1' } else { '0' });
        }
        words.push('\n');
        answers += if table.accept[state as usize] { "accept\n" } else { "reject\n" };
    }
    (words, answers)
}

fn spawn(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_srnn"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn words_get_one_class_per_line_from_any_source_to_any_target() {
    // More than is read at a time.
    let (words, answers) = tomita_3(60_000);
    let folder = place(&[("words.txt", &words)]);
    let file = ["tomita:3", "--file", "words.txt", "--lines"];
    let ran = srnn(folder.path(), &with(&file)).yes();
    assert!(ran.stdout == answers, "answers of the file");
    assert!(ran.stderr.contains("60,000 words (1,139,"), "{}", ran.stderr);
    // Fewer answers than fill a pipe that nobody reads yet.
    let (few, few_answers) = tomita_3(5_000);
    let ran = srnn_reading(folder.path(), &with(&["tomita:3", "-q"]), few.as_bytes()).yes();
    assert!(ran.stdout == few_answers, "answers of stdin");
    assert_eq!(ran.stderr, "");
    let out = [&file[..], &["--out", "new/classes.txt", "--json"]].concat();
    let value = srnn(folder.path(), &with(&out)).yes().json();
    assert!(fs::read_to_string(folder.path().join("new/classes.txt")).unwrap() == answers);
    assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 1);
    let accepted = answers.lines().filter(|line| *line == "accept").count();
    assert_eq!(value["answers"], json!({ "accept": accepted, "reject": 60_000 - accepted }));
    assert_eq!(value["bytes"], json!(words.len()));
    let again = srnn(folder.path(), &with(&out));
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    srnn(folder.path(), &with(&[&out[..], &["--force"]].concat())).yes();
}

#[test]
fn an_automaton_classifies_as_its_run_does() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let words = ["", "0", "1", "01", "0110", "111010"];
    let labels = |value: Value, key: &str| -> Vec<Value> {
        value["predictions"].as_array().unwrap().iter().map(|one| one[key].clone()).collect()
    };
    let network: Vec<&str> = [&["predict", "run", "--json"], &words[..]].concat();
    let expected = labels(srnn(folder.path(), &network).yes().json(), "automaton_label");
    for source in ["run", "run/model", "run/automaton", "run/automaton/automaton.json"] {
        let asked = with(&[&[source, "--json"], &words[..]].concat());
        assert_eq!(labels(srnn(folder.path(), &asked).yes().json(), "label"), expected, "{source}");
    }
}

#[test]
fn lines_are_read_as_predict_reads_them() {
    let folder = place(&[]);
    for (text, answers) in [
        ("\u{feff}1 0\r\n\r\n10 10\r\n", "accept\naccept\naccept\n"),
        ("\n", "accept\n"),
        ("10\n1", "accept\nreject\n"),
        (" ", "accept\n"),
    ] {
        let ran = srnn_reading(folder.path(), &with(&["re:(10)*"]), text.as_bytes()).yes();
        assert_eq!(ran.stdout, answers, "{text:?}");
    }
    let ran = srnn_reading(folder.path(), &with(&["re:(10)*"]), b"");
    assert!(ran.code == 2 && ran.stderr.contains("no sequence"), "{}", ran.stderr);
}

#[test]
fn symbols_of_several_characters_are_read_from_lines_too() {
    let text = "\u{feff}open  close\r\n\nopen\nöffnen open\n";
    let folder = place(&[("words.txt", text)]);
    let expression = "re:(<open><close>|<öffnen><open>)*";
    let file = with(&[expression, "--file", "words.txt", "--lines"]);
    let ran = srnn(folder.path(), &file).yes();
    assert_eq!(ran.stdout, "accept\naccept\nreject\naccept\n");
    let comma = with(&[expression, "--tokens", "separator:,"]);
    let ran = srnn_reading(folder.path(), &comma, b"open,close\n\nopen\n").yes();
    assert_eq!(ran.stdout, "accept\naccept\nreject\n");
}

#[test]
fn an_unknown_symbol_is_reported_with_its_place_after_earlier_classes() {
    let folder = place(&[("words.txt", "10\n10x\n10\n"), ("t.txt", "a b\na bb b\n")]);
    let lines = ["--file", "words.txt", "--lines"];
    let ran = srnn(folder.path(), &with(&[&["re:(10)*"], &lines[..]].concat()));
    assert_eq!((ran.code, ran.stdout.as_str()), (2, "accept\n"));
    assert!(
        ran.stderr.contains("words.txt:2:3: 'x' is not a symbol of re:(10)*"),
        "{}",
        ran.stderr
    );
    let out = [&["re:(10)*"], &lines[..], &["--out", "classes.txt"]].concat();
    assert_eq!(srnn(folder.path(), &with(&out)).code, 2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left of --out");
    for (arguments, parts) in [
        (
            &["re:(a|b)*", "--tokens", "whitespace", "--file", "t.txt", "--lines"][..],
            "t.txt:2:3: \"bb\"",
        ),
        (&["re:(10)*", "10", "1x"], "argument 2: token 2: \"x\" is not a symbol"),
        (&["re:(10)*", "words.txt"], "--file words.txt reads that file"),
        (&["re:(10)*", "--file", "nowhere.txt", "--lines"], "nowhere.txt: no such file"),
        (&["nowhere", "10"], "nowhere: no such file or run"),
        (&["re:(10)*", "--fail-under", "1", "--file", "words.txt", "--lines"], "no labels"),
        (&["re:(10)*", "10", "--out", ".", "--force"], "this is not a file name"),
        (
            &["re:<10>*", "--max-line", "3", "--file", "words.txt", "--lines"],
            "words.txt:2: more than 3",
        ),
    ] {
        let ran = srnn(folder.path(), &with(arguments));
        assert!(ran.code == 2 && ran.stderr.contains(parts), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn labelled_tables_have_an_accuracy() {
    let table = "label,sequence\naccept,1010\nreject,01\naccept,1\n";
    let folder = place(&[("data.csv", table)]);
    let file = ["re:(10)*", "--file", "data.csv"];
    let ran = srnn(folder.path(), &with(&file)).yes();
    assert_eq!(ran.stdout, "accept\nreject\nreject\n");
    assert!(ran.stderr.contains("accuracy 66.67 %"), "{}", ran.stderr);
    let value = srnn(folder.path(), &with(&[&file[..], &["--json"]].concat())).yes().json();
    assert_eq!(value["confusion"]["counts"], json!([[1, 0], [1, 1]]));
    srnn(folder.path(), &with(&[&file[..], &["--fail-under", "0.7"]].concat())).no();
    srnn(folder.path(), &with(&[&file[..], &["--fail-under", "0.6"]].concat())).yes();
}

#[test]
fn unknown_transitions_give_no_class() {
    let automaton = r#"{"format":"srnn-automaton","version":1,"alphabet":["a","b"],
        "classes":["no","yes"],"start":0,"states":[{"output":"yes","next":[1,null]},
        {"output":"no","next":[0,1]}]}"#;
    let folder = place(&[("partial.json", automaton)]);
    let asked = with(&["partial.json"]);
    let ran = srnn_reading(folder.path(), &asked, b"aa\nb\nab\nba\n").yes();
    assert_eq!(ran.stdout, "yes\n?\nno\n?\n");
    assert!(ran.stderr.contains("\"no\" 1, \"yes\" 1, unknown 2"), "{}", ran.stderr);
    // Where no word gets a class, the answer is no, for lines and for arguments.
    assert_eq!(srnn_reading(folder.path(), &asked, b"b\nba\n").no().stdout, "?\n?\n");
    assert_eq!(srnn(folder.path(), &with(&["partial.json", "b"])).no().stdout, "?\n");
}

#[test]
fn a_class_is_written_before_the_next_word_is_read() {
    let folder = place(&[]);
    for expression in ["re:(10)*", "re:(<1><0>|<é>)*"] {
        let mut child = spawn(folder.path(), &with(&[expression]));
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        for (word, answer) in [("10\n", "accept\n"), ("1\n", "reject\n"), ("\n", "accept\n")] {
            stdin.write_all(word.as_bytes()).unwrap();
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            assert_eq!(line, answer);
        }
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = place(&[("words.txt", &"10\n".repeat(1 << 20))]);
    let file = with(&["re:(10)*", "--file", "words.txt", "--lines"]);
    let mut child = spawn(folder.path(), &file);
    let mut first = [0; 7];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"accept\n");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_and_leaves_nothing_even_where_no_word_comes() {
    let folder = place(&[]);
    let mut child = spawn(folder.path(), &with(&["re:(10)*", "--out", "classes.txt"]));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"10\n").unwrap();
    let begun = || fs::read_dir(folder.path()).unwrap().count() == 1;
    while !begun() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The handler is set right after the file is made.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    drop(stdin);
}
