//! Axes, ticks and size limits of charts.

use super::paint::Paint;
use super::svg::{Anchor, Canvas, INFALLIBLE, shorten, width};
use std::fmt::Write;

/// An axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub enum ChartAxis {
    /// One slot for each name, such as the tokens of a string; slots are counted from 0.
    Names(Vec<String>),
    /// Numbers, with the label of the axis.
    Numbers(String),
}

/// A picture with too many elements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture of {found} {what} is too large to read (limit {limit}); draw a part of them")]
pub struct ChartTooLarge {
    /// The elements.
    pub what: &'static str,
    /// Their number.
    pub found: usize,
    /// The largest number that is drawn.
    pub limit: usize,
}

/// Fails if there are more than `limit` elements.
pub(super) fn check_size(
    what: &'static str,
    found: usize,
    limit: usize,
) -> Result<(), ChartTooLarge> {
    if found > limit { Err(ChartTooLarge { what, found, limit }) } else { Ok(()) }
}

pub(super) const FONT: f64 = 12.0;
const MAX_NAME: usize = 16;
/// The space between an axis and its text.
pub(super) const GAP: f64 = 7.0;

/// The size of the area in which the data are drawn; its top left corner is the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlotArea {
    pub width: f64,
    pub height: f64,
}

/// The range of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ValueRange {
    pub low: f64,
    pub high: f64,
}

impl ValueRange {
    /// The smallest range with all finite values, from 0 to 1 if there is none or all are 0. Never
    /// empty.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> ValueRange {
        let extend = |range: ValueRange, value: f64| ValueRange {
            low: range.low.min(value),
            high: range.high.max(value),
        };
        let empty = ValueRange { low: f64::INFINITY, high: f64::NEG_INFINITY };
        match values.filter(|value| value.is_finite()).fold(empty, extend) {
            ValueRange { low, high } if low > high => ValueRange { low: 0.0, high: 1.0 },
            // A single value has 0 at the other end, so that an error of 0 is not drawn from −1 to 1.
            ValueRange { low, high } if low == high => match low {
                0.0 => ValueRange { low: 0.0, high: 1.0 },
                value => ValueRange { low: value.min(0.0), high: value.max(0.0) },
            },
            range => range,
        }
    }

    /// The range extended to the next ticks.
    pub(super) fn rounded(self, most: usize) -> ValueRange {
        let step = self.step(most);
        let out = ValueRange {
            low: (self.low / step).floor() * step,
            high: (self.high / step).ceil() * step,
        };
        // A wider range may have ticks that are farther apart: its ends must be such ticks.
        if out.step(most) > step * 1.001 { out.rounded(most) } else { out }
    }

    /// The position of a value: 0 at the low end, 1 at the high end.
    pub(super) fn fraction(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Round numbers with their texts, about `most` or fewer.
    pub(super) fn ticks(self, most: usize) -> Vec<(f64, String)> {
        let step = self.step(most);
        // The tolerance covers rounding; half a step would show a tick outside.
        let (first, last) = (self.low / step - 1e-3, self.high / step + 1e-3);
        let count = (last.floor() - first.ceil()).max(0.0) as usize;
        let tick = |i: usize| (first.ceil() + i as f64) * step;
        (0..=count).map(|i| (tick(i), tick_text(tick(i), step))).collect()
    }

    /// The distance of ticks: 1, 2 or 5 times a power of ten. Prefers a few ticks too many.
    fn step(self, most: usize) -> f64 {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= rough * 0.7);
        times.unwrap_or(10.0) * power
    }
}

/// The text of a tick, with the decimal places that the distance of ticks needs.
fn tick_text(value: f64, step: f64) -> String {
    let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
    match step {
        step if !(1e-4..1e6).contains(&step) => format!("{value:.1e}"),
        step => {
            let places = (-step.log10()).ceil().max(0.0) as usize;
            format!("{value:.places$}").replace('-', "−")
        }
    }
}

