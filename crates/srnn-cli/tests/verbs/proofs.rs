//! `certify`, `check`, and what `predict` says of a certificate.

use super::program::{sr_gru, sr_lstm, srnn};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A folder with a run: a small network that has learned Tomita 4, no word with 000.
pub fn trained(folder: &Path) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/certified/tomita-4");
    fs::create_dir_all(folder.join("run/model")).unwrap();
    for name in ["config.json", "model.safetensors"] {
        fs::copy(model.join(name), folder.join("run/model").join(name)).unwrap();
    }
    fs::write(folder.join("run/data.json"), r#"{"tokens": "Characters"}"#).unwrap();
}

fn certify(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let all: Vec<&str> = ["certify", "run", "--json"].iter().chain(arguments).copied().collect();
    let ran = srnn(folder, &all);
    (ran.code, ran.json())
}

#[test]
fn a_trained_network_is_certified_and_its_program_too() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    let (code, value) = certify(folder.path(), &[]);
    assert_eq!(code, 0, "{value}");
    assert_eq!((&value["f64"], &value["f32"]), (&json!(true), &json!(true)), "{value}");
    assert_eq!(value["states"], json!(4));
    assert_eq!(value["pac"], json!(null));
    assert!(value["margin"].as_f64().unwrap() > 1.0, "{value}");
    let text = fs::read_to_string(folder.path().join("run/certificate.json")).unwrap();
    let certificate: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(certificate["format"], json!("srnn-certificate"));
    assert_eq!(certificate["engines"], json!(["reference", "cpu"]));
    assert_eq!(certificate["automaton"]["outputs"].as_array().unwrap().len(), 4);
    let inspected = srnn(folder.path(), &["inspect", "run/certificate.json", "--json"]).yes();
    assert_eq!(inspected.json()["kind"], json!("certificate"));
    assert_eq!(inspected.json()["statement"], value["statement"]);
    let people = srnn(folder.path(), &["certify", "run"]).yes();
    for said in ["certified: For every word", "f64): proved", "f32, engine cpu): proved"] {
        assert!(people.stdout.contains(said), "{}", people.stdout);
    }
}

#[test]
fn a_proof_that_cannot_be_written_is_printed_before_the_error() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    // A folder in the place of the file: nothing can be written there, not even by root.
    fs::create_dir(folder.path().join("run/certificate.json")).unwrap();
    let people = srnn(folder.path(), &["certify", "run", "--spec", "tomita:4"]);
    assert_eq!(people.code, 2, "{}", people.stderr);
    for said in ["certified: For every word", "f32, engine cpu): proved", "network = tomita:4"] {
        assert!(people.stdout.contains(said), "{}", people.stdout);
    }
    for said in ["run/certificate.json: the certificate cannot be written", "--out FILE"] {
        assert!(people.stderr.contains(said), "{}", people.stderr);
    }
    let (code, value) = certify(folder.path(), &[]);
    assert_eq!((code, &value["certified"], &value["code"]), (2, &json!(true), &json!(2)));
    assert_eq!(value["certificate"], json!(null));
    assert_eq!(certify(folder.path(), &["--out", "proof.json"]).0, 0);
}

#[test]
fn a_specification_is_met_on_every_word_or_the_shortest_word_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    fs::write(folder.path().join("spec.regex"), "(1|01|001)*(0|00)?\n").unwrap();
    let brief = "(0{0,2}1)*0{0,2}";
    for spec in ["tomita:4", "re:(1|01|001)*(0|00)?", "(1|01|001)*(|0|00)", "spec.regex", brief] {
        let (code, value) = certify(folder.path(), &["--spec", spec]);
        assert_eq!((code, &value["spec"]["equal"]), (0, &json!(true)), "{spec}: {value}");
        assert_eq!(value["spec"]["proved"], json!(true));
    }
    let (code, value) = certify(folder.path(), &["--spec", "(0|1)*"]);
    assert_eq!(code, 1);
    assert_eq!(value["certified"], json!(true), "the proof stands");
    assert_eq!(value["spec"]["word"], json!("000"));
    assert_eq!(value["spec"]["spec_says"], json!("accept"));
    assert_eq!(value["spec"]["network_says"], json!("reject"));
    assert_eq!(value["spec"]["replayed"], json!(true));
    let (code, value) = certify(folder.path(), &["--spec", "tomita:4", "--accept", "reject"]);
    assert_eq!((code, &value["spec"]["word"]), (1, &json!("ε")), "the other way round");
    assert_eq!(value["spec"]["replayed"], json!(true), "{value}");
    let unknown = srnn(folder.path(), &["certify", "run", "--spec", "tomita:4", "--accept", "x"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stdout);
    assert!(unknown.stderr.contains("there is no class"), "{}", unknown.stderr);
}

