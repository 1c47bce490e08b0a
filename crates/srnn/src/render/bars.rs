//! Bar charts: the mean transition probabilities, ranked; visits of centroids.

use super::chart::{
    FONT, Frame, Span, TooLarge, axis_label, check, edges, names_below, numbers_left, place_width,
};
use super::svg::{Anchor, Canvas, WRITES, width};
use std::fmt::Write;

/// What a chart shows.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// A line above the chart; none where it is empty.
    pub title: String,
    /// What the bars are.
    pub x_label: String,
    /// What goes up.
    pub y_label: String,
    /// Name and value of each; what is no number has no bar.
    pub bars: Vec<(String, f64)>,
}

/// More bars than this are refused.
pub const MOST_BARS: usize = 2000;
const HEIGHT: f64 = 240.0;
const FILL: &str = "#0072b2";

/// Draws a chart as SVG; bars stand on 0.
pub fn svg(chart: &BarChart) -> Result<String, TooLarge> {
    check("bars", chart.bars.len(), MOST_BARS)?;
    let place = place_width(chart.bars.len());
    let frame = Frame { width: place * chart.bars.len().max(1) as f64, height: HEIGHT };
    let values = chart.bars.iter().map(|bar| bar.1);
    let span = Span::around(values.chain([0.0])).rounded(6);
    let mut canvas = Canvas::new();
    numbers_left(&mut canvas, frame, span, &chart.y_label);
    let names: Vec<String> = chart.bars.iter().map(|bar| bar.0.clone()).collect();
    names_below(&mut canvas, frame, &names);
    axis_label(&mut canvas, frame, &chart.x_label);
    let texts = texts(chart, place);
    for (number, (&(_, value), text)) in chart.bars.iter().zip(&texts).enumerate() {
        if value.is_finite() {
            bar(&mut canvas, frame, span, (number as f64 * place, place), (value, text));
        }
    }
    edges(&mut canvas, frame);
    Ok(canvas.finish(&chart.title, "bar chart"))
}

/// A bar with its value at its end.
fn bar(
    canvas: &mut Canvas,
    frame: Frame,
    span: Span,
    (left, place): (f64, f64),
    (value, text): (f64, &str),
) {
    let y = |value: f64| (1.0 - span.part(value)) * frame.height;
    let (top, bottom) = (y(value.max(0.0)), y(value.min(0.0)));
    writeln!(
        canvas.body,
        "<rect x=\"{:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{FILL}\"/>",
        left + 0.14 * place,
        0.72 * place,
        bottom - top
    )
    .expect(WRITES);
    if !text.is_empty() {
        let side = if value < 0.0 { bottom + FONT * 0.8 } else { top - FONT * 0.8 };
        canvas.label((left + place / 2.0, side), FONT - 1.0, Anchor::Middle, text);
    }
}

/// The values as texts; all empty where one of them has no room.
fn texts(chart: &BarChart, place: f64) -> Vec<String> {
    let counts = chart.bars.iter().all(|bar| bar.1.fract() == 0.0);
    let text = |bar: &(String, f64)| match counts {
        true => format!("{:.0}", bar.1),
        false => format!("{:.2}", bar.1),
    };
    let texts: Vec<String> = chart.bars.iter().map(text).collect();
    match texts.iter().all(|text| width(text, FONT - 1.0) <= place) {
        true => texts,
        false => vec![String::new(); texts.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::check_well_formed;

    #[test]
    fn every_number_has_a_bar_and_names_are_data() {
        let bars = [("<script>", 0.83), ("'\"&", 0.16), ("none", f64::NAN), ("below", -0.10)];
        let bars = bars.map(|(name, value)| (name.to_string(), value)).to_vec();
        let text = String::from("<b>");
        let drawn =
            svg(&BarChart { title: text.clone(), x_label: text.clone(), y_label: text, bars });
        let drawn = drawn.unwrap();
        check_well_formed(&drawn);
        assert!(!drawn.contains("<script") && !drawn.contains("<b>") && !drawn.contains("NaN"));
        // One more is the backing.
        assert_eq!(drawn.matches("<rect").count(), 4);
        assert!(drawn.contains(">0.83</text>"), "{drawn}");
    }

    #[test]
    fn no_bars_are_drawn_and_too_many_refused() {
        let empty = || String::new();
        let chart = |bars| BarChart { title: empty(), x_label: empty(), y_label: empty(), bars };
        check_well_formed(&svg(&chart(vec![])).unwrap());
        let many = vec![(empty(), 1.0); MOST_BARS + 1];
        assert!(svg(&chart(many)).unwrap_err().to_string().contains("2001 bars"));
    }
}
