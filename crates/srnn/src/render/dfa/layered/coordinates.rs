//! The y of every place, such that long edges are straight and nodes are near the middle of their
//! neighbours (Brandes and Köpf 2002): the median of four alignments.

use super::Places;

/// The layers as one alignment sees them: possibly mirrored.
struct View<'a> {
    places: &'a Places,
    layers: Vec<Vec<usize>>,
    position: Vec<usize>,
    /// The side of the neighbours to which places are aligned.
    side: usize,
}

/// The y of every place; the order of `layers` is kept.
pub(super) fn coordinates(places: &Places, layers: &[Vec<usize>]) -> Vec<f64> {
    let conflicts = conflicts(places, layers);
    let mut found: Vec<(bool, Vec<f64>)> = vec![];
    for side in [0, 1] {
        for mirrored in [false, true] {
            let view = View::new(places, layers, side, mirrored);
            let roots = align(&view, &conflicts);
            let mut ys = compact(&view, &roots);
            if mirrored {
                ys.iter_mut().for_each(|y| *y = -*y);
            }
            found.push((mirrored, ys));
        }
    }
    let extent = |ys: &[f64]| {
        let half = |place: usize| places.all[place].size.height / 2.0;
        let low = ys.iter().enumerate().map(|(p, y)| y - half(p)).fold(f64::INFINITY, f64::min);
        let high = ys.iter().enumerate().map(|(p, y)| y + half(p)).fold(-f64::INFINITY, f64::max);
        (low, high)
    };
    let bounds: Vec<(f64, f64)> = found.iter().map(|(_, ys)| extent(ys)).collect();
    let narrowest = (0..found.len())
        .min_by(|&a, &b| (bounds[a].1 - bounds[a].0).total_cmp(&(bounds[b].1 - bounds[b].0)))
        .expect("four alignments");
    let target = bounds[narrowest];
    for ((mirrored, ys), bounds) in found.iter_mut().zip(&bounds) {
        let shift = if *mirrored { target.1 - bounds.1 } else { target.0 - bounds.0 };
        ys.iter_mut().for_each(|y| *y += shift);
    }
    let median = |place: usize| {
        let mut of = [0, 1, 2, 3].map(|which: usize| found[which].1[place]);
        of.sort_by(f64::total_cmp);
        (of[1] + of[2]) / 2.0
    };
    (0..places.all.len()).map(median).collect()
}

impl<'a> View<'a> {
    fn new(places: &'a Places, layers: &[Vec<usize>], side: usize, mirrored: bool) -> View<'a> {
        let mut layers = layers.to_vec();
        if mirrored {
            layers.iter_mut().for_each(|layer| layer.reverse());
        }
        let mut position = vec![0; places.all.len()];
        for layer in &layers {
            layer.iter().enumerate().for_each(|(at, &place)| position[place] = at);
        }
        View { places, layers, position, side }
    }
}

/// The links `[right place][number of its left neighbour]` that cross a link between two passed layers
/// of a long edge: such links do not become straight.
fn conflicts(places: &Places, layers: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let mut position = vec![0; places.all.len()];
    for layer in layers {
        layer.iter().enumerate().for_each(|(at, &place)| position[place] = at);
    }
    let before = &places.neighbours[0];
    let mut marked: Vec<Vec<bool>> = before.iter().map(|of| vec![false; of.len()]).collect();
    for pair in layers.windows(2) {
        let inner = |place: usize| {
            let passes = |&&other: &&usize| !places.all[other].is_node;
            before[place].iter().find(passes).filter(|_| !places.all[place].is_node)
        };
        let (mut low, mut scanned) = (0, 0);
        for (at, &place) in pair[1].iter().enumerate() {
            let bound = inner(place).map(|&other| position[other]);
            if bound.is_none() && at + 1 < pair[1].len() {
                continue;
            }
            let high = bound.unwrap_or(pair[0].len().saturating_sub(1));
            for &right in &pair[1][scanned..=at] {
                for (number, &left) in before[right].iter().enumerate() {
                    let both_pass = !places.all[left].is_node && !places.all[right].is_node;
                    let outside = position[left] < low || position[left] > high;
                    marked[right][number] |= outside && !both_pass;
                }
            }
            (low, scanned) = (high, at + 1);
        }
    }
    marked
}

/// The first place of the block of each place. The places of a block get the same y.
fn align(view: &View<'_>, conflicts: &[Vec<bool>]) -> Vec<usize> {
    let count = view.places.all.len();
    let mut roots: Vec<usize> = (0..count).collect();
    // The next place of the block; the first one after the last.
    let mut next: Vec<usize> = (0..count).collect();
    let neighbours = &view.places.neighbours[view.side];
    let mut layers: Vec<&Vec<usize>> = view.layers.iter().collect();
    if view.side == 1 {
        layers.reverse();
    }
    for layer in layers {
        let mut last: Option<usize> = None;
        for &place in layer {
            let mut of: Vec<usize> = neighbours[place].clone();
            of.sort_by_key(|&other| view.position[other]);
            let Some(end) = of.len().checked_sub(1) else { continue };
            for &other in &of[end / 2..=end.div_ceil(2)] {
                let free =
                    next[place] == place && last.is_none_or(|last| last < view.position[other]);
                if free && !is_marked(view.places, conflicts, place, other) {
                    next[other] = place;
                    roots[place] = roots[other];
                    next[place] = roots[place];
                    last = Some(view.position[other]);
                }
            }
        }
    }
    roots
}

fn is_marked(places: &Places, conflicts: &[Vec<bool>], a: usize, b: usize) -> bool {
    let (left, right) = if places.all[a].layer < places.all[b].layer { (a, b) } else { (b, a) };
    let mut links = places.neighbours[0][right].iter().zip(&conflicts[right]);
    links.any(|(&other, &marked)| other == left && marked)
}

/// The positions of blocks, as near to each other as their places allow; then blocks move back towards
/// the block after them.
fn compact(view: &View<'_>, roots: &[usize]) -> Vec<f64> {
    let count = roots.len();
    let mut after: Vec<Vec<(usize, f64)>> = vec![vec![]; count];
    let mut missing = vec![0; count];
    for layer in &view.layers {
        for pair in layer.windows(2) {
            let distance = view.places.distance(pair[0], pair[1]);
            after[roots[pair[0]]].push((roots[pair[1]], distance));
            missing[roots[pair[1]]] += 1;
        }
    }
    let mut sorted: Vec<usize> =
        (0..count).filter(|&place| roots[place] == place && missing[place] == 0).collect();
    let mut ys = vec![0.0f64; count];
    let mut at = 0;
    while at < sorted.len() {
        let root = sorted[at];
        for &(to, distance) in &after[root] {
            ys[to] = ys[to].max(ys[root] + distance);
            missing[to] -= 1;
            if missing[to] == 0 {
                sorted.push(to);
            }
        }
        at += 1;
    }
    for &root in sorted.iter().rev() {
        let room = after[root].iter().map(|&(to, distance)| ys[to] - distance);
        let room = room.fold(f64::INFINITY, f64::min);
        if room.is_finite() {
            ys[root] = ys[root].max(room);
        }
    }
    roots.iter().map(|&root| ys[root]).collect()
}
