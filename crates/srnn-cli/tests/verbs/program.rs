//! Running the program, and small models to run it on.

use serde_json::Value;
use srnn::engine::key::Key;
use srnn::engine::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ModelFile, ReadFrom, Readout, Reset,
    Score, Temperature, When,
};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The exit code and output of a run of the program.
pub struct ProgramOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    /// The one object on stdout.
    pub fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.stdout);
        parsed.unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Requires exit code 0.
    pub fn yes(self) -> ProgramOutput {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Requires exit code 1.
    pub fn no(self) -> ProgramOutput {
        assert_eq!(self.code, 1, "{}\n{}", self.stdout, self.stderr);
        self
    }
}

/// Runs the program in a folder.
pub fn srnn(folder: &Path, arguments: &[&str]) -> ProgramOutput {
    srnn_reading(folder, arguments, b"")
}

/// The same, with something on stdin.
pub fn srnn_reading(folder: &Path, arguments: &[&str], stdin: &[u8]) -> ProgramOutput {
    let mut child = Command::new(env!("CARGO_BIN_EXE_srnn"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that does not read its input closes the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin);
    let output = child.wait_with_output().expect("the program ends");
    ProgramOutput {
        code: output.status.code().expect("it ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// An SR-GRU with a start token over these symbols and classes.
pub fn sr_gru(alphabet: &[&str], classes: &[&str]) -> ModelFile {
    model(alphabet, classes, Cell::Gru { reset: Reset::AfterMatrix })
}

/// An SR-LSTM.
pub fn sr_lstm(alphabet: &[&str], classes: &[&str]) -> ModelFile {
    model(alphabet, classes, Cell::Lstm { peephole: false })
}

fn model(alphabet: &[&str], classes: &[&str], cell: Cell) -> ModelFile {
    let centroids = Centroids { k: 3, score: Score::Dot, tau: Temperature::ONE };
    let layer =
        Layer { cell, units: 4, gate: Gate::Sigmoid, bias: true, centroids: Some(centroids) };
    let input = Input::Tokens { symbols: alphabet.len(), embedding: 4, start: true, end: false };
    let readout = Readout::new(ReadFrom::H, When::Last);
    let arch = Arch { input, layers: vec![layer], readout, classes: classes.len() };
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    ModelFile {
        model: Model::new(arch, &Init::default(), Key::new(1)).expect("a small model"),
        alphabet: names(alphabet),
        unknown: None,
        classes: names(classes),
        image: None,
        tokenizer: None,
    }
}

/// A run folder with a model over {0, 1} and its automaton.
pub fn run_folder(folder: &Path) {
    sr_gru(&["0", "1"], &["reject", "accept"]).save(&folder.join("run/model")).unwrap();
    let data = r#"{"tokens": "Characters", "sequences": 7}"#;
    std::fs::write(folder.join("run/data.json"), data).unwrap();
    srnn(folder, &["extract", "run", "--words", "500"]).yes();
}
