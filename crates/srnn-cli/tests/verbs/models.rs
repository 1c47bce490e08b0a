//! `predict`, `extract` and `inspect`.

use super::program::{run_folder, sr_gru, sr_lstm, srnn, srnn_reading};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn predict(folder: &Path, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["predict"].iter().chain(arguments).copied().chain(["--json"]).collect();
    srnn(folder, &all).yes().json()
}

#[test]
fn words_get_a_label_the_probability_of_each_class_and_a_path() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let value = predict(folder.path(), &["run", "0110", ""]);
    let first = &value["predictions"][0];
    assert_eq!(first["tokens"], json!(["0", "1", "1", "0"]));
    let shares = first["probabilities"].as_object().unwrap();
    let total: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-9, "{shares:?}");
    let best = shares.iter().max_by(|a, b| a.1.as_f64().partial_cmp(&b.1.as_f64()).unwrap());
    assert_eq!(first["label"], json!(best.unwrap().0));
    assert_eq!(first["path"].as_array().unwrap().len(), 5);
    assert_eq!(first["agrees"], json!(true));
    assert_eq!(value["predictions"][1]["tokens"], json!([]));
    assert_eq!(value["disagreements"], json!(0));
    assert_eq!(value["accuracy"], json!(null));
}

#[test]
fn a_model_folder_and_its_run_predict_the_same() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let [run, model] = ["run", "run/model"].map(|path| predict(folder.path(), &[path, "01"]));
    assert_eq!(run["predictions"], model["predictions"]);
}

#[test]
fn stdin_has_one_word_per_line() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let ran = srnn_reading(folder.path(), &["predict", "run", "--json"], b"01\n\n1\n").yes();
    let value = ran.json();
    assert_eq!(value["predictions"].as_array().unwrap().len(), 3);
    assert_eq!(value["predictions"][2]["place"], json!("stdin:3"));
}

#[test]
fn a_file_may_have_labels_or_not() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file("bare.csv", "sequence\n01\n10\n");
    let value = predict(folder.path(), &["run", "--file", "bare.csv"]);
    let label = value["predictions"][0]["label"].as_str().unwrap().to_string();
    assert_eq!(value["predictions"][1]["place"], json!("bare.csv:3"));
    assert_eq!(value["accuracy"], json!(null));
    file("lines.txt", "01\n10\n");
    let lines = predict(folder.path(), &["run", "--file", "lines.txt", "--lines"]);
    assert_eq!(lines["predictions"][0]["probabilities"], value["predictions"][0]["probabilities"]);
    let other = if label == "accept" { "reject" } else { "accept" };
    file("labelled.csv", &format!("label,sequence\n{label},01\n{other},01\n{label},0x\n,1\n"));
    let value = predict(folder.path(), &["run", "--file", "labelled.csv"]);
    assert_eq!(value["predictions"].as_array().unwrap().len(), 4);
    assert!((value["accuracy"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(value["not_labelled"], json!(1));
    let unreadable: u64 = value["confusion"]["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .sum();
    assert_eq!(unreadable, 1);
    let under = ["predict", "run", "--file", "labelled.csv", "--fail-under"];
    srnn(folder.path(), &[&under[..], &["0.9"]].concat()).no();
    srnn(folder.path(), &[&under[..], &["0.3"]].concat()).yes();
}

#[test]
fn an_unseen_token_without_unk_gives_no_label_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let value = srnn(folder.path(), &["predict", "run", "01x", "--json"]).no().json();
    let first = &value["predictions"][0];
    assert_eq!((&first["label"], &first["path"]), (&json!(null), &json!(null)));
    let reason = first["reason"].as_str().unwrap();
    assert!(reason.contains("\"x\", number 3"), "{reason}");
    let ran = srnn(folder.path(), &["predict", "run", "01x", "-q"]).no();
    assert_eq!(ran.stderr, "no input got a label\n");
    // One label is enough.
    predict(folder.path(), &["run", "01x", "01"]);
}

#[test]
fn an_unseen_token_is_read_as_unk_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = sr_gru(&["<unk>", "a", "b"], &["no", "yes"]);
    file.unknown = Some(0);
    file.save(&folder.path().join("m")).unwrap();
    let value = predict(folder.path(), &["m", "abz", "ab<"]);
    let [first, second] = [0, 1].map(|i| &value["predictions"][i]);
    assert_eq!(first["unseen"], json!([{ "position": 3, "token": "z" }]));
    assert_eq!(first["probabilities"], second["probabilities"]);
    let ran = srnn(folder.path(), &["predict", "m", "abz"]).yes();
    assert!(ran.stderr.contains("\"z\", number 3, is read as \"<unk>\""), "{}", ran.stderr);
}

#[test]
fn words_are_split_by_the_rule_of_the_run_or_of_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    sr_gru(&["open", "close"], &["no", "yes"]).save(&folder.path().join("run/model")).unwrap();
    let tokens =
        |arguments: &[&str]| predict(folder.path(), arguments)["predictions"][0]["tokens"].clone();
    assert_eq!(tokens(&["run", "open close"]), json!(["open", "close"]));
    assert_eq!(tokens(&["run", "open,close", "--tokens", "separator:,"]), json!(["open", "close"]));
    fs::write(folder.path().join("run/data.json"), r#"{"tokens": {"Separator": "-"}}"#).unwrap();
    assert_eq!(tokens(&["run", "open-close"]), json!(["open", "close"]));
}

#[test]
fn a_disagreement_of_network_and_automaton_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let label = predict(folder.path(), &["run", "01"])["predictions"][0]["label"].clone();
    let other = if label == "accept" { "re:∅" } else { "re:.*" };
    let file = "run/automaton/automaton.json";
    let arguments = ["convert", other, file, "--alphabet", "01", "--force"];
    srnn(folder.path(), &arguments).yes();
    // An expression for nothing says the other thing of every word.
    let ran = srnn(folder.path(), &["predict", "run", "01", "--json"]).yes();
    assert_eq!(ran.json()["predictions"][0]["agrees"], json!(false));
    assert_eq!(ran.json()["disagreements"], json!(1));
    assert!(ran.stderr.contains("its automaton"), "{}", ran.stderr);
}

