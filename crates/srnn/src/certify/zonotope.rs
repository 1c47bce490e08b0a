//! Sets of states as zonotopes, and their images under one step of the network.

use super::error_model::ErrorModel;
use super::gru::{AffineForm, RoundedForm, gru_step, hidden_error, magnitudes};
use super::interval::{Interval, round_up};
use super::matrix::{IntervalMatrix, product, row_product, upper_product};
use super::network::{EnclosedInput, EnclosedLayer, EnclosedNetwork, LowerLayerInput};
use super::softmax::next_alpha;

/// The states `c + Σ_g ξ_g Γ_g` with |ξ_g| ≤ 1 that also lie in a box.
#[derive(Clone, Debug)]
pub struct Zonotope {
    /// c `[n]`.
    pub centre: Vec<f64>,
    /// Γ `[G,n]`; only the midpoints count.
    pub generators: IntervalMatrix,
    /// The box `[n]`.
    pub range: Vec<Interval>,
}

/// The states within `radii` of `centre`.
#[derive(Clone, Debug, PartialEq)]
pub struct StateBox {
    /// Centre `[n]`.
    pub centre: Vec<f64>,
    /// Radius of each coordinate `[n]`.
    pub radii: Vec<f64>,
}

impl Zonotope {
    /// The state before the first step.
    pub fn origin(network: &EnclosedNetwork) -> Zonotope {
        let n = network.width();
        let generators = IntervalMatrix::zeros(0, n);
        Zonotope { centre: vec![0.0; n], generators, range: vec![Interval::point(0.0); n] }
    }

    /// The states of a box in which the α of each layer sum to one, up to rounding.
    pub fn of_box(network: &EnclosedNetwork, region: &StateBox, errors: ErrorModel) -> Zonotope {
        let mut generators = IntervalMatrix::zeros(0, network.width());
        for (l, layer) in network.layers.iter().enumerate() {
            let at = network.offsets[l]..network.offsets[l + 1];
            let (centre, radii) = (&region.centre[at.clone()], &region.radii[at.clone()]);
            let widest = (0..layer.k).fold(0, |p, i| if radii[i] > radii[p] { i } else { p });
            if radii[widest] == 0.0 {
                continue; // The layer is a point.
            }
            for i in (0..layer.k).filter(|&i| i != widest) {
                let mut entries = [(i, radii[i]), (widest, -radii[i])];
                entries.sort_by_key(|&(coordinate, _)| coordinate);
                entries.iter().for_each(|&(i, x)| generators.push(at.start + i, x, 0.0));
                generators.end_row();
            }
            generators.push(at.start + widest, sum_error(layer, centre, errors), 0.0);
            generators.end_row();
        }
        let range = region.centre.iter().zip(&region.radii);
        let range = range.map(|(&c, &r)| Interval::point(c).widen(r)).collect();
        Zonotope { centre: region.centre.clone(), generators, range }
    }

    /// Upper bound on the distance of the set's states from `centre`, in each coordinate.
    pub fn distance_from(&self, centre: &[f64]) -> Vec<f64> {
        let distance = |(range, &c): (&Interval, &f64)| {
            let (above, below) = ((range.hi - c).next_up(), (c - range.lo).next_up());
            match (range.lo == c && range.hi == c, above.is_nan() || below.is_nan()) {
                (true, _) => 0.0,           // A point must stay a point: its radius is exactly 0.
                (_, true) => f64::INFINITY, // `max` would skip a NaN.
                _ => above.max(below).max(0.0),
            }
        };
        self.range.iter().zip(centre).map(distance).collect()
    }

    fn rows(&self) -> usize {
        self.generators.rows()
    }

    /// The α of layer `l`, with `extra` zero generators for those that the layers below add.
    fn layer(&self, network: &EnclosedNetwork, l: usize, extra: usize) -> AffineForm {
        let (first, k) = (network.offsets[l], network.layers[l].k);
        let generators = self.generators.columns(first, k).with_rows(self.rows() + extra);
        let centre = self.centre[first..first + k].iter().map(|&c| Interval::point(c)).collect();
        let range = self.range[first..first + k].to_vec();
        AffineForm { centre, generators, range }
    }
}

/// η: bound on |Σv| for v = α − c of a layer.
fn sum_error(layer: &EnclosedLayer, centre: &[f64], errors: ErrorModel) -> f64 {
    let sum: Interval = centre.iter().map(|&c| Interval::point(c)).sum();
    let off = (sum - Interval::point(1.0)).mag();
    round_up(errors.simplex_error(layer.k) + off, 1)
}

/// Enclosures of the results of one step.
pub struct StepEnclosure {
    /// The states after the step.
    pub set: Zonotope,
    /// u of the top layer.
    pub u: RoundedForm,
}

