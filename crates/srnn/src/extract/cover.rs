//! A cover of the soft network's reachable states: step 1 of a proof, and by itself only a test.
//!
//! Breadth first from the start over all symbols. A state within the tolerance of an open cell's
//! centre, with the same decision, joins the nearest such cell; any other opens a new one. Centres
//! are reachable soft states, never centroids: at τ = 1 one centroid can carry several states of
//! the language in its mixture weights.

use super::explore::{self, explore};
use super::{Extracted, Memoryless, Place};
use crate::engine::Mode;
use crate::engine::reference::State;

/// How a cover ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Cover {
    /// Every successor of a centre lies in a cell.
    Closed(Closed),
    /// The search stopped before that.
    Open(Open),
}

/// A closed cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// The tolerance it was made with.
    pub tolerance: f64,
    /// The cells, in the order of the automaton's states; the first holds the start.
    pub cells: Vec<SoftCell>,
    /// The cells as an automaton; a state's place is the one nearest to its cell's centre.
    pub extracted: Extracted,
}

/// A cell of soft states.
#[derive(Clone, Debug, PartialEq)]
pub struct SoftCell {
    /// α `[K]` of each layer at its centre: exactly the network's state after the first shortest
    /// word that leads here.
    pub centre: Vec<Vec<f64>>,
    /// The largest distance of a successor that joined the cell.
    pub reach: f64,
    /// The class given to words that end here.
    pub decision: u32,
}

/// A cover that did not close.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// The tolerance.
    pub tolerance: f64,
    /// The cap on cells it ran into: the reason.
    pub cap: usize,
    /// The cells opened.
    pub cells: Vec<SoftCell>,
    /// How many of them were not expanded.
    pub pending: usize,
}

impl Cover {
    /// How many cells were opened.
    pub fn len(&self) -> usize {
        match self {
            Cover::Closed(closed) => closed.cells.len(),
            Cover::Open(open) => open.cells.len(),
        }
    }

    /// Never: the start always has a cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Covers the states the soft network can reach. The distance of two states is the L1 distance of
/// their α, the largest over the layers. Gives up beyond `cap` cells.
pub fn cover(machine: &Memoryless, tolerance: f64, cap: usize) -> Cover {
    let mut centres = Centres { tolerance, cells: vec![], order: vec![] };
    let found = explore(machine, Mode::default(), cap, &mut centres);
    let cells = centres.cells;
    match found.pending {
        0 => Cover::Closed(Closed { tolerance, cells, extracted: found.extracted(machine) }),
        pending => Cover::Open(Open { tolerance, cap, cells, pending }),
    }
}

/// The open cells, ordered by a projection of their centres.
struct Centres {
    tolerance: f64,
    cells: Vec<SoftCell>,
    /// Projection and number of each cell, ascending.
    // PERF: two states within the tolerance have projections within the tolerance, so a search
    // looks at a narrow band of the cells instead of all of them.
    order: Vec<(f64, usize)>,
}

/// Rounding in a projection is far below this, and a band this much wider costs nothing.
const SLACK: f64 = 1e-9;

impl explore::Cells for Centres {
    fn find(&mut self, state: &State, decision: u32) -> Option<usize> {
        // The initial state is a point outside the simplex: nothing joins it, it joins nothing.
        if Place::of(state) == Place::Outside {
            return None;
        }
        let (at, width) = (projection(state), self.tolerance + SLACK);
        let first = self.order.partition_point(|&(p, _)| p < at - width);
        let band = self.order[first..].iter().take_while(|&&(p, _)| p <= at + width);
        let near = band
            .map(|&(_, i)| (distance(&self.cells[i].centre, &state.alpha), i))
            .filter(|&(r, i)| r <= self.tolerance && self.cells[i].decision == decision);
        let (r, i) = near.min_by(|a, b| a.partial_cmp(b).expect("a distance is a number"))?;
        self.cells[i].reach = self.cells[i].reach.max(r);
        Some(i)
    }

    fn open(&mut self, state: &State, decision: u32) {
        let number = self.cells.len();
        self.cells.push(SoftCell { centre: state.alpha.clone(), reach: 0.0, decision });
        if Place::of(state) != Place::Outside {
            let at = projection(state);
            let place = self.order.partition_point(|&(p, _)| p <= at);
            self.order.insert(place, (at, number));
        }
    }
}

/// `p · α` of the top layer with |p_i| ≤ 1, so that |p · v| ≤ ‖v‖₁; the multiples of the golden
/// section keep the p_i, and with them states near different centroids, apart.
fn projection(state: &State) -> f64 {
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
