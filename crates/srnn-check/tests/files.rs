//! Inputs that are refused before any condition is checked: models that certificates do not cover,
//! and missing files. Every message names the file.

mod common;

use common::Files;
use common::certify::certify;
use common::model::{Spec, random_model, update_digests, with_tensor};
use serde_json::{Value, json};
use srnn_check::{Arithmetic, Refused, check_files};
use std::fs;
use std::path::Path;

fn certified() -> Files {
    let found = (0..400).find_map(|seed| {
        let (config, weights) = random_model(&Spec::default(), seed);
        certify(&config, &weights, "f32", 1)
    });
    found.expect("a certified network")
}

#[test]
fn a_folder_is_checked_and_a_missing_file_is_named() {
    let (files, dir) = (certified(), tempfile::tempdir().unwrap());
    let path = dir.path().join("certificate.json");
    let missing = check_files(dir.path(), &path).unwrap_err().to_string();
    assert!(missing.contains("config.json"), "{missing}");
    fs::write(dir.path().join("config.json"), &files.config).unwrap();
    let missing = check_files(dir.path(), &path).unwrap_err().to_string();
    assert!(missing.contains("model.safetensors"), "{missing}");
    fs::write(dir.path().join("model.safetensors"), &files.weights).unwrap();
    let folder = check_files(dir.path(), dir.path()).unwrap_err().to_string();
    assert!(folder.contains("not a regular file"), "{folder}");
    fs::write(&path, &files.certificate).unwrap();
    let checked = check_files(dir.path(), &path).unwrap();
    assert_eq!(checked.arithmetic, Arithmetic::F32);
    assert_eq!(checked.engines, ["reference", "cpu"]);
    assert_eq!(checked.edges, 2 * checked.cells);
    assert!(
        checked.statement.starts_with("For every word over the alphabet {\"0\", \"1\"}, of any")
    );
}

#[test]
fn networks_that_certificates_do_not_cover_are_refused_in_config_and_certificate() {
    let files = certified();
    for (path, other) in [
        ("/layers/0/centroids", Value::Null),
        ("/layers/0/cell", json!({ "kind": "lstm", "peephole": true })),
        ("/layers", json!([])),
        ("/input", json!({ "kind": "real", "width": 2 })),
        ("/readout/from", json!("c")),
        ("/readout/when", json!("every-step")),
        ("/layers/0/centroids/tau", json!(0.0)),
        ("/layers/0/centroids/tau", json!(1e-30)),
        ("/layers/0/units", json!(1 << 30)),
        ("/layers/0/units", json!(0)),
        ("/classes", json!(1)),
    ] {
        let mut config: Value = serde_json::from_slice(&files.config).unwrap();
        let mut certificate: Value = serde_json::from_slice(&files.certificate).unwrap();
        *config["arch"].pointer_mut(path).unwrap() = other.clone();
        *certificate["model"]["arch"].pointer_mut(path).unwrap() = other.clone();
        let changed = Files {
            config: serde_json::to_vec(&config).unwrap(),
            weights: files.weights.clone(),
            certificate: serde_json::to_vec(&certificate).unwrap(),
        };
        let refused = changed.check().unwrap_err();
        let early = matches!(refused, Refused::Config(_) | Refused::Malformed(_));
        assert!(early, "{path} {other}: {refused}");
    }
}

#[test]
fn the_tokenizer_of_a_model_that_reads_texts_is_ignored() {
    let mut files = certified();
    let mut config: Value = serde_json::from_slice(&files.config).unwrap();
    config["tokenizer"] = json!("moses-lower-case");
    files.config = serde_json::to_vec(&config).unwrap();
    update_digests(&mut files);
    assert_eq!(files.check().unwrap().arithmetic, Arithmetic::F32);
}

#[test]
fn weights_that_could_overflow_or_are_not_finite_are_refused() {
    for wrong in [2e6, f32::INFINITY, f32::NAN, -3e38] {
        let mut files = certified();
        let name = "rnn.weight_hh_l0";
        files.weights = with_tensor(&files.weights, name, |at, x| if at == 3 { wrong } else { x });
        update_digests(&mut files);
        let refused = files.check().unwrap_err();
        assert!(matches!(refused, Refused::Weights(_)), "{wrong}: {refused}");
        assert!(refused.to_string().contains("rnn.weight_hh_l0: number 3"), "{refused}");
    }
}

#[test]
fn a_refusal_names_the_coordinate_and_the_excess() {
    let files = certified();
    let mut value: Value = serde_json::from_slice(&files.certificate).unwrap();
    value["cells"][0]["radii"][1] = json!(0.0);
    let certificate = serde_json::to_vec(&value).unwrap();
    let refused = Files { certificate, ..files }.check().unwrap_err();
    let Refused::OutsideCell { target: 0, layer: 0, coordinate: 1, excess, .. } = refused else {
        panic!("{refused}");
    };
    assert!(excess > 0.0 && refused.to_string().contains("cell 0 in layer 0, coordinate 1"));
}

#[test]
fn a_logit_error_that_could_flush_the_softmax_is_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/overflow");
    let refused = check_files(&folder, &folder.join("certificate.json")).unwrap_err();
    assert!(matches!(refused, Refused::OutsideCell { .. }), "{refused}");
}
