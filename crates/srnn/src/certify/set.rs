//! Sets of states, and where a token leads from them.

use super::arithmetic::Errors;
use super::cell::{Computed, Spread, apply, magnitudes, mixture_error};
use super::interval::{Interval, up};
use super::matrix::{Matrix, product, row_product, upper_product};
use super::network::{Below, Input, Layer, Network};
use super::softmax::stochastic;

/// The states `c + Σ_g ξ_g Γ_g` with |ξ_g| ≤ 1, and in a box besides.
#[derive(Clone, Debug)]
pub struct Set {
    /// c `[n]`.
    pub centre: Vec<f64>,
    /// Γ `[G,n]`.
    pub generators: Vec<f64>,
    /// The box `[n]`.
    pub range: Vec<Interval>,
}

/// A box of states: a cell without what it decides and where it leads.
#[derive(Clone, Debug, PartialEq)]
pub struct Ball {
    /// `[n]`.
    pub centre: Vec<f64>,
    /// `[n]`.
    pub radii: Vec<f64>,
}

impl Set {
    /// The state before the first step.
    pub fn origin(network: &Network) -> Set {
        let n = network.width();
        Set { centre: vec![0.0; n], generators: vec![], range: vec![Interval::point(0.0); n] }
    }

    /// The states of a ball that can be: the α of each layer sum to one, up to rounding.
    pub fn of_ball(network: &Network, ball: &Ball, errors: Errors) -> Set {
        let n = network.width();
        let mut generators = vec![];
        for (l, layer) in network.layers.iter().enumerate() {
            let at = network.offsets[l]..network.offsets[l + 1];
            let (centre, radii) = (&ball.centre[at.clone()], &ball.radii[at.clone()]);
            let widest = (0..layer.k).fold(0, |p, i| if radii[i] > radii[p] { i } else { p });
            if radii[widest] == 0.0 {
                continue; // the point itself
            }
            for i in (0..layer.k).filter(|&i| i != widest) {
                let mut row = vec![0.0; n];
                (row[at.start + i], row[at.start + widest]) = (radii[i], -radii[i]);
                generators.push(row);
            }
            let mut row = vec![0.0; n];
            row[at.start + widest] = unbalanced(layer, centre, errors);
            generators.push(row);
        }
        let range = ball.centre.iter().zip(&ball.radii);
        let range = range.map(|(&c, &r)| Interval::point(c).widen(r)).collect();
        Set { centre: ball.centre.clone(), generators: generators.concat(), range }
    }

    /// At least the distance of a state of the set from `centre`, in each coordinate.
    pub fn distance_from(&self, centre: &[f64]) -> Vec<f64> {
        let distance = |(range, &c): (&Interval, &f64)| {
            let (above, below) = ((range.hi - c).next_up(), (c - range.lo).next_up());
            match (range.lo == c && range.hi == c, above.is_nan() || below.is_nan()) {
                (true, _) => 0.0, // a point needs no radius, and with one it would be a ball
                (_, true) => f64::INFINITY, // `max` would pass over it
                _ => above.max(below).max(0.0),
            }
        };
        self.range.iter().zip(centre).map(distance).collect()
    }

    fn rows(&self) -> usize {
        self.generators.len() / self.centre.len()
    }

    /// One layer's α. `more` generators of the layers below do not move it.
    fn layer(&self, network: &Network, l: usize, more: usize) -> Spread {
        let (first, k, n) = (network.offsets[l], network.layers[l].k, network.width());
        let rows = self.generators.chunks_exact(n);
        let mut mid: Vec<f64> =
            rows.flat_map(|row| row[first..first + k].iter().copied()).collect();
        mid.resize((self.rows() + more) * k, 0.0);
        let centre = self.centre[first..first + k].iter().map(|&c| Interval::point(c)).collect();
        let range = self.range[first..first + k].to_vec();
        Spread { centre, generators: Matrix::exact(k, mid), range }
    }
}

/// η: how far the v of a layer can be from summing to zero.
fn unbalanced(layer: &Layer, centre: &[f64], errors: Errors) -> f64 {
    let sum: Interval = centre.iter().map(|&c| Interval::point(c)).sum();
    let off = (sum - Interval::point(1.0)).mag();
    up(errors.unbalanced(layer.k) + off, 1)
}

/// What a step leaves behind.
pub struct Step {
    /// The states after it.
    pub set: Set,
    /// u of the top layer, and its rounding.
    pub u: Computed,
}

/// Where `token` leads from a set.
pub fn step(network: &Network, set: &Set, token: u32, errors: Errors) -> Step {
    let (n, rows) = (network.width(), set.rows());
    let mut next = Set { centre: vec![], generators: vec![], range: vec![] };
    let mut below: Option<Spread> = None;
    let mut blocks: Vec<Spread> = vec![];
    let mut top = None;
    for (l, layer) in network.layers.iter().enumerate() {
        let more = network.offsets[l];
        let alpha = set.layer(network, l, more);
        let a = input(layer, token, below.as_ref(), alpha.generators.rows(), errors);
        let u = apply(layer, &alpha, &a, errors);
        let moved = stochastic(layer, &u, errors);
        next.centre.extend(&moved.centre);
        next.range.extend(&moved.range);
        // What the generators leave out becomes generators of its own.
        let mut mid = moved.generators;
        for (k, &rest) in moved.rest.iter().enumerate() {
            mid.extend((0..layer.k).map(|j| if j == k { rest } else { 0.0 }));
        }
        let centre = moved.centre.iter().map(|&c| Interval::point(c)).collect();
        let block = Spread::new(centre, Matrix::exact(layer.k, mid));
        below = Some(block.clone());
        blocks.push(block);
        top = Some(u);
    }
    next.generators = assemble(network, &blocks, rows + n);
    tighten(&mut next, n);
    Step { set: next, u: top.expect("at least one layer") }
}

