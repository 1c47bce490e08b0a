//! What an experiment leaves for people, beside its outcomes: the table and the curves.

use super::show::markdown;
use crate::failure::Failure;
use srnn::experiment::{Curve, Curves, Experiment, Outcome, curves, points, table};
use srnn::render::chart::{Axis, TooLarge};
use srnn::render::lines::{self, LinePlot, Series, Weight};
use std::fmt::Write as _;

/// Names and texts of the files: `table.md`, `table.json`, `curves.csv` with every run, and for
/// each data set that has a result `curves-DATA.svg`.
pub fn results(
    experiment: &Experiment,
    outcomes: &[Outcome],
) -> Result<Vec<(String, String)>, Failure> {
    let table = table(experiment, outcomes);
    let json = format!("{:#}\n", serde_json::to_value(&table)?);
    let mut files = vec![
        ("table.md".to_string(), markdown(&table)),
        ("table.json".into(), json),
        ("curves.csv".into(), csv(experiment, outcomes)),
    ];
    for curves in curves(experiment, outcomes) {
        if !curves.models.is_empty() {
            let drawn = picture(experiment, &curves).map_err(too_large)?;
            files.push((format!("curves-{}.svg", curves.data), drawn));
        }
    }
    Ok(files)
}

fn too_large(error: TooLarge) -> Failure {
    Failure::new(error, "evaluate less often: raise validate_every")
}

fn csv(experiment: &Experiment, outcomes: &[Outcome]) -> String {
    let mut text = String::from("data,model,setting,seed,update,lambda,error,cross_entropy\n");
    for (cell, point) in points(experiment, outcomes) {
        let [data, model, setting] = [&cell.data, &cell.model, &cell.setting];
        let _ = write!(text, "{data},{model},{setting},{},{},", cell.seed, point.update);
        let _ = writeln!(text, "{},{},{}", point.lambda, point.error, point.loss);
    }
    text
}

fn picture(experiment: &Experiment, curves: &Curves) -> Result<String, TooLarge> {
    let several = experiment.settings.len() > 1;
    let name = |curve: &Curve| match several {
        true => format!("{} ({})", curve.model, curve.setting),
        false => curve.model.clone(),
    };
    let series = |curve: &Curve| Series {
        name: name(curve),
        points: places(&curve.selected),
        others: curve.others.iter().map(|other| places(other)).collect(),
        weight: Weight::Plain,
    };
    let last = curves.models.iter().flat_map(|curve| &curve.selected).map(|point| point.0).max();
    let baseline = curves.baseline.map(|height| Series {
        name: "no memory".into(),
        points: places(&[(0, height), (last.unwrap_or(1), height)]),
        others: vec![],
        weight: Weight::Plain,
    });
    let title = match curves.models.iter().all(|curve| curve.others.is_empty()) {
        true => format!("{}: validation set", curves.data),
        false => format!("{}: validation set (thin: other seeds)", curves.data),
    };
    lines::svg(&LinePlot {
        title,
        x: Axis::Numbers("updates".into()),
        x_holds: vec![0.0],
        y_label: experiment.measure.name().into(),
        y_holds: vec![0.0],
        series: curves.models.iter().map(series).chain(baseline).collect(),
    })
}

fn places(points: &[(u64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|&(update, score)| (update as f64, score)).collect()
}
