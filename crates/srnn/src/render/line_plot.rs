//! Line plots, such as training curves or units along a string.

use super::axes::{
    ChartAxis, ChartTooLarge, FONT, GAP, PlotArea, ValueRange, check_size, draw_axes,
    draw_names_below, draw_ticks_below, draw_ticks_left, slot_width,
};
use super::paint::{Paint, SERIES};
use super::svg::{Anchor, Canvas, INFALLIBLE, escape, shorten};
use std::fmt::Write;

/// A line plot.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlot {
    /// The title above the plot; none if empty.
    pub title: String,
    /// The horizontal axis. On an axis of names, x is the index of the name.
    pub x: ChartAxis,
    /// Values that the horizontal axis must cover beside the points: `[0.0]` makes it begin at 0.
    pub x_includes: Vec<f64>,
    /// The label of the vertical axis.
    pub y_label: String,
    /// Values that the vertical axis must cover beside the points: `[0.0]` makes it begin at 0.
    pub y_includes: Vec<f64>,
    /// The curves; later ones are drawn over earlier ones.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// `(x, y)`; a point that is not finite makes a gap.
    pub points: Vec<(f64, f64)>,
    /// More curves of its kind, such as other seeds: thin lines in its colour, below all others.
    pub others: Vec<Vec<(f64, f64)>>,
    /// The weight of its line.
    pub weight: Weight,
}

/// The weight of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A normal line.
    Plain,
    /// A thick line, for example for the unit that counts.
    Bold,
    /// A thin grey line without a name in the legend.
    Faint,
}

/// The largest number of points.
pub(crate) const MAX_POINTS: usize = 500_000;
/// If there are more curves than this, the legend names only bold ones.
const MAX_NAMES: usize = 16;
const THIN: f64 = 0.9;
const HEIGHT: f64 = 280.0;
const WIDTH: f64 = 560.0;
/// Dash patterns, for curves beyond the number of colours.
const DASHES: [&str; 3] = ["", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 2.5\""];

impl Weight {
    fn width(self) -> f64 {
        match self {
            Weight::Plain => 1.6,
            Weight::Bold => 3.2,
            Weight::Faint => THIN,
        }
    }
}

impl Series {
    /// A plain curve over x = 0, 1, 2, …
    pub fn of_steps(name: impl Into<String>, values: &[f64]) -> Series {
        let points = values.iter().enumerate().map(|(t, &value)| (t as f64, value)).collect();
        Series { name: name.into(), points, others: vec![], weight: Weight::Plain }
    }
}

/// Draws a plot as SVG.
pub fn svg(plot: &LinePlot) -> Result<String, ChartTooLarge> {
    let curves = || plot.series.iter().flat_map(|s| s.others.iter().chain([&s.points]));
    let points = || curves().flatten();
    check_size("points", points().count(), MAX_POINTS)?;
    let values = points().map(|point| point.1).chain(plot.y_includes.iter().copied());
    let y = ValueRange::around(values).rounded(6);
    let (area, x) = match &plot.x {
        ChartAxis::Names(names) => {
            let width = names.len().max(1) as f64 * slot_width(names.len());
            (
                PlotArea { width, height: HEIGHT },
                ValueRange { low: -0.5, high: names.len() as f64 - 0.5 },
            )
        }
        ChartAxis::Numbers(_) => {
            let area = PlotArea { width: WIDTH, height: HEIGHT };
            (
                area,
                ValueRange::around(
                    points().map(|point| point.0).chain(plot.x_includes.iter().copied()),
                ),
            )
        }
    };
    let mut canvas = Canvas::new();
    draw_ticks_left(&mut canvas, area, y, &plot.y_label);
    match &plot.x {
        ChartAxis::Names(names) => draw_names_below(&mut canvas, area, names),
        ChartAxis::Numbers(label) => draw_ticks_below(&mut canvas, area, x, label),
    }
    draw_axes(&mut canvas, area);
    let position = |(u, v): (f64, f64)| {
        let at = (x.fraction(u) * area.width, (1.0 - y.fraction(v)) * area.height);
        (at.0.is_finite() && at.1.is_finite()).then_some(at)
    };
    let path = |points: &[(f64, f64)]| svg_path(points.iter().copied().map(position));
    for (number, series) in plot.series.iter().enumerate() {
        let thin = format!("{} stroke-opacity=\"0.4\"", line_style(number, series.weight, THIN));
        series.others.iter().for_each(|other| draw_curve(&mut canvas, series, &path(other), &thin));
    }
    for (number, series) in plot.series.iter().enumerate() {
        let style = line_style(number, series.weight, series.weight.width());
        draw_curve(&mut canvas, series, &path(&series.points), &style);
    }
    draw_legend(&mut canvas, area, &plot.series);
    Ok(canvas.finish(&plot.title, "line plot"))
}

/// The colour, width and dashes of a curve.
fn line_style(number: usize, weight: Weight, width: f64) -> String {
    let colour = match weight {
        Weight::Plain | Weight::Bold => Paint::Series(number),
        Weight::Faint => Paint::Faint,
    };
    let dashes = DASHES[number / SERIES % DASHES.len()];
    format!("{} stroke-width=\"{width}\"{dashes}", colour.stroke())
}

