//! `conform`, with small programs to ask.

use super::program::{ProgramOutput, run_folder, srnn};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Answers every line as it comes.
const AT_ONCE: &str = "import sys
for line in sys.stdin:
    w = line.rstrip('\\n')
    print(ANSWER, flush=True)";

/// Answers when there is nothing more to read.
const AT_THE_END: &str = "import sys
words = [line.rstrip('\\n') for line in sys.stdin]
for w in words:
    print(ANSWER)";

/// Asks a program written in Python.
fn ask(arguments: &[&str], program: &str) -> ProgramOutput {
    let folder = tempfile::tempdir().unwrap();
    ask_in(folder.path(), arguments, program)
}

fn ask_in(folder: &Path, arguments: &[&str], program: &str) -> ProgramOutput {
    let program = ["--", "python3", "-c", program];
    srnn(folder, &[&["conform"], arguments, &program].concat())
}

/// The message of a program that cannot be asked to the end.
fn trouble(arguments: &[&str], program: &str, message: &[&str]) {
    let ran = ask(arguments, program);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{program}\n{}", ran.stderr);
    for part in message.iter().chain(&["try:"]) {
        assert!(ran.stderr.contains(part), "{part:?} is not in {}", ran.stderr);
    }
    let value = ask(&[arguments, &["--json"]].concat(), program).json();
    assert_eq!(value["code"], json!(2));
}

#[test]
fn a_program_that_equals_the_automaton_passes_and_no_more_is_claimed() {
    for template in [AT_ONCE, AT_THE_END] {
        let program = template.replace("ANSWER", "'accept' if w == '10' * (len(w)//2) else 0");
        let text = ask(&["tomita:2"], &program).yes().stdout;
        let claim = "if the program is a deterministic machine with at most 4 states, it equals";
        assert!(text.starts_with("passed ") && text.contains(claim), "{text}");
    }
    let program = AT_ONCE.replace("ANSWER", "int('0' not in w)");
    let value = ask(&["tomita:1", "--extra", "2", "--json"], &program).yes().json();
    assert_eq!((&value["passed"], &value["equal_up_to_states"]), (&json!(true), &json!(4)));
    assert_eq!((&value["word"], &value["asked"]), (&json!(null), &value["words"]));
    let program = AT_THE_END.replace("ANSWER", "int(bool(re.fullmatch('0*1*0*1*', w)))");
    let words = |method: &str| {
        let arguments = ["tomita:7", "--method", method, "--json"];
        ask(&arguments, &format!("import re, {}", &program["import ".len()..])).yes().json()["words"].as_u64()
    };
    assert!(words("wp") < words("w"));
}

#[test]
fn a_wrong_program_gets_a_word_and_both_classes() {
    for template in [AT_ONCE, AT_THE_END] {
        let program = template.replace("ANSWER", "int('0' not in w and len(w) != 2)");
        let text = ask(&["tomita:1"], &program).no().stdout;
        assert!(text.contains("on \"11\"\n"), "{text}");
        assert!(text.contains("tomita:1 gives accept\n  the program gives reject"), "{text}");
        let value = ask(&["tomita:1", "--json"], &program).no().json();
        assert_eq!((&value["word"], &value["spelled"]), (&json!(["1", "1"]), &json!("11")));
        assert_eq!((&value["passed"], &value["equal_up_to_states"]), (&json!(false), &json!(null)));
        assert_eq!(
            (&value["automaton_says"], &value["program_says"]),
            (&json!("accept"), &json!("reject"))
        );
        assert_eq!(value["repeats"], json!(true));
    }
}

#[test]
fn a_shorter_word_is_shown_where_a_part_of_the_failing_one_fails_too() {
    // Right but for words with 0000, of which 10000 is the first that the suite asks.
    let right = "import re, sys
for line in sys.stdin:
    print(int(bool(re.fullmatch('0*1*0*1*', line.strip()))) ^ ('0000' in line), flush=True)";
    let value = ask(&["tomita:7", "--json"], right).no().json();
    assert_eq!((&value["spelled"], &value["program_says"]), (&json!("0000"), &json!("reject")));
    assert_eq!(value["found_by"], json!(["1", "0", "0", "0", "0"]));
    let text = ask(&["tomita:7"], right).no().stdout;
    assert!(text.ends_with("found with \"10000\"\n"), "{text}");
}

#[test]
fn a_program_beyond_the_bound_may_pass_and_more_extra_states_reveal_it() {
    // The automaton that accepts nothing, and a program that accepts one word of 4 symbols.
    let program = AT_ONCE.replace("ANSWER", "int(w == 'abba')");
    let nothing = ["re:∅", "--alphabet", "ab", "--extra"];
    ask(&[&nothing[..], &["3"]].concat(), &program).yes();
    let ran = ask(&[&nothing[..], &["4"]].concat(), &program).no();
    assert!(ran.stdout.contains("on \"abba\""), "{}", ran.stdout);
}

