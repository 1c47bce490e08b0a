//! Models that read texts: trained on reviews or on a table, used on sentences as people type them.

mod common;

use common::{Ended, TestFolder};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

/// Reviews in lower case and upper case, with words that are in one class only.
const REVIEWS: &str = r#"
item = "reviews"
title = "Reviews"
about = "A test"
seeds = 1
[[data]]
name = "made-up"
spec = "imdb:vocabulary=14"
seed = 1
[[models]]
name = "sr-lstm-p"
arch = "sr-lstm-p"
units = 6
k = 3
[[settings]]
name = "plain"
readout = "hc"
updates = 150
train = { validate_every = 50, learning_rate = { kind = "constant", rate = 0.02 } }
[[tests]]
name = "all"
spec = "imdb"
strings = 2
"#;

const MODEL: &str = "out/models/made-up/sr-lstm-p/plain/seed-1";

/// Lines `label \t id \t stars \t text`.
fn write_reviews(folder: &Path) {
    let line = |id: usize, label: usize| {
        let word = ["dull", "GRAND"][label];
        format!("{label}\t{id}\t7\tA {word} film, isn't it? Number {id}!\n")
    };
    let lines = |count: usize| (0..count).map(|n| line(n / 2, n % 2)).collect::<String>();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("train.tsv"), lines(60)).unwrap();
    std::fs::write(folder.join("test.tsv"), lines(2)).unwrap();
}