/// The width of one of `slots` slots, such that the chart fits a page.
pub(super) fn slot_width(slots: usize) -> f64 {
    let count = slots.max(1) as f64;
    (900.0 / count).max((2000.0 / count).min(2.0)).min(34.0).max((260.0 / count).min(70.0))
}

/// How names below an axis are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NameLayout {
    Horizontal {
        size: f64,
    },
    Vertical,
    /// Names do not fit: slots are numbered instead.
    Numbered,
}

fn choose_layout(names: &[String], slot: f64) -> NameLayout {
    // Single letters may touch each other.
    let wide = |name: &String, size: f64| match name.chars().nth(1) {
        None => 0.8 * size,
        Some(_) => width(&display_name(name), size) + 2.0,
    };
    let fits = |&size: &f64| names.iter().all(|name| wide(name, size) <= slot);
    match [FONT, 10.0, 8.5].into_iter().find(fits) {
        Some(size) => NameLayout::Horizontal { size },
        None if slot >= FONT * 0.95 => NameLayout::Vertical,
        None => NameLayout::Numbered,
    }
}

/// A name as it is drawn: shortened, and with blanks made visible.
pub(super) fn display_name(name: &str) -> String {
    let blank = !name.is_empty() && name.chars().all(|c| c == ' ');
    if blank { "␣".repeat(name.len()) } else { shorten(name, MAX_NAME) }
}

/// Draws names below the plot area, in the middle of their slots.
pub(super) fn draw_names_below(canvas: &mut Canvas, area: PlotArea, names: &[String]) {
    let slot = area.width / names.len().max(1) as f64;
    let x = |t: usize| (t as f64 + 0.5) * slot;
    match choose_layout(names, slot) {
        NameLayout::Horizontal { size } => {
            for (t, name) in names.iter().enumerate() {
                let at = (x(t), area.height + GAP + FONT / 2.0);
                canvas.label(at, size, Anchor::Middle, &display_name(name));
            }
        }
        NameLayout::Vertical => {
            for (t, name) in names.iter().enumerate() {
                canvas.vertical_label(
                    (x(t), area.height + GAP),
                    FONT,
                    Anchor::End,
                    &display_name(name),
                );
            }
        }
        NameLayout::Numbered => {
            let last = names.len() as f64 - 1.0;
            let ticks = ValueRange { low: 0.0, high: last }.ticks(10);
            for (t, text) in ticks.into_iter().filter(|(t, _)| t.fract() == 0.0) {
                let at = (x(t as usize), area.height + GAP + FONT / 2.0);
                canvas.label(at, FONT, Anchor::Middle, &text);
            }
            draw_label_below(canvas, area, "step");
        }
    }
}

/// Draws ticks below the plot area, with vertical grid lines, and the label of the axis.
pub(super) fn draw_ticks_below(
    canvas: &mut Canvas,
    area: PlotArea,
    range: ValueRange,
    label: &str,
) {
    for (value, text) in range.ticks(8) {
        let x = range.fraction(value) * area.width;
        draw_grid_line(canvas, (x, 0.0), (x, area.height));
        canvas.label((x, area.height + GAP + FONT / 2.0), FONT, Anchor::Middle, &text);
    }
    draw_label_below(canvas, area, label);
}

/// Draws ticks left of the plot area, with horizontal grid lines, and the label of the axis.
pub(super) fn draw_ticks_left(canvas: &mut Canvas, area: PlotArea, range: ValueRange, label: &str) {
    let mut widest: f64 = 0.0;
    for (value, text) in range.ticks(6) {
        let y = (1.0 - range.fraction(value)) * area.height;
        draw_grid_line(canvas, (0.0, y), (area.width, y));
        canvas.label((-GAP, y), FONT, Anchor::End, &text);
        widest = widest.max(width(&text, FONT));
    }
    draw_label_left(canvas, area, widest, label);
}

