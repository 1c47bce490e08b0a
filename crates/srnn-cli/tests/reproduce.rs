//! `srnn reproduce` and `srnn table`, as people and programs see them.

mod common;

use common::images::{write_images, write_png, write_png_folders};
use common::texts::write_reviews;
use common::{Ended, TestFolder, read};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Two data sets, two models, two settings, two seeds: sixteen cells of a few updates.
const OWN: &str = r#"
item = "own"
title = "One's own"
about = "A test"
seeds = 2
[[data]]
name = "T4"
spec = "tomita:4"
seed = 1
paper = "T"
[[data]]
name = "T2"
spec = "tomita:2"
seed = 1
[[models]]
name = "sr-lstm-p"
arch = "sr-lstm-p"
units = 4
k = 2
[[models]]
name = "gru"
arch = "gru"
units = 4
[[settings]]
name = "slow"
updates = 10
train = { validate_every = 5 }
[[settings]]
name = "fast"
updates = 10
train = { validate_every = 5, learning_rate = { kind = "constant", rate = 0.01 } }
[[tests]]
name = "short"
spec = "tomita:l5-6"
strings = 40
[[tests]]
name = "long"
spec = "tomita:l29"
strings = 40
[[paper]]
data = "T"
model = "sr-lstm-p"
errors = [1.0, 0.0]
[[shortcuts]]
data = "T4"
name = "always yes"
errors = [0.25, 0.5]
[quick]
seeds = 1
data = ["T2"]
"#;

/// About half of the long words of T4 are in the language: 10 updates leave a network wrong on some.
fn reproduce(place: &TestFolder, args: &[&str]) -> Ended {
    place.write("own.toml", OWN);
    place.run(&[&["reproduce", "--file", "own.toml"], args].concat())
}

