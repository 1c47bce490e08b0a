//! An automaton with probabilities: the states of a hardened SR-GRU, and what followed in each of
//! them in the training set.
//!
//! The network gives the states and the transitions; counts give the probabilities. Whether the soft
//! network follows these states is another question: the automaton is a model of its own, with its
//! own score.

use crate::engine::reference::NetworkState;
use crate::engine::{Mode, Transition};
use crate::extract::{CentroidState, ExtractError, TransitionSystem};
use crate::model::Model;
use crate::task::{TokenSequences, targets_of};
use serde::{Deserialize, Serialize};
use srnn_automata::{Alphabet, Symbol};
use std::collections::BTreeMap;

/// An automaton with the counts of what followed in each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenAutomaton {
    /// V: the number of tokens, the end included.
    pub tokens: usize,
    /// The states, the start first, then in the order in which the training set visits them. States
    /// without followers, which it does not visit, come last.
    pub states: Vec<TokenState>,
    /// The frequencies of the tokens in the training set `[V]`, which smooth the counts.
    pub frequencies: Vec<f64>,
}

/// A state of an automaton with probabilities.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenState {
    /// The state after each token but the end `[V-1]`.
    pub next: Vec<u32>,
    /// The tokens that followed, with their counts, ascending.
    pub followers: Vec<(u32, u64)>,
}

/// The weight of the frequencies of all tokens in the probabilities of a state.
const SMOOTHING: f64 = 0.1;

/// More transitions are not computed.
const MAX_TRANSITIONS: usize = 200_000;

impl TokenAutomaton {
    /// The automaton of the most probable centroids of a network, with counts from the training set.
    ///
    /// # Errors
    /// If the network has no finite states, or too many of them.
    pub fn extract(
        model: &Model<f32>,
        train: &TokenSequences,
        frequencies: Vec<f64>,
    ) -> Result<TokenAutomaton, ExtractError> {
        let model = model.to_f64();
        let alphabet = Alphabet::new(train.alphabet.to_vec()).expect("tokens have unique names");
        let system = TransitionSystem::new(&model, &alphabet)?;
        let next = explore(&system, train.end(), MAX_TRANSITIONS / train.alphabet.len())?;
        let states = next.into_iter().map(|next| TokenState { next, followers: vec![] }).collect();
        let mut automaton = TokenAutomaton { tokens: train.alphabet.len(), states, frequencies };
        let visited = automaton.count(train);
        automaton.renumber(&visited);
        Ok(automaton)
    }

    /// The number of states that the training set visits.
    pub fn visited(&self) -> usize {
        self.states.iter().filter(|state| !state.followers.is_empty()).count()
    }

    /// The states in which the tokens of a sequence and its end are predicted.
    pub fn states_of(&self, sequence: &[u32]) -> impl Iterator<Item = u32> {
        let step = |state: &mut u32, &token: &u32| {
            *state = self.states[*state as usize].next[token as usize];
            Some(*state)
        };
        std::iter::once(0).chain(sequence.iter().scan(0, step))
    }

    /// The probability of every token in a state `[V]`.
    pub fn distribution(&self, state: u32) -> Vec<f64> {
        let followers = &self.states[state as usize].followers;
        let smoothing = SMOOTHING * followers.len().max(1) as f64;
        let total: f64 = followers.iter().map(|&(_, count)| count as f64).sum::<f64>() + smoothing;
        let mut distribution: Vec<f64> =
            self.frequencies.iter().map(|p| p * smoothing / total).collect();
        for &(token, count) in followers {
            distribution[token as usize] += count as f64 / total;
        }
        distribution
    }

    /// Counts the training set. Returns the states in the order of their first visit.
    fn count(&mut self, train: &TokenSequences) -> Vec<u32> {
        let mut counts: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); self.states.len()];
        let mut order = vec![];
        for sequence in &train.sequences {
            for (state, target) in self.states_of(sequence).zip(targets_of(sequence, train.end())) {
                if counts[state as usize].is_empty() {
                    order.push(state);
                }
                *counts[state as usize].entry(target).or_default() += 1;
            }
        }
        for (state, counts) in self.states.iter_mut().zip(counts) {
            state.followers = counts.into_iter().collect();
        }
        order
    }

    /// Numbers the visited states in the order of their visits, and the others after them.
    fn renumber(&mut self, visited: &[u32]) {
        let others = (0..self.states.len() as u32).filter(|state| !visited.contains(state));
        let order: Vec<u32> = visited.iter().copied().chain(others).collect();
        let mut new = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&old, number)| new[old as usize] = number);
        let renumbered = |&old: &u32| {
            let state = &self.states[old as usize];
            let next = state.next.iter().map(|&to| new[to as usize]).collect();
            TokenState { next, followers: state.followers.clone() }
        };
        self.states = order.iter().map(renumbered).collect();
    }

    /// What is wrong with an automaton from a file, if anything.
    pub(super) fn inconsistency(&self) -> Option<&'static str> {
        let TokenAutomaton { tokens, states, frequencies } = self;
        let token = |&(id, _): &(u32, u64)| (id as usize) < *tokens;
        let good = |state: &TokenState| {
            state.next.len() + 1 == *tokens
                && state.next.iter().all(|&to| (to as usize) < states.len())
                && state.followers.iter().all(token)
        };
        match () {
            () if states.is_empty() || !states.iter().all(good) => Some("a state is not valid"),
            () if frequencies.len() != *tokens => Some("the number of frequencies differs"),
            () if !frequencies.iter().all(|p| (0.0..=1.0).contains(p)) => {
                Some("a frequency is not a fraction")
            }
            () => None,
        }
    }
}

