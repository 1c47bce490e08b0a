//! Words that show that a black box equals an automaton, if the box is a small enough machine.
//!
//! The specification is a minimal automaton of n states. The box answers the output of whole words,
//! each by itself. If it is some deterministic machine with at most n + `extra` states and answers
//! every word of [`suite`] as the specification does, it does so on every word there is. Nothing
//! follows for larger machines, nor for what is not a machine.
//!
//! With Q the state cover, k the extra states, Σ^≤k the words of at most k symbols, W the
//! characterization set and W_s ⊆ W the identifier of state s, the words are
//!
//! - [`SuiteMethod::W`] (Chow 1978): Q·Σ^≤(k+1)·W,
//! - [`SuiteMethod::Wp`] (Fujiwara et al. 1991): Q·Σ^≤k·W, and u·W_s for every u of Q·Σ^≤(k+1) that is
//!   not in Q·Σ^≤k, where u leads to s. This is a subset of the former.
//!
//! Both papers test Mealy machines, which show an output at every step: a word there tests its
//! prefixes, too, so prefixes are left out. Here only the end of a word is seen, which changes two
//! things. **Every word is asked itself**, none is left out because another one begins with it; and
//! **ε is always in W**, since otherwise no word would look at the output of the state just reached.
//! That is all the proofs need:
//!
//! *Both.* The n words of Q give n answers to W that differ from each other, so the box has at
//! least n states that W tells apart, and Q·Σ^≤k reaches all its states, as each symbol more reaches
//! a new one until there is none. *W.* Likewise Σ^≤k·W tells apart all states of the box that differ
//! at all: each symbol more splits a class until the classes are stable, and as ε is in W stable
//! classes have one output each. The transition cover followed by Σ^≤k·W then finds every wrong
//! transition. *Wp.* Each state of the box is reached by some u of Q·Σ^≤k and answers W as exactly
//! one state s of the specification does. After one more symbol a it again answers W as some state
//! does, and W_t, where t follows s by a, leaves only t. So the box moves as the specification, and
//! by ε says the same.

mod cover;
mod identify;
mod suite;

pub use cover::{state_cover, transition_cover};
pub use identify::{characterization_set, state_identifiers};
pub use suite::{Quantity, SuiteConfig, SuiteMethod, SuiteTooLarge, suite};

use crate::alphabet::Word;
use crate::moore::Moore;
use std::hash::Hash;

/// An automaton in which every state is reachable and no two are equivalent: what has a
/// characterization set at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Minimal<O> {
    automaton: Moore<O>,
}

impl<O: Clone + Eq + Hash> Minimal<O> {
    /// The minimal automaton that says the same as this one.
    pub fn of(automaton: &Moore<O>) -> Minimal<O> {
        Minimal { automaton: automaton.minimize() }
    }
}

impl<O> Minimal<O> {
    /// The automaton, canonically numbered.
    pub fn automaton(&self) -> &Moore<O> {
        &self.automaton
    }
}

/// Shorter words first, in alphabet order where lengths are equal, each once.
fn in_order(mut words: Vec<Word>) -> Vec<Word> {
    words.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    words.dedup();
    words
}

#[cfg(test)]
mod tests;
