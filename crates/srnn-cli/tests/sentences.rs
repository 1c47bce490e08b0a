//! Models that read texts: trained on reviews, on a table or on a corpus, used on sentences as people
//! type them.

mod common;

use common::texts::{write_corpus, write_reviews};
use common::{Ended, TestFolder};
use serde_json::{Value, json};
use std::io::Write as _;
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

/// A folder with a model that was trained on the reviews.
fn trained() -> TestFolder {
    let place = TestFolder::new();
    place.write("reviews.toml", REVIEWS);
    write_reviews(&place.path("sets/imdb"), 2);
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

/// A language model of five words, `<unk>` and `<eos>`.
const CORPUS: &str = r#"
item = "words"
title = "Words"
about = "A test"
seeds = 1
measure = "perplexity"
[[data]]
name = "made-up"
spec = "corpus:words:vocabulary=7:window=4"
seed = 1
[[models]]
name = "lstm"
arch = "lstm"
units = 8
layers = 2
[[settings]]
name = "plain"
readout = "u"
updates = 150
train = { validate_every = 50, batch_size = 4, sampling = "streams", learning_rate = { kind = "constant", rate = 0.03 }, schedule = { curriculum = 0 } }
[[tests]]
name = "all"
spec = "corpus"
strings = 2
"#;

const LANGUAGE_MODEL: &str = "out/models/made-up/lstm/plain/seed-1";

/// A folder with a language model of the lines `the cat sat down` and `the dog sat down`.
fn language_model() -> TestFolder {
    let place = TestFolder::new();
    place.write("words.toml", CORPUS);
    write_corpus(&place.path("sets/words"));
    let files = ["--file", "words.toml", "--data", "sets", "--out", "out"];
    let ended = place.run(&[&["reproduce"], &files[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    place
}

/// The word of an object `{ "word": …, "probability": … }`, and its probability.
fn word(value: &Value) -> (&str, f64) {
    (value["word"].as_str().unwrap(), value["probability"].as_f64().unwrap())
}

#[test]
fn a_language_model_gives_the_next_words_and_the_perplexity_of_a_sentence() {
    let place = language_model();
    let found = predictions(&place, &[LANGUAGE_MODEL, "the dog sat", "the"]);
    let next: Vec<(&str, f64)> = found[0]["next"].as_array().unwrap().iter().map(word).collect();
    assert_eq!(next.len(), 5);
    assert!(next[0].0 == "down" && next[0].1 > 0.9, "{next:?}");
    assert!(next.is_sorted_by(|a, b| a.1 >= b.1), "{next:?}");
    let after_the = found[1]["next"].as_array().unwrap()[..2].iter().map(word);
    let mut animals: Vec<&str> = after_the.map(|(word, _)| word).collect();
    animals.sort();
    assert_eq!(animals, ["cat", "dog"], "{found:?}");

    let words = found[0]["words"].as_array().unwrap();
    let (first, probability) = word(&words[0]);
    assert!(first == "the" && probability > 0.9, "the first word follows <eos>: {words:?}");
    let surprises: Vec<f64> = words.iter().map(|w| w["surprise"].as_f64().unwrap()).collect();
    for (word, surprise) in words.iter().zip(&surprises) {
        let probability = word["probability"].as_f64().unwrap();
        assert!((surprise + probability.log2()).abs() < 1e-9, "{word}");
    }
    let expected = (surprises.iter().sum::<f64>() / 3.0).exp2();
    assert!((found[0]["perplexity"].as_f64().unwrap() - expected).abs() < 1e-9, "{found:?}");
    assert!((1.05..2.0).contains(&expected), "one of three words has two choices: {expected}");

    let text = place.run(&["predict", LANGUAGE_MODEL, "the dog sat"]).stdout;
    let start = format!("the dog sat\tperplexity: {expected:.2}\tnext words: down 0.9");
    assert!(text.starts_with(&start), "{text}");
    assert_eq!(text.matches(", ").count(), 4, "{text}");
}

#[test]
fn a_language_model_predicts_a_word_from_those_before_it_in_every_engine() {
    let place = language_model();
    let long = "the cat sat down <eos> the dog sat down <eos> ".repeat(15);
    let sentences = [LANGUAGE_MODEL, &long, "the dog", "the"];
    let found = predictions(&place, &sentences);
    let reference = predictions(&place, &[&sentences[..], &["--engine", "reference"]].concat());
    let list = |value: &Value, key: &str| -> Vec<f64> {
        value[key].as_array().unwrap().iter().map(|found| word(found).1).collect()
    };
    let close = |a: &[f64], b: &[f64]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4)
    };
    for (cpu, reference) in found.iter().zip(&reference) {
        for key in ["words", "next"] {
            assert!(close(&list(cpu, key), &list(reference, key)), "{cpu} {reference}");
        }
    }
    assert_eq!(list(&found[0], "words").len(), 150, "longer than a batch");
    assert!(list(&found[0], "words").iter().all(|&p| p > 0.3), "{}", found[0]);
    let dog = list(&found[1], "words")[1];
    let after_the = found[2]["next"].as_array().unwrap().iter().map(word);
    let expected = after_the.into_iter().find(|(word, _)| *word == "dog").unwrap().1;
    assert!((dog - expected).abs() < 1e-6, "{dog} {expected}");
}

#[test]
fn a_language_model_reads_unknown_words_as_unk_and_names_them() {
    let place = language_model();
    let typed = predictions(&place, &[LANGUAGE_MODEL, "the Zebra sat"]);
    let named = predictions(&place, &[LANGUAGE_MODEL, "the <unk> sat"]);
    assert_eq!(typed[0]["unseen"], json!([{ "position": 2, "token": "Zebra" }]));
    assert_eq!(named[0]["unseen"], json!([]));
    for key in ["next", "perplexity"] {
        assert_eq!(typed[0][key], named[0][key]);
    }
    assert_eq!(typed[0]["words"][1]["word"], json!("Zebra"));
    let warned = place.run(&["predict", LANGUAGE_MODEL, "the Zebra sat on it"]).stderr;
    let expected = "argument 1: \"Zebra\", word 2, is read as \"<unk>\" (and 2 more)";
    assert!(warned.contains(expected), "{warned}");
}

#[test]
fn a_language_model_reads_lines_and_has_no_perplexity_of_an_empty_one() {
    let place = language_model();
    place.write("lines.txt", "the dog sat\n\n");
    let lines = predictions(&place, &[LANGUAGE_MODEL, "--file", "lines.txt", "--lines"]);
    let typed = predictions(&place, &[LANGUAGE_MODEL, "the dog sat"]);
    assert_eq!(lines[0]["next"], typed[0]["next"]);
    assert_eq!((&lines[1]["perplexity"], &lines[1]["words"]), (&Value::Null, &json!([])));
    assert_eq!(lines[1]["next"][0]["word"], json!("the"));
    let empty = place.run(&["predict", LANGUAGE_MODEL, ""]).stdout;
    assert!(empty.starts_with("ε\tperplexity: -\tnext words: the 0."), "{empty}");
    place.write("table.csv", "text;label\nthe dog sat;good\n");
    let table = place.run(&["predict", LANGUAGE_MODEL, "--file", "table.csv"]);
    assert!(table.stderr.contains("the labels of the file are not used"), "{}", table.stderr);
    let file = ["--file", "table.csv", "--fail-under", "0.5"];
    let refused = place.run(&[&["predict", LANGUAGE_MODEL], &file[..]].concat());
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("is a language model"), "{}", refused.stderr);
}

#[test]
fn a_copying_model_is_not_a_language_model() {
    let place = TestFolder::new();
    let text = CORPUS.replace("corpus:words:vocabulary=7:window=4", "copy:T=3:40");
    let text = text.replace("spec = \"corpus\"", "spec = \"copy\"").replace("streams", "epochs");
    place.write("copy.toml", &text.replace("\"perplexity\"", "\"cross-entropy\""));
    let ended = place.run(&["reproduce", "--file", "copy.toml", "--out", "out"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = predictions(&place, &[LANGUAGE_MODEL, "1234"]);
    assert!(found[0]["label"].is_string() && found[0]["next"].is_null(), "{}", found[0]);
}
