//! An automaton as a self-contained SVG picture.
//!
//! Time runs from left to right: states stand in layers, the start leftmost. Symbols that lead the
//! same way share one edge. The picture has a white backing, so that it reads on any page.

mod draw;
mod layout;

use std::collections::BTreeMap;
use std::fmt::Display;

use srnn_automata::{Dfa, Moore};

/// What a picture shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DfaPicture {
    /// A line above the picture; none where it is empty.
    pub title: String,
    /// The states; edges name them by place.
    pub states: Vec<StatePicture>,
    /// The start's place among the states.
    pub start: usize,
    /// `(from, to, label)`; labels of edges between the same states are joined.
    pub edges: Vec<(usize, usize, String)>,
}

/// A state of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePicture {
    /// Its name, within the circle.
    pub label: String,
    /// A second, smaller line, such as the class; none where it is empty.
    pub note: String,
    /// Whether it has a double circle.
    pub accepting: bool,
}

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPicture {
    /// Nobody could read it.
    #[error(
        "a picture of {found} {what} could not be read (limit {limit}); \
         write the automaton as DOT or as a table instead"
    )]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are drawn at most.
        limit: usize,
    },
    /// An edge or the start names a state that is not there.
    #[error("state {state} is named, but the picture has {states} states")]
    NoSuchState {
        /// The place named.
        state: usize,
        /// How many states there are.
        states: usize,
    },
}

/// More states than this are refused.
pub const MOST_STATES: usize = 200;
/// More pairs of joined states than this are refused: the layout would take more than seconds.
pub const MOST_EDGES: usize = 1000;

/// Draws a picture as SVG.
pub fn svg(picture: &DfaPicture) -> Result<String, NoPicture> {
    check(picture)?;
    let picture = joined(picture);
    if picture.edges.len() > MOST_EDGES {
        let found = picture.edges.len();
        return Err(NoPicture::TooLarge { what: "edges", found, limit: MOST_EDGES });
    }
    Ok(draw::draw(&picture, &layout::layout(&picture)))
}

impl DfaPicture {
    /// A picture of an automaton whose outputs are shown below the states' numbers.
    pub fn of_moore<O: Display>(moore: &Moore<O>) -> DfaPicture {
        picture(moore, |output| (output.to_string(), false))
    }
}

impl From<&Dfa> for DfaPicture {
    fn from(dfa: &Dfa) -> DfaPicture {
        picture(dfa, |&accepting| (String::new(), accepting))
    }
}

fn picture<O>(moore: &Moore<O>, show: impl Fn(&O) -> (String, bool)) -> DfaPicture {
    let states = moore.states().map(|state| {
        let (note, accepting) = show(moore.output(state));
        StatePicture { label: state.0.to_string(), note, accepting }
    });
    let edges = moore.states().flat_map(|from| {
        let mut named: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (to, name) in moore.successors(from).iter().zip(moore.alphabet().names()) {
            named.entry(to.index()).or_default().push(name);
        }
        named.into_iter().map(move |(to, names)| (from.index(), to, list(&names)))
    });
    DfaPicture {
        title: String::new(),
        states: states.collect(),
        start: moore.start().index(),
        edges: edges.collect(),
    }
}

/// Names with commas between them; four and more characters in a row become `a–f`.
fn list(names: &[&str]) -> String {
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

/// One edge for all that join the same states, in the order in which they first appear.
fn joined(picture: &DfaPicture) -> DfaPicture {
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut edges: Vec<(usize, usize, String)> = Vec::new();
    for (from, to, label) in &picture.edges {
        let place = *places.entry((*from, *to)).or_insert(edges.len());
        match edges.get_mut(place) {
            Some((_, _, joined)) => joined.extend([", ", label]),
            None => edges.push((*from, *to, label.clone())),
        }
    }
    DfaPicture { edges, ..picture.clone() }
}

fn check(picture: &DfaPicture) -> Result<(), NoPicture> {
    let states = picture.states.len();
    if states > MOST_STATES {
        return Err(NoPicture::TooLarge { what: "states", found: states, limit: MOST_STATES });
    }
    let named = picture.edges.iter().flat_map(|&(from, to, _)| [from, to]);
    match named.chain([picture.start]).find(|&state| state >= states) {
        Some(state) => Err(NoPicture::NoSuchState { state, states }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
