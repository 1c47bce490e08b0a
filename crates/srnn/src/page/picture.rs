//! The picture of an automaton for a page: the SVG of `render`, with the states and edges marked for
//! the script that steps words.

use crate::extract::json::NamedAutomaton;
use crate::notation::{Notation, WriteOptions, write};
use std::collections::BTreeSet;

/// A picture of more states takes seconds to draw, and is not readable in a page.
pub(super) const MAX_DRAWN_STATES: usize = 80;

/// A larger picture would leave no room for the network.
const MAX_BYTES: usize = 300_000;

/// The picture as an `svg` element; `None` if the automaton is too large.
pub(super) fn svg(automaton: &NamedAutomaton) -> Option<String> {
    if automaton.automaton().state_count() > MAX_DRAWN_STATES {
        return None;
    }
    let drawn = write(automaton, "automaton", Notation::Svg, WriteOptions::default()).ok()?;
    let drawn = inline(&mark(&drawn, automaton).unwrap_or(drawn));
    (drawn.len() <= MAX_BYTES).then_some(drawn)
}

/// An SVG document as an element of a page. It keeps its size on wide screens, and shrinks on narrow
/// ones as long as its texts can be read.
pub(super) fn inline(document: &str) -> String {
    let element = document.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    let width = element.split(" width=\"").nth(1).and_then(|rest| rest.split('"').next());
    let width: f64 = width.and_then(|width| width.parse().ok()).unwrap_or(0.0);
    element.replacen("<svg", &format!("<svg style=\"min-width:{:.0}px\"", 0.6 * width), 1)
}

/// The edges of the picture, in the order in which they are drawn.
pub(super) fn edges(automaton: &NamedAutomaton) -> Vec<(usize, usize)> {
    let partial = automaton.automaton();
    let targets = partial.states().flat_map(|from| {
        let to: BTreeSet<usize> =
            partial.successors(from).iter().flatten().map(|to| to.index()).collect();
        to.into_iter().map(move |to| (from.index(), to))
    });
    targets.collect()
}

/// The picture with `data-state` at every state, `data-from` and `data-to` at every line and arrow head,
/// and `data-label` at every label. `None` if it is marked already, or not drawn as expected.
fn mark(svg: &str, automaton: &NamedAutomaton) -> Option<String> {
    if svg.contains(" data-state=\"") {
        return None;
    }
    let edges = edges(automaton);
    let states = automaton.automaton().state_count();
    let (mut lines, mut heads, mut labels, mut circles) = (0, 0, 0, 0);
    let mut marked = String::with_capacity(svg.len() + 64 * edges.len());
    let all: Vec<&str> = svg.lines().collect();
    for (number, line) in all.iter().enumerate() {
        let next = all.get(number + 1).copied().unwrap_or_default();
        let attributes = if line.starts_with("<path ") && circles == 0 {
            let counted = if line.contains(" stroke=") { &mut lines } else { &mut heads };
            *counted += 1;
            edges.get(*counted - 1).map(edge_attributes)
        } else if line.starts_with("<g>") && line.contains("<rect ") {
            labels += 1;
            edges.get(labels - 1).map(|(from, to)| format!(" data-label=\"{from}-{to}\""))
        } else if line.starts_with("<g>") && next.starts_with("<circle ") {
            circles += 1;
            Some(format!(" data-state=\"{}\"", circles - 1))
        } else {
            None
        };
        match attributes {
            Some(attributes) => {
                let end = line.find(['>', ' ']).unwrap_or(0);
                marked += &format!("{}{attributes}{}\n", &line[..end], &line[end..]);
            }
            None => marked += &format!("{line}\n"),
        }
    }
    // The arrow at the start state comes after the edges.
    let expected = (edges.len() + 1, edges.len() + 1, edges.len(), states);
    ((lines, heads, labels, circles) == expected).then_some(marked)
}

fn edge_attributes(&(from, to): &(usize, usize)) -> String {
    format!(" data-from=\"{from}\" data-to=\"{to}\"")
}
