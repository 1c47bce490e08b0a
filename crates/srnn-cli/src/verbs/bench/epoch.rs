//! Times whole epochs: reading the files and training on every image once.

use super::check::{self, ReferenceDeviation};
use super::measure::Quartiles;
use super::report::checked;
use super::setting::{BenchSetting, BenchShape};
use super::{BenchArgs, OPTIMISER};
use crate::failure::Failure;
use serde_json::{Value, json};
use srnn::engine::key::Key;
use srnn::engine::{Hardware, Trainer};
use srnn::format::{aligned, grouped};
use srnn::task::Split;
use srnn::task::images::{CLASSES, ImageSubset, Images, read};
use srnn::train::{
    Control, Event, LearningRate, NoCheckpoints, Sampling, Schedule, Stop, TrainConfig, TrainJob,
    train,
};
use std::path::Path;
use std::time::Instant;

/// The setting of --epoch, if none is named.
pub const DEFAULT_SETTING: &str = "mnist";

/// The images of a folder.
pub struct LoadedImages {
    pub images: Images,
    /// The times of reading the files; all but the first read them from the page cache.
    pub times: Quartiles,
    /// Seconds of the first reading.
    pub first: f64,
}

/// The timing of one setting.
pub struct EpochTiming {
    setting: BenchSetting,
    deviation: ReferenceDeviation,
    /// Batches per epoch.
    batches: u64,
    /// Seconds per epoch, without the first.
    times: Quartiles,
    /// Seconds of the first epoch, which includes loading kernels.
    first: f64,
}

/// Reads the training images `times` times.
pub fn read_images(folder: &Path, times: usize) -> Result<LoadedImages, Failure> {
    let mut seconds = vec![];
    let mut images = None;
    for _ in 0..times {
        // Frees the images before reading them again.
        drop(images.take());
        let begin = Instant::now();
        images = Some(read(folder, ImageSubset::Train)?);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let first = seconds[0];
    Ok(LoadedImages {
        images: images.expect("read at least once"),
        times: Quartiles::of(seconds),
        first,
    })
}

/// Trains a setting's network for one untimed epoch and then for the epochs to time.
pub fn measure(
    arguments: &BenchArgs,
    hardware: &Hardware,
    setting: BenchSetting,
    images: &Images,
) -> Result<EpochTiming, Failure> {
    let setting = fit_to_images(setting, images)?;
    let model = setting.model(arguments.seed)?;
    let mut engine = hardware.trainer(&model, OPTIMISER)?;
    let expected = check::expected(&setting, &model, arguments.seed)?;
    let deviation = check::check(&mut *engine, &expected, &setting)?;
    let batches = images.count().div_ceil(setting.shape.rows) as u64;
    let epochs = 1 + arguments.epochs;
    let config = config(&setting, batches * (1 + epochs as u64));
    // Training needs a validation set; this run never evaluates it.
    let split = Split { train: images.clone(), valid: images.first(1), test: None };
    let job = TrainJob { split: &split, config: &config, key: Key::new(arguments.seed) };
    let mut seconds = time_epochs(&mut *engine, &job, batches, epochs)?;
    let first = seconds.remove(0);
    Ok(EpochTiming { setting, deviation, batches, times: Quartiles::of(seconds), first })
}

/// The seconds of each of the first `epochs` epochs.
fn time_epochs(
    engine: &mut dyn Trainer<f32>,
    job: &TrainJob<'_, Images>,
    batches: u64,
    epochs: usize,
) -> Result<Vec<f64>, Failure> {
    let (mut begin, mut seconds) = (Instant::now(), vec![]);
    let mut observe = |event: &Event<'_>| {
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
    let run = train(engine, job, &mut NoCheckpoints, &mut observe)?;
    if run.stop != Stop::Interrupted {
        let message = format!("training ended early, so its time is meaningless: {}", run.stop);
        return Err(Failure::new(
            message,
            "this is a bug of the engine: please report the command",
        ));
    }
    Ok(seconds)
}

/// The setting with the number of classes of the images. Fails if its shape does not fit them.
fn fit_to_images(setting: BenchSetting, images: &Images) -> Result<BenchSetting, Failure> {
    let BenchShape { steps, width, symbols, .. } = setting.shape;
    if (steps, width, symbols) != (images.steps(), 1, 0) {
        let message = format!(
            "--epoch: {} of shape {} does not read images of {} pixels, one a step",
            setting.name,
            setting.shape,
            images.steps()
        );
        let remedy = format!("--setting {DEFAULT_SETTING}, or --shape B,{},1,D,K", images.steps());
        return Err(Failure::new(message, remedy));
    }
    Ok(BenchSetting { shape: BenchShape { classes: CLASSES, ..setting.shape }, ..setting })
}

/// Training without evaluation and without checkpoints.
fn config(setting: &BenchSetting, updates: u64) -> TrainConfig {
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
pub fn text(hardware: &Hardware, read: &LoadedImages, lines: &[EpochTiming]) -> String {
    let heading = [
        "setting",
        "cell",
        "B,T,IN,D,K",
        "s per epoch with reading",
        "reading",
        "training",
        "quartiles",
        "ms per batch",
        "first epoch",
        "error",
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

fn row(read: &LoadedImages, line: &EpochTiming) -> Vec<String> {
    let EpochTiming { setting, deviation, times, first, .. } = line;
    vec![
        setting.name.clone(),
        setting.cell.name(),
        setting.shape.to_string(),
        format!("{:.3}", read.times.median + times.median),
        format!("{:.3}", read.times.median),
        format!("{:.3}", times.median),
        format!("{:.3}–{:.3}", times.low, times.high),
        format!("{:.3}", milliseconds_per_batch(line)),
        format!("{first:.3}"),
        format!("{:.0e}", deviation.loss.max(deviation.gradient)),
    ]
}

/// The timings as JSON.
pub fn value(hardware: &Hardware, read: &LoadedImages, lines: &[EpochTiming]) -> Value {
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

fn object(read: &LoadedImages, line: &EpochTiming) -> Value {
    let EpochTiming { setting, deviation, times, first, batches } = line;
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
        "milliseconds_a_batch": milliseconds_per_batch(line),
        "checked": checked(deviation),
    })
}

fn milliseconds_per_batch(line: &EpochTiming) -> f64 {
    1e3 * line.times.median / line.batches as f64
}
