//! Trains and tests the network of a trial.

use super::{Measure, SplitWithTests, TaskSets, TestRow, Trial, TrialData, TrialId, Validation};
use crate::engine::{DeviceError, Hardware, Mode, Trainer};
use crate::key::Key;
use crate::model::Model;
use crate::train::{
    CheckpointStore, Evaluation, Examples, FinalEvaluation, Observer, Recipe, Record, Run, Stop,
    TrainConfig, TrainError, TrainJob, evaluate, train_or_resume,
};
use serde::{Deserialize, Serialize};

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialOutcome {
    /// The names of the trial.
    #[serde(rename = "cell")]
    pub trial: TrialId,
    /// The digest of the trial.
    pub settings: String,
    /// The digest of its data.
    pub data: String,
    /// Why training stopped.
    pub stop: Stop,
    /// Updates made.
    pub updates: u64,
    /// The update whose network is the result.
    pub kept: u64,
    /// Updates skipped because their gradient was not finite.
    #[serde(default, rename = "lost")]
    pub skipped_updates: u64,
    /// The program with its version, and its commit if the caller knows it. Empty in outcomes of
    /// early versions.
    #[serde(default)]
    pub program: String,
    /// The device; another one gives other bits. Empty in outcomes of early versions.
    #[serde(default)]
    pub device: String,
    /// The training time, set by the caller: the library reads no clock.
    pub seconds: f64,
    /// The scores of the resulting network; `None` where training diverged.
    pub scores: Option<TrialScores>,
    /// The validation curve.
    pub history: Vec<CurvePoint>,
}

/// Scores of a network on all sets of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialScores {
    /// The error on the training set.
    pub train: f64,
    /// Error and loss on the validation set.
    pub valid: Validation,
    /// The score of each test.
    pub tests: Vec<TestScore>,
}

/// The score of a network on a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestScore {
    /// The name of the test.
    pub row: String,
    /// The fraction of wrong predictions.
    pub error: f64,
    /// Mean cross-entropy; `None` where it is not finite, and in outcomes of early versions.
    #[serde(default)]
    pub loss: Option<f64>,
}

/// A point of a validation curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Updates made.
    pub update: u64,
    /// λ of the evaluation.
    pub lambda: f64,
    /// The error on the validation set.
    pub error: f64,
    /// Mean cross-entropy on the validation set.
    pub loss: f64,
}

impl TrialOutcome {
    /// The score on the test with this index, if there is one.
    pub fn test(&self, row: usize, measure: Measure) -> Option<f64> {
        let TestScore { error, loss, .. } = self.scores.as_ref()?.tests.get(row)?;
        match measure {
            Measure::Error => Some(*error),
            Measure::CrossEntropy => *loss,
            Measure::Perplexity => loss.map(f64::exp),
        }
    }
}

/// A completed trial.
#[derive(Clone, Debug, PartialEq)]
pub struct CompletedTrial {
    /// Its outcome.
    pub outcome: TrialOutcome,
    /// The resulting network.
    pub model: Model<f32>,
}

/// A trial was not completed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The observer requested it.
    #[error("interrupted")]
    Interrupted,
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// Trains the network of a trial on its data and tests it. Training resumes from the newest
/// checkpoint of the store, if there is one.
pub fn run_trial(
    trial: &Trial<'_>,
    trial_data: &TrialData,
    hardware: &Hardware,
    store: &mut dyn CheckpointStore<f32>,
    observer: &mut dyn Observer,
) -> Result<CompletedTrial, TrialError> {
    let mut hooks = TrainHooks { checkpoints: store, observer };
    let Recipe { mut arch, init, train: config } = trial.recipe();
    // Only the files of a folder tell its number of classes.
    arch.classes = trial_data.names().1.len();
    let model = Model::new(arch, &init, Key::new(trial.seed)).map_err(TrainError::from)?;
    let mut engine = hardware.trainer(&model, config.optimiser).map_err(TrainError::from)?;
    let (run, scores) = match &trial_data.sets {
        TaskSets::Labelled(sets) => train_and_test(trial, sets, &config, &mut *engine, &mut hooks)?,
        TaskSets::Copying(sets) => train_and_test(trial, sets, &config, &mut *engine, &mut hooks)?,
        TaskSets::Images(sets) => train_and_test(trial, sets, &config, &mut *engine, &mut hooks)?,
        TaskSets::Corpus(sets) => train_and_test(trial, sets, &config, &mut *engine, &mut hooks)?,
    };
    let outcome = outcome(trial, trial_data, run, scores, hardware.device.to_string());
    let model = engine.model().map_err(TrainError::from)?;
    Ok(CompletedTrial { outcome, model })
}

