//! A prefix tree whose nodes are merged step by step, with undo.
//!
//! Some nodes are states (red in the literature); the other nodes are trees that hang below states.
//! The roots of these trees are the frontier (blue). Merging a frontier node into a state folds its
//! tree into the graph: nodes that the same symbols reach become one.

use super::PrefixTree;
use super::evidence::LabelCode;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// A transition of a state: `state * symbols + symbol`.
pub(super) type TransitionIndex = usize;

/// A merge that costs more bits than this is not followed to its end.
const HOPELESS: f64 = -60.0;

/// A loss of one pair of nodes that only a code without noise has.
const CONTRADICTION: f64 = -500.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum GraphChange {
    /// The entry of a row was empty or another node.
    Row(u32, u32),
    /// The entry of `links` was this node.
    Link(u32, u32),
    /// Labels of the second node were added to the first, whose likelihood was the number.
    Labels(u32, u32, f64),
}

/// The graph of states with its trees.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MergeGraph<'a> {
    tree: &'a PrefixTree,
    code: &'a LabelCode,
    /// First child of every node, then next sibling of every node. Siblings are sorted by symbol.
    links: Vec<u32>,
    /// Labels of the words that end in a node: `[nodes, classes]`.
    counts: Vec<u32>,
    likelihood: Vec<f64>,
    /// Labels in the tree below a node, itself included.
    mass: Vec<u32>,
    /// The state of a node, or `NONE`.
    state_of: Vec<u32>,
    /// The node of each state.
    pub states: Vec<u32>,
    /// The successors of every state: `[states, symbols]`.
    pub rows: Vec<u32>,
    undo: Vec<GraphChange>,
    pending: Vec<(u32, u32)>,
    /// Pairs of nodes merged so far, tried merges included.
    pub steps: u64,
}

impl<'a> MergeGraph<'a> {
    /// The tree with ε as the only state.
    pub fn new(tree: &'a PrefixTree, code: &'a LabelCode) -> MergeGraph<'a> {
        let nodes = tree.prefixes();
        let mut counts = vec![0; nodes * tree.classes];
        let mut mass = vec![0; nodes];
        for node in (0..nodes).rev() {
            for &(class, n) in tree.labels_of(node as u32) {
                counts[node * tree.classes + class as usize] += n;
                mass[node] += n;
            }
            if node > 0 {
                mass[tree.parent(node as u32) as usize] += mass[node];
            }
        }
        let likelihood = counts.chunks(tree.classes).map(|c| code.log_likelihood(c)).collect();
        let mut fold = MergeGraph {
            tree,
            code,
            links: tree_links(tree),
            counts,
            likelihood,
            mass,
            state_of: vec![NONE; nodes],
            states: vec![],
            rows: vec![],
            undo: vec![],
            pending: vec![],
            steps: 0,
        };
        fold.make_state(0);
        fold
    }

    /// Makes a frontier node a state.
    pub fn promote(&mut self, slot: TransitionIndex) {
        self.make_state(self.rows[slot]);
    }

    fn make_state(&mut self, node: u32) {
        self.state_of[node as usize] = self.states.len() as u32;
        self.states.push(node);
        let row = self.rows.len();
        self.rows.resize(row + self.tree.symbols, NONE);
        let mut child = self.links[node as usize];
        while child != NONE {
            self.rows[row + self.tree.last_symbol(child) as usize] = child;
            child = self.links[self.sibling(child)];
        }
    }

    /// The slots of the frontier, in the order of states and symbols.
    pub fn frontier(&self) -> impl Iterator<Item = TransitionIndex> + '_ {
        (0..self.rows.len()).filter(|&slot| self.is_frontier(slot))
    }

    /// The first slot of the frontier.
    pub fn first_frontier(&self) -> Option<TransitionIndex> {
        self.frontier().next()
    }

    /// The slot of the frontier through which most words pass; the first of equals.
    pub fn busiest(&self) -> Option<TransitionIndex> {
        self.frontier().reduce(|a, b| if self.mass(b) > self.mass(a) { b } else { a })
    }

    /// The cost of a copy, in merged pairs of nodes.
    pub fn copy_steps(&self) -> u64 {
        self.links.len() as u64 / 4
    }

    /// Whether a transition leads to a node that is not a state.
    pub fn is_frontier(&self, slot: TransitionIndex) -> bool {
        let node = self.rows[slot];
        node != NONE && self.state_of[node as usize] == NONE
    }

    /// Labels of the words that pass through a slot's node.
    pub fn mass(&self, slot: TransitionIndex) -> u32 {
        self.mass[self.rows[slot] as usize]
    }

    /// The target state of a transition; `None` if no word shows it.
    pub fn target(&self, slot: TransitionIndex) -> Option<u32> {
        let node = self.rows[slot];
        (node != NONE).then(|| self.state_of[node as usize])
    }

    /// The bits gained by merging a frontier node into a state. The graph stays as it is. A number
    /// below −60 is not exact.
    pub fn gain(&mut self, slot: TransitionIndex, state: u32) -> f64 {
        let gain = self.fold(slot, state, HOPELESS);
        while let Some(undo) = self.undo.pop() {
            self.revert(undo);
        }
        gain
    }

    /// Merges a frontier node into a state.
    pub fn merge(&mut self, slot: TransitionIndex, state: u32) -> f64 {
        let gain = self.fold(slot, state, f64::NEG_INFINITY);
        self.undo.clear();
        gain
    }

    fn fold(&mut self, slot: TransitionIndex, state: u32, hopeless: f64) -> f64 {
        let (root, target) = (self.rows[slot], self.states[state as usize]);
        self.undo.push(GraphChange::Row(slot as u32, root));
        self.rows[slot] = target;
        self.pending.push((target, root));
        let mut gain = 0.0;
        while let Some((into, node)) = self.pending.pop() {
            self.steps += 1;
            if self.likelihood[node as usize] != 0.0 {
                gain += self.join_labels(into, node);
                if gain < hopeless {
                    self.pending.clear();
                    break;
                }
            }
            if hopeless == f64::NEG_INFINITY {
                self.mass[into as usize] += self.mass[node as usize];
            }
            match self.state_of[into as usize] {
                NONE => self.join_children(into, node),
                state => self.join_row(state, node),
            }
        }
        gain
    }

    fn join_labels(&mut self, into: u32, node: u32) -> f64 {
        let (a, b) = (into as usize, node as usize);
        let classes = self.tree.classes;
        for class in 0..classes {
            self.counts[a * classes + class] += self.counts[b * classes + class];
        }
        let before = self.likelihood[a];
        let after = self.code.log_likelihood(&self.counts[a * classes..][..classes]);
        self.likelihood[a] = after;
        self.undo.push(GraphChange::Labels(into, node, before));
        let gain = after - before - self.likelihood[b];
        if gain < CONTRADICTION { f64::NEG_INFINITY } else { gain }
    }

    /// Moves or pairs the children of a node with those of a state.
    fn join_row(&mut self, state: u32, node: u32) {
        let row = state as usize * self.tree.symbols;
        let mut child = self.links[node as usize];
        while child != NONE {
            let slot = row + self.tree.last_symbol(child) as usize;
            match self.rows[slot] {
                NONE => {
                    self.undo.push(GraphChange::Row(slot as u32, NONE));
                    self.rows[slot] = child;
                }
                target => self.pending.push((target, child)),
            }
            child = self.links[self.sibling(child)];
        }
    }

    /// Moves or pairs the children of a node with those of a node that is no state. Both lists are
    /// sorted.
    fn join_children(&mut self, into: u32, node: u32) {
        let mut link = into as usize;
        let mut child = self.links[node as usize];
        while child != NONE {
            let next = self.links[self.sibling(child)];
            let symbol = self.tree.last_symbol(child);
            let mut other = self.links[link];
            while other != NONE && self.tree.last_symbol(other) < symbol {
                link = self.sibling(other);
                other = self.links[link];
            }
            if other != NONE && self.tree.last_symbol(other) == symbol {
                self.pending.push((other, child));
            } else {
                let own = self.sibling(child);
                self.set_link(own, other);
                self.set_link(link, child);
                link = own;
            }
            child = next;
        }
    }

    fn sibling(&self, node: u32) -> usize {
        self.tree.prefixes() + node as usize
    }

    fn set_link(&mut self, link: usize, node: u32) {
        self.undo.push(GraphChange::Link(link as u32, self.links[link]));
        self.links[link] = node;
    }

    fn revert(&mut self, undo: GraphChange) {
        match undo {
            GraphChange::Row(slot, node) => self.rows[slot as usize] = node,
            GraphChange::Link(link, node) => self.links[link as usize] = node,
            GraphChange::Labels(into, node, likelihood) => {
                let classes = self.tree.classes;
                for class in 0..classes {
                    self.counts[into as usize * classes + class] -=
                        self.counts[node as usize * classes + class];
                }
                self.likelihood[into as usize] = likelihood;
            }
        }
    }
}

