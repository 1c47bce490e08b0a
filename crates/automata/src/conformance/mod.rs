//! Conformance testing: words that decide whether a black box of bounded size equals an automaton.
//!
//! The specification is a minimal automaton of n states. The box returns the output of whole words,
//! each word by itself. If the box is a deterministic machine with at most n + `extra` states, and
//! gives the specification's output on every word of [`suite`], it equals the specification on all
//! words. Nothing follows for larger machines, nor for boxes that are not finite-state machines.
//!
//! With Q the state cover, k the extra states, Σ^≤k the words of at most k symbols, W the
//! characterization set and W_s ⊆ W the identifier of state s, the words are
//!
//! - [`SuiteMethod::W`] (Chow 1978): Q·Σ^≤(k+1)·W,
//! - [`SuiteMethod::Wp`] (Fujiwara et al. 1991): Q·Σ^≤k·W, and u·W_s for every u of Q·Σ^≤(k+1) that is
//!   not in Q·Σ^≤k, where u leads to s. This is a subset of the former.
//!
//! Both papers test Mealy machines, which show an output at every step. There a word also tests its
//! prefixes, so prefixes are left out. Here only the output of the whole word is observed, which has
//! two consequences. **Every word of the suite is tested**, even if it is a prefix of another one. And
//! **ε is always in W**, because otherwise no word would observe the output of the state just reached.
//! Then the proofs hold:
//!
//! *Both.* The n words of Q have pairwise different outputs on W, so the box has at least n states that
//! W distinguishes. Q·Σ^≤k reaches all its states, because each further symbol reaches a new state
//! until there is none. *W.* Likewise Σ^≤k·W distinguishes all inequivalent states of the box: each
//! further symbol splits a class until the classes are stable, and stable classes have one output each,
//! because ε is in W. The transition cover followed by Σ^≤k·W then finds every wrong transition.
//! *Wp.* Each state of the box is reached by some u of Q·Σ^≤k and has the outputs on W of exactly one
//! state s of the specification. After one more symbol a it again has the outputs on W of some state.
//! W_t, where t is the successor of s under a, leaves only t. So the box has the transitions of the
//! specification, and by ε its outputs.

mod cover;
mod identify;
mod suite;

pub use cover::{state_cover, transition_cover};
pub use identify::{characterization_set, state_identifiers};
pub use suite::{Quantity, SuiteConfig, SuiteMethod, SuiteTooLarge, suite};

use crate::alphabet::Word;
use crate::moore::Moore;
use std::hash::Hash;

/// A minimal automaton: every state is reachable and no two are equivalent. Only such an automaton has
/// a characterization set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Minimal<O> {
    automaton: Moore<O>,
}

impl<O: Clone + Eq + Hash> Minimal<O> {
    /// Minimises an automaton.
    pub fn of(automaton: &Moore<O>) -> Minimal<O> {
        Minimal { automaton: automaton.minimize() }
    }
}

impl<O> Minimal<O> {
    /// The automaton, with canonical state numbers.
    pub fn automaton(&self) -> &Moore<O> {
        &self.automaton
    }
}

/// Sorts words in length-lexicographic order and removes duplicates.
fn sorted(mut words: Vec<Word>) -> Vec<Word> {
    words.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    words.dedup();
    words
}

#[cfg(test)]
mod tests;
