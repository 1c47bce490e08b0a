//! Beam search over merges: several partial automata are kept, and the choices of all of them compete.
//!
//! One wrong merge among the first makes all later evidence worthless, so red-blue merging fails where
//! a wrong merge looks as good as the right one. Here both stay, and what they gain later decides.

use super::graph::{MergeGraph, TransitionIndex};

/// Limits of a beam search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BeamRule {
    /// Partial automata that are kept.
    pub width: usize,
    /// Automata with more states are dropped.
    pub states: usize,
    /// Pairs of nodes that may be merged or copied.
    pub steps: u64,
}

/// A partial automaton and the bits that its merges gained.
struct Hypothesis<'a> {
    graph: MergeGraph<'a>,
    gain: f64,
}

/// One choice for a hypothesis.
struct Extension {
    parent: usize,
    slot: TransitionIndex,
    /// The state to merge into; `None` to promote.
    merge: Option<u32>,
    gain: f64,
}

/// The complete automata of the beam, best first; none if every one has too many states or the steps
/// are used up. The second result is the number of steps.
///
/// Every hypothesis decides the frontier node through which most words pass.
pub(super) fn beam_search<'a>(
    graph: MergeGraph<'a>,
    rule: &BeamRule,
) -> (Vec<MergeGraph<'a>>, u64) {
    let mut beam = vec![Hypothesis { graph, gain: 0.0 }];
    let mut complete: Vec<Hypothesis> = vec![];
    let mut steps = 0;
    while !beam.is_empty() && steps < rule.steps {
        let mut extensions = vec![];
        for (parent, hypothesis) in beam.iter_mut().enumerate() {
            let before = hypothesis.graph.steps;
            extend(hypothesis, parent, rule, &mut extensions);
            steps += hypothesis.graph.steps - before;
        }
        extensions.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        extensions.truncate(rule.width);
        extensions.sort_by_key(|extension| extension.parent);
        (beam, steps) = next_beam(beam, extensions, &mut complete, steps);
    }
    complete.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    (complete.into_iter().map(|hypothesis| hypothesis.graph).collect(), steps)
}

/// Adds all choices of a hypothesis for its next frontier node; none if there is no frontier.
fn extend(
    hypothesis: &mut Hypothesis,
    parent: usize,
    rule: &BeamRule,
    extensions: &mut Vec<Extension>,
) {
    let graph = &mut hypothesis.graph;
    let Some(slot) = graph.busiest() else { return };
    for state in 0..graph.states.len() as u32 {
        let gain = hypothesis.gain + graph.gain(slot, state);
        if gain > hypothesis.gain - LARGEST_LOSS {
            extensions.push(Extension { parent, slot, merge: Some(state), gain });
        }
    }
    if graph.states.len() < rule.states {
        extensions.push(Extension { parent, slot, merge: None, gain: hypothesis.gain });
    }
}

/// A merge that loses more bits is not considered.
const LARGEST_LOSS: f64 = 50.0;

/// Applies the extensions, which are sorted by parent. Hypotheses without a frontier are complete.
fn next_beam<'a>(
    beam: Vec<Hypothesis<'a>>,
    extensions: Vec<Extension>,
    complete: &mut Vec<Hypothesis<'a>>,
    mut steps: u64,
) -> (Vec<Hypothesis<'a>>, u64) {
    let mut extensions = extensions.into_iter().peekable();
    let mut next = vec![];
    for (parent, hypothesis) in beam.into_iter().enumerate() {
        if hypothesis.graph.busiest().is_none() {
            complete.push(hypothesis);
            continue;
        }
        let mut last = Some(hypothesis.graph);
        while let Some(extension) = extensions.next_if(|e| e.parent == parent) {
            let more = extensions.peek().is_some_and(|e| e.parent == parent);
            let graph = match more {
                true => last.clone(),
                false => last.take(),
            };
            let mut graph = graph.expect("taken by the last extension only");
            steps += if more { graph.copy_steps() } else { 0 };
            match extension.merge {
                Some(state) => _ = graph.merge(extension.slot, state),
                None => graph.promote(extension.slot),
            }
            next.push(Hypothesis { graph, gain: extension.gain });
        }
    }
    (next, steps)
}
