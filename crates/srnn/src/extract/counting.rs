//! The paper's algorithm: run the network over words, count which centroid follows which under
//! each symbol, keep the most frequent.
//!
//! PAPER: the text moves the network to the most probable centroid and goes on from there; the
//! authors' code lets the mixture run on and only counts its most probable centroids. Both are
//! this function, on different traces: `Transition::Argmax` is the text, `Transition::Mixture` the
//! code. They give different automata wherever the mixture weights carry information.
//!
//! PAPER: acceptance is not written down there. Here a state's class is what the classifier says
//! on the bare centroid of the top layer, or after the end token's cell application from the bare
//! centroids. A classifier that reads u without an end token is refused.

use super::answers::{batches, largest};
use super::machine::centroid_counts;
use super::{Extracted, Memoryless, Place, Refusal, Words};
use crate::engine::Real;
use crate::engine::{Batch, Fields, Inputs, Mode, Runner, Trace};
use crate::model::Arch;
use srnn_automata::{Partial, State};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// T[(i, x, j)]: how often each transition was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Where rows stood when they read their first symbol: after the start token, or outside.
    pub starts: BTreeMap<Place, u64>,
    /// The transitions seen.
    pub moves: BTreeMap<Move, u64>,
}

/// One transition (i, x, j).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// i.
    pub from: Place,
    /// x.
    pub symbol: u32,
    /// j.
    pub to: Place,
}

/// The automaton of the most frequent transitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// One state per place seen; pairs never seen are unknown.
    pub extracted: Extracted,
    /// Where the most frequent transition was not the only one; the first place was taken.
    pub ties: Vec<Tie>,
}

/// Several most frequent successors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tie {
    /// Where the transitions start.
    pub from: Place,
    /// Their symbol.
    pub symbol: u32,
    /// Where they lead; the first is the one kept.
    pub to: Vec<Place>,
    /// How often each was seen.
    pub count: u64,
}

/// Adds the transitions of a batch. The trace needs α. Start tokens lead to the start place, and
/// end tokens, which take no stochastic step, are not counted. Networks with a cell state can be
/// counted too, but give no automaton.
///
/// # Panics
/// If the trace is not of this batch, or has no α.
pub fn count<F: Real>(
    arch: &Arch,
    batch: &Batch,
    trace: &Trace<F>,
    counts: &mut Counts,
) -> Result<(), Refusal> {
    let k = centroid_counts(arch)?;
    let Inputs::Tokens(ids) = &batch.input else {
        return Err(Refusal::RealInput { width: arch.input.width() });
    };
    for (layer, &k) in trace.layers.iter().zip(&k) {
        assert_eq!(layer.alpha.len(), batch.steps() * k, "a trace of this batch with its α");
    }
    let place = |n: usize| {
        let alphas = trace.layers.iter().zip(&k).map(|(layer, &k)| &layer.alpha[n * k..][..k]);
        Place::At(alphas.map(|alpha| largest(alpha) as u32).collect())
    };
    for b in 0..batch.rows() {
        let mut steps = batch.row(b).filter(|&n| Some(ids[n]) != arch.input.end());
        let mut from = match arch.input.start() {
            Some(_) => place(steps.next().expect("a row with its start token")),
            None => Place::Outside,
        };
        *counts.starts.entry(from.clone()).or_default() += 1;
        for n in steps {
            let to = place(n);
            let step = Move { from, symbol: ids[n], to: to.clone() };
            *counts.moves.entry(step).or_default() += 1;
            from = to;
        }
    }
    Ok(())
}

/// Runs words through an engine and counts: `Mode::default()` is the authors' code, a mode with
/// `Transition::Argmax` the paper's text.
pub fn count_words<F: Real, E: Runner<F, Error = Infallible> + ?Sized>(
    engine: &mut E,
    words: &Words,
    mode: Mode,
) -> Result<Counts, Refusal> {
    let arch = engine.arch().clone();
    let fields = Fields { alpha: true, ..Fields::default() };
    let mut counts = Counts::default();
    for batch in batches(&arch, words) {
        let Ok(trace) = engine.trace(&batch, mode, fields);
        count(&arch, &batch, &trace, &mut counts)?;
    }
    Ok(counts)
}

/// δ(i, x) = argmax_j T[(i, x, j)]; the first place where several are equally frequent.
pub fn automaton_of_counts(counts: &Counts, machine: &Memoryless) -> Result<Counted, Refusal> {
    let start = most_frequent(counts.starts.iter()).ok_or(Refusal::NothingCounted)?.0[0].clone();
    let places: BTreeSet<&Place> =
        counts.starts.keys().chain(counts.moves.keys().flat_map(|m| [&m.from, &m.to])).collect();
    let places: Vec<Place> = places.into_iter().cloned().collect();
    let number = |place: &Place| State(places.binary_search(place).expect("a place seen") as u32);
    let outputs: Vec<u32> =
        places.iter().map(|place| machine.decide_at(place)).collect::<Result<_, _>>()?;
    let symbols = machine.alphabet().len();
    let mut table = vec![None; places.len() * symbols];
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
    let automaton = Partial::new(machine.alphabet().clone(), start, outputs, table)
        .expect("every place is numbered");
    Ok(Counted { extracted: Extracted::new(places, automaton), ties })
}

/// The transitions of each (i, x), in order.
fn by_source(counts: &Counts) -> BTreeMap<(&Place, u32), Vec<(&Place, &u64)>> {
    let mut sources: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (step, count) in &counts.moves {
        sources.entry((&step.from, step.symbol)).or_default().push((&step.to, count));
    }
    sources
}

/// The places with the largest count, in order, and that count.
fn most_frequent<'a>(
    counts: impl Iterator<Item = (&'a Place, &'a u64)> + Clone,
) -> Option<(Vec<&'a Place>, u64)> {
    let largest = *counts.clone().map(|(_, count)| count).max()?;
    let places = counts.filter(|&(_, &count)| count == largest).map(|(place, _)| place);
    Some((places.collect(), largest))
}