/// The generators of all layers side by side `[G,n]`; a layer has none for the rest of those above.
fn assemble(network: &Network, blocks: &[Spread], rows: usize) -> Vec<f64> {
    let mut generators = Vec::with_capacity(rows * network.width());
    for g in 0..rows {
        for (block, layer) in blocks.iter().zip(&network.layers) {
            let row = block.generators.mid.get(g * layer.k..(g + 1) * layer.k);
            match row {
                Some(row) => generators.extend(row),
                None => generators.extend(std::iter::repeat_n(0.0, layer.k)),
            }
        }
    }
    generators
}

/// The box of the generators, where it is the better one.
fn tighten(set: &mut Set, n: usize) {
    let sums = Matrix::exact(n, set.generators.clone()).column_sums();
    for (range, (&c, sum)) in set.range.iter_mut().zip(set.centre.iter().zip(sums)) {
        let of_generators = Interval::point(c).widen(sum);
        *range =
            Interval { lo: range.lo.max(of_generators.lo), hi: range.hi.min(of_generators.hi) };
    }
}

/// The input part of a layer `[3D]`, over `rows` generators; `below` is the new α there.
fn input(
    layer: &Layer,
    token: u32,
    below: Option<&Spread>,
    rows: usize,
    errors: Errors,
) -> Computed {
    match (&layer.input, below) {
        (Input::Tokens(constants), _) => {
            let constant = &constants[token as usize];
            let value = Spread::new(constant.value.clone(), Matrix::zeros(rows, 3 * layer.d));
            let gamma = errors.gamma(layer.width + 10);
            Computed { value, error: charged(layer, &constant.size, gamma, errors) }
        }
        (Input::Below(from), Some(alpha)) => from_alpha(layer, from, alpha, errors),
        (Input::Below(_), None) => panic!("a layer above the bottom reads the one below it"),
    }
}

fn from_alpha(layer: &Layer, from: &Below, alpha: &Spread, errors: Errors) -> Computed {
    let centre = row_product(&alpha.centre, &from.from_alpha);
    let centre = centre.iter().zip(&from.bias).map(|(&a, &b)| a + b).collect();
    let value = Spread::new(centre, product(&alpha.generators, &from.from_alpha));
    let sizes = upper_product(&magnitudes(&alpha.range), &from.alpha_size, 3 * layer.d);
    let gamma = errors.gamma(alpha.centre.len() + layer.width + 10);
    Computed { value, error: charged(layer, &sizes, gamma, errors) }
}

/// `γ (sizes + biases) + ω` `[3D]`.
fn charged(layer: &Layer, sizes: &[f64], gamma: f64, errors: Errors) -> Vec<f64> {
    let sums = sizes.iter().zip(&layer.bias_size);
    sums.map(|(size, bias)| up(gamma * (size + bias) + errors.lost, 4)).collect()
}

/// u of the top layer after the end token: no layer takes the stochastic step.
pub fn finish(network: &Network, set: &Set, end: u32, errors: Errors) -> Computed {
    let rows = set.rows();
    let mut below: Option<Computed> = None;
    for (l, layer) in network.layers.iter().enumerate() {
        let a = match (&layer.input, &below) {
            (Input::Below(from), Some(u)) => from_hidden(layer, from, u, errors),
            _ => input(layer, end, None, rows, errors),
        };
        below = Some(apply(layer, &set.layer(network, l, 0), &a, errors));
    }
    below.expect("at least one layer")
}

fn from_hidden(layer: &Layer, from: &Below, u: &Computed, errors: Errors) -> Computed {
    let centre = row_product(&u.value.centre, &from.from_hidden);
    let centre = centre.iter().zip(&from.bias).map(|(&a, &b)| a + b).collect();
    let value = Spread::new(centre, product(&u.value.generators, &from.from_hidden));
    let weights = from.from_hidden.sizes();
    let whole = u.value.range.iter().zip(&u.error).map(|(u, e)| up(u.mag() + e, 1));
    let carried = upper_product(&u.error, weights, 3 * layer.d);
    let sizes = upper_product(&whole.collect::<Vec<_>>(), weights, 3 * layer.d);
    let charged = charged(layer, &sizes, errors.gamma(layer.width + 10), errors);
    let error = carried.iter().zip(&charged).map(|(c, e)| up(c + e, 1)).collect();
    Computed { value, error }
}

/// h of the top layer, and its rounding.
pub fn hidden(network: &Network, set: &Set, errors: Errors) -> Computed {
    let l = network.layers.len() - 1;
    let layer = &network.layers[l];
    let alpha = set.layer(network, l, 0);
    let centre = row_product(&alpha.centre, &layer.mixture);
    let value = Spread::new(centre, product(&alpha.generators, &layer.mixture));
    Computed { error: mixture_error(layer, &alpha, errors), value }
}
