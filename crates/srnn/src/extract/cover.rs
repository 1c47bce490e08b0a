//! A cover of the soft network's reachable states. It is the first step of a proof; by itself it is
//! only a test.
//!
//! The search is breadth first from the start over all symbols. A state joins the nearest cell of
//! its class whose centre is within the tolerance; otherwise it becomes the centre of a new cell.
//! Centres are reachable soft states, not centroids: at τ = 1 one centroid can represent several
//! states of the language, which differ in their mixture weights.

use super::explore::{SoftSystem, StateIndex, explore};
use super::{CentroidState, ExtractedAutomaton};
use crate::engine::Mode;
use crate::engine::reference::NetworkState;

/// The result of a search for a cover.
#[derive(Clone, Debug, PartialEq)]
pub enum Cover {
    /// Every successor of a centre lies in a cell.
    Closed(ClosedCover),
    /// The search ran into the cap on cells.
    Open(OpenCover),
}

/// A cover in which every successor of a centre lies in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedCover {
    /// The tolerance.
    pub tolerance: f64,
    /// The cells, in the order of the automaton's states; the first contains the start.
    pub cells: Vec<SoftCell>,
    /// The cells as an automaton. A state's centroids are the most probable ones at the centre.
    pub extracted: ExtractedAutomaton,
}

/// A cell of soft states.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftCell {
    /// α `[K]` of each layer at the centre: exactly the network's state after the first shortest
    /// word that leads here.
    pub centre: Vec<Vec<f64>>,
    /// The largest distance from the centre of a successor that joined the cell.
    pub radius: f64,
    /// The class of words that end here.
    pub class: u32,
}

/// A cover that did not close.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCover {
    /// The tolerance.
    pub tolerance: f64,
    /// The cap on cells, which was reached.
    pub cap: usize,
    /// The cells found.
    pub cells: Vec<SoftCell>,
    /// How many of them were not expanded.
    pub pending: usize,
}

impl Cover {
    /// The number of cells.
    pub fn len(&self) -> usize {
        match self {
            Cover::Closed(closed) => closed.cells.len(),
            Cover::Open(open) => open.cells.len(),
        }
    }
}

/// Covers the states that the soft network can reach. The distance of two states is the L1 distance
/// of their α, the maximum over the layers. Stops beyond `cap` cells.
pub fn cover(system: &impl SoftSystem, tolerance: f64, cap: usize) -> Cover {
    let mut index = CellIndex { tolerance, cells: vec![], order: vec![] };
    let found = explore(system, Mode::default(), cap, &mut index);
    let cells = index.cells;
    match found.pending {
        0 => Cover::Closed(ClosedCover { tolerance, cells, extracted: found.extracted(system) }),
        pending => Cover::Open(OpenCover { tolerance, cap, cells, pending }),
    }
}

/// The cells, with an index that is ordered by a projection of their centres.
struct CellIndex {
    tolerance: f64,
    cells: Vec<SoftCell>,
    /// Projection and number of each cell, ascending.
    // PERF: two states within the tolerance have projections within the tolerance, so a search
    // looks at a narrow band of the cells instead of all of them.
    order: Vec<(f64, usize)>,
}

/// The rounding error of a projection is far below this, and the wider band costs nothing.
const SLACK: f64 = 1e-9;

impl StateIndex for CellIndex {
    fn find(&mut self, state: &NetworkState, class: u32) -> Option<usize> {
        // The initial state lies outside the simplex: it shares its cell with no other state.
        if CentroidState::of(state) == CentroidState::Initial {
            return None;
        }
        let (at, width) = (projection(state), self.tolerance + SLACK);
        let first = self.order.partition_point(|&(p, _)| p < at - width);
        let band = self.order[first..].iter().take_while(|&&(p, _)| p <= at + width);
        let near = band
            .map(|&(_, i)| (distance(&self.cells[i].centre, &state.alpha), i))
            .filter(|&(r, i)| r <= self.tolerance && self.cells[i].class == class);
        let (r, i) = near.min_by(|a, b| a.partial_cmp(b).expect("distances are not NaN"))?;
        self.cells[i].radius = self.cells[i].radius.max(r);
        Some(i)
    }

    fn insert(&mut self, state: &NetworkState, class: u32) {
        let number = self.cells.len();
        self.cells.push(SoftCell { centre: state.alpha.clone(), radius: 0.0, class });
        if CentroidState::of(state) != CentroidState::Initial {
            let at = projection(state);
            let position = self.order.partition_point(|&(p, _)| p <= at);
            self.order.insert(position, (at, number));
        }
    }
}

/// `p · α` of the top layer with |p_i| ≤ 1, so that |p · v| ≤ ‖v‖₁. The p_i are multiples of the
/// golden ratio modulo 1, which separates them, and with them states near different centroids.
fn projection(state: &NetworkState) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let top = state.alpha.last().expect("at least one layer");
    top.iter().enumerate().map(|(i, a)| a * (2.0 * (i as f64 * GOLDEN).fract() - 1.0)).sum()
}

/// The largest L1 distance over the layers.
fn distance(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let l1 = |(a, b): (&Vec<f64>, &Vec<f64>)| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
    };
    a.iter().zip(b).map(l1).fold(0.0, f64::max)
}
