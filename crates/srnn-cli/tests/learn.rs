//! `srnn learn`: files, JSON and text.

mod common;

use common::{TestFolder, digests, read, timeless};
use serde_json::{Value, json};

#[test]
fn a_run_leaves_its_folder_and_one_json_object() {
    let place = TestFolder::new();
    let ended = place.learn(&["tomita:1"]);
    let result = ended.good();
    assert_eq!(result["run"], "runs/tomita-1");
    let certificate = &result["certificate"];
    assert!(certificate["f64"].is_boolean() && certificate["f32"].is_boolean(), "{certificate}");
    assert_eq!(result["seeds"].as_array().unwrap().len(), 2);
    for seed in result["seeds"].as_array().unwrap() {
        assert!(seed["train_accuracy"].is_f64() && seed["valid_accuracy"].is_f64());
        assert_eq!(seed["stop"]["reason"], "updates");
    }
    assert!(result["kept"]["seed"].is_u64() && result["kept"]["because"].is_string());
    for stage in ["data", "train", "select", "extract", "certify", "write", "total"] {
        assert!(result["seconds"][stage].is_f64(), "{stage}");
    }
    for way in ["counted_soft", "counted_hard", "hard_table", "cover"] {
        let agreement = &result["ways"][way]["agreement"]["words"];
        assert!(agreement["rate"].is_f64(), "{way}: {}", result["ways"][way]);
    }
    assert_eq!(result["tested_on"], json!({ "words": 131_071, "longest": 16 }));
    let automaton = &result["automaton"];
    assert!(automaton["states"].is_u64() && automaton["equals_truth"].is_boolean());
    if automaton["equals_truth"] == json!(false) {
        assert!(automaton["shortest_difference"].is_string());
    }
    let run = place.path("runs/tomita-1");
    assert_eq!(serde_json::from_str::<Value>(&read(run.join("result.json"))).unwrap(), result);
    for file in [
        "config.toml",
        "data.json",
        "metrics.jsonl",
        "model/config.json",
        "model/model.safetensors",
        "automaton/automaton.json",
        "automaton/automaton.dot",
        "automaton/automaton.svg",
        "automaton/hard_table.json",
    ] {
        assert!(run.join(file).is_file(), "{file}");
    }
    assert!(ended.stderr.contains("training …"), "{}", ended.stderr);
    for file in ["automaton.svg", "automaton.dot", "automaton.json"] {
        assert_eq!(place.run(&["convert", "runs/tomita-1", file]).code, Some(0));
        assert_eq!(read(place.path(file)), read(run.join("automaton").join(file)), "{file}");
    }
}

