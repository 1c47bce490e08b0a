//! Sets of states, and vectors that depend on them.

use crate::balls::Balls;
use crate::certificate::Cell;
use crate::interval::{Interval, Up};
use crate::network::Network;
use std::ops::Range;

/// The α of all layers: a zonotope `{ c + Σ_g ξ_g Γ_g : |ξ_g| ≤ 1 }`, and a box around it.
pub struct Set {
    /// Bottom first. The generators of all have the same rows: one ξ_g moves all layers.
    pub parts: Vec<Part>,
}

/// One layer's part of a set.
pub struct Part {
    /// c `[K]`.
    pub centre: Vec<f64>,
    /// Γ `[G, K]`.
    pub generators: Balls,
    /// A box that the set is known to lie in `[K]`.
    pub range: Vec<Interval>,
}

/// A vector that depends on the state, over a set: value at the centre, generators `[G, n]`,
/// range, and how far the running program may be from the exact value.
pub struct Form {
    pub centre: Vec<Interval>,
    pub generators: Balls,
    pub range: Vec<Interval>,
    pub error: Vec<Up>,
}

impl Form {
    /// The range of a form is its value at the centre ± Σ_g |generator|.
    pub fn new(centre: Vec<Interval>, generators: Balls, error: Vec<Up>) -> Form {
        let radii = generators.column_sums();
        let range = centre.iter().zip(radii).map(|(centre, radius)| centre.widen(radius)).collect();
        Form { centre, generators, range, error }
    }

    /// The largest magnitude over the set.
    pub fn size(&self, at: usize) -> Up {
        self.range[at].magnitude()
    }
}

impl Part {
    /// `α·matrix + bias`, without the program's error.
    pub fn image(&self, matrix: &Balls, bias: &[Interval]) -> (Vec<Interval>, Balls) {
        let centre = Balls::exact(1, self.centre.len(), self.centre.clone()).times(matrix);
        let centre = centre.row(0).into_iter().zip(bias).map(|(value, &bias)| value + bias);
        (centre.collect(), self.generators.times(matrix))
    }

    /// `Σ_i |α_i| size_i`, column by column.
    pub fn image_size(&self, size: &Balls) -> Vec<Up> {
        let alpha: Vec<f64> = self.range.iter().map(|range| range.magnitude().get()).collect();
        let sums = Balls::exact(1, alpha.len(), alpha).times(size);
        (0..size.cols).map(|col| sums.magnitude(0, col)).collect()
    }
}

impl Set {
    /// α = 0: before the first step.
    pub fn zero(network: &Network) -> Set {
        let part = |k: usize| Part {
            centre: vec![0.0; k],
            generators: Balls::exact(0, k, vec![]),
            range: vec![Interval::ZERO; k],
        };
        Set { parts: network.layers.iter().map(|layer| part(layer.k)).collect() }
    }

    /// All states of a cell.
    pub fn of_cell(cell: &Cell, network: &Network) -> Set {
        let places = places(network);
        let rows = places.last().map_or(0, |place| place.end);
        let part = |place: &Range<usize>| {
            let (centre, radii) = (&cell.centre[place.clone()], &cell.radii[place.clone()]);
            let eta = network.charges.normalisation(place.len());
            Part {
                centre: centre.to_vec(),
                generators: cell_generators(centre, radii, eta, rows, place.start),
                range: (centre.iter().zip(radii))
                    .map(|(&centre, &radius)| Interval::point(centre).widen(Up::new(radius)))
                    .collect(),
            }
        };
        Set { parts: places.iter().map(part).collect() }
    }

    /// The coordinate that sticks out of a cell the most: layer, coordinate and by how much.
    pub fn outside(&self, cell: &Cell, network: &Network) -> Option<(usize, usize, f64)> {
        let mut worst = None;
        let mut excess_of_worst = 0.0;
        for (layer, (part, place)) in self.parts.iter().zip(places(network)).enumerate() {
            for (i, at) in place.enumerate() {
                let gap = part.range[i] - Interval::point(cell.centre[at]);
                let excess = gap.magnitude().get() - cell.radii[at];
                // The difference of two doubles has the sign of the exact one.
                if excess > excess_of_worst {
                    (worst, excess_of_worst) = (Some((layer, i, excess)), excess);
                }
            }
        }
        worst
    }
}

/// Where each layer's coordinates lie in a cell.
pub fn places(network: &Network) -> Vec<Range<usize>> {
    let mut end = 0;
    let next = |layer: &crate::network::Layer| {
        end += layer.k;
        end - layer.k..end
    };
    network.layers.iter().map(next).collect()
}

/// The generators of one layer of a cell, in the rows from `first` on.
///
/// v = α − c has |v_i| ≤ ρ_i and |Σv| ≤ η = η_A + |1 − Σc|. With p the widest coordinate,
/// v = Σ_{i≠p} v_i (e_i − e_p) + (Σv) e_p. All radii 0: the point c.
fn cell_generators(centre: &[f64], radii: &[f64], eta: Up, rows: usize, first: usize) -> Balls {
    let k = centre.len();
    let mut mid = vec![0.0; rows * k];
    let widest = (0..k).fold(0, |p, i| if radii[i] > radii[p] { i } else { p });
    if radii[widest] > 0.0 {
        let sum: Interval = centre.iter().map(|&c| Interval::point(c)).sum();
        let eta = eta + (Interval::ONE - sum).magnitude();
        for (i, &radius) in radii.iter().enumerate() {
            let row = &mut mid[(first + i) * k..][..k];
            row[i] = radius;
            row[widest] = -radius;
        }
        mid[(first + widest) * k + widest] = eta.get();
    }
    Balls::exact(rows, k, mid)
}
