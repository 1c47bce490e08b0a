//! Layered drawing of acyclic graphs (Sugiyama, Tagawa and Toda 1981): layers from left to right, an
//! order of each layer with few crossings, and positions that make edges straight.
//!
//! An edge passes every layer between its ends, and its label has a place in the middle one. Everything
//! is indexed by numbers: a picture of 200 states has tens of thousands of places.

mod coordinates;
mod order;

/// The size of a node or of a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoxSize {
    pub width: f64,
    pub height: f64,
}

/// An edge to lay out. Edges must not form a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LayeredEdge {
    pub from: usize,
    pub to: usize,
    pub label: BoxSize,
}

/// The positions of the centres of nodes and labels, and the points that edges pass.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LayeredLayout {
    pub nodes: Vec<(f64, f64)>,
    /// The points between the two ends of each edge, in the order of the edges.
    pub routes: Vec<Vec<(f64, f64)>>,
    /// The centre of the label of each edge.
    pub labels: Vec<(f64, f64)>,
}

/// The distance of nodes in a layer.
const NODE_GAP: f64 = 28.0;
/// The distance of edges in a layer.
const EDGE_GAP: f64 = 18.0;
/// The distance of layers; there is one for labels between two layers of nodes.
const LAYER_GAP: f64 = 22.0;
/// The largest distance of layers.
const MAX_LAYER_GAP: f64 = 100.0;
/// The slope above which layers move apart.
const STEEPEST: f64 = 8.0;

/// A place in a layer: a node, or where an edge passes the layer.
struct Place {
    layer: usize,
    size: BoxSize,
    is_node: bool,
}

/// The places of a graph: nodes first, then those of each edge.
pub(super) struct Places {
    all: Vec<Place>,
    /// The neighbours in the layer before and in the layer after.
    neighbours: [Vec<Vec<usize>>; 2],
    /// The places of each edge between its ends.
    chains: Vec<Vec<usize>>,
    layers: usize,
}

/// Lays out a graph. The layer of node 0 is the leftmost one if all nodes are reachable from it.
pub(super) fn layered(nodes: &[BoxSize], edges: &[LayeredEdge]) -> LayeredLayout {
    let places = Places::new(nodes, edges, &ranks(nodes.len(), edges));
    let order = order::order(&places);
    let ys = coordinates::coordinates(&places, &order);
    let xs = layer_centres(&places, &order, &ys);
    let point = |place: usize| (xs[places.all[place].layer], ys[place]);
    let middle = |chain: &Vec<usize>| point(chain[chain.len() / 2]);
    // An edge is straight along its label.
    let passed = |&place: &usize| {
        let ((x, y), half) = (point(place), places.all[place].size.width / 2.0);
        let ends = if half > 0.0 { vec![(x - half, y), (x + half, y)] } else { vec![(x, y)] };
        ends.into_iter()
    };
    LayeredLayout {
        nodes: (0..nodes.len()).map(point).collect(),
        routes: places.chains.iter().map(|chain| bends(chain.iter().flat_map(passed))).collect(),
        labels: places.chains.iter().map(middle).collect(),
    }
}

impl Places {
    fn new(nodes: &[BoxSize], edges: &[LayeredEdge], ranks: &[usize]) -> Places {
        let node = |(&size, &rank)| Place { layer: 2 * rank, size, is_node: true };
        let mut all: Vec<Place> = nodes.iter().zip(ranks).map(node).collect();
        let mut links = vec![];
        let mut chains = Vec::with_capacity(edges.len());
        for edge in edges {
            let (first, last) = (2 * ranks[edge.from], 2 * ranks[edge.to]);
            let middle = (first + last) / 2;
            let mut chain = vec![];
            for layer in first + 1..last {
                let empty = BoxSize { width: 0.0, height: 0.0 };
                let size = if layer == middle { edge.label } else { empty };
                chain.push(all.len());
                all.push(Place { layer, size, is_node: false });
            }
            let ends = [edge.from].into_iter().chain(chain.iter().copied()).chain([edge.to]);
            let ends: Vec<usize> = ends.collect();
            links.extend(ends.windows(2).map(|pair| (pair[0], pair[1])));
            chains.push(chain);
        }
        let mut neighbours = [vec![vec![]; all.len()], vec![vec![]; all.len()]];
        for (left, right) in links {
            neighbours[1][left].push(right);
            neighbours[0][right].push(left);
        }
        let layers = all.iter().map(|place| place.layer + 1).max().unwrap_or(0);
        Places { all, neighbours, chains, layers }
    }

