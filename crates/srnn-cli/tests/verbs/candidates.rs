//! `learn` on files: several kinds of models are compared, and one is kept.

use super::program::srnn;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Pseudo-random numbers below `n`.
fn draws() -> impl FnMut(usize) -> usize {
    let mut state = 1u64;
    move |n| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    }
}

/// Words of 8 letters, `count` of them; the label says whether the words pass a test.
fn words(folder: &Path, count: usize, test: fn(&str) -> bool) {
    let (mut draw, mut text) = (draws(), "label,sequence\n".to_string());
    for _ in 0..count {
        let word: Vec<&str> = (0..8).map(|_| ["a", "b", "c"][draw(3)]).collect();
        let word = word.join(" ");
        let _ = writeln!(text, "{},{word}", if test(&word) { "yes" } else { "no" });
    }
    fs::write(folder.join("words.csv"), text).unwrap();
}

/// Words of 40 letters; the label is decided by the letter at position 20.
fn positions(folder: &Path) {
    let (mut draw, mut text) = (draws(), "label,sequence\n".to_string());
    for _ in 0..400 {
        let letters: Vec<&str> = (0..40).map(|_| ["a", "c", "g", "t"][draw(4)]).collect();
        let label = if ["a", "c"].contains(&letters[19]) { "yes" } else { "no" };
        let _ = writeln!(text, "{label},{}", letters.concat());
    }
    fs::write(folder.join("dna.csv"), text).unwrap();
}

fn candidate<'a>(result: &'a Value, kind: &str) -> &'a Value {
    let all = result["candidates"].as_array().unwrap();
    all.iter().find(|candidate| candidate["kind"] == kind).unwrap()
}

#[test]
fn all_kinds_of_models_are_compared_and_the_run_repeats_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 200, |word| word.starts_with('a'));
    let learn = ["learn", "words.csv", "--budget", "1s", "--split", "0.6/0.2/0.2", "--json"];
    let result = srnn(folder.path(), &learn).yes().json();
    let kinds: Vec<&str> = result["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["kind"].as_str().unwrap())
        .collect();
    let expected =
        ["majority", "automaton", "merged", "sr-gru", "sr-lstm-p", "ngrams", "gru", "lstm"];
    assert_eq!(kinds, expected);
    let kept: Vec<&Value> =
        result["candidates"].as_array().unwrap().iter().filter(|c| c["kept"] == true).collect();
    assert_eq!(kept.len(), 1, "{result}");
    assert_eq!(kept[0]["kind"], result["comparison"]["kept"]);
    // Features by position make the baseline perfect, so what is kept is nearly perfect, too.
    assert!(kept[0]["test"].as_f64().unwrap() > 0.9, "{result}");
    let again = ["learn", "--config", "runs/words/config.toml", "--threads", "1", "--json"];
    let again = srnn(folder.path(), &again).yes().json();
    for key in ["kept", "network", "confusion"] {
        assert_eq!(again[key], result[key], "{key}");
    }
    for key in ["kept", "best", "reason", "measure"] {
        assert_eq!(again["comparison"][key], result["comparison"][key], "{key}");
    }
    let text = srnn(folder.path(), &["resume", "runs/words"]).yes().stdout;
    assert!(text.contains("finished"), "{text}");
}

#[test]
fn kept_ngrams_predict_with_reasons_and_other_verbs_say_that_there_is_no_network() {
    let folder = tempfile::tempdir().unwrap();
    positions(folder.path());
    let learn = ["learn", "dna.csv", "--budget", "1s", "--json"];
    let result = srnn(folder.path(), &learn).yes().json();
    assert_eq!(result["kept"], json!({ "kind": "ngrams" }), "{result}");
    let valid = |kind: &str| candidate(&result, kind)["valid"].as_f64().unwrap();
    assert!(valid("ngrams") > valid("majority") + 0.1, "{result}");
    let word = |letter: &str| format!("{}{letter}{}", "t".repeat(19), "t".repeat(20));
    let predict = ["predict", "runs/dna", &word("c"), &word("g"), "--json"];
    let predicted = srnn(folder.path(), &predict).yes().json();
    let of = |index: usize, key: &str| predicted["predictions"][index][key].clone();
    assert_eq!((of(0, "label"), of(1, "label")), (json!("yes"), json!("no")));
    assert_eq!(of(0, "reasons")[0]["feature"], json!("c at position 20"), "{predicted}");
    let file = ["predict", "runs/dna", "--file", "dna.csv", "--fail-under", "0.9"];
    let text = srnn(folder.path(), &file).yes().stdout;
    assert!(text.contains("because of"), "{text}");
    srnn(folder.path(), &["predict", "runs/dna", "acx"]).no();
    let inspected = srnn(folder.path(), &["inspect", "runs/dna"]).yes().stdout;
    assert!(inspected.contains("logistic regression on"), "{inspected}");
    let flip = srnn(folder.path(), &["explain", "runs/dna", &word("c"), "--json"]).yes().json();
    assert_eq!((&flip["label"], &flip["flip"]["label"]), (&json!("yes"), &json!("no")));
    let edited: Vec<&str> =
        flip["flip"]["tokens"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    let replayed = srnn(folder.path(), &["predict", "runs/dna", &edited.concat(), "--json"]);
    assert_eq!(replayed.yes().json()["predictions"][0]["label"], json!("no"), "{flip}");
    assert_eq!(flip["reasons"][0]["feature"], json!("c at position 20"), "{flip}");
    for verb in [&["certify", "runs/dna"][..], &["extract", "runs/dna"]] {
        let ran = srnn(folder.path(), verb);
        assert_eq!(ran.code, 2, "{verb:?}: {}", ran.stdout);
        assert!(ran.stderr.contains("--prefer automaton"), "{verb:?}: {}", ran.stderr);
    }
    let damaged = folder.path().join("runs/dna/model/ngrams.json");
    fs::write(&damaged, "{}").unwrap();
    let ran = srnn(folder.path(), &["predict", "runs/dna", "a"]);
    assert!(ran.code == 2 && ran.stderr.contains("ngrams.json"), "{}", ran.stderr);
}

#[test]
fn a_regular_language_ends_with_the_short_training_and_a_proof() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 300, |word| !word.contains("a a"));
    let result = srnn(folder.path(), &["learn", "words.csv", "--json"]).yes().json();
    assert_eq!((&result["round"], &result["untrained_seeds"]), (&json!("short"), &json!([3, 4])));
    assert_eq!(result["comparison"]["kept"], json!("automaton"));
    assert_eq!(candidate(&result, "automaton")["proved"], json!(true));
    assert_eq!(candidate(&result, "lstm")["valid"], Value::Null, "it could not be better");
    srnn(folder.path(), &["check", "runs/words"]).yes();
}

