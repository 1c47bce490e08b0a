//! The search for a proof: cover, radii, margins; coarse first, finer where it does not close.

use super::arithmetic::Errors;
use super::close::{Overflow, Unclosed, close};
use super::margin::{Undecided, margins};
use super::network::Network;
use super::outline::{Outline, outline};
use super::set::Ball;
use crate::engine::Arithmetic;
use crate::extract::{ClosedCover, Cover, TransitionSystem, cover};
use crate::model::{Layer, Model, When};
use srnn_automata::{Moore, State, Word};

/// How a proof is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first tolerance of the cover. Default 0.2.
    pub tolerance: f64,
    /// How often it is divided by 4. Default 4.
    pub refinements: usize,
    /// The most steps m that one cell is followed. Default 3.
    pub depth: usize,
    /// The most cells of a cover, and no more than `steps` allows to follow once. Default 1,000.
    pub cells: usize,
    /// The most enclosures of a step in all: what bounds the time. One takes about half a
    /// millisecond with 50 centroids and 100 units. Default 40,000.
    pub steps: usize,
}

impl Default for Search {
    fn default() -> Search {
        Search { tolerance: 0.2, refinements: 4, depth: 3, cells: 1_000, steps: 40_000 }
    }
}

/// A proof: cells that satisfy the conditions of a certificate, and their automaton.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// What it holds for.
    pub arithmetic: Arithmetic,
    /// The tolerance of the cover it came from.
    pub tolerance: f64,
    /// The first is the start.
    pub cells: Vec<ProvedCell>,
    /// The minimal automaton of the cells, over class numbers.
    pub automaton: Moore<u32>,
}

impl Proof {
    /// The smallest margin of a cell, in logits.
    pub fn margin(&self) -> f64 {
        self.cells.iter().map(|cell| cell.margin).fold(f64::INFINITY, f64::min)
    }

    /// The largest m of a cell.
    pub fn depth(&self) -> usize {
        self.cells.iter().map(|cell| cell.depth).max().unwrap_or(1)
    }
}

/// A cell of a proof.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvedCell {
    /// Where it lies.
    pub ball: Ball,
    /// m.
    pub depth: usize,
    /// The class of words that lead here.
    pub decision: u32,
    /// At least the lead of that class, in logits.
    pub margin: f64,
    /// The cell each symbol leads to.
    pub successors: Vec<usize>,
    /// Its state of the minimal automaton.
    pub state: State,
}

/// Why there is no proof: every attempt and where it failed.
#[derive(Clone, Debug, PartialEq)]
pub struct NotProved {
    /// In the order they were made; at least one.
    pub attempts: Vec<Attempt>,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The tolerance of its cover.
    pub tolerance: f64,
    /// m.
    pub depth: usize,
    /// Its cells.
    pub cells: usize,
    /// A shortest word that leads to the cell in question; empty where there is none.
    pub access: Word,
    /// Why it failed.
    pub obstacle: Obstacle,
}

/// What stands in the way of a proof.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// Outside of what a certificate speaks of.
    Outside {
        /// What is.
        what: &'static str,
    },
    /// The cover has more cells than allowed: the network has too many soft states.
    TooManyCells {
        /// The cap.
        cap: usize,
    },
    /// A cell's image outgrows every radius.
    Expands(Overflow),
    /// A cell, or a set on the way, is not decided.
    Undecided(Undecided),
    /// The steps allowed were taken.
    OutOfSteps {
        /// How many they were.
        steps: usize,
    },
}

/// Looks for a proof that the network, computed in `arithmetic`, equals an automaton.
pub fn prove(
    machine: &TransitionSystem,
    arithmetic: Arithmetic,
    search: &Search,
) -> Result<Proof, NotProved> {
    if let Some(what) = outside(machine.model(), arithmetic) {
        let (tolerance, obstacle) = (search.tolerance, Obstacle::Outside { what });
        let attempt = Attempt { tolerance, depth: 1, cells: 0, access: Word::new(), obstacle };
        return Err(NotProved { attempts: vec![attempt] });
    }
    let network = Network::new(machine.model());
    let (mut attempts, mut steps) = (vec![], search.steps);
    let mut tolerance = search.tolerance;
    let cap = search.cells.min(search.steps / machine.alphabet().len().max(1)).max(1);
    for _ in 0..=search.refinements {
        match cover(machine, tolerance, cap) {
            Cover::Open(open) => {
                let obstacle = match cap < search.cells {
                    true => Obstacle::OutOfSteps { steps: search.steps },
                    false => Obstacle::TooManyCells { cap },
                };
                let (cells, access) = (open.cells.len(), Word::new());
                attempts.push(Attempt { tolerance, depth: 1, cells, access, obstacle });
                break; // a finer cover has more
            }
            Cover::Closed(closed) => {
                let trial = Trial { network: &network, closed: &closed, arithmetic, search };
                if let Some(proof) = trial.deepen(&mut attempts, &mut steps) {
                    return Ok(proof);
                }
            }
        }
        let spent = |attempt: &Attempt| matches!(attempt.obstacle, Obstacle::OutOfSteps { .. });
        if attempts.last().is_some_and(spent) {
            break;
        }
        tolerance /= 4.0;
    }
    Err(NotProved { attempts })
}

/// With these limits no sum of the running program overflows, which its error model does not speak
/// of; the checker has the same.
const LARGEST_WEIGHT: f64 = (1 << 20) as f64;
const LARGEST_SIZE: usize = 1 << 13;
const LARGEST_TAU: f64 = (1u64 << 40) as f64;

