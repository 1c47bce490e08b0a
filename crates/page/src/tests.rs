use super::*;
use serde_json::{Value, json};
use srnn_engine::key::Key;
use srnn_engine::model::{Arch, Init};
use srnn_engine::reference::{Reference, log_softmax};
use srnn_engine::{Batch, Fields, Mode, Runner as _};

/// An architecture over the symbols a, b, c; the rest is given.
fn arch(cell: Value, centroids: Value, [start, end]: [bool; 2], from: &str) -> Arch {
    let layer = json!({ "cell": cell, "units": 6, "gate": "sigmoid", "bias": true,
                        "centroids": centroids });
    let input =
        json!({ "kind": "tokens", "symbols": 3, "embedding": 5, "start": start, "end": end });
    let readout = json!({ "from": from, "when": "last" });
    let arch = json!({ "input": input, "layers": [layer.clone(), layer], "readout": readout,
                       "classes": 2 });
    serde_json::from_value(arch).unwrap()
}

fn network(arch: Arch) -> ModelFile {
    let model = Model::new(arch, &Init::default(), Key::new(3)).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let (alphabet, classes) = (names(&["a", "b", "c"]), names(&["no", "yes"]));
    ModelFile { model, alphabet, unknown: None, classes, image: None, tokenizer: None }
}

fn loaded(file: &ModelFile) -> PageFiles {
    let mut files = PageFiles::default();
    files.load(PageFile::Config, file.config_bytes()).unwrap();
    files.load(PageFile::Weights, file.weights_bytes()).unwrap();
    files
}

#[test]
fn after_each_prefix_the_network_answers_as_the_reference_engine_does() {
    let gru = json!({ "kind": "gru", "reset": "after-matrix" });
    let lstm = json!({ "kind": "lstm", "peephole": true });
    let centroids = json!({ "k": 4, "score": "dot", "tau": 0.7 });
    let archs = [
        arch(gru.clone(), centroids.clone(), [true, false], "h"),
        arch(gru.clone(), centroids.clone(), [false, true], "u"),
        arch(gru, Value::Null, [true, true], "h"),
        arch(lstm.clone(), centroids, [true, false], "h"),
        arch(lstm, Value::Null, [false, true], "h"),
    ];
    for arch in archs {
        let file = network(arch);
        let word = [0, 2, 1, 1, 0];
        let answer = loaded(&file).step(&word).unwrap();
        let mut engine = Reference::new(&file.model.to_f64());
        for length in 1..=word.len() {
            let prefix = word[..length].iter().copied();
            let batch = Batch::of_words(&file.model.arch.input, [prefix]);
            let Ok(trace) = engine.trace(&batch, Mode::default(), Fields::default());
            let expected = log_softmax(&trace.logits);
            let classes = answer["network"][length].as_array().unwrap();
            for class in classes {
                let at = file.classes.iter().position(|name| class["class"] == **name).unwrap();
                let found = class["probability"].as_f64().unwrap();
                assert!((found - expected[at].exp()).abs() < 1e-12, "{length}: {answer}");
            }
            assert!(classes[0]["probability"].as_f64() >= classes[1]["probability"].as_f64());
        }
    }
}

/// An automaton that counts a modulo 2; b is unknown in state 1.
const EVEN: &str = r#"{ "format": "srnn-automaton", "version": 1, "alphabet": ["a", "b"],
    "classes": ["odd", "even"], "start": 0,
    "states": [{"output": "even", "next": [1, 0]}, {"output": "odd", "next": [0, null]}] }"#;

#[test]
fn the_automaton_gives_the_state_and_class_after_each_prefix() {
    let mut files = PageFiles::default();
    files.load(PageFile::Automaton, EVEN.into()).unwrap();
    let answer = files.step(&[0, 0, 0, 1, 0]).unwrap();
    let [even, odd] =
        [json!({ "state": 0, "class": "even" }), json!({ "state": 1, "class": "odd" })];
    let expected = json!([even, odd, even, odd, null, null]);
    assert_eq!(answer, json!({ "automaton": expected, "network": null }));
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let mut files = PageFiles::default();
    files.load(PageFile::Automaton, EVEN.into()).unwrap();
    assert!(files.step(&[2]).unwrap_err().contains("no symbol 2"));
    assert!(files.step(&[0; 2001]).unwrap_err().contains("2001 symbols"));
    assert!(files.load(PageFile::Automaton, b"{}".to_vec()).is_err());
    let broken = EVEN.replace("\"next\": [1, 0]", "\"next\": [7, 0]");
    assert!(files.load(PageFile::Automaton, broken.into()).is_err());
    assert!(files.load(PageFile::Weights, vec![0; 40]).is_err());
    assert!(files.check().is_err());
    let gru = json!({ "kind": "gru", "reset": "after-matrix" });
    let file = network(arch(gru, Value::Null, [true, false], "h"));
    let mut weights = file.weights_bytes();
    *weights.last_mut().unwrap() ^= 1;
    files.load(PageFile::Config, file.config_bytes()).unwrap();
    let error = files.load(PageFile::Weights, weights).unwrap_err();
    assert!(error.contains("digest"), "{error}");
    assert_eq!(PageFile::of_number(4), None);
}
