//! Sets of states as zonotopes, and vectors that depend on the state.

use crate::certificate::CertifiedCell;
use crate::interval::{Interval, UpperBound};
use crate::matrix::{IntervalMatrix, upper_times};
use crate::network::EnclosedNetwork;
use std::cmp::Ordering;
use std::ops::Range;

/// A set of states, i.e. of α of all layers: `{ c + Σ_g ξ_g Γ_g : |ξ_g| ≤ 1 }` within a box.
pub struct Zonotope {
    /// The layers, bottom first. All have the same number of generators: one ξ_g moves all layers.
    pub layers: Vec<LayerZonotope>,
}

/// One layer of a zonotope.
pub struct LayerZonotope {
    /// c `[K]`.
    pub centre: Vec<f64>,
    /// Γ `[G, K]`.
    pub generators: IntervalMatrix,
    /// A box that also contains the set `[K]`.
    pub range: Vec<Interval>,
}

/// A vector of `n` quantities over a set of states.
pub struct RoundedForm {
    /// Values at the centre of the set `[n]`.
    pub centre: Vec<Interval>,
    /// Differences from the centre, one row for each generator of the set `[G, n]`.
    pub generators: IntervalMatrix,
    /// Values over the whole set `[n]`.
    pub range: Vec<Interval>,
    /// Bounds on |computed − exact| `[n]`.
    pub error: Vec<UpperBound>,
}

impl RoundedForm {
    /// A form whose range is `centre` ± Σ_g |generator|.
    pub fn new(
        centre: Vec<Interval>,
        generators: IntervalMatrix,
        error: Vec<UpperBound>,
    ) -> RoundedForm {
        let radii = generators.column_sums();
        let range = centre.iter().zip(radii).map(|(centre, radius)| centre.widen(radius)).collect();
        RoundedForm { centre, generators, range, error }
    }

    /// The largest magnitude over the set.
    pub fn size(&self, at: usize) -> UpperBound {
        self.range[at].magnitude()
    }
}

impl LayerZonotope {
    /// `α·matrix + bias` in real arithmetic: value at the centre and generators.
    pub fn image(
        &self,
        matrix: &IntervalMatrix,
        bias: &[Interval],
    ) -> (Vec<Interval>, IntervalMatrix) {
        let centre = IntervalMatrix::exact(self.centre.len(), &self.centre).times(matrix);
        let centre = centre.row(0).into_iter().zip(bias).map(|(value, &bias)| value + bias);
        (centre.collect(), self.generators.times(matrix))
    }

    /// `Σ_i |α_i| size_i` of each column.
    pub fn image_size(&self, size: &IntervalMatrix) -> Vec<UpperBound> {
        let alpha: Vec<UpperBound> = self.range.iter().map(|range| range.magnitude()).collect();
        upper_times(&alpha, size)
    }
}

impl Zonotope {
    /// The state before the first step: α = 0.
    pub fn zero(network: &EnclosedNetwork) -> Zonotope {
        let layer = |k: usize| LayerZonotope {
            centre: vec![0.0; k],
            generators: IntervalMatrix::zeros(0, k),
            range: vec![Interval::ZERO; k],
        };
        Zonotope { layers: network.layers.iter().map(|l| layer(l.k)).collect() }
    }

    /// The states of a cell.
    pub fn of_cell(cell: &CertifiedCell, network: &EnclosedNetwork) -> Zonotope {
        let ranges = layer_ranges(network);
        let rows = ranges.last().map_or(0, |range| range.end);
        let layer = |range: &Range<usize>| {
            let (centre, radii) = (&cell.centre[range.clone()], &cell.radii[range.clone()]);
            let eta = network.errors.simplex_error(range.len());
            LayerZonotope {
                centre: centre.to_vec(),
                generators: cell_generators(centre, radii, eta, rows, range.start),
                range: (centre.iter().zip(radii))
                    .map(|(&centre, &radius)| {
                        Interval::point(centre).widen(UpperBound::new(radius))
                    })
                    .collect(),
            }
        };
        Zonotope { layers: ranges.iter().map(layer).collect() }
    }

    /// The layer, coordinate and distance by which the set exceeds a cell the most; `None` if the
    /// set lies in the cell.
    pub fn largest_excess(
        &self,
        cell: &CertifiedCell,
        network: &EnclosedNetwork,
    ) -> Option<(usize, usize, f64)> {
        let mut worst = None;
        let mut largest = 0.0;
        for (l, (layer, range)) in self.layers.iter().zip(layer_ranges(network)).enumerate() {
            for (i, at) in range.enumerate() {
                let gap = layer.range[i] - Interval::point(cell.centre[at]);
                let excess = gap.magnitude().get() - cell.radii[at];
                // The difference of two doubles has the sign of the exact one.
                if excess > largest {
                    (worst, largest) = (Some((l, i, excess)), excess);
                }
            }
        }
        worst
    }
}

/// The range of each layer's coordinates in a cell.
pub fn layer_ranges(network: &EnclosedNetwork) -> Vec<Range<usize>> {
    let mut end = 0;
    let next = |layer: &crate::network::EnclosedLayer| {
        end += layer.k;
        end - layer.k..end
    };
    network.layers.iter().map(next).collect()
}

/// The generators of one layer of a cell, in the rows from `first` on.
///
/// v = α − c has |v_i| ≤ ρ_i and |Σv| ≤ η = η_A + |1 − Σc|. With p the widest coordinate,
/// v = Σ_{i≠p} v_i (e_i − e_p) + (Σv) e_p. If all radii are 0, the layer is the point c.
fn cell_generators(
    centre: &[f64],
    radii: &[f64],
    eta: UpperBound,
    rows: usize,
    first: usize,
) -> IntervalMatrix {
    let k = centre.len();
    let mut generators = IntervalMatrix::zeros(first, k);
    let widest = (0..k).fold(0, |p, i| if radii[i] > radii[p] { i } else { p });
    if radii[widest] > 0.0 {
        let sum: Interval = centre.iter().map(|&c| Interval::point(c)).sum();
        let eta = eta + (Interval::ONE - sum).magnitude();
        for (i, &radius) in radii.iter().enumerate() {
            let (own, other) = ((i, radius, 0.0), (widest, -radius, 0.0));
            match i.cmp(&widest) {
                Ordering::Less => generators.push_row([own, other].into_iter()),
                Ordering::Equal => generators.push_row([(i, eta.get(), 0.0)].into_iter()),
                Ordering::Greater => generators.push_row([other, own].into_iter()),
            }
        }
    }
    generators.with_rows(rows)
}
