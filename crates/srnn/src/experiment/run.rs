//! Makes a cell's data, trains its network and tests it.

use super::{Cell, CellId, Data, TestRow, Validation};
use crate::engine::{Engine, Hardware, Mode};
use crate::hex::hex;
use crate::key::Key;
use crate::model::Model;
use crate::task::builtin::{TestError, sets, test};
use crate::task::{Dataset, Split};
use crate::train::{
    End, Evaluation, Job, Nowhere, Observer, Recipe, Record, Run, Stop, TrainError, evaluate, train,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A data set and its tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// What is learned from.
    pub split: Split,
    /// What is tested on, in the order of the rows.
    pub tests: Vec<Dataset>,
    /// The sha-256 of all of it, in hex.
    pub digest: String,
}

/// What came of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which cell.
    pub cell: CellId,
    /// The digest of the cell.
    pub settings: String,
    /// The digest of its material.
    pub data: String,
    /// Why its run ended.
    pub stop: Stop,
    /// Updates made.
    pub updates: u64,
    /// The update whose network is the result.
    pub kept: u64,
    /// How long it took, as whoever ran it measured; the library has no clock.
    pub seconds: f64,
    /// How the resulting network does; nothing where a number is none.
    pub scores: Option<Scores>,
    /// The validation set along the run.
    pub history: Vec<Point>,
}

/// How a network does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The part of the training set that is wrong.
    pub train: f64,
    /// On the validation set.
    pub valid: Validation,
    /// On each test.
    pub tests: Vec<RowError>,
}

/// A test's error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowError {
    /// The test's name.
    pub row: String,
    /// The part that is wrong.
    pub error: f64,
}

/// A point of a validation curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Updates made.
    pub update: u64,
    /// λ there.
    pub lambda: f64,
    /// The part of the validation set that is wrong.
    pub error: f64,
    /// Its mean cross-entropy.
    pub loss: f64,
}

/// A cell that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// What came of it.
    pub outcome: Outcome,
    /// The resulting network.
    pub model: Model<f32>,
}

/// A cell that could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The observer asked for it.
    #[error("interrupted")]
    Interrupted,
    /// A run that could not be.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// Makes a data set and its tests.
pub fn material(data: &Data, tests: &[TestRow]) -> Result<Material, TestError> {
    let key = Key::new(data.seed);
    let split = sets(data.spec, &key);
    let made = tests.iter().map(|row| {
        let key = key.child(&row.spec.to_string(), 0);
        test(data.spec, &row.spec, row.strings, &split, &key)
    });
    let tests = made.collect::<Result<Vec<Dataset>, TestError>>()?;
    let digest = digest([&split.train, &split.valid].into_iter().chain(&tests));
    Ok(Material { split, tests, digest })
}

/// Trains the cell's network on its material with this hardware, and tests it.
pub fn run_cell(
    cell: &Cell<'_>,
    material: &Material,
    hardware: &Hardware,
    observer: &mut dyn Observer,
) -> Result<Done, CellError> {
    let Recipe { arch, init, train: config } = cell.recipe();
    let key = Key::new(cell.seed);
    let model = Model::new(arch, &init, key).map_err(TrainError::from)?;
    let mut engine = hardware.engine(&model, config.optimiser).map_err(TrainError::from)?;
    let job = Job { split: &material.split, config: &config, key };
    let run = train(&mut *engine, &job, &mut Nowhere, observer)?;
    if run.stop == Stop::Interrupted {
        return Err(CellError::Interrupted);
    }
    let scores = run.end.as_ref().filter(|end| end.valid.loss.is_finite());
    let scores = scores.map(|end| scores_of(&mut *engine, end, cell.tests, &material.tests));
    let outcome = outcome(cell, material, run, scores);
    Ok(Done { outcome, model: engine.model() })
}

fn outcome(cell: &Cell<'_>, material: &Material, run: Run, scores: Option<Scores>) -> Outcome {
    Outcome {
        cell: cell.id(),
        settings: cell.digest(),
        data: material.digest.clone(),
        stop: run.stop,
        updates: run.updates,
        kept: run.kept,
        seconds: 0.0,
        scores,
        history: run.history.iter().map(Point::from).collect(),
    }
}

fn scores_of(
    engine: &mut dyn Engine<f32>,
    end: &End,
    rows: &[TestRow],
    tests: &[Dataset],
) -> Scores {
    let mut error_on = |(row, test): (&TestRow, &Dataset)| {
        let evaluation = evaluate(engine, test, Mode::default());
        RowError { row: row.name.clone(), error: error(&evaluation) }
    };
    Scores {
        train: error(&end.train),
        valid: Validation { error: error(&end.valid), loss: end.valid.loss },
        tests: rows.iter().zip(tests).map(&mut error_on).collect(),
    }
}

/// From counts: 17 wrong of 1,000 must be 0.017 to the last bit, or it is not at most the paper's.
fn error(evaluation: &Evaluation) -> f64 {
    let confusion = &evaluation.confusion;
    let total: u64 = confusion.iter().flatten().sum();
    let right: u64 = confusion.iter().enumerate().map(|(class, row)| row[class]).sum();
    (total - right) as f64 / total as f64
}

impl From<&Record> for Point {
    fn from(record: &Record) -> Point {
        let Record { update, lambda, valid, .. } = *record;
        Point { update, lambda, error: 1.0 - valid.accuracy, loss: valid.loss }
    }
}

fn digest<'a>(sets: impl Iterator<Item = &'a Dataset>) -> String {
    let mut hash = Sha256::new();
    sets.for_each(|set| hash.update(set.digest()));
    hex(&hash.finalize())
}
