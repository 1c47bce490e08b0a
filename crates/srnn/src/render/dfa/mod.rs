//! Automata as self-contained SVG pictures.
//!
//! States are in layers from left to right, with the start state leftmost. Symbols with the same
//! source and target share one edge. The background is white, so that the picture suits any page.

mod draw;
mod layout;

use std::collections::BTreeMap;

use srnn_automata::Partial;

/// An automaton as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DfaPicture {
    /// The title above the picture; none if empty.
    pub title: String,
    /// The states; edges refer to them by index.
    pub states: Vec<StatePicture>,
    /// The index of the start state.
    pub start: usize,
    /// `(from, to, label)`; edges with the same source and target are merged.
    pub edges: Vec<(usize, usize, String)>,
}

/// A state of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePicture {
    /// Its name, inside the circle.
    pub label: String,
    /// A second, smaller line, such as the class; none if empty.
    pub note: String,
    /// Whether it has a double circle.
    pub accepting: bool,
}

/// Why an automaton cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// It is too large to read.
    #[error(
        "a picture of {found} {what} is too large to read (limit {limit}); \
         write the automaton as DOT or as a table instead"
    )]
    TooLarge {
        /// `states` or `edges`.
        what: &'static str,
        /// Their number.
        found: usize,
        /// The largest number that is drawn.
        limit: usize,
    },
    /// An edge or the start refers to a state that does not exist.
    #[error("the picture refers to state {state}, but has {states} states")]
    NoSuchState {
        /// The index.
        state: usize,
        /// The number of states.
        states: usize,
    },
}

/// The largest number of states.
pub(crate) const MAX_STATES: usize = 200;
/// The largest number of edges after merging. PERF: the layout of more would take more than seconds.
pub(crate) const MAX_EDGES: usize = 1000;

/// Draws a picture as SVG.
pub fn svg(picture: &DfaPicture) -> Result<String, PictureError> {
    check(picture)?;
    let picture = merge_edges(picture);
    if picture.edges.len() > MAX_EDGES {
        let found = picture.edges.len();
        return Err(PictureError::TooLarge { what: "edges", found, limit: MAX_EDGES });
    }
    Ok(draw::draw(&picture, &layout::layout(&picture)))
}

impl DfaPicture {
    /// A picture of an automaton without a title. `caption` gives the note of a state, and whether it
    /// accepts. Unknown transitions are not drawn.
    pub(crate) fn of_automaton<O>(
        automaton: &Partial<O>,
        caption: impl Fn(&O) -> (String, bool),
    ) -> DfaPicture {
        let states = automaton.states().map(|state| {
            let (note, accepting) = caption(automaton.output(state));
            StatePicture { label: state.0.to_string(), note, accepting }
        });
        let edges = automaton.states().flat_map(|from| {
            let mut named: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
            for (to, name) in automaton.successors(from).iter().zip(automaton.alphabet().names()) {
                to.iter().for_each(|to| named.entry(to.index()).or_default().push(name));
            }
            named.into_iter().map(move |(to, names)| (from.index(), to, join_names(&names)))
        });
        DfaPicture {
            title: String::new(),
            states: states.collect(),
            start: automaton.start().index(),
            edges: edges.collect(),
        }
    }
}

/// Names separated by commas; four or more consecutive characters become `a–f`.
fn join_names(names: &[&str]) -> String {
    let mut parts = Vec::new();
    let mut rest = names;
    while let [first, ..] = rest {
        let run = 1 + rest.windows(2).take_while(|pair| follows(pair[0], pair[1])).count();
        let taken = if run >= 4 { run } else { 1 };
        parts.push(match taken {
            1 => first.to_string(),
            run => format!("{first}–{}", rest[run - 1]),
        });
        rest = &rest[taken..];
    }
    parts.join(", ")
}

fn follows(left: &str, right: &str) -> bool {
    let code = |name: &str| {
        let mut chars = name.chars();
        chars.next().filter(|_| chars.next().is_none()).map(u32::from)
    };
    matches!((code(left), code(right)), (Some(a), Some(b)) if a + 1 == b)
}

/// Merges edges with the same source and target, in the order of first appearance.
fn merge_edges(picture: &DfaPicture) -> DfaPicture {
    let mut indices: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut edges: Vec<(usize, usize, String)> = Vec::new();
    for (from, to, label) in &picture.edges {
        let index = *indices.entry((*from, *to)).or_insert(edges.len());
        match edges.get_mut(index) {
            Some((_, _, merged)) => merged.extend([", ", label]),
            None => edges.push((*from, *to, label.clone())),
        }
    }
    DfaPicture { edges, ..picture.clone() }
}

fn check(picture: &DfaPicture) -> Result<(), PictureError> {
    let states = picture.states.len();
    if states > MAX_STATES {
        return Err(PictureError::TooLarge { what: "states", found: states, limit: MAX_STATES });
    }
    let referred = picture.edges.iter().flat_map(|&(from, to, _)| [from, to]);
    match referred.chain([picture.start]).find(|&state| state >= states) {
        Some(state) => Err(PictureError::NoSuchState { state, states }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