fn tree_links(tree: &PrefixTree) -> Vec<u32> {
    let nodes = tree.prefixes();
    let mut links = vec![NONE; 2 * nodes];
    for node in (1..nodes).rev() {
        let parent = tree.parent(node as u32) as usize;
        links[nodes + node] = links[parent];
        links[parent] = node as u32;
    }
    links
}

#[cfg(test)]
mod tests {
    use super::super::tests::{noisy_words, random_automaton};
    use super::*;
    use crate::random::stream;

    #[test]
    fn a_merge_that_is_tried_leaves_the_graph_as_it_was_and_gains_what_the_merge_gains() {
        for seed in 0..20 {
            let mut bits = stream(seed);
            let truth = random_automaton(5, 2 + seed as usize % 3, &mut bits);
            let tree = noisy_words(&truth, 60, 9, 0.1, &mut bits).0;
            let code = LabelCode::new(&tree.class_counts(), 0.1);
            let mut graph = MergeGraph::new(&tree, &code);
            while let Some(slot) = graph.busiest() {
                let state = (bits() % graph.states.len() as u64) as u32;
                let before = graph.clone();
                let gain = graph.gain(slot, state);
                graph.steps = before.steps;
                assert_eq!(graph, before);
                match bits() % 3 {
                    0 => graph.promote(slot),
                    _ => {
                        let merged = graph.merge(slot, state);
                        assert!(gain < HOPELESS || (gain - merged).abs() < 1e-9);
                    }
                }
            }
            let labels: u32 = graph
                .states
                .iter()
                .flat_map(|&node| &graph.counts[node as usize * tree.classes..][..tree.classes])
                .sum();
            assert_eq!(labels as usize, tree.labels, "every label ends in a state");
        }
    }

    #[test]
    fn without_noise_a_contradiction_makes_a_merge_impossible() {
        let mut words = super::super::LabelledWords::default();
        words.add([], 0);
        words.add([crate::Symbol(0)], 1);
        words.add([crate::Symbol(0); 2], 0);
        let tree = PrefixTree::new(1, 2, &words).unwrap();
        let code = LabelCode::new(&tree.class_counts(), 0.0);
        let mut graph = MergeGraph::new(&tree, &code);
        assert_eq!(graph.gain(0, 0), f64::NEG_INFINITY);
        graph.promote(0);
        assert!(graph.gain(1, 0) > 0.0);
        graph.merge(1, 0);
        assert_eq!((graph.target(0), graph.target(1)), (Some(1), Some(0)));
    }
}
