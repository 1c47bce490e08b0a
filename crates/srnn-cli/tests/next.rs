//! `srnn learn --next` and `srnn predict` with its runs.

mod common;

use common::{Ended, TestFolder, read, timeless};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Orders: opened, one to three items, paid and shipped, or cancelled.
fn orders(count: usize) -> String {
    let items = ["item", "item item", "item item item"];
    let order = |i: usize| match i % 5 {
        0 => format!("open {} cancel\n", items[i % 3]),
        _ => format!("open {} pay ship\n", items[i % 3]),
    };
    (0..count).map(order).collect()
}

/// Settings that take a few seconds.
const SMALL: [&str; 6] = ["--budget", "1s", "--seeds", "1", "--json", "--quiet"];

fn learn(place: &TestFolder, args: &[&str]) -> Value {
    place.run(&[&["learn", "--next"], args, &SMALL].concat()).good()
}

fn candidate<'v>(result: &'v Value, kind: &str) -> &'v Value {
    let all = result["candidates"].as_array().unwrap();
    all.iter().find(|candidate| candidate["kind"] == kind).unwrap()
}

#[test]
fn an_empty_token_is_refused_before_anything_is_trained() {
    let place = TestFolder::new();
    let row = "{\"sequence\": [\"\", \"a\", \"b\"]}\n";
    place.write("empty.jsonl", &row.repeat(20));
    let ended = place.run(&[&["learn", "--next", "empty.jsonl"][..], &SMALL].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(ended.stderr.contains("a token is empty"), "{}", ended.stderr);
    assert!(!place.path("runs").exists());
}

#[test]
fn a_run_compares_candidates_and_predict_names_the_most_surprising_step() {
    let place = TestFolder::new();
    place.write("orders.txt", &orders(300));
    let result = learn(&place, &["orders.txt", "--split", "0.6/0.2/0.2"]);
    let run = place.path("runs/orders");
    assert_eq!(serde_json::from_str::<Value>(&read(run.join("result.json"))).unwrap(), result);
    assert_eq!(result["sequences"], json!({ "train": 180, "valid": 60, "test": 60 }));
    let kinds: Vec<&str> = result["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["frequencies", "automaton", "ngrams", "sr-gru", "sr-lstm-p", "lstm"]);
    let bits = |kind| candidate(&result, kind)["valid"]["bits"].as_f64().unwrap();
    assert!(bits("ngrams") < 0.5 * bits("frequencies"));
    assert!(bits("lstm") < bits("frequencies"));
    assert!(candidate(&result, "ngrams")["test"]["top_g"].as_f64().unwrap() > 0.9);

    let broken = ["predict", "runs/orders", "open item ship", "open item pay ship"];
    let found = place.run(&[&broken[..], &["--json"]].concat()).good();
    let [shipped, normal] = [0, 1].map(|at| &found["predictions"][at]);
    assert_eq!(shipped["most_surprising"]["step"], 3);
    assert_eq!(shipped["most_surprising"]["token"], "ship");
    assert_eq!((&shipped["anomalous"], &normal["anomalous"]), (&json!(true), &json!(false)));
    assert_eq!(shipped["steps"].as_array().unwrap().len(), 4, "the end is a step");
    let text = place.run(&broken);
    for words in ["most surprising: step 3, \"ship\"", "anomalous: largest surprise", "normal: "] {
        assert!(text.stdout.contains(words), "{words} in {}", text.stdout);
    }
}

#[test]
fn predict_reads_files_and_every_candidate_and_marks_unseen_tokens() {
    let place = TestFolder::new();
    place.write("orders.csv", &format!("events\n{}", orders(200)));
    let result = learn(&place, &["orders.csv", "--sequence-column", "events", "--out", "run"]);
    place.write("new.txt", "open item pay ship\nopen item refund\nship ship ship ship\n");
    let models: Vec<String> = result["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|candidate| match candidate["kept"] == json!(true) {
            true => "run".to_string(),
            false => format!("run/candidates/{}", candidate["kind"].as_str().unwrap()),
        })
        .collect();
    assert_eq!(models.len(), 6);
    for model in &models {
        let ended = place.run(&["predict", model, "--file", "new.txt", "--json"]);
        let found = ended.good();
        assert_eq!(found["sequences"], 3, "{model}");
        let predictions = found["predictions"].as_array().unwrap();
        assert_eq!(predictions[1]["unseen"], true);
        assert_eq!(predictions[1]["steps"][2]["token"], "refund");
        assert_eq!(
            predictions[1]["steps"][2]["rank"], 7,
            "the last of 5 tokens, <unk> and the end"
        );
        assert!(ended.stderr.contains("new.txt:2: \"refund\", token 3, did not occur"));
        let lines = place.run(&["predict", model, "--file", "new.txt"]).stdout;
        assert_eq!(lines.lines().count(), 3, "{lines}");
        assert!(lines.starts_with("new.txt:1\t"), "{lines}");
    }
    for folder in ["run", "run/candidates/frequencies"] {
        let inspected = place.run(&["inspect", folder]);
        assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
        assert!(inspected.stdout.contains("predicts the next token"), "{}", inspected.stdout);
    }
    for args in [&["explain", "run", "open"][..], &["extract", "run"], &["certify", "run"]] {
        let ended = place.run(args);
        assert_eq!(ended.code, Some(2), "{args:?}");
        assert!(ended.stderr.contains("next token"), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn threads_and_a_repeated_configuration_change_no_bit() {
    let place = TestFolder::new();
    place.write("orders.txt", &orders(120));
    let first =
        learn(&place, &["orders.txt", "--out", "one", "--threads", "1", "--flagged", "0.1"]);
    let config = ["learn", "--config", "one/config.toml", "--threads", "3", "--json", "--quiet"];
    let again = place.run(&[&config[..], &["--out", "two"]].concat()).good();
    let text = |value: &Value| value["text"].as_str().unwrap().replace("two", "one");
    assert_eq!(text(&first), text(&again));
    let comparable = |value: Value| {
        let mut value = timeless(value);
        value.as_object_mut().unwrap().remove("text");
        for candidate in value["candidates"].as_array_mut().unwrap() {
            candidate.as_object_mut().unwrap().remove("seconds");
        }
        value
    };
    assert_eq!(comparable(first), comparable(again));
    for file in ["config.toml", "data.json", "metrics.jsonl", "candidates/frequencies/next.json"] {
        let [one, two] = ["one", "two"].map(|run| read(place.path(run).join(file)));
        assert_eq!(one, two, "{file}");
    }
    let finished = place.run(&["resume", "one", "--json"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn check_says_that_a_model_of_the_next_token_has_no_proof() {
    let place = TestFolder::new();
    place.write("orders.txt", &orders(100));
    learn(&place, &["orders.txt", "--out", "run"]);
    for model in ["run", "run/model"] {
        let ended = place.run(&["check", model]);
        assert_eq!(ended.code, Some(2), "{}", ended.stdout);
        for words in ["predicts the next token (learn --next)", "srnn predict"] {
            assert!(ended.stderr.contains(words), "{model}: {}", ended.stderr);
        }
    }
}

#[test]
fn an_interrupted_run_is_resumed_to_the_same_bits() {
    let place = TestFolder::new();
    place.write("orders.txt", &orders(400));
    let args = |out| {
        let settings = ["--budget", "3s", "--seeds", "1", "--threads", "1", "--json", "--out", out];
        [&["learn", "--next", "orders.txt"], &settings[..]].concat()
    };
    let whole = place.run(&args("whole")).good();
    let mut command = place.command(&args("cut"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !place.path("cut/checkpoints").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no checkpoint in a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("srnn resume cut"), "{}", ended.stderr);
    assert!(!place.path("cut/result.json").exists());
    let resumed = place.run(&["resume", "cut", "--json", "--quiet"]).good();
    let scores = |result: &Value| -> Vec<Value> {
        let all = result["candidates"].as_array().unwrap();
        all.iter().map(|c| json!([c["kind"], c["valid"], c["thresholds"], c["updates"]])).collect()
    };
    assert_eq!(scores(&resumed), scores(&whole));
    place.write("orders.txt", &orders(500));
    std::fs::remove_file(place.path("cut/result.json")).unwrap();
    let changed = place.run(&["resume", "cut"]);
    assert_eq!(changed.code, Some(2));
    assert!(changed.stderr.contains("has changed since the run started"), "{}", changed.stderr);
}

#[test]
fn mistakes_are_named_with_a_remedy() {
    let place = TestFolder::new();
    place.write("orders.txt", &orders(50));
    place.write("end.txt", &"a <eos>\nb <eos>\n".repeat(5));
    place.write("empty.txt", "\n");
    place.write("broken.csv", "a,b\n1,2\n");
    for (args, words) in [
        (&["learn", "--next", "tomita:3"][..], "built-in tasks are about labels"),
        (&["learn", "--next", "missing.txt"], "there is no such file"),
        (&["learn", "--next", "empty.txt"], "no sequences"),
        (&["learn", "--next", "end.txt"], "stands for the end of a sequence"),
        (&["learn", "--next", "broken.csv"], "no sequence column"),
        (&["learn", "--next", "orders.txt", "--units", "5"], "options of the network"),
        (&["learn", "--next", "orders.txt", "--prefer", "proof"], "--prefer proof"),
        (&["learn", "--next", "orders.txt", "--flagged", "2"], "--flagged 2"),
        (&["learn", "orders.txt", "--flagged", "0.1"], "--flagged is about anomalies"),
        (&["learn", "--next", "orders.txt", "--memory-limit", "1MB"], "more than the limit"),
    ] {
        let ended = place.run(args);
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{words} in {}", ended.stderr);
        assert!(!place.path("runs").exists(), "{args:?}");
    }
    learn(&place, &["orders.txt", "--out", "run"]);
    for (args, words) in [
        (&["--fail-under", "0.5", "open"][..], "--fail-under"),
        (&["--engine", "reference", "open"], "--engine reference"),
        (&["--file", "missing.txt"], "there is no such file"),
    ] {
        let ended = place.run(&[&["predict", "run"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{words} in {}", ended.stderr);
    }
    let stored = read(place.path("run/model/next.json"));
    place.write("run/model/next.json", &stored.replace("srnn-next-1", "srnn-next-7"));
    let ended = place.run(&["predict", "run", "open"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("next.json: another format"), "{}", ended.stderr);
}
