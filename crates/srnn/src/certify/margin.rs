//! Lower bounds on the logit margin of a class: on one set, and on every set of a cell graph.

use super::cell_graph::CellGraph;
use super::error_model::ErrorModel;
use super::gru::{AffineForm, RoundedForm};
use super::interval::{Interval, round_up};
use super::matrix::{IntervalMatrix, RightFactor, product, row_product};
use super::network::{EnclosedHead, EnclosedNetwork};
use super::parallel::parallel_map;
use super::radii::visit_images;
use super::zonotope::{StateBox, Zonotope, after_end_token, hidden, step};

/// A set on which the class of the cell is not proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// The cell that the set is, or from which it is reached.
    pub cell: usize,
    /// The word that leads from the cell to the set; empty for the cell itself.
    pub word: Vec<u32>,
    /// Lower bound on the logit margin of the class; not above 0.
    pub margin: f64,
}

/// The margin of every cell: the smallest one on the cell and on the sets that its words pass.
pub fn margins(
    network: &EnclosedNetwork,
    graph: &CellGraph,
    boxes: &[StateBox],
    errors: ErrorModel,
) -> Result<Vec<f64>, Undecided> {
    let sets = CellSets { network, graph, errors };
    let smallest = parallel_map(boxes.len(), |cell| {
        let region = &boxes[cell];
        let margins = match network.classifies_steps() {
            true => sets.step_margins(cell, region),
            false => sets.state_margins(cell, region),
        };
        let by_margin = |a: &WordMargin, b: &WordMargin| a.1.total_cmp(&b.1);
        let (word, margin) = margins.into_iter().min_by(by_margin).expect("a cell has a margin");
        if margin.is_nan() || margin <= 0.0 {
            return Err(Undecided { cell, word, margin });
        }
        Ok(margin)
    });
    smallest.into_iter().collect()
}

/// What is needed to bound the margins of a cell.
struct CellSets<'a> {
    network: &'a EnclosedNetwork,
    graph: &'a CellGraph,
    errors: ErrorModel,
}

/// A word from the cell and the margin on the set that it leads to.
type WordMargin = (Vec<u32>, f64);

impl CellSets<'_> {
    /// For a network whose class depends on the state alone.
    fn state_margins(&self, cell: usize, region: &StateBox) -> Vec<WordMargin> {
        let CellSets { network, graph, errors } = *self;
        let decision = |cell: usize| graph.decisions[cell];
        let set = Zonotope::of_box(network, region, errors);
        let mut margins = vec![(vec![], state_margin(network, &set, decision(cell), errors))];
        // The sets after the last step lie in cells, whose own margins cover them.
        let depth = graph.depths[cell] - 1;
        if depth > 0 {
            visit_images(network, graph, cell, &set, depth, errors, &mut |visited| {
                let margin = state_margin(network, visited.set, decision(visited.cell), errors);
                margins.push((visited.word.to_vec(), margin));
            });
        }
        margins
    }

    /// For a network whose class depends on the last step.
    fn step_margins(&self, cell: usize, region: &StateBox) -> Vec<WordMargin> {
        let CellSets { network, graph, errors } = *self;
        let mut margins = vec![];
        if cell == 0 {
            let decision = graph.decisions[0];
            let margin = readout_margin(&network.head, &self.first_u(), decision, errors);
            margins.push((vec![], margin));
        }
        let set = Zonotope::of_box(network, region, errors);
        visit_images(network, graph, cell, &set, graph.depths[cell], errors, &mut |visited| {
            let decision = graph.decisions[visited.cell];
            let margin = readout_margin(&network.head, visited.u, decision, errors);
            margins.push((visited.word.to_vec(), margin));
        });
        margins
    }

    /// u after the start token; 0 if the network has none.
    fn first_u(&self) -> RoundedForm {
        let CellSets { network, errors, .. } = *self;
        let origin = Zonotope::origin(network);
        match network.arch.input.start() {
            Some(token) => step(network, &origin, token, errors).u,
            None => {
                let d = network.layers[network.layers.len() - 1].d;
                let centre = vec![Interval::point(0.0); d];
                let value = AffineForm::new(centre, IntervalMatrix::zeros(0, d));
                RoundedForm { value, error: vec![0.0; d] }
            }
        }
    }
}

/// Lower bound, over a set of states, on the margin of `class`: its logit minus the largest other
/// logit. The class is decided on the set if the bound is above 0.
pub fn state_margin(
    network: &EnclosedNetwork,
    set: &Zonotope,
    class: u32,
    errors: ErrorModel,
) -> f64 {
    let read = match network.arch.input.end() {
        Some(end) => after_end_token(network, set, end, errors),
        None => hidden(network, set, errors),
    };
    readout_margin(&network.head, &read, class, errors)
}

/// The same bound, given the vector that the classifier reads.
pub fn readout_margin(
    head: &EnclosedHead,
    read: &RoundedForm,
    class: u32,
    errors: ErrorModel,
) -> f64 {
    let (classes, d) = (head.bias.len(), class as usize);
    let others = (0..classes).filter(|&k| k != d);
    let margins = others.map(|k| margin_over(head, read, d, k, errors));
    // `min` would skip a NaN.
    let certain = margins.map(|margin| if margin.is_nan() { f64::NEG_INFINITY } else { margin });
    certain.fold(f64::INFINITY, f64::min)
}

/// Lower bound on the logit of class `d` minus the logit of class `k`.
fn margin_over(
    head: &EnclosedHead,
    read: &RoundedForm,
    d: usize,
    k: usize,
    errors: ErrorModel,
) -> f64 {
    let n = read.value.centre.len();
    let weight = |j: usize, class: usize| Interval::point(head.weight[class * n + j]);
    let difference = |j: usize| match weight(j, d) == weight(j, k) {
        true => Interval::point(0.0), // Equal weights cancel exactly.
        false => weight(j, d) - weight(j, k),
    };
    let difference: Vec<Interval> = (0..n).map(difference).collect();
    let difference = RightFactor::new(&IntervalMatrix::of(1, &difference));
    let bias = Interval::point(head.bias[d]) - Interval::point(head.bias[k]);
    let at_centre = row_product(&read.value.centre, &difference)[0] + bias;
    let spread = product(&read.value.generators, &difference).column_sums()[0];
    let size = |j: usize| weight(j, d).mag() + weight(j, k).mag();
    let carried: f64 = (0..n).map(|j| size(j) * read.error[j]).sum();
    let summed: f64 = (0..n).map(|j| size(j) * (read.value.range[j].mag() + read.error[j])).sum();
    let biases = head.bias[d].abs() + head.bias[k].abs();
    let rounding = carried + errors.gamma(n + 10) * (summed + biases) + errors.underflow;
    ((at_centre.lo - spread).next_down() - round_up(rounding, n + 8)).next_down()
}
