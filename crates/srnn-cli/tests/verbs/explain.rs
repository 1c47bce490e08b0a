//! `explain`: sequences and files, and the files it writes.

use super::program::{run_folder, sr_gru, sr_lstm, srnn};
use serde_json::{Value, json};
use srnn::engine::key::Key;
use srnn::engine::model::{Model, ModelFile};
use srnn::train::{ArchName, Sizes, recipe_default};
use std::fs;
use std::path::Path;

fn explain(folder: &Path, arguments: &[&str]) -> Value {
    let all: Vec<&str> = ["explain"].iter().chain(arguments).copied().chain(["--json"]).collect();
    srnn(folder, &all).yes().json()
}

/// An SR-LSTM over parentheses, and some strings.
fn brackets(folder: &Path) {
    sr_lstm(&["(", ")", "a"], &["reject", "accept"]).save(&folder.join("m")).unwrap();
    let text = "label,sequence\naccept,(a(a))a\naccept,()()\nreject,)(\nreject,((x))\n";
    fs::write(folder.join("b.csv"), text).unwrap();
}

#[test]
fn a_sequence_is_explained_step_by_step_with_the_label_of_predict() {
    let folder = tempfile::tempdir().unwrap();
    run_folder(folder.path());
    let value = explain(folder.path(), &["run", "01 10"]);
    let steps = value["steps"].as_array().unwrap();
    let tokens: Vec<&Value> = steps.iter().map(|step| &step["token"]).collect();
    assert_eq!(tokens, ["start", "0", "1", "1", "0"]);
    for step in steps {
        let [first, second] = [0, 1].map(|i| step["largest"][i]["alpha"].as_f64().unwrap());
        assert!(first >= second && first + second <= 1.0 + 1e-6, "{step}");
        assert_eq!(step["centroid"], step["largest"][0]["centroid"]);
        assert!(step["h_norm"].as_f64().unwrap() > 0.0 && step["c_norm"].is_null(), "{step}");
    }
    let said = srnn(folder.path(), &["predict", "run", "0110", "--json"]).yes().json();
    for key in ["label", "probabilities"] {
        assert_eq!(value[key], said["predictions"][0][key]);
    }
    let shown = srnn(folder.path(), &["explain", "run", "0110"]).yes().stdout;
    assert!(shown.starts_with("0110\t") && shown.contains("\n4     0 "), "{shown}");
}

/// The tokens of the edited sequence as one argument.
fn edited(value: &Value) -> String {
    let tokens = value["flip"]["tokens"].as_array().expect("an edit was found");
    tokens.iter().map(|token| token.as_str().unwrap()).collect()
}

#[test]
fn a_grammar_is_explained_without_a_run_and_its_edit_changes_the_class() {
    let folder = tempfile::tempdir().unwrap();
    let value = explain(folder.path(), &["tomita:3", "0110"]);
    assert_eq!((&value["label"], &value["path"]), (&json!("accept"), &json!([0, 0, 1, 0, 0])));
    let other = explain(folder.path(), &["tomita:3", &edited(&value)]);
    assert_eq!((&value["flip"]["label"], &other["label"]), (&json!("reject"), &json!("reject")));
    assert_eq!(value["flip"]["shortest"], json!(true));
    let shown = srnn(folder.path(), &["explain", "tomita:3", "0110"]).yes().stdout;
    assert!(shown.starts_with("0110\taccept\n") && shown.contains("\nflip: "), "{shown}");
    // A file, an expression, and a class that no word leaves.
    srnn(folder.path(), &["convert", "tomita:4", "four.dot"]).yes();
    assert_eq!(explain(folder.path(), &["four.dot", "000"])["label"], json!("reject"));
    let drawn = explain(folder.path(), &["four.dot", "0100", "--out", "p"]);
    assert_eq!(drawn["files"], json!(["p/explanation.json", "p/path.svg"]));
    let svg = fs::read_to_string(folder.path().join("p/path.svg")).unwrap();
    assert!(svg.contains(">steps 1, 3</text>") && svg.contains("Path of 0100"), "{svg}");
    let none = explain(folder.path(), &["re:(a|b)*", "ab"]);
    assert_eq!((&none["label"], &none["flip"]["edits"]), (&json!("accept"), &Value::Null));
    let longer = explain(folder.path(), &["re:a*", "aab"]);
    assert_eq!((&longer["label"], &longer["flip"]["label"]), (&json!("reject"), &json!("accept")));
}

