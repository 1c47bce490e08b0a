//! Interrupted runs are resumed to the same bits.

mod common;

use common::{Ended, TestFolder, digests, read, timeless};
use serde_json::Value;
use srnn::engine::key::Key;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Many small updates with many checkpoints, so that runs can be interrupted often.
fn config(sampling: &str) -> String {
    format!(
        "source = 'tomita:4'\nseeds = 2\n[network]\nunits = 8\nk = 4\nupdates = 900\n[train]\n\
         batch_size = 16\nsampling = '{sampling}'\nvalidate_every = 50\ntrain_sample = 64\n\
         checkpoint_every = 7\n"
    )
}

fn has_started(run: &Path) -> bool {
    run.join("config.toml").is_file()
}

fn checkpoints(run: &Path) -> usize {
    let seeds = std::fs::read_dir(run.join("checkpoints")).into_iter().flatten().flatten();
    seeds.map(|seed| std::fs::read_dir(seed.path()).map_or(0, |entries| entries.count())).sum()
}

/// Starts or resumes a run.
fn start_or_resume(place: &TestFolder, config: &str, out: &str) -> Command {
    let args = match has_started(&place.path(out)) {
        true => vec!["resume", out, "--json", "--quiet"],
        false => vec!["learn", "--config", config, "--out", out, "--json", "--quiet"],
    };
    let mut command = place.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for the first checkpoint of a run; fails after a minute.
fn await_checkpoint(run: &Path) {
    let begin = Instant::now();
    while checkpoints(run) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "no checkpoint in a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn ended_within(child: &mut Child, limit: Duration) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < limit {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Starts and kills processes until one finishes the run. Returns its result, the number of kills, and
/// how many of these were in the middle of training: with checkpoints and without a result.
fn kill_until_finished(
    place: &TestFolder,
    out: &str,
    delays: &mut impl FnMut() -> Duration,
) -> (Value, usize, usize) {
    let (mut kills, mut midway) = (0, 0);
    loop {
        let mut child = start_or_resume(place, "small.toml", out).spawn().unwrap();
        if ended_within(&mut child, delays()) {
            return (Ended::of(child.wait_with_output().unwrap()).good(), kills, midway);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let run = place.path(out);
        midway += usize::from(checkpoints(&run) > 0 && !run.join("result.json").exists());
    }
}

#[test]
fn a_run_killed_at_any_moment_is_resumed_to_the_same_bits() {
    const KILLS: usize = 20;
    let mut rng = Key::new(1).child("kill", 0).rng();
    let (mut kills, mut midway) = (0, 0);
    for sampling in ["draw", "epochs"] {
        let place = TestFolder::new();
        place.write("small.toml", &config(sampling));
        let begin = Instant::now();
        let whole =
            Ended::of(start_or_resume(&place, "small.toml", "whole").output().unwrap()).good();
        // A process is killed after at most a third of the duration, so every run is killed several times.
        let longest = (begin.elapsed().as_millis() as usize / 3).max(30);
        let (before, midway_before, mut number) = (kills, midway, 0);
        while kills - before < KILLS / 2 || midway - midway_before < KILLS / 4 {
            assert!(number < 50, "{kills} kills, {midway} of them midway, in {number} runs");
            number += 1;
            // Extraction is not resumed, so the last process must live long enough for it: delays
            // grow.
            let mut starts = 0;
            let mut delays = || {
                starts += 1;
                Duration::from_millis((10 + rng.below(longest) + 15 * starts) as u64)
            };
            let (result, killed, killed_midway) =
                kill_until_finished(&place, &format!("run-{number}"), &mut delays);
            assert_eq!(digests(&result), digests(&whole), "{sampling}, run {number}");
            assert_eq!(timeless(result), timeless(whole.clone()));
            let metrics = |run: &str| read(place.path(run).join("metrics.jsonl"));
            assert_eq!(metrics(&format!("run-{number}")), metrics("whole"));
            (kills, midway) = (kills + killed, midway + killed_midway);
        }
    }
    assert!(kills >= KILLS && midway >= KILLS / 2, "{kills} kills, {midway} of them midway");
}

#[test]
fn ctrl_c_writes_a_checkpoint_and_exits_with_130() {
    let place = TestFolder::new();
    let config = config("draw").replace("updates = 900", "updates = 3000");
    place.write("small.toml", &config.replace("checkpoint_every = 7", "checkpoint_every = 50"));
    let whole = Ended::of(start_or_resume(&place, "small.toml", "whole").output().unwrap()).good();
    let child = start_or_resume(&place, "small.toml", "run").spawn().unwrap();
    await_checkpoint(&place.path("run"));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("srnn resume run"), "{}", ended.stderr);
    assert_eq!(ended.json()["code"], 130);
    assert!(!place.path("run/result.json").exists());
    let result = place.run(&["resume", "run", "--json"]).good();
    assert_eq!(timeless(result), timeless(whole));
}

#[test]
fn ctrl_c_during_extraction_keeps_the_training() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let place = TestFolder::new();
    let whole = place.learn(&["tomita:4", "--out", "whole"]).good();
    let mut command =
        place.command(&[&["learn", "tomita:4", "--out", "run"], &common::SMALL[..]].concat());
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("selecting a network") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the process ended too early");
    }
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("training is saved") && rest.contains("srnn resume run"), "{rest}");
    let inspected = place.run(&["inspect", "run"]).stdout;
    assert!(inspected.contains("srnn resume run continues it"), "{inspected}");
    assert!(!inspected.contains("srnn certify"), "{inspected}");
    let result = place.run(&["resume", "run", "--json"]).good();
    assert_eq!(timeless(result), timeless(whole));
}

