//! Classifies PNG files with a model that reads images pixel by pixel.

use super::PredictArgs;
use super::classify::{NetworkOutput, network_output};
use super::engine::EngineName;
use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::runs::SavedModel;
use serde_json::{Map, Value, json};
use srnn::engine::cpu::Cpu;
use srnn::engine::model::{ImageLayout, Model};
use srnn::engine::reference::Reference;
use srnn::engine::{Batch, Fields, Inputs, Mode, Real, Runner, Targets};
use srnn::task::images::{GreyImage, read_png};
use std::convert::Infallible;
use std::path::Path;

/// Images per batch: enough for all threads, and little memory.
const ROWS: usize = 64;

pub fn run(
    arguments: &PredictArgs,
    saved: &SavedModel,
    layout: &ImageLayout,
    output: &Output,
) -> Result<Answer, Failure> {
    if arguments.inputs.is_empty() || arguments.fail_under.is_some() {
        let message = format!("{}: the model reads images", saved.folder.display());
        return Err(Failure::new(message, "name PNG files as arguments, without other options"));
    }
    let mut results = Vec::new();
    for names in arguments.inputs.chunks(ROWS) {
        let images = names.iter().map(|name| steps(Path::new(name), layout));
        let batch = batch(&images.collect::<Result<Vec<_>, _>>()?);
        results.extend(run_network(&saved.file.model, &batch, arguments.engine));
    }
    let classes = &saved.file.classes;
    let named = || arguments.inputs.iter().zip(&results);
    let lines: Vec<String> = named().map(|(name, result)| line(name, result, classes)).collect();
    let values: Vec<Value> = named().map(|(name, result)| value(name, result, classes)).collect();
    output.result(lines.join("\n"), &json!({ "predictions": values }))?;
    match results.iter().any(Result::is_ok) {
        true => Ok(Answer::Yes),
        false => {
            output.reason("no input got a label");
            Ok(Answer::No)
        }
    }
}

/// The pixels of a file in the order of the model's steps. Fails if the size is not the model's.
fn steps(path: &Path, layout: &ImageLayout) -> Result<Vec<f32>, Failure> {
    let GreyImage { shape, pixels } = read_png(path)?;
    if shape != [layout.rows, layout.columns] {
        let ([rows, columns], ImageLayout { rows: r, columns: c, .. }) = (shape, layout);
        let message = format!(
            "{}: an image of {rows}×{columns} pixels, but the model reads {r}×{c} pixels",
            path.display()
        );
        return Err(Failure::new(message, format!("scale the image to {r} rows of {c} pixels")));
    }
    let value = |pixel: u8| f32::from(pixel) / 255.0;
    Ok(match layout.order.is_empty() {
        true => pixels.into_iter().map(value).collect(),
        false => layout.order.iter().map(|&pixel| value(pixels[pixel as usize])).collect(),
    })
}

fn batch(images: &[Vec<f32>]) -> Batch {
    let steps = images[0].len();
    Batch {
        offsets: (0..=images.len()).map(|row| row * steps).collect(),
        input: Inputs::Real(images.concat()),
        targets: Targets::None,
        class_weights: vec![],
        initial: vec![],
    }
}

fn run_network(
    model: &Model<f32>,
    batch: &Batch,
    engine: EngineName,
) -> Vec<Result<NetworkOutput, String>> {
    match engine {
        EngineName::Cpu => {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            run_engine(&mut Cpu::new(model, threads), batch)
        }
        EngineName::Reference => run_engine(&mut Reference::new(&model.to_f64()), batch),
    }
}

fn run_engine<F: Real>(
    engine: &mut impl Runner<F, Error = Infallible>,
    batch: &Batch,
) -> Vec<Result<NetworkOutput, String>> {
    let classes = engine.arch().classes;
    let Ok(trace) = engine.trace(batch, Mode::default(), Fields::default());
    trace.logits.chunks_exact(classes).map(network_output).collect()
}

/// File, class and probability.
fn line(name: &str, result: &Result<NetworkOutput, String>, classes: &[String]) -> String {
    match result {
        Ok(NetworkOutput { class, probabilities }) => {
            let class = *class as usize;
            format!("{name}\t{}\t{:.4}", classes[class], probabilities[class])
        }
        Err(reason) => format!("{name}\t-\t{reason}"),
    }
}

fn value(name: &str, result: &Result<NetworkOutput, String>, classes: &[String]) -> Value {
    let network = result.as_ref().ok();
    let probabilities = network.map(|network| {
        let numbers = network.probabilities.iter().map(|&p| json!(p));
        classes.iter().cloned().zip(numbers).collect::<Map<_, _>>()
    });
    json!({
        "file": name,
        "label": network.map(|network| &classes[network.class as usize]),
        "probabilities": probabilities,
        "reason": result.as_ref().err(),
    })
}