    /// The least distance of the centres of two places that are neighbours in a layer.
    fn distance(&self, above: usize, below: usize) -> f64 {
        let half = |place: usize| {
            let place = &self.all[place];
            (place.size.height + if place.is_node { NODE_GAP } else { EDGE_GAP }) / 2.0
        };
        half(above) + half(below)
    }
}

/// The rank of each node: every edge leads to a higher one. A node is as near to its neighbours as they
/// allow.
fn ranks(nodes: usize, edges: &[LayeredEdge]) -> Vec<usize> {
    let mut next = vec![vec![]; nodes];
    let mut previous = vec![vec![]; nodes];
    for edge in edges {
        next[edge.from].push(edge.to);
        previous[edge.to].push(edge.from);
    }
    let sorted = topological(&next, &previous);
    let mut ranks = vec![0; nodes];
    for &node in &sorted {
        ranks[node] = previous[node].iter().map(|&from| ranks[from] + 1).max().unwrap_or(0);
    }
    /// More rounds change nothing in practice.
    const ROUNDS: usize = 8;
    for round in 0..ROUNDS {
        let mut changed = false;
        let nodes = sorted.iter().copied();
        let nodes: Vec<usize> =
            if round % 2 == 0 { nodes.rev().collect() } else { nodes.collect() };
        for node in nodes {
            let low = previous[node].iter().map(|&from| ranks[from] + 1).max();
            let high = next[node].iter().map(|&to| ranks[to] - 1).min();
            let best = match previous[node].len().cmp(&next[node].len()) {
                std::cmp::Ordering::Less => high,
                std::cmp::Ordering::Greater => low,
                std::cmp::Ordering::Equal => None,
            };
            if let Some(best) = best.filter(|&best| best != ranks[node]) {
                (ranks[node], changed) = (best, true);
            }
        }
        if !changed {
            break;
        }
    }
    let least = ranks.iter().copied().min().unwrap_or(0);
    ranks.into_iter().map(|rank| rank - least).collect()
}

/// The nodes in an order in which edges lead forward.
fn topological(next: &[Vec<usize>], previous: &[Vec<usize>]) -> Vec<usize> {
    let mut missing: Vec<usize> = previous.iter().map(Vec::len).collect();
    let mut sorted: Vec<usize> = (0..next.len()).filter(|&node| missing[node] == 0).collect();
    let mut at = 0;
    while at < sorted.len() {
        for &to in &next[sorted[at]] {
            missing[to] -= 1;
            if missing[to] == 0 {
                sorted.push(to);
            }
        }
        at += 1;
    }
    assert_eq!(sorted.len(), next.len(), "the edges form a cycle");
    sorted
}

/// The x of each layer: layers are as wide as their widest place, and the gap between two layers grows
/// with the height that an edge climbs in it, so that steep edges can be told apart.
fn layer_centres(places: &Places, order: &[Vec<usize>], ys: &[f64]) -> Vec<f64> {
    let mut left = 0.0;
    let centre = |layer: &Vec<usize>| {
        let widths = layer.iter().map(|&place| places.all[place].size.width);
        let width = widths.fold(0.0, f64::max);
        let centre = left + width / 2.0;
        let climb = |&place: &usize| {
            let next = places.neighbours[1][place].iter();
            next.map(|&to| (ys[to] - ys[place]).abs()).fold(0.0, f64::max)
        };
        let climb = layer.iter().map(climb).fold(0.0, f64::max);
        left += width + (climb / STEEPEST).clamp(LAYER_GAP, MAX_LAYER_GAP);
        centre
    };
    order.iter().map(centre).collect()
}