/// The image of a set under one step with `token`.
pub fn step(
    network: &EnclosedNetwork,
    set: &Zonotope,
    token: u32,
    errors: ErrorModel,
) -> StepEnclosure {
    let mut next = Zonotope::origin(network);
    (next.centre, next.range) = (vec![], vec![]);
    let mut below: Option<AffineForm> = None;
    let mut blocks = IntervalMatrix::zeros(0, 0);
    let mut top = None;
    for (l, layer) in network.layers.iter().enumerate() {
        let extra = network.offsets[l];
        let alpha = set.layer(network, l, extra);
        let a = input_part(layer, token, below.as_ref(), alpha.generators.rows(), errors);
        let u = gru_step(layer, &alpha, &a, errors);
        let new_alpha = next_alpha(layer, &u, errors);
        next.centre.extend(&new_alpha.centre);
        next.range.extend(&new_alpha.range);
        // The remainder of each coordinate becomes a generator.
        let mut generators = new_alpha.generators;
        generators.rad.fill(0.0);
        for (k, &remainder) in new_alpha.remainder.iter().enumerate() {
            generators.push(k, remainder, 0.0);
            generators.end_row();
        }
        // The remainders of the layers above do not move a layer, so its last rows are zero.
        if l + 1 < network.layers.len() {
            let centre = new_alpha.centre.iter().map(|&c| Interval::point(c)).collect();
            below = Some(AffineForm::new(centre, generators.clone()));
        }
        blocks = if l == 0 { generators } else { blocks.beside(&generators) };
        top = Some(u);
    }
    next.generators = blocks;
    intersect_range(&mut next);
    StepEnclosure { set: next, u: top.expect("at least one layer") }
}

/// Intersects the box of the set with the box around its generators.
fn intersect_range(set: &mut Zonotope) {
    let sums = set.generators.column_sums();
    for (range, (&c, sum)) in set.range.iter_mut().zip(set.centre.iter().zip(sums)) {
        let of_generators = Interval::point(c).widen(sum);
        *range =
            Interval { lo: range.lo.max(of_generators.lo), hi: range.hi.min(of_generators.hi) };
    }
}

/// The input part of a layer `[3D]` over `rows` generators; `below` is the new α of the layer
/// below.
fn input_part(
    layer: &EnclosedLayer,
    token: u32,
    below: Option<&AffineForm>,
    rows: usize,
    errors: ErrorModel,
) -> RoundedForm {
    match (&layer.input, below) {
        (EnclosedInput::Tokens(constants), _) => {
            let constant = &constants[token as usize];
            let value =
                AffineForm::new(constant.value.clone(), IntervalMatrix::zeros(rows, 3 * layer.d));
            let gamma = errors.gamma(layer.width + 10);
            RoundedForm { value, error: input_error(layer, &constant.size, gamma, errors) }
        }
        (EnclosedInput::LowerLayer(from), Some(alpha)) => {
            input_from_alpha(layer, from, alpha, errors)
        }
        (EnclosedInput::LowerLayer(_), None) => {
            panic!("a layer above the bottom reads the layer below")
        }
    }
}

fn input_from_alpha(
    layer: &EnclosedLayer,
    from: &LowerLayerInput,
    alpha: &AffineForm,
    errors: ErrorModel,
) -> RoundedForm {
    let centre = row_product(&alpha.centre, &from.from_alpha);
    let centre = centre.iter().zip(&from.bias).map(|(&a, &b)| a + b).collect();
    let value = AffineForm::new(centre, product(&alpha.generators, &from.from_alpha));
    let sizes = upper_product(&magnitudes(&alpha.range), &from.alpha_size);
    let gamma = errors.gamma(alpha.centre.len() + layer.width + 10);
    RoundedForm { value, error: input_error(layer, &sizes, gamma, errors) }
}

/// δa = `γ (sizes + biases) + ω` `[3D]`.
fn input_error(layer: &EnclosedLayer, sizes: &[f64], gamma: f64, errors: ErrorModel) -> Vec<f64> {
    let sums = sizes.iter().zip(&layer.bias_size);
    sums.map(|(size, bias)| round_up(gamma * (size + bias) + errors.underflow, 4)).collect()
}

/// u of the top layer after the end token. No layer applies the softmax.
pub fn after_end_token(
    network: &EnclosedNetwork,
    set: &Zonotope,
    end: u32,
    errors: ErrorModel,
) -> RoundedForm {
    let rows = set.rows();
    let mut below: Option<RoundedForm> = None;
    for (l, layer) in network.layers.iter().enumerate() {
        let a = match (&layer.input, &below) {
            (EnclosedInput::LowerLayer(from), Some(u)) => input_from_hidden(layer, from, u, errors),
            _ => input_part(layer, end, None, rows, errors),
        };
        below = Some(gru_step(layer, &set.layer(network, l, 0), &a, errors));
    }
    below.expect("at least one layer")
}

fn input_from_hidden(
    layer: &EnclosedLayer,
    from: &LowerLayerInput,
    u: &RoundedForm,
    errors: ErrorModel,
) -> RoundedForm {
    let centre = row_product(&u.value.centre, &from.from_hidden);
    let centre = centre.iter().zip(&from.bias).map(|(&a, &b)| a + b).collect();
    let value = AffineForm::new(centre, product(&u.value.generators, &from.from_hidden));
    let weights = &from.from_hidden;
    let whole = u.value.range.iter().zip(&u.error).map(|(u, e)| round_up(u.mag() + e, 1));
    let carried = upper_product(&u.error, weights);
    let sizes = upper_product(&whole.collect::<Vec<_>>(), weights);
    let charged = input_error(layer, &sizes, errors.gamma(layer.width + 10), errors);
    let error = carried.iter().zip(&charged).map(|(c, e)| round_up(c + e, 1)).collect();
    RoundedForm { value, error }
}

/// h of the top layer.
pub fn hidden(network: &EnclosedNetwork, set: &Zonotope, errors: ErrorModel) -> RoundedForm {
    let l = network.layers.len() - 1;
    let layer = &network.layers[l];
    let alpha = set.layer(network, l, 0);
    let centre = row_product(&alpha.centre, &layer.mixture);
    let value = AffineForm::new(centre, product(&alpha.generators, &layer.mixture));
    RoundedForm { error: hidden_error(layer, &alpha, errors), value }
}
