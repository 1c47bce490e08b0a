//! The search for a proof: cover, radii, margins. It starts with a coarse cover and refines it.

use super::cell_graph::{CellGraph, cell_graph};
use super::error_model::ErrorModel;
use super::margin::{Undecided, margins};
use super::midpoints::Midpoints;
use super::network::EnclosedNetwork;
use super::radii::{ClosureFailure, ImageOutsideCell, find_radii};
use super::zonotope::StateBox;
use crate::engine::Arithmetic;
use crate::extract::{ClosedCover, Cover, TransitionSystem, cover};
use crate::model::{Layer, Model, When};
use srnn_automata::{Moore, State, Word};

/// Limits of the search for a proof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProofSearch {
    /// Tolerance of the first cover. Default 0.2.
    pub tolerance: f64,
    /// How often the tolerance may be divided by 4. Default 4.
    pub refinements: usize,
    /// Largest depth m of a cell. Default 3.
    pub depth: usize,
    /// Largest number of cells of a cover. `steps` divided by the number of symbols limits it, too.
    /// Default 1,000.
    pub cells: usize,
    /// Largest number of enclosures of a step, which bounds the time of the search. One takes about
    /// half a millisecond with 50 centroids and 100 units. Default 40,000.
    pub steps: usize,
    /// Added to every radius, because the enclosures of the checker differ from those of the search:
    /// by up to 5.8e-13 on random networks. Default 1e-11.
    pub slack: f64,
}

impl Default for ProofSearch {
    fn default() -> ProofSearch {
        ProofSearch {
            tolerance: 0.2,
            refinements: 4,
            depth: 3,
            cells: 1_000,
            steps: 40_000,
            slack: 1e-11,
        }
    }
}

/// Cells that satisfy the conditions of a certificate, and their automaton.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The weakest arithmetic that is covered.
    pub arithmetic: Arithmetic,
    /// Tolerance of the cover from which the cells were made.
    pub tolerance: f64,
    /// The cells; the first is the start cell.
    pub cells: Vec<ProvedCell>,
    /// The minimal automaton of the cells, over class numbers.
    pub automaton: Moore<u32>,
}

impl Proof {
    /// Minimum logit margin over all cells.
    pub fn margin(&self) -> f64 {
        self.cells.iter().map(|cell| cell.margin).fold(f64::INFINITY, f64::min)
    }

    /// Largest depth m of a cell.
    pub fn depth(&self) -> usize {
        self.cells.iter().map(|cell| cell.depth).max().unwrap_or(1)
    }
}

/// A cell of a proof.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvedCell {
    /// The states of the cell.
    pub region: StateBox,
    /// m: the number of steps after which the images lie in cells again.
    pub depth: usize,
    /// The class that is given to words ending here.
    pub decision: u32,
    /// Lower bound on the logit margin of that class.
    pub margin: f64,
    /// Index of the next cell, for each symbol.
    pub successors: Vec<usize>,
    /// State of the minimal automaton.
    pub state: State,
}

/// Why the search found no proof.
#[derive(Clone, Debug, PartialEq)]
pub struct NotProved {
    /// The failed attempts, oldest first; at least one.
    pub attempts: Vec<ProofAttempt>,
}

/// An attempt at a proof that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProofAttempt {
    /// Tolerance of the cover.
    pub tolerance: f64,
    /// Depth m of the cells.
    pub depth: usize,
    /// Number of cells.
    pub cells: usize,
    /// A shortest word that leads to the cell named by the obstacle; empty if it names none.
    pub access: Word,
    /// Why the attempt failed.
    pub obstacle: Obstacle,
}

/// Why an attempt at a proof failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// Certificates do not cover such a network.
    Unsupported {
        /// The property that is not covered.
        what: &'static str,
    },
    /// The network has too many soft states for the limit on cells.
    TooManyCells {
        /// The limit.
        cap: usize,
    },
    /// The image of a cell is too large for any radius.
    Expands(ImageOutsideCell),
    /// The class is not proved on a cell or on the image of a cell.
    Undecided(Undecided),
    /// The search used up [`ProofSearch::steps`].
    OutOfSteps {
        /// The limit.
        steps: usize,
    },
    /// The independent checker refuses the proof that was found, also with wider radii.
    Refused {
        /// Why.
        why: String,
    },
}

/// Searches for a proof that the network, computed in `arithmetic`, equals an automaton.
pub fn prove(
    machine: &TransitionSystem,
    arithmetic: Arithmetic,
    search: &ProofSearch,
) -> Result<Proof, NotProved> {
    if let Some(what) = unsupported(machine.model(), arithmetic) {
        let (tolerance, obstacle) = (search.tolerance, Obstacle::Unsupported { what });
        let attempt = ProofAttempt { tolerance, depth: 1, cells: 0, access: Word::new(), obstacle };
        return Err(NotProved { attempts: vec![attempt] });
    }
    let network = EnclosedNetwork::new(machine.model());
    let midpoints = Midpoints { machine, network: &network };
    let (mut attempts, mut steps) = (vec![], search.steps);
    let mut tolerance = search.tolerance;
    let cap = search.cells.min(search.steps / machine.alphabet().len().max(1)).max(1);
    for _ in 0..=search.refinements {
        match cover(&midpoints, tolerance, cap) {
            Cover::Open(open) => {
                let obstacle = match cap < search.cells {
                    true => Obstacle::OutOfSteps { steps: search.steps },
                    false => Obstacle::TooManyCells { cap },
                };
                let (cells, access) = (open.cells.len(), Word::new());
                attempts.push(ProofAttempt { tolerance, depth: 1, cells, access, obstacle });
                break; // A finer cover has more cells.
            }
            Cover::Closed(closed) => {
                let cover_search =
                    CoverSearch { network: &network, closed: &closed, arithmetic, search };
                if let Some(proof) = cover_search.try_depths(&mut attempts, &mut steps) {
                    return Ok(proof);
                }
            }
        }
        let out_of_steps =
            |attempt: &ProofAttempt| matches!(attempt.obstacle, Obstacle::OutOfSteps { .. });
        if attempts.last().is_some_and(out_of_steps) {
            break;
        }
        tolerance /= 4.0;
    }
    Err(NotProved { attempts })
}