#[test]
fn without_a_proof_the_answer_is_no_with_the_obstacle_and_what_is_probable() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    let arguments = ["--steps", "1", "--words", "500", "--longest", "30"];
    let (code, value) = certify(folder.path(), &arguments);
    assert_eq!(code, 1);
    assert_eq!((&value["certified"], &value["f32"]), (&json!(false), &json!(false)));
    assert_eq!(value["certificate"], json!(null));
    assert!(!folder.path().join("run/certificate.json").exists());
    assert_eq!(value["pac"]["differences"], json!(0));
    // (1 − ε)^500 = 0.01
    let epsilon = value["pac"]["epsilon"].as_f64().unwrap();
    assert!((epsilon - 0.009_168).abs() < 1e-5, "{epsilon}");
    assert_eq!(value["pac"]["delta"], json!(0.01));
    let all: Vec<&str> = ["certify", "run"].iter().chain(&arguments).copied().collect();
    let people = srnn(folder.path(), &all).no();
    assert!(people.stdout.starts_with("not certified"), "{}", people.stdout);
    for said in ["steps were not enough", "try: ", "99 %", "says nothing"] {
        assert!(people.stdout.contains(said), "{said}: {}", people.stdout);
    }
    let (code, value) = certify(folder.path(), &["--steps", "1", "--spec", "tomita:4"]);
    assert_eq!((code, &value["spec"]["proved"]), (1, &json!(false)), "equal, but not proved");
    let (code, value) = certify(folder.path(), &["--steps", "1", "--spec", "(0|1)*"]);
    assert_eq!((code, &value["spec"]["replayed"]), (1, &json!(true)), "one word is enough");
}

#[test]
fn a_certificate_is_checked_and_one_that_was_tampered_with_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    srnn(folder.path(), &["certify", "run"]).yes();
    let path = folder.path().join("run/certificate.json");
    let honest: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let checked = srnn(folder.path(), &["check", "run/model", "run/certificate.json", "--json"]);
    let checked = checked.yes().json();
    assert_eq!(checked["proved"], json!(true));
    assert_eq!(checked["statement"], honest["statement"]);
    assert!(srnn(folder.path(), &["check", "run"]).yes().stdout.starts_with("proved: For every"));
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("a successor", |c| c["cells"][0]["successors"] = json!([0, 0])),
        ("a decision", |c| c["cells"][0]["decision"] = json!(0)),
        ("a margin", |c| c["cells"][0]["margin"] = json!(1e3)),
        ("radii", |c| {
            for radius in c["cells"][1]["radii"].as_array_mut().unwrap() {
                *radius = json!(radius.as_f64().unwrap() / 2.0);
            }
        }),
        ("the digest", |c| c["model"]["digest"] = json!("00")),
    ];
    for (what, change) in changes {
        let mut changed = honest.clone();
        change(&mut changed);
        fs::write(&path, changed.to_string()).unwrap();
        let refused = srnn(folder.path(), &["check", "run", "--json"]).no().json();
        assert_eq!(refused["proved"], json!(false), "{what}");
        assert!(!refused["reason"].as_str().unwrap().is_empty(), "{what}");
    }
    fs::write(&path, &honest.to_string()[..500]).unwrap();
    srnn(folder.path(), &["check", "run"]).no();
    fs::remove_file(&path).unwrap();
    let missing = srnn(folder.path(), &["check", "run"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("srnn certify"), "{}", missing.stderr);
}

#[test]
fn a_model_that_cannot_be_read_is_named_and_the_certificate_is_not_blamed() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    srnn(folder.path(), &["certify", "run"]).yes();
    for name in ["model.safetensors", "config.json"] {
        let path = folder.path().join("run/model").join(name);
        let whole = fs::read(&path).unwrap();
        for damage in [None, Some(&whole[..whole.len() / 2])] {
            fs::remove_file(&path).unwrap();
            damage.into_iter().for_each(|half| fs::write(&path, half).unwrap());
            let ran = srnn(folder.path(), &["check", "run"]);
            assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
            for said in [format!("run/model/{name}: "), "copy the model again".into()] {
                assert!(ran.stderr.contains(&said), "{}", ran.stderr);
            }
            assert!(!ran.stderr.contains("certify"), "{}", ran.stderr);
            assert_eq!(ran.stdout, "");
            fs::write(&path, &whole).unwrap();
        }
    }
    srnn(folder.path(), &["check", "run"]).yes();
}

