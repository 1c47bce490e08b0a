//! The pictures of `explain`.

use srnn::explain::counter::{Counter, CounterUnit, Fit};
use srnn::explain::transposed;
use srnn::explain::usage::Usage;
use srnn::explain::{Trajectory, Vector};
use srnn::render::bar_chart::{self, BarChart};
use srnn::render::heat_map::{self, ColourScale, HeatMap};
use srnn::render::line_plot::{self, LinePlot, Series, Weight};
use srnn::render::{ChartAxis, ChartTooLarge};

/// An SVG text, or why it cannot be drawn.
pub type SvgResult = Result<String, ChartTooLarge>;

/// Maximum units that are drawn as lines; more become a heat map.
const MAX_LINES: usize = 16;
/// Lines in addition to a heat map: as many as in the paper's figure.
const SELECTED_LINES: usize = 10;

/// The letter of a vector.
pub fn letter(vector: Vector) -> &'static str {
    match vector {
        Vector::H => "h",
        Vector::C => "c",
    }
}

/// The units of a vector along a sequence. Up to [`MAX_LINES`] units are lines in `NAME.svg`. More
/// are a heat map in `NAME.svg`, and the units with the largest variance are lines in
/// `NAME-units.svg`. The units `depth_units` are always among the lines, and bold.
pub fn units(
    name: &str,
    of: Vector,
    path: &Trajectory,
    depth_units: &[usize],
) -> Vec<(String, SvgResult)> {
    let (title, values) = match of {
        Vector::H => ("Hidden state h", transposed(&path.h)),
        Vector::C => ("Cell state c", transposed(&path.c)),
    };
    let lines = |title: String, units: Vec<usize>| {
        let series = |&unit: &usize| match depth_units.contains(&unit) {
            true => bold(Series::of_steps(format!("unit {unit} (depth)"), &values[unit])),
            false => Series::of_steps(format!("unit {unit}"), &values[unit]),
        };
        line_plot::svg(&LinePlot {
            title,
            x: ChartAxis::Names(path.tokens.clone()),
            y_label: letter(of).into(),
            x_includes: vec![],
            y_includes: vec![],
            series: units.iter().map(series).collect(),
        })
    };
    if values.len() <= MAX_LINES {
        return vec![(format!("{name}.svg"), lines(title.into(), (0..values.len()).collect()))];
    }
    let selected_title = format!("{title}: {SELECTED_LINES} units with the largest variance");
    let selected = lines(selected_title, most_varying(&values, depth_units));
    let map = heat_map::svg(&HeatMap {
        title: title.into(),
        rows: ChartAxis::Numbers("unit".into()),
        columns: ChartAxis::Names(path.tokens.clone()),
        scale: ColourScale::around_zero(&values),
        values,
        value_label: letter(of).into(),
    });
    vec![(format!("{name}.svg"), map), (format!("{name}-units.svg"), selected)]
}

fn bold(series: Series) -> Series {
    Series { weight: Weight::Bold, ..series }
}

/// The units with the largest variance along the sequence, and `depth_units`, in ascending order.
fn most_varying(values: &[Vec<f64>], depth_units: &[usize]) -> Vec<usize> {
    let deviation = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let mut ranked: Vec<(usize, f64)> =
        values.iter().enumerate().map(|(unit, values)| (unit, deviation(values))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let others =
        ranked.into_iter().map(|(unit, _)| unit).filter(|unit| !depth_units.contains(unit));
    let mut units: Vec<usize> =
        depth_units.iter().copied().chain(others).take(SELECTED_LINES).collect();
    units.sort_unstable();
    units
}

/// The probabilities α of the centroids along a sequence.
pub fn alpha(path: &Trajectory) -> SvgResult {
    heat_map::svg(&HeatMap {
        title: "Probability of each centroid".into(),
        rows: ChartAxis::Numbers("centroid".into()),
        columns: ChartAxis::Names(path.tokens.clone()),
        values: transposed(&path.alpha),
        scale: ColourScale::Sequential { low: 0.0, high: 1.0 },
        value_label: "α".into(),
    })
}

/// The centroids, one row each.
pub fn centroids(values: Vec<Vec<f64>>) -> SvgResult {
    heat_map::svg(&HeatMap {
        title: "Centroids".into(),
        rows: ChartAxis::Numbers("centroid".into()),
        columns: ChartAxis::Numbers("unit".into()),
        scale: ColourScale::around_zero(&values),
        values,
        value_label: "s".into(),
    })
}

/// The mean of the largest, the second largest, … probability α.
pub fn ranked(usage: &Usage) -> SvgResult {
    let bar = |(rank, &mean): (usize, &f64)| ((rank + 1).to_string(), mean);
    bar_chart::svg(&BarChart {
        title: "Mean probability by rank".into(),
        x_label: "rank".into(),
        y_label: "mean α".into(),
        bars: usage.ranked.iter().enumerate().map(bar).collect(),
    })
}

/// How often each centroid is the most probable one.
pub fn visits(usage: &Usage) -> SvgResult {
    let bar = |(centroid, &count): (usize, &u64)| (centroid.to_string(), count as f64);
    bar_chart::svg(&BarChart {
        title: "Steps at which a centroid is the most probable".into(),
        x_label: "centroid".into(),
        y_label: "steps".into(),
        bars: usage.visits.iter().enumerate().map(bar).collect(),
    })
}

/// The error of the decoded depth at every depth.
pub fn counter(counter: &Counter) -> SvgResult {
    let series = |name: String, fit: &Fit, weight: Weight| {
        // Depth −1 means one closing token too many; the string has no depth from there on.
        let counted = fit.by_quantity.iter().filter(|at| at.quantity >= 0);
        let points = counted.map(|at| (at.quantity as f64, at.error)).collect();
        Series { name, points, others: vec![], weight }
    };
    let unit = |unit: &CounterUnit| series(format!("unit {}", unit.unit), &unit.fit, Weight::Plain);
    let all = series("all units".into(), &counter.readout.fit, Weight::Bold);
    line_plot::svg(&LinePlot {
        title: format!("Error of the depth read from {}", letter(counter.of)),
        x: ChartAxis::Numbers(format!("depth (fitted up to {})", counter.fit_up_to)),
        y_label: "root mean squared error".into(),
        x_includes: vec![],
        y_includes: vec![0.0],
        series: std::iter::once(all).chain(counter.best.iter().map(unit)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_with_the_largest_variance_are_chosen_and_keep_their_order() {
        let reach = |j: usize| if j.is_multiple_of(2) { 0.0 } else { 100.0 - j as f64 };
        let values: Vec<Vec<f64>> = (0..30).map(|j| vec![5.0, 5.0 - reach(j)]).collect();
        assert_eq!(most_varying(&values, &[]), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
        assert_eq!(most_varying(&values, &[4]), [1, 3, 4, 5, 7, 9, 11, 13, 15, 17]);
    }
}