/// The checkpoint store and the observer of a trial.
struct TrainHooks<'a> {
    checkpoints: &'a mut dyn CheckpointStore<f32>,
    observer: &'a mut dyn Observer,
}

/// Trains and tests the engine's network on one kind of data.
fn train_and_test<D: Examples>(
    trial: &Trial<'_>,
    sets: &SplitWithTests<D>,
    config: &TrainConfig,
    engine: &mut dyn Trainer<f32>,
    TrainHooks { checkpoints, observer }: &mut TrainHooks<'_>,
) -> Result<(Run, Option<TrialScores>), TrialError> {
    let job = TrainJob { split: &sets.split, config, key: Key::new(trial.seed) };
    let run = train_or_resume(engine, &job, *checkpoints, *observer)?;
    if run.stop == Stop::Interrupted {
        return Err(TrialError::Interrupted);
    }
    let result = run.final_evaluation.as_ref().filter(|result| result.valid.loss.is_finite());
    let scores = result.map(|result| scores_of(engine, result, trial.tests, &sets.tests));
    let scores = scores.transpose().map_err(TrainError::from)?;
    Ok((run, scores))
}

fn outcome(
    trial: &Trial<'_>,
    trial_data: &TrialData,
    run: Run,
    scores: Option<TrialScores>,
    device: String,
) -> TrialOutcome {
    TrialOutcome {
        trial: trial.id(),
        settings: trial.digest(),
        data: trial_data.digest.clone(),
        stop: run.stop,
        updates: run.updates,
        kept: run.kept,
        skipped_updates: run.skipped_updates,
        program: concat!("srnn ", env!("CARGO_PKG_VERSION")).into(),
        device,
        seconds: 0.0,
        scores,
        history: run.history.iter().map(CurvePoint::from).collect(),
    }
}

fn scores_of(
    engine: &mut dyn Trainer<f32>,
    result: &FinalEvaluation,
    rows: &[TestRow],
    tests: &[impl Examples],
) -> Result<TrialScores, DeviceError> {
    let mut tested = Vec::with_capacity(rows.len());
    for (row, test) in rows.iter().zip(tests) {
        let evaluation = evaluate(engine, test, Mode::default())?;
        let loss = Some(evaluation.loss).filter(|loss| loss.is_finite());
        tested.push(TestScore { row: row.name.clone(), error: error(&evaluation), loss });
    }
    Ok(TrialScores {
        train: error(&result.train),
        valid: Validation { error: error(&result.valid), loss: result.valid.loss },
        tests: tested,
    })
}

/// The error from counts: 17 wrong of 1,000 must be exactly 0.017 to compare with the paper's.
fn error(evaluation: &Evaluation) -> f64 {
    let confusion = &evaluation.confusion;
    if confusion.is_empty() {
        return 1.0 - evaluation.accuracy;
    }
    let total: u64 = confusion.iter().flatten().sum();
    let correct: u64 = confusion.iter().enumerate().map(|(class, row)| row[class]).sum();
    (total - correct) as f64 / total as f64
}

impl From<&Record> for CurvePoint {
    fn from(record: &Record) -> CurvePoint {
        let Record { update, lambda, valid, .. } = *record;
        CurvePoint { update, lambda, error: 1.0 - valid.accuracy, loss: valid.loss }
    }
}