fn outcomes(folder: &Path) -> Vec<Value> {
    let lines = read(folder.join("outcomes.jsonl"));
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Outcomes without the clock, in an order of their own: several cells run at a time.
fn timeless(folder: &Path) -> Vec<String> {
    let mut lines: Vec<String> = outcomes(folder)
        .into_iter()
        .map(|mut outcome| {
            outcome.as_object_mut().unwrap().remove("seconds");
            outcome.to_string()
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn an_experiment_leaves_outcomes_networks_and_a_table() {
    let place = TestFolder::new();
    let ended = reproduce(&place, &["--json", "--out", "out"]);
    let result = ended.good();
    assert_eq!((&result["run"], &result["skipped"]), (&json!(16), &json!(0)));
    let out = place.path("out");
    let found = outcomes(&out);
    assert_eq!(found.len(), 16);
    assert_eq!(found[0]["history"].as_array().unwrap().len(), 2);
    assert_eq!(found[0]["scores"]["tests"][1]["row"], "long");
    let program = found[0]["program"].as_str().unwrap();
    assert!(program.starts_with(concat!("srnn ", env!("CARGO_PKG_VERSION"))), "{program}");
    assert!(found[0]["device"].as_str().unwrap().starts_with("cpu, "), "{}", found[0]);
    assert!(ended.stderr.contains("[16/16] "), "{}", ended.stderr);
    let table: Value = serde_json::from_str(&read(out.join("table.json"))).unwrap();
    assert_eq!(table, result["table"]);
    assert!(read(out.join("table.md")).contains("| T4 (tomita:4) |  | short | long |"));
    let lines = read(out.join("table.md"));
    assert!(lines.contains("\n| sr-lstm-p | paper | 1.000 | 0.000 |\n"), "{lines}");
    assert!(lines.contains("\n| gru | ours | 0."), "the paper has no such number: {lines}");
    let curves = read(out.join("curves.csv"));
    assert_eq!(curves.lines().count(), 1 + 16 * 2);
    assert!(curves.contains("\nT2,gru,fast,2,10,1,0."), "{curves}");
    for data in ["T4", "T2"] {
        let drawn = read(out.join(format!("curves-{data}.svg")));
        assert_eq!(drawn.matches("opacity").count(), 2, "the other seed of each model");
    }
    for block in table["blocks"].as_array().unwrap() {
        for column in block["columns"].as_array().unwrap() {
            let cell = &column["selected"]["cell"];
            let text = |field: &str| cell[field].as_str().unwrap().to_string();
            let folder = out.join("models").join(text("data")).join(text("model"));
            let model = folder.join(text("setting")).join(format!("seed-{}", cell["seed"]));
            assert!(model.join("model.safetensors").is_file(), "{}", model.display());
            let kept: usize = std::fs::read_dir(&folder)
                .unwrap()
                .map(|setting| std::fs::read_dir(setting.unwrap().path()).unwrap().count())
                .sum();
            assert_eq!(kept, 4, "{}: every network, also those not selected", folder.display());
            let loaded = place.run(&["inspect", model.to_str().unwrap()]);
            assert_eq!(loaded.code, Some(0), "{}", loaded.stderr);
        }
    }
}

#[test]
fn what_was_done_is_not_done_again_and_a_cut_line_is_run_again() {
    let place = TestFolder::new();
    assert_eq!(reproduce(&place, &["--out", "whole"]).code, Some(0));
    let out = place.path("whole");
    let whole = timeless(&out);
    let again = reproduce(&place, &["--json", "--out", "whole"]).good();
    assert_eq!((&again["run"], &again["skipped"]), (&json!(0), &json!(16)));

    let text = read(out.join("outcomes.jsonl"));
    let kept: usize = text.split_inclusive('\n').take(5).map(str::len).sum();
    std::fs::write(out.join("outcomes.jsonl"), &text[..kept + 100]).unwrap();
    let ended = reproduce(&place, &["--json", "--out", "whole", "--threads", "3"]);
    let rest = ended.good();
    assert_eq!((&rest["run"], &rest["skipped"]), (&json!(11), &json!(5)), "{}", ended.stderr);
    assert_eq!(timeless(&out), whole, "to the same bits");
    assert_eq!(rest["table"], again["table"]);
}

#[test]
fn seeds_that_diverged_are_told_of() {
    let place = TestFolder::new();
    assert_eq!(
        reproduce(&place, &["--out", "out", "--only", "T4/gru", "--seeds", "3"]).code,
        Some(0)
    );
    let mut found = outcomes(&place.path("out"));
    let first = found.iter_mut().find(|outcome| outcome["cell"]["setting"] == "fast").unwrap();
    first["scores"] = Value::Null;
    let lines: String = found.iter().map(|outcome| format!("{outcome}\n")).collect();
    std::fs::write(place.path("out/outcomes.jsonl"), lines).unwrap();
    let shown = place.run(&["table", "--file", "own.toml", "--from", "out"]).stdout;
    assert!(shown.contains("fast, 2 seeds, without 1 that diverged"), "{shown}");
    let shortcut = shown.lines().find(|line| line.starts_with("always yes")).expect(&shown);
    assert!(shortcut.ends_with("0.500") && shortcut.contains("0.250"), "{shortcut}");
}

#[test]
fn a_line_that_is_no_outcome_is_named() {
    let place = TestFolder::new();
    assert_eq!(reproduce(&place, &["--out", "out", "--only", "T4/gru/slow"]).code, Some(0));
    let path = place.path("out/outcomes.jsonl");
    std::fs::write(&path, format!("{{\n{}", read(&path))).unwrap();
    let ended = reproduce(&place, &["--out", "out"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("outcomes.jsonl:1: invalid outcome"), "{}", ended.stderr);
}

#[test]
fn the_folder_of_another_experiment_is_refused_and_left_as_it_is() {
    let place = TestFolder::new();
    assert_eq!(reproduce(&place, &["--out", "out", "--only", "T4/gru/slow"]).code, Some(0));
    let before = read(place.path("out/experiment.toml"));
    let ended = place.run(&["reproduce", "copying", "--quick", "--out", "out"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("out: this folder is of own, not of copying"),
        "{}",
        ended.stderr
    );
    assert_eq!(read(place.path("out/experiment.toml")), before);
}

#[test]
fn networks_of_other_settings_are_replaced_only_with_a_warning() {
    let place = TestFolder::new();
    let args = ["--out", "out", "--only", "seed-1"];
    let first = reproduce(&place, &args);
    assert!(!first.stderr.contains("will be replaced"), "{}", first.stderr);
    let again = reproduce(&place, &args);
    assert!(!again.stderr.contains("will be replaced"), "{}", again.stderr);
    place.write("own.toml", &OWN.replace("updates = 10", "updates = 11"));
    let changed = place.run(&[&["reproduce", "--file", "own.toml"], &args[..]].concat());
    assert!(changed.stderr.contains("will be replaced"), "{}", changed.stderr);
}

#[test]
fn a_part_can_be_run_and_the_table_says_how_far_it_is() {
    let place = TestFolder::new();
    let ended = reproduce(&place, &["--only", "T4/sr-lstm-p/fast", "--seeds", "3"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = &ended.stdout;
    assert!(text.contains("selected from 3 of 6 trials so far: fast, seed "), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("sr-lstm-p") && line.contains("1.000")));
    let ours = lines.iter().find(|line| line.trim_start().starts_with("ours")).unwrap();
    assert!(ours.contains('≤') && ours.contains("miss"), "{text}");
    assert!(text.contains("sr-lstm-p: 1 of 2 tests at or below the paper (T4 1 of 2)"), "{text}");
    let table = place.run(&["table", "--file", "own.toml"]);
    assert_eq!(table.stdout, *text);
    let from = ["table", "--file", "own.toml", "--from", "runs/reproduce-own"];
    assert_eq!(place.run(&from).stdout, *text);
    let out = [&from[..], &["--out", "pictures"]].concat();
    assert_eq!(place.run(&out).code, Some(0));
    for name in ["table.md", "table.json", "curves.csv", "curves-T4.svg"] {
        let written = read(place.path("pictures").join(name));
        assert_eq!(written, read(place.path("runs/reproduce-own").join(name)), "{name}");
    }
    let taken = place.run(&out);
    assert!(taken.code == Some(2) && taken.stderr.contains("--force"), "{}", taken.stderr);
    let other = reproduce(&place, &["--only", "T3"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("such as T4/sr-lstm-p/slow/seed-1"), "{}", other.stderr);
}

#[test]
fn states_of_the_selected_networks_are_watched_and_those_that_are_gone_named() {
    let place = TestFolder::new();
    assert_eq!(reproduce(&place, &["--out", "out", "--only", "T4"]).code, Some(0));
    let args = ["table", "--file", "own.toml", "--from", "out", "--states", "long"];
    let watched = place.run(&[&args[..], &["--json"]].concat()).good()["states"].clone();
    let [sr, gru] = &watched.as_array().unwrap()[..] else { panic!("{watched}") };
    assert_eq!(sr["states"]["usage"]["visits"].as_array().unwrap().len(), 2);
    assert!(gru["states"]["usage"].is_null() && gru["states"]["drift"]["c"].is_null());
    let shown = place.run(&args).stdout;
    assert!(shown.contains("centroids with 95 %") && shown.contains(" of 2 "), "{shown}");
    std::fs::remove_dir_all(place.path("out/models/T4/gru")).unwrap();
    let without = place.run(&args);
    assert_eq!(without.code, Some(0), "{}", without.stderr);
    assert!(without.stderr.contains("remove its line from outcomes.jsonl"), "{}", without.stderr);
    let other = place.run(&["table", "--file", "own.toml", "--from", "out", "--states", "wide"]);
    assert!(other.stderr.contains("\"short\", \"long\""), "{}", other.stderr);
}

#[test]
fn the_small_version_has_a_folder_of_its_own() {
    let place = TestFolder::new();
    let ended = reproduce(&place, &["--quick", "--json"]);
    assert_eq!(ended.good()["run"], json!(4));
    assert_eq!(ended.json()["folder"], json!("runs/reproduce-own-quick"));
    assert!(place.path("runs/reproduce-own-quick/table.md").is_file());
}

#[test]
fn a_table_without_our_numbers_has_the_papers_and_says_how_to_get_ours() {
    let place = TestFolder::new();
    for name in ["bp", "tab:bp"] {
        let ended = place.run(&["table", name]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains("0.334") && ended.stdout.contains("d10-20 l200"));
        assert!(!ended.stdout.contains("ours  "), "{}", ended.stdout);
        assert!(ended.stderr.contains(&format!("srnn reproduce {name}")), "{}", ended.stderr);
    }
    let markdown = place.run(&["table", "tab:bp_k", "--markdown"]);
    assert!(markdown.stdout.contains("| k=2 | paper | 0.019 | 0.096 |"), "{}", markdown.stdout);
    let missing = place.run(&["table", "bp", "--from", "nowhere"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.stderr.contains("nowhere: no experiment was run here"), "{}", missing.stderr);
}

#[test]
fn a_table_says_where_its_outcomes_are_from_if_not_all_from_the_same() {
    let place = TestFolder::new();
    let ran = reproduce(&place, &["--out", "out", "--only", "T4/gru"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let table = |place: &TestFolder| place.run(&["table", "--file", "own.toml", "--from", "out"]);
    let same = table(&place);
    assert!(!same.stderr.contains("several program versions"), "{}", same.stderr);
    let path = place.path("out").join("outcomes.jsonl");
    let changed = read(&path).replacen("\"device\":\"cpu", "\"device\":\"tpu", 1);
    std::fs::write(&path, changed).unwrap();
    let mixed = table(&place);
    assert!(
        mixed.stderr.contains("outcomes are of several program versions or devices: "),
        "{}",
        mixed.stderr
    );
    assert!(mixed.stderr.contains(" on tpu, "), "{}", mixed.stderr);
}

#[test]
fn what_cannot_be_run_is_refused_by_its_name() {
    let place = TestFolder::new();
    let cases = [
        ("units = 4", "unitz = 4", "unknown field `unitz`"),
        ("tomita:4", "tomita:8", "\"tomita:8\" is no built-in task"),
        ("[0.25, 0.5]", "[0.25]", "errors of \"always yes\" in [[shortcuts]]: their number"),
        ("[0.25, 0.5]", "[0.25, 5.0]", "an error of [[shortcuts]]"),
        ("k = 2", "k = 0", "\"sr-lstm-p\": its architecture has centroids"),
        ("validate_every = 5", "validate_every = 0", "validate_every is 0"),
    ];
    for (good, bad, words) in cases {
        place.write("bad.toml", &OWN.replacen(good, bad, 1));
        let ended = place.run(&["reproduce", "--file", "bad.toml"]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("bad.toml: "), "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        assert!(!place.path("runs").exists(), "nothing was begun");
    }
    let unknown = place.run(&["reproduce", "tab:nothing"]);
    assert!(
        unknown.stderr.contains("tomita, bp, bp-k, bp-ablation, bp-vis, palindromes, copying"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn copying_is_compared_with_the_memoryless_baseline() {
    let place = TestFolder::new();
    let empty = place.run(&["table", "copying"]);
    assert!(empty.stdout.contains("0.1733") && empty.stdout.contains("0.0400"), "{}", empty.stdout);
    let ended = place.run(&["reproduce", "copying", "--quick"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ours: Vec<&str> = ended.stdout.lines().filter(|line| line.contains(" ours ")).collect();
    assert_eq!(ours.len(), 4, "{}", ended.stdout);
    assert!(ours.iter().all(|line| line.ends_with("miss")), "{}", ended.stdout);
    assert!(ended.stdout.contains("k=20: 0 of 1 tests at or below 1/10 of"), "{}", ended.stdout);
}

#[test]
fn ctrl_c_after_the_last_cell_interrupts_nothing() {
    let place = TestFolder::new();
    place.write("own.toml", OWN);
    let mut command = place.command(&["reproduce", "--file", "own.toml", "--out", "out"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = || std::fs::read_to_string(place.path("out/outcomes.jsonl")).unwrap_or_default();
    let patience = Instant::now();
    while lines().lines().count() < 16 && patience.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_micros(200));
    }
    // It may have ended by now: then there is nobody to send it to.
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "sent {sent}: {}", ended.stderr);
    assert!(place.path("out/table.md").is_file());
}

#[test]
fn ctrl_c_keeps_what_is_done_says_how_to_go_on_and_ends_with_130() {
    let place = TestFolder::new();
    // The second setting would take hours.
    let (quick, endless) = OWN.rsplit_once("updates = 10\n").unwrap();
    place.write("own.toml", &format!("{quick}updates = 100000000\n{endless}"));
    let args = ["reproduce", "--file", "own.toml", "--json", "--threads", "1", "--out", "out"];
    let mut command = place.command(&[&args[..], &["--device", "auto"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = || std::fs::read_to_string(place.path("out/outcomes.jsonl")).unwrap_or_default();
    let patience = Instant::now();
    while lines().lines().count() < 2 && patience.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Nothing tells when the third is in flight; it begins at once.
    std::thread::sleep(Duration::from_secs(2));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("the outcomes of 2 trials are kept"), "{}", ended.stderr);
    let again = "srnn reproduce --file own.toml --out out --device auto";
    assert!(ended.json()["remedy"].as_str().unwrap().contains(again), "{}", ended.stdout);
    assert_eq!(outcomes(&place.path("out")).len(), 2);
    let unfinished: Vec<_> = std::fs::read_dir(place.path("out/unfinished")).unwrap().collect();
    assert_eq!(unfinished.len(), 1, "the running trial has a checkpoint");
    let cell = unfinished[0].as_ref().unwrap().path();
    let seconds = std::fs::read_to_string(cell.join("seconds")).unwrap();
    assert!(seconds.trim().parse::<f64>().unwrap() > 0.0);
}

/// One network, one setting, on images of six pixels, in two orders.
const DOTS: &str = r#"
item = "dots"
title = "Dots"
about = "A test"
seeds = 1
[[data]]
name = "rows"
spec = "images:dots"
seed = 1
[[data]]
name = "turned"
spec = "images:dots:by=order.txt"
seed = 1
[[models]]
name = "sr-lstm-p"
arch = "sr-lstm-p"
units = 4
k = 2
[[settings]]
name = "plain"
readout = "hc"
[settings.train]
learning_rate = { kind = "constant", rate = 0.02 }
batch_size = 16
sampling = "epochs"
[settings.train.schedule]
warmup = 0
ramp = 0
settle = 0
harden = 0
finish = 600
commitment = 0.0
entropy = 0.0
curriculum = 0
[[tests]]
name = "all"
spec = "images"
strings = 6
"#;

#[test]
fn images_of_a_folder_are_learned_tested_and_watched() {
    let place = TestFolder::new();
    place.write("dots.toml", DOTS);
    write_images(&place.path("sets/dots"), 48);
    place.write("sets/order.txt", "5 4 3 2 1 0");
    let dots = ["--file", "dots.toml", "--data", "sets"];
    let ended = place.run(&[&["reproduce", "--json", "--out", "out"], &dots[..]].concat());
    ended.good();
    assert!(ended.stderr.contains("(images:dots): train 44, valid 4, tests 6"), "{}", ended.stderr);
    let found = outcomes(&place.path("out"));
    assert_eq!(found.len(), 2);
    for outcome in &found {
        assert_eq!(outcome["scores"]["tests"][0]["error"], 0.0, "{outcome}");
    }
    assert_ne!(found[0]["data"], found[1]["data"], "another order is another set");
    let table = [&["table", "--from", "out", "--states", "all"], &dots[..]].concat();
    let shown = place.run(&table).stdout;
    assert!(shown.contains("States of the selected networks on all (6 sequences)"), "{shown}");
    let model = place.run(&["inspect", "out/models/rows/sr-lstm-p/plain/seed-1"]);
    assert_eq!(model.code, Some(0), "{}", model.stderr);
}

#[test]
fn images_that_are_not_there_or_too_few_are_told_with_where_to_put_them() {
    let place = TestFolder::new();
    place.write("dots.toml", DOTS);
    let run = |data: &str| place.run(&["reproduce", "--file", "dots.toml", "--data", data]);
    let ended = run("sets");
    assert_eq!(ended.code, Some(2));
    let missing = "sets/dots/train-images-idx3-ubyte: there is no such file";
    assert!(
        ended.stderr.contains(missing) && ended.stderr.contains("SRNN_DATA"),
        "{}",
        ended.stderr
    );
    write_images(&place.path("sets/dots"), 48);
    let ended = run("sets");
    assert!(ended.stderr.contains("sets/order.txt: there is no such file"), "{}", ended.stderr);
    place.write("sets/order.txt", "0 1 2 2 3 4");
    assert!(run("sets").stderr.contains("sets/order.txt, byte 6: pixel 2 occurs twice"));
    place.write("dots.toml", &DOTS.replace("strings = 6", "strings = 7"));
    let ended = run("sets");
    assert!(ended.stderr.contains("\"all\" needs 7 images, and there are 6"), "{}", ended.stderr);
    let named = place.command(&["reproduce", "mnist", "--quick"]).env("SRNN_DATA", "sets").output();
    let ended = Ended::of(named.unwrap());
    assert!(ended.stderr.contains("sets/mnist/train-images"), "{}", ended.stderr);
}

#[test]
fn a_folder_of_png_files_is_learned_and_new_files_are_classified() {
    let place = TestFolder::new();
    place.write("dots.toml", &DOTS.replace("strings = 6", "strings = 4"));
    write_png_folders(&place.path("sets/dots"), 24);
    place.write("sets/order.txt", "5 4 3 2 1 0");
    let ended = place.run(&[
        "reproduce",
        "--out",
        "out",
        "--file",
        "dots.toml",
        "--data",
        "sets",
        "--json",
    ]);
    ended.good();
    assert!(ended.stderr.contains("train 41, valid 3, tests 4"), "{}", ended.stderr);
    write_png(&place.path("left.png"), [2, 3], &[255, 9, 0, 255, 0, 9]);
    write_png(&place.path("right.png"), [2, 3], &[0, 9, 255, 9, 0, 255]);
    for order in ["rows", "turned"] {
        let model = format!("out/models/{order}/sr-lstm-p/plain/seed-1");
        for engine in ["cpu", "reference"] {
            let files = ["right.png", "left.png", "--json", "--engine", engine];
            let found = place.run(&[&["predict", &model], &files[..]].concat()).good();
            let labels: Vec<_> = (0..2).map(|i| found["predictions"][i]["label"].clone()).collect();
            assert_eq!(labels, ["bright-right", "bright-left"], "{order}: {found}");
        }
    }
    let model = "out/models/rows/sr-lstm-p/plain/seed-1";
    let text = place.run(&["predict", model, "left.png"]).stdout;
    assert!(text.starts_with("left.png\tbright-left\t0.9"), "{text}");
    write_png(&place.path("turned.png"), [3, 2], &[0; 6]);
    let ended = place.run(&["predict", model, "turned.png"]);
    let expected = "turned.png: an image of 3×2 pixels, but the model reads 2×3 pixels";
    assert!(ended.code == Some(2) && ended.stderr.contains(expected), "{}", ended.stderr);
    let inspected = place.run(&["inspect", model]).stdout;
    assert!(inspected.contains("images    2×3 pixels"), "{inspected}");
    let ended = place.run(&["predict", model, "nowhere.png"]);
    assert!(ended.stderr.contains("nowhere.png: there is no such file"), "{}", ended.stderr);
    let ended = place.run(&["predict", model, "--file", "dots.toml"]);
    assert!(ended.stderr.contains("name PNG files as arguments"), "{}", ended.stderr);
}

/// The built-in figure of IMDB, with few words and units.
fn small_imdb_learning() -> String {
    let whole = include_str!("../experiments/imdb-learning.toml");
    let small = whole.replace("spec = \"imdb\"\nseed", "spec = \"imdb:vocabulary=14\"\nseed");
    let small = small.replace("units = 256", "units = 6").replace("k = 10", "k = 3");
    assert!(small.contains("vocabulary=14") && small.contains("layers = 2"), "{small}");
    small
}

#[test]
fn the_figure_of_imdb_has_curves_of_both_read_outs_and_of_two_layers() {
    let place = TestFolder::new();
    place.write("learning.toml", &small_imdb_learning());
    write_reviews(&place.path("sets/imdb"), 20);
    let files = ["--file", "learning.toml", "--data", "sets", "--out", "out"];
    let result = place.run(&[&["reproduce", "--quick", "--json"], &files[..]].concat()).good();
    assert_eq!(result["run"], json!(10), "5 models, each with 2 read-outs");
    let curves = read(place.path("out/curves.csv"));
    for model in ["lstm", "lstm-p", "sr-lstm-k10", "sr-lstm-p-k10", "sr-lstm-p-k10-2layers"] {
        for setting in ["h", "c"] {
            let start = format!("\nimdb,{model},{setting},1,3,");
            assert!(curves.contains(&start), "{start}: {curves}");
        }
    }
    let arch = |model: &str, setting: &str| -> Value {
        let folder = place.path("out/models/imdb").join(model).join(setting).join("seed-1");
        let config: Value = serde_json::from_str(&read(folder.join("config.json"))).unwrap();
        config["arch"].clone()
    };
    let layers = |model: &str| arch(model, "c")["layers"].as_array().unwrap().len();
    assert_eq!([layers("sr-lstm-p-k10"), layers("sr-lstm-p-k10-2layers")], [1, 2]);
    for setting in ["h", "c"] {
        let readout = arch("sr-lstm-p-k10-2layers", setting)["readout"]["from"].clone();
        assert_eq!(readout, json!(setting));
    }
}
