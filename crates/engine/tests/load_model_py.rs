//! `examples/python/load_model.py` computes what the reference computes. It needs Python with PyTorch
//! and safetensors, and is skipped without them, unless `SRNN_REQUIRE_PYTORCH=1` is set.
//! `SRNN_PYTHON` names the interpreter, `python3` by default.

use serde_json::{Value, json};
use srnn_engine::key::Key;
use srnn_engine::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ModelFile, ReadFrom, Readout, Reset,
    Score, Temperature, Tokenizer, When,
};
use srnn_engine::reference::Reference;
use srnn_engine::{Batch, Fields, Inputs, Mode, Runner as _, Targets};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Largest difference of a logit. PyTorch computes in single precision, the reference in double, and
/// the logits here are of the order of 1.
const TOLERANCE: f64 = 1e-5;

const LSTM: Cell = Cell::Lstm { peephole: false };
const LSTM_P: Cell = Cell::Lstm { peephole: true };
const GRU: Cell = Cell::Gru { reset: Reset::AfterMatrix };
const GRU_BEFORE: Cell = Cell::Gru { reset: Reset::BeforeMatrix };

const ALPHABET: [&str; 4] = ["<unk>", "good", "bad", "&apos;s"];

/// Tokens with their ids. Two are not in the alphabet.
const WORDS: [(&str, u32); 6] =
    [("bad", 2), ("dull", 0), ("&apos;s", 3), ("<unk>", 0), ("good", 1), (".", 0)];

/// Reads folders and rows as JSON, and writes the logits of every row as JSON.
const PROGRAM: &str = "
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
from load_model import Model
logits = []
for case in json.load(sys.stdin):
    model = Model(pathlib.Path(case['folder']))
    tokens = model.arch['input']['kind'] == 'tokens'
    read = model.ids if tokens else lambda row: row
    logits.append([model.logits(read(row)).flatten().tolist() for row in case['rows']])
json.dump(logits, sys.stdout)
";

/// A model and the rows that both sides read.
struct Case {
    name: String,
    file: ModelFile,
    /// As Python gets them: names of tokens, or vectors.
    rows: Vec<Value>,
    batches: Vec<Batch>,
}

#[test]
fn the_python_example_has_at_most_60_lines() {
    let text = std::fs::read_to_string(examples().join("load_model.py")).unwrap();
    assert!(text.lines().count() <= 60, "{} lines", text.lines().count());
}

#[test]
fn the_python_example_computes_the_logits_of_the_reference() {
    let Some(python) = python_with_torch() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    let asked = cases.iter().map(|case| {
        let path = folder.path().join(&case.name);
        case.file.save(&path).unwrap();
        json!({ "folder": path, "rows": case.rows })
    });
    let found = logits_of_python(&python, &asked.collect());
    for (case, found) in cases.iter().zip(&found) {
        let mut reference = Reference::new(&case.file.model.to_f64());
        for (row, (batch, found)) in case.batches.iter().zip(found).enumerate() {
            let Ok(expected) = reference.trace(batch, Mode::default(), Fields::default());
            let found_and_expected = format!("{found:?}, expected {:?}", expected.logits);
            assert_eq!(found.len(), expected.logits.len(), "{} row {row}", case.name);
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE;
            let all_close = found.iter().zip(&expected.logits).all(close);
            assert!(all_close, "{} row {row}: {found_and_expected}", case.name);
        }
    }
}

/// Every cell with and without centroids, each with every read-out that it has.
fn cases() -> Vec<Case> {
    let tau = Temperature::new(0.7).unwrap();
    let centroids = |k, score| Some(Centroids { k, score, tau });
    let mut archs = Vec::new();
    for cell in [LSTM, LSTM_P, GRU, GRU_BEFORE] {
        for centroids in [None, centroids(3, Score::Dot), centroids(4, Score::Euclidean)] {
            for from in [ReadFrom::H, ReadFrom::U, ReadFrom::C, ReadFrom::Hc, ReadFrom::Uc] {
                archs.push(arch(archs.len(), cell, centroids, from));
            }
        }
    }
    // A GRU has no c to read.
    archs.retain(|arch| arch.validate().is_ok());
    archs.into_iter().enumerate().map(|(number, arch)| case(number, arch)).collect()
}

