//! Statistics of the hidden states of a trained network on a test: centroid usage and drift.

use super::{TaskSets, TrialData};
use crate::engine::{Fields, Runner};
use crate::explain::drift::{Drift, drift};
use crate::explain::usage::{Usage, usage};
use crate::explain::{Observation, observe};
use crate::train::Examples;
use serde::Serialize;
use std::convert::Infallible;

/// Statistics of the states of the top layer on a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateReport {
    /// The number of sequences of the test.
    pub sequences: usize,
    /// The usage of the centroids; `None` where there are none.
    pub usage: Option<Usage>,
    /// The drift on sequences of at least [`MIN_DRIFT_STEPS`] steps.
    pub drift: Drift,
}

/// Shorter sequences are too short to measure drift.
pub const MIN_DRIFT_STEPS: usize = 50;

/// The number of steps in a batch; it bounds the memory.
const MAX_STEPS: usize = 1 << 14;

const ALPHA: Fields = Fields { alpha: true, u: false, h: false, c: false };
const VECTORS: Fields = Fields { alpha: false, u: false, h: true, c: true };

/// Runs the engine's network on the test with index `test` and collects statistics of its states.
///
/// # Panics
/// If there is no such test.
pub fn state_report<E: Runner<f32, Error = Infallible> + ?Sized>(
    engine: &mut E,
    trial_data: &TrialData,
    test: usize,
) -> StateReport {
    match &trial_data.sets {
        TaskSets::Labelled(sets) => report_on(engine, &sets.tests[test]),
        TaskSets::Copying(sets) => report_on(engine, &sets.tests[test]),
        TaskSets::Images(sets) => report_on(engine, &sets.tests[test]),
        TaskSets::Corpus(sets) => report_on(engine, &sets.tests[test]),
    }
}

fn report_on<E: Runner<f32, Error = Infallible> + ?Sized>(
    engine: &mut E,
    set: &impl Examples,
) -> StateReport {
    let has_centroids = engine.arch().layers.last().is_some_and(|layer| layer.centroids.is_some());
    StateReport {
        sequences: set.count(),
        usage: has_centroids.then(|| usage(observations(engine, set, ALPHA))),
        drift: drift(observations(engine, set, VECTORS), MIN_DRIFT_STEPS),
    }
}

/// Observations of the set, batch by batch, so that only one is in memory.
fn observations<E: Runner<f32, Error = Infallible> + ?Sized>(
    engine: &mut E,
    set: &impl Examples,
    fields: Fields,
) -> impl Iterator<Item = Observation> {
    let arch = engine.arch().clone();
    let longest = (0..set.count()).map(|index| set.length(index)).max().unwrap_or(0) + 2;
    let rows = (MAX_STEPS / longest).max(1);
    (0..set.count().div_ceil(rows)).map(move |part| {
        let part: Vec<usize> = (part * rows..set.count().min((part + 1) * rows)).collect();
        observe(engine, &set.batch(&part, &arch), arch.layers.len() - 1, fields)
    })
}
