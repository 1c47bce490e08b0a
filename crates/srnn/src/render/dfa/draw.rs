//! Writes a layout as SVG.

use std::fmt::Write;

use super::layout::{
    Circle, EDGE_FONT, EdgeCurve, EdgeText, LINE_HEIGHT, LOOP_HEIGHT, NAME_OFFSET, NOTE_FONT,
    NOTE_OFFSET, PictureLayout, RING_GAP, STATE_FONT,
};
use super::{DfaPicture, StatePicture};
use crate::render::svg::{Canvas, INFALLIBLE, INK, SOFT, escape};

const FILL: &str = "#f5f7fa";
const ACCEPTING: &str = "#e3f2e8";
/// The steepest slope at the end of a curve.
const MAX_SLOPE: f64 = 0.8;
/// The length of an arrow head.
const ARROW_HEAD: f64 = 9.0;

pub(super) fn draw(picture: &DfaPicture, layout: &PictureLayout) -> String {
    let mut canvas = Canvas::new();
    for (edge, curve) in picture.edges.iter().zip(&layout.curves) {
        match edge.0 == edge.1 {
            true => canvas.draw_loop(curve, &layout.circles[edge.0]),
            false => canvas.draw_edge(curve),
        }
    }
    if let Some((from, to)) = layout.arrow {
        canvas.draw_arrow(
            &format!("M{} L{}", svg_point(from), svg_point(shortened(to, from))),
            from,
            to,
        );
        canvas.bounds.include(from.0, from.1, 2.0, 2.0);
    }
    for (state, circle) in picture.states.iter().zip(&layout.circles) {
        canvas.draw_state(state, circle);
    }
    // Labels come last, so that no line crosses them.
    for (edge, curve) in picture.edges.iter().zip(&layout.curves) {
        canvas.draw_edge_text(&curve.text, &edge.2);
    }
    canvas.finish(&picture.title, "automaton")
}

impl Canvas {
    fn draw_edge(&mut self, curve: &EdgeCurve) {
        for &(x, y) in &curve.points {
            self.bounds.include(x, y, 2.0, 2.0);
        }
        let mut pieces = monotone(&curve.points);
        let last = pieces.last_mut().expect("a curve has two points or more");
        let (before, tip) = (last[1], last[2]);
        let (dx, dy) = direction(before, tip);
        for (x, y) in &mut last[1..] {
            (*x, *y) = (*x - ARROW_HEAD * dx, *y - ARROW_HEAD * dy);
        }
        let mut path = format!("M{}", svg_point(curve.points[0]));
        for [a, b, c] in pieces {
            write!(path, " C{} {} {}", svg_point(a), svg_point(b), svg_point(c)).expect(INFALLIBLE);
        }
        self.draw_arrow(&path, before, tip);
    }

    fn draw_loop(&mut self, curve: &EdgeCurve, circle: &Circle) {
        let side = curve.side as i8 as f64;
        let (start, end) = (curve.points[0], curve.points[1]);
        let far = circle.y + side * (circle.radius + LOOP_HEIGHT);
        let (left, right) = (start.0 - 13.0, end.0 + 13.0);
        let [a, b] = [(left, far), (right, far)].map(svg_point);
        let (first, last) = (svg_point(start), svg_point(shortened(end, (right, far))));
        self.draw_arrow(&format!("M{first} C{a} {b} {last}"), (right, far), end);
        self.bounds.include(circle.x, far - side * LOOP_HEIGHT / 2.0, right - left, LOOP_HEIGHT);
    }

    /// Draws a line, and an arrow head at `tip` in the direction from `before`.
    fn draw_arrow(&mut self, path: &str, before: (f64, f64), tip: (f64, f64)) {
        let (dx, dy) = direction(before, tip);
        let side = |sign: f64| {
            let (x, y) = (tip.0 - ARROW_HEAD * dx, tip.1 - ARROW_HEAD * dy);
            svg_point((x - sign * dy * ARROW_HEAD * 0.42, y + sign * dx * ARROW_HEAD * 0.42))
        };
        writeln!(
            self.body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{SOFT}\" stroke-width=\"1.4\"/>\n\
             <path d=\"M{} L{} L{} Z\" fill=\"{SOFT}\"/>",
            svg_point(tip),
            side(1.0),
            side(-1.0)
        )
        .expect(INFALLIBLE);
    }

