//! Line plots: curves of training, and units along the steps of a string.

use super::chart::{
    Axis, FONT, Frame, GAP, Span, TooLarge, check, edges, names_below, numbers_below, numbers_left,
    place_width,
};
use super::svg::{Anchor, Canvas, WRITES, escape, shorten};
use std::fmt::Write;

/// What a plot shows.
#[derive(Clone, Debug, PartialEq)]
pub struct LinePlot {
    /// A line above the plot; none where it is empty.
    pub title: String,
    /// What is along the plot. Points of an axis of names have the place of the name as x.
    pub x: Axis,
    /// What an axis of numbers must hold beside the points: `[0.0]` makes it begin at 0.
    pub x_holds: Vec<f64>,
    /// What goes up.
    pub y_label: String,
    /// What the plot must hold beside the points: `[0.0]` makes it begin at 0.
    pub y_holds: Vec<f64>,
    /// The curves; later ones are drawn over earlier ones.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// `(x, y)`; what is no number makes a gap.
    pub points: Vec<(f64, f64)>,
    /// More curves of its kind, such as other seeds: thin lines of its colour, below all others.
    pub others: Vec<Vec<(f64, f64)>>,
    /// How much it stands out.
    pub weight: Weight,
}

/// How much a curve stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// As curves are.
    Plain,
    /// A thick line, such as the unit that counts.
    Bold,
    /// A thin grey line without a name in the legend.
    Faint,
}

/// More points than this are refused.
pub const MOST_POINTS: usize = 500_000;
/// Curves with a name in the legend; where there are more, only bold ones have one.
const MOST_NAMES: usize = 16;
const THIN: f64 = 0.9;
const HEIGHT: f64 = 280.0;
const WIDTH: f64 = 560.0;
/// Told apart by every kind of colour vision (Okabe and Ito 2008), without the yellow, which is too
/// light on white.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1f2933"];
/// Once the colours are used up, dashes tell curves apart.
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
    /// A plain curve over the places 0, 1, 2, …
    pub fn of_steps(name: impl Into<String>, values: &[f64]) -> Series {
        let points = values.iter().enumerate().map(|(t, &value)| (t as f64, value)).collect();
        Series { name: name.into(), points, others: vec![], weight: Weight::Plain }
    }
}

/// Draws a plot as SVG.
pub fn svg(plot: &LinePlot) -> Result<String, TooLarge> {
    let curves = || plot.series.iter().flat_map(|s| s.others.iter().chain([&s.points]));
    let points = || curves().flatten();
    check("points", points().count(), MOST_POINTS)?;
    let held = points().map(|point| point.1).chain(plot.y_holds.iter().copied());
    let y = Span::around(held).rounded(6);
    let (frame, x) = match &plot.x {
        Axis::Names(names) => {
            let width = names.len().max(1) as f64 * place_width(names.len());
            (Frame { width, height: HEIGHT }, Span { low: -0.5, high: names.len() as f64 - 0.5 })
        }
        Axis::Numbers(_) => {
            let frame = Frame { width: WIDTH, height: HEIGHT };
            (frame, Span::around(points().map(|point| point.0).chain(plot.x_holds.iter().copied())))
        }
    };
    let mut canvas = Canvas::new();
    numbers_left(&mut canvas, frame, y, &plot.y_label);
    match &plot.x {
        Axis::Names(names) => names_below(&mut canvas, frame, names),
        Axis::Numbers(label) => numbers_below(&mut canvas, frame, x, label),
    }
    edges(&mut canvas, frame);
    let at = |(u, v): (f64, f64)| {
        let place = (x.part(u) * frame.width, (1.0 - y.part(v)) * frame.height);
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    };
    let path = |points: &[(f64, f64)]| path(points.iter().copied().map(at));
    for (number, series) in plot.series.iter().enumerate() {
        let thin = format!("{} stroke-opacity=\"0.4\"", style(number, series.weight, THIN));
        series.others.iter().for_each(|other| curve(&mut canvas, series, &path(other), &thin));
    }
    for (number, series) in plot.series.iter().enumerate() {
        let style = style(number, series.weight, series.weight.width());
        curve(&mut canvas, series, &path(&series.points), &style);
    }
    legend(&mut canvas, frame, &plot.series);
    Ok(canvas.finish(&plot.title, "line plot"))
}

/// A curve's colour, width and dashes.
fn style(number: usize, weight: Weight, width: f64) -> String {
    let colour = match weight {
        Weight::Plain | Weight::Bold => COLOURS[number % COLOURS.len()],
        Weight::Faint => "#b8c1cc",
    };
    let dashes = DASHES[number / COLOURS.len() % DASHES.len()];
    format!("stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}")
}

fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let (mut path, mut pen) = (String::new(), 'M');
    for point in points {
        match point {
            // A line of no length has round ends: a point between gaps is seen.
            Some((x, y)) if pen == 'M' => write!(path, "M{x:.1},{y:.1} l0,0 ").expect(WRITES),
            Some((x, y)) => write!(path, "L{x:.1},{y:.1} ").expect(WRITES),
            None => {}
        }
        pen = if point.is_some() { 'L' } else { 'M' };
    }
    path.trim_end().into()
}

fn curve(canvas: &mut Canvas, series: &Series, path: &str, style: &str) {
    writeln!(
        canvas.body,
        "<g><title>{}</title><path d=\"{path}\" fill=\"none\" {style} stroke-linejoin=\"round\" \
         stroke-linecap=\"round\"/></g>",
        escape(&series.name),
    )
    .expect(WRITES);
}

/// Names right of the frame, where no curve is.
fn legend(canvas: &mut Canvas, frame: Frame, series: &[Series]) {
    let named = |weight: Weight| series.iter().filter(|series| series.weight == weight).count();
    let crowded = named(Weight::Plain) + named(Weight::Bold) > MOST_NAMES;
    let shown = |series: &Series| match series.weight {
        Weight::Plain => !crowded,
        Weight::Bold => true,
        Weight::Faint => false,
    };
    let named = series.iter().enumerate().filter(|(_, series)| shown(series));
    let (left, mut y) = (frame.width + 2.0 * GAP, FONT / 2.0);
    for (number, series) in named.filter(|(_, series)| !series.name.is_empty()) {
        writeln!(
            canvas.body,
            "<path d=\"M{left:.1},{y:.1} h20\" fill=\"none\" {}/>",
            style(number, series.weight, series.weight.width())
        )
        .expect(WRITES);
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
            x: Axis::Names(vec!["(".into(), "<script>".into(), "\"'&".into(), "\u{1}".into()]),
            x_holds: vec![],
            y_label: "value <y>".into(),
            y_holds: vec![],
            series: names.iter().map(curve).collect(),
        }
    }

    #[test]
    fn every_curve_is_drawn_and_named_and_what_is_no_number_is_a_gap() {
        let drawn = svg(&plot(&["one", "two"])).unwrap();
        assert_eq!(drawn.matches("<title>one</title><path d=\"M").count(), 1);
        assert_eq!(drawn.matches(">two</text>").count(), 1);
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        let path = drawn.split("<title>one</title><path d=\"").nth(1).unwrap();
        assert_eq!(path.split('"').next().unwrap().matches('M').count(), 2);
    }

    #[test]
    fn other_curves_of_a_kind_are_thin_lines_of_its_colour_and_held_by_the_plot() {
        let mut plot = plot(&["one", "two"]);
        plot.series[1].others = vec![vec![(0.0, -1.0), (1.0, 50.0)], vec![(2.0, f64::NAN)]];
        let drawn = svg(&plot).unwrap();
        crate::render::testing::check_well_formed(&drawn);
        let thin: Vec<&str> = drawn.lines().filter(|line| line.contains("opacity")).collect();
        assert_eq!(thin.len(), 2);
        assert!(thin[0].contains(COLOURS[1]) && thin[0].contains(" L"), "{}", thin[0]);
        assert!(drawn.contains(">50</text>"), "{drawn}");
    }

    #[test]
    fn names_are_data_and_never_markup() {
        let drawn = svg(&plot(&["</svg><script>", "a\"b"])).unwrap();
        crate::render::testing::check_well_formed(&drawn);
        assert!(!drawn.contains("<script"), "{drawn}");
    }

    #[test]
    fn many_curves_have_no_legend_but_for_the_bold_ones() {
        let names: Vec<String> = (0..40).map(|i| format!("unit {i}")).collect();
        let mut plot = plot(&names.iter().map(String::as_str).collect::<Vec<_>>());
        plot.series[3].weight = Weight::Bold;
        let drawn = svg(&plot).unwrap();
        assert_eq!(drawn.matches(">unit ").count() - 40, 1);
    }

    #[test]
    fn an_empty_plot_is_drawn_and_a_huge_one_refused() {
        let x = Axis::Numbers("update".into());
        let empty = LinePlot { x, series: vec![], ..plot(&[]) };
        crate::render::testing::check_well_formed(&svg(&empty).unwrap());
        let huge = Series::of_steps("", &vec![0.0; MOST_POINTS + 1]);
        let error = svg(&LinePlot { series: vec![huge], ..empty }).unwrap_err().to_string();
        assert!(error.contains("500001 points"), "{error}");
    }
}
