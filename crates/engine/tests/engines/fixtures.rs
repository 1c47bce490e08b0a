//! The reference against fixtures that `testdata/engines/make.py` computed in PyTorch, from the
//! equations and without this code.

use crate::agreement::{ALL, UNCLIPPED_ADAM};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;
use srnn_engine::model::{Arch, Model, When};
use srnn_engine::reference::ReferenceTrainer;
use srnn_engine::{Batch, Inputs, Mode, Regime, Runner as _, Targets, Trainer, Transition};
use std::path::PathBuf;

/// Both sides compute in f64; sums in another order over at most ten steps stay below this.
const TOLERANCE: f64 = 1e-9;

/// The bytes of a fixture.
pub fn bytes(name: &str) -> Vec<u8> {
    let path = folder().join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A tensor of doubles.
pub fn doubles(file: &SafeTensors, name: &str) -> Vec<f64> {
    numbers(file, name, Dtype::F64, f64::from_le_bytes)
}

/// How `got` differs from `want`, or `None` within the tolerance. A NaN always differs.
pub fn difference(got: &[f64], want: &[f64]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} numbers instead of {}", got.len(), want.len()));
    }
    let is_wrong = |(got, want): (&f64, &f64)| {
        let error = (got - want).abs() / want.abs().max(1.0);
        error.is_nan() || error > TOLERANCE
    };
    let at = got.iter().zip(want).position(is_wrong)?;
    Some(format!("{:e} instead of {:e} at {at}", got[at], want[at]))
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "engines"].iter().collect()
}

fn numbers<A, const N: usize>(
    file: &SafeTensors,
    name: &str,
    dtype: Dtype,
    of: impl Fn([u8; N]) -> A,
) -> Vec<A> {
    let tensor = file.tensor(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(tensor.dtype(), dtype, "{name}");
    tensor.data().as_chunks::<N>().0.iter().map(|bytes| of(*bytes)).collect()
}

/// [`Regime`] in the format of the fixtures.
#[derive(Deserialize)]
struct FixtureRegime {
    lambda: f64,
    commitment: f64,
    entropy: f64,
    tau: f64,
    learning_rate: f64,
}

fn regime(text: &str) -> Regime {
    let FixtureRegime { lambda, commitment, entropy, tau, learning_rate } =
        serde_json::from_str(text).expect("a regime");
    Regime { lambda, commitment, entropy, tau, ..Regime::plain(learning_rate) }
}

fn model(arch: Arch, file: &SafeTensors) -> Model<f64> {
    let mut model =
        Model { params: vec![f64::NAN; srnn_engine::model::Layout::of(&arch).len], arch };
    for slot in model.layout().slots {
        let name = format!("param.{}", slot.name);
        assert_eq!(file.tensor(&name).expect("a parameter").shape(), slot.shape, "{name}");
        model.params[slot.range].copy_from_slice(&doubles(file, &name));
    }
    model
}

fn batch(arch: &Arch, file: &SafeTensors) -> Batch {
    let integers = |name: &str| numbers(file, name, Dtype::I64, i64::from_le_bytes);
    let singles = |name: &str| numbers(file, name, Dtype::F32, f32::from_le_bytes);
    let has = |name: &str| file.tensor(name).is_ok();
    let ids = |name: &str| integers(name).iter().map(|&id| id as u32).collect();
    let targets = ids("targets");
    Batch {
        offsets: integers("offsets").iter().map(|&n| n as usize).collect(),
        input: if has("x") { Inputs::Real(singles("x")) } else { Inputs::Tokens(ids("tokens")) },
        targets: match arch.readout.when {
            When::Last => Targets::Rows(targets),
            When::EveryStep => Targets::Steps(targets),
        },
        class_weights: if has("class_weights") { singles("class_weights") } else { vec![] },
        initial: vec![],
    }
}

/// All tensors of a fixture in which the reference and PyTorch disagree.
fn disagreements(name: &str) -> Vec<String> {
    let bytes = bytes(name);
    let (_, about) = SafeTensors::read_metadata(&bytes).expect("a header");
    let about = about.metadata().clone().expect("an architecture and a regime");
    let file = SafeTensors::deserialize(&bytes).expect("a fixture");
    let arch: Arch = serde_json::from_str(&about["arch"]).expect("an architecture");
    let (batch, regime) = (batch(&arch, &file), regime(&about["regime"]));
    let model = model(arch, &file);
    let mut engine = ReferenceTrainer::new(&model, UNCLIPPED_ADAM);
    let mode = Mode { transition: Transition::Mixture, lambda: regime.lambda, tau: regime.tau };
    let trace = engine.trace(&batch, mode, ALL).unwrap();
    let gradients = engine.gradients(&batch, &regime).unwrap();
    let loss = gradients.loss;
    let mut pairs = vec![
        ("logits".to_owned(), trace.logits),
        ("loss".to_owned(), vec![loss.total, loss.task, loss.commitment, loss.entropy]),
    ];
    for slot in model.layout().slots {
        pairs.push((format!("grad.{}", slot.name), gradients.values[slot.range].to_vec()));
    }
    for (l, layer) in trace.layers.into_iter().enumerate() {
        let fields = [("alpha", layer.alpha), ("u", layer.u), ("h", layer.h), ("c", layer.c)];
        let there = fields.into_iter().filter(|(_, values)| !values.is_empty());
        pairs.extend(there.map(|(field, values)| (format!("trace.{l}.{field}"), values)));
    }
    let extra = file.len() - file.names().iter().filter(|n| is_input(n)).count();
    assert_eq!(extra, pairs.len(), "{name}: a tensor that was not compared");
    let wrong = |(what, got): &(String, Vec<f64>)| {
        difference(got, &doubles(&file, what)).map(|problem| format!("{name}: {what}: {problem}"))
    };
    pairs.iter().filter_map(wrong).collect()
}

/// Whether a tensor is an input of the computation.
fn is_input(name: &str) -> bool {
    let inputs = ["offsets", "tokens", "x", "targets", "class_weights"];
    name.starts_with("param.") || inputs.contains(&name)
}

#[test]
fn the_reference_agrees_with_pytorch_on_every_fixture() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder of fixtures")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .filter(|name| name.ends_with(".safetensors") && name != "optimisers.safetensors")
        .collect();
    names.sort();
    assert!(names.len() >= 14, "only {} fixtures", names.len());
    let wrong: Vec<String> = names.iter().flat_map(|name| disagreements(name)).collect();
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
}
