//! One step of the whole network over a set, and the logit margin on a set.

use crate::gru::{gru_step, hidden};
use crate::interval::{Interval, UpperBound};
use crate::matrix::{IntervalMatrix, upper_times};
use crate::network::{ClassifierInput, EnclosedLayer, EnclosedNetwork};
use crate::softmax;
use crate::zonotope::{LayerZonotope, RoundedForm, Zonotope};

/// Lower bound on the logit margin of a class.
#[derive(Clone, Copy, Debug)]
pub struct ClassMargin {
    pub value: f64,
    /// The class with the smallest bound on the difference of logits.
    pub rival: usize,
}

/// The image of a set under one step with `token`, and u of the top layer.
pub fn step(network: &EnclosedNetwork, set: &Zonotope, token: usize) -> (Zonotope, RoundedForm) {
    let mut next: Vec<LayerZonotope> = vec![];
    let mut top = None;
    for (layer, alpha) in network.layers.iter().zip(&set.layers) {
        let input = match next.last() {
            None => token_input(network, layer, token, alpha.generators.rows()),
            Some(below) => state_input(network, layer, below),
        };
        let u = gru_step(layer, &network.errors, alpha, &input);
        next.push(softmax::next_alpha(layer, &network.errors, &u));
        top = Some(u);
    }
    let rows = next.last().map_or(0, |alpha| alpha.generators.rows());
    for alpha in &mut next {
        alpha.generators = alpha.generators.clone().with_rows(rows);
    }
    (Zonotope { layers: next }, top.expect("at least one layer"))
}

/// The margin of `class` over a set of states, for a classifier that reads the state.
pub fn state_margin(network: &EnclosedNetwork, set: &Zonotope, class: usize) -> ClassMargin {
    let read = match network.classifier_input {
        ClassifierInput::EndStep(token) => after_end_token(network, set, token),
        ClassifierInput::State | ClassifierInput::LastStep => {
            let (layer, alpha) = (network.layers.last(), set.layers.last());
            let (layer, alpha) = layer.zip(alpha).expect("at least one layer");
            hidden(layer, &network.errors, alpha, alpha.generators.rows())
        }
    };
    readout_margin(network, &read, class)
}

/// u of the top layer after the end token. No layer applies the softmax: h = u is passed up.
fn after_end_token(network: &EnclosedNetwork, set: &Zonotope, token: usize) -> RoundedForm {
    let mut below: Option<RoundedForm> = None;
    for (layer, alpha) in network.layers.iter().zip(&set.layers) {
        let input = match &below {
            None => token_input(network, layer, token, alpha.generators.rows()),
            Some(u) => units_input(network, layer, u),
        };
        below = Some(gru_step(layer, &network.errors, alpha, &input));
    }
    below.expect("at least one layer")
}

/// The margin of `class` if the classifier reads `x`.
pub fn readout_margin(network: &EnclosedNetwork, x: &RoundedForm, class: usize) -> ClassMargin {
    let rivals = (0..network.head_bias.len()).filter(|&rival| rival != class);
    let margins =
        rivals.map(|rival| ClassMargin { value: margin_over(network, x, class, rival), rival });
    margins.reduce(|a, b| if b.value < a.value { b } else { a }).expect("at least two classes")
}

fn margin_over(network: &EnclosedNetwork, x: &RoundedForm, class: usize, rival: usize) -> f64 {
    let (head, bias, errors) = (&network.head, &network.head_bias, &network.errors);
    let d = x.centre.len();
    let row = |class: usize| &head[class * d..][..d];
    let mut difference = IntervalMatrix::zeros(0, 1);
    for (&a, &b) in row(class).iter().zip(row(rival)) {
        // Equal weights cancel exactly.
        let (mid, rad) = (Interval::point(a) - Interval::point(b)).mid_rad();
        difference.push_row((a != b).then_some((0, mid, rad)).into_iter());
    }
    let centre = IntervalMatrix::of_row(&x.centre).times(&difference).row(0)[0]
        + (Interval::point(bias[class]) - Interval::point(bias[rival]));
    let spread = x.generators.times(&difference).column_sums()[0];
    let magnitude = |class: usize, j: usize| UpperBound::new(row(class)[j].abs());
    let weight = |j: usize| magnitude(class, j) + magnitude(rival, j);
    let carried: UpperBound = (0..d).map(|j| weight(j) * x.error[j]).sum();
    let terms: UpperBound = (0..d).map(|j| weight(j) * (x.size(j) + x.error[j])).sum();
    let biases = UpperBound::new(bias[class].abs()) + UpperBound::new(bias[rival].abs());
    let error = carried + errors.gamma(d + 10) * (terms + biases) + errors.underflow;
    centre.widen(spread + error).lo
}

/// Input part a of the bottom layer: W x + b.
fn token_input(
    network: &EnclosedNetwork,
    layer: &EnclosedLayer,
    token: usize,
    rows: usize,
) -> RoundedForm {
    let errors = &network.errors;
    let mut x = IntervalMatrix::zeros(0, network.embedding.cols);
    x.push_row_of(&network.embedding, token);
    let sizes = x.absolute().times(&layer.input_size).column_sums();
    let gamma = errors.gamma(x.cols + 10);
    let error = |j: usize| gamma * (sizes[j] + layer.bias_size[j]) + errors.underflow;
    let centre = x.times(&layer.input).row(0);
    let centre = centre.into_iter().zip(&layer.input_bias).map(|(a, &b)| a + b).collect();
    let n = layer.input.cols;
    RoundedForm::new(centre, IntervalMatrix::zeros(rows, n), (0..n).map(error).collect())
}

/// Input part a above the bottom layer, from the new α of the layer below.
fn state_input(
    network: &EnclosedNetwork,
    layer: &EnclosedLayer,
    below: &LayerZonotope,
) -> RoundedForm {
    let errors = &network.errors;
    let (centre, generators) = below.image(&layer.below, &layer.input_bias);
    let gamma = errors.gamma(below.centre.len() + layer.input.rows() + 10);
    let sizes = below.image_size(&layer.below_size).into_iter().zip(&layer.bias_size);
    let error = sizes.map(|(size, &bias)| gamma * (size + bias) + errors.underflow).collect();
    RoundedForm::new(centre, generators, error)
}

/// Input part a above the bottom layer for the end token, from u of the layer below.
fn units_input(
    network: &EnclosedNetwork,
    layer: &EnclosedLayer,
    below: &RoundedForm,
) -> RoundedForm {
    let errors = &network.errors;
    let d = below.centre.len();
    let centre = IntervalMatrix::of_row(&below.centre).times(&layer.input).row(0);
    let centre = centre.into_iter().zip(&layer.input_bias).map(|(a, &b)| a + b).collect();
    let gamma = errors.gamma(d + 10);
    let whole: Vec<UpperBound> = (0..d).map(|j| below.size(j) + below.error[j]).collect();
    let carried = upper_times(&below.error, &layer.input_size);
    let terms = upper_times(&whole, &layer.input_size);
    let error = |i: usize| carried[i] + gamma * (terms[i] + layer.bias_size[i]) + errors.underflow;
    let error = (0..layer.input.cols).map(error).collect();
    RoundedForm::new(centre, below.generators.times(&layer.input), error)
}