#[test]
fn extraction_writes_three_files_and_reports_agreement() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let value = srnn(folder.path(), &["extract", "run", "--out", "out", "--json"]).yes().json();
    let way = &value["ways"][0];
    assert_eq!(way["method"], json!("cover"));
    assert_eq!(way["agreement"]["part"], json!(1.0));
    assert_eq!(way["unknown_pairs"], json!([]));
    assert!(way["used_centroids"][0].as_u64().unwrap() <= 3);
    assert_eq!(way["files"].as_array().unwrap().len(), 3);
    for extension in ["json", "dot", "svg"] {
        assert!(folder.path().join(format!("out/automaton.{extension}")).is_file());
    }
}

#[test]
fn all_four_methods_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    fs::write(folder.path().join("a.csv"), "sequence,label\n01,x\n11,y\n0z,x\n").unwrap();
    let arguments =
        ["extract", "run", "--method", "all", "--data", "a.csv", "--tau", "0.5", "--json"];
    let ran = srnn(folder.path(), &arguments);
    let value = ran.json();
    let names: Vec<&str> =
        value["ways"].as_array().unwrap().iter().map(|w| w["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["cover", "soft", "hard", "table"]);
    assert_eq!(value["data"], json!({ "words": 2, "unreadable": 1 }));
    assert!(value["ways"][3]["refused"].is_null());
    assert!(folder.path().join("run/automaton/hard_table.json").is_file());
}

#[test]
fn extraction_shows_where_the_counted_automaton_differs_from_the_network() {
    let folder = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/counted-wrong");
    let model = model.to_str().unwrap();
    let arguments = ["extract", model, "--method", "all", "--out", "out", "--words", "5000"];
    let ran = srnn(folder.path(), &arguments).yes();
    let wrong = "agrees with the network on 2,030 of 4,095 (49.57 %), differs on \"000\"";
    assert!(ran.stdout.contains(wrong), "{}", ran.stdout);
    // The network is right: its cover is the language, and it rejects the word.
    srnn(folder.path(), &["compare", "out/automaton.json", "tomita:4"]).yes();
    let word = predict(folder.path(), &[model, "000"]);
    assert_eq!(word["predictions"][0]["label"], json!("reject"));
    assert_eq!(srnn(folder.path(), &["compare", "out/counted_soft.json", "tomita:4"]).code, 1);
}

#[test]
fn a_network_with_a_cell_state_has_no_automaton_and_predicts_without_one() {
    let folder = tempfile::tempdir().unwrap();
    sr_lstm(&["0", "1"], &["no", "yes"]).save(&folder.path().join("m")).unwrap();
    let ran = srnn(folder.path(), &["extract", "m"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("train an SR-GRU"), "{}", ran.stderr);
    assert_eq!(predict(folder.path(), &["m", "01"])["predictions"][0]["path"], json!(null));
}

#[test]
fn inspection_describes_every_kind_of_file() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let about = |path: &str| srnn(folder.path(), &["inspect", path, "--json"]).yes().json();
    let model = about("run/model");
    assert_eq!(model["kind"], json!("model"));
    let sizes =
        model["tensors"].as_array().unwrap().iter().map(|t| t["parameters"].as_u64().unwrap());
    assert_eq!(json!(sizes.sum::<u64>()), model["parameters"]);
    assert!(model["in_words"].as_str().unwrap().contains("SR-GRU of 4 units, 3 centroids"));
    assert_eq!(model["digest"].as_str().unwrap().len(), 64);
    let run = about("run");
    assert_eq!(run["kind"], json!("run"));
    assert_eq!(run["model"]["digest"], model["digest"]);
    assert_eq!(run["data"]["sequences"], json!(7));
    let result = json!({ "kept": { "seed": 2 }, "seeds": [
        { "seed": 1, "updates": 9, "train_accuracy": 0.5, "valid_accuracy": null },
        { "seed": 2, "updates": 8, "train_accuracy": 1.0, "valid_accuracy": 0.75 }] });
    fs::write(folder.path().join("run/result.json"), result.to_string()).unwrap();
    assert_eq!(run["automaton"]["acceptor"], json!(true));
    assert_eq!(about("run/model/config.json")["kind"], json!("model"));
    assert_eq!(about("run/model/model.safetensors")["kind"], json!("tensors"));
    assert_eq!(about("run/automaton/automaton.dot")["kind"], json!("automaton"));
    let text = srnn(folder.path(), &["inspect", "run"]).yes().stdout;
    assert!(text.contains("embedding.weight") && text.contains("→"), "{text}");
    assert!(text.contains("seed 1: 9 updates, train 50.00 %, validation –\n"), "{text}");
    assert!(text.contains("seed 2: 8 updates, train 100.00 %, validation 75.00 %, kept"), "{text}");
}

#[test]
fn inspection_of_a_run_shows_its_proof_and_its_wrong_labels() {
    let folder = tempfile::tempdir().unwrap();
    super::proofs::trained(folder.path());
    let inspect = || srnn(folder.path(), &["inspect", "run"]).yes().stdout;
    assert!(inspect().contains("result: none, so the run is not finished"), "{}", inspect());
    let result = json!({ "kept": { "seed": 1 }, "seeds": [] });
    fs::write(folder.path().join("run/result.json"), result.to_string()).unwrap();
    assert!(inspect().contains("certificate: none, so nothing is proved"), "{}", inspect());
    assert!(!inspect().contains("suspected"), "{}", inspect());
    let data = r#"{"tokens": "Characters", "labels_flipped": 0}"#;
    fs::write(folder.path().join("run/data.json"), data).unwrap();
    assert!(!inspect().contains("labels flipped"), "{}", inspect());
    fs::write(folder.path().join("run/data.json"), data.replace('0', "3")).unwrap();
    assert!(inspect().contains("labels flipped     3\n"), "{}", inspect());
    srnn(folder.path(), &["certify", "run"]).yes();
    fs::write(folder.path().join("run/wrong_labels.jsonl"), "{}\n{}\n").unwrap();
    let result = json!({ "kept": { "seed": 1 }, "seeds": [
        { "seed": 1, "updates": 9, "train_accuracy": 1.0, "valid_accuracy": 1.0,
          "by_given_labels": { "valid_accuracy": 0.75 } }] });
    fs::write(folder.path().join("run/result.json"), result.to_string()).unwrap();
    for said in [
        "in the engines reference, cpu.",
        "2 labels suspected wrong, listed in run/wrong_labels.jsonl",
        "validation 100.00 % as corrected, 75.00 % as given, kept",
    ] {
        assert!(inspect().contains(said), "{said}: {}", inspect());
    }
    let value = srnn(folder.path(), &["inspect", "run", "--json"]).yes().json();
    assert_eq!(value["wrong_labels"]["count"], json!(2));
    assert_eq!(value["certificate"]["engines"], json!(["reference", "cpu"]));
}

#[test]
fn inspection_reads_checkpoints() {
    use srnn::engine::Snapshot;
    use srnn::train::{Checkpoint, CheckpointFolder, CheckpointStore, Progress, RunIdentity};
    let folder = tempfile::tempdir().unwrap();
    let identity =
        RunIdentity { config: "c".into(), data: "d".into(), parameters: 2, moments: 0, carried: 0 };
    let snapshot = Snapshot { params: vec![1.0f32, 2.0], moments: vec![], updates: 30 };
    let progress = Progress { update: 30, ..Progress::default() };
    let checkpoint = Checkpoint {
        progress,
        snapshot,
        best: None,
        average: None,
        phases: vec![],
        carried: vec![],
    };
    let mut keeper = CheckpointFolder::new(folder.path().join("checkpoints/seed-1"));
    keeper.save(&identity, &checkpoint).unwrap();
    let about = |path: &str| srnn(folder.path(), &["inspect", path, "--json"]).yes().json();
    assert_eq!(about("checkpoints")["folders"][0]["updates"], json!([30]));
    let one = about("checkpoints/seed-1/update-0000030");
    assert_eq!((&one["kind"], &one["update"]), (&json!("checkpoint"), &json!(30)));
    assert_eq!(one["tensors"][0]["shape"], json!([2]));
    let state = folder.path().join("checkpoints/seed-1/update-0000030/state.safetensors");
    fs::write(&state, &fs::read(&state).unwrap()[..20]).unwrap();
    let ran = srnn(folder.path(), &["inspect", "checkpoints/seed-1/update-0000030"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the manifest says"), "{}", ran.stderr);
}

#[test]
fn the_automaton_of_a_finished_run_stays_unless_it_is_forced() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    fs::write(folder.path().join("run/result.json"), "{}").unwrap();
    let file = folder.path().join("run/automaton/automaton.json");
    fs::write(&file, "mine").unwrap();
    let ran = srnn(folder.path(), &["extract", "run", "--words", "500"]).yes();
    assert!(ran.stderr.contains("automaton.json is kept"), "{}", ran.stderr);
    assert!(ran.stdout.contains("wrote run/automaton/cover.json"), "{}", ran.stdout);
    let soft = ["extract", "run", "--words", "500", "--method", "soft", "--force"];
    let ran = srnn(folder.path(), &soft).yes();
    assert!(ran.stdout.contains("wrote run/automaton/counted_soft.json"), "{}", ran.stdout);
    srnn(folder.path(), &["extract", "run", "--words", "500", "--tau", "0.5", "--force"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    srnn(folder.path(), &["extract", "run", "--words", "500", "--force"]).yes();
    assert_ne!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn agreement_on_data_is_shown_only_with_data() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    fs::write(folder.path().join("a.csv"), "sequence\n01\n").unwrap();
    let with = ["extract", "run", "--words", "500", "--data", "a.csv"];
    assert!(srnn(folder.path(), &with).yes().stdout.contains("on the data"));
    let without = srnn(folder.path(), &with[..4]).yes().stdout;
    assert!(!without.contains("on the data"), "{without}");
}

#[test]
fn a_damaged_automaton_is_a_warning_and_the_network_predicts() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    fs::write(folder.path().join("run/automaton/automaton.json"), "{").unwrap();
    let ran = srnn(folder.path(), &["predict", "run", "01", "--json"]).yes();
    assert!(ran.stderr.contains("warning: no path"), "{}", ran.stderr);
    assert!(ran.json()["predictions"][0]["label"].is_string());
}

#[test]
fn spaces_between_single_characters_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let value = predict(folder.path(), &["run", "0 1 1", "011"]);
    assert_eq!(value["predictions"][0]["tokens"], value["predictions"][1]["tokens"]);
    sr_gru(&[" ", "a"], &["no", "yes"]).save(&folder.path().join("m")).unwrap();
    let value = predict(folder.path(), &["m", "a a"]);
    assert_eq!(value["predictions"][0]["tokens"], json!(["a", " ", "a"]));
    sr_gru(&["open door", "close"], &["no", "yes"]).save(&folder.path().join("w")).unwrap();
    let ran = srnn(folder.path(), &["predict", "w", "open door"]).no();
    assert!(ran.stderr.contains("--tokens separator:,"), "{}", ran.stderr);
}

#[test]
fn a_missing_run_is_answered_with_the_most_similar_name() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    for command in [&["predict", "rnu", "01"][..], &["resume", "runs"], &["compare", "rum", "run"]]
    {
        let ran = srnn(folder.path(), command);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("there is run\n") || ran.stderr.contains("there is run;"));
    }
}

#[test]
fn a_network_without_an_automaton_is_not_sent_to_extract() {
    let folder = tempfile::tempdir().unwrap();
    sr_lstm(&["0", "1"], &["no", "yes"]).save(&folder.path().join("m")).unwrap();
    let ran = srnn(folder.path(), &["compare", "m", "tomita:1"]);
    assert!(
        ran.stderr.contains("sr-gru") && !ran.stderr.contains("srnn extract"),
        "{}",
        ran.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_not() {
    use std::process::{Command, Stdio};
    for verb in ["compare tomita:1 tomita:1", "convert tomita:1 - --to dot", "--help", ""] {
        let command = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_srnn"));
            command.args(verb.split_ascii_whitespace()).stderr(Stdio::piped());
            command
        };
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = command().stdout(full).output().unwrap();
        assert_eq!(ended.status.code(), Some(2), "{verb}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = command().stdout(writer).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{verb}");
        assert_eq!(ended.stderr, b"", "{verb}");
    }
}
