//! Training curves from `metrics.jsonl`.

use super::picture::inline;
use super::run_files::RunFiles;
use super::values::text;
use crate::render::ChartAxis;
use crate::render::line_plot::{LinePlot, Series, Weight, svg};
use serde_json::Value;

/// Curves that are drawn; those of the kept network always are.
const MAX_CURVES: usize = 12;

/// Points of a curve that are drawn; more are not visible.
const MAX_POINTS: usize = 500;

/// Accuracy and loss over the updates.
pub(super) fn body(files: &RunFiles) -> String {
    let curves = curves(files);
    // A single evaluation is no curve.
    if curves.iter().all(|curve| curve.records.len() < 2) {
        return String::new();
    }
    let plots = [
        ("validation accuracy", "Accuracy on the validation set", vec![1.0], "valid"),
        ("training loss", "Loss on the training batches", vec![0.0], "loss"),
    ];
    let figures: String = plots
        .into_iter()
        .filter_map(|(label, caption, y_includes, field)| {
            let series = curves.iter().map(|curve| curve.series(field)).collect();
            let plot = LinePlot {
                title: String::new(),
                x: ChartAxis::Numbers("update".into()),
                x_includes: vec![0.0],
                y_label: label.into(),
                y_includes,
                series,
            };
            let drawn = inline(&svg(&plot).ok()?);
            Some(format!(
                "<figure><div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\
                 {drawn}</div><figcaption>{caption}.</figcaption></figure>\n"
            ))
        })
        .collect();
    let has = |weight| curves.iter().any(|curve| curve.weight == weight);
    let legend = match (has(Weight::Bold), has(Weight::Faint)) {
        (true, true) => {
            "<p>The thick line is the network that was kept. Grey lines are networks of other kinds or \
             rounds.</p>\n"
        }
        (true, false) => "<p>The thick line is the network that was kept.</p>\n",
        (false, _) => "",
    };
    format!("{legend}<div class=\"figures\">\n{figures}</div>\n")
}

/// The evaluations of one seed in one round.
struct Curve<'a> {
    round: &'a str,
    seed: u64,
    weight: Weight,
    records: Vec<&'a Value>,
}

impl Curve<'_> {
    fn series(&self, field: &str) -> Series {
        let value = |record: &Value| match field {
            "valid" => record["valid"]["accuracy"].as_f64(),
            field => record[field].as_f64(),
        };
        let point =
            |record: &&Value| Some((record["update"].as_f64()?, value(record).unwrap_or(f64::NAN)));
        let step = self.records.len().div_ceil(MAX_POINTS).max(1);
        let round = match self.round {
            "" => String::new(),
            "believed" | "whole" => " (corrected labels)".into(),
            round => format!(" ({round})"),
        };
        Series {
            name: format!("seed {}{round}", self.seed),
            points: self.records.iter().step_by(step).filter_map(point).collect(),
            others: vec![],
            weight: self.weight,
        }
    }
}

/// The most important curves, at most [`MAX_CURVES`].
fn curves(files: &RunFiles) -> Vec<Curve<'_>> {
    let kept_seed = files.result["kept"]["seed"].as_u64();
    let kept_round = text(&files.result["round"]);
    let mut curves: Vec<Curve> = vec![];
    for record in &files.metrics {
        let (round, seed) = (text(&record["round"]), record["seed"].as_u64().unwrap_or(0));
        match curves.iter_mut().find(|curve| (curve.round, curve.seed) == (round, seed)) {
            Some(curve) => curve.records.push(record),
            None => {
                let weight = match (kept_seed.is_some() && round == kept_round, kept_seed) {
                    (true, Some(kept)) if kept == seed => Weight::Bold,
                    (true, _) => Weight::Plain,
                    (false, None) => Weight::Plain,
                    (false, Some(_)) => Weight::Faint,
                };
                curves.push(Curve { round, seed, weight, records: vec![record] });
            }
        }
    }
    // The most important curves are drawn last, over all others.
    let rank = |curve: &Curve| match curve.weight {
        Weight::Bold => 2,
        Weight::Plain => 1,
        Weight::Faint => 0,
    };
    curves.sort_by_key(rank);
    curves.split_off(curves.len().saturating_sub(MAX_CURVES))
}