/// The rest is drawn: tokens with or without start and end token, or vectors; one layer or two; the
/// gate; the biases; when the classifier reads.
fn arch(number: usize, cell: Cell, centroids: Option<Centroids>, from: ReadFrom) -> Arch {
    let mut rng = Key::new(11).child("arch", number as u64).rng();
    let mut one_in = |n| rng.below(n) == 0;
    let gate = if one_in(3) { Gate::HardSigmoid } else { Gate::Sigmoid };
    let layer = Layer { cell, units: 5, gate, bias: !one_in(4), centroids };
    let layers = if one_in(4) { vec![layer.clone(), layer] } else { vec![layer] };
    let [start, end] = [one_in(2), one_in(2)];
    let tokens = Input::Tokens { symbols: ALPHABET.len(), embedding: 3, start, end };
    let input = if one_in(4) { Input::Real { width: 3 } } else { tokens };
    let when = if one_in(3) { When::EveryStep } else { When::Last };
    Arch { input, layers, readout: Readout::new(from, when), classes: 3 }
}

/// A case with random parameters: all of them, as peepholes and biases begin at 0 in training.
fn case(number: usize, arch: Arch) -> Case {
    let key = Key::new(11).child("case", number as u64);
    let mut model = Model::new(arch, &Init::default(), key).unwrap();
    let mut rng = key.child("parameters", 0).rng();
    model.params.iter_mut().for_each(|x| *x = rng.uniform(-1.0, 1.0) as f32);
    let (rows, batches) =
        [0, 1, WORDS.len()].map(|steps| row(&model.arch.input, steps)).into_iter().unzip();
    let is_text = matches!(model.arch.input, Input::Tokens { .. });
    let file = ModelFile {
        model,
        alphabet: if is_text { names(&ALPHABET) } else { vec![] },
        unknown: is_text.then_some(0),
        classes: names(&["a", "b", "c"]),
        image: None,
        tokenizer: is_text.then_some(Tokenizer::MosesLowerCase),
    };
    Case { name: format!("case-{number}"), file, rows, batches }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// A row for Python and the same one for the reference.
fn row(input: &Input, steps: usize) -> (Value, Batch) {
    let Input::Real { width } = *input else {
        let (words, ids): (Vec<&str>, Vec<u32>) = WORDS[..steps].iter().copied().unzip();
        return (json!(words), Batch::of_words(input, [ids]));
    };
    let vector = |t: usize| (0..width).map(|e| (t * width + e) as f32 / 16.0).collect();
    let vectors: Vec<Vec<f32>> = (0..steps).map(vector).collect();
    let batch = Batch {
        offsets: vec![0, steps],
        input: Inputs::Real(vectors.concat()),
        targets: Targets::None,
        class_weights: vec![],
        initial: vec![],
    };
    (json!(vectors), batch)
}

/// An interpreter that can run the example.
fn python_with_torch() -> Option<String> {
    let python = std::env::var("SRNN_PYTHON").unwrap_or_else(|_| "python3".into());
    let imports = Command::new(&python).args(["-c", "import torch, safetensors.torch"]).output();
    let why = match imports {
        Ok(Output { status, .. }) if status.success() => return Some(python),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_string(),
        Err(error) => error.to_string(),
    };
    let why = why.lines().last().unwrap_or_default();
    if std::env::var("SRNN_REQUIRE_PYTORCH").is_ok_and(|value| value == "1") {
        panic!("SRNN_REQUIRE_PYTORCH=1, but {python}: {why}")
    }
    println!("skipped: {python}: {why}");
    None
}

/// `[case][row]`: the logits.
fn logits_of_python(python: &str, cases: &Value) -> Vec<Vec<Vec<f64>>> {
    let mut child = Command::new(python)
        .args(["-c", PROGRAM])
        .arg(examples())
        // No files beside the example.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(cases.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python")
}
