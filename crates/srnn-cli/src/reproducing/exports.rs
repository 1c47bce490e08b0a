//! Files made from the outcomes of an experiment: the table and the validation curves.

use super::format::table_markdown;
use crate::failure::Failure;
use srnn::experiment::{
    DatasetCurves, Experiment, ModelCurves, TrialOutcome, curve_points, curves, table,
};
use srnn::render::line_plot::{self, LinePlot, Series, Weight};
use srnn::render::{ChartAxis, ChartTooLarge};
use std::fmt::Write as _;

/// Names and texts of the files: `table.md`, `table.json`, `curves.csv` with every trial, and
/// `curves-DATA.svg` for each data set that has a result.
pub fn result_files(
    experiment: &Experiment,
    outcomes: &[TrialOutcome],
) -> Result<Vec<(String, String)>, Failure> {
    let table = table(experiment, outcomes);
    let json = format!("{:#}\n", serde_json::to_value(&table)?);
    let mut files = vec![
        ("table.md".to_string(), table_markdown(&table)),
        ("table.json".into(), json),
        ("curves.csv".into(), csv(experiment, outcomes)),
    ];
    for curves in curves(experiment, outcomes) {
        if !curves.models.is_empty() {
            let svg = plot(experiment, &curves).map_err(too_large)?;
            files.push((format!("curves-{}.svg", curves.data), svg));
        }
    }
    Ok(files)
}

fn too_large(error: ChartTooLarge) -> Failure {
    Failure::new(error, "evaluate less often: increase validate_every")
}

fn csv(experiment: &Experiment, outcomes: &[TrialOutcome]) -> String {
    let mut text = String::from("data,model,setting,seed,update,lambda,error,cross_entropy\n");
    for (trial, point) in curve_points(experiment, outcomes) {
        let [data, model, setting] = [&trial.data, &trial.model, &trial.setting];
        let _ = write!(text, "{data},{model},{setting},{},{},", trial.seed, point.update);
        let _ = writeln!(text, "{},{},{}", point.lambda, point.error, point.loss);
    }
    text
}

fn plot(experiment: &Experiment, curves: &DatasetCurves) -> Result<String, ChartTooLarge> {
    let several_settings = experiment.settings.len() > 1;
    let name = |curve: &ModelCurves| match several_settings {
        true => format!("{} ({})", curve.model, curve.setting),
        false => curve.model.clone(),
    };
    let series = |curve: &ModelCurves| Series {
        name: name(curve),
        points: coordinates(&curve.selected),
        others: curve.others.iter().map(|other| coordinates(other)).collect(),
        weight: Weight::Plain,
    };
    let last = curves.models.iter().flat_map(|curve| &curve.selected).map(|point| point.0).max();
    let baseline = curves.baseline.map(|height| Series {
        name: "memoryless baseline".into(),
        points: coordinates(&[(0, height), (last.unwrap_or(1), height)]),
        others: vec![],
        weight: Weight::Plain,
    });
    let title = match curves.models.iter().all(|curve| curve.others.is_empty()) {
        true => format!("{}: validation set", curves.data),
        false => format!("{}: validation set (thin: other seeds)", curves.data),
    };
    line_plot::svg(&LinePlot {
        title,
        x: ChartAxis::Numbers("updates".into()),
        x_includes: vec![0.0],
        y_label: experiment.measure.name().into(),
        y_includes: vec![0.0],
        series: curves.models.iter().map(series).chain(baseline).collect(),
    })
}

fn coordinates(points: &[(u64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|&(update, score)| (update as f64, score)).collect()
}
