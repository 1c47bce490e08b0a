//! The pictures of `explain`.

use srnn::explain::counter::{Counter, CounterUnit, Fit};
use srnn::explain::prototypes::{Prototypes, TokenMeans};
use srnn::explain::usage::{Usage, used_centroids};
use srnn::explain::{
    InputPath, TemperatureSteps, Trajectory, TransitionSupport, Unsupported, Vector, transposed,
};
use srnn::extract::json::NamedAutomaton;
use srnn::notation;
use srnn::render::bar_chart::{self, BarChart};
use srnn::render::dfa;
use srnn::render::heat_map::{self, ColourScale, HeatMap};
use srnn::render::line_plot::{self, LinePlot, Series, Weight};
use srnn::render::stacked_bars::{self, MAX_PARTS, StackedBars};
use srnn::render::{ChartAxis, ChartTooLarge};

/// An SVG text, or why it cannot be drawn.
pub type SvgResult = Result<String, String>;

/// Centroids that are never more probable are not drawn.
const LEAST_ALPHA: f64 = 0.02;
/// Ranks after the first ones are not drawn if their mean probability is smaller.
const LEAST_MEAN: f64 = 0.001;
const MIN_RANKS: usize = 5;

/// The reason as text.
fn drawn(result: Result<String, ChartTooLarge>) -> SvgResult {
    result.map_err(|error| error.to_string())
}

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
    let lines = |title: String, units: Vec<usize>| -> SvgResult {
        let series = |&unit: &usize| match depth_units.contains(&unit) {
            true => bold(Series::of_steps(format!("unit {unit} (depth)"), &values[unit])),
            false => Series::of_steps(format!("unit {unit}"), &values[unit]),
        };
        drawn(line_plot::svg(&LinePlot {
            title,
            x: ChartAxis::Names(path.tokens.clone()),
            y_label: letter(of).into(),
            x_includes: vec![],
            y_includes: vec![],
            series: units.iter().map(series).collect(),
        }))
    };
    if values.len() <= MAX_LINES {
        return vec![(format!("{name}.svg"), lines(title.into(), (0..values.len()).collect()))];
    }
    let selected_title = format!("{title}: {SELECTED_LINES} units with the largest variance");
    let selected = lines(selected_title, most_varying(&values, depth_units));
    let map = drawn(heat_map::svg(&HeatMap {
        title: title.into(),
        rows: ChartAxis::Numbers("unit".into()),
        columns: ChartAxis::Names(path.tokens.clone()),
        scale: ColourScale::around_zero(&values),
        values,
        value_label: letter(of).into(),
    }));
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

/// The probabilities α of the centroids that are used along a sequence.
pub fn alpha(path: &Trajectory) -> SvgResult {
    let used = used_centroids(&path.alpha, LEAST_ALPHA);
    let left_out = path.alpha.first().map_or(0, Vec::len) - used.len();
    let title = format!("Probability of each centroid{}", left_out_text(left_out));
    drawn(heat_map::svg(&alpha_map(title, &path.tokens, &path.alpha, &used)))
}

fn left_out_text(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" ({count} never above {LEAST_ALPHA} left out)"),
    }
}

fn alpha_map(title: String, tokens: &[String], alpha: &[Vec<f64>], used: &[usize]) -> HeatMap {
    let values = transposed(alpha);
    HeatMap {
        title,
        rows: ChartAxis::Names(used.iter().map(|centroid| format!("s{centroid}")).collect()),
        columns: ChartAxis::Names(tokens.to_vec()),
        values: used.iter().map(|&centroid| values[centroid].clone()).collect(),
        scale: ColourScale::Sequential { low: 0.0, high: 1.0 },
        value_label: "α".into(),
    }
}

/// The probabilities α along a sequence for several temperatures, below each other.
pub fn temperatures(tokens: &[String], runs: &[TemperatureSteps]) -> SvgResult {
    let all: Vec<Vec<f64>> = runs.iter().flat_map(|run| run.alpha.clone()).collect();
    let used = used_centroids(&all, LEAST_ALPHA);
    let left_out = all.first().map_or(0, Vec::len) - used.len();
    let map =
        |run: &TemperatureSteps| alpha_map(format!("τ = {}", run.tau), tokens, &run.alpha, &used);
    let maps: Vec<HeatMap> = runs.iter().map(map).collect();
    let title = format!("Transition probabilities by temperature{}", left_out_text(left_out));
    drawn(heat_map::panels(&title, &maps))
}

/// The transition probabilities of each token as stacked bars: the centroids that are most probable
/// over all steps, and the others together.
pub fn token_bars(path: &Trajectory) -> SvgResult {
    let count = path.alpha.first().map_or(0, Vec::len);
    let total = |&centroid: &usize| path.alpha.iter().map(|step| step[centroid]).sum::<f64>();
    let mut ranked: Vec<usize> = used_centroids(&path.alpha, LEAST_ALPHA);
    ranked.sort_by(|a, b| total(b).total_cmp(&total(a)));
    ranked.truncate(MAX_PARTS);
    let others: Vec<usize> = (0..count).filter(|centroid| !ranked.contains(centroid)).collect();
    let mut parts: Vec<String> =
        ranked.iter().map(|centroid| format!("centroid {centroid}")).collect();
    let mut marks: Vec<String> = ranked.iter().map(usize::to_string).collect();
    if !others.is_empty() {
        parts.push(format!("{} others", others.len()));
        marks.push(String::new());
    }
    let bar = |step: &Vec<f64>| {
        let rest = others.iter().map(|&centroid| step[centroid]).sum::<f64>();
        let own = ranked.iter().map(|&centroid| step[centroid]);
        own.chain((!others.is_empty()).then_some(rest)).collect()
    };
    drawn(stacked_bars::svg(&StackedBars {
        title: "Transition probabilities of each token".into(),
        y_label: "α".into(),
        names: path.tokens.clone(),
        values: path.alpha.iter().map(bar).collect(),
        parts,
        marks,
    }))
}

