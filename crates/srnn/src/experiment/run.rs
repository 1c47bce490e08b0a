//! Trains a cell's network and tests it.

use super::{Cell, CellId, Made, Material, Measure, Sets, TestRow, Validation};
use crate::engine::{DeviceError, Hardware, Mode, Trainer};
use crate::key::Key;
use crate::model::Model;
use crate::train::{
    End, Evaluation, Examples, Job, Keeper, Observer, Recipe, Record, Run, Stop, TrainConfig,
    TrainError, evaluate, train_or_resume,
};
use serde::{Deserialize, Serialize};

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
    /// Updates that were not made, because their gradient was not a number.
    #[serde(default)]
    pub lost: u64,
    /// The program that ran it, with its version, and its commit where whoever ran it knows; empty in
    /// outcomes from before it was kept.
    #[serde(default)]
    pub program: String,
    /// What it was run on: another gives other bits. Empty as above.
    #[serde(default)]
    pub device: String,
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
    pub tests: Vec<RowScore>,
}

/// How a network does on a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowScore {
    /// The test's name.
    pub row: String,
    /// The part that is wrong.
    pub error: f64,
    /// Mean cross-entropy; nothing where it is no number, or the outcome is from before it was kept.
    #[serde(default)]
    pub loss: Option<f64>,
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

impl Outcome {
    /// The score on a test, where there is one.
    pub fn test(&self, row: usize, measure: Measure) -> Option<f64> {
        let RowScore { error, loss, .. } = self.scores.as_ref()?.tests.get(row)?;
        match measure {
            Measure::Error => Some(*error),
            Measure::CrossEntropy => *loss,
        }
    }
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

/// Trains the cell's network on its material with this hardware, from the keeper's newest checkpoint
/// if it has one, and tests it.
pub fn run_cell(
    cell: &Cell<'_>,
    material: &Material,
    hardware: &Hardware,
    keeper: &mut dyn Keeper<f32>,
    observer: &mut dyn Observer,
) -> Result<Done, CellError> {
    let mut watched = Watched { keeper, observer };
    let Recipe { arch, init, train: config } = cell.recipe();
    let model = Model::new(arch, &init, Key::new(cell.seed)).map_err(TrainError::from)?;
    let mut engine = hardware.trainer(&model, config.optimiser).map_err(TrainError::from)?;
    let (run, scores) = match &material.sets {
        Sets::Labelled(made) => trained(cell, made, &config, &mut *engine, &mut watched)?,
        Sets::Copying(made) => trained(cell, made, &config, &mut *engine, &mut watched)?,
        Sets::Images(made) => trained(cell, made, &config, &mut *engine, &mut watched)?,
    };
    let outcome = outcome(cell, material, run, scores, hardware.device.to_string());
    let model = engine.model().map_err(TrainError::from)?;
    Ok(Done { outcome, model })
}

/// Who follows the training of a cell.
struct Watched<'a> {
    keeper: &'a mut dyn Keeper<f32>,
    observer: &'a mut dyn Observer,
}

/// Trains the engine's network on sequences of any kind.
fn trained<D: Examples>(
    cell: &Cell<'_>,
    made: &Made<D>,
    config: &TrainConfig,
    engine: &mut dyn Trainer<f32>,
    Watched { keeper, observer }: &mut Watched<'_>,
) -> Result<(Run, Option<Scores>), CellError> {
    let job = Job { split: &made.split, config, key: Key::new(cell.seed) };
    let run = train_or_resume(engine, &job, *keeper, *observer)?;
    if run.stop == Stop::Interrupted {
        return Err(CellError::Interrupted);
    }
    let end = run.end.as_ref().filter(|end| end.valid.loss.is_finite());
    let scores = end.map(|end| scores_of(engine, end, cell.tests, &made.tests));
    let scores = scores.transpose().map_err(TrainError::from)?;
    Ok((run, scores))
}

fn outcome(
    cell: &Cell<'_>,
    material: &Material,
    run: Run,
    scores: Option<Scores>,
    device: String,
) -> Outcome {
    Outcome {
        cell: cell.id(),
        settings: cell.digest(),
        data: material.digest.clone(),
        stop: run.stop,
        updates: run.updates,
        kept: run.kept,
        lost: run.lost,
        program: concat!("srnn ", env!("CARGO_PKG_VERSION")).into(),
        device,
        seconds: 0.0,
        scores,
        history: run.history.iter().map(Point::from).collect(),
    }
}

fn scores_of(
    engine: &mut dyn Trainer<f32>,
    end: &End,
    rows: &[TestRow],
    tests: &[impl Examples],
) -> Result<Scores, DeviceError> {
    let mut tested = Vec::with_capacity(rows.len());
    for (row, test) in rows.iter().zip(tests) {
        let evaluation = evaluate(engine, test, Mode::default())?;
        let loss = Some(evaluation.loss).filter(|loss| loss.is_finite());
        tested.push(RowScore { row: row.name.clone(), error: error(&evaluation), loss });
    }
    Ok(Scores {
        train: error(&end.train),
        valid: Validation { error: error(&end.valid), loss: end.valid.loss },
        tests: tested,
    })
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
