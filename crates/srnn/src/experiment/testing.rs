//! A small experiment for tests.

use super::run::{TestScore, TrialScores};
use super::{
    DataSpec, Experiment, Measure, ModelSpec, Quick, ReportedErrors, TestRow, TrainSetting, Trial,
    TrialOutcome, Validation,
};
use crate::model::{HeadWeights, ReadFrom};
use crate::train::{ArchName, Schedule, Stop, TrainConfig};

/// Two data sets, two models, two settings, two seeds, two tests.
pub(super) fn experiment() -> Experiment {
    Experiment {
        item: "small".into(),
        title: "A small one".into(),
        about: "For tests".into(),
        seeds: 2,
        measure: Measure::Error,
        times_below: 1.0,
        data: vec![data("one", "tomita:1", "paper"), data("two", "tomita:2", "")],
        models: vec![model("sr-gru", Some(3)), model("gru", None)],
        settings: vec![setting("slow", 1e-3), setting("fast", 1e-2)],
        tests: vec![test("near", "tomita:l5-6"), test("far", "tomita:l29-30")],
        shortcuts: vec![],
        paper: vec![
            ReportedErrors { data: "paper".into(), model: "sr-gru".into(), errors: vec![0.1, 0.2] },
            ReportedErrors { data: "paper".into(), model: "gru".into(), errors: vec![0.1] },
        ],
        quick: Quick { seeds: Some(1), data: vec!["one".into()], ..Quick::default() },
    }
}

fn data(name: &str, spec: &str, paper: &str) -> DataSpec {
    DataSpec { name: name.into(), spec: spec.parse().unwrap(), seed: 1, paper: paper.into() }
}

fn model(name: &str, k: Option<usize>) -> ModelSpec {
    let arch = if k.is_some() { ArchName::SrGru } else { ArchName::Gru };
    ModelSpec { name: name.into(), arch, units: Some(4), k, layers: None, settings: vec![] }
}

fn setting(name: &str, rate: f64) -> TrainSetting {
    let schedule = Schedule::default().scaled_to(12);
    let learning_rate = crate::train::LearningRate::Constant { rate };
    let train =
        TrainConfig { schedule, learning_rate, validate_every: 4, ..TrainConfig::default() };
    let (readout, init) = (ReadFrom::H, None);
    let (head, name) = (HeadWeights::Own, name.into());
    TrainSetting { name, readout, head, end: false, updates: None, init, train }
}

fn test(name: &str, spec: &str) -> TestRow {
    TestRow { name: name.into(), spec: spec.parse().unwrap(), strings: 20 }
}

/// A made-up outcome with this validation error and loss, and these test errors.
pub(super) fn outcome(trial: &Trial<'_>, valid: (f64, f64), tests: &[f64]) -> TrialOutcome {
    let rows = trial.tests.iter().zip(tests);
    let row = |(test, &error): (&TestRow, &f64)| TestScore {
        row: test.name.clone(),
        error,
        loss: Some(2.0 * error),
    };
    let scores = TrialScores {
        train: 0.0,
        valid: Validation { error: valid.0, loss: valid.1 },
        tests: rows.map(row).collect(),
    };
    TrialOutcome {
        trial: trial.id(),
        settings: trial.digest(),
        data: "the data".into(),
        stop: Stop::Completed,
        updates: 12,
        kept: 12,
        skipped_updates: 0,
        program: String::new(),
        device: String::new(),
        seconds: 1.0,
        scores: Some(scores),
        history: vec![],
    }
}
