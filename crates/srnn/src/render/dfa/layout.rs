//! Where everything stands: layers by dagre, loops above their states.

use std::collections::VecDeque;

use dagre::graph::{Graph, GraphOptions};
use dagre::layout::types::LabelPos;
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, RankDir};

use super::{DfaPicture, StatePicture};
use crate::render::svg::{shorten, width};

pub(super) const STATE_FONT: f64 = 15.0;
pub(super) const NOTE_FONT: f64 = 11.0;
pub(super) const EDGE_FONT: f64 = 13.0;
pub(super) const LINE: f64 = 1.25;
/// How far a loop rises above its state.
pub(super) const LOOP: f64 = 26.0;

/// Between the two rings of an accepting state.
pub(super) const RING: f64 = 4.0;
/// How far above the centre a name stands that has a note below.
pub(super) const NAME_RISE: f64 = NOTE_FONT * 0.6;
/// How far below the centre the note stands.
pub(super) const NOTE_FALL: f64 = STATE_FONT * 0.7;

const RADIUS: f64 = 20.0;
const LONGEST_NAME: usize = 14;
/// Length of the arrow that marks the start.
const ARROW: f64 = 30.0;

/// A state as drawn.
pub(super) struct Circle {
    pub x: f64,
    pub y: f64,
    pub radius: f64,
    pub name: String,
    pub note: String,
}

/// A label as drawn: lines around a centre.
pub(super) struct Tag {
    pub x: f64,
    pub y: f64,
    pub lines: Vec<String>,
}

/// An edge as drawn: the points its curve passes from state to state, or both ends of a loop.
pub(super) struct Curve {
    pub points: Vec<(f64, f64)>,
    pub tag: Tag,
    pub side: Side,
}

/// Where a loop stands. The value is the direction in which y grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    Above = -1,
    Below = 1,
}

/// Everything in its place; curves stand in the order of the picture's edges.
pub(super) struct Layout {
    pub circles: Vec<Circle>,
    pub curves: Vec<Curve>,
    /// The arrow that marks the start.
    pub arrow: Option<((f64, f64), (f64, f64))>,
}

impl Tag {
    fn of(label: &str) -> Tag {
        Tag { x: 0.0, y: 0.0, lines: wrap(label) }
    }

    pub(super) fn width(&self) -> f64 {
        self.lines.iter().map(|line| width(line, EDGE_FONT)).fold(0.0, f64::max)
    }

    pub(super) fn height(&self) -> f64 {
        self.lines.len() as f64 * EDGE_FONT * LINE
    }
}

pub(super) fn layout(picture: &DfaPicture) -> Layout {
    let mut circles: Vec<Circle> = picture.states.iter().map(circle).collect();
    let mut curves: Vec<Curve> = picture
        .edges
        .iter()
        .map(|(_, _, label)| Curve { points: Vec::new(), tag: Tag::of(label), side: Side::Above })
        .collect();
    let boxes = boxes(picture, &circles, &curves);
    let ranks = breadth_first(picture);
    let graph = place(picture, &ranks, &boxes, &curves);
    for (state, circle) in circles.iter_mut().enumerate() {
        let node = graph.node(&id(ranks[state])).expect("every state was placed");
        (circle.x, circle.y) = (node.x.unwrap_or_default(), node.y.unwrap_or_default());
    }
    for (number, (&(from, to, _), curve)) in picture.edges.iter().zip(&mut curves).enumerate() {
        let (low, high) = ordered(ranks[from], ranks[to]);
        if let Some(edge) = graph.edge(&id(low), &id(high), Some(&id(number))) {
            fit(edge, ranks[from] > ranks[to], curve);
        }
    }
    tie(picture, &circles, &mut curves);
    fit_loops(picture, &circles, &mut curves);
    let arrow =
        circles.get(picture.start).map(|c| ((c.x - c.radius - ARROW, c.y), (c.x - c.radius, c.y)));
    Layout { circles, curves, arrow }
}

/// The number of every state in a breadth-first search from the start; states that it does not reach
/// follow.
fn breadth_first(picture: &DfaPicture) -> Vec<usize> {
    let count = picture.states.len();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    picture.edges.iter().for_each(|&(from, to, _)| next[from].push(to));
    let mut ranks = vec![None; count];
    let mut met = 0;
    for root in [picture.start].into_iter().chain(0..count) {
        let mut queue = VecDeque::from([root]);
        while let Some(state) = queue.pop_front() {
            if ranks[state].is_none() {
                ranks[state] = Some(met);
                met += 1;
                queue.extend(&next[state]);
            }
        }
    }
    ranks.into_iter().map(|rank| rank.expect("every state was a root")).collect()
}

