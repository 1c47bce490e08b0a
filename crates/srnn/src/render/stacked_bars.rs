//! Stacked bars, such as the transition probabilities of each token of a review.

use super::axes::{
    ChartTooLarge, FONT, GAP, PlotArea, ValueRange, check_size, draw_axes, draw_names_below,
    draw_ticks_left, slot_width,
};
use super::paint::Paint;
use super::svg::{Anchor, Canvas, INFALLIBLE, escape, shorten, width};
use std::fmt::Write;

/// A chart of stacked bars.
#[derive(Clone, Debug, PartialEq)]
pub struct StackedBars {
    /// The title above the chart; none if empty.
    pub title: String,
    /// The label of the vertical axis.
    pub y_label: String,
    /// The names of the bars.
    pub names: Vec<String>,
    /// The names of the parts, from bottom to top. Parts beyond [`MAX_PARTS`] have one colour.
    pub parts: Vec<String>,
    /// A short text for each part, drawn inside if there is space. A part without one is grey.
    pub marks: Vec<String>,
    /// The parts of each bar `[bars][parts]`, not negative; values that are not finite are left out.
    pub values: Vec<Vec<f64>>,
}

/// The number of parts with their own colour.
pub const MAX_PARTS: usize = 6;
/// The largest number of rectangles.
const MAX_RECTANGLES: usize = 20_000;
const HEIGHT: f64 = 220.0;

/// Draws a chart as SVG.
pub fn svg(chart: &StackedBars) -> Result<String, ChartTooLarge> {
    check_size("parts of bars", chart.values.iter().map(Vec::len).sum(), MAX_RECTANGLES)?;
    let slot = slot_width(chart.values.len());
    let area = PlotArea { width: slot * chart.values.len().max(1) as f64, height: HEIGHT };
    // Rounded: a sum of 1.0000001 would need an axis up to 1.2.
    let finite = |values: &Vec<f64>| {
        let sum: f64 = values.iter().filter(|value| value.is_finite()).sum();
        (sum * 1e4).round() / 1e4
    };
    let largest = chart.values.iter().map(finite);
    let range = ValueRange::around(largest.chain([0.0])).rounded(6);
    let mut canvas = Canvas::new();
    draw_ticks_left(&mut canvas, area, range, &chart.y_label);
    draw_names_below(&mut canvas, area, &chart.names);
    for (number, values) in chart.values.iter().enumerate() {
        let mut below = 0.0;
        for (part, &value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let rectangle = Rectangle {
                left: (number as f64 + 0.1) * slot,
                width: 0.8 * slot,
                top: (1.0 - range.fraction(below + value)) * HEIGHT,
                height: range.fraction(value) * HEIGHT - range.fraction(0.0) * HEIGHT,
            };
            draw_part(&mut canvas, chart, part, value, &rectangle);
            below += value;
        }
    }
    draw_axes(&mut canvas, area);
    draw_legend(&mut canvas, chart, area);
    Ok(canvas.finish(&chart.title, "stacked bars"))
}

struct Rectangle {
    left: f64,
    width: f64,
    top: f64,
    height: f64,
}

/// The colour of a part: grey without a mark of its own.
fn colour(chart: &StackedBars, part: usize) -> Paint {
    let own = chart.marks.get(part).is_some_and(|mark| !mark.is_empty());
    if own && part < MAX_PARTS { Paint::Series(part) } else { Paint::Faint }
}

fn draw_part(
    canvas: &mut Canvas,
    chart: &StackedBars,
    part: usize,
    value: f64,
    rectangle: &Rectangle,
) {
    let Rectangle { left, width: wide, top, height } = *rectangle;
    if height < 0.05 {
        return;
    }
    let name = chart.parts.get(part).map_or("", String::as_str);
    writeln!(
        canvas.body,
        "<g data-part=\"{part}\"><title>{} {value:.3}</title><rect x=\"{left:.2}\" y=\"{top:.2}\" \
         width=\"{wide:.2}\" height=\"{height:.2}\" {} stroke-width=\"0.6\"/></g>",
        escape(name),
        colour(chart, part).fill_with_stroke(Paint::Paper)
    )
    .expect(INFALLIBLE);
    let mark = chart.marks.get(part).map_or("", String::as_str);
    if height >= FONT + 2.0 && width(mark, FONT - 2.0) + 2.0 <= wide {
        let at = (left + wide / 2.0, top + height / 2.0);
        canvas.text(at.0, at.1, FONT - 2.0, Paint::Paper, mark);
    }
}

/// Draws the names of the parts right of the chart, the highest one on top.
fn draw_legend(canvas: &mut Canvas, chart: &StackedBars, area: PlotArea) {
    let (left, mut y) = (area.width + 2.0 * GAP, FONT / 2.0);
    for (part, name) in chart.parts.iter().enumerate().rev() {
        writeln!(
            canvas.body,
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" {}/>",
            y - 6.0,
            colour(chart, part).fill()
        )
        .expect(INFALLIBLE);
        canvas.label((left + 18.0, y), FONT, Anchor::Start, &shorten(name, 40));
        y += FONT * 1.45;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::testing::check_well_formed;

    fn chart(values: Vec<Vec<f64>>) -> StackedBars {
        StackedBars {
            title: "<title>".into(),
            y_label: "α".into(),
            names: vec!["a&b".into(); values.len()],
            parts: ["<one>", "two", "three"].map(String::from).to_vec(),
            marks: ["1", "2", "3"].map(String::from).to_vec(),
            values,
        }
    }

    #[test]
    fn the_height_of_each_part_is_its_value_and_parts_stand_on_each_other() {
        let values = vec![vec![0.5, 0.25, 0.25], vec![0.9, f64::NAN, 0.1]];
        let drawn = svg(&chart(values.clone())).unwrap();
        check_well_formed(&drawn);
        let number = |part: &str, name: &str| -> f64 {
            let text = part.split(&format!(" {name}=\"")).nth(1).unwrap();
            text.split('"').next().unwrap().parse().unwrap()
        };
        let parts: Vec<(f64, f64)> = drawn
            .split("<g data-part=")
            .skip(1)
            .map(|part| (number(part, "y"), number(part, "height")))
            .collect();
        let expected = [(0.5, 0.5), (0.25, 0.25), (0.0, 0.25), (0.1, 0.9), (0.0, 0.1)];
        for ((y, height), (top, value)) in parts.iter().zip(expected) {
            assert!((y / HEIGHT - top).abs() < 1e-3 && (height / HEIGHT - value).abs() < 1e-3);
        }
        assert_eq!(parts.len(), expected.len());
    }

    #[test]
    fn nothing_is_drawn_and_too_much_refused() {
        check_well_formed(&svg(&chart(vec![])).unwrap());
        let error = svg(&chart(vec![vec![0.1; 100]; 201])).unwrap_err().to_string();
        assert!(error.contains("20100 parts"), "{error}");
    }
}