#[test]
fn an_automaton_file_next_to_a_proof_must_equal_the_proved_automaton() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    srnn(folder.path(), &["certify", "run"]).yes();
    let check = || srnn(folder.path(), &["check", "run", "--json"]);
    assert_eq!(check().yes().json()["automaton"], json!(null));
    srnn(folder.path(), &["extract", "run"]).yes();
    assert_eq!(check().yes().json()["automaton"]["is_proved"], json!(true));
    let path = folder.path().join("run/automaton/automaton.json");
    let other = |source: &str| {
        let file = "run/automaton/automaton.json";
        srnn(folder.path(), &["convert", source, file, "--force"]).yes();
        check().no().json()
    };
    let value = other("tomita:7");
    assert_eq!(
        (&value["proved"], &value["automaton"]["is_proved"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(value["certificate_valid"], json!(true));
    let people = srnn(folder.path(), &["check", "run/model", "run/certificate.json"]).no().stdout;
    for said in
        ["proved: For every", "differs from the automaton that is proved: they differ on \"000\""]
    {
        assert!(people.contains(said), "{people}");
    }
    fs::write(folder.path().join("abc.re"), "[abc]*").unwrap();
    assert_eq!(other("abc.re")["automaton"]["difference"], json!("its alphabet differs"));
    fs::write(&path, "{").unwrap();
    assert_eq!(check().no().json()["automaton"]["is_proved"], json!(false));
}

#[test]
fn predict_shows_whether_its_engine_is_covered() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    let predict = |engine: &str| {
        srnn(folder.path(), &["predict", "run", "0001", "--json", "--engine", engine]).yes()
    };
    assert_eq!(predict("cpu").json()["certificate"]["note"], json!(null));
    srnn(folder.path(), &["certify", "run"]).yes();
    for engine in ["cpu", "reference"] {
        let said = predict(engine);
        assert_eq!(said.json()["certificate"]["covered"], json!(true), "{engine}");
        assert_eq!(said.json()["predictions"][0]["label"], json!("reject"));
        assert!(said.stderr.contains(&format!("covers the engine {engine}")), "{}", said.stderr);
    }
    // No input got a class, so there is nothing that the certificate could cover.
    let said = srnn(folder.path(), &["predict", "run", "00x", "--json"]).no();
    assert!(!said.stderr.contains("certificate"), "{}", said.stderr);
    assert_eq!(said.json()["certificate"]["note"], json!(null));
    let path = folder.path().join("run/certificate.json");
    let mut certificate: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    certificate["engines"] = json!(["reference"]);
    certificate["arithmetic"] = json!("f64");
    let said = certificate["statement"].as_str().unwrap().replace("reference, cpu", "reference");
    certificate["statement"] = json!(said);
    fs::write(&path, certificate.to_string()).unwrap();
    assert_eq!(predict("reference").json()["certificate"]["covered"], json!(true));
    let other = predict("cpu");
    assert_eq!(other.json()["certificate"]["covered"], json!(false));
    assert!(other.stderr.contains("covers the engine reference, not cpu"), "{}", other.stderr);
    certificate["model"]["digest"] = json!("0");
    fs::write(&path, certificate.to_string()).unwrap();
    assert!(predict("reference").stderr.contains("of another model"));
    fs::write(&path, "{").unwrap();
    assert!(predict("cpu").stderr.contains("not certified"));
}

#[test]
fn what_cannot_be_certified_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    trained(folder.path());
    sr_lstm(&["0", "1"], &["no", "yes"]).save(&folder.path().join("lstm")).unwrap();
    let cases: [(&[&str], &str); 10] = [
        (&["certify", "lstm"], "SR-GRU"),
        (&["certify", "nowhere"], "no such run"),
        (&["certify", "run", "--depth", "0"], "--depth 1 or more"),
        (&["certify", "run", "--tolerance", "-1"], "above 0"),
        (&["certify", "run", "--spec", "(0"], "("),
        (&["certify", "run", "--spec", "a*"], "a"),
        (&["certify", "run", "--spec", "missing.dot"], "missing.dot"),
        (&["certify", "run", "--spec", "t3.nofile"], "t3.nofile: no such file or run"),
        (&["certify", "run", "--spec", "specs/t3"], "expression begins with re:"),
        (&["certify", "run", "--spec", "(0|1){x}"], "not a number of repetitions"),
    ];
    for (arguments, said) in cases {
        let ran = srnn(folder.path(), arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_specification_that_cannot_be_compared_is_refused_before_the_search() {
    let folder = tempfile::tempdir().unwrap();
    sr_gru(&["0", "1"], &["left", "right"]).save(&folder.path().join("m")).unwrap();
    for (spec, more, why) in [
        ("(10)*", &[][..], "which class is the accepting one"),
        ("(10)*", &["--accept", "up"], "up"),
    ] {
        let ran = srnn(folder.path(), &[&["certify", "m", "--spec", spec], more].concat());
        assert_eq!(ran.code, 2, "{spec}");
        assert!(ran.stderr.contains(why), "{spec}: {}", ran.stderr);
        assert!(!ran.stderr.contains("searching"), "{spec}: {}", ran.stderr);
    }
    let fine = ["certify", "m", "--spec", "(10)*", "--accept", "left", "--steps", "10"];
    assert!(srnn(folder.path(), &fine).code < 2);
}