/// Within these limits no sum of the running program overflows; the error model does not cover
/// overflow. The checker has the same limits.
const LARGEST_WEIGHT: f64 = (1 << 20) as f64;
const LARGEST_SIZE: usize = 1 << 13;
const LARGEST_TAU: f64 = (1u64 << 40) as f64;

/// The first property of the model that certificates do not cover: a class after every step,
/// weights that are not single-precision numbers, or values for which a sum could overflow.
fn unsupported(model: &Model<f64>, arithmetic: Arithmetic) -> Option<&'static str> {
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
            "a weight that is not a single-precision number",
        ),
    ];
    failures.into_iter().find_map(|(fails, what)| fails.then_some(what))
}

/// A depth above 1 is tried only if [`ProofSearch::steps`] allows this many rounds of radii.
const ROUNDS_AFFORDED: usize = 20;

/// The search over depths m for one cover.
struct CoverSearch<'a> {
    network: &'a EnclosedNetwork,
    closed: &'a ClosedCover,
    arithmetic: Arithmetic,
    search: &'a ProofSearch,
}

impl CoverSearch<'_> {
    fn try_depths(&self, attempts: &mut Vec<ProofAttempt>, steps: &mut usize) -> Option<Proof> {
        let errors = ErrorModel::of(self.arithmetic);
        let mut graph = cell_graph(self.network, self.closed, errors);
        let (cells, tolerance) = (graph.centres.len(), self.closed.tolerance);
        for depth in 1..=self.search.depth {
            graph.depths = vec![depth; cells];
            let round: usize = (0..cells).map(|cell| graph.word_count(cell)).sum();
            if depth > 1 && round > self.search.steps / ROUNDS_AFFORDED {
                break; // With many symbols a finer cover is cheaper.
            }
            let obstacle = match self.attempt(&graph, steps) {
                Ok(proof) => return Some(proof),
                Err(obstacle) => obstacle,
            };
            let expands = matches!(obstacle, Obstacle::Expands(_));
            let access = self.access_word(&obstacle);
            attempts.push(ProofAttempt { tolerance, depth, cells, access, obstacle });
            if !expands {
                break; // A larger depth does not shrink the cells.
            }
        }
        None
    }

    /// A shortest word to the cell that the obstacle names.
    fn access_word(&self, obstacle: &Obstacle) -> Word {
        let cell = match obstacle {
            Obstacle::Expands(image) => image.cell,
            Obstacle::Undecided(undecided) => undecided.cell,
            Obstacle::Unsupported { .. }
            | Obstacle::TooManyCells { .. }
            | Obstacle::OutOfSteps { .. }
            | Obstacle::Refused { .. } => return Word::new(),
        };
        let automaton = self.closed.extracted.automaton.to_moore();
        let words = automaton.expect("a closed cover is complete").access_words();
        words[cell].clone().unwrap_or_default()
    }

    fn attempt(&self, graph: &CellGraph, steps: &mut usize) -> Result<Proof, Obstacle> {
        let errors = ErrorModel::of(self.arithmetic);
        let obstacle = |failure| match failure {
            ClosureFailure::Expands(image) => Obstacle::Expands(image),
            ClosureFailure::OutOfSteps => Obstacle::OutOfSteps { steps: self.search.steps },
        };
        let boxes =
            find_radii(self.network, graph, errors, self.search.slack, steps).map_err(obstacle)?;
        let margins = margins(self.network, graph, &boxes, errors).map_err(Obstacle::Undecided)?;
        let moore = self.closed.extracted.automaton.to_moore().expect("a closed cover is complete");
        let automaton = moore.minimize();
        let states = minimal_states(graph, &automaton);
        let cell = |(i, (region, margin)): (usize, (StateBox, f64))| ProvedCell {
            region,
            depth: graph.depths[i],
            decision: graph.decisions[i],
            // The checker may round differently.
            margin: lowered(margin),
            successors: graph.successors[i].clone(),
            state: states[i],
        };
        let cells = boxes.into_iter().zip(margins).enumerate().map(cell).collect();
        let (arithmetic, tolerance) = (self.arithmetic, self.closed.tolerance);
        Ok(Proof { arithmetic, tolerance, cells, automaton })
    }
}

/// A margin that the checker, which rounds differently, finds too.
fn lowered(margin: f64) -> f64 {
    const RELATIVE: f64 = 1e-6;
    const ABSOLUTE: f64 = 1e-9;
    (margin * (1.0 - RELATIVE) - ABSOLUTE).max(margin / 2.0)
}

/// The state of the minimal automaton that each cell belongs to. Every cell must be reachable.
fn minimal_states(graph: &CellGraph, automaton: &Moore<u32>) -> Vec<State> {
    let mut states = vec![None; graph.centres.len()];
    let mut open = vec![(0, automaton.start())];
    while let Some((cell, state)) = open.pop() {
        if states[cell].is_none() {
            states[cell] = Some(state);
            let next = graph.successors[cell].iter().zip(automaton.successors(state));
            open.extend(next.map(|(&cell, &state)| (cell, state)));
        }
    }
    states.into_iter().map(|state| state.expect("a cell of a cover is reachable")).collect()
}
