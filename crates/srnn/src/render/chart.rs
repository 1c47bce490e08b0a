//! What charts share: axes, ticks, colours, and how much can be drawn.

use super::svg::{Anchor, Canvas, SOFT, WRITES, shorten, width};
use std::fmt::Write;

/// What stands along an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// One place for each, such as the tokens of a string; places are counted from 0.
    Names(Vec<String>),
    /// Numbers, and what they are.
    Numbers(String),
}

/// A picture that nobody could read, or that would fill the memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture of {found} {what} could not be read (limit {limit}); draw a part of them")]
pub struct TooLarge {
    /// What there is too much of.
    pub what: &'static str,
    /// How many there are.
    pub found: usize,
    /// How many are drawn at most.
    pub limit: usize,
}

/// Whether so many fit in a picture.
pub(super) fn check(what: &'static str, found: usize, limit: usize) -> Result<(), TooLarge> {
    if found > limit { Err(TooLarge { what, found, limit }) } else { Ok(()) }
}

pub(super) const FONT: f64 = 12.0;
const GRID: &str = "#e4e7eb";
const LONGEST_NAME: usize = 16;
/// Space between an axis and what is written along it.
pub(super) const GAP: f64 = 7.0;

/// Where the data are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub width: f64,
    pub height: f64,
}

/// The numbers from one end of an axis to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub low: f64,
    pub high: f64,
}

impl Span {
    /// Around all numbers; from 0 to 1 where there is none.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> Span {
        let grown =
            |span: Span, value: f64| Span { low: span.low.min(value), high: span.high.max(value) };
        let nothing = Span { low: f64::INFINITY, high: f64::NEG_INFINITY };
        match values.filter(|value| value.is_finite()).fold(nothing, grown) {
            Span { low, high } if low > high => Span { low: 0.0, high: 1.0 },
            Span { low, high } if low == high => {
                let room = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
                Span { low: low - room, high: high + room }
            }
            span => span,
        }
    }

    /// Out to the next ticks.
    pub(super) fn rounded(self, most: usize) -> Span {
        let step = self.step(most);
        let out =
            Span { low: (self.low / step).floor() * step, high: (self.high / step).ceil() * step };
        // A wider span may have ticks that are farther apart: its ends should be ticks of its own.
        if out.step(most) > step * 1.001 { out.rounded(most) } else { out }
    }

    /// Where a number lies: 0 at the low end, 1 at the high one.
    pub(super) fn part(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Round numbers with their texts, not many more than `most`.
    pub(super) fn ticks(self, most: usize) -> Vec<(f64, String)> {
        let step = self.step(most);
        // Half a step of tolerance would show a tick outside; a thousandth is rounding.
        let (first, last) = (self.low / step - 1e-3, self.high / step + 1e-3);
        let count = (last.floor() - first.ceil()).max(0.0) as usize;
        let tick = |i: usize| (first.ceil() + i as f64) * step;
        (0..=count).map(|i| (tick(i), number(tick(i), step))).collect()
    }

    /// 1, 2 or 5 times a power of ten; rather a few ticks too many than half of them.
    fn step(self, most: usize) -> f64 {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= rough * 0.7);
        times.unwrap_or(10.0) * power
    }
}

/// A tick's text: as many places as the step between ticks needs.
fn number(value: f64, step: f64) -> String {
    let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
    match step {
        step if !(1e-4..1e6).contains(&step) => format!("{value:.1e}"),
        step => {
            let places = (-step.log10()).ceil().max(0.0) as usize;
            format!("{value:.places$}").replace('-', "−")
        }
    }
}

/// How wide a place is where there are so many: as wide as reads well, within a page.
pub(super) fn place_width(places: usize) -> f64 {
    let count = places.max(1) as f64;
    (900.0 / count).max((2000.0 / count).min(2.0)).min(34.0).max((260.0 / count).min(70.0))
}

/// How names stand below an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing {
    Upright {
        size: f64,
    },
    Turned,
    /// They do not fit: places are numbered instead.
    Numbered,
}

fn standing(names: &[String], place: f64) -> Standing {
    // Wide letters may touch: a string of letters reads as one.
    let wide = |name: &String, size: f64| match name.chars().nth(1) {
        None => 0.8 * size,
        Some(_) => width(&short(name), size) + 2.0,
    };
    let fits = |&size: &f64| names.iter().all(|name| wide(name, size) <= place);
    match [FONT, 10.0, 8.5].into_iter().find(fits) {
        Some(size) => Standing::Upright { size },
        None if place >= FONT * 0.95 => Standing::Turned,
        None => Standing::Numbered,
    }
}

/// A name as it is written. A blank would not be seen.
pub(super) fn short(name: &str) -> String {
    let blank = !name.is_empty() && name.chars().all(|c| c == ' ');
    if blank { "␣".repeat(name.len()) } else { shorten(name, LONGEST_NAME) }
}

