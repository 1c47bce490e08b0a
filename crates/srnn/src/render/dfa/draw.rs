//! The layout as SVG text.

use std::fmt::Write;

use super::layout::{
    Circle, Curve, EDGE_FONT, LINE, LOOP, Layout, NAME_RISE, NOTE_FALL, NOTE_FONT, RING,
    STATE_FONT, Tag,
};
use super::{DfaPicture, StatePicture};
use crate::render::svg::{Canvas, INK, SOFT, WRITES, escape};

const FILL: &str = "#f5f7fa";
const ACCEPTING: &str = "#e3f2e8";
/// The steepest slope at the end of a curve.
const FLAT: f64 = 0.8;
/// Length of an arrow head.
const HEAD: f64 = 9.0;

pub(super) fn draw(picture: &DfaPicture, layout: &Layout) -> String {
    let mut canvas = Canvas::new();
    for (edge, curve) in picture.edges.iter().zip(&layout.curves) {
        match edge.0 == edge.1 {
            true => canvas.draw_loop(curve, &layout.circles[edge.0]),
            false => canvas.curve(curve),
        }
    }
    if let Some((from, to)) = layout.arrow {
        canvas.arrow(&format!("M{} L{}", point(from), point(shortened(to, from))), from, to);
        canvas.bounds.include(from.0, from.1, 2.0, 2.0);
    }
    for (state, circle) in picture.states.iter().zip(&layout.circles) {
        canvas.state(state, circle);
    }
    // Labels last: no line crosses them.
    for (edge, curve) in picture.edges.iter().zip(&layout.curves) {
        canvas.tag(&curve.tag, &edge.2);
    }
    canvas.finish(&picture.title, "automaton")
}

impl Canvas {
    fn curve(&mut self, curve: &Curve) {
        for &(x, y) in &curve.points {
            self.bounds.include(x, y, 2.0, 2.0);
        }
        let mut pieces = monotone(&curve.points);
        let last = pieces.last_mut().expect("a curve has two ends");
        let (before, tip) = (last[1], last[2]);
        let (dx, dy) = direction(before, tip);
        for (x, y) in &mut last[1..] {
            (*x, *y) = (*x - HEAD * dx, *y - HEAD * dy);
        }
        let mut path = format!("M{}", point(curve.points[0]));
        for [a, b, c] in pieces {
            write!(path, " C{} {} {}", point(a), point(b), point(c)).expect(WRITES);
        }
        self.arrow(&path, before, tip);
    }

    fn draw_loop(&mut self, curve: &Curve, circle: &Circle) {
        let side = curve.side as i8 as f64;
        let (start, end) = (curve.points[0], curve.points[1]);
        let far = circle.y + side * (circle.radius + LOOP);
        let (left, right) = (start.0 - 13.0, end.0 + 13.0);
        let [a, b] = [(left, far), (right, far)].map(point);
        let (first, last) = (point(start), point(shortened(end, (right, far))));
        self.arrow(&format!("M{first} C{a} {b} {last}"), (right, far), end);
        self.bounds.include(circle.x, far - side * LOOP / 2.0, right - left, LOOP);
    }

    /// A line, and a head at `tip` that comes from the direction of `before`.
    fn arrow(&mut self, path: &str, before: (f64, f64), tip: (f64, f64)) {
        let (dx, dy) = direction(before, tip);
        let side = |sign: f64| {
            let (x, y) = (tip.0 - HEAD * dx, tip.1 - HEAD * dy);
            point((x - sign * dy * HEAD * 0.42, y + sign * dx * HEAD * 0.42))
        };
        writeln!(
            self.body,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{SOFT}\" stroke-width=\"1.4\"/>\n\
             <path d=\"M{} L{} L{} Z\" fill=\"{SOFT}\"/>",
            point(tip),
            side(1.0),
            side(-1.0)
        )
        .expect(WRITES);
    }

    fn state(&mut self, state: &StatePicture, circle: &Circle) {
        let Circle { x, y, radius, .. } = *circle;
        let fill = if state.accepting { ACCEPTING } else { FILL };
        let full = [state.label.as_str(), state.note.as_str()].join(" ");
        let title = escape(full.trim());
        writeln!(self.body, "<g><title>{title}</title>").expect(WRITES);
        self.ring(x, y, radius, fill);
        if state.accepting {
            self.ring(x, y, radius - RING, "none");
        }
        self.bounds.include(x, y, 2.0 * radius + 2.0, 2.0 * radius + 2.0);
        match circle.note.is_empty() {
            true => self.text(x, y, STATE_FONT, INK, &circle.name),
            false => {
                self.text(x, y - NAME_RISE, STATE_FONT, INK, &circle.name);
                self.text(x, y + NOTE_FALL, NOTE_FONT, SOFT, &circle.note);
            }
        }
        self.body.push_str("</g>\n");
    }

    fn ring(&mut self, x: f64, y: f64, radius: f64, fill: &str) {
        writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{fill}\" \
             stroke=\"{INK}\" stroke-width=\"1.5\"/>"
        )
        .expect(WRITES);
    }

    fn tag(&mut self, tag: &Tag, full: &str) {
        let (wide, high) = (tag.width() + 6.0, tag.height());
        writeln!(
            self.body,
            "<g><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" \
             height=\"{high:.1}\" rx=\"3\" fill=\"#ffffff\" fill-opacity=\"0.88\"/>",
            escape(full),
            tag.x - wide / 2.0,
            tag.y - high / 2.0
        )
        .expect(WRITES);
        let first = tag.y - high / 2.0 + EDGE_FONT * LINE / 2.0;
        for (number, line) in tag.lines.iter().enumerate() {
            self.text(tag.x, first + number as f64 * EDGE_FONT * LINE, EDGE_FONT, INK, line);
        }
        self.body.push_str("</g>\n");
        self.bounds.include(tag.x, tag.y, wide, high);
    }
}

fn point((x, y): (f64, f64)) -> String {
    format!("{x:.1},{y:.1}")
}

fn direction(from: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1e-9);
    (dx / length, dy / length)
}

/// A line's end, drawn back from the tip so that it does not blunt the head.
fn shortened(tip: (f64, f64), before: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = direction(before, tip);
    (tip.0 - (HEAD - 1.0) * dx, tip.1 - (HEAD - 1.0) * dy)
}

/// A curve through all points as Bézier pieces, monotone between them (Fritsch and Carlson 1980): it
/// neither overshoots nor leaves the points' bounds. Layers make x monotone. Both ends are rather flat,
/// so that arrows meet circles head on.
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
        0 => slopes[0].clamp(-FLAT, FLAT),
        i if i == last => slopes[last - 1].clamp(-FLAT, FLAT),
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
