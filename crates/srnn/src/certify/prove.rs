//! The search for a proof: cover, radii, margins; coarse first, finer where it does not close.

use super::arithmetic::Arithmetic;
use super::close::{Overflow, close};
use super::margin::{Undecided, margins};
use super::network::Network;
use super::outline::{Outline, outline};
use super::set::Ball;
use crate::extract::{Closed, Cover, Memoryless, cover};
use srnn_automata::{Moore, State};

/// How a proof is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The first tolerance of the cover. Default 0.2.
    pub tolerance: f64,
    /// How often it is divided by 4. Default 4.
    pub refinements: usize,
    /// The most steps m that one cell is followed. Default 3.
    pub depth: usize,
    /// The most enclosures of a step in one attempt's round, cells times words: what bounds the
    /// time. Default 2,000.
    pub steps: usize,
}

impl Default for Search {
    fn default() -> Search {
        Search { tolerance: 0.2, refinements: 4, depth: 3, steps: 2_000 }
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
    /// Why it failed.
    pub obstacle: Obstacle,
}

/// What stands in the way of a proof.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// The cover has more cells than allowed: the network has too many soft states.
    TooManyCells {
        /// The cap.
        cap: usize,
    },
    /// A cell's image outgrows every radius.
    Expands(Overflow),
    /// A cell, or a set on the way, is not decided.
    Undecided(Undecided),
}

/// Looks for a proof that the network, computed in `arithmetic`, equals an automaton.
pub fn prove(
    machine: &Memoryless,
    arithmetic: Arithmetic,
    search: &Search,
) -> Result<Proof, NotProved> {
    let network = Network::new(machine.model());
    let symbols = machine.alphabet().len().max(1);
    let mut attempts = vec![];
    let mut tolerance = search.tolerance;
    for _ in 0..=search.refinements {
        let cap = search.steps / symbols;
        match cover(machine, tolerance, cap.max(1)) {
            Cover::Open(open) => {
                let obstacle = Obstacle::TooManyCells { cap: open.cap };
                attempts.push(Attempt { tolerance, depth: 1, cells: open.cells.len(), obstacle });
                break; // a finer cover has more
            }
            Cover::Closed(closed) => {
                let trial = Trial { network: &network, closed: &closed, arithmetic, search };
                match trial.deepen(&mut attempts) {
                    Some(proof) => return Ok(proof),
                    None => tolerance /= 4.0,
                }
            }
        }
    }
    Err(NotProved { attempts })
}

/// One cover, tried with growing m.
struct Trial<'a> {
    network: &'a Network,
    closed: &'a Closed,
    arithmetic: Arithmetic,
    search: &'a Search,
}

impl Trial<'_> {
    fn deepen(&self, attempts: &mut Vec<Attempt>) -> Option<Proof> {
        let errors = self.arithmetic.errors();
        let mut outline = outline(self.network, self.closed, errors);
        let (cells, symbols) = (outline.centres.len(), outline.successors[0].len());
        for depth in 1..=self.search.depth {
            let words = symbols.checked_pow(depth as u32).and_then(|w| w.checked_mul(cells));
            if depth > 1 && words.is_none_or(|words| words > self.search.steps) {
                break;
            }
            outline.depths = vec![depth; cells];
            let obstacle = match self.attempt(&outline) {
                Ok(proof) => return Some(proof),
                Err(obstacle) => obstacle,
            };
            let undecided = matches!(obstacle, Obstacle::Undecided(_));
            let tolerance = self.closed.tolerance;
            attempts.push(Attempt { tolerance, depth, cells, obstacle });
            if undecided {
                break; // following the images further does not shrink the cells
            }
        }
        None
    }

    fn attempt(&self, outline: &Outline) -> Result<Proof, Obstacle> {
        let errors = self.arithmetic.errors();
        let balls = close(self.network, outline, errors).map_err(Obstacle::Expands)?;
        let margins =
            margins(self.network, outline, &balls, errors).map_err(Obstacle::Undecided)?;
        let moore = self.closed.extracted.automaton.to_moore().expect("a closed cover is complete");
        let automaton = moore.minimize();
        let states = images(outline, &automaton);
        let cells = balls.into_iter().zip(margins).enumerate().map(|(i, (ball, margin))| {
            ProvedCell {
                ball,
                depth: outline.depths[i],
                decision: outline.decisions[i],
                // A checker may round otherwise.
                margin: margin * (1.0 - 1e-6),
                successors: outline.successors[i].clone(),
                state: states[i],
            }
        });
        let (arithmetic, tolerance) = (self.arithmetic, self.closed.tolerance);
        Ok(Proof { arithmetic, tolerance, cells: cells.collect(), automaton })
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