/// A folder with a model that was trained on the reviews.
fn trained() -> TestFolder {
    let place = TestFolder::new();
    place.write("reviews.toml", REVIEWS);
    write_reviews(&place.path("sets/imdb"));
    let files = ["--file", "reviews.toml", "--data", "sets", "--out", "out"];
    let ended = place.run(&[&["reproduce"], &files[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    place
}

fn predictions(place: &TestFolder, arguments: &[&str]) -> Vec<Value> {
    let value = place.run(&[&["predict"], arguments, &["--json"]].concat()).good();
    value["predictions"].as_array().unwrap().clone()
}

#[test]
fn a_typed_sentence_becomes_the_tokens_of_the_reviews_and_gets_a_class() {
    let place = trained();
    let found = predictions(&place, &[MODEL, "A grand FILM, isn't it?", "a Dull film!"]);
    let tokens = ["a", "grand", "film", ",", "isn", "&apos;t", "it", "?"];
    assert_eq!(found[0]["tokens"], json!(tokens));
    assert_eq!(found[0]["unseen"], json!([]));
    let labels: Vec<&Value> = found.iter().map(|one| &one["label"]).collect();
    assert_eq!(labels, ["positive", "negative"], "{found:?}");
    let split = predictions(&place, &[MODEL, &tokens.join(" "), "--tokens", "whitespace"]);
    assert_eq!(split[0]["probabilities"], found[0]["probabilities"]);
    let text = place.run(&["predict", MODEL, "a Dull film!"]).stdout;
    assert!(text.starts_with("a dull film !\tnegative\tnegative 0.9"), "{text}");
}

#[test]
fn words_that_training_has_not_seen_are_read_as_unk_and_named() {
    let place = trained();
    let typed = predictions(&place, &[MODEL, "A grand Zebra"]);
    assert_eq!(typed[0]["unseen"], json!([{ "position": 3, "token": "zebra" }]));
    let named = predictions(&place, &[MODEL, "a grand <unk>", "--tokens", "whitespace"]);
    assert_eq!(typed[0]["probabilities"], named[0]["probabilities"]);
    let strange = place.run(&["predict", MODEL, "Zebras yawn", "A grand yawn"]);
    assert_eq!(strange.code, Some(0));
    let expected = "argument 1: 0 of 2 tokens are known: each is read as \"<unk>\", so the label \
                    depends only on their number";
    assert!(strange.stderr.contains(expected), "{}", strange.stderr);
    assert!(!strange.stderr.contains("argument 2: 0 of"), "{}", strange.stderr);
}

const LINES: &str = "A grand FILM, isn't it?\na Dull film!\n";

#[test]
fn sentences_of_files_and_of_stdin_are_read_like_typed_ones() {
    let place = trained();
    let typed = predictions(&place, &[MODEL, "A grand FILM, isn't it?", "a Dull film!"]);
    place.write("lines.txt", LINES);
    let rows = "text;label\nA grand FILM, isn't it?;positive\na Dull film!;positive\n";
    place.write("table.csv", rows);
    let lines = predictions(&place, &[MODEL, "--file", "lines.txt", "--lines"]);
    let table = predictions(&place, &[MODEL, "--file", "table.csv"]);
    let mut command = place.command(&["predict", MODEL, "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(LINES.as_bytes()).unwrap();
    drop(stdin);
    let piped = Ended::of(child.wait_with_output().unwrap()).good();
    for found in [&lines, &table, piped["predictions"].as_array().unwrap()] {
        assert_eq!(found.len(), typed.len());
        for (found, typed) in found.iter().zip(&typed) {
            for key in ["tokens", "label", "probabilities"] {
                assert_eq!(found[key], typed[key], "{found}");
            }
        }
    }
    let accuracy = place.run(&["predict", MODEL, "--file", "table.csv", "--json"]).good();
    assert_eq!(accuracy["accuracy"], json!(0.5));
}

#[test]
fn the_name_of_a_file_is_a_sentence_with_a_warning() {
    let place = trained();
    place.write("lines.txt", LINES);
    let named = place.run(&["predict", MODEL, "lines.txt", "A grand film."]);
    assert!(named.stdout.starts_with("lines.txt\t"), "{}", named.stdout);
    let warning = "\"lines.txt\" is read as a sequence: --file lines.txt --lines reads the lines";
    assert_eq!(named.stderr.matches("is read as a sequence").count(), 1, "{}", named.stderr);
    assert!(named.stderr.contains(warning), "{}", named.stderr);
}

#[test]
fn a_model_says_how_it_reads_texts_wherever_it_is_copied_to() {
    let place = trained();
    std::fs::rename(place.path(MODEL), place.path("copied")).unwrap();
    let found = predictions(&place, &["copied", "A GRAND film."]);
    assert_eq!(found[0]["tokens"], json!(["a", "grand", "film", "."]));
    let inspected = place.run(&["inspect", "copied"]).stdout;
    assert!(inspected.contains("tokens by the rule moses-lower-case"), "{inspected}");
    let explained = place.run(&["explain", "copied", "A GRAND film."]);
    assert!(explained.stdout.contains("grand"), "{}\n{}", explained.stdout, explained.stderr);
}

#[test]
fn ones_own_texts_are_learned_and_sentences_are_read_like_them() {
    let place = TestFolder::new();
    let row = |n: usize| format!("\"It's {}, No. {n}!\",{}\n", ["Bad", "GOOD"][n % 2], n % 2);
    place.write("own.csv", &format!("text,label\n{}", (0..40).map(row).collect::<String>()));
    let rule = ["own.csv", "--tokens", "moses-lower-case", "--min-count", "5", "--out", "own"];
    place.learn(&rule).good();
    for model in ["own", "own/model"] {
        let found = predictions(&place, &[model, "it's GOOD, no. 99!"]);
        let expected = ["it", "&apos;s", "good", ",", "no", ".", "99", "!"];
        assert_eq!(found[0]["tokens"], json!(expected), "{model}");
        assert_eq!(found[0]["unseen"][0]["token"], json!("no"), "{model}: No. 7 is one token");
    }
    let config = common::read(place.path("own/model/config.json"));
    assert!(config.contains("\"tokenizer\": \"moses-lower-case\""), "{config}");
}

#[test]
fn words_of_a_text_cannot_be_sent_to_a_program_by_the_rule_for_texts() {
    let place = TestFolder::new();
    let rule = ["conform", "tomita:1", "--tokens", "moses-lower-case", "--", "cat"];
    let ended = place.run(&rule);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("a text cannot be made from its tokens"), "{}", ended.stderr);
}