/// An automaton with the path of a word and, if they are known, the counts of the training sequences.
pub fn path(
    automaton: &NamedAutomaton,
    (path, word): (&InputPath, &[u32]),
    counts: Option<&TransitionSupport>,
    accepting: Option<u32>,
    title: String,
) -> SvgResult {
    let mut picture = dfa::DfaPicture { title, ..notation::picture(automaton, accepting) };
    if let Some(counts) = counts {
        picture.set_counts(automaton.automaton(), &counts.visits, &counts.taken);
        picture.caption =
            "× says how often training sequences are there. Rare edges are pale.".into();
    }
    let unseen = match counts.and_then(|counts| path.unsupported(word, counts)) {
        Some(Unsupported::Transition { at }) => Some(at),
        _ => None,
    };
    picture.mark_path(automaton.automaton(), word, unseen);
    dfa::svg(&picture).map_err(|error| error.to_string())
}

/// The centroids `shown`, one row each.
pub fn centroids(values: &[Vec<f64>], shown: &[usize]) -> SvgResult {
    let left_out = values.len() - shown.len();
    let rows: Vec<Vec<f64>> = shown.iter().map(|&centroid| values[centroid].clone()).collect();
    let title = match left_out {
        0 => "Centroids".to_string(),
        count => format!("Centroids ({count} that are never the most probable left out)"),
    };
    drawn(heat_map::svg(&HeatMap {
        title,
        rows: ChartAxis::Names(shown.iter().map(|centroid| format!("s{centroid}")).collect()),
        columns: ChartAxis::Numbers("unit".into()),
        scale: ColourScale::around_zero(&rows),
        values: rows,
        value_label: "s".into(),
    }))
}

/// The mean α of the prototypical tokens of each centroid: one row for each centroid, and one column
/// for each token that is a prototype of one of them.
pub fn prototypes(
    found: &[(String, &Prototypes)],
    symbols: &[String],
    means: &TokenMeans,
) -> SvgResult {
    let mut tokens: Vec<u32> = vec![];
    for (_, of) in found {
        let new = of.tokens.iter().map(|token| token.token).filter(|token| !tokens.contains(token));
        let new: Vec<u32> = new.collect();
        tokens.extend(new);
    }
    let row = |(_, of): &(String, &Prototypes)| {
        tokens.iter().map(|&token| means.mean(token, of.centroid)).collect()
    };
    drawn(heat_map::svg(&HeatMap {
        title: "Mean probability of each centroid after its prototypical tokens".into(),
        rows: ChartAxis::Names(found.iter().map(|(name, _)| name.clone()).collect()),
        columns: ChartAxis::Names(tokens.iter().map(|&t| symbols[t as usize].clone()).collect()),
        values: found.iter().map(row).collect(),
        scale: ColourScale::Sequential { low: 0.0, high: 1.0 },
        value_label: "mean α".into(),
    }))
}

/// The mean of the largest, the second largest, … probability α.
pub fn ranked(usage: &Usage) -> SvgResult {
    let bar = |(rank, &mean): (usize, &f64)| ((rank + 1).to_string(), mean);
    let shown = |(rank, mean): &(usize, &f64)| *rank < MIN_RANKS || **mean >= LEAST_MEAN;
    let bars: Vec<(String, f64)> = usage.ranked.iter().enumerate().filter(shown).map(bar).collect();
    let title = match usage.ranked.len() - bars.len() {
        0 => "Mean probability by rank".to_string(),
        count => format!("Mean probability by rank ({count} below {LEAST_MEAN} left out)"),
    };
    drawn(bar_chart::svg(&BarChart {
        title,
        x_label: "rank".into(),
        y_label: "mean α".into(),
        bars,
    }))
}

/// How often each centroid is the most probable one; those that never are are left out.
pub fn visits(usage: &Usage) -> SvgResult {
    let bar = |(centroid, &count): (usize, &u64)| (centroid.to_string(), count as f64);
    let visited = usage.visits.iter().enumerate().filter(|(_, count)| **count > 0);
    drawn(bar_chart::svg(&BarChart {
        title: "Steps at which a centroid is the most probable".into(),
        x_label: "centroid".into(),
        y_label: "steps".into(),
        bars: visited.map(bar).collect(),
    }))
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
    drawn(line_plot::svg(&LinePlot {
        title: format!("Error of the depth read from {}", letter(counter.of)),
        x: ChartAxis::Numbers(format!("depth (fitted up to {})", counter.fit_up_to)),
        y_label: "root mean squared error".into(),
        x_includes: vec![],
        y_includes: vec![0.0],
        series: std::iter::once(all).chain(counter.best.iter().map(unit)).collect(),
    }))
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