#[test]
fn an_automaton_of_state_merging_becomes_a_network_with_a_proof() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 400, |word| word.matches('a').count() % 3 == 0);
    let learn = ["learn", "words.csv", "--budget", "1s", "--short-updates", "0", "--json"];
    let result = srnn(folder.path(), &learn).yes().json();
    assert_eq!(result["kept"], json!({ "kind": "merged" }), "{result}");
    assert_eq!(
        (&result["automaton"]["states"], &result["certificate"]["f32"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(result["network"]["valid_accuracy"], json!(1.0));
    srnn(folder.path(), &["check", "runs/words"]).yes();
    let spec = "re:([bc]*a[bc]*a[bc]*a)*[bc]*";
    srnn(folder.path(), &["certify", "runs/words", "--spec", spec]).yes();
    let predicted =
        srnn(folder.path(), &["predict", "runs/words", "a b a", "a a c a"]).yes().stdout;
    let labels: Vec<&str> =
        predicted.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(labels, ["no", "yes"], "{predicted}");
    let again = ["learn", "--config", "runs/words/config.toml", "--json"];
    let again = srnn(folder.path(), &again).yes().json();
    assert_eq!(again["automaton"], result["automaton"]);
    let text = srnn(folder.path(), &[&learn[..6], &["--out", "text"]].concat()).yes().stdout;
    assert!(
        text.contains("Automaton of state merging, written into a network, 3 states"),
        "{text}"
    );
}

#[test]
fn labels_that_a_merged_automaton_contradicts_are_listed_by_line() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 600, |word| word.matches('a').count() % 3 == 0);
    let text = fs::read_to_string(folder.path().join("words.csv")).unwrap();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    // Every fortieth label is wrong.
    for index in (40..=600).step_by(40) {
        let (label, word) = lines[index].split_once(',').unwrap();
        lines[index] = format!("{},{word}", if label == "yes" { "no" } else { "yes" });
    }
    fs::write(folder.path().join("words.csv"), lines.join("\n")).unwrap();
    let learn = ["learn", "words.csv", "--budget", "1s", "--short-updates", "0", "--json"];
    let result = srnn(folder.path(), &learn).yes().json();
    assert_eq!(result["kept"], json!({ "kind": "merged" }), "{result}");
    assert_eq!(result["automaton"]["states"], json!(3));
    assert_eq!(result["labels"]["verdict"], json!("contradicted"), "{}", result["labels"]);
    let listed = fs::read_to_string(folder.path().join("runs/words/wrong_labels.jsonl")).unwrap();
    let line = |text: &str| serde_json::from_str::<Value>(text).unwrap()["line"].as_u64().unwrap();
    let mut found: Vec<u64> = listed.lines().map(line).collect();
    found.sort_unstable();
    assert_eq!(found, (40..=600).step_by(40).map(|index| index + 1).collect::<Vec<u64>>());
    let inspected = srnn(folder.path(), &["inspect", "runs/words"]).yes().stdout;
    assert!(inspected.contains("15 labels suspected wrong"), "{inspected}");
    assert!(!inspected.contains("use the corrected labels"), "none was corrected: {inspected}");
}

