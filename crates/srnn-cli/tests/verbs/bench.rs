//! `srnn bench` on tiny shapes.

use crate::images::write_images;
use crate::program::{srnn, srnn_reading};
use safetensors::SafeTensors;
use serde_json::Value;
use srnn::engine::cpu::CpuTrainer;
use srnn::engine::model::ModelFile;
use srnn::engine::{Batch, Inputs, Regime, Targets, Trainer as _};
use srnn::engine::{Optimiser, Rule};
use std::path::Path;

const PLAIN: Optimiser = Optimiser::new(Rule::ADAM, f64::INFINITY);

const PAPER: Regime = Regime::plain(0.0);

fn bench(arguments: &[&str]) -> crate::program::ProgramOutput {
    let folder = tempfile::tempdir().unwrap();
    bench_in(folder.path(), arguments)
}

fn bench_in(folder: &Path, arguments: &[&str]) -> crate::program::ProgramOutput {
    let always = ["bench", "--json", "--repeats", "5", "--threads", "1", "--device", "cpu"];
    srnn(folder, &[&always[..], arguments].concat())
}

#[test]
fn every_cell_is_checked_timed_and_compared_with_the_first() {
    let cells = ["sr-lstm-p", "sr-lstm", "sr-gru", "lstm-p", "lstm", "gru"];
    for shape in ["3,5,2,8,4", "3,5,2,8,4,6"] {
        let ran = bench(&["--shape", shape, "--cell", &cells.join(",")]).yes();
        let value = ran.json();
        assert!(value["device"].as_str().unwrap().starts_with("cpu"), "{value}");
        let lines = value["measured"].as_array().unwrap();
        let named: Vec<&str> = lines.iter().map(|line| line["cell"].as_str().unwrap()).collect();
        assert_eq!(named, cells);
        assert_eq!(lines[0]["times_first"], 1.0);
        for line in lines {
            assert!(line["milliseconds"].as_f64().unwrap() > 0.0, "{line}");
            assert_eq!(line["steps_timed"], 5);
            let checked = &line["checked"];
            assert_eq!((&checked["rows"], &checked["steps"]), (&3.into(), &5.into()), "{line}");
            let error = checked["gradient_error"].as_f64().unwrap();
            assert!(error > 0.0 && error < 1e-4, "{line}");
        }
    }
}

#[test]
fn shapes_that_cannot_be_are_refused_with_what_is_wrong() {
    for (shape, said) in [
        ("3,5,2", "3 numbers: give five numbers"),
        ("3,5,2,x,4", "D is \"x\": not a whole number"),
        ("3,5,-2,8,4", "IN is \"-2\": not a whole number"),
        ("99999999999999999999,5,2,8,4", "B is \"99999999999999999999\": the number is too large"),
        ("0,5,2,8,4", "B (rows) is 0"),
        ("3,0,2,8,4", "T (steps) is 0"),
        ("3,1,2,8,4,6", "T (steps) is 1"),
        ("3,5,0,8,4", "IN (input width) is 0"),
        ("3,5,2,0,4", "D (units) is 0"),
        ("3,5,2,8,0", "K (centroids) is 0"),
        ("3,5,2,8,4,0", "V is 0"),
        ("9999999,9999999,9999999,8,4", "B·T·IN is above"),
    ] {
        let ran = bench(&["--shape", shape]);
        assert_eq!(ran.code, 2, "{shape}");
        assert!(ran.stderr.contains(said), "{shape}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_setting_is_answered_with_the_known_ones() {
    let ran = bench(&["--setting", "nope"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("one of bp, mnist"), "{}", ran.stderr);
    for wrong in [["--repeats", "0"], ["--lambda", "2"], ["--lambda", "nan"]] {
        let folder = tempfile::tempdir().unwrap();
        let ran = srnn(folder.path(), &[&["bench", "--shape", "3,5,2,8,4"], &wrong[..]].concat());
        assert_eq!(ran.code, 2, "{wrong:?}");
        assert!(ran.stderr.contains(wrong[0]), "{}", ran.stderr);
    }
}

#[test]
fn without_a_gpu_or_the_engine_for_one_a_line_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let ran = srnn(folder.path(), &["bench", "--shape", "3,5,2,8,4", "--device", "cuda"]);
    // Where there is a GPU, it is measured.
    if ran.code != 0 {
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("use --device cpu"), "{}", ran.stderr);
    }
}

#[test]
fn growth_has_a_line_and_an_exponent_for_every_size_there_is() {
    let axes = |arguments: &[&str]| {
        let value = bench(&[&["--growth"], arguments].concat()).yes().json();
        let growth = value["growth"].as_array().unwrap().clone();
        for line in &growth {
            assert!(line["exponent"].as_f64().unwrap().is_finite(), "{line}");
            let sizes = line["sizes"].as_array().unwrap();
            assert_eq!(sizes[4].as_u64(), sizes[0].as_u64().map(|n| 16 * n), "{line}");
        }
        growth.iter().map(|line| line["axis"].as_str().unwrap().to_string()).collect::<String>()
    };
    assert_eq!(axes(&["--shape", "1,2,1,2,1,1"]), "TBDKV");
    assert_eq!(axes(&["--shape", "1,1,1,2,1", "--cell", "gru"]), "TBD");
}

#[test]
fn an_export_holds_the_model_the_batches_and_what_to_expect_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join("out/free").join(name);
    bench_in(folder.path(), &["--shape", "3,5,2,8,4,6", "--export", "out"]).yes();
    let about: Value =
        serde_json::from_str(&std::fs::read_to_string(of("setting.json")).unwrap()).unwrap();
    assert_eq!((&about["B"], &about["T"], &about["K"]), (&3.into(), &5.into(), &4.into()));
    assert_eq!(about["batch_losses"].as_array().unwrap().len(), 4);
    let saved = ModelFile::load(&of("model")).unwrap();
    let mut engine = CpuTrainer::new(&saved.model, PLAIN, 1);
    let batches = std::fs::read(of("batches.safetensors")).unwrap();
    let batches = SafeTensors::deserialize(&batches).unwrap();
    for (i, want) in about["batch_losses"].as_array().unwrap().iter().enumerate() {
        let got = engine.gradients(&batch(&batches, &format!("{i}.")), &PAPER).unwrap().loss.total;
        assert_eq!(got, want.as_f64().unwrap(), "batch {i}");
    }
    let check = std::fs::read(of("check.safetensors")).unwrap();
    let check = SafeTensors::deserialize(&check).unwrap();
    let got = engine.gradients(&batch(&check, ""), &PAPER).unwrap();
    assert!((got.loss.total - about["check_loss"].as_f64().unwrap()).abs() < 1e-5);
    let gradients = std::fs::read(of("gradients.safetensors")).unwrap();
    let gradients = SafeTensors::deserialize(&gradients).unwrap();
    for slot in &saved.model.layout().slots {
        let want = numbers(&gradients, &slot.name);
        let got = &got.values[slot.range.clone()];
        let near = got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-5);
        assert!(near && got.len() == want.len(), "{}", slot.name);
    }
}

