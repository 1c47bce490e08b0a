//! What the states of a trained network do on a test: which centroids carry it, and whether it
//! drifts.

use super::{Made, Material, Sets};
use crate::engine::{Fields, Runner};
use crate::explain::drift::{Drift, drift};
use crate::explain::usage::{Usage, usage};
use crate::explain::{Observation, observe};
use crate::train::Examples;
use serde::Serialize;
use std::convert::Infallible;

/// The states of a network's top layer on a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct States {
    /// Sequences of the test.
    pub sequences: usize,
    /// The use of its centroids; nothing where it has none.
    pub usage: Option<Usage>,
    /// Its drift on sequences of at least [`LONG`] steps.
    pub drift: Drift,
}

/// Shorter sequences say little about drift.
pub const LONG: usize = 50;

/// Steps of a batch, so that long sequences do not fill the memory.
const STEPS: usize = 1 << 14;

const ALPHA: Fields = Fields { alpha: true, u: false, h: false, c: false };
const VECTORS: Fields = Fields { alpha: false, u: false, h: true, c: true };

/// Watches the engine's network on a test of the material.
///
/// # Panics
/// If there is no such test.
pub fn states<E: Runner<f32, Error = Infallible> + ?Sized>(
    engine: &mut E,
    material: &Material,
    test: usize,
) -> States {
    match &material.sets {
        Sets::Labelled(made) => of_kind(engine, made, test),
        Sets::Copying(made) => of_kind(engine, made, test),
        Sets::Images(made) => of_kind(engine, made, test),
    }
}

fn of_kind<E: Runner<f32, Error = Infallible> + ?Sized, D: Examples>(
    engine: &mut E,
    made: &Made<D>,
    test: usize,
) -> States {
    let (set, arch) = (&made.tests[test], engine.arch());
    let has_centroids = arch.layers.last().is_some_and(|layer| layer.centroids.is_some());
    States {
        sequences: set.count(),
        usage: has_centroids.then(|| usage(watch(engine, set, ALPHA))),
        drift: drift(watch(engine, set, VECTORS), LONG),
    }
}

/// One observation after the other: they are not kept.
fn watch<E: Runner<f32, Error = Infallible> + ?Sized>(
    engine: &mut E,
    set: &impl Examples,
    fields: Fields,
) -> impl Iterator<Item = Observation> {
    let arch = engine.arch().clone();
    let longest = (0..set.count()).map(|index| set.length(index)).max().unwrap_or(0) + 2;
    let rows = (STEPS / longest).max(1);
    (0..set.count().div_ceil(rows)).map(move |part| {
        let part: Vec<usize> = (part * rows..set.count().min((part + 1) * rows)).collect();
        observe(engine, &set.batch(&part, &arch), arch.layers.len() - 1, fields)
    })
}
