//! Files are written by one rule: new names freely, existing files only where the verb owns them or
//! with --force, and never anything that is no regular file.
#![cfg(unix)]

mod common;

use common::{TestFolder, read};
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::process::Command;

/// A place with a run, `run`, that has a proof.
fn with_run() -> TestFolder {
    let place = TestFolder::new();
    place.learn(&["tomita:1", "--out", "run"]).good();
    place
}

/// Every verb that writes a file or a folder of its own choice, with the file that it writes. The
/// path stands for `{}`.
const WRITERS: [(&str, &[&str], &str); 7] = [
    ("certify", &["certify", "run", "--out", "{}"], ""),
    ("convert", &["convert", "tomita:1", "{}", "--to", "json"], ""),
    ("data make", &["data", "make", "tomita:1", "--out", "{}", "--format", "csv"], "/train.csv"),
    ("extract", &["extract", "run", "--out", "{}"], "/automaton.json"),
    ("compile", &["compile", "tomita:1", "--out", "{}"], "/config.json"),
    ("explain", &["explain", "run", "11", "--out", "{}"], "/trajectory.json"),
    (
        "predict",
        &["predict", "run/automaton/automaton.json", "--automaton", "11", "--out", "{}"],
        "",
    ),
];

const TINY_EXPERIMENT: &str = r#"
item = "tiny"
title = "Tiny"
about = "A test"
seeds = 1
[[data]]
name = "T1"
spec = "tomita:1"
seed = 1
[[models]]
name = "gru"
arch = "gru"
units = 4
[[settings]]
name = "fast"
updates = 5
train = { validate_every = 5 }
[[tests]]
name = "short"
spec = "tomita:l5-6"
strings = 40
"#;

fn arguments(template: &[&'static str], path: &str) -> Vec<String> {
    template.iter().map(|part| part.replace("{}", path)).collect()
}

fn run(place: &TestFolder, arguments: &[String], more: &[&str]) -> common::Ended {
    let all: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    place.run(&all)
}

#[test]
fn an_existing_file_is_replaced_only_with_force() {
    let place = with_run();
    for (number, (verb, template, file)) in WRITERS.into_iter().enumerate() {
        let target = format!("target-{number}");
        let written = place.path(&format!("{target}{file}"));
        fs::create_dir_all(written.parent().unwrap()).unwrap();
        fs::write(&written, "notes").unwrap();
        let arguments = arguments(template, &target);
        let refused = run(&place, &arguments, &[]);
        assert_eq!(refused.code, Some(2), "{verb}: {}", refused.stderr);
        assert!(refused.stderr.contains("--force"), "{verb}: {}", refused.stderr);
        assert_eq!(read(&written), "notes", "{verb}");
        let replaced = run(&place, &arguments, &["--force"]);
        assert_eq!(replaced.code, Some(0), "{verb}: {}", replaced.stderr);
        assert_ne!(read(&written), "notes", "{verb}");
    }
}

#[test]
fn links_and_pipes_are_never_replaced_or_followed() {
    let place = with_run();
    place.write("precious", "kept");
    for (number, (verb, template, file)) in WRITERS.into_iter().enumerate() {
        for kind in ["link", "pipe"] {
            let target = format!("{kind}-{number}");
            let written = place.path(&format!("{target}{file}"));
            fs::create_dir_all(written.parent().unwrap()).unwrap();
            match kind {
                "link" => symlink(place.path("precious"), &written).unwrap(),
                _ => assert!(Command::new("mkfifo").arg(&written).status().unwrap().success()),
            }
            for more in [&[][..], &["--force"]] {
                let ended = run(&place, &arguments(template, &target), more);
                assert_eq!(ended.code, Some(2), "{verb} {kind} {more:?}: {}", ended.stderr);
            }
            let about = written.symlink_metadata().unwrap().file_type();
            assert!(about.is_symlink() || about.is_fifo(), "{verb} {kind}");
            assert_eq!(read(place.path("precious")), "kept", "{verb} {kind}");
        }
    }
}

#[test]
fn certify_writes_its_own_file_again_but_no_other_file_of_the_model() {
    let place = with_run();
    assert_eq!(place.run(&["certify", "run"]).code, Some(0));
    let before = read(place.path("run/model/config.json"));
    let refused = place.run(&["certify", "run", "--out", "run/model/config.json"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_eq!(read(place.path("run/model/config.json")), before);
    fs::remove_file(place.path("run/certificate.json")).unwrap();
    symlink("result.json", place.path("run/certificate.json")).unwrap();
    let before = read(place.path("run/result.json"));
    assert_eq!(place.run(&["certify", "run"]).code, Some(2));
    assert_eq!(read(place.path("run/result.json")), before);
}

#[test]
fn certify_and_extract_do_not_write_into_a_run_in_progress() {
    let place = with_run();
    let lock = fs::File::options().append(true).create(true).open(place.path("run/.lock")).unwrap();
    lock.lock().unwrap();
    let before = read(place.path("run/certificate.json"));
    for verb in ["certify", "extract"] {
        let ended = place.run(&[verb, "run"]);
        assert_eq!(ended.code, Some(2), "{verb}: {}", ended.stderr);
        assert!(ended.stderr.contains("another process"), "{verb}: {}", ended.stderr);
    }
    assert_eq!(read(place.path("run/certificate.json")), before);
    drop(lock);
    // Another test that starts a program at this moment keeps a copy of the lock for an instant.
    let freed = (0..100).any(|_| place.run(&["certify", "run"]).code == Some(0));
    assert!(freed, "the lock is still held");
}

#[test]
fn a_temporary_file_of_the_same_process_number_does_not_block() {
    let place = TestFolder::new();
    // A killed process in another container may have had any number: all of them are taken.
    let script = "mkdir -p out; for call in 0 1 2; do echo half > \"out/.a.json.$$.$call.tmp\"; done; \
                  exec \"$0\" convert tomita:1 out/a.json";
    let mut shell = Command::new("bash");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_srnn")]).current_dir(place.path("."));
    let ended = common::Ended::of(shell.output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let names = fs::read_dir(place.path("out")).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["a.json"]);
}

#[test]
fn an_experiment_does_not_replace_files_that_it_did_not_make() {
    let place = TestFolder::new();
    fs::create_dir(place.path("out")).unwrap();
    place.write("out/curves.csv", "mine");
    place.write("tiny.toml", TINY_EXPERIMENT);
    let reproduce = ["reproduce", "--file", "tiny.toml", "--out", "out"];
    let ended = place.run(&reproduce);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("curves.csv"), "{}", ended.stderr);
    assert_eq!(read(place.path("out/curves.csv")), "mine");
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 1);
    fs::remove_file(place.path("out/curves.csv")).unwrap();
    assert_eq!(place.run(&reproduce).code, Some(0));
    assert_eq!(place.run(&reproduce).code, Some(0), "its own files are written again");
}