#[test]
fn the_text_report_has_the_table_the_picture_and_the_evaluation() {
    let place = TestFolder::new();
    let ended = place.run(&[&["learn", "tomita:1"], &common::SMALL[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in [
        "selected: seed",
        "Extracted automaton, ",
        "automaton/automaton.svg",
        "network: ",
        "cover of soft states",
        "equal on every word, of any length:",
        "131,071",
        "validation set: truth",
    ] {
        assert!(ended.stdout.contains(words), "{words} in {}", ended.stdout);
    }
}

#[test]
fn the_configuration_of_a_run_repeats_it_to_the_same_bits() {
    let place = TestFolder::new();
    let args =
        ["tomita:2", "--label-noise", "0.1", "--class-weights", "--seed", "7", "--tau", "0.5"];
    let first = place.learn(&args).good();
    let again = place.run(&["learn", "--json", "--config", "runs/tomita-2/config.toml"]).good();
    assert_eq!(again["run"], "runs/tomita-2-2");
    assert_eq!(timeless(again), timeless(first));
    for file in ["config.toml", "data.json", "metrics.jsonl", "automaton/automaton.json"] {
        let [one, two] =
            ["tomita-2", "tomita-2-2"].map(|run| read(place.path("runs").join(run).join(file)));
        assert_eq!(one, two, "{file}");
    }
}

#[test]
fn a_printed_configuration_is_what_the_run_would_write() {
    let place = TestFolder::new();
    let args = ["tomita:1", "--out", "run"];
    let printed = place.run(&[&["learn", "--print-config"], &common::SMALL[..], &args].concat());
    assert!(!place.path("run").exists(), "--print-config creates no run");
    place.learn(&args).good();
    assert_eq!(printed.stdout.trim_end(), read(place.path("run/config.toml")).trim_end());
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let place = TestFolder::new();
    let results = ["1", "2", "3", "4"].map(|threads| {
        let out = format!("run-{threads}");
        let args = ["tomita:4", "--threads", threads, "--out", &out, "--updates", "200"];
        let args = [&["learn", "--json", "--units", "8", "--k", "4", "--seeds", "2"], &args[..]];
        timeless(place.run(&args.concat()).good())
    });
    assert_eq!(digests(&results[0]).len(), 2);
    results.iter().for_each(|result| assert_eq!(result, &results[0]));
}

#[test]
fn a_run_has_a_valid_certificate_or_exit_code_1_with_must_certify() {
    let place = TestFolder::new();
    let sizes = ["--units", "16", "--k", "8", "--seeds", "1", "--must-certify", "--json"];
    let learn = |args: &[&str]| place.run(&[&["learn", "tomita:4"], &sizes[..], args].concat());
    let result = learn(&["--updates", "1500", "--out", "run"]).good();
    let certificate = &result["certificate"];
    assert_eq!((&certificate["f64"], &certificate["f32"]), (&json!(true), &json!(true)));
    assert_eq!(certificate["equals_truth"], json!(true), "{certificate}");
    assert_eq!(result["seeds"][0]["automaton"]["certified"], "f32");
    assert_eq!(place.run(&["check", "run"]).code, Some(0));
    assert_eq!(place.run(&["certify", "run", "--spec", "tomita:4"]).code, Some(0));
    let again = place.run(&["learn", "--config", "run/config.toml", "--out", "two", "--json"]);
    assert_eq!(timeless(again.good()), timeless(result));
    let [one, two] = ["run", "two"].map(|run| read(place.path(run).join("certificate.json")));
    assert_eq!(one, two);
    let cell_state = ["--arch", "sr-lstm", "--updates", "20", "--out", "lstm"];
    let ended = learn(&cell_state);
    assert_eq!((ended.code, &ended.json()["passed"]), (Some(1), &json!(false)));
    assert!(ended.stderr.contains("--must-certify"), "{}", ended.stderr);
    assert!(!place.path("lstm/certificate.json").exists());
}

#[test]
fn an_accuracy_below_fail_under_is_exit_code_1_and_still_a_result() {
    let place = TestFolder::new();
    let ended = place.learn(&["tomita:5", "--fail-under", "0.99", "--out", "run"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(ended.json()["passed"], false);
    assert!(ended.stderr.contains("below --fail-under"), "{}", ended.stderr);
    assert_eq!(place.run(&["resume", "run"]).code, Some(1), "resuming gives the same exit code");
    let ended = place.learn(&["tomita:5", "--fail-under", "0.1"]);
    assert_eq!(ended.good()["passed"], true);
}

#[test]
fn a_network_without_an_automaton_is_a_result_with_the_reason() {
    let place = TestFolder::new();
    for arch in ["lstm", "gru", "sr-lstm-p"] {
        let flags = ["learn", "tomita:1", "--units", "8", "--updates", "30", "--seeds", "1"];
        let ended = place.run(&[&flags[..], &["--json", "--arch", arch]].concat());
        let result = ended.good();
        assert_eq!(result["automaton"], Value::Null);
        assert!(result["no_automaton"].as_str().unwrap().contains("SR-GRU"), "{result}");
        let text = place.run(&[&flags[..], &["--arch", arch]].concat()).stdout;
        assert!(text.contains("No automaton") && text.contains("sr-gru"), "{text}");
    }
}

#[test]
fn files_may_have_classes_of_any_name() {
    let place = TestFolder::new();
    let rows = (0..60).map(|i| {
        let length = i % 7 + 1;
        let word = ["on", "off", "idle"].into_iter().cycle().skip(i).take(length);
        let class = ["calm", "<b>busy</b>", "broken"][length % 3];
        format!("{},{class}\n", word.collect::<Vec<_>>().join(" "))
    });
    place.write("log.csv", &format!("steps,outcome\n{}", rows.collect::<String>()));
    let columns = ["--sequence-column", "steps", "--label-column", "outcome"];
    let args = [&["log.csv", "--split", "0.6/0.2/0.2"], &columns[..]].concat();
    let result = place.learn(&args).good();
    assert_eq!(result["run"], "runs/log");
    assert!(result["confusion"]["test"]["counts"].is_array());
    let data: Value = serde_json::from_str(&read(place.path("runs/log/data.json"))).unwrap();
    assert_eq!(data["tokens"], "whitespace");
    assert_eq!(data["alphabet"], json!(["idle", "off", "on"]));
    let again = place.run(&["learn", "--json", "--config", "runs/log/config.toml"]).good();
    assert_eq!(digests(&again), digests(&result));
}

/// All words of a and b up to length 8, accepted without aaa; every 41st label is wrong. Returns the
/// file and the numbers of the lines with wrong labels.
fn noisy_file() -> (String, Vec<u64>) {
    let (mut text, mut wrong) = ("label,sequence\n".to_string(), vec![]);
    let words = (0..9usize).flat_map(|length| {
        (0..1usize << length).map(move |number| -> String {
            (0..length).map(|i| if number >> i & 1 == 1 { 'a' } else { 'b' }).collect()
        })
    });
    for (index, word) in words.enumerate() {
        let flipped = index % 41 == 40;
        wrong.extend(flipped.then_some(index as u64 + 2));
        let label = if word.contains("aaa") == flipped { "yes" } else { "no" };
        text += &format!("{label},{word}\n");
    }
    (text, wrong)
}

#[test]
fn suspected_labels_are_listed_by_line_and_trusted_labels_are_not_changed() {
    let place = TestFolder::new();
    let (text, wrong) = noisy_file();
    place.write("log.csv", &text);
    let small = ["--units", "12", "--k", "6", "--updates", "1000", "--seeds", "2"];
    let learn = |args: &[&str]| place.run(&[&["learn", "log.csv"], &small[..], args].concat());
    let ended = learn(&["--out", "run"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in ["least description length", "of 511 labels", "valid (corrected labels)"] {
        assert!(ended.stdout.contains(words), "{words} in {}", ended.stdout);
    }
    let listed = read(place.path("run/wrong_labels.jsonl"));
    let listed: Vec<Value> = listed.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let mut lines: Vec<u64> = listed.iter().map(|l| l["line"].as_u64().unwrap()).collect();
    lines.sort();
    assert_eq!(lines, wrong);
    let rows: Vec<&str> = text.lines().collect();
    for one in &listed {
        let word: String =
            one["sequence"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
        let row = format!("{},{word}", one["given"].as_str().unwrap());
        assert_eq!(rows[one["line"].as_u64().unwrap() as usize - 1], row);
        assert_ne!(one["given"], one["believed"]);
    }
    let result: Value = serde_json::from_str(&read(place.path("run/result.json"))).unwrap();
    assert_eq!(result["labels"]["verdict"], "corrected");
    assert_eq!(result["labels"]["states"], 4);
    assert_eq!(result["labels"]["believed_wrong"].as_array(), Some(&listed));
    let seeds = result["seeds"].as_array().unwrap();
    let kept = seeds.iter().find(|seed| seed["seed"] == result["kept"]["seed"]).unwrap();
    let given = &kept["by_given_labels"]["valid_accuracy"];
    assert_eq!(given, &result["network"]["valid_accuracy"], "the kept network");
    assert!(given.as_f64() < kept["valid_accuracy"].as_f64(), "{kept}");
    assert!(place.path("run/automaton/believed.svg").is_file());
    let again = place.run(&["learn", "--json", "--config", "run/config.toml", "--out", "two"]);
    assert_eq!(timeless(again.good()), timeless(result.clone()));
    for (file, training) in [("result.json", "kept"), ("checkpoints/believed-seed-1", "again")] {
        let path = place.path("run").join(file);
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
        removed.unwrap();
        let _ = std::fs::remove_file(place.path("run/result.json"));
        let resumed = place.run(&["resume", "run", "--json"]).good();
        assert_eq!(timeless(resumed), timeless(result.clone()), "the second round {training}");
    }
    let ended = learn(&["--out", "trusting", "--trust-labels", "--json"]);
    assert_eq!(ended.good()["labels"], json!({ "verdict": "trusted" }));
    assert!(!place.path("trusting/wrong_labels.jsonl").exists());
}

#[test]
fn held_out_sequences_with_unseen_tokens_count_as_errors() {
    let place = TestFolder::new();
    let rows: String = (0..20).map(|i| format!("{} {}\n", i % 2, "ab".repeat(i / 2 + 1))).collect();
    place.write("train.txt", &rows.replace("1 a", "1 b"));
    place.write("valid.txt", "0 ab\n1 bb\n1 zz\n");
    let ended = place.learn(&["train.txt", "--valid", "valid.txt"]);
    let result = ended.good();
    assert_eq!(result["confusion"]["valid"]["unreadable"], json!([0, 1]));
    assert!(result["network"]["valid_accuracy"].as_f64().unwrap() <= 2.0 / 3.0 + 1e-9);
    assert!(ended.stderr.contains("valid.txt:3") && ended.stderr.contains("--min-count"));
}

#[test]
fn only_a_run_folder_is_replaced_and_only_with_force() {
    let place = TestFolder::new();
    place.learn(&["tomita:1", "--out", "run"]).good();
    let before = read(place.path("run/result.json"));
    assert_eq!(place.learn(&["tomita:1", "--out", "run"]).code, Some(2));
    assert_eq!(read(place.path("run/result.json")), before);
    place.learn(&["tomita:1", "--out", "run", "--force", "--seed", "3"]).good();
    assert!(read(place.path("run/config.toml")).contains("seed = 3"));
    place.write("run/thesis.tex", "years of work");
    let ended = place.learn(&["tomita:1", "--out", "run", "--force"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("thesis.tex"), "{}", ended.stderr);
    assert_eq!(read(place.path("run/thesis.tex")), "years of work");
}

#[test]
fn without_a_verb_help_is_printed_and_every_help_begins_with_examples() {
    let place = TestFolder::new();
    let ended = place.run(&[]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.starts_with("Examples:\n  srnn learn tomita:3\n"));
    for verb in ["learn", "resume"] {
        let help = place.run(&[verb, "--help"]).stdout;
        let examples = help.lines().skip(1).take_while(|line| line.starts_with("  srnn "));
        assert!(help.starts_with("Examples:\n") && examples.count() >= 2, "{help}");
    }
}

#[test]
fn a_majority_class_network_is_reported_and_so_is_an_existing_folder() {
    let place = TestFolder::new();
    let rows: String =
        (0..60).map(|i| format!("{} {}\n", u8::from(i % 3 == 0), "a".repeat(i + 1))).collect();
    place.write("my_door.txt", &rows);
    let args = ["learn", "my_door.txt", "--one-symbol", "--arch", "lstm", "--split", "0.6/0.2/0.2"];
    let small = ["--units", "4", "--updates", "1", "--seeds", "1"];
    let ended = place.run(&[&args[..], &small].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("accuracy on the validation set, "), "{}", ended.stdout);
    assert!(
        ended
            .stdout
            .contains("warning: the network is no better than always predicting the class 0"),
        "{}",
        ended.stdout
    );
    let more = ["--min-count", "2"];
    let ended = place.run(&[&args[..], &small, &more].concat());
    let words = "runs/my_door-2 (runs/my_door exists already)";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    assert!(ended.stderr.contains("--min-count 2 has no effect"), "{}", ended.stderr);
}

#[test]
fn a_language_that_is_not_regular_gets_a_network_with_a_cell_state() {
    let place = TestFolder::new();
    let result = place.learn(&["bp:small:A"]).good();
    assert_eq!(result["run"], "runs/bp-small-A");
    let config = read(place.path("runs/bp-small-A/config.toml"));
    for setting in ["peephole = true", "saturation = 10.0", "writing = 1.0", "sharpen = 16.0"] {
        assert!(config.contains(setting), "{setting}: {config}");
    }
    assert!(result["automaton"].is_null() && result["no_automaton"].is_string(), "{result}");
}

/// As in `srnn learn … 2>&1 | head`, or with stderr in a file on a full disk.
#[test]
fn a_stderr_that_cannot_be_written_does_not_end_a_training() {
    let place = TestFolder::new();
    for (name, full) in [("closed", false), ("full", true)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let stderr = match full {
            true => std::fs::File::create("/dev/full").unwrap().into(),
            false => std::process::Stdio::from(writer),
        };
        let mut learn = std::process::Command::new(env!("CARGO_BIN_EXE_srnn"));
        learn.current_dir(place.path(".")).stdout(std::process::Stdio::null()).stderr(stderr);
        let small = ["--units", "4", "--k", "3", "--updates", "40", "--seeds", "1", "--out", name];
        let status = learn.args(["learn", "tomita:1"]).args(small).status().unwrap();
        assert_eq!(status.code(), Some(0), "{name}");
        assert!(place.path(name).join("result.json").is_file(), "{name}");
    }
}
