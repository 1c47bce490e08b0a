//! From explanations to pictures.

use srnn::explain::counter::{Counter, CounterUnit, Fit};
use srnn::explain::trajectory::transposed;
use srnn::explain::usage::Usage;
use srnn::explain::{Trajectory, Vector};
use srnn::render::bar_chart::{self, BarChart};
use srnn::render::heat_map::{self, ColourScale, HeatMap};
use srnn::render::line_plot::{self, LinePlot, Series, Weight};
use srnn::render::{ChartAxis, ChartTooLarge};

/// A picture, or why there is none.
pub type Drawn = Result<String, ChartTooLarge>;

/// Units that are told apart as lines; more are a heat map.
const MOST_LINES: usize = 16;
/// Lines beside a heat map: as many as in the paper's figure.
const FEW_LINES: usize = 10;

/// What a vector is called.
pub fn letter(vector: Vector) -> &'static str {
    match vector {
        Vector::H => "h",
        Vector::C => "c",
    }
}

/// The units of a vector along a sequence: lines where they can be told apart; where there are
/// more, a heat map of all in `NAME.svg`, and lines of those that move most in `NAME-units.svg`.
/// Units that count, where some are known, are among them and bold.
pub fn units(
    name: &str,
    of: Vector,
    path: &Trajectory,
    counting: &[usize],
) -> Vec<(String, Drawn)> {
    let (title, values) = match of {
        Vector::H => ("Hidden state h", transposed(&path.h)),
        Vector::C => ("Cell state c", transposed(&path.c)),
    };
    let lines = |title: String, units: Vec<usize>| {
        let series = |&unit: &usize| match counting.contains(&unit) {
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
    if values.len() <= MOST_LINES {
        return vec![(format!("{name}.svg"), lines(title.into(), (0..values.len()).collect()))];
    }
    let some = format!("{title}: {FEW_LINES} units that move most");
    let few = lines(some, moving(&values, counting));
    let map = heat_map::svg(&HeatMap {
        title: title.into(),
        rows: ChartAxis::Numbers("unit".into()),
        columns: ChartAxis::Names(path.tokens.clone()),
        scale: ColourScale::around_zero(&values),
        values,
        value_label: letter(of).into(),
    });
    vec![(format!("{name}.svg"), map), (format!("{name}-units.svg"), few)]
}

fn bold(series: Series) -> Series {
    Series { weight: Weight::Bold, ..series }
}

/// The units with the largest deviations along the sequence, and those that count, in their order.
fn moving(values: &[Vec<f64>], counting: &[usize]) -> Vec<usize> {
    let deviation = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let mut ranked: Vec<(usize, f64)> =
        values.iter().enumerate().map(|(unit, values)| (unit, deviation(values))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let others = ranked.into_iter().map(|(unit, _)| unit).filter(|unit| !counting.contains(unit));
    let mut units: Vec<usize> = counting.iter().copied().chain(others).take(FEW_LINES).collect();
    units.sort_unstable();
    units
}

/// The probabilities of the centroids along a sequence.
pub fn alpha(path: &Trajectory) -> Drawn {
    heat_map::svg(&HeatMap {
        title: "Probability of each centroid".into(),
        rows: ChartAxis::Numbers("centroid".into()),
        columns: ChartAxis::Names(path.tokens.clone()),
        values: transposed(&path.alpha),
        scale: ColourScale::Sequential { low: 0.0, high: 1.0 },
        value_label: "α".into(),
    })
}

/// The centroids, a row each.
pub fn centroids(values: Vec<Vec<f64>>) -> Drawn {
    heat_map::svg(&HeatMap {
        title: "Centroids".into(),
        rows: ChartAxis::Numbers("centroid".into()),
        columns: ChartAxis::Numbers("unit".into()),
        scale: ColourScale::around_zero(&values),
        values,
        value_label: "s".into(),
    })
}

/// The mean of the largest, the second largest, … probability.
pub fn ranked(usage: &Usage) -> Drawn {
    let bar = |(rank, &mean): (usize, &f64)| ((rank + 1).to_string(), mean);
    bar_chart::svg(&BarChart {
        title: "Mean probability by rank".into(),
        x_label: "rank".into(),
        y_label: "mean α".into(),
        bars: usage.ranked.iter().enumerate().map(bar).collect(),
    })
}

/// How often each centroid is the most probable one.
pub fn visits(usage: &Usage) -> Drawn {
    let bar = |(centroid, &count): (usize, &u64)| (centroid.to_string(), count as f64);
    bar_chart::svg(&BarChart {
        title: "Steps at which a centroid is the most probable".into(),
        x_label: "centroid".into(),
        y_label: "steps".into(),
        bars: usage.visits.iter().enumerate().map(bar).collect(),
    })
}

/// The error of the counter at every depth.
pub fn counter(counter: &Counter) -> Drawn {
    let series = |name: String, fit: &Fit, weight: Weight| {
        // Below 0 strings are lost, and have no depth.
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
    fn units_that_move_most_are_chosen_and_keep_their_order() {
        let reach = |j: usize| if j.is_multiple_of(2) { 0.0 } else { 100.0 - j as f64 };
        let values: Vec<Vec<f64>> = (0..30).map(|j| vec![5.0, 5.0 - reach(j)]).collect();
        assert_eq!(moving(&values, &[]), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
        assert_eq!(moving(&values, &[4]), [1, 3, 4, 5, 7, 9, 11, 13, 15, 17]);
    }
}