    fn draw_state(&mut self, state: &StatePicture, circle: &Circle) {
        let Circle { x, y, radius, .. } = *circle;
        let fill = if state.accepting { ACCEPTING } else { FILL };
        let full = [state.label.as_str(), state.note.as_str()].join(" ");
        let title = escape(full.trim());
        writeln!(self.body, "<g><title>{title}</title>").expect(INFALLIBLE);
        self.draw_ring(x, y, radius, fill);
        if state.accepting {
            self.draw_ring(x, y, radius - RING_GAP, "none");
        }
        self.bounds.include(x, y, 2.0 * radius + 2.0, 2.0 * radius + 2.0);
        match circle.note.is_empty() {
            true => self.text(x, y, STATE_FONT, INK, &circle.name),
            false => {
                self.text(x, y - NAME_OFFSET, STATE_FONT, INK, &circle.name);
                self.text(x, y + NOTE_OFFSET, NOTE_FONT, SOFT, &circle.note);
            }
        }
        self.body.push_str("</g>\n");
    }

    fn draw_ring(&mut self, x: f64, y: f64, radius: f64, fill: &str) {
        writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{fill}\" \
             stroke=\"{INK}\" stroke-width=\"1.5\"/>"
        )
        .expect(INFALLIBLE);
    }

    fn draw_edge_text(&mut self, text: &EdgeText, full: &str) {
        let (wide, high) = (text.width() + 6.0, text.height());
        writeln!(
            self.body,
            "<g><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" \
             height=\"{high:.1}\" rx=\"3\" fill=\"#ffffff\" fill-opacity=\"0.88\"/>",
            escape(full),
            text.x - wide / 2.0,
            text.y - high / 2.0
        )
        .expect(INFALLIBLE);
        let first = text.y - high / 2.0 + EDGE_FONT * LINE_HEIGHT / 2.0;
        for (number, line) in text.lines.iter().enumerate() {
            self.text(
                text.x,
                first + number as f64 * EDGE_FONT * LINE_HEIGHT,
                EDGE_FONT,
                INK,
                line,
            );
        }
        self.body.push_str("</g>\n");
        self.bounds.include(text.x, text.y, wide, high);
    }
}

fn svg_point((x, y): (f64, f64)) -> String {
    format!("{x:.1},{y:.1}")
}

fn direction(from: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1e-9);
    (dx / length, dy / length)
}

/// The end of the line of an arrow, a little before the tip so that the head stays sharp.
fn shortened(tip: (f64, f64), before: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = direction(before, tip);
    (tip.0 - (ARROW_HEAD - 1.0) * dx, tip.1 - (ARROW_HEAD - 1.0) * dy)
}

/// A curve through all points as Bézier pieces, monotone between them (Fritsch and Carlson 1980), so
/// that it stays within the bounds of the points. Layers make x monotone. The slope at both ends is
/// limited, so that arrows meet circles nearly at a right angle.
fn monotone(points: &[(f64, f64)]) -> Vec<[(f64, f64); 3]> {
    let last = points.len() - 1;
    let slopes: Vec<f64> = points.windows(2).map(|p| slope(p[0], p[1])).collect();
    let inner = |i: usize| {
        let (before, after) = (slopes[i - 1], slopes[i]);
        let (h, k) = (points[i].0 - points[i - 1].0, points[i + 1].0 - points[i].0);
        let mean = (before * k + after * h) / (h + k);
        match before * after > 0.0 && mean.is_finite() {
            true => before.signum() * before.abs().min(after.abs()).min(mean.abs() / 2.0) * 2.0,
            false => 0.0,
        }
    };
    let tangent = |i: usize| match i {
        _ if last == 1 => slopes[0],
        0 => slopes[0].clamp(-MAX_SLOPE, MAX_SLOPE),
        i if i == last => slopes[last - 1].clamp(-MAX_SLOPE, MAX_SLOPE),
        i => inner(i),
    };
    let piece = |i: usize| {
        let ((x, y), (u, v)) = (points[i], points[i + 1]);
        let third = (u - x) / 3.0;
        [(x + third, y + third * tangent(i)), (u - third, v - third * tangent(i + 1)), (u, v)]
    };
    (0..last).map(piece).collect()
}

fn slope((x, y): (f64, f64), (u, v): (f64, f64)) -> f64 {
    let run = u - x;
    if run.abs() < 1e-6 { 0.0 } else { (v - y) / run }
}