#[test]
fn the_edit_of_a_network_changes_its_prediction() {
    let folder = tempfile::tempdir().unwrap();
    let learn = ["learn", "tomita:2", "--out", "run", "--candidates", "one", "--quiet"];
    srnn(folder.path(), &learn).yes();
    for word in ["1010", "", "11", "101010101010101010101010101"] {
        let value = explain(folder.path(), &["run", word]);
        assert_eq!(value["flip"]["through"], json!("automaton"), "{value}");
        let said = srnn(folder.path(), &["predict", "run", &edited(&value), "--json"]).yes().json();
        assert_eq!(said["predictions"][0]["label"], value["flip"]["label"], "{value}");
        assert_ne!(value["label"], value["flip"]["label"], "{value}");
        assert_eq!(value["path"].as_array().unwrap().len(), word.len() + 1);
        assert_eq!(value["support_known"], json!(true), "{value}");
    }
    // Without its automaton, the network is asked.
    fs::remove_dir_all(folder.path().join("run/automaton")).unwrap();
    let value = explain(folder.path(), &["run", "1010"]);
    assert_eq!(value["flip"]["through"], json!("search"));
    let said = srnn(folder.path(), &["predict", "run", &edited(&value), "--json"]).yes().json();
    assert_eq!(said["predictions"][0]["label"], value["flip"]["label"], "{value}");
    let shown = srnn(folder.path(), &["explain", "run", "1010"]).yes().stdout;
    assert!(shown.contains("\nflip: ") && shown.contains("by step: "), "{shown}");
}

#[test]
fn the_step_that_training_has_not_seen_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // No training sequence goes on after a `b`.
    let rows: String = (0..40).map(|n| format!("y,{0}\nx,{0}b\n", "a".repeat(n))).collect();
    fs::write(folder.path().join("w.csv"), format!("label,sequence\n{rows}")).unwrap();
    let learn = ["learn", "w.csv", "--out", "run", "--candidates", "one", "--quiet"];
    srnn(folder.path(), &learn).yes();
    let seen = explain(folder.path(), &["run", "aaab"]);
    assert_eq!((&seen["support_known"], &seen["unsupported"]), (&json!(true), &Value::Null));
    let unseen = explain(folder.path(), &["run", "aaaba"]);
    assert_eq!(
        (&unseen["unsupported"]["kind"], &unseen["unsupported"]["position"]),
        (&json!("transition"), &json!(5)),
        "{unseen}"
    );
    let shown = srnn(folder.path(), &["explain", "run", "aaaba"]).yes().stdout;
    assert!(shown.contains("support: from token 5 "), "{shown}");
    // Other data than those of the training say nothing about it.
    fs::write(folder.path().join("w.csv"), "label,sequence\nx,a\ny,b\n").unwrap();
    let changed = explain(folder.path(), &["run", "aaaba"]);
    assert_eq!(changed["support_known"], json!(false), "{changed}");
}

#[test]
fn pictures_and_numbers_are_written_and_not_replaced_without_force() {
    let folder = tempfile::tempdir().unwrap();
    brackets(folder.path());
    let value = explain(folder.path(), &["m", "(a)", "--out", "p"]);
    let names = [
        "trajectory.json",
        "hidden.svg",
        "cell.svg",
        "alpha.svg",
        "token-bars.svg",
        "alpha-temperatures.svg",
    ];
    assert_eq!(value["files"], json!(names.map(|name| format!("p/{name}"))));
    let text = fs::read_to_string(folder.path().join("p/trajectory.json")).unwrap();
    let path: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(path["tokens"], json!(["start", "(", "a", ")"]));
    for (key, width) in [("h", 4), ("c", 4), ("alpha", 3)] {
        let steps = path[key].as_array().unwrap();
        assert!(steps.len() == 4 && steps[0].as_array().unwrap().len() == width, "{key}");
    }
    let again = ["explain", "m", "a", "--out", "p"];
    let ran = srnn(folder.path(), &again);
    assert!(ran.code == 2 && ran.stderr.contains("--force"), "{}", ran.stderr);
    srnn(folder.path(), &[&again[..], &["--force"]].concat()).yes();
    // A GRU has no cell state, and its folder no picture of one.
    run_folder(folder.path());
    explain(folder.path(), &["run", "01", "--out", "g"]);
    assert!(
        !folder.path().join("g/cell.svg").exists() && folder.path().join("g/alpha.svg").exists()
    );
}

#[test]
fn a_plain_network_is_explained_and_ten_of_many_units_are_lines() {
    let folder = tempfile::tempdir().unwrap();
    brackets(folder.path());
    let recipe = recipe_default(&Sizes { arch: ArchName::Lstm, units: 20, ..Sizes::of(3, 2) });
    let model = Model::new(recipe.arch, &recipe.init, Key::new(1)).unwrap();
    let [alphabet, classes] =
        [&["(", ")", "a"][..], &["no", "yes"]].map(|n| n.iter().map(|n| n.to_string()).collect());
    let file = ModelFile { model, alphabet, unknown: None, classes, image: None, tokenizer: None };
    file.save(&folder.path().join("lstm")).unwrap();
    let brackets = ["--open", "(", "--close", ")"];
    let value =
        explain(folder.path(), &[&["lstm", "((a)a)", "--out", "p"], &brackets[..]].concat());
    let names = ["trajectory.json", "hidden.svg", "hidden-units.svg", "cell.svg", "cell-units.svg"];
    assert_eq!(value["files"], json!(names.map(|name| format!("p/{name}"))));
    let lines = fs::read_to_string(folder.path().join("p/cell-units.svg")).unwrap();
    assert_eq!(lines.matches("<title>unit ").count(), 10);
    assert_eq!(lines.matches("stroke-width=\"3.2\"").count(), 2, "one is bold, in the legend too");
    assert_eq!(lines.matches(" (depth)</text>").count(), 1);
    let told = ["lstm", "--data", "b.csv", "--shortest", "5"];
    let value = explain(folder.path(), &[&told[..], &brackets[..]].concat());
    assert!(value["usage"].is_null() && value["machine"].is_null(), "{value}");
    assert!(value["drift"]["h"]["mean"].is_f64() && value["counters"].is_array(), "{value}");
}