/// Names that sort as their numbers do, because the layout goes through them by name.
fn id(number: usize) -> String {
    format!("{number:06}")
}

fn ordered(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

fn circle(state: &StatePicture) -> Circle {
    let (name, note) = (shorten(&state.label, LONGEST_NAME), shorten(&state.note, LONGEST_NAME));
    let inner = match note.is_empty() {
        true => width(&name, STATE_FONT) / 2.0,
        // The corners farthest from the centre: both lines stand away from the middle.
        false => {
            let corner = |text: &str, font, off: f64| (width(text, font) / 2.0).hypot(off);
            corner(&name, STATE_FONT, NAME_RISE + 0.35 * STATE_FONT).max(corner(
                &note,
                NOTE_FONT,
                NOTE_FALL + 0.35 * NOTE_FONT,
            ))
        }
    };
    let ring = if state.accepting { RING } else { 0.0 };
    let radius = RADIUS.max(inner + 4.0 + ring);
    Circle { x: 0.0, y: 0.0, radius, name, note }
}

/// The space a state needs. A loop takes as much above as below, so that the circle stands in the
/// middle and edges between neighbours are straight.
struct Area {
    width: f64,
    height: f64,
}

fn boxes(picture: &DfaPicture, circles: &[Circle], curves: &[Curve]) -> Vec<Area> {
    let space = |c: &Circle| Area { width: 2.0 * c.radius, height: 2.0 * c.radius };
    let mut areas: Vec<Area> = circles.iter().map(space).collect();
    for ((from, to, _), curve) in picture.edges.iter().zip(curves) {
        if from == to {
            let area = &mut areas[*from];
            area.height += 2.0 * (LOOP + curve.tag.height());
            area.width = area.width.max(curve.tag.width());
        }
    }
    areas
}

/// Runs the layout on edges turned towards the later state, so that it has no cycle left to break and
/// the start is leftmost.
fn place(
    picture: &DfaPicture,
    ranks: &[usize],
    boxes: &[Area],
    curves: &[Curve],
) -> Graph<NodeLabel, EdgeLabel> {
    // A multigraph, because an edge turned around may run beside another one.
    let options = GraphOptions { directed: true, multigraph: true, compound: false };
    let mut graph = Graph::with_options(options);
    for (&rank, area) in ranks.iter().zip(boxes) {
        let (width, height) = (area.width, area.height);
        graph.set_node(id(rank), Some(NodeLabel { width, height, ..NodeLabel::default() }));
    }
    for (number, ((from, to, _), curve)) in picture.edges.iter().zip(curves).enumerate() {
        if from == to {
            continue;
        }
        let label = EdgeLabel {
            width: curve.tag.width() + 10.0,
            height: curve.tag.height() + 4.0,
            labelpos: LabelPos::Center,
            ..EdgeLabel::default()
        };
        let (low, high) = ordered(ranks[*from], ranks[*to]);
        graph.set_edge(id(low), id(high), Some(label), Some(&id(number)));
    }
    let options = LayoutOptions {
        rankdir: RankDir::LR,
        nodesep: 28.0,
        edgesep: 18.0,
        ranksep: 44.0,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut graph, Some(options));
    graph
}

/// The inner points of a placed edge, from its own start to its own end, and its label.
fn fit(edge: &EdgeLabel, turned: bool, curve: &mut Curve) {
    if let [_, inner @ .., _] = edge.points.as_slice() {
        curve.points = inner.iter().map(|p| (p.x, p.y)).collect();
    }
    if turned {
        curve.points.reverse();
    }
    (curve.tag.x, curve.tag.y) = (edge.x.unwrap_or_default(), edge.y.unwrap_or_default());
}

/// One end of an edge at a circle.
struct End {
    edge: usize,
    leaves: bool,
    /// Upwards or downwards from the horizontal through the centre.
    angle: f64,
}

/// Ties the ends of all curves to their circles. Ends meet a circle on the side that faces the next
/// layer, so that a steep edge climbs between the layers and not across the states above or below, and
/// they keep apart, so that two edges do not look like one with two heads.
fn tie(picture: &DfaPicture, circles: &[Circle], curves: &mut [Curve]) {
    let mut sides: Vec<[Vec<End>; 2]> = circles.iter().map(|_| [vec![], vec![]]).collect();
    for (edge, (&(from, to, _), curve)) in picture.edges.iter().zip(curves.iter()).enumerate() {
        let (Some(&first), Some(&last)) = (curve.points.first(), curve.points.last()) else {
            continue;
        };
        for (state, leaves, (x, y)) in [(from, true, first), (to, false, last)] {
            let (dx, dy) = (x - circles[state].x, y - circles[state].y);
            let side = usize::from(dx > 0.0);
            sides[state][side].push(End { edge, leaves, angle: dy.atan2(dx.abs()) });
        }
    }
    for (circle, sides) in circles.iter().zip(&mut sides) {
        for (ends, facing) in sides.iter_mut().zip([-1.0, 1.0]) {
            spread(ends);
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

/// Keeps ends in their order, within the steepest angle, and apart.
fn spread(ends: &mut [End]) {
    const STEEPEST: f64 = 0.95;
    const APART: f64 = 0.4;
    ends.sort_by(|a, b| a.angle.total_cmp(&b.angle).then(a.leaves.cmp(&b.leaves)));
    let gap = APART.min(2.0 * STEEPEST / ends.len().max(2) as f64);
    let count = ends.len();
    let mut lowest = -STEEPEST;
    for (place, end) in ends.iter_mut().enumerate() {
        let highest = STEEPEST - gap * (count - 1 - place) as f64;
        end.angle = end.angle.max(lowest).min(highest);
        lowest = end.angle + gap;
    }
}

/// Puts every loop above its state, or below where other edges leave more room.
fn fit_loops(picture: &DfaPicture, circles: &[Circle], curves: &mut [Curve]) {
    let mut ends: Vec<Vec<(f64, f64)>> = vec![Vec::new(); circles.len()];
    for (&(from, to, _), curve) in picture.edges.iter().zip(curves.iter()) {
        if let [_, inner @ .., _] = curve.points.as_slice()
            && let (Some(&second), Some(&before)) = (inner.first(), inner.last())
        {
            ends[from].push(towards(&circles[from], second));
            ends[to].push(towards(&circles[to], before));
        }
    }
    for (&(from, to, _), curve) in picture.edges.iter().zip(curves) {
        if from == to {
            curve.side = roomier(&circles[from], &ends[from]);
            fit_loop(&circles[from], curve);
        }
    }
}

/// The side that is farther from where every edge heads.
fn roomier(circle: &Circle, ends: &[(f64, f64)]) -> Side {
    let room = |side: Side| {
        let distance = |&(x, y): &(f64, f64)| {
            (x - circle.x).hypot(y - circle.y - side as i8 as f64 * circle.radius)
        };
        ends.iter().map(distance).fold(f64::INFINITY, f64::min)
    };
    // Above is what people expect: below must be clearly better.
    if room(Side::Below) > room(Side::Above) + 4.0 { Side::Below } else { Side::Above }
}

fn fit_loop(circle: &Circle, curve: &mut Curve) {
    const SPREAD: f64 = 0.5;
    let side = curve.side as i8 as f64;
    let (dx, dy) = (circle.radius * f64::sin(SPREAD), circle.radius * f64::cos(SPREAD));
    curve.points = [-dx, dx].map(|dx| (circle.x + dx, circle.y + side * dy)).to_vec();
    let middle = circle.radius + LOOP + curve.tag.height() / 2.0 - 4.0;
    (curve.tag.x, curve.tag.y) = (circle.x, circle.y + side * middle);
}

/// The point of a circle in the direction of another point.
fn towards(circle: &Circle, (x, y): (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (x - circle.x, y - circle.y);
    let distance = dx.hypot(dy).max(1e-9);
    (circle.x + dx / distance * circle.radius, circle.y + dy / distance * circle.radius)
}

/// Lines of about equal width; what would make more than four is left out.
fn wrap(label: &str) -> Vec<String> {
    const WIDEST: usize = 18;
    const MOST_LINES: usize = 4;
    let mut lines: Vec<String> = vec![String::new()];
    for part in label.split_inclusive(", ") {
        let part = shorten(part, WIDEST);
        let last = lines.last_mut().expect("there is a line");
        if last.is_empty() || last.chars().count() + part.trim_end().chars().count() <= WIDEST {
            last.push_str(&part);
        } else {
            lines.push(part);
        }
    }
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES);
        lines[MOST_LINES - 1] = format!("… {} in all", label.split(", ").count());
    }
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}