#[test]
fn words_of_long_symbols_have_blanks_between_them_or_what_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let program =
        AT_ONCE.replace("ANSWER", "int(w.split() == ['open', 'close'] * (len(w.split())//2))");
    ask_in(folder.path(), &["re:(<open><close>)*"], &program).yes();
    let program = AT_ONCE.replace("ANSWER", "int(w in ('', 'go on', 'go on,go on'))");
    let automaton = ["re:(<go on><go on>?)?", "--tokens", "separator:,"];
    ask_in(folder.path(), &automaton, &program).yes();
    trouble(&["re:<go on>"], &program, &["\"go on\"", "--tokens separator:,"]);
}

#[test]
fn several_classes_are_answered_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let moore = r#"{"format": "srnn-automaton", "version": 1, "alphabet": ["a", "b"],
        "classes": ["low", "high", "very high"], "start": 0, "states": [
        {"output": "low", "next": [1, 0]}, {"output": "high", "next": [2, 0]},
        {"output": "very high", "next": [2, 2]}]}"#;
    std::fs::write(folder.path().join("m.json"), moore).unwrap();
    let class = "'very high' if 'aa' in w else 'high' if w.endswith('a') else 'low'";
    ask_in(folder.path(), &["m.json"], &AT_ONCE.replace("ANSWER", class)).yes();
    let wrong = AT_ONCE.replace("ANSWER", &class.replace("'aa' in w", "w == 'aa'"));
    let value = ask_in(folder.path(), &["m.json", "--json"], &wrong).no().json();
    assert_eq!((&value["word"], &value["program_says"]), (&json!(["a", "a", "a"]), &json!("high")));
    let yes_or_no = AT_THE_END.replace("ANSWER", "'aa' in w");
    ask_in(folder.path(), &["m.json", "--accept", "very high"], &yes_or_no).yes();
    let ran = ask_in(folder.path(), &["m.json"], &yes_or_no);
    assert!(ran.code == 2 && ran.stderr.contains("\"very high\""), "{}", ran.stderr);
    assert!(ran.stderr.contains("try: --accept CLASS"), "{}", ran.stderr);
}

#[test]
fn a_run_folder_stands_for_its_automaton() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let program = AT_ONCE.replace("ANSWER", "7");
    let ran = ask_in(folder.path(), &["run"], &program);
    assert!(ran.code == 2 && ran.stderr.contains("\"7\""), "{}", ran.stderr);
}

#[test]
fn programs_that_break_the_protocol_are_errors_with_a_remedy() {
    let dies = "import sys\nsys.stdin.readline(); print(1, flush=True); sys.exit(3)";
    trouble(&["tomita:1"], dies, &["ended (exit status: 3)", "word 2 of", "by hand"]);
    trouble(&["tomita:1"], "pass", &["ended (exit status: 0)", "word 1 of"]);
    trouble(&["tomita:1"], "import os; os.kill(os.getpid(), 9)", &["signal: 9"]);
    trouble(
        &["tomita:1"],
        &AT_ONCE.replace("ANSWER", "'maybe'"),
        &["\"maybe\"", "1 for \"accept\""],
    );
    trouble(&["tomita:1"], "print('Welcome!')", &["\"Welcome!\"", "nothing else"]);
    trouble(&["tomita:1"], "import sys; sys.stdout.buffer.write(b'\\xff\\n')", &["nothing else"]);
    trouble(&["tomita:1"], "while True: print('x' * 9999, end='')", &["more than 65536 bytes"]);
    let chatty = AT_ONCE.replace("ANSWER", "int('0' not in w)") + "\nprint('bye')";
    trouble(&["tomita:1"], &chatty, &["one more line", "\"bye\""]);
    let deaf = "import os, time\nos.close(0); print(1, flush=True); time.sleep(60)";
    trouble(&["re:(01)*", "--extra", "12", "--timeout", "3"], deaf, &["closed its input"]);
}

#[test]
fn programs_that_hang_are_ended_in_time() {
    let begins = Instant::now();
    for hangs in [
        "import time\ntime.sleep(60)",
        "import sys, time\nfor line in sys.stdin: pass\ntime.sleep(60)",
        "import sys, time\nsys.stdin.readline(); print(1, flush=True); time.sleep(60)",
    ] {
        // More words than a pipe holds, so that a program that reads none stops the sender, too.
        for extra in ["1", "13"] {
            let words = ["tomita:1", "--timeout", "0.4", "--extra", extra];
            trouble(&words, hangs, &["for 0.4 s", "flush", "--timeout"]);
        }
    }
    assert!(begins.elapsed() < Duration::from_secs(120), "{:?}", begins.elapsed());
}