#[test]
fn few_rows_are_cross_validated_and_the_table_says_so() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 100, |word| word.contains("a b") && word.ends_with('c'));
    let learn = ["learn", "words.csv", "--budget", "1s", "--split", "0.6/0.2/0.2"];
    let text = srnn(folder.path(), &learn).yes().stdout;
    assert!(text.contains("in 5 folds of 80 labelled sequences (cross-validation)"), "{text}");
    let result = fs::read_to_string(folder.path().join("runs/words/result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["comparison"]["folds"], json!(5));
    let ngrams = candidate(&result, "ngrams");
    assert_eq!(ngrams["score"], ngrams["cross_validated"], "{ngrams}");
    assert_eq!(candidate(&result, "automaton")["cross_validated"], Value::Null);
    for kind in ["sr-lstm-p", "gru", "lstm"] {
        let network = candidate(&result, kind);
        let remark = network["remark"].as_str().unwrap_or_default();
        let told = remark.contains("folds") || network["valid"].is_null();
        assert!(told, "its score is that of the validation set: {network}");
    }
    let many = tempfile::tempdir().unwrap();
    words(many.path(), 600, |word| word.starts_with('a'));
    let text = srnn(many.path(), &learn[..4]).yes().stdout;
    assert!(text.contains("on the validation set, the most readable first"), "{text}");
}

#[test]
fn a_diverged_sr_gru_is_a_row_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 600, |word| word.starts_with('a') != word.ends_with('b'));
    let settings = ["learn", "words.csv", "--budget", "1s", "--short-updates", "0"];
    let config = srnn(folder.path(), &[&settings[..], &["--print-config"]].concat()).yes().stdout;
    let diverging: Vec<String> = config
        .lines()
        .map(|line| match line.strip_prefix("rate = ") {
            Some(_) => "rate = 1e30".into(),
            None => line.into(),
        })
        .collect();
    assert!(diverging.iter().any(|line| line == "rate = 1e30"), "{config}");
    fs::write(folder.path().join("config.toml"), diverging.join("\n")).unwrap();
    let learn = ["learn", "--config", "config.toml", "--out", "run"];
    let text = srnn(folder.path(), &learn).yes().stdout;
    let row = text.lines().find(|line| line.contains("automaton (SR-GRU)")).unwrap();
    assert!(row.contains("failed: diverged"), "{text}");
    assert!(text.contains("kept: "), "{text}");
}

#[test]
fn progress_in_a_file_has_few_lines_and_a_budget_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 400, |word| word.matches('a').count() > word.matches('b').count());
    let started = std::time::Instant::now();
    let learn = ["learn", "words.csv", "--budget", "10s", "--threads", "2"];
    let ran = srnn(folder.path(), &learn).yes();
    // Unoptimised builds are slower, and other tests run at the same time.
    let allowed = if cfg!(debug_assertions) { 60 } else { 13 };
    let seconds = started.elapsed().as_secs_f64();
    assert!(seconds <= f64::from(allowed), "{seconds} s\n{}", ran.stdout);
    let ends_setup = |line: &str| line.starts_with("run ");
    let progress: Vec<&str> =
        ran.stderr.lines().skip_while(|line| !ends_setup(line)).skip(1).collect();
    assert!((3..=12).contains(&progress.len()), "{}", ran.stderr);
}

#[test]
fn a_rare_class_has_weights_unless_they_are_turned_off() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 600, |word| word.contains("a b c a"));
    let learn = ["learn", "words.csv", "--budget", "1s", "--short-updates", "0"];
    let text = srnn(folder.path(), &learn).yes().stdout;
    assert!(text.contains("Candidates by F1 of yes"), "{text}");
    assert!(text.contains("class weights: no 0."), "{text}");
    let off = [&learn[..], &["--class-weights=none", "--json"]].concat();
    let result = srnn(folder.path(), &off).yes().json();
    assert_eq!(result["comparison"]["class_weights"], json!([]), "{result}");
    let even = tempfile::tempdir().unwrap();
    words(even.path(), 600, |word| word.starts_with('a'));
    let text = srnn(even.path(), &learn).yes().stdout;
    assert!(!text.contains("class weights"), "{text}");
}

#[test]
fn the_width_of_the_embedding_is_an_option() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 60, |word| word.starts_with('a'));
    let config = ["learn", "words.csv", "--embedding", "7", "--units", "9", "--print-config"];
    let text = srnn(folder.path(), &config).yes().stdout;
    assert!(text.contains("embedding = 7") && text.contains("units = 9"), "{text}");
    let refused = srnn(folder.path(), &["learn", "words.csv", "--embedding", "0"]);
    assert!(refused.code == 2 && refused.stderr.contains("--embedding"), "{}", refused.stderr);
}

#[test]
fn options_of_the_comparison_are_refused_if_one_network_is_trained() {
    let folder = tempfile::tempdir().unwrap();
    words(folder.path(), 40, |word| word.starts_with('a'));
    for more in [&["--prefer", "proof", "--units", "8"][..], &["--budget", "9s", "--arch", "gru"]] {
        let ran = srnn(folder.path(), &[&["learn", "words.csv"], more].concat());
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains("--candidates all"), "{}", ran.stderr);
    }
}
