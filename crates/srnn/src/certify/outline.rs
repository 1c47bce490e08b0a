//! Cells before they have radii, from a cover of the reachable soft states.

use super::arithmetic::Errors;
use super::close::start;
use super::network::Network;
use super::set::{Ball, Set, step};
use crate::extract::ClosedCover;
use srnn_automata::State;

/// Cells before they have radii: where they lie, where they lead, what they decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// `[cells][n]`; the first is the start.
    pub centres: Vec<Vec<f64>>,
    /// `[cells][symbols]`.
    pub successors: Vec<Vec<usize>>,
    /// `[cells]`.
    pub decisions: Vec<u32>,
    /// m of each cell: its images are followed this many steps.
    pub depths: Vec<usize>,
}

impl Outline {
    /// Words up to a cell's depth: how many enclosures of a step it takes to follow it.
    pub fn words(&self, cell: usize) -> usize {
        let symbols = self.successors[cell].len();
        let of_length = |length: usize| symbols.saturating_pow(length as u32);
        (1..=self.depths[cell]).map(of_length).fold(0, usize::saturating_add)
    }
}

/// The cells of a closed cover, each moved to the middle of what leads there.
pub fn outline(network: &Network, cover: &ClosedCover, errors: Errors) -> Outline {
    let automaton = &cover.extracted.automaton;
    let moore = automaton.to_moore().expect("a closed cover is complete");
    let successors = |state: State| moore.successors(state).iter().map(|s| s.index()).collect();
    let mut outline = Outline {
        centres: cover.cells.iter().map(|cell| cell.centre.concat()).collect(),
        successors: moore.states().map(successors).collect(),
        decisions: cover.cells.iter().map(|cell| cell.class).collect(),
        depths: vec![1; cover.cells.len()],
    };
    for _ in 0..ROUNDS {
        outline.centres = centred(network, &outline, errors);
    }
    outline
}

/// Enough for the middles to settle where the network contracts.
const ROUNDS: usize = 12;

/// The middle of the box around the images of the centres that lead to each cell.
fn centred(network: &Network, outline: &Outline, errors: Errors) -> Vec<Vec<f64>> {
    let mut images: Vec<Vec<Vec<f64>>> = vec![vec![]; outline.centres.len()];
    images[0].push(start(network, errors).centre);
    for (centre, successors) in outline.centres.iter().zip(&outline.successors) {
        let ball = Ball { centre: centre.clone(), radii: vec![0.0; centre.len()] };
        let set = Set::of_ball(network, &ball, errors);
        for (symbol, &to) in successors.iter().enumerate() {
            images[to].push(step(network, &set, symbol as u32, errors).set.centre);
        }
    }
    images.iter().map(|images| middle(network, images)).collect()
}

fn middle(network: &Network, images: &[Vec<f64>]) -> Vec<f64> {
    let coordinate = |i: usize| {
        let values = images.iter().map(|image| image[i]);
        let (low, high) = (values.clone().fold(f64::MAX, f64::min), values.fold(0.0, f64::max));
        0.5 * (low + high)
    };
    let mut middle: Vec<f64> = (0..network.width()).map(coordinate).collect();
    // A middle of boxes need not sum to one, but states do.
    for bounds in network.offsets.windows(2) {
        let block = &mut middle[bounds[0]..bounds[1]];
        let sum: f64 = block.iter().sum();
        if sum > 0.0 {
            block.iter_mut().for_each(|a| *a /= sum);
        }
    }
    middle
}
