//! Positions of states, edges and labels: layers from left to right, loops above or below their states.

use std::collections::VecDeque;

use super::layered::{BoxSize, LayeredEdge, LayeredLayout, layered};
use super::{DfaPicture, EdgePicture, PathMark, StatePicture};
use crate::format::grouped;
use crate::render::svg::{shorten, width};

pub(super) const STATE_FONT: f64 = 15.0;
pub(super) const NOTE_FONT: f64 = 11.0;
pub(super) const EDGE_FONT: f64 = 13.0;
pub(super) const LINE_HEIGHT: f64 = 1.25;
/// The height of a loop above its state.
pub(super) const LOOP_HEIGHT: f64 = 26.0;

/// The distance of the two rings of an accepting state.
pub(super) const RING_GAP: f64 = 4.0;
/// The distance of a name above the centre, if there is a note.
pub(super) const NAME_OFFSET: f64 = NOTE_FONT * 0.6;
/// The distance of a note below the centre.
pub(super) const NOTE_OFFSET: f64 = STATE_FONT * 0.7;

const RADIUS: f64 = 20.0;
const MAX_NAME: usize = 14;
/// The length of the arrow that marks the start.
const ARROW: f64 = 30.0;
/// The space of an edge above and below its middle, between two lines of its label.
const EDGE_ROOM: f64 = 3.0;
/// The height of a count below its state.
pub(super) const COUNT_HEIGHT: f64 = 15.0;

/// A state as drawn.
pub(super) struct Circle {
    pub x: f64,
    pub y: f64,
    pub radius: f64,
    pub name: String,
    pub note: String,
}

/// The label of an edge as drawn: lines around a centre.
pub(super) struct EdgeText {
    pub x: f64,
    pub y: f64,
    pub lines: Vec<String>,
    /// The number of lines with symbols; counts and steps follow in a smaller font.
    pub symbol_lines: usize,
}

/// An edge as drawn: the points of its curve from state to state, or both ends of a loop.
pub(super) struct EdgeCurve {
    pub points: Vec<(f64, f64)>,
    pub text: EdgeText,
    pub side: LoopSide,
}

/// The side of a state on which its loop is drawn. The value is the sign of y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LoopSide {
    Above = -1,
    Below = 1,
}

/// The positions of all elements; curves are in the order of the edges of the picture.
pub(super) struct PictureLayout {
    pub circles: Vec<Circle>,
    pub curves: Vec<EdgeCurve>,
    /// The arrow that marks the start.
    pub arrow: Option<((f64, f64), (f64, f64))>,
}

impl EdgeText {
    fn of(edge: &EdgePicture) -> EdgeText {
        let mut lines = wrap(&edge.label);
        let symbol_lines = lines.len();
        lines.extend(edge.count.map(|count| format!("×{}", grouped(count))));
        match &edge.path {
            PathMark::Off => {}
            PathMark::Taken(steps) => lines.push(steps_text(steps)),
            PathMark::Unseen(steps) => lines.push(format!("{}, not seen", steps_text(steps))),
        }
        EdgeText { x: 0.0, y: 0.0, lines, symbol_lines }
    }

    pub(super) fn width(&self) -> f64 {
        let wide = |(number, line): (usize, &String)| match number < self.symbol_lines {
            true => width(line, EDGE_FONT),
            false => width(line, NOTE_FONT),
        };
        self.lines.iter().enumerate().map(wide).fold(0.0, f64::max)
    }

    /// The heights of the symbols and of the lines below them.
    pub(super) fn heights(&self) -> (f64, f64) {
        let notes = self.lines.len() - self.symbol_lines;
        (self.symbol_lines as f64 * EDGE_FONT * LINE_HEIGHT, notes as f64 * NOTE_FONT * LINE_HEIGHT)
    }

