//! Theorem 3.1: a memory-less network that samples its next centroid (Eq. 5) is a probabilistic
//! automaton with one stochastic matrix per symbol.

use super::transition_system::centroid_counts;
use super::{CentroidState, ExtractError, TransitionSystem};
use crate::engine::Mode;
use crate::engine::reference::{Network, NetworkState};
use srnn_automata::Symbol;

/// A probabilistic automaton of n states.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbabilisticAutomaton {
    /// All tuples of centroids in lexicographic order. Without a start token, the initial state
    /// follows as the last one.
    pub states: Vec<CentroidState>,
    /// Distribution of the start state `[n]`: α after the start token, or the initial state.
    pub initial: Vec<f64>,
    /// P_x `[n,n]` for every symbol x, row-major: row i is the distribution of the successor of
    /// state i under x.
    pub transitions: Vec<Vec<f64>>,
    /// The class of words that end in each state `[n]`, as in counting.
    pub outputs: Vec<u32>,
}

/// The automaton of a network that samples, with all temperatures multiplied by `tau`. Fails if it
/// would have more than `cap` tuples.
pub fn probabilistic_automaton(
    system: &TransitionSystem,
    tau: f64,
    cap: usize,
) -> Result<ProbabilisticAutomaton, ExtractError> {
    let network = system.network();
    let mode = Mode { tau, ..Mode::default() };
    let states = states(system, cap)?;
    let points: Vec<NetworkState> = states.iter().map(|state| system.state_at(state)).collect();
    let row = |state: &NetworkState, token| successors(&network, state, token, mode, states.len());
    let initial = match system.arch().input.start() {
        Some(token) => row(&network.initial(), token),
        None => (1..=states.len()).map(|i| f64::from(i == states.len())).collect(),
    };
    let matrix = |x: Symbol| points.iter().flat_map(|state| row(state, x.0)).collect();
    let transitions = system.alphabet().symbols().map(matrix).collect();
    let outputs = states.iter().map(|state| system.classify_centroids(state));
    let outputs = outputs.collect::<Result<_, _>>()?;
    Ok(ProbabilisticAutomaton { states, initial, transitions, outputs })
}

impl ProbabilisticAutomaton {
    /// The distribution over states after a word `[n]`: `initial · P_{x1} · P_{x2} · …`.
    pub fn distribution(&self, word: &[Symbol]) -> Vec<f64> {
        word.iter().fold(self.initial.clone(), |p, x| {
            let n = p.len();
            let mut next = vec![0.0; n];
            for (p, row) in p.iter().zip(self.transitions[x.index()].chunks_exact(n)) {
                next.iter_mut().zip(row).for_each(|(next, q)| *next += p * q);
            }
            next
        })
    }

    /// The probability that the sampling network gives `class` to a word.
    pub fn probability(&self, word: &[Symbol], class: u32) -> f64 {
        let ends = self.distribution(word).into_iter().zip(&self.outputs);
        ends.filter(|&(_, &output)| output == class).map(|(p, _)| p).sum()
    }
}

fn states(system: &TransitionSystem, cap: usize) -> Result<Vec<CentroidState>, ExtractError> {
    let k = centroid_counts(system.arch())?;
    let size = k.iter().fold(1usize, |n, &k| n.saturating_mul(k));
    if size > cap {
        return Err(ExtractError::TooManyTuples { tuples: size, cap });
    }
    let mut tuples = vec![vec![]];
    for &k in &k {
        let longer = |tuple: &Vec<u32>, i| [tuple.as_slice(), &[i]].concat();
        tuples = tuples.iter().flat_map(|t| (0..k as u32).map(move |i| longer(t, i))).collect();
    }
    let initial = system.arch().input.start().is_none().then_some(CentroidState::Initial);
    Ok(tuples.into_iter().map(CentroidState::Tuple).chain(initial).collect())
}

/// One row of P_x. Each layer samples from its α, given the sample of the layer below. The tuples
/// are in lexicographic order. The initial state, if it is one of the states, is never re-entered.
fn successors(
    network: &Network<'_>,
    state: &NetworkState,
    token: u32,
    mode: Mode,
    n: usize,
) -> Vec<f64> {
    let mut reached = vec![(1.0, network.embedding(token))];
    for (l, h) in state.h.iter().enumerate() {
        let branch = |&(p, x): &(f64, _)| {
            let alpha = network.probabilities(l, x, h, mode).into_iter().enumerate();
            alpha.map(move |(j, a)| (p * a, network.centroid(l, j as u32)))
        };
        reached = reached.iter().flat_map(branch).collect();
    }
    let mut row: Vec<f64> = reached.into_iter().map(|(p, _)| p).collect();
    row.resize(n, 0.0);
    row
}