/// Draws a label left of the plot area and of tick texts of this width.
pub(super) fn draw_label_left(canvas: &mut Canvas, area: PlotArea, widest: f64, label: &str) {
    if !label.is_empty() {
        let x = -2.0 * GAP - widest - FONT / 2.0;
        canvas.vertical_label((x, area.height / 2.0), FONT, Anchor::Middle, label);
    }
}

/// Draws a label below everything drawn so far.
pub(super) fn draw_label_below(canvas: &mut Canvas, area: PlotArea, label: &str) {
    if !label.is_empty() {
        let lowest = canvas.bounds.bottom.max(area.height);
        let at = (area.width / 2.0, lowest + GAP + FONT / 2.0);
        canvas.label(at, FONT, Anchor::Middle, label);
    }
}

/// Draws the left and the lower edge of the plot area.
pub(super) fn draw_axes(canvas: &mut Canvas, area: PlotArea) {
    let PlotArea { width, height } = area;
    canvas.bounds.include(width / 2.0, height / 2.0, width + 2.0, height + 2.0);
    writeln!(canvas.body, "<path d=\"M0,0 V{height:.1} H{width:.1}\" {}/>", Paint::Soft.stroke())
        .expect(INFALLIBLE);
}

fn draw_grid_line(canvas: &mut Canvas, (x, y): (f64, f64), (u, v): (f64, f64)) {
    writeln!(canvas.body, "<path d=\"M{x:.1},{y:.1} L{u:.1},{v:.1}\" {}/>", Paint::Grid.stroke())
        .expect(INFALLIBLE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        let texts = |low: f64, high: f64| -> Vec<String> {
            ValueRange { low, high }.ticks(5).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(-3.0, 7.1), ["−2", "0", "2", "4", "6"]);
        assert_eq!(
            texts(0.0, 0.013),
            ["0.000", "0.002", "0.004", "0.006", "0.008", "0.010", "0.012"]
        );
        assert_eq!(texts(1e8, 3e8), ["1.0e8", "1.5e8", "2.0e8", "2.5e8", "3.0e8"]);
        assert_eq!(
            ValueRange { low: -3.0, high: 7.1 }.rounded(5),
            ValueRange { low: -4.0, high: 8.0 }
        );
        assert_eq!(
            ValueRange { low: -2.2, high: 5.1 }.rounded(6),
            ValueRange { low: -4.0, high: 6.0 }
        );
    }

    #[test]
    fn a_range_is_never_empty() {
        let around = |values: &[f64]| ValueRange::around(values.iter().copied());
        assert_eq!(around(&[]), ValueRange { low: 0.0, high: 1.0 });
        assert_eq!(around(&[f64::NAN, f64::INFINITY]), ValueRange { low: 0.0, high: 1.0 });
        assert_eq!(around(&[4.0, 4.0]), ValueRange { low: 0.0, high: 4.0 });
        assert_eq!(around(&[0.0; 3]), ValueRange { low: 0.0, high: 1.0 });
        assert_eq!(around(&[-2.0]), ValueRange { low: -2.0, high: 0.0 });
        assert_eq!(around(&[3.0, -1.0, f64::NAN]), ValueRange { low: -1.0, high: 3.0 });
    }

    #[test]
    fn names_are_vertical_if_they_would_overlap_and_numbered_if_they_would_be_unreadable() {
        let names = |name: &str| vec![name.to_string(); 3];
        assert_eq!(choose_layout(&names("m"), 9.0), NameLayout::Horizontal { size: 10.0 });
        assert_eq!(choose_layout(&names("open"), 60.0), NameLayout::Horizontal { size: FONT });
        assert_eq!(choose_layout(&names("open"), 14.0), NameLayout::Vertical);
        assert_eq!(choose_layout(&names("m"), 5.0), NameLayout::Numbered);
        assert_eq!(display_name(" "), "␣");
    }
}