    /// The height above and below the middle. Symbols alone are around the middle; with other lines,
    /// the symbols are above it and the others below, so that an edge runs between them.
    pub(super) fn extent(&self) -> (f64, f64) {
        match self.heights() {
            (symbols, 0.0) => (symbols / 2.0, symbols / 2.0),
            (symbols, notes) => (symbols + EDGE_ROOM, notes + EDGE_ROOM),
        }
    }

    /// The height of a box around the middle.
    fn height(&self) -> f64 {
        let (above, below) = self.extent();
        2.0 * above.max(below)
    }
}

pub(super) fn layout(picture: &DfaPicture) -> PictureLayout {
    let mut circles: Vec<Circle> = picture.states.iter().map(circle).collect();
    let mut curves: Vec<EdgeCurve> = picture
        .edges
        .iter()
        .map(|edge| EdgeCurve {
            points: Vec::new(),
            text: EdgeText::of(edge),
            side: LoopSide::Above,
        })
        .collect();
    let sizes = node_sizes(picture, &circles, &curves);
    let ranks = breadth_first(picture);
    let (edges, found) = place_in_layers(picture, &ranks, &sizes, &curves);
    for (state, circle) in circles.iter_mut().enumerate() {
        (circle.x, circle.y) = found.nodes[ranks[state]];
    }
    for (place, &number) in edges.iter().enumerate() {
        let (edge, curve) = (&picture.edges[number], &mut curves[number]);
        curve.points = found.routes[place].clone();
        if ranks[edge.from] > ranks[edge.to] {
            curve.points.reverse();
        }
        (curve.text.x, curve.text.y) = found.labels[place];
    }
    attach_ends(picture, &circles, &mut curves);
    place_loops(picture, &circles, &mut curves);
    let arrow =
        circles.get(picture.start).map(|c| ((c.x - c.radius - ARROW, c.y), (c.x - c.radius, c.y)));
    PictureLayout { circles, curves, arrow }
}

/// The number of each state in a breadth-first search from the start; unreachable states follow.
fn breadth_first(picture: &DfaPicture) -> Vec<usize> {
    let count = picture.states.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    picture.edges.iter().for_each(|edge| next[edge.from].push(edge.to));
    let mut ranks = vec![None; count];
    let mut count_found = 0;
    for root in [picture.start].into_iter().chain(0..count) {
        let mut queue = VecDeque::from([root]);
        while let Some(state) = queue.pop_front() {
            if ranks[state].is_none() {
                ranks[state] = Some(count_found);
                count_found += 1;
                queue.extend(&next[state]);
            }
        }
    }
    ranks.into_iter().map(|rank| rank.expect("every state is a root")).collect()
}

