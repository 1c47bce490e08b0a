//! The order of the places of each layer: sweeps by the mean of the neighbours, and exchanges of
//! neighbours, as long as crossings become fewer.

use super::Places;

/// Sweeps without fewer crossings before the search ends.
const PATIENCE: usize = 6;
/// The largest number of places for which neighbours are exchanged: this takes longer than sweeps.
const MAX_EXCHANGED: usize = 6_000;

/// The places of each layer, from top to bottom.
pub(super) fn order(places: &Places) -> Vec<Vec<usize>> {
    let mut layers = depth_first(places);
    let mut position = vec![0; places.all.len()];
    set_positions(&layers, &mut position);
    let mut best = (crossings(places, &layers, &position), layers.clone());
    let mut since = 0;
    for sweep in 0.. {
        if best.0 == 0 || since == PATIENCE {
            break;
        }
        sweep_layers(places, &mut layers, &mut position, sweep);
        if places.all.len() <= MAX_EXCHANGED {
            exchange(places, &mut layers, &mut position);
        }
        let count = crossings(places, &layers, &position);
        since += 1;
        if count < best.0 {
            (best, since) = ((count, layers.clone()), 0);
        }
    }
    best.1
}

/// The places in the order of a depth-first search from the first node.
fn depth_first(places: &Places) -> Vec<Vec<usize>> {
    let mut layers = vec![vec![]; places.layers];
    let mut found = vec![false; places.all.len()];
    for root in 0..places.all.len() {
        let mut waiting = vec![root];
        while let Some(place) = waiting.pop() {
            if !std::mem::replace(&mut found[place], true) {
                layers[places.all[place].layer].push(place);
                waiting.extend(places.neighbours[1][place].iter().rev());
            }
        }
    }
    layers
}

fn set_positions(layers: &[Vec<usize>], position: &mut [usize]) {
    layers.iter().for_each(|layer| set_layer(layer, position));
}

fn set_layer(layer: &[usize], position: &mut [usize]) {
    layer.iter().enumerate().for_each(|(at, &place)| position[place] = at);
}

/// Sorts every layer by the mean position of the neighbours in the layer before; every second sweep
/// goes backwards.
fn sweep_layers(places: &Places, layers: &mut [Vec<usize>], position: &mut [usize], sweep: usize) {
    let side = sweep % 2;
    let count = layers.len();
    for step in 1..count {
        let layer = if side == 0 { step } else { count - 1 - step };
        let neighbours = &places.neighbours[side];
        let mean = |place: usize| {
            let of = &neighbours[place];
            let sum: usize = of.iter().map(|&other| position[other]).sum();
            (!of.is_empty()).then(|| sum as f64 / of.len() as f64)
        };
        let reversed = sweep % 4 >= 2;
        sort_layer(&mut layers[layer], mean, reversed);
        set_layer(&layers[layer], position);
    }
}

/// Sorts by the means; places without a mean keep theirs. Equal means keep their order, or the
/// reversed one, so that different sweeps try both.
fn sort_layer(layer: &mut [usize], mean: impl Fn(usize) -> Option<f64>, reversed: bool) {
    let slots: Vec<usize> = (0..layer.len()).filter(|&at| mean(layer[at]).is_some()).collect();
    let mut sorted: Vec<(f64, usize)> =
        slots.iter().map(|&at| (mean(layer[at]).expect("filtered"), layer[at])).collect();
    if reversed {
        sorted.reverse();
    }
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (&slot, (_, place)) in slots.iter().zip(sorted) {
        layer[slot] = place;
    }
}

/// Exchanges neighbours in a layer as long as this removes crossings.
fn exchange(places: &Places, layers: &mut [Vec<usize>], position: &mut [usize]) {
    /// More rounds find little.
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let mut improved = false;
        for layer in layers.iter_mut() {
            for at in 1..layer.len() {
                let (above, below) = (layer[at - 1], layer[at]);
                if gain(places, position, above, below) > 0 {
                    layer.swap(at - 1, at);
                    (position[above], position[below]) = (at, at - 1);
                    improved = true;
                }
            }
        }
        if !improved {
            break;
        }
    }
}

/// The number of crossings that are removed if two neighbours in a layer change places.
fn gain(places: &Places, position: &[usize], above: usize, below: usize) -> isize {
    let mut gain = 0;
    for neighbours in &places.neighbours {
        for &a in &neighbours[above] {
            for &b in &neighbours[below] {
                match position[a].cmp(&position[b]) {
                    std::cmp::Ordering::Greater => gain += 1,
                    std::cmp::Ordering::Less => gain -= 1,
                    std::cmp::Ordering::Equal => {}
                }
            }
        }
    }
    gain
}

/// The number of crossings of edges between neighbouring layers.
fn crossings(places: &Places, layers: &[Vec<usize>], position: &[usize]) -> usize {
    let between = |pair: &[Vec<usize>]| {
        let mut ends = vec![];
        for &place in &pair[0] {
            let from = ends.len();
            ends.extend(places.neighbours[1][place].iter().map(|&to| position[to]));
            ends[from..].sort_unstable();
        }
        inversions(&ends, pair[1].len())
    };
    layers.windows(2).map(between).sum()
}

/// The number of pairs in the wrong order, by a tree of sums (Fenwick 1994).
fn inversions(values: &[usize], bound: usize) -> usize {
    let mut tree = vec![0usize; bound + 1];
    let mut count = 0;
    for (seen, &value) in values.iter().enumerate() {
        let (mut at, mut not_larger) = (value + 1, 0);
        while at > 0 {
            not_larger += tree[at];
            at &= at - 1;
        }
        count += seen - not_larger;
        let mut at = value + 1;
        while at <= bound {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    count
}

#[test]
fn inversions_are_pairs_in_the_wrong_order() {
    let by_pairs = |values: &[usize]| {
        let later = |i: usize| values[i + 1..].iter().filter(|&&v| v < values[i]).count();
        (0..values.len()).map(later).sum::<usize>()
    };
    for values in [&[][..], &[2, 1, 0], &[0, 0, 1], &[3, 1, 2, 1, 0, 3, 3, 0]] {
        assert_eq!(inversions(values, 4), by_pairs(values), "{values:?}");
    }
}