fn batch(file: &SafeTensors, prefix: &str) -> Batch {
    let input = file.tensor(&format!("{prefix}input")).unwrap();
    let (rows, steps) = (input.shape()[0], input.shape()[1]);
    let ids = |name: &str| -> Vec<u32> {
        let tensor = file.tensor(&format!("{prefix}{name}")).unwrap();
        tensor.data().as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes) as u32).collect()
    };
    Batch {
        offsets: (0..=rows).map(|b| b * steps).collect(),
        input: Inputs::Tokens(ids("input")),
        targets: Targets::Rows(ids("targets")),
        class_weights: vec![],
        initial: vec![],
    }
}

fn numbers(file: &SafeTensors, name: &str) -> Vec<f32> {
    let tensor = file.tensor(name).unwrap();
    tensor.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

#[test]
fn on_request_every_line_is_answered_with_seconds_and_nonsense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let always = ["bench", "--quiet", "--shape", "3,5,2,8,4", "--on-request"];
    let ran = srnn_reading(folder.path(), &always, b"step\ngradients\nstep\n").yes();
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["ready"], true);
    assert_eq!(lines.len(), 4);
    assert!(lines[1..].iter().all(|line| line["seconds"].as_f64().unwrap() > 0.0), "{lines:?}");
    let ran = srnn_reading(folder.path(), &always, b"step\nstop\n");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("line 2: \"stop\" is not a request"), "{}", ran.stderr);
    let ran = srnn_reading(folder.path(), &[&always[..], &["--cell", "gru,lstm"]].concat(), b"");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("2 settings or cells"), "{}", ran.stderr);
}

#[test]
fn epochs_go_over_every_image_and_tell_reading_from_training() {
    let folder = tempfile::tempdir().unwrap();
    write_images(&folder.path().join("dots"), 11);
    let always = ["--epoch", "dots", "--epochs", "4", "--shape", "4,6,1,8,3"];
    let value = bench_in(folder.path(), &[&always[..], &["--cell", "sr-lstm-p,gru"]].concat());
    let value = value.yes().json();
    assert_eq!(value["images"], 11);
    let reading = value["reading"]["seconds"].as_f64().unwrap();
    let lines = value["epochs"].as_array().unwrap();
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert_eq!((&line["batches"], &line["epochs_timed"]), (&3.into(), &4.into()), "{line}");
        let [whole, training, batch] = ["seconds_with_reading", "seconds", "milliseconds_a_batch"]
            .map(|name| line[name].as_f64().unwrap());
        assert!(reading > 0.0 && training > 0.0 && whole == reading + training, "{value}");
        assert!((batch - 1e3 * training / 3.0).abs() < 1e-9, "{line}");
        assert!(line["checked"]["gradient_error"].as_f64().unwrap() < 1e-4, "{line}");
    }
    let text = srnn(folder.path(), &[&["bench", "--device", "cpu"], &always[..]].concat()).yes();
    assert!(text.stdout.starts_with("Epochs of 11 images on cpu"), "{}", text.stdout);
}

#[test]
fn epochs_without_images_or_with_a_setting_for_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_images(&folder.path().join("dots"), 11);
    for (arguments, said) in [
        (&["--epoch", "nowhere"][..], "nowhere/train-images-idx3-ubyte: there is no such file"),
        (&["--epoch", "dots"], "does not read images of 6 pixels"),
        (&["--epoch", "dots", "--setting", "bp"], "--shape B,6,1,D,K"),
        (&["--epoch", "dots", "--shape", "4,6,2,8,3"], "does not read images of 6 pixels"),
        (&["--epoch", "dots", "--epochs", "0"], "--epochs 0"),
        (&["--epoch", "dots", "--growth"], "cannot be used with"),
        (&["--epochs", "3"], "--epoch"),
    ] {
        let ran = bench_in(folder.path(), arguments);
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}
