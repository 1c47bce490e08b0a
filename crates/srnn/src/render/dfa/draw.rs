//! Writes a layout as SVG.

use std::fmt::Write;

use super::layout::{
    COUNT_HEIGHT, Circle, EDGE_FONT, EdgeCurve, EdgeText, LINE_HEIGHT, LOOP_HEIGHT, NAME_OFFSET,
    NOTE_FONT, NOTE_OFFSET, PictureLayout, RING_GAP, STATE_FONT,
};
use super::mark::class_mark;
use super::{DfaPicture, EdgePicture, PathMark, StatePicture};
use crate::format::grouped;
use crate::render::paint::Paint;
use crate::render::svg::{Anchor, Canvas, INFALLIBLE, escape, width};

/// The steepest slope at the end of a curve.
const MAX_SLOPE: f64 = 0.8;
/// The length of an arrow head.
const ARROW_HEAD: f64 = 9.0;
/// The colour of a path.
const PATH: Paint = Paint::Series(1);

/// How a line is drawn.
#[derive(Clone, Copy)]
struct LineStyle {
    colour: Paint,
    width: f64,
    dashed: bool,
}

const PLAIN: LineStyle = LineStyle { colour: Paint::Soft, width: 1.4, dashed: false };

pub(super) fn draw(picture: &DfaPicture, layout: &PictureLayout) -> String {
    let mut canvas = Canvas::new();
    let rare = picture.rare_edges();
    for ((edge, curve), &rare) in picture.edges.iter().zip(&layout.curves).zip(&rare) {
        canvas.open_edge(picture, edge, rare);
        match edge.from == edge.to {
            true => canvas.draw_loop(curve, &layout.circles[edge.from], line_style(edge)),
            false => canvas.draw_edge(curve, line_style(edge)),
        }
        canvas.body.push_str("</g>\n");
    }
    if let Some((from, to)) = layout.arrow {
        let path = format!("M{} L{}", svg_point(from), svg_point(shortened(to, from)));
        canvas.draw_arrow(&path, from, to, PLAIN);
        canvas.bounds.include(from.0, from.1, 2.0, 2.0);
    }
    for (number, (state, circle)) in picture.states.iter().zip(&layout.circles).enumerate() {
        canvas.draw_state(number, state, circle);
    }
    // Labels come last, so that no line crosses them.
    for ((edge, curve), &rare) in picture.edges.iter().zip(&layout.curves).zip(&rare) {
        canvas.draw_edge_text(&curve.text, edge, rare);
    }
    if !picture.caption.is_empty() {
        let at = (canvas.bounds.left, canvas.bounds.bottom + 18.0);
        canvas.label(at, NOTE_FONT + 1.0, Anchor::Start, &picture.caption);
    }
    canvas.finish(&picture.title, "automaton")
}

fn line_style(edge: &EdgePicture) -> LineStyle {
    match edge.path {
        PathMark::Off => PLAIN,
        PathMark::Taken(_) => LineStyle { colour: PATH, width: 2.8, dashed: false },
        PathMark::Unseen(_) => LineStyle { colour: PATH, width: 2.8, dashed: true },
    }
}

/// The opacity of what belongs to a rare edge.
fn opacity(rare: bool) -> &'static str {
    if rare { " opacity=\"0.4\"" } else { "" }
}

impl Canvas {
    /// Opens the group of an edge. Its title helps to follow the edge in a large picture.
    fn open_edge(&mut self, picture: &DfaPicture, edge: &EdgePicture, rare: bool) {
        let (from, to) = (edge.from, edge.to);
        let [source, target] = [from, to].map(|state| escape(&picture.states[state].label));
        writeln!(
            self.body,
            "<g data-from=\"{from}\" data-to=\"{to}\"{}><title>{source} → {target}: {}</title>",
            opacity(rare),
            escape(&edge.label)
        )
        .expect(INFALLIBLE);
    }

    fn draw_edge(&mut self, curve: &EdgeCurve, style: LineStyle) {
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
        self.draw_arrow(&path, before, tip, style);
    }

    fn draw_loop(&mut self, curve: &EdgeCurve, circle: &Circle, style: LineStyle) {
        let side = curve.side as i8 as f64;
        let (start, end) = (curve.points[0], curve.points[1]);
        let far = circle.y + side * (circle.radius + LOOP_HEIGHT);
        let (left, right) = (start.0 - 13.0, end.0 + 13.0);
        let [a, b] = [(left, far), (right, far)].map(svg_point);
        let (first, last) = (svg_point(start), svg_point(shortened(end, (right, far))));
        self.draw_arrow(&format!("M{first} C{a} {b} {last}"), (right, far), end, style);
        self.bounds.include(circle.x, far - side * LOOP_HEIGHT / 2.0, right - left, LOOP_HEIGHT);
    }

