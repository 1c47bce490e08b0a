//! The paper's algorithm: run the network over words, count which centroid follows which under
//! each symbol, keep the most frequent.
//!
//! PAPER: the text moves the network to the most probable centroid and goes on from there. The
//! authors' code feeds the mixture back and only counts its most probable centroids. Both are
//! [`count_trace`] on different traces: `Transition::Argmax` is the text, `Transition::Mixture` the
//! code. They give different automata where the mixture weights carry information.
//!
//! PAPER: acceptance is not specified. Here the class of a state is that of the classifier on the
//! bare centroid of the top layer, or after the end token's cell application from the bare centroids.
//! A classifier that reads u without an end token is refused.

use super::classify::{batches, largest};
use super::transition_system::centroid_counts;
use super::{CentroidState, ExtractError, ExtractedAutomaton, TransitionSystem, WordSet};
use crate::engine::Real;
use crate::engine::{Batch, Fields, Inputs, Mode, Runner, Trace};
use crate::model::Arch;
use srnn_automata::{Partial, State};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// T[(i, x, j)]: the number of times each transition was observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransitionCounts {
    /// States before the first symbol of a row: after the start token, or the initial state.
    pub starts: BTreeMap<CentroidState, u64>,
    /// Observed transitions.
    pub transitions: BTreeMap<CountedTransition, u64>,
}

/// One transition (i, x, j).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedTransition {
    /// i.
    pub from: CentroidState,
    /// x.
    pub symbol: u32,
    /// j.
    pub to: CentroidState,
}

/// The automaton of the most frequent transitions.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedAutomaton {
    /// One state per centroid state observed. Transitions never observed are unknown.
    pub extracted: ExtractedAutomaton,
    /// The pairs (i, x) with several most frequent successors. The first successor was taken.
    pub ties: Vec<Tie>,
}

/// Several most frequent successors of a state and a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tie {
    /// The state.
    pub from: CentroidState,
    /// The symbol.
    pub symbol: u32,
    /// The successors; the first one was taken.
    pub to: Vec<CentroidState>,
    /// How often each was observed.
    pub count: u64,
}

/// Adds the transitions of a batch to `counts`. The trace must contain α. Start tokens lead to the
/// start state. End tokens take no stochastic step and are not counted. Networks with a cell state
/// can be counted, but have no automaton.
///
/// # Panics
/// If the trace is not of this batch, or has no α.
pub fn count_trace<F: Real>(
    arch: &Arch,
    batch: &Batch,
    trace: &Trace<F>,
    counts: &mut TransitionCounts,
) -> Result<(), ExtractError> {
    let k = centroid_counts(arch)?;
    let Inputs::Tokens(ids) = &batch.input else {
        return Err(ExtractError::RealInput { width: arch.input.width() });
    };
    for (layer, &k) in trace.layers.iter().zip(&k) {
        assert_eq!(layer.alpha.len(), batch.steps() * k, "a trace of this batch with its α");
    }
    let state_at = |n: usize| {
        let alphas = trace.layers.iter().zip(&k).map(|(layer, &k)| &layer.alpha[n * k..][..k]);
        CentroidState::Tuple(alphas.map(|alpha| largest(alpha) as u32).collect())
    };
    for b in 0..batch.rows() {
        let mut steps = batch.row(b).filter(|&n| Some(ids[n]) != arch.input.end());
        let mut from = match arch.input.start() {
            Some(_) => state_at(steps.next().expect("a row with its start token")),
            None => CentroidState::Initial,
        };
        *counts.starts.entry(from.clone()).or_default() += 1;
        for n in steps {
            let to = state_at(n);
            let transition = CountedTransition { from, symbol: ids[n], to: to.clone() };
            *counts.transitions.entry(transition).or_default() += 1;
            from = to;
        }
    }
    Ok(())
}

/// Runs words through an engine and counts the transitions. `Mode::default()` is the authors' code,
/// a mode with `Transition::Argmax` the paper's text.
pub fn count_transitions<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    words: &WordSet,
    mode: Mode,
) -> Result<TransitionCounts, ExtractError> {
    let arch = engine.arch().clone();
    let fields = Fields { alpha: true, ..Fields::default() };
    let mut counts = TransitionCounts::default();
    for batch in batches(&arch, words) {
        let Ok(trace) = engine.trace(&batch, mode, fields);
        count_trace(&arch, &batch, &trace, &mut counts)?;
    }
    Ok(counts)
}

/// δ(i, x) = argmax_j T[(i, x, j)]; the first of several equally frequent j.
pub fn automaton_from_counts(
    counts: &TransitionCounts,
    system: &TransitionSystem,
) -> Result<CountedAutomaton, ExtractError> {
    let start = most_frequent(counts.starts.iter()).ok_or(ExtractError::NoWords)?.0[0].clone();
    let observed: BTreeSet<&CentroidState> = counts
        .starts
        .keys()
        .chain(counts.transitions.keys().flat_map(|t| [&t.from, &t.to]))
        .collect();
    let states: Vec<CentroidState> = observed.into_iter().cloned().collect();
    let number =
        |state: &CentroidState| State(states.binary_search(state).expect("observed") as u32);
    let outputs: Vec<u32> =
        states.iter().map(|state| system.classify_centroids(state)).collect::<Result<_, _>>()?;
    let symbols = system.alphabet().len();
    let mut table = vec![None; states.len() * symbols];
    let mut ties = Vec::new();
    for ((from, symbol), targets) in by_source(counts) {
        let (to, count) = most_frequent(targets.into_iter()).expect("a source has a target");
        table[number(from).index() * symbols + symbol as usize] = Some(number(to[0]));
        if to.len() > 1 {
            let to = to.into_iter().cloned().collect();
            ties.push(Tie { from: from.clone(), symbol, to, count });
        }
    }
    let start = number(&start);
    let automaton = Partial::new(system.alphabet().clone(), start, outputs, table)
        .expect("every target is one of the states");
    Ok(CountedAutomaton { extracted: ExtractedAutomaton::new(states, automaton), ties })
}

/// The observed targets of each (i, x) with their counts, in order.
fn by_source(
    counts: &TransitionCounts,
) -> BTreeMap<(&CentroidState, u32), Vec<(&CentroidState, &u64)>> {
    let mut sources: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (transition, count) in &counts.transitions {
        let source = (&transition.from, transition.symbol);
        sources.entry(source).or_default().push((&transition.to, count));
    }
    sources
}

/// The states with the largest count, in order, and that count.
fn most_frequent<'a>(
    counts: impl Iterator<Item = (&'a CentroidState, &'a u64)> + Clone,
) -> Option<(Vec<&'a CentroidState>, u64)> {
    let largest = *counts.clone().map(|(_, count)| count).max()?;
    let states = counts.filter(|&(_, &count)| count == largest).map(|(state, _)| state);
    Some((states.collect(), largest))
}