fn svg_path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let (mut path, mut pen) = (String::new(), 'M');
    for point in points {
        match point {
            // A line of length 0 has round ends, so that a point between gaps is visible.
            Some((x, y)) if pen == 'M' => write!(path, "M{x:.1},{y:.1} l0,0 ").expect(INFALLIBLE),
            Some((x, y)) => write!(path, "L{x:.1},{y:.1} ").expect(INFALLIBLE),
            None => {}
        }
        pen = if point.is_some() { 'L' } else { 'M' };
    }
    path.trim_end().into()
}

fn draw_curve(canvas: &mut Canvas, series: &Series, path: &str, style: &str) {
    writeln!(
        canvas.body,
        "<g><title>{}</title><path d=\"{path}\" {style} stroke-linejoin=\"round\" \
         stroke-linecap=\"round\"/></g>",
        escape(&series.name),
    )
    .expect(INFALLIBLE);
}

/// Draws the legend right of the plot area.
fn draw_legend(canvas: &mut Canvas, area: PlotArea, series: &[Series]) {
    let named = |weight: Weight| series.iter().filter(|series| series.weight == weight).count();
    let crowded = named(Weight::Plain) + named(Weight::Bold) > MAX_NAMES;
    let shown = |series: &Series| match series.weight {
        Weight::Plain => !crowded,
        Weight::Bold => true,
        Weight::Faint => false,
    };
    let named = series.iter().enumerate().filter(|(_, series)| shown(series));
    let (left, mut y) = (area.width + 2.0 * GAP, FONT / 2.0);
    for (number, series) in named.filter(|(_, series)| !series.name.is_empty()) {
        writeln!(
            canvas.body,
            "<path d=\"M{left:.1},{y:.1} h20\" {}/>",
            line_style(number, series.weight, series.weight.width())
        )
        .expect(INFALLIBLE);
        canvas.label((left + 26.0, y), FONT, Anchor::Start, &shorten(&series.name, 32));
        y += FONT * 1.45;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn plot(names: &[&str]) -> LinePlot {
        let curve = |name: &&str| Series::of_steps(*name, &[0.0, 2.0, f64::NAN, 1.0]);
        LinePlot {
            title: "<title>".into(),
            x: ChartAxis::Names(vec!["(".into(), "<script>".into(), "\"'&".into(), "\u{1}".into()]),
            x_includes: vec![],
            y_label: "value <y>".into(),
            y_includes: vec![],
            series: names.iter().map(curve).collect(),
        }
    }

    #[test]
    fn every_curve_is_drawn_and_named_and_nan_is_a_gap() {
        let drawn = svg(&plot(&["one", "two"])).unwrap();
        assert_eq!(drawn.matches("<title>one</title><path d=\"M").count(), 1);
        assert_eq!(drawn.matches(">two</text>").count(), 1);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        let path = drawn.split("<title>one</title><path d=\"").nth(1).unwrap();
        assert_eq!(path.split('"').next().unwrap().matches('M').count(), 2);
    }

    #[test]
    fn other_curves_of_a_series_are_thin_lines_of_its_colour_and_within_the_plot() {
        let mut plot = plot(&["one", "two"]);
        plot.series[1].others = vec![vec![(0.0, -1.0), (1.0, 50.0)], vec![(2.0, f64::NAN)]];
        let drawn = svg(&plot).unwrap();
        crate::render::testing::check_well_formed(&drawn);
        let thin: Vec<&str> = drawn.lines().filter(|line| line.contains("opacity")).collect();
        assert_eq!(thin.len(), 2);
        assert!(
            thin[0].contains(&Paint::Series(1).light()) && thin[0].contains(" L"),
            "{}",
            thin[0]
        );
        assert!(drawn.contains(">50</text>"), "{drawn}");
    }

    #[test]
    fn names_are_escaped() {
        let drawn = svg(&plot(&["</svg><script>", "a\"b"])).unwrap();
        crate::render::testing::check_well_formed(&drawn);
        assert!(!drawn.contains("<script"), "{drawn}");
    }

    #[test]
    fn of_many_curves_the_legend_names_only_the_bold_ones() {
        let names: Vec<String> = (0..40).map(|i| format!("unit {i}")).collect();
        let mut plot = plot(&names.iter().map(String::as_str).collect::<Vec<_>>());
        plot.series[3].weight = Weight::Bold;
        let drawn = svg(&plot).unwrap();
        assert_eq!(drawn.matches(">unit ").count() - 40, 1);
    }

    #[test]
    fn an_empty_plot_is_drawn_and_a_large_one_refused() {
        let x = ChartAxis::Numbers("update".into());
        let empty = LinePlot { x, series: vec![], ..plot(&[]) };
        crate::render::testing::check_well_formed(&svg(&empty).unwrap());
        let huge = Series::of_steps("", &vec![0.0; MAX_POINTS + 1]);
        let error = svg(&LinePlot { series: vec![huge], ..empty }).unwrap_err().to_string();
        assert!(error.contains("500001 points"), "{error}");
    }
}
