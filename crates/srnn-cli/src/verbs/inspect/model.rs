//! Describes a model: architecture, alphabet, classes, tensors.

use super::Description;
use crate::automaton::quoted_list;
use crate::failure::Failure;
use serde_json::json;
use srnn::engine::model::{
    Arch, Cell, Gate, ImageLayout, Input, Layer, ModelFile, ReadFrom, Reset, Score, Slot, When,
    digest,
};
use srnn::format::plural;
use std::fmt::Write as _;
use std::path::Path;

pub fn describe(folder: &Path) -> Result<Description, Failure> {
    let file = ModelFile::load(folder)?;
    let (layout, digest) = (file.model.layout(), digest(&file.model));
    let mut text =
        format!("model {}\n  {}\n", folder.display(), architecture_text(&file.model.arch));
    let _ = writeln!(text, "  alphabet  {}", quoted_list(&file.alphabet));
    if let Some(unknown) = file.unknown {
        let name = &file.alphabet[unknown as usize];
        let _ = writeln!(text, "  unknown   tokens outside the alphabet are read as {name:?}");
    }
    let _ = writeln!(text, "  classes   {}", quoted_list(&file.classes));
    if let Some(ImageLayout { rows, columns, .. }) = &file.image {
        let _ = writeln!(text, "  images    {rows}×{columns} pixels");
    }
    if let Some(tokenizer) = file.tokenizer {
        let _ = writeln!(text, "  texts     tokens by the rule {}", tokenizer.name());
    }
    let _ = writeln!(text, "  digest    {digest}");
    let _ = writeln!(text, "  {} parameters", layout.len);
    for slot in &layout.slots {
        let _ = writeln!(
            text,
            "    {:20} {:>9}  {}",
            slot.name,
            slot.range.len(),
            shape_and_range(&file, slot)
        );
    }
    let tensors = layout.slots.iter().map(
        |slot| json!({ "name": slot.name, "shape": slot.shape, "parameters": slot.range.len() }),
    );
    let value = json!({
        "kind": "model",
        "path": folder.display().to_string(),
        "arch": file.model.arch,
        "in_words": architecture_text(&file.model.arch),
        "alphabet": file.alphabet,
        "unknown": file.unknown,
        "classes": file.classes,
        "image": file.image,
        "tokenizer": file.tokenizer,
        "digest": digest,
        "parameters": layout.len,
        "tensors": tensors.collect::<Vec<_>>(),
    });
    Ok(Description { text, value })
}

/// Shape and range of a tensor.
fn shape_and_range(file: &ModelFile, slot: &Slot) -> String {
    let values = &file.model.params[slot.range.clone()];
    let min = values.iter().copied().fold(f32::INFINITY, f32::min);
    let max = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    format!("{:?}, from {min:.3} to {max:.3}", slot.shape)
}

/// One line about the architecture.
fn architecture_text(arch: &Arch) -> String {
    let input = match arch.input {
        Input::Tokens { symbols, embedding, start, end } => {
            let markers = match (start, end) {
                (true, true) => ", start and end token",
                (true, false) => ", start token",
                (false, true) => ", end token",
                (false, false) => "",
            };
            format!("{}{markers} → embedding of {embedding}", plural(symbols, "symbol"))
        }
        Input::Real { width } => format!("vectors of {width} numbers"),
    };
    let layers: Vec<String> = arch.layers.iter().map(layer).collect();
    let read = match arch.readout.from {
        ReadFrom::H => "h",
        ReadFrom::U => "u",
        ReadFrom::C => "c",
        ReadFrom::Uc => "u and c",
        ReadFrom::Hc => "h and c",
    };
    let when = match arch.readout.when {
        When::Last => "after the last step",
        When::EveryStep => "after every step",
    };
    let layers = layers.join(" → ");
    format!("{input} → {layers} → {} classes from {read} {when}", arch.classes)
}

fn layer(layer: &Layer) -> String {
    let cell = match layer.cell {
        Cell::Gru { reset: Reset::AfterMatrix } => "GRU",
        Cell::Gru { reset: Reset::BeforeMatrix } => "GRU (reset before the matrix)",
        Cell::Lstm { peephole: false } => "LSTM",
        Cell::Lstm { peephole: true } => "LSTM with peepholes",
    };
    let gate = match layer.gate {
        Gate::Sigmoid => "",
        Gate::HardSigmoid => ", hard sigmoid gates",
    };
    let bias = if layer.bias { "" } else { ", no biases" };
    let states = layer.centroids.map_or(String::new(), |centroids| {
        let score = match centroids.score {
            Score::Dot => "dot product",
            Score::Euclidean => "distance",
        };
        format!(", {} centroids by {score} at τ = {}", centroids.k, centroids.tau.get())
    });
    let prefix = if layer.centroids.is_some() { "SR-" } else { "" };
    format!("{prefix}{cell} of {} units{states}{gate}{bias}", layer.units)
}