#[test]
fn a_file_is_explained_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    brackets(folder.path());
    let value = explain(folder.path(), &["m", "--data", "b.csv", "--shortest", "5"]);
    assert_eq!((&value["sequences"], &value["unreadable"]), (&json!(3), &json!(1)));
    let visits = value["usage"]["visits"].as_array().unwrap();
    // Seven, four and two tokens, and a start token each.
    assert_eq!(visits.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 16);
    let ranked = value["usage"]["ranked"].as_array().unwrap();
    assert!((ranked.iter().map(|a| a.as_f64().unwrap()).sum::<f64>() - 1.0).abs() < 1e-5);
    assert_eq!(
        (&value["drift"]["h"]["rows"], &value["drift"]["c"]["rows"]),
        (&json!(2), &json!(2))
    );
    assert_eq!((&value["counters"], &value["machine"]), (&Value::Null, &Value::Null));
}

#[test]
fn depth_is_analysed_with_open_and_close() {
    let folder = tempfile::tempdir().unwrap();
    brackets(folder.path());
    let depth = ["m", "--data", "b.csv", "--open", "(", "--close", ")", "--out", "p"];
    let value = explain(folder.path(), &depth);
    let counters = value["counters"].as_array().unwrap();
    assert_eq!(counters.iter().map(|c| &c["of"]).collect::<Vec<_>>(), ["c", "h"]);
    let by_depth = counters[0]["readout"]["fit"]["by_quantity"].as_array().unwrap();
    let seen: Vec<i64> = by_depth.iter().map(|at| at["quantity"].as_i64().unwrap()).collect();
    assert_eq!(seen, [-1, 0, 1, 2]);
    assert_eq!(value["machine"]["classes"], json!(["(", ")", "other"]));
    for step in value["machine"]["moves"].as_array().unwrap() {
        let lost = step["from"]["depth"] == -1;
        let change = [1, -1, 0][step["class"].as_u64().unwrap() as usize];
        assert_eq!(step["change"], json!(if lost { 0 } else { change }), "{step}");
    }
    for name in ["ranked", "visits", "centroids", "counter", "machine", "unrolled"] {
        let svg = fs::read_to_string(folder.path().join(format!("p/{name}.svg"))).unwrap();
        assert!(
            svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"),
            "{name}"
        );
    }
}

#[test]
fn tokens_are_data_in_pictures_and_on_terminals() {
    let folder = tempfile::tempdir().unwrap();
    let symbols = ["<script>alert(1)</script>", "\u{1b}[2J", "a\"'&]]>"];
    sr_gru(&symbols, &["no", "<b>yes</b>\u{7}"]).save(&folder.path().join("m")).unwrap();
    let word = symbols.join("|");
    let ran =
        srnn(folder.path(), &["explain", "m", &word, "--tokens", "separator:|", "--out", "p"])
            .yes();
    assert!(!ran.stdout.contains(['\u{1b}', '\u{7}']), "{}", ran.stdout);
    for name in ["hidden", "alpha"] {
        let svg = fs::read_to_string(folder.path().join(format!("p/{name}.svg"))).unwrap();
        assert!(!svg.contains("<script") && !svg.contains('\u{1b}'), "{svg}");
        assert!(svg.contains("&lt;script&gt;") && svg.matches("</svg>").count() == 1, "{svg}");
    }
}

#[test]
fn errors_of_explain_have_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    brackets(folder.path());
    fs::write(folder.path().join("words.txt"), "(a)\n()\n").unwrap();
    let refused: [(&[&str], &str); 13] = [
        (&["none.dot", "0"], "no such file"),
        (&["tomtia:3", "0"], "did you mean tomita:3?"),
        (&["tomita:8", "0"], "tomita:1 to tomita:7"),
        (&["tomita:3", "01x"], "\"x\", number 3"),
        (&["tomita:3", "--data", "b.csv"], "predict --automaton"),
        (&["m", "()", "--tau", "0", "--out", "q"], "--tau 0"),
        (&["m", "--data", "words.txt"], "words.txt: every sequence is empty"),
        (&["m", "(x)"], "\"x\", number 2"),
        (&["m", "()", "--layer", "1"], "0 to 0"),
        (&["m"], "INPUT"),
        (&["m", "--data", "b.csv", "--open", "("], "--close"),
        (&["m", "--data", "b.csv", "--open", "[", "--close", ")"], "\"[\" is not a token"),
        (&["m", "--data", "none.csv"], "none.csv"),
    ];
    for (arguments, said) in refused {
        let ran = srnn(folder.path(), &[&["explain"], arguments].concat());
        assert!(ran.code == 2 && ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}
