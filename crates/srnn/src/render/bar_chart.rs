//! Bar charts, such as the ranked transition probabilities or the visits of centroids.

use super::axes::{
    ChartTooLarge, FONT, PlotArea, ValueRange, check_size, draw_axes, draw_label_below,
    draw_names_below, draw_ticks_left, slot_width,
};
use super::paint::Paint;
use super::svg::{Anchor, Canvas, INFALLIBLE, width};
use std::fmt::Write;

/// A bar chart.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// The title above the chart; none if empty.
    pub title: String,
    /// The label of the horizontal axis.
    pub x_label: String,
    /// The label of the vertical axis.
    pub y_label: String,
    /// Name and value of each bar; values that are not finite have no bar.
    pub bars: Vec<(String, f64)>,
}

/// The largest number of bars.
pub(crate) const MAX_BARS: usize = 2000;
const HEIGHT: f64 = 240.0;

/// Draws a chart as SVG. Bars begin at 0.
pub fn svg(chart: &BarChart) -> Result<String, ChartTooLarge> {
    check_size("bars", chart.bars.len(), MAX_BARS)?;
    let slot = slot_width(chart.bars.len());
    let area = PlotArea { width: slot * chart.bars.len().max(1) as f64, height: HEIGHT };
    let values = chart.bars.iter().map(|bar| bar.1);
    let range = ValueRange::around(values.chain([0.0])).rounded(6);
    let mut canvas = Canvas::new();
    draw_ticks_left(&mut canvas, area, range, &chart.y_label);
    let names: Vec<String> = chart.bars.iter().map(|bar| bar.0.clone()).collect();
    draw_names_below(&mut canvas, area, &names);
    draw_label_below(&mut canvas, area, &chart.x_label);
    let texts = value_texts(chart, slot);
    for (number, (&(_, value), text)) in chart.bars.iter().zip(&texts).enumerate() {
        if value.is_finite() {
            draw_bar(&mut canvas, area, range, (number as f64 * slot, slot), (value, text));
        }
    }
    draw_axes(&mut canvas, area);
    Ok(canvas.finish(&chart.title, "bar chart"))
}

/// Draws a bar with its value at its end.
fn draw_bar(
    canvas: &mut Canvas,
    area: PlotArea,
    range: ValueRange,
    (left, slot): (f64, f64),
    (value, text): (f64, &str),
) {
    let y = |value: f64| (1.0 - range.fraction(value)) * area.height;
    let (top, bottom) = (y(value.max(0.0)), y(value.min(0.0)));
    writeln!(
        canvas.body,
        "<rect x=\"{:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\" {}/>",
        left + 0.14 * slot,
        0.72 * slot,
        bottom - top,
        Paint::Series(0).fill()
    )
    .expect(INFALLIBLE);
    if !text.is_empty() {
        let text_y = if value < 0.0 { bottom + FONT * 0.8 } else { top - FONT * 0.8 };
        canvas.label((left + slot / 2.0, text_y), FONT - 1.0, Anchor::Middle, text);
    }
}

/// The values as texts; all empty if one of them is too wide.
fn value_texts(chart: &BarChart, slot: f64) -> Vec<String> {
    let counts = chart.bars.iter().all(|bar| bar.1.fract() == 0.0);
    let text = |bar: &(String, f64)| match counts {
        true => format!("{:.0}", bar.1),
        false => format!("{:.2}", bar.1),
    };
    let texts: Vec<String> = chart.bars.iter().map(text).collect();
    match texts.iter().all(|text| width(text, FONT - 1.0) <= slot) {
        true => texts,
        false => vec![String::new(); texts.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::check_well_formed;

    #[test]
    fn finite_values_have_a_bar_and_names_are_escaped() {
        let bars = [("<script>", 0.83), ("'\"&", 0.16), ("none", f64::NAN), ("below", -0.10)];
        let bars = bars.map(|(name, value)| (name.to_string(), value)).to_vec();
        let text = String::from("<b>");
        let drawn =
            svg(&BarChart { title: text.clone(), x_label: text.clone(), y_label: text, bars });
        let drawn = drawn.unwrap();
        check_well_formed(&drawn);
        assert!(!drawn.contains("<script") && !drawn.contains("<b>") && !drawn.contains("NaN"));
        // One rectangle is the background.
        assert_eq!(drawn.matches("<rect").count(), 4);
        assert!(drawn.contains(">0.83</text>"), "{drawn}");
    }

    #[test]
    fn no_bars_are_drawn_and_too_many_refused() {
        let empty = || String::new();
        let chart = |bars| BarChart { title: empty(), x_label: empty(), y_label: empty(), bars };
        check_well_formed(&svg(&chart(vec![])).unwrap());
        let many = vec![(empty(), 1.0); MAX_BARS + 1];
        assert!(svg(&chart(many)).unwrap_err().to_string().contains("2001 bars"));
    }
}
