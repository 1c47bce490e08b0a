//! The cells of a cover of the reachable soft states, before they have radii.

use super::error_model::ErrorModel;
use super::network::EnclosedNetwork;
use super::parallel::parallel_map;
use super::radii::start_set;
use super::zonotope::{StateBox, Zonotope, step};
use crate::extract::ClosedCover;
use srnn_automata::State;

/// Cells without radii: centres, successors, classes and depths.
#[derive(Clone, Debug, PartialEq)]
pub struct CellGraph {
    /// Centres `[cells][n]`; the first cell is the start cell.
    pub centres: Vec<Vec<f64>>,
    /// Index of the next cell `[cells][symbols]`.
    pub successors: Vec<Vec<usize>>,
    /// Class of each cell `[cells]`.
    pub decisions: Vec<u32>,
    /// Depth m of each cell: after m steps its images lie in cells again.
    pub depths: Vec<usize>,
}

impl CellGraph {
    /// The number of words up to a cell's depth: one enclosure of a step is computed for each.
    pub fn word_count(&self, cell: usize) -> usize {
        let symbols = self.successors[cell].len();
        let of_length = |length: usize| symbols.saturating_pow(length as u32);
        (1..=self.depths[cell]).map(of_length).fold(0, usize::saturating_add)
    }
}

/// The cells of a closed cover. Each centre is moved to the middle of the images that reach its
/// cell.
pub fn cell_graph(network: &EnclosedNetwork, cover: &ClosedCover, errors: ErrorModel) -> CellGraph {
    let automaton = &cover.extracted.automaton;
    let moore = automaton.to_moore().expect("a closed cover is complete");
    let successors = |state: State| moore.successors(state).iter().map(|s| s.index()).collect();
    let mut graph = CellGraph {
        centres: cover.cells.iter().map(|cell| cell.centre.concat()).collect(),
        successors: moore.states().map(successors).collect(),
        decisions: cover.cells.iter().map(|cell| cell.class).collect(),
        depths: vec![1; cover.cells.len()],
    };
    for _ in 0..CENTRING_ROUNDS {
        let centres = image_middles(network, &graph, errors);
        let pairs = || centres.iter().flatten().zip(graph.centres.iter().flatten());
        let is_settled = pairs().all(|(new, old)| (new - old).abs() <= SETTLED);
        graph.centres = centres;
        if is_settled {
            break;
        }
    }
    graph
}

/// Enough for the centres of a contracting network to converge.
const CENTRING_ROUNDS: usize = 12;
/// Centres that moved by no more than this have converged: it is far below the slack of radii.
const SETTLED: f64 = 1e-14;

/// For each cell, the middle of the box around the images of the centres that lead to it.
fn image_middles(
    network: &EnclosedNetwork,
    graph: &CellGraph,
    errors: ErrorModel,
) -> Vec<Vec<f64>> {
    let mut images: Vec<Vec<Vec<f64>>> = vec![vec![]; graph.centres.len()];
    images[0].push(start_set(network, errors).centre);
    let images_of = parallel_map(graph.centres.len(), |cell| {
        let centre = graph.centres[cell].clone();
        let point = StateBox { radii: vec![0.0; centre.len()], centre };
        let set = Zonotope::of_box(network, &point, errors);
        let symbols = 0..graph.successors[cell].len() as u32;
        symbols.map(|symbol| step(network, &set, symbol, errors).set.centre).collect::<Vec<_>>()
    });
    for (successors, centres) in graph.successors.iter().zip(images_of) {
        successors.iter().zip(centres).for_each(|(&to, centre)| images[to].push(centre));
    }
    images.iter().map(|images| middle(network, images)).collect()
}

fn middle(network: &EnclosedNetwork, images: &[Vec<f64>]) -> Vec<f64> {
    let coordinate = |i: usize| {
        let values = images.iter().map(|image| image[i]);
        let (low, high) = (values.clone().fold(f64::MAX, f64::min), values.fold(0.0, f64::max));
        0.5 * (low + high)
    };
    let mut middle: Vec<f64> = (0..network.width()).map(coordinate).collect();
    // The middle of a box need not sum to one, but states do.
    for bounds in network.offsets.windows(2) {
        let block = &mut middle[bounds[0]..bounds[1]];
        let sum: f64 = block.iter().sum();
        if sum > 0.0 {
            block.iter_mut().for_each(|a| *a /= sum);
        }
    }
    middle
}
