//! Times whole epochs: reading the files and training on every image once.

use super::check::{self, ReferenceDeviation};
use super::measure::Quartiles;
use super::setting::{BenchSetting, BenchShape};
use super::{OPTIMISER, without_remedy};
use crate::UserError;
use crate::key::Key;
use crate::task::Split;
use crate::task::images::{CLASSES, ImageSubset, Images, read};
use crate::train::{
    Control, Event, LearningRate, NoCheckpoints, Sampling, Schedule, Stop, TrainConfig, TrainJob,
    train,
};
use srnn_engine::{Hardware, Trainer};
use std::path::Path;
use std::time::Instant;

/// The name of the setting whose epochs are timed by default.
pub const EPOCH_SETTING: &str = "mnist";

/// The images of a folder.
pub struct LoadedImages {
    /// The images.
    pub images: Images,
    /// The times of reading the files; all but the first read them from the page cache.
    pub times: Quartiles,
    /// Seconds of the first reading.
    pub first: f64,
}

/// The timing of one setting.
pub struct EpochTiming {
    /// The setting.
    pub setting: BenchSetting,
    /// The deviation from the reference.
    pub deviation: ReferenceDeviation,
    /// Batches per epoch.
    pub batches: u64,
    /// Seconds per epoch, without the first.
    pub times: Quartiles,
    /// Seconds of the first epoch, which includes loading kernels.
    pub first: f64,
}

/// Reads the training images of a folder `times` times.
///
/// # Errors
/// If they cannot be read.
///
/// # Panics
/// If `times` is 0.
pub fn read_images(folder: &Path, times: usize) -> Result<LoadedImages, UserError> {
    let mut seconds = vec![];
    let mut images = None;
    for _ in 0..times {
        // Frees the images before reading them again.
        drop(images.take());
        let begin = Instant::now();
        images = Some(read(folder, ImageSubset::Train).map_err(without_remedy)?);
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let first = seconds[0];
    Ok(LoadedImages {
        images: images.expect("read at least once"),
        times: Quartiles::of(seconds),
        first,
    })
}

/// Trains a setting's network for one untimed epoch and then for `epochs` timed ones.
///
/// # Errors
/// If the setting does not read these images, or the engine deviates from the reference.
pub fn time_epochs(
    setting: BenchSetting,
    hardware: &Hardware,
    seed: u64,
    images: &Images,
    epochs: usize,
) -> Result<EpochTiming, UserError> {
    let setting = fit_to_images(setting, images)?;
    let model = setting.model(seed)?;
    let mut engine = hardware.trainer(&model, OPTIMISER).map_err(without_remedy)?;
    let expected = check::expected(&setting, &model, seed)?;
    let deviation = check::check(&mut *engine, &expected, &setting)?;
    let batches = images.count().div_ceil(setting.shape.rows) as u64;
    let epochs = 1 + epochs;
    let config = config(&setting, batches * (1 + epochs as u64));
    // Training needs a validation set; this run never evaluates it.
    let split = Split { train: images.clone(), valid: images.first(1), test: None };
    let job = TrainJob { split: &split, config: &config, key: Key::new(seed) };
    let mut seconds = train_epochs(&mut *engine, &job, batches, epochs)?;
    let first = seconds.remove(0);
    Ok(EpochTiming { setting, deviation, batches, times: Quartiles::of(seconds), first })
}

/// The seconds of each of the first `epochs` epochs.
fn train_epochs(
    engine: &mut dyn Trainer<f32>,
    job: &TrainJob<'_, Images>,
    batches: u64,
    epochs: usize,
) -> Result<Vec<f64>, UserError> {
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
    let run = train(engine, job, &mut NoCheckpoints, &mut observe).map_err(without_remedy)?;
    if run.stop != Stop::Interrupted {
        let message = format!("training ended early, so its time is meaningless: {}", run.stop);
        return Err(UserError::new(
            message,
            "this is a bug of the engine: please report the command",
        ));
    }
    Ok(seconds)
}

/// The setting with the number of classes of the images. Fails if its shape does not fit them.
fn fit_to_images(setting: BenchSetting, images: &Images) -> Result<BenchSetting, UserError> {
    let BenchShape { steps, width, symbols, .. } = setting.shape;
    if (steps, width, symbols) != (images.steps(), 1, 0) {
        let message = format!(
            "--epoch: {} of shape {} does not read images of {} pixels, one a step",
            setting.name,
            setting.shape,
            images.steps()
        );
        let remedy = format!("--setting {EPOCH_SETTING}, or --shape B,{},1,D,K", images.steps());
        return Err(UserError::new(message, remedy));
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