fn ordered(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

fn circle(state: &StatePicture) -> Circle {
    let (name, note) = (shorten(&state.label, MAX_NAME), shorten(&state.note, MAX_NAME));
    let inner = match note.is_empty() {
        true => width(&name, STATE_FONT) / 2.0,
        // The corners that are farthest from the centre.
        false => {
            let corner = |text: &str, font, off: f64| (width(text, font) / 2.0).hypot(off);
            corner(&name, STATE_FONT, NAME_OFFSET + 0.35 * STATE_FONT).max(corner(
                &note,
                NOTE_FONT,
                NOTE_OFFSET + 0.35 * NOTE_FONT,
            ))
        }
    };
    let ring = if state.accepting { RING_GAP } else { 0.0 };
    let radius = RADIUS.max(inner + 4.0 + ring);
    Circle { x: 0.0, y: 0.0, radius, name, note }
}

/// The size of each state for the layout. A loop counts above and below, so that the circle is in the
/// middle and edges between neighbours are straight; so does a count.
fn node_sizes(picture: &DfaPicture, circles: &[Circle], curves: &[EdgeCurve]) -> Vec<BoxSize> {
    let size = |(state, circle): (&StatePicture, &Circle)| {
        let count = if state.count.is_some() { 2.0 * COUNT_HEIGHT } else { 0.0 };
        BoxSize { width: 2.0 * circle.radius, height: 2.0 * circle.radius + count }
    };
    let mut sizes: Vec<BoxSize> = picture.states.iter().zip(circles).map(size).collect();
    for (edge, curve) in picture.edges.iter().zip(curves) {
        if edge.from == edge.to {
            let size = &mut sizes[edge.from];
            let (above, below) = curve.text.extent();
            size.height += 2.0 * (LOOP_HEIGHT + above + below);
            size.width = size.width.max(curve.text.width());
        }
    }
    sizes
}

/// Lays out edges that point to the state with the higher rank. So there are no cycles, and the start
/// is leftmost. Returns the numbers of the edges that are no loops, in the order of the routes.
fn place_in_layers(
    picture: &DfaPicture,
    ranks: &[usize],
    sizes: &[BoxSize],
    curves: &[EdgeCurve],
) -> (Vec<usize>, LayeredLayout) {
    let mut nodes = sizes.to_vec();
    ranks.iter().zip(sizes).for_each(|(&rank, &size)| nodes[rank] = size);
    let is_loop = |number: &usize| picture.edges[*number].from == picture.edges[*number].to;
    let numbers: Vec<usize> = (0..picture.edges.len()).filter(|number| !is_loop(number)).collect();
    let edge = |&number: &usize| {
        let (edge, text) = (&picture.edges[number], &curves[number].text);
        let (from, to) = ordered(ranks[edge.from], ranks[edge.to]);
        let label = BoxSize { width: text.width() + 10.0, height: text.height() + 4.0 };
        LayeredEdge { from, to, label }
    };
    let edges: Vec<LayeredEdge> = numbers.iter().map(edge).collect();
    (numbers, layered(&nodes, &edges))
}

/// One end of an edge at a circle.
struct EdgeEnd {
    edge: usize,
    leaves: bool,
    /// The angle to the horizontal through the centre.
    angle: f64,
}

/// Attaches the ends of all curves to their circles. An end is on the side of the circle that faces
/// the next layer, so that a steep edge runs between the layers and not across other states. Ends
/// keep a distance, so that two edges do not look like one.
fn attach_ends(picture: &DfaPicture, circles: &[Circle], curves: &mut [EdgeCurve]) {
    let mut sides: Vec<[Vec<EdgeEnd>; 2]> = circles.iter().map(|_| [vec![], vec![]]).collect();
    for (number, (edge, curve)) in picture.edges.iter().zip(curves.iter()).enumerate() {
        let (Some(&first), Some(&last)) = (curve.points.first(), curve.points.last()) else {
            continue;
        };
        for (state, leaves, (x, y)) in [(edge.from, true, first), (edge.to, false, last)] {
            let (dx, dy) = (x - circles[state].x, y - circles[state].y);
            let side = usize::from(dx > 0.0);
            sides[state][side].push(EdgeEnd { edge: number, leaves, angle: dy.atan2(dx.abs()) });
        }
    }
    for (circle, sides) in circles.iter().zip(&mut sides) {
        for (ends, facing) in sides.iter_mut().zip([-1.0, 1.0]) {
            separate_ends(ends);
            for end in ends {
                let (sin, cos) = end.angle.sin_cos();
                let point =
                    (circle.x + facing * circle.radius * cos, circle.y + circle.radius * sin);
                let points = &mut curves[end.edge].points;
                points.insert(if end.leaves { 0 } else { points.len() }, point);
            }
        }
    }
}

/// Limits the angles of ends and separates them, without changing their order.
fn separate_ends(ends: &mut [EdgeEnd]) {
    const MAX_ANGLE: f64 = 0.95;
    const MIN_GAP: f64 = 0.4;
    ends.sort_by(|a, b| a.angle.total_cmp(&b.angle).then(a.leaves.cmp(&b.leaves)));
    let gap = MIN_GAP.min(2.0 * MAX_ANGLE / ends.len().max(2) as f64);
    let count = ends.len();
    let mut lowest = -MAX_ANGLE;
    for (place, end) in ends.iter_mut().enumerate() {
        let highest = MAX_ANGLE - gap * (count - 1 - place) as f64;
        end.angle = end.angle.max(lowest).min(highest);
        lowest = end.angle + gap;
    }
}

/// Puts each loop above its state, or below if other edges leave more space there.
fn place_loops(picture: &DfaPicture, circles: &[Circle], curves: &mut [EdgeCurve]) {
    let mut ends: Vec<Vec<(f64, f64)>> = vec![Vec::new(); circles.len()];
    for (edge, curve) in picture.edges.iter().zip(curves.iter()) {
        if let [_, inner @ .., _] = curve.points.as_slice()
            && let (Some(&second), Some(&before)) = (inner.first(), inner.last())
        {
            ends[edge.from].push(towards(&circles[edge.from], second));
            ends[edge.to].push(towards(&circles[edge.to], before));
        }
    }
    for (edge, curve) in picture.edges.iter().zip(curves) {
        if edge.from == edge.to {
            curve.side = freer_side(&circles[edge.from], &ends[edge.from]);
            place_loop(&circles[edge.from], curve);
        }
    }
}

/// The side that is farther from the ends of all edges.
fn freer_side(circle: &Circle, ends: &[(f64, f64)]) -> LoopSide {
    let distance_from_ends = |side: LoopSide| {
        let distance = |&(x, y): &(f64, f64)| {
            (x - circle.x).hypot(y - circle.y - side as i8 as f64 * circle.radius)
        };
        ends.iter().map(distance).fold(f64::INFINITY, f64::min)
    };
    // Above is the convention: below must be clearly better.
    if distance_from_ends(LoopSide::Below) > distance_from_ends(LoopSide::Above) + 4.0 {
        LoopSide::Below
    } else {
        LoopSide::Above
    }
}

fn place_loop(circle: &Circle, curve: &mut EdgeCurve) {
    const SPREAD: f64 = 0.5;
    let side = curve.side as i8 as f64;
    let (dx, dy) = (circle.radius * f64::sin(SPREAD), circle.radius * f64::cos(SPREAD));
    curve.points = [-dx, dx].map(|dx| (circle.x + dx, circle.y + side * dy)).to_vec();
    // The label is beyond the loop.
    let (above, below) = curve.text.extent();
    let half = if side < 0.0 { below } else { above };
    let middle = circle.radius + LOOP_HEIGHT + half - 4.0;
    (curve.text.x, curve.text.y) = (circle.x, circle.y + side * middle);
}

/// The point of a circle in the direction of another point.
fn towards(circle: &Circle, (x, y): (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (x - circle.x, y - circle.y);
    let distance = dx.hypot(dy).max(1e-9);
    (circle.x + dx / distance * circle.radius, circle.y + dy / distance * circle.radius)
}

/// The steps of a path that take an edge; the first of many.
fn steps_text(steps: &[usize]) -> String {
    const MAX_STEPS: usize = 4;
    let shown: Vec<String> = steps.iter().take(MAX_STEPS).map(usize::to_string).collect();
    match steps.len() {
        1 => format!("step {}", shown[0]),
        count if count > MAX_STEPS => format!("steps {}, …", shown.join(", ")),
        _ => format!("steps {}", shown.join(", ")),
    }
}

/// Breaks a label into lines of about equal width, at most four.
fn wrap(label: &str) -> Vec<String> {
    const MAX_WIDTH: usize = 18;
    const MAX_LINES: usize = 4;
    let mut lines: Vec<String> = vec![String::new()];
    for part in label.split_inclusive(", ") {
        let part = shorten(part, MAX_WIDTH);
        let last = lines.last_mut().expect("there is a line");
        if last.is_empty() || last.chars().count() + part.trim_end().chars().count() <= MAX_WIDTH {
            last.push_str(&part);
        } else {
            lines.push(part);
        }
    }
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines[MAX_LINES - 1] = format!("… {} in all", label.split(", ").count());
    }
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}