/// Names in the middle of their places below the frame.
pub(super) fn names_below(canvas: &mut Canvas, frame: Frame, names: &[String]) {
    let place = frame.width / names.len().max(1) as f64;
    let x = |t: usize| (t as f64 + 0.5) * place;
    match standing(names, place) {
        Standing::Upright { size } => {
            for (t, name) in names.iter().enumerate() {
                let at = (x(t), frame.height + GAP + FONT / 2.0);
                canvas.label(at, size, Anchor::Middle, &short(name));
            }
        }
        Standing::Turned => {
            for (t, name) in names.iter().enumerate() {
                canvas.upwards((x(t), frame.height + GAP), FONT, Anchor::End, &short(name));
            }
        }
        Standing::Numbered => {
            let last = names.len() as f64 - 1.0;
            let ticks = Span { low: 0.0, high: last }.ticks(10);
            for (t, text) in ticks.into_iter().filter(|(t, _)| t.fract() == 0.0) {
                let at = (x(t as usize), frame.height + GAP + FONT / 2.0);
                canvas.label(at, FONT, Anchor::Middle, &text);
            }
            axis_label(canvas, frame, "step");
        }
    }
}

/// Numbers below the frame, with a line up through it.
pub(super) fn numbers_below(canvas: &mut Canvas, frame: Frame, span: Span, label: &str) {
    for (value, text) in span.ticks(8) {
        let x = span.part(value) * frame.width;
        grid(canvas, (x, 0.0), (x, frame.height));
        canvas.label((x, frame.height + GAP + FONT / 2.0), FONT, Anchor::Middle, &text);
    }
    axis_label(canvas, frame, label);
}

/// Numbers left of the frame, with a line across it, and what they are.
pub(super) fn numbers_left(canvas: &mut Canvas, frame: Frame, span: Span, label: &str) {
    let mut widest: f64 = 0.0;
    for (value, text) in span.ticks(6) {
        let y = (1.0 - span.part(value)) * frame.height;
        grid(canvas, (0.0, y), (frame.width, y));
        canvas.label((-GAP, y), FONT, Anchor::End, &text);
        widest = widest.max(width(&text, FONT));
    }
    label_left(canvas, frame, widest, label);
}

/// What stands left of the frame, beyond texts of some width.
pub(super) fn label_left(canvas: &mut Canvas, frame: Frame, widest: f64, label: &str) {
    if !label.is_empty() {
        let x = -2.0 * GAP - widest - FONT / 2.0;
        canvas.upwards((x, frame.height / 2.0), FONT, Anchor::Middle, label);
    }
}

/// What stands below everything that is below the frame so far.
pub(super) fn axis_label(canvas: &mut Canvas, frame: Frame, label: &str) {
    if !label.is_empty() {
        let lowest = canvas.bounds.bottom.max(frame.height);
        let at = (frame.width / 2.0, lowest + GAP + FONT / 2.0);
        canvas.label(at, FONT, Anchor::Middle, label);
    }
}

/// The left and lower edge of the frame.
pub(super) fn edges(canvas: &mut Canvas, frame: Frame) {
    let Frame { width, height } = frame;
    canvas.bounds.include(width / 2.0, height / 2.0, width + 2.0, height + 2.0);
    writeln!(
        canvas.body,
        "<path d=\"M0,0 V{height:.1} H{width:.1}\" fill=\"none\" stroke=\"{SOFT}\"/>"
    )
    .expect(WRITES);
}

fn grid(canvas: &mut Canvas, (x, y): (f64, f64), (u, v): (f64, f64)) {
    writeln!(
        canvas.body,
        "<path d=\"M{x:.1},{y:.1} L{u:.1},{v:.1}\" stroke=\"{GRID}\" fill=\"none\"/>"
    )
    .expect(WRITES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_within_the_span() {
        let texts = |low: f64, high: f64| -> Vec<String> {
            Span { low, high }.ticks(5).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(-3.0, 7.1), ["−2", "0", "2", "4", "6"]);
        assert_eq!(
            texts(0.0, 0.013),
            ["0.000", "0.002", "0.004", "0.006", "0.008", "0.010", "0.012"]
        );
        assert_eq!(texts(1e8, 3e8), ["1.0e8", "1.5e8", "2.0e8", "2.5e8", "3.0e8"]);
        assert_eq!(Span { low: -3.0, high: 7.1 }.rounded(5), Span { low: -4.0, high: 8.0 });
        assert_eq!(Span { low: -2.2, high: 5.1 }.rounded(6), Span { low: -4.0, high: 6.0 });
    }

    #[test]
    fn a_span_is_never_empty() {
        let around = |values: &[f64]| Span::around(values.iter().copied());
        assert_eq!(around(&[]), Span { low: 0.0, high: 1.0 });
        assert_eq!(around(&[f64::NAN, f64::INFINITY]), Span { low: 0.0, high: 1.0 });
        assert_eq!(around(&[4.0, 4.0]), Span { low: 2.0, high: 6.0 });
        assert_eq!(around(&[3.0, -1.0, f64::NAN]), Span { low: -1.0, high: 3.0 });
    }

    #[test]
    fn names_are_turned_before_they_overlap_and_numbered_before_they_cannot_be_read() {
        let names = |name: &str| vec![name.to_string(); 3];
        assert_eq!(standing(&names("m"), 9.0), Standing::Upright { size: 10.0 });
        assert_eq!(standing(&names("open"), 60.0), Standing::Upright { size: FONT });
        assert_eq!(standing(&names("open"), 14.0), Standing::Turned);
        assert_eq!(standing(&names("m"), 5.0), Standing::Numbered);
        assert_eq!(short(" "), "␣");
    }
}