    /// Draws a line, and an arrow head at `tip` in the direction from `before`.
    fn draw_arrow(&mut self, path: &str, before: (f64, f64), tip: (f64, f64), style: LineStyle) {
        let (dx, dy) = direction(before, tip);
        let side = |sign: f64| {
            let (x, y) = (tip.0 - ARROW_HEAD * dx, tip.1 - ARROW_HEAD * dy);
            svg_point((x - sign * dy * ARROW_HEAD * 0.42, y + sign * dx * ARROW_HEAD * 0.42))
        };
        let dashes = if style.dashed { " stroke-dasharray=\"7 4\"" } else { "" };
        writeln!(
            self.body,
            "<path d=\"{path}\" {} stroke-width=\"{}\"{dashes}/>\n<path d=\"M{} L{} L{} Z\" {}/>",
            style.colour.stroke(),
            style.width,
            svg_point(tip),
            side(1.0),
            side(-1.0),
            style.colour.fill()
        )
        .expect(INFALLIBLE);
    }

    fn draw_state(&mut self, number: usize, state: &StatePicture, circle: &Circle) {
        let Circle { x, y, radius, .. } = *circle;
        let fill = match state.class {
            _ if state.accepting => Paint::Accepting,
            Some(class) => Paint::Tint(class),
            None => Paint::State,
        };
        let full = [state.label.as_str(), state.note.as_str()].join(" ");
        let title = escape(full.trim());
        writeln!(self.body, "<g data-state=\"{number}\"><title>{title}</title>").expect(INFALLIBLE);
        let line = if state.on_path { (PATH, 2.8) } else { (Paint::Ink, 1.5) };
        self.draw_ring(circle, radius, &fill.fill_with_stroke(line.0), line.1);
        if state.accepting {
            self.draw_ring(circle, radius - RING_GAP, &line.0.stroke(), 1.5);
        }
        self.bounds.include(x, y, 2.0 * radius + 2.0, 2.0 * radius + 2.0);
        match circle.note.is_empty() {
            true => self.text(x, y, STATE_FONT, Paint::Ink, &circle.name),
            false => {
                self.text(x, y - NAME_OFFSET, STATE_FONT, Paint::Ink, &circle.name);
                self.text(x, y + NOTE_OFFSET, NOTE_FONT, Paint::Soft, &circle.note);
            }
        }
        if let Some(class) = state.class {
            self.body.push_str(&class_mark(class, (x + 0.71 * radius, y - 0.71 * radius)));
        }
        if let Some(count) = state.count {
            let at = (x, y + radius + COUNT_HEIGHT / 2.0 + 2.0);
            self.label(at, NOTE_FONT, Anchor::Middle, &format!("×{}", grouped(count)));
        }
        self.body.push_str("</g>\n");
    }

    fn draw_ring(&mut self, circle: &Circle, radius: f64, colours: &str, width: f64) {
        let Circle { x, y, .. } = circle;
        writeln!(
            self.body,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {colours} \
             stroke-width=\"{width}\"/>"
        )
        .expect(INFALLIBLE);
    }

    fn draw_edge_text(&mut self, text: &EdgeText, edge: &EdgePicture, rare: bool) {
        writeln!(
            self.body,
            "<g data-label=\"{}-{}\"{}><title>{}</title>",
            edge.from,
            edge.to,
            opacity(rare),
            escape(&edge.label)
        )
        .expect(INFALLIBLE);
        let ((symbols, notes), (above, below)) = (text.heights(), text.extent());
        let (first, rest) = text.lines.split_at(text.symbol_lines);
        self.draw_lines((text.x, text.y - above), symbols, (EDGE_FONT, Paint::Ink), first);
        self.draw_lines((text.x, text.y + below - notes), notes, (NOTE_FONT, Paint::Soft), rest);
        self.body.push_str("</g>\n");
    }

    /// Draws lines of text below each other, from `top` on, with the paper behind them.
    fn draw_lines(
        &mut self,
        (x, top): (f64, f64),
        height: f64,
        (size, colour): (f64, Paint),
        lines: &[String],
    ) {
        let widest = lines.iter().map(|line| width(line, size)).fold(0.0, f64::max);
        if lines.is_empty() {
            return;
        }
        let wide = widest + 6.0;
        writeln!(
            self.body,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{height:.1}\" rx=\"3\" \
             {} fill-opacity=\"0.88\"/>",
            x - wide / 2.0,
            Paint::Paper.fill()
        )
        .expect(INFALLIBLE);
        for (number, line) in lines.iter().enumerate() {
            let y = top + (number as f64 + 0.5) * size * LINE_HEIGHT;
            self.text(x, y, size, colour, line);
        }
        self.bounds.include(x, top + height / 2.0, wide, height);
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
