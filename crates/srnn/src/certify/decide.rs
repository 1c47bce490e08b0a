//! What the classifier says on a whole set.

use super::arithmetic::Errors;
use super::cell::Computed;
use super::interval::{Interval, up};
use super::matrix::{Factor, Matrix, product, row_product};
use super::network::{Head, Network};
use super::set::{Set, finish, hidden};

/// By how much the logit of `class` leads every other, everywhere on a set of states: at least.
/// Not above 0 means undecided.
pub fn lead_of_states(network: &Network, set: &Set, class: u32, errors: Errors) -> f64 {
    let read = match network.arch.input.end() {
        Some(end) => finish(network, set, end, errors),
        None => hidden(network, set, errors),
    };
    lead(&network.head, &read, class, errors)
}

/// The same, from what the classifier reads.
pub fn lead(head: &Head, read: &Computed, class: u32, errors: Errors) -> f64 {
    let (classes, d) = (head.bias.len(), class as usize);
    let others = (0..classes).filter(|&k| k != d);
    let leads = others.map(|k| lead_over(head, read, d, k, errors));
    // `min` would pass over what is no number.
    let certain = leads.map(|lead| if lead.is_nan() { f64::NEG_INFINITY } else { lead });
    certain.fold(f64::INFINITY, f64::min)
}

fn lead_over(head: &Head, read: &Computed, d: usize, k: usize, errors: Errors) -> f64 {
    let (n, classes) = (read.value.centre.len(), head.bias.len());
    let weight = |j: usize, class: usize| Interval::point(head.weight.mid[j * classes + class]);
    let difference: Vec<Interval> = (0..n).map(|j| weight(j, d) - weight(j, k)).collect();
    let difference = Factor::new(&Matrix::of(1, &difference));
    let bias = Interval::point(head.bias[d]) - Interval::point(head.bias[k]);
    let at_centre = row_product(&read.value.centre, &difference)[0] + bias;
    let spread = product(&read.value.generators, &difference).column_sums()[0];
    let size = |j: usize| weight(j, d).mag() + weight(j, k).mag();
    let carried: f64 = (0..n).map(|j| size(j) * read.error[j]).sum();
    let summed: f64 = (0..n).map(|j| size(j) * (read.value.range[j].mag() + read.error[j])).sum();
    let biases = head.bias[d].abs() + head.bias[k].abs();
    let rounding = carried + errors.gamma(n + 10) * (summed + biases) + errors.lost;
    ((at_centre.lo - spread).next_down() - up(rounding, n + 8)).next_down()
}
