//! Labels that may be wrong: the automaton they speak for, and which of them it contradicts.
//!
//! A network that is trained on wrong labels learns some of them by heart, and its automaton has
//! states for them. So automata read off several networks are made [shorter](shorten), and the one
//! with the least [description length](Length) is believed. Nothing here knows the truth, and
//! nothing is proved: a language with rare exceptions looks like a simpler one with wrong labels.

mod candidates;
mod correct;
mod evidence;
mod length;
mod search;
#[cfg(test)]
mod tests;

pub use candidates::{Candidate, Way, candidates};
pub use correct::{Suspect, corrected, suspects};
pub use evidence::Evidence;
pub use length::Length;
pub use search::{Shortened, Work, shorten};

/// What the labels speak for.
#[derive(Clone, Debug, PartialEq)]
pub struct Belief {
    /// The automaton believed, and what it makes of the labels.
    pub shortened: Shortened,
    /// The seed of the network it comes from.
    pub seed: u64,
    /// How it was read off that network.
    pub way: Way,
    /// Automata that were made shorter.
    pub tried: usize,
    /// Labels there are.
    pub labels: usize,
    /// Bits of the labels without an automaton: one class for all, and its exceptions.
    pub alone: f64,
}

/// The criterion in words.
pub const CRITERION: &str = "least description length: bits for the automaton's transitions and \
                             classes, and for which labels it gets wrong";

/// The shortest description among automata of several networks; nothing where there are none.
/// Of equals the first.
pub fn believe(
    candidates: &[(u64, Vec<Candidate>)],
    evidence: &Evidence,
    work: Work,
) -> Option<Belief> {
    let length = Length::of(evidence);
    let alone = length.bits(1, evidence.labels - evidence.commonest());
    let tried = candidates.iter().map(|(_, found)| found.len()).sum();
    let all = candidates.iter().flat_map(|(seed, found)| found.iter().map(move |c| (*seed, c)));
    let beliefs = all.map(|(seed, candidate)| Belief {
        shortened: shorten(&candidate.automaton, evidence, work),
        seed,
        way: candidate.way,
        tried,
        labels: evidence.labels,
        alone,
    });
    beliefs.reduce(|best, next| match next.shortened.bits < best.shortened.bits {
        true => next,
        false => best,
    })
}
