//! One step of the whole network over a set, and what the classifier makes of it.

use crate::balls::Balls;
use crate::gru::{hidden, units};
use crate::interval::{Interval, Up};
use crate::network::{Layer, Network, Reading};
use crate::set::{Form, Part, Set};
use crate::softmax;

/// By how much a class leads all others at least, and the one it leads the least.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    pub by: f64,
    pub rival: usize,
}

/// The set of states after `token`, and u of the top layer on the way.
pub fn step(network: &Network, set: &Set, token: usize) -> (Set, Form) {
    let mut parts: Vec<Part> = vec![];
    let mut top = None;
    for (layer, part) in network.layers.iter().zip(&set.parts) {
        let feed = match parts.last() {
            None => token_feed(network, layer, token, part.generators.rows),
            Some(below) => state_feed(network, layer, below),
        };
        let u = units(layer, &network.charges, part, &feed);
        parts.push(softmax::next(layer, &network.charges, &u));
        top = Some(u);
    }
    let rows = parts.last().map_or(0, |part| part.generators.rows);
    for part in &mut parts {
        part.generators = part.generators.clone().with_rows(rows);
    }
    (Set { parts }, top.expect("at least one layer"))
}

/// By how much the program that reads the states of a set (not the step to it) decides `class`.
pub fn lead_on(network: &Network, set: &Set, class: usize) -> Lead {
    let read = match network.reading {
        Reading::EndStep(token) => end_units(network, set, token),
        Reading::State | Reading::Step => {
            let (layer, part) = (network.layers.last(), set.parts.last());
            let (layer, part) = layer.zip(part).expect("at least one layer");
            hidden(layer, &network.charges, part, part.generators.rows)
        }
    };
    lead(network, &read, class)
}

/// u of the top layer after the end token: no softmax, h = u is handed up.
fn end_units(network: &Network, set: &Set, token: usize) -> Form {
    let mut below: Option<Form> = None;
    for (layer, part) in network.layers.iter().zip(&set.parts) {
        let feed = match &below {
            None => token_feed(network, layer, token, part.generators.rows),
            Some(u) => units_feed(network, layer, u),
        };
        below = Some(units(layer, &network.charges, part, &feed));
    }
    below.expect("at least one layer")
}

/// By how much the logit of `class` leads all others when the classifier reads `x`.
pub fn lead(network: &Network, x: &Form, class: usize) -> Lead {
    let rivals = (0..network.head.rows).filter(|&rival| rival != class);
    let leads = rivals.map(|rival| Lead { by: lead_over(network, x, class, rival), rival });
    leads.reduce(|a, b| if b.by < a.by { b } else { a }).expect("at least two classes")
}

fn lead_over(network: &Network, x: &Form, class: usize, rival: usize) -> f64 {
    let (head, bias, charges) = (&network.head, &network.head_bias, &network.charges);
    let d = head.cols;
    let difference = Balls::from_fn(d, 1, |j, _| head.get(class, j) - head.get(rival, j));
    let centre = Balls::from_fn(1, d, |_, j| x.centre[j]).times(&difference).get(0, 0)
        + (Interval::point(bias[class]) - Interval::point(bias[rival]));
    let moves = x.generators.times(&difference).column_sums()[0];
    let weight = |j: usize| head.magnitude(class, j) + head.magnitude(rival, j);
    let passed: Up = (0..d).map(|j| weight(j) * x.error[j]).sum();
    let terms: Up = (0..d).map(|j| weight(j) * (x.size(j) + x.error[j])).sum();
    let biases = Up::new(bias[class].abs()) + Up::new(bias[rival].abs());
    let error = passed + charges.gamma(d + 10) * (terms + biases) + charges.lost;
    centre.widen(moves + error).lo
}

/// a of the bottom layer: W x + b.
fn token_feed(network: &Network, layer: &Layer, token: usize, rows: usize) -> Form {
    let (e, charges) = (network.embedding.cols, &network.charges);
    let x = Balls::exact(1, e, network.embedding.mid[token * e..][..e].to_vec());
    let sizes = x.absolute().times(&layer.input.absolute());
    let gamma = charges.gamma(e + 10);
    let error = |j: usize| gamma * (sizes.magnitude(0, j) + layer.bias_size[j]) + charges.lost;
    let centre = x.times(&layer.input).row(0);
    let centre = centre.into_iter().zip(&layer.input_bias).map(|(a, &b)| a + b).collect();
    let n = layer.input.cols;
    Form::new(centre, Balls::exact(0, n, vec![]).with_rows(rows), (0..n).map(error).collect())
}

/// a above the bottom layer, from the new α of the layer below.
fn state_feed(network: &Network, layer: &Layer, below: &Part) -> Form {
    let charges = &network.charges;
    let (centre, generators) = below.image(&layer.below, &layer.input_bias);
    let gamma = charges.gamma(below.centre.len() + layer.input.rows + 10);
    let sizes = below.image_size(&layer.below_size).into_iter().zip(&layer.bias_size);
    let error = sizes.map(|(size, &bias)| gamma * (size + bias) + charges.lost).collect();
    Form::new(centre, generators, error)
}

/// a above the bottom layer on the end token, from u of the layer below.
fn units_feed(network: &Network, layer: &Layer, below: &Form) -> Form {
    let charges = &network.charges;
    let d = below.centre.len();
    let centre = Balls::from_fn(1, d, |_, j| below.centre[j]).times(&layer.input).row(0);
    let centre = centre.into_iter().zip(&layer.input_bias).map(|(a, &b)| a + b).collect();
    let gamma = charges.gamma(d + 10);
    let error = |i: usize| {
        let weight = |j: usize| layer.input.magnitude(j, i);
        let passed: Up = (0..d).map(|j| weight(j) * below.error[j]).sum();
        let terms: Up = (0..d).map(|j| weight(j) * (below.size(j) + below.error[j])).sum();
        passed + gamma * (terms + layer.bias_size[i]) + charges.lost
    };
    let error = (0..layer.input.cols).map(error).collect();
    Form::new(centre, below.generators.times(&layer.input), error)
}
