//! A setting as files, so that other programs can start from the same weights and data, and check
//! their results before timing:
//!
//! ```text
//! setting.json            sizes, cell, the expected losses, the tolerance
//! model/                  the network (docs/src/model-format.md)
//! check.safetensors       inputs and targets of a few rows
//! gradients.safetensors   gradients on these rows by the f64 reference, under the model's names
//! batches.safetensors     the batches to time: 0.input, 0.targets, …
//! ```
//!
//! Inputs are `[B,T]` tokens or `[B,T,E]` numbers, targets `[B]`; tokens and targets are I64.

use super::check::{self, Expected};
use super::setting::BenchSetting;
use super::{OPTIMISER, batches, without_remedy};
use crate::UserError;
use crate::atomic::IfExists;
use crate::files;
use crate::model::{Layout, Model, ModelFile};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;
use srnn_engine::{Batch, Hardware, Inputs};
use std::path::Path;

/// Writes a setting to `folder`, so that other programs can check and time the same step.
///
/// # Errors
/// If the engine deviates from the reference, or a file cannot be written.
pub fn export(
    setting: &BenchSetting,
    hardware: &Hardware,
    seed: u64,
    folder: &Path,
) -> Result<(), UserError> {
    let model = setting.model(seed)?;
    let expected = check::expected(setting, &model, seed)?;
    let mut engine = hardware.trainer(&model, OPTIMISER).map_err(without_remedy)?;
    check::check(&mut *engine, &expected, setting)?;
    let batches = batches(setting, seed);
    let mut losses = vec![];
    for batch in &batches {
        let found = engine.gradients(batch, &setting.regime()).map_err(without_remedy)?;
        losses.push(found.loss.total);
    }
    model_file(setting, model.clone()).save(&folder.join("model")).map_err(without_remedy)?;
    write(&folder.join("check.safetensors"), &tensors(&expected.batch, ""))?;
    write(&folder.join("gradients.safetensors"), &gradients(&model, &expected))?;
    let all = batches.iter().enumerate().flat_map(|(i, batch)| tensors(batch, &format!("{i}.")));
    write(&folder.join("batches.safetensors"), &all.collect::<Vec<_>>())?;
    // Written last: if it exists, the export is complete.
    let description = describe(setting, &expected, &losses);
    files::write(&folder.join("setting.json"), &format!("{description:#}\n"))
}

/// A tensor to write.
struct ExportTensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

fn describe(setting: &BenchSetting, expected: &Expected, losses: &[f64]) -> serde_json::Value {
    let shape = setting.shape;
    json!({
        "name": setting.name,
        "cell": setting.cell.name(),
        "B": shape.rows, "T": shape.steps, "E": shape.width, "D": shape.units, "K": shape.k,
        "C": shape.classes, "symbols": shape.symbols,
        "floor_us_a_token_two_cores": setting.floor.two_cores,
        "floor_ms_h200": setting.floor.h200,
        "tolerance": check::TOLERANCE,
        "smallest_scale": check::MIN_SCALE,
        "check_loss": expected.gradients.loss.total,
        "batch_losses": losses,
    })
}

fn model_file(setting: &BenchSetting, model: Model<f32>) -> ModelFile {
    ModelFile {
        model,
        alphabet: (0..setting.shape.symbols).map(|i| format!("s{i}")).collect(),
        unknown: None,
        classes: (0..setting.shape.classes).map(|i| i.to_string()).collect(),
        image: None,
        tokenizer: None,
    }
}

fn tensors(batch: &Batch, prefix: &str) -> [ExportTensor; 2] {
    let (rows, steps) = (batch.rows(), batch.row(0).len());
    let input = match &batch.input {
        Inputs::Tokens(ids) => integers(format!("{prefix}input"), vec![rows, steps], ids),
        Inputs::Real(values) => {
            let shape = vec![rows, steps, values.len() / (rows * steps)];
            singles(format!("{prefix}input"), shape, values)
        }
    };
    [input, integers(format!("{prefix}targets"), vec![rows], batch.target_ids())]
}

fn gradients(model: &Model<f32>, expected: &Expected) -> Vec<ExportTensor> {
    let slots = Layout::of(&model.arch).slots.into_iter();
    let of = |range: std::ops::Range<usize>| -> Vec<f32> {
        expected.gradients.values[range].iter().map(|&value| value as f32).collect()
    };
    slots.map(|slot| singles(slot.name, slot.shape, &of(slot.range))).collect()
}

fn singles(name: String, shape: Vec<usize>, values: &[f32]) -> ExportTensor {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    ExportTensor { name, dtype: Dtype::F32, shape, bytes }
}

fn integers(name: String, shape: Vec<usize>, ids: &[u32]) -> ExportTensor {
    let bytes = ids.iter().flat_map(|&id| (id as i64).to_le_bytes()).collect();
    ExportTensor { name, dtype: Dtype::I64, shape, bytes }
}

fn write(path: &Path, tensors: &[ExportTensor]) -> Result<(), UserError> {
    let views = tensors.iter().map(|tensor| {
        let view = TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.bytes);
        (&tensor.name, view.expect("the bytes match the shape"))
    });
    let bytes = safetensors::serialize(views, None).expect("valid names and shapes");
    files::write_bytes(path, &bytes, IfExists::Replace)
}