/// The successor of every reachable state for every token but the end, the start first.
fn explore(
    system: &TransitionSystem<'_>,
    end: u32,
    cap: usize,
) -> Result<Vec<Vec<u32>>, ExtractError> {
    let mode = Mode { transition: Transition::Argmax, ..Mode::default() };
    let start = system.next(&system.start(mode), Symbol(end), mode);
    let mut ids = BTreeMap::from([(CentroidState::of(&start), 0)]);
    let mut states: Vec<NetworkState> = vec![start];
    let mut next: Vec<Vec<u32>> = vec![];
    while let Some(state) = states.get(next.len()).cloned() {
        let mut row = Vec::with_capacity(end as usize);
        for token in 0..end {
            let to = system.next(&state, Symbol(token), mode);
            let id = *ids.entry(CentroidState::of(&to)).or_insert(states.len() as u32);
            if id as usize == states.len() {
                states.push(to);
            }
            row.push(id);
        }
        next.push(row);
        if states.len() > cap {
            return Err(ExtractError::TooManyStates { cap, pending: states.len() - next.len() });
        }
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::super::testing::sequences;
    use super::*;
    use crate::key::Key;
    use crate::model::Init;
    use crate::train::{ArchName, Sizes, recipe_corpus};

    fn network(arch: ArchName, k: usize) -> Model<f32> {
        let sizes = Sizes { units: 6, k, ..Sizes::corpus(arch, 4) };
        Model::new(recipe_corpus(&sizes).arch, &Init::default(), Key::new(2)).unwrap()
    }

    #[test]
    fn states_are_those_of_the_hard_network_and_probabilities_are_counts() {
        let train = sequences(&["abab", "ab", "b", ""]);
        let frequencies = vec![0.25; 4];
        let model = network(ArchName::SrGru, 5);
        let automaton = TokenAutomaton::extract(&model, &train, frequencies).unwrap();
        assert!(automaton.states.len() <= 5 && automaton.visited() >= 1);
        assert_eq!(automaton.inconsistency(), None);
        let counted: u64 =
            automaton.states.iter().flat_map(|s| &s.followers).map(|&(_, count)| count).sum();
        assert_eq!(counted, 4 + 2 + 1 + 4, "tokens and ends");
        // The states of a sequence separate the centroids that the hard network is in.
        let mode = Mode { transition: Transition::Argmax, ..Mode::default() };
        let (model, alphabet) = (model.to_f64(), Alphabet::new(train.alphabet.to_vec()).unwrap());
        let system = TransitionSystem::new(&model, &alphabet).unwrap();
        let mut state = system.next(&system.start(mode), Symbol(3), mode);
        let mut seen: BTreeMap<u32, CentroidState> = BTreeMap::new();
        let word = [0, 1, 1, 0, 0, 1, 0, 1, 1];
        for (step, id) in automaton.states_of(&word).enumerate() {
            let centroid = CentroidState::of(&state);
            assert_eq!(seen.entry(id).or_insert(centroid.clone()), &centroid);
            if let Some(&token) = word.get(step) {
                state = system.next(&state, Symbol(token), mode);
            }
        }
        for state in 0..automaton.states.len() as u32 {
            let sum: f64 = automaton.distribution(state).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        }
        let first = &automaton.states[0].followers;
        let p = automaton.distribution(0)[first[0].0 as usize];
        let total = first.iter().map(|f| f.1).sum::<u64>() as f64;
        let smoothing = SMOOTHING * first.len() as f64;
        assert!((p - (first[0].1 as f64 + smoothing * 0.25) / (total + smoothing)).abs() < 1e-12);
    }

    #[test]
    fn networks_without_finite_states_have_no_automaton() {
        let train = sequences(&["ab"]);
        for arch in [ArchName::Lstm, ArchName::SrLstmP] {
            assert!(TokenAutomaton::extract(&network(arch, 3), &train, vec![0.25; 4]).is_err());
        }
    }

    #[test]
    fn an_automaton_from_a_broken_file_is_refused() {
        let state = TokenState { next: vec![0, 0], followers: vec![(0, 2)] };
        let good =
            TokenAutomaton { tokens: 3, states: vec![state.clone()], frequencies: vec![0.3; 3] };
        assert_eq!(good.inconsistency(), None);
        let next = TokenState { next: vec![0, 1], ..state.clone() };
        let short = TokenState { next: vec![0], ..state };
        for states in [vec![next], vec![short], vec![]] {
            assert!(TokenAutomaton { states, ..good.clone() }.inconsistency().is_some());
        }
        assert!(
            TokenAutomaton { frequencies: vec![f64::NAN; 3], ..good }.inconsistency().is_some()
        );
    }
}
