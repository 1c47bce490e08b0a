//! Automata as self-contained SVG pictures.
//!
//! States are in layers from left to right, with the start state leftmost. Symbols with the same
//! source and target share one edge. Colours follow the page: light or dark (`render/paint.rs`).

mod draw;
mod labels;
mod layered;
mod layout;
mod mark;

use labels::symbols_label;
use srnn_automata::{Partial, Symbol};
use std::collections::BTreeMap;

/// An automaton as it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DfaPicture {
    /// The title above the picture; none if empty.
    pub title: String,
    /// The states; edges refer to them by index.
    pub states: Vec<StatePicture>,
    /// The index of the start state.
    pub start: usize,
    /// The edges; those with the same source and target are merged.
    pub edges: Vec<EdgePicture>,
    /// A line below the picture; none if empty.
    pub caption: String,
}

/// A state of a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatePicture {
    /// Its name, inside the circle.
    pub label: String,
    /// A second, smaller line, such as the class; none if empty.
    pub note: String,
    /// Whether it has a double circle.
    pub accepting: bool,
    /// The number of its class, which has a colour and a mark of its own; `None` if states only accept
    /// or not.
    pub class: Option<usize>,
    /// How often sequences are in it; shown below the state.
    pub count: Option<u64>,
    /// Whether a shown path passes it.
    pub on_path: bool,
}

/// An edge of a picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgePicture {
    /// The source.
    pub from: usize,
    /// The target.
    pub to: usize,
    /// Its symbols.
    pub label: String,
    /// How often sequences take it; shown below the symbols. Rare edges are faded.
    pub count: Option<u64>,
    /// What a shown path does with it.
    pub path: PathMark,
}

/// What a shown path does with an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PathMark {
    /// It does not take the edge.
    #[default]
    Off,
    /// It takes the edge at these steps, counted from 1.
    Taken(Vec<usize>),
    /// It takes the edge at these steps; no training sequence takes the transition of one of them.
    Unseen(Vec<usize>),
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
/// The largest number of edges after merging.
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

/// An edge is rare if sequences take it in less than this fraction of the moves from its source.
const RARE: f64 = 0.02;

