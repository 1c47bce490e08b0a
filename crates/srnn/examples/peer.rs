//! Our side of `bench/peers/cpu`: answers commands on stdin with one line of JSON each, so that
//! the other side can alternate the order in one pair of processes.
//!
//! ```text
//! load FILE THREADS    a model and batches, as bench/peers/cpu.py writes them
//! gradients FILE       writes the gradients of batch 0, answers with the loss
//! time I               loss and gradients of batch I, answers with the seconds they took
//! ```

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use srnn::engine::cpu::Cpu;
use srnn::engine::{Batch, Engine as _, Inputs, Regime, Targets};
use srnn::model::{Arch, Layout, Model};
use srnn::train::{Optimiser, Rule};
use std::io::{BufRead as _, Write as _};
use std::time::Instant;

/// The paper's network.
const PAPER: Regime = Regime {
    lambda: 1.0,
    commitment: 0.0,
    entropy: 0.0,
    saturation: 0.0,
    writing: 0.0,
    tau: 1.0,
    margin: 0.0,
    learning_rate: 0.0,
};

struct Loaded {
    engine: Cpu,
    layout: Layout,
    batches: Vec<Batch>,
}

fn main() {
    let mut loaded = None;
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("stdin can be read");
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match (&words[..], &mut loaded) {
            (["load", file, threads], _) => {
                let new = load(file, threads.parse().expect("a number of threads"));
                let answer = json!({ "batches": new.batches.len(), "parameters": new.layout.len });
                loaded = Some(new);
                answer
            }
            (["gradients", file], Some(loaded)) => gradients(loaded, file),
            (["time", i], Some(loaded)) => time(loaded, i.parse().expect("a batch's number")),
            _ => panic!("not a command, or nothing loaded: {line}"),
        };
        println!("{answer}");
        std::io::stdout().flush().expect("stdout can be written");
    }
}

fn load(path: &str, threads: usize) -> Loaded {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (_, about) = SafeTensors::read_metadata(&bytes).expect("a header");
    let about = about.metadata().clone().expect("an architecture");
    let file = SafeTensors::deserialize(&bytes).expect("tensors");
    let arch: Arch = serde_json::from_str(&about["arch"]).expect("an architecture");
    let layout = Layout::of(&arch);
    let mut params = vec![f32::NAN; layout.len];
    for slot in &layout.slots {
        params[slot.range.clone()].copy_from_slice(&singles(&file, &slot.name));
    }
    let count = about["batches"].parse().expect("a number of batches");
    let batches = (0..count).map(|i| batch(&file, i)).collect();
    let optimiser = Optimiser { rule: Rule::ADAM, clip: f64::INFINITY, l2: 0.0 };
    let engine = Cpu::new(&Model { arch, params }, optimiser, threads);
    Loaded { engine, layout, batches }
}

/// Batch `i`: equally long rows, `[B,T]` tokens or `[B,T,E]` numbers.
fn batch(file: &SafeTensors, i: usize) -> Batch {
    let input = file.tensor(&format!("batch.{i}.input")).expect("an input");
    let (rows, steps) = (input.shape()[0], input.shape()[1]);
    let input = match input.dtype() {
        Dtype::F32 => Inputs::Real(singles(file, &format!("batch.{i}.input"))),
        _ => Inputs::Tokens(ids(file, &format!("batch.{i}.input"))),
    };
    Batch {
        offsets: (0..=rows).map(|b| b * steps).collect(),
        input,
        targets: Targets::Rows(ids(file, &format!("batch.{i}.targets"))),
        class_weights: vec![],
    }
}

fn singles(file: &SafeTensors, name: &str) -> Vec<f32> {
    let tensor = file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    tensor.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn ids(file: &SafeTensors, name: &str) -> Vec<u32> {
    let tensor = file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    tensor.data().as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes) as u32).collect()
}

fn gradients(loaded: &mut Loaded, path: &str) -> Value {
    let result = loaded.engine.gradients(&loaded.batches[0], &PAPER);
    let bytes: Vec<u8> = result.values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let tensors = loaded.layout.slots.iter().map(|slot| {
        let part = &bytes[4 * slot.range.start..4 * slot.range.end];
        let view = TensorView::new(Dtype::F32, slot.shape.clone(), part);
        (&slot.name, view.expect("as many bytes as the shape says"))
    });
    let text = safetensors::serialize(tensors, None).expect("short names and true shapes");
    std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}"));
    json!({ "loss": result.loss.total })
}

fn time(loaded: &mut Loaded, i: usize) -> Value {
    let batch = &loaded.batches[i % loaded.batches.len()];
    let begin = Instant::now();
    let result = loaded.engine.gradients(batch, &PAPER);
    let seconds = begin.elapsed().as_secs_f64();
    // The loss goes out, so that nothing of the work can be left away.
    json!({ "seconds": seconds, "loss": result.loss.total })
}