/// What a certificate does not speak of: labels of every step, weights that the program cannot hold,
/// and numbers so large that rounding is not all that can be lost.
fn outside(model: &Model<f64>, arithmetic: Arithmetic) -> Option<&'static str> {
    let arch = &model.arch;
    let layer_sizes = |layer: &Layer| layer.units.max(layer.centroids.map_or(0, |s| s.k));
    let sizes = [arch.input.width(), arch.input.vocabulary(), arch.classes, arch.layers.len()];
    let mut sizes = arch.layers.iter().map(layer_sizes).chain(sizes);
    let tau = |layer: &Layer| layer.centroids.map_or(1.0, |s| s.tau.get());
    let extreme = |tau: f64| tau > LARGEST_TAU || tau < LARGEST_TAU.recip();
    let rounded = |w: &f64| f64::from(*w as f32) != *w;
    let failures = [
        (arch.readout.when != When::Last, "a class after every step"),
        (sizes.any(|size| size > LARGEST_SIZE), "a size beyond 2^13"),
        (model.params.iter().any(|w| w.abs() > LARGEST_WEIGHT), "a weight beyond 2^20"),
        (arch.layers.iter().map(tau).any(extreme), "a τ outside 2^-40 to 2^40"),
        (
            arithmetic == Arithmetic::F32 && model.params.iter().any(rounded),
            "a weight that is no single-precision number",
        ),
    ];
    failures.into_iter().find_map(|(fails, what)| fails.then_some(what))
}

/// Following several steps is only tried where the steps allowed are enough for this many rounds.
const ROUNDS: usize = 20;

/// One cover, tried with growing m.
struct Trial<'a> {
    network: &'a Network,
    closed: &'a ClosedCover,
    arithmetic: Arithmetic,
    search: &'a Search,
}

impl Trial<'_> {
    fn deepen(&self, attempts: &mut Vec<Attempt>, steps: &mut usize) -> Option<Proof> {
        let errors = Errors::of(self.arithmetic);
        let mut outline = outline(self.network, self.closed, errors);
        let (cells, tolerance) = (outline.centres.len(), self.closed.tolerance);
        for depth in 1..=self.search.depth {
            outline.depths = vec![depth; cells];
            let round: usize = (0..cells).map(|cell| outline.words(cell)).sum();
            if depth > 1 && round > self.search.steps / ROUNDS {
                break; // with many symbols a finer cover is the cheaper way
            }
            let obstacle = match self.attempt(&outline, steps) {
                Ok(proof) => return Some(proof),
                Err(obstacle) => obstacle,
            };
            let expands = matches!(obstacle, Obstacle::Expands(_));
            let access = self.access(&obstacle);
            attempts.push(Attempt { tolerance, depth, cells, access, obstacle });
            if !expands {
                break; // following the images further does not shrink the cells
            }
        }
        None
    }

    /// How the cell that an obstacle names is reached.
    fn access(&self, obstacle: &Obstacle) -> Word {
        let cell = match obstacle {
            Obstacle::Expands(overflow) => overflow.cell,
            Obstacle::Undecided(undecided) => undecided.cell,
            Obstacle::Outside { .. }
            | Obstacle::TooManyCells { .. }
            | Obstacle::OutOfSteps { .. } => return Word::new(),
        };
        let automaton = self.closed.extracted.automaton.to_moore();
        let words = automaton.expect("a closed cover is complete").access_words();
        words[cell].clone().unwrap_or_default()
    }

    fn attempt(&self, outline: &Outline, steps: &mut usize) -> Result<Proof, Obstacle> {
        let errors = Errors::of(self.arithmetic);
        let unclosed = |unclosed| match unclosed {
            Unclosed::Expands(overflow) => Obstacle::Expands(overflow),
            Unclosed::OutOfSteps => Obstacle::OutOfSteps { steps: self.search.steps },
        };
        let balls = close(self.network, outline, errors, steps).map_err(unclosed)?;
        let margins =
            margins(self.network, outline, &balls, errors).map_err(Obstacle::Undecided)?;
        let moore = self.closed.extracted.automaton.to_moore().expect("a closed cover is complete");
        let automaton = moore.minimize();
        let states = images(outline, &automaton);
        let cell = |(i, (ball, margin)): (usize, (Ball, f64))| ProvedCell {
            ball,
            depth: outline.depths[i],
            decision: outline.decisions[i],
            // A checker may round otherwise.
            margin: margin * (1.0 - 1e-6),
            successors: outline.successors[i].clone(),
            state: states[i],
        };
        let cells = balls.into_iter().zip(margins).enumerate().map(cell).collect();
        let (arithmetic, tolerance) = (self.arithmetic, self.closed.tolerance);
        Ok(Proof { arithmetic, tolerance, cells, automaton })
    }
}

/// The state of the minimal automaton that each cell belongs to: every cell of a cover is reached.
fn images(outline: &Outline, automaton: &Moore<u32>) -> Vec<State> {
    let mut states = vec![None; outline.centres.len()];
    let mut open = vec![(0, automaton.start())];
    while let Some((cell, state)) = open.pop() {
        if states[cell].is_none() {
            states[cell] = Some(state);
            let next = outline.successors[cell].iter().zip(automaton.successors(state));
            open.extend(next.map(|(&cell, &state)| (cell, state)));
        }
    }
    states.into_iter().map(|state| state.expect("a cell of a cover is reached")).collect()
}