#[test]
fn a_finished_run_prints_its_result_again() {
    let place = TestFolder::new();
    let result = place.learn(&["tomita:1", "--out", "run"]).good();
    let text = place.run(&["resume", "run"]);
    assert_eq!(text.code, Some(0));
    assert!(text.stdout.contains("this run is finished"), "{}", text.stdout);
    assert_eq!(place.run(&["resume", "run", "--json"]).good(), result);
}

#[test]
fn a_missing_result_is_made_again_from_the_checkpoints() {
    let place = TestFolder::new();
    let result = place.learn(&["tomita:1", "--out", "run"]).good();
    for lost in ["result.json", "metrics.jsonl", "model/config.json", "automaton/automaton.json"] {
        std::fs::remove_file(place.path("run").join(lost)).unwrap();
    }
    let again = place.run(&["resume", "run", "--json"]).good();
    assert_eq!(timeless(again), timeless(result));
    assert!(place.path("run/automaton/automaton.json").is_file());
}

#[test]
fn a_run_is_not_resumed_with_other_data() {
    let place = TestFolder::new();
    let rows: String = (0..40).map(|i| format!("{} {}\n", i % 2, "ab".repeat(i + 1))).collect();
    place.write("data.txt", &rows);
    place.learn(&["data.txt", "--out", "run"]).good();
    std::fs::remove_file(place.path("run/result.json")).unwrap();
    place.write("data.txt", &rows.replacen("0 ab\n", "1 ab\n", 1));
    let ended = place.run(&["resume", "run"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("has changed since the run started"), "{}", ended.stderr);
    place.write("data.txt", &rows);
    assert_eq!(place.run(&["resume", "run"]).code, Some(0));
}

#[test]
fn two_processes_cannot_use_one_run() {
    let place = TestFolder::new();
    place.write("small.toml", &config("draw").replace("updates = 900", "updates = 100000"));
    let mut child = start_or_resume(&place, "small.toml", "run").spawn().unwrap();
    await_checkpoint(&place.path("run"));
    let ended = place.run(&["resume", "run"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("another process"), "{}", ended.stderr);
}

#[test]
fn a_damaged_newest_checkpoint_is_skipped_and_the_result_is_the_same() {
    let place = TestFolder::new();
    place.write("small.toml", &config("draw"));
    let whole = Ended::of(start_or_resume(&place, "small.toml", "run").output().unwrap()).good();
    std::fs::remove_file(place.path("run/result.json")).unwrap();
    let newest = place.path("run/checkpoints/seed-1/update-0000900/state.safetensors");
    let mut bytes = std::fs::read(&newest).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&newest, bytes).unwrap();
    let ended = place.run(&["resume", "run", "--json"]);
    assert_eq!(timeless(ended.good()), timeless(whole));
    assert!(ended.stderr.contains("skipped an invalid checkpoint"), "{}", ended.stderr);
}

/// A file system of limited size, unmounted on drop.
struct SmallDisk<'a>(&'a Path);

impl SmallDisk<'_> {
    fn mount(path: &Path, options: &str) -> bool {
        let args = ["-t", "tmpfs", "-o", options, "tmpfs"];
        let mounted = Command::new("mount").args(args).arg(path).stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_ends_the_run_with_2_and_nothing_is_lost() {
    let place = TestFolder::new();
    let small = config("draw").replace("units = 8", "units = 32").replace("= 900", "= 150");
    place.write("small.toml", &small);
    let whole = Ended::of(start_or_resume(&place, "small.toml", "whole").output().unwrap()).good();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).unwrap();
    if !SmallDisk::mount(&disk, "size=400k") {
        assert!(
            std::env::var_os("SRNN_REQUIRE_SMALL_DISK").is_none(),
            "no permission to mount a small disk"
        );
        eprintln!("SKIPPED: no permission to mount a small disk; only failing writes are tested");
        return;
    }
    let _disk = SmallDisk(&disk);
    let ended = Ended::of(start_or_resume(&place, "small.toml", "disk/run").output().unwrap());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("space"), "{}", ended.stderr);
    assert!(SmallDisk::mount(&disk, "remount,size=20m"));
    let result = place.run(&["resume", "disk/run", "--json"]).good();
    assert_eq!(timeless(result), timeless(whole));
}

#[cfg(unix)]
#[test]
fn writes_that_fail_end_the_run_with_2_and_nothing_is_lost() {
    let place = TestFolder::new();
    // The metrics file exceeds the size limit of files; checkpoints of a few kilobytes do not.
    let config = config("draw").replace("updates = 900", "updates = 300");
    place.write("small.toml", &config.replace("validate_every = 50", "validate_every = 2"));
    let whole = Ended::of(start_or_resume(&place, "small.toml", "whole").output().unwrap()).good();
    let program = env!("CARGO_BIN_EXE_srnn");
    let script = format!(
        "trap '' XFSZ; ulimit -f 40; exec '{program}' learn --config small.toml --out run --json"
    );
    let mut limited = Command::new("bash");
    limited.args(["-c", &script]).current_dir(place.path("."));
    let ended = Ended::of(limited.output().unwrap());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot"), "{}", ended.stderr);
    let result = place.run(&["resume", "run", "--json"]).good();
    assert_eq!(timeless(result), timeless(whole));
}
