//! Red-blue state merging: the frontier of the states is merged into them or promoted, one node at a
//! time, in an order that the evidence gives. No decision is taken back.

use super::graph::{MergeGraph, NONE, TransitionIndex};

/// Which frontier node is decided next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeOrder {
    /// The merge with the most evidence; nodes that no state explains are promoted first (EDSM).
    Evidence,
    /// The decision with the largest lead over its second best alternative.
    Lead,
    /// The node through which most words pass.
    Traffic,
    /// The first node in length-lexicographic order, merged into the first state that fits (RPNI).
    Shortlex,
}

/// How one run of merging decides.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RedBlueRule {
    pub order: MergeOrder,
    /// Frontier nodes compared with one another: those through which most words pass.
    pub window: usize,
    /// The run fails at more states.
    pub states: usize,
    /// The run fails after so many merged pairs of nodes.
    pub steps: u64,
}

/// Evidence that a merge needs, in bits. Below it the node is promoted.
const THRESHOLD: f64 = 0.0;

/// A frontier node and what its merges gain.
#[derive(Clone, Debug)]
struct FrontierNode {
    slot: TransitionIndex,
    /// Gain of a merge into each state.
    gains: Vec<f64>,
    /// Number of merges made when the gains were computed.
    age: u32,
}

/// The best decision for one frontier node.
#[derive(Clone, Copy, Debug)]
struct MergeDecision {
    slot: TransitionIndex,
    /// The state to merge into; `None` to promote.
    merge: Option<u32>,
    priority: f64,
}

/// Merges until no frontier is left. Returns whether the limits sufficed.
pub(super) fn merge_all(graph: &mut MergeGraph, rule: &RedBlueRule) -> bool {
    let mut run = RedBlueRun { nodes: vec![], merges: 0 };
    while graph.steps < rule.steps && graph.states.len() <= rule.states {
        let decided = match rule.order {
            MergeOrder::Shortlex => merge_first(graph),
            _ => run.merge_next(graph, rule),
        };
        if !decided {
            return true;
        }
    }
    false
}

/// RPNI: decides the first frontier node. States are in length-lexicographic order. Returns whether
/// there is a frontier.
fn merge_first(graph: &mut MergeGraph) -> bool {
    let Some(slot) = graph.first_frontier() else { return false };
    let mut states = 0..graph.states.len() as u32;
    match states.find(|&state| graph.gain(slot, state) >= THRESHOLD) {
        Some(state) => _ = graph.merge(slot, state),
        None => graph.promote(slot),
    }
    true
}

struct RedBlueRun {
    nodes: Vec<FrontierNode>,
    merges: u32,
}

impl RedBlueRun {
    /// Returns whether there is a frontier.
    fn merge_next(&mut self, graph: &mut MergeGraph, rule: &RedBlueRule) -> bool {
        self.refill(graph, rule.window);
        let Some(decision) = self.best(graph, rule.order) else { return false };
        match decision.merge {
            Some(state) => {
                graph.merge(decision.slot, state);
                self.merges += 1;
            }
            None => graph.promote(decision.slot),
        }
        true
    }

    /// Fills the window, and computes the gains of merges into new states.
    fn refill(&mut self, graph: &mut MergeGraph, window: usize) {
        self.nodes.retain(|node| graph.is_frontier(node.slot));
        let mut frontier: Vec<TransitionIndex> = graph.frontier().collect();
        if frontier.len() > window {
            frontier.select_nth_unstable_by_key(window, |&s| (u32::MAX - graph.mass(s), s));
            frontier.truncate(window);
            frontier.sort_unstable();
        }
        for slot in frontier {
            if !self.nodes.iter().any(|node| node.slot == slot) {
                self.nodes.push(FrontierNode { slot, gains: vec![], age: self.merges });
            }
        }
        for node in &mut self.nodes {
            for state in node.gains.len()..graph.states.len() {
                node.gains.push(graph.gain(node.slot, state as u32));
            }
        }
    }

    /// The decision with the highest priority. Gains change slowly, so only those of the leading
    /// nodes are computed again. A merge that is impossible stays impossible.
    fn best(&mut self, graph: &mut MergeGraph, order: MergeOrder) -> Option<MergeDecision> {
        loop {
            let decisions = self.nodes.iter().map(|node| decide(graph, node, order));
            let (index, best) = decisions.enumerate().reduce(|best, next| {
                let (a, b) = (best.1, next.1);
                if (b.priority, a.slot) > (a.priority, b.slot) { next } else { best }
            })?;
            let node = &mut self.nodes[index];
            if node.age == self.merges {
                return Some(best);
            }
            node.age = self.merges;
            for (state, gain) in node.gains.iter_mut().enumerate() {
                if *gain > f64::NEG_INFINITY {
                    *gain = graph.gain(node.slot, state as u32);
                }
            }
        }
    }
}

fn decide(graph: &MergeGraph, node: &FrontierNode, order: MergeOrder) -> MergeDecision {
    let (mut best, mut second) = ((NONE, f64::NEG_INFINITY), f64::NEG_INFINITY);
    for (state, &gain) in node.gains.iter().enumerate() {
        if gain > best.1 {
            second = best.1;
            best = (state as u32, gain);
        } else if gain > second {
            second = gain;
        }
    }
    let merges = best.0 != NONE && best.1 >= THRESHOLD;
    let mass = f64::from(graph.mass(node.slot));
    let against = (THRESHOLD - best.1).min(DECISIVE) + mass * MASS_WEIGHT;
    let priority = match (order, merges) {
        (MergeOrder::Traffic | MergeOrder::Shortlex, _) => mass,
        (MergeOrder::Evidence, true) => best.1,
        (MergeOrder::Evidence, false) => f64::from(u32::MAX) + against,
        (MergeOrder::Lead, true) => (best.1 - second.max(THRESHOLD)) + mass * MASS_WEIGHT,
        (MergeOrder::Lead, false) => against,
    };
    MergeDecision { slot: node.slot, merge: merges.then_some(best.0), priority }
}

/// Bits above which evidence against all merges is no more than certain.
const DECISIVE: f64 = 1e6;

/// The number of words decides between nodes with equal evidence.
const MASS_WEIGHT: f64 = 1e-6;
