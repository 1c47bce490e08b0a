//! A run folder belongs to one process, is replaced as a whole, and holds files of its own only.
#![cfg(unix)]

mod common;

use common::{Ended, TestFolder, read};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TINY: [&str; 9] = ["tomita:1", "--units", "8", "--k", "4", "--updates", "50", "--seeds", "1"];

fn learn_into(place: &TestFolder, out: &str, more: &[&str]) -> Command {
    let mut command =
        place.command(&[&["learn", "--json", "--out", out], &TINY[..], more].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn learned(place: &TestFolder, out: &str, more: &[&str]) -> Ended {
    Ended::of(learn_into(place, out, more).output().unwrap())
}

/// Ends a process that waits forever, and fails.
fn ended_in_time(mut child: Child) -> Ended {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("still running after a minute");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ended::of(child.wait_with_output().unwrap())
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn entries(folder: impl AsRef<Path>) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// The process id of a process that has ended.
fn ended_process() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn of_two_processes_that_replace_a_run_one_wins_and_the_folder_is_of_one_run() {
    let place = TestFolder::new();
    learned(&place, "run", &[]).good();
    let mut refused = 0;
    // Pairs start between 0 and 7 ms apart: about 1 in 8 was mixed before the lock was held.
    for round in 0..24u64 {
        let seeds = ["11", "22"];
        let start = |seed: &&str| {
            let child = learn_into(&place, "run", &["--force", "--seed", seed]).spawn().unwrap();
            std::thread::sleep(Duration::from_micros(300 * round));
            child
        };
        let children = seeds.each_ref().map(start);
        let ended = children.map(|child| Ended::of(child.wait_with_output().unwrap()));
        let good = ended.iter().filter(|ended| ended.code == Some(0)).count();
        assert!(good > 0, "{}\n{}", ended[0].stderr, ended[1].stderr);
        for ended in ended.iter().filter(|ended| ended.code != Some(0)) {
            refused += 1;
            assert_eq!(ended.code, Some(2));
            assert!(
                ended.stderr.contains("another process is working on this run"),
                "{}",
                ended.stderr
            );
        }
        let config: toml::Table = read(place.path("run/config.toml")).parse().unwrap();
        let result: Value = serde_json::from_str(&read(place.path("run/result.json"))).unwrap();
        let model: Value =
            serde_json::from_str(&read(place.path("run/model/config.json"))).unwrap();
        let seed = &result["seeds"][0];
        assert_eq!(config["seed"].as_integer(), seed["seed"].as_i64(), "round {round}");
        assert_eq!(model["digest"], seed["digest"], "round {round}");
        let kept = ended.iter().filter(|ended| ended.code == Some(0));
        assert!(kept.map(Ended::json).any(|json| json["seeds"][0]["digest"] == seed["digest"]));
        assert_eq!(entries(place.path(".")), ["run"], "round {round}");
    }
    assert!(refused > 0, "no two processes ever met");
}

#[test]
fn temporary_files_of_a_killed_process_are_removed_and_never_block() {
    let place = TestFolder::new();
    learned(&place, "run", &[]).good();
    let dead = ended_process();
    let inside = [
        format!("run/.config.toml.{dead}.0.tmp"),
        format!("run/model/.config.json.{dead}.1.tmp"),
        format!("run/automaton/.automaton.json.{dead}.2.tmp"),
    ];
    inside.iter().for_each(|name| drop(place.write(name, "half")));
    let beside = place.path(&format!(".run.{dead}.0.new"));
    fs::create_dir(&beside).unwrap();
    place.write(&format!(".run.{dead}.0.new/.lock"), "");
    place.write(&format!(".run.{dead}.0.new/config.toml"), "half");
    assert_eq!(place.run(&["resume", "run"]).code, Some(0));
    assert_eq!(inside.iter().filter(|name| place.path(name).exists()).count(), 0);
    place.write(&inside[0], "half");
    learned(&place, "run", &["--force"]).good();
    assert_eq!(entries(place.path(".")), ["run"]);
    assert!(!place.path(&inside[0]).exists());
}

#[test]
fn a_folder_that_is_no_run_is_not_replaced() {
    let place = TestFolder::new();
    fs::create_dir_all(place.path("mine/model")).unwrap();
    place.write("mine/model/notes.txt", "kept");
    fs::create_dir(place.path("other")).unwrap();
    symlink("other", place.path("link")).unwrap();
    place.write("file", "kept");
    for (out, why) in
        [("mine", "config.toml is missing"), ("link", "a symbolic link"), ("file", "not a folder")]
    {
        let ended = learned(&place, out, &["--force"]);
        assert_eq!(ended.code, Some(2), "{out}");
        assert!(ended.stderr.contains(why), "{out}: {}", ended.stderr);
    }
    assert_eq!(read(place.path("mine/model/notes.txt")), "kept");
    assert_eq!(read(place.path("file")), "kept");
    assert!(place.path("link").is_symlink());
    assert_eq!(entries(place.path("other")).len(), 0);
}

/// Puts something at a path; the second path is outside of the run folder.
type Plant = fn(&Path, &Path);

/// What is put at a path in a run folder that others can write.
fn hostile_entries(outside: &Path) -> Vec<(&'static str, PathBuf, Plant)> {
    let link = |path: &Path, target: &Path| symlink(target, path).unwrap();
    let pipe = |path: &Path, _: &Path| make_pipe(path);
    let file = outside.join("precious");
    vec![
        ("metrics.jsonl", file.clone(), link),
        ("metrics.jsonl", file.clone(), pipe),
        (".lock", outside.join("made"), link),
        (".lock", file.clone(), pipe),
        ("config.toml", file.clone(), pipe),
        ("data.json", file.clone(), pipe),
        ("result.json", file.clone(), pipe),
        ("model", outside.to_path_buf(), link),
        ("automaton", outside.to_path_buf(), link),
        ("checkpoints", outside.to_path_buf(), link),
        ("certificate.json", file, link),
    ]
}

#[test]
fn resume_follows_no_links_and_waits_for_no_pipes() {
    let place = TestFolder::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("precious"), "kept, without a line end").unwrap();
    learned(&place, "whole", &[]).good();
    fs::remove_file(place.path("whole/result.json")).unwrap();
    for (name, target, make) in hostile_entries(outside.path()) {
        let _ = fs::remove_dir_all(place.path("run"));
        copy_folder(&place.path("whole"), &place.path("run"));
        let path = place.path("run").join(name);
        match path.is_dir() {
            true => fs::remove_dir_all(&path).unwrap(),
            false => drop(fs::remove_file(&path)),
        }
        make(&path, &target);
        let mut command = place.command(&["resume", "run"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let ended = ended_in_time(child);
        assert_eq!(ended.code, Some(2), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(name), "{name}: {}", ended.stderr);
        assert_eq!(entries(outside.path()), ["precious"], "{name}");
        assert_eq!(read(outside.path().join("precious")), "kept, without a line end", "{name}");
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy_folder(&path, &to),
            false => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}

#[test]
fn a_refused_replacement_leaves_the_old_run_as_it_was() {
    let place = TestFolder::new();
    learned(&place, "run", &[]).good();
    place.write("run/notes.txt", "mine");
    let before = read(place.path("run/result.json"));
    let ended = learned(&place, "run", &["--force"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("notes.txt"), "{}", ended.stderr);
    assert_eq!(read(place.path("run/result.json")), before);
    let names = fs::read_dir(place.path(".")).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(names.collect::<Vec<_>>(), [OsStr::new("run")]);
}