/// The points at which a route bends, the first and the last.
fn bends(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.collect();
    let is_bend = |at: usize| {
        let ends = at == 0 || at + 1 == points.len();
        ends || points[at - 1].1 != points[at].1 || points[at].1 != points[at + 1].1
    };
    (0..points.len()).filter(|&at| is_bend(at)).map(|at| points[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: usize, to: usize) -> LayeredEdge {
        LayeredEdge { from, to, label: BoxSize { width: 10.0, height: 10.0 } }
    }

    fn boxes(count: usize) -> Vec<BoxSize> {
        vec![BoxSize { width: 40.0, height: 40.0 }; count]
    }

    /// Pseudo-random edges from lower to higher numbers.
    fn random_edges(nodes: usize, count: usize) -> Vec<LayeredEdge> {
        let mut state = 7u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (state >> 33) as usize % n
        };
        let pairs = (0..count).map(|_| (below(nodes), below(nodes)));
        let edges = pairs.filter(|(a, b)| a != b).map(|(a, b)| edge(a.min(b), a.max(b)));
        edges.collect()
    }

    #[test]
    fn every_edge_leads_to_the_right_and_a_chain_is_straight() {
        let chain = layered(&boxes(4), &[edge(0, 1), edge(1, 2), edge(2, 3)]);
        assert!(chain.nodes.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(chain.nodes.iter().all(|node| node.1 == chain.nodes[0].1), "{chain:?}");
        let edges = random_edges(30, 60);
        let found = layered(&boxes(30), &edges);
        for (edge, route) in edges.iter().zip(&found.routes) {
            let [from, to] = [edge.from, edge.to].map(|node| found.nodes[node].0);
            let xs: Vec<f64> =
                [from].into_iter().chain(route.iter().map(|p| p.0)).chain([to]).collect();
            assert!(xs.windows(2).all(|pair| pair[0] < pair[1]), "{edge:?}: {xs:?}");
        }
    }

    #[test]
    fn nodes_and_labels_do_not_overlap() {
        let (nodes, edges) = (boxes(40), random_edges(40, 120));
        let found = layered(&nodes, &edges);
        let sizes = nodes.iter().copied().chain(edges.iter().map(|edge| edge.label));
        let boxes: Vec<((f64, f64), BoxSize)> =
            found.nodes.iter().chain(&found.labels).copied().zip(sizes).collect();
        for (i, (a, size)) in boxes.iter().enumerate() {
            for (b, other) in &boxes[i + 1..] {
                let apart = (a.0 - b.0).abs() * 2.0 >= size.width + other.width
                    || (a.1 - b.1).abs() * 2.0 >= size.height + other.height;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_tree_has_no_crossing() {
        let edges: Vec<LayeredEdge> = (1..31).map(|node| edge((node - 1) / 2, node)).collect();
        let found = layered(&boxes(31), &edges);
        let lines: Vec<[(f64, f64); 2]> =
            edges.iter().map(|edge| [found.nodes[edge.from], found.nodes[edge.to]]).collect();
        for (i, a) in lines.iter().enumerate() {
            for b in &lines[i + 1..] {
                let same = a[0].0 == b[0].0 && a[1].0 == b[1].0;
                assert!(!same || (a[0].1 - b[0].1) * (a[1].1 - b[1].1) >= 0.0, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn an_empty_graph_and_one_without_edges_are_laid_out() {
        assert!(layered(&[], &[]).nodes.is_empty());
        let found = layered(&boxes(2), &[]);
        assert_ne!(found.nodes[0], found.nodes[1]);
    }
}
