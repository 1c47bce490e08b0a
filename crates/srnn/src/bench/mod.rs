//! Times training steps and epochs, after comparing the engine with the f64 reference.
//!
//! `srnn bench` shows what this module measures. The network and the batches are made from a seed.

mod check;
mod epoch;
mod export;
mod growth;
mod measure;
mod setting;

pub use check::ReferenceDeviation;
pub use epoch::{EPOCH_SETTING, EpochTiming, LoadedImages, read_images, time_epochs};
pub use export::export;
pub use growth::{GROWTH_BASE, GROWTH_FACTORS, Growth, GrowthAxis, growth_settings};
pub use measure::{Quartiles, StepTiming, TimedEngine, compare};
pub use setting::{BenchCell, BenchSetting, BenchShape, TimeFloor, named_settings};

use crate::UserError;
use crate::key::Key;
use srnn_engine::{Batch, Optimiser, Rule};
use std::sync::Arc;

/// The optimiser of the timed steps.
const OPTIMISER: Optimiser = Optimiser::new(Rule::ADAM, 1.0);

/// Number of different batches, so that consecutive steps do not read the same data.
const BATCHES: u64 = 4;

/// The batches that are timed.
fn batches(setting: &BenchSetting, seed: u64) -> Vec<Arc<Batch>> {
    let (rows, steps) = (setting.shape.rows, setting.shape.steps);
    let key = |i| Key::new(seed).child("batch", i);
    (0..BATCHES).map(|i| Arc::new(setting.batch(rows, steps, key(i)))).collect()
}

/// An error whose message contains the remedy.
fn without_remedy(error: impl std::error::Error) -> UserError {
    UserError::new(error, "")
}