#[test]
fn a_program_that_does_not_end_after_its_answers_is_ended() {
    let program = AT_ONCE.replace("ANSWER", "int('0' not in w)") + "\nimport time\ntime.sleep(60)";
    let begins = Instant::now();
    ask(&["tomita:1"], &program).yes();
    assert!(begins.elapsed() < Duration::from_secs(50), "{:?}", begins.elapsed());
}

#[test]
fn many_words_pass_through_programs_that_buffer_as_they_like() {
    for template in [AT_ONCE, AT_THE_END] {
        let program = template.replace("ANSWER", "int('0' not in w)").replace(", flush=True", "");
        let value = ask(&["tomita:1", "--extra", "14", "--json"], &program).yes().json();
        assert!(value["words"].as_u64().unwrap() > 30_000, "{value}");
    }
}

#[test]
fn a_program_that_changes_its_answer_is_not_deterministic() {
    let folder = tempfile::tempdir().unwrap();
    let program = "import os, sys
first = not os.path.exists('seen'); open('seen', 'w').close()
for line in sys.stdin:
    print(int('0' not in line) if not first or line != '11\\n' else 0, flush=True)";
    let ran = ask_in(folder.path(), &["tomita:1"], program).no();
    assert!(ran.stdout.contains("not deterministic"), "{}", ran.stdout);
}

#[test]
fn unstartable_programs_and_too_large_suites_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "hello").unwrap();
    for (command, message) in [
        (&["tomita:1", "--", "no-such-program"][..], &["no such program", "./NAME"][..]),
        (&["tomita:1", "--", "./notes.txt"], &["not executable", "chmod +x"]),
        (
            &["tomita:1", "--extra", "40", "--", "cat"],
            &["2 states and 40 extra", "1,000,000 are allowed", "--extra"],
        ),
        (&["tomita:1", "--extra", "400", "--", "cat"], &["more than 10^19"]),
        (&["tomita:1", "--limit", "3", "--", "cat"], &["3 are allowed", "--limit"]),
        (&["tomita:1", "--timeout", "0", "--", "cat"], &["above 0"]),
        (&["tomita:1", "--timeout", "-1", "--", "cat"], &["above 0"]),
        (&["tomita:1", "--extra", "-1", "--", "cat"], &["not a whole number"]),
        (&["tomita:1"], &["PROGRAM"]),
        (&["nowhere", "--", "cat"], &["no such file or run"]),
        (&["tomita:1", "--tokens", "letters", "--", "cat"], &["--tokens"]),
    ] {
        let ran = srnn(folder.path(), &[&["conform"], command].concat());
        assert_eq!(ran.code, 2, "{command:?}: {}", ran.stderr);
        for part in message {
            assert!(ran.stderr.contains(part), "{command:?}: {part:?} is not in {}", ran.stderr);
        }
    }
}

/// Whether a process that sleeps so long is there.
#[cfg(target_os = "linux")]
fn sleeps(seconds: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let wanted = format!("sleep\0{seconds}\0");
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| String::from_utf8_lossy(&line) == wanted)
}

#[test]
#[cfg(target_os = "linux")]
fn no_program_outlives_an_interrupted_test() {
    let folder = tempfile::tempdir().unwrap();
    let mut asking = Command::new(env!("CARGO_BIN_EXE_srnn"))
        .args(["conform", "tomita:1", "--timeout", "60", "--", "sleep", "71.25"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let wait = |there: bool| {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            sleeps("71.25") == there
        })
    };
    assert!(wait(true));
    // The handler is set before the program starts.
    let pid = asking.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(asking.wait().unwrap().code(), Some(130));
    assert!(wait(false));
    let hangs = ["conform", "tomita:1", "--timeout", "0.2", "--", "sleep", "72.25"];
    assert_eq!(srnn(folder.path(), &hangs).code, 2);
    assert!(!sleeps("72.25"));
}

#[test]
fn the_examples_of_the_help_pass() {
    let folder = tempfile::tempdir().unwrap();
    let help = srnn(folder.path(), &["conform", "--help"]).yes().stdout;
    let examples: Vec<&str> = help.lines().skip(1).take(2).collect();
    for example in examples {
        let line = example.trim().replacen("srnn", env!("CARGO_BIN_EXE_srnn"), 1);
        let ran = Command::new("sh").args(["-c", &line]).output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{line}: {stderr}");
    }
}
