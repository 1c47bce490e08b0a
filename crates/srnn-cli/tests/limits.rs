//! Whatever a command or a file asks for is refused before it takes the memory, and what is shown of
//! it is short, escaped and can be typed.
#![cfg(unix)]

mod common;

use common::{Ended, TestFolder, read};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Memory of every process of these tests, so that a missing check ends it. In kilobytes.
const MEMORY: u64 = 8 << 20;

/// Runs the program with limited memory; fails after five minutes.
fn run(place: &TestFolder, arguments: &[&str]) -> Ended {
    let script = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_srnn")]).args(arguments);
    command.current_dir(place.path(".")).stdin(Stdio::null());
    ended_in_time(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// The output of these commands fits into a pipe.
fn ended_in_time(mut child: Child) -> Ended {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(300) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("still running after five minutes");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ended::of(child.wait_with_output().unwrap())
}

fn refused(place: &TestFolder, arguments: &[&str], why: &str) -> Ended {
    let ended = run(place, arguments);
    assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
    assert!(ended.stderr.contains(why), "{arguments:?}: {}", ended.stderr);
    ended
}

fn with_run() -> TestFolder {
    let place = TestFolder::new();
    let tiny = ["--units", "8", "--k", "4", "--updates", "20", "--seeds", "1", "--out", "run"];
    assert_eq!(place.run(&[&["learn", "tomita:1"], &tiny[..]].concat()).code, Some(0));
    place
}

const EXPERIMENT: &str = r#"
item = "tiny"
title = "Tiny"
about = "A test"
seeds = 1
[[data]]
name = "T1"
spec = "tomita:1"
seed = 1
[[models]]
name = "sr-gru"
arch = "sr-gru"
units = 4
k = 2
[[settings]]
name = "fast"
updates = 5
train = { validate_every = 5 }
[[tests]]
name = "short"
spec = "tomita:l5-6"
strings = 40
"#;

const LARGEST: &str = "18446744073709551615";

#[test]
fn numbers_of_strings_and_words_are_checked_against_the_memory() {
    let place = with_run();
    let test_set = |task: &'static str, test: &'static str, strings: &'static str| {
        ["data", "make", task, "--test", test, "--strings", strings, "--out", "out"]
    };
    for arguments in [
        test_set("bp:small:A", "bp:d20:l1000", "1000000000000"),
        test_set("tomita:1", "tomita:l29-40", "1000000000000"),
        test_set("palindrome:A", "palindrome:l1000", "1000000000000"),
        test_set("tomita:4", "tomita:l60-62", LARGEST),
    ] {
        refused(&place, &arguments, "--memory-limit");
        assert!(!place.path("out").exists());
    }
    for arguments in [
        ["certify", "run", "--words", "100000000", "--longest", "1000000"],
        ["certify", "run", "--words", LARGEST, "--longest", "10"],
        ["certify", "run", "--words", "10", "--longest", LARGEST],
        ["extract", "run", "--words", LARGEST, "--method", "cover"],
    ] {
        refused(&place, &arguments, "--memory-limit");
    }
    let small = test_set("tomita:4", "tomita:l60-62", "1000");
    refused(&place, &[&small[..], &["--memory-limit", "100k"]].concat(), "0.1 MiB");
    assert_eq!(run(&place, &small).code, Some(0));
    // As many as there are.
    let all =
        ["data", "make", "tomita:4", "--test", "tomita:l5", "--strings", LARGEST, "--out", "all"];
    assert_eq!(run(&place, &all).code, Some(0));
}

/// Texts to replace in an experiment file, with what replaces them.
type Changes = &'static [(&'static str, &'static str)];

#[test]
fn sizes_in_experiment_files_are_checked_before_memory_is_taken() {
    let place = TestFolder::new();
    let largest = i64::MAX.to_string();
    let long_name = "n".repeat(70_000);
    let cases: [(Changes, Option<&str>); 10] = [
        (&[("tomita:1", "copy:T=100:4294967296"), ("tomita:l5-6", "copy")], Some("--memory-limit")),
        (
            &[("tomita:1", "copy:T=5:10"), ("tomita:l5-6", "copy"), ("= 40", "= 4294967296")],
            Some("--memory-limit"),
        ),
        (&[("tomita:l5-6", "tomita:l60-62"), ("= 40", "= 4294967296")], Some("--memory-limit")),
        (&[("every = 5", "every = 5, batch_size = 16777216")], Some("--memory-limit")),
        (
            &[
                ("updates = 5", ""),
                ("every = 5", "every = 5, schedule = { ramp = MAX, warmup = MAX, settle = MAX }"),
            ],
            Some("at most 2^40"),
        ),
        // Scaled to 5 updates.
        (
            &[("every = 5", "every = 5, schedule = { ramp = MAX, warmup = MAX, settle = MAX }")],
            None,
        ),
        (&[("units = 4", "units = MAX")], Some("more than 2147483648 parameters")),
        (&[("seeds = 1", "seeds = MAX")], Some("from 1 to 10000")),
        (&[("\"short\"", "\"LONG\"")], None),
        (&[("\"fast\"", "\"LONG\"")], Some("from 1 to 100")),
    ];
    for (changes, why) in cases {
        let text = changes.iter().fold(EXPERIMENT.to_string(), |text, (old, new)| {
            assert!(text.contains(old), "{old}");
            text.replacen(old, &new.replace("MAX", &largest).replace("LONG", &long_name), 1)
        });
        // A second column, so that the name above the first one is padded.
        let second = "[[tests]]\nname = \"second\"\nspec = \"tomita:l5\"\nstrings = 4\n";
        let second = if text.contains("copy:") { "" } else { second };
        place.write("own.toml", &format!("{text}{second}"));
        let arguments = ["reproduce", "--file", "own.toml", "--out", "out", "--threads", "1"];
        match why {
            Some(why) => {
                refused(&place, &arguments, why);
                assert!(!place.path("out").exists(), "{changes:?}");
            }
            None => {
                let mut command = place.command(&arguments);
                let ended = Ended::of(command.output().unwrap());
                assert_eq!(ended.code, Some(0), "{changes:?}: {}", ended.stderr);
                fs::remove_dir_all(place.path("out")).unwrap();
            }
        }
    }
}

#[test]
fn experiments_with_too_many_trials_are_refused() {
    let place = TestFolder::new();
    let setting = |i: usize| {
        format!("[[settings]]\nname = \"s{i}\"\nupdates = 5\ntrain = {{ validate_every = 5 }}\n")
    };
    let settings: String = (0..101).map(setting).collect();
    let text = EXPERIMENT.replacen("seeds = 1", "seeds = 10000", 1);
    place.write("own.toml", &format!("{text}{settings}"));
    refused(&place, &["reproduce", "--file", "own.toml"], "the number of trials");
}

#[test]
fn a_refused_reproduce_leaves_no_file() {
    let place = TestFolder::new();
    place.write("own.toml", EXPERIMENT);
    let reproduce = ["reproduce", "--file", "own.toml", "--out", "out"];
    refused(&place, &[&reproduce[..], &["--only", "nothing"]].concat(), "--only nothing");
    place.write(
        "images.toml",
        &EXPERIMENT.replace("tomita:1", "images:mnist").replace("tomita:l5-6", "images"),
    );
    refused(&place, &["reproduce", "--file", "images.toml", "--out", "out"], "--data DIR");
    assert!(!place.path("out").exists());
    assert_eq!(run(&place, &reproduce).code, Some(0));
}

/// A file of this size that takes no space.
fn sparse(path: &Path, bytes: u64) {
    File::create(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn files_of_settings_and_records_have_limits() {
    const HUGE: u64 = 20 << 30;
    let place = with_run();
    place.write("own.toml", EXPERIMENT);
    sparse(&place.path("huge"), HUGE);
    refused(&place, &["learn", "tomita:1", "--config", "huge"], "bytes");
    refused(&place, &["reproduce", "--file", "huge"], "bytes");
    let reproduce = ["reproduce", "--file", "own.toml", "--out", "out"];
    assert_eq!(run(&place, &reproduce).code, Some(0));
    for name in ["outcomes.jsonl", "experiment.toml"] {
        let path = place.path("out").join(name);
        let before = read(&path);
        sparse(&path, HUGE);
        refused(&place, &reproduce, name);
        refused(&place, &["table", "--file", "own.toml", "--from", "out"], name);
        fs::write(&path, before).unwrap();
    }
    fs::remove_file(place.path("run/result.json")).unwrap();
    for name in ["metrics.jsonl", "data.json", "config.toml", "result.json"] {
        let path = place.path("run").join(name);
        let before = fs::read(&path);
        sparse(&path, HUGE);
        refused(&place, &["resume", "run"], name);
        match before {
            Ok(bytes) => fs::write(&path, bytes).unwrap(),
            Err(_) => fs::remove_file(&path).unwrap(),
        }
    }
    assert_eq!(run(&place, &["resume", "run"]).code, Some(0));
}

#[test]
fn integers_beyond_64_bits_are_refused_instead_of_merged() {
    let place = TestFolder::new();
    let line =
        |token: &str, label: &str| format!("{{\"sequence\": [{token}, 1], \"label\": {label}}}\n");
    let good = line("1", "0") + &line("2", "1");
    place.write("label.jsonl", &format!("{good}{}", line("2", "18446744073709551617")));
    place.write("token.jsonl", &format!("{good}{}", line("-18446744073709551617", "1")));
    place.write("good.jsonl", &format!("{good}{}", line("18446744073709551615", "1")));
    for name in ["label.jsonl", "token.jsonl"] {
        let ended = refused(&place, &["data", "check", name], "put it in quotes");
        assert!(ended.stderr.contains(&format!("{name}:3")), "{}", ended.stderr);
    }
    assert_eq!(run(&place, &["data", "check", "good.jsonl"]).code, Some(0));
}

#[test]
fn settings_that_train_on_nothing_are_refused() {
    let place = TestFolder::new();
    let row = |i: usize| format!("{} {}\n", i % 7 % 2, "ab".repeat(i % 7 + 1));
    place.write("data.txt", &(0..60).map(row).collect::<String>());
    refused(&place, &["learn", "tomita:1", "--class-weights=0,0"], "class_weights");
    let many = ["learn", "data.txt", "--min-count", "100000"];
    refused(&place, &many, "lower --min-count");
    assert!(!place.path("runs").exists());
}

#[test]
fn errors_do_not_repeat_a_whole_file() {
    let place = TestFolder::new();
    let long = "x".repeat(120_000);
    for arguments in [
        &["learn", "tomita:1", "--tau", &long][..],
        &["learn", &long],
        &["data", "make", &long, "--out", "o"],
        &["compare", "tomita:1", &format!("re:{long}(")],
        &["extract", "run", "--words", &long],
    ] {
        for json in [&[][..], &["--json"]] {
            let ended = run(&place, &[arguments, json].concat());
            assert_eq!(ended.code, Some(2), "{}", &arguments[0]);
            assert!(ended.stderr.len() < 6_000, "{}: {} bytes", arguments[0], ended.stderr.len());
            assert!(ended.stdout.len() < 9_000, "{}: {} bytes", arguments[0], ended.stdout.len());
        }
    }
}

#[test]
fn marks_of_direction_and_line_separators_never_reach_a_terminal() {
    const MARKS: [char; 5] = ['\u{2028}', '\u{2029}', '\u{200f}', '\u{200e}', '\u{61c}'];
    let place = TestFolder::new();
    let name: String = MARKS.iter().chain(&['\u{1b}']).collect();
    let rows: String =
        (0..60).map(|i| format!("{}{name}\t{}\n", i % 2, "ab".repeat(i % 7 + 1))).collect();
    place.write("data.tsv", &format!("label\tsequence\n{rows}"));
    let given = format!("--words={name}");
    for arguments in
        [&["data", "check", "data.tsv"][..], &["inspect", &name], &["extract", "r", &given]]
    {
        let ended = run(&place, arguments);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(MARKS) && !text.contains('\u{1b}'), "{arguments:?}: {text:?}");
        }
    }
}

#[test]
fn commands_in_hints_can_be_typed() {
    let place = TestFolder::new();
    place.write("my program.sh", "exit 0\n");
    let ended = run(&place, &["conform", "re:(a' b)*", "--", "bash", "my program.sh", "it's"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("| bash 'my program.sh' 'it'\\''s'"), "{}", ended.stderr);
    fs::create_dir(place.path("my run")).unwrap();
    place.write("my run/config.toml", "");
    let ended = run(&place, &["learn", "tomita:1", "--out", "my run"]);
    assert!(ended.stderr.contains("`srnn resume 'my run'`"), "{}", ended.stderr);
}
