//! Whole epochs: every image of a training set once, by the loop that trains, files included.

use super::check::{self, Nearness};
use super::measure::Times;
use super::report::checked;
use super::setting::{Setting, Shape};
use super::{Bench, OPTIMISER};
use crate::failure::Failure;
use serde_json::{Value, json};
use srnn::engine::{Hardware, Trainer};
use srnn::format::{aligned, grouped};
use srnn::key::Key;
use srnn::task::Split;
use srnn::task::images::{CLASSES, ImageSubset, Images, read};
use srnn::train::{
    Control, Event, LearningRate, NoCheckpoints, Sampling, Schedule, Stop, TrainConfig, TrainJob,
    train,
};
use std::path::Path;
use std::time::Instant;

/// The setting that is measured where none is named.
pub const USUAL: &str = "mnist";

/// The images of a folder.
pub struct Read {
    /// To learn from.
    pub images: Images,
    /// How long reading took; the first may have been from the disk, the others were from memory.
    pub times: Times,
    /// How long the first took.
    pub first: f64,
}

/// One line.
pub struct Line {
    setting: Setting,
    near: Nearness,
    /// Batches of an epoch.
    batches: u64,
    /// Epochs after the first.
    times: Times,
    /// The first, in which kernels are loaded.
    first: f64,
}

/// Reads the training images so many times.
pub fn read_images(folder: &Path, times: usize) -> Result<Read, Failure> {
    let mut seconds = vec![];
    let mut images = None;
    for _ in 0..times {
        // Not twice in memory.
        drop(images.take());
        let begin = Instant::now();
        images = Some(read(folder, ImageSubset::Train)?);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let first = seconds[0];
    Ok(Read { images: images.expect("read at least once"), times: Times::of(seconds), first })
}

/// Trains a setting's network on all images for one epoch and then so many, which are timed.
pub fn measure(
    arguments: &Bench,
    hardware: &Hardware,
    setting: Setting,
    images: &Images,
) -> Result<Line, Failure> {
    let setting = fitted(setting, images)?;
    let model = setting.model(arguments.seed)?;
    let mut engine = hardware.trainer(&model, OPTIMISER)?;
    let expected = check::expected(&setting, &model, arguments.seed)?;
    let near = check::check(&mut *engine, &expected, &setting)?;
    let batches = images.count().div_ceil(setting.shape.rows) as u64;
    let epochs = 1 + arguments.epochs;
    let config = config(&setting, batches * (1 + epochs as u64));
    // A run wants something to select by, which this one never looks at.
    let split = Split { train: images.clone(), valid: images.first(1), test: None };
    let job = TrainJob { split: &split, config: &config, key: Key::new(arguments.seed) };
    let mut seconds = clocked(&mut *engine, &job, batches, epochs)?;
    let first = seconds.remove(0);
    Ok(Line { setting, near, batches, times: Times::of(seconds), first })
}

/// The seconds of so many epochs, by a clock that watches the run.
fn clocked(
    engine: &mut dyn Trainer<f32>,
    job: &TrainJob<'_, Images>,
    batches: u64,
    epochs: usize,
) -> Result<Vec<f64>, Failure> {
    let (mut begin, mut seconds) = (Instant::now(), vec![]);
    let mut watch = |event: &Event<'_>| {
        match event {
            Event::Started { .. } => begin = Instant::now(),
            Event::Updated { update, .. } if update % batches == 0 => {
                seconds.push(begin.elapsed().as_secs_f64());
                begin = Instant::now();
            }
            _ => {}
        }
        if seconds.len() < epochs { Control::Continue } else { Control::Interrupt }
    };
    let run = train(engine, job, &mut NoCheckpoints, &mut watch)?;
    if run.stop != Stop::Interrupted {
        let message = format!("training ended early, and its time means nothing: {}", run.stop);
        return Err(Failure::new(
            message,
            "this is a bug of the engine: please report the command",
        ));
    }
    Ok(seconds)
}

/// The setting with the classes of the images; refused where it is made for others.
fn fitted(setting: Setting, images: &Images) -> Result<Setting, Failure> {
    let Shape { steps, width, symbols, .. } = setting.shape;
    if (steps, width, symbols) != (images.steps(), 1, 0) {
        let message = format!(
            "--epoch: {} of shape {} does not read images of {} pixels, one a step",
            setting.name,
            setting.shape,
            images.steps()
        );
        let remedy = format!("--setting {USUAL}, or --shape B,{},1,D,K", images.steps());
        return Err(Failure::new(message, remedy));
    }
    Ok(Setting { shape: Shape { classes: CLASSES, ..setting.shape }, ..setting })
}

/// Passes over all images, and nothing else: no evaluation, no checkpoint.
fn config(setting: &Setting, updates: u64) -> TrainConfig {
    TrainConfig {
        optimiser: OPTIMISER,
        learning_rate: LearningRate::Constant { rate: setting.regime().learning_rate },
        batch_size: setting.shape.rows,
        sampling: Sampling::Epochs,
        schedule: Schedule::plain(updates),
        validate_every: u64::MAX,
        checkpoint_every: u64::MAX,
        ..TrainConfig::default()
    }
}

/// The table for a terminal.
pub fn text(hardware: &Hardware, read: &Read, lines: &[Line]) -> String {
    let heading = [
        "setting",
        "cell",
        "B,T,IN,D,K",
        "s an epoch with reading",
        "reading",
        "training",
        "quartiles",
        "ms a batch",
        "first epoch",
        "off by",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(lines.iter().map(|line| row(read, line)));
    let (count, epochs) = (grouped(read.images.count() as u64), read.times.count);
    let first = read.first;
    format!(
        "Epochs of {count} images on {hardware}, median of {epochs}; files read in {first:.3} s the \
         first time:\n{}",
        aligned(&rows)
    )
}

fn row(read: &Read, line: &Line) -> Vec<String> {
    let Line { setting, near, times, first, .. } = line;
    vec![
        setting.name.clone(),
        setting.cell.name(),
        setting.shape.to_string(),
        format!("{:.3}", read.times.median + times.median),
        format!("{:.3}", read.times.median),
        format!("{:.3}", times.median),
        format!("{:.3}–{:.3}", times.low, times.high),
        format!("{:.3}", milliseconds_a_batch(line)),
        format!("{first:.3}"),
        format!("{:.0e}", near.loss.max(near.gradient)),
    ]
}

/// The same as an object.
pub fn value(hardware: &Hardware, read: &Read, lines: &[Line]) -> Value {
    let epochs: Vec<Value> = lines.iter().map(|line| object(read, line)).collect();
    json!({
        "device": hardware.device.to_string(),
        "threads": hardware.threads,
        "images": read.images.count(),
        "reading": {
            "seconds": read.times.median,
            "quartiles": [read.times.low, read.times.high],
            "first_seconds": read.first,
        },
        "epochs": epochs,
    })
}

fn object(read: &Read, line: &Line) -> Value {
    let Line { setting, near, times, first, batches } = line;
    json!({
        "setting": setting.name,
        "cell": setting.cell.name(),
        "shape": setting.shape.to_string(),
        "seconds_with_reading": read.times.median + times.median,
        "seconds": times.median,
        "quartiles": [times.low, times.high],
        "epochs_timed": times.count,
        "first_seconds": first,
        "batches": batches,
        "milliseconds_a_batch": milliseconds_a_batch(line),
        "checked": checked(near),
    })
}

fn milliseconds_a_batch(line: &Line) -> f64 {
    1e3 * line.times.median / line.batches as f64
}