/// The centres of the states; y points down.
pub(crate) fn positions(picture: &DfaPicture) -> Result<Vec<(f64, f64)>, PictureError> {
    check(picture)?;
    let circles = layout::layout(&merge_edges(picture)).circles;
    Ok(circles.iter().map(|circle| (circle.x, circle.y)).collect())
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
            let label = state.0.to_string();
            StatePicture { label, note, accepting, ..StatePicture::default() }
        });
        let names = automaton.alphabet().names();
        let edges = automaton.states().flat_map(|from| {
            let mut taken: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (symbol, to) in automaton.successors(from).iter().enumerate() {
                to.iter().for_each(|to| taken.entry(to.index()).or_default().push(symbol));
            }
            taken.into_iter().map(move |(to, symbols)| EdgePicture {
                from: from.index(),
                to,
                label: symbols_label(names, &symbols),
                ..EdgePicture::default()
            })
        });
        DfaPicture {
            states: states.collect(),
            start: automaton.start().index(),
            edges: edges.collect(),
            ..DfaPicture::default()
        }
    }

    /// Sets how often sequences are in each state and take each transition `[states][symbols]` of the
    /// automaton that is drawn.
    pub fn set_counts<O>(&mut self, automaton: &Partial<O>, visits: &[u64], taken: &[Vec<u64>]) {
        for (state, &count) in self.states.iter_mut().zip(visits) {
            state.count = Some(count);
        }
        for edge in &mut self.edges {
            edge.count = Some(symbols_between(automaton, edge).map(|s| taken[edge.from][s]).sum());
        }
    }

    /// Marks the path of a word; `unseen` is the place of a token whose transition no training word
    /// takes, counted from 0.
    pub fn mark_path<O>(&mut self, automaton: &Partial<O>, word: &[u32], unseen: Option<usize>) {
        let mut steps: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let mut state = automaton.start();
        let mut not_seen = None;
        self.states[state.index()].on_path = true;
        for (at, &token) in word.iter().enumerate() {
            let Some(to) = automaton.next(state, Symbol(token)) else { break };
            let edge = (state.index(), to.index());
            steps.entry(edge).or_default().push(at + 1);
            not_seen = not_seen.or((unseen == Some(at)).then_some(edge));
            state = to;
            self.states[state.index()].on_path = true;
        }
        for edge in &mut self.edges {
            let ends = (edge.from, edge.to);
            if let Some(taken) = steps.remove(&ends) {
                let is_unseen = not_seen == Some(ends);
                edge.path =
                    if is_unseen { PathMark::Unseen(taken) } else { PathMark::Taken(taken) };
            }
        }
    }

    /// The picture without its sinks, which the caption counts. A sink is a state that does not accept
    /// and that no edge leaves. The start state stays.
    pub fn without_sinks(self) -> DfaPicture {
        let leaves =
            |state: usize| self.edges.iter().any(|edge| edge.from == state && edge.to != state);
        let count = self.states.len();
        let is_sink =
            |state: usize| state != self.start && !self.states[state].accepting && !leaves(state);
        let kept: Vec<usize> = (0..count).filter(|&state| !is_sink(state)).collect();
        let hidden = count - kept.len();
        if hidden == 0 {
            return self;
        }
        let place = |state: usize| kept.binary_search(&state).ok();
        let edges = self.edges.iter().filter_map(|edge| {
            let (from, to) = (place(edge.from)?, place(edge.to)?);
            Some(EdgePicture { from, to, ..edge.clone() })
        });
        let names: Vec<&str> = (0..count)
            .filter(|&state| is_sink(state))
            .map(|state| self.states[state].label.as_str())
            .collect();
        let caption = match names.len() {
            1 => format!("Not shown: sink {}. Symbols without an edge lead to it.", names[0]),
            _ => format!(
                "Not shown: sinks {}. Symbols without an edge lead there.",
                names.join(", ")
            ),
        };
        DfaPicture {
            edges: edges.collect(),
            states: kept.iter().map(|&state| self.states[state].clone()).collect(),
            start: place(self.start).expect("the start stays"),
            caption: [self.caption.as_str(), &caption].join(" ").trim().to_string(),
            title: self.title,
        }
    }

    /// Whether each edge is rare: taken in a small part of the moves from its source.
    fn rare_edges(&self) -> Vec<bool> {
        let mut moves = vec![0; self.states.len()];
        for edge in &self.edges {
            moves[edge.from] += edge.count.unwrap_or(0);
        }
        let is_rare = |edge: &EdgePicture| {
            let off_path = edge.path == PathMark::Off;
            off_path && edge.count.is_some_and(|n| n as f64 <= RARE * moves[edge.from] as f64)
        };
        self.edges.iter().map(is_rare).collect()
    }
}

/// The symbols of an edge.
fn symbols_between<O>(automaton: &Partial<O>, edge: &EdgePicture) -> impl Iterator<Item = usize> {
    let from = srnn_automata::State(edge.from as u32);
    let targets = automaton.successors(from).iter().enumerate();
    let symbols = targets.filter(|(_, to)| to.is_some_and(|to| to.index() == edge.to));
    symbols.map(|(symbol, _)| symbol).collect::<Vec<_>>().into_iter()
}

/// Merges edges with the same source and target, in the order of first appearance. Edges on a path are
/// already merged by their makers: the mark of the first one stays.
fn merge_edges(picture: &DfaPicture) -> DfaPicture {
    let mut indices: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut edges: Vec<EdgePicture> = Vec::new();
    for edge in &picture.edges {
        let index = *indices.entry((edge.from, edge.to)).or_insert(edges.len());
        match edges.get_mut(index) {
            Some(merged) => {
                merged.label.extend([", ", &edge.label]);
                merged.count = merged.count.zip(edge.count).map(|(a, b)| a + b);
            }
            None => edges.push(edge.clone()),
        }
    }
    DfaPicture { edges, ..picture.clone() }
}

fn check(picture: &DfaPicture) -> Result<(), PictureError> {
    let states = picture.states.len();
    if states > MAX_STATES {
        return Err(PictureError::TooLarge { what: "states", found: states, limit: MAX_STATES });
    }
    let referred = picture.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    match referred.chain([picture.start]).find(|&state| state >= states) {
        Some(state) => Err(PictureError::NoSuchState { state, states }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
