//! The words to ask, counted before they are made.

use super::cover::{ReachedState, further, leaving, reached};
use super::identify::{Separation, separate};
use super::{Minimal, in_order};
use crate::alphabet::Word;
use std::error::Error;
use std::fmt;
use std::hash::Hash;

/// A way to choose the words. Both find the same faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteMethod {
    /// Chow's: the whole characterization set after every transition.
    W,
    /// Fujiwara's and others': after the last transition only what identifies the state reached.
    Wp,
}

/// What is wanted of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteConfig {
    /// How the words are chosen. Default [`SuiteMethod::Wp`].
    pub method: SuiteMethod,
    /// How many states the box may have more than the specification. Default 1.
    pub extra: usize,
    /// Words at most, counted before equal ones are merged. Default 1,000,000.
    pub most_words: u64,
    /// Symbols of all words together at most, by an upper bound. Default 2²⁸, which takes 1 GiB.
    pub most_symbols: u64,
}

impl Default for SuiteConfig {
    fn default() -> SuiteConfig {
        SuiteConfig {
            method: SuiteMethod::Wp,
            extra: 1,
            most_words: 1_000_000,
            most_symbols: 1 << 28,
        }
    }
}

/// What there would be too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Words, before equal ones are merged.
    Words,
    /// Symbols of all words together.
    Symbols,
}

/// A suite that was not made because it is too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteTooLarge {
    /// What there would be too much of.
    pub quantity: Quantity,
    /// How much there would be: words are counted as far as needed to refuse them, and before equal
    /// ones are merged; symbols are an upper bound.
    pub needed: u128,
    /// How much the plan allows.
    pub allowed: u64,
    /// States of the specification.
    pub states: usize,
    /// Extra states that were asked for.
    pub extra: usize,
}

/// The words to ask, in length-lexicographic order, each once: a deterministic machine of at most
/// as many states as the specification and `extra` more that answers them all like the
/// specification equals it.
pub fn suite<O: Eq + Hash>(
    specification: &Minimal<O>,
    plan: &SuiteConfig,
) -> Result<Vec<Word>, SuiteTooLarge> {
    let states = specification.automaton().state_count();
    let size = SuiteSize { plan, states, symbols: specification.automaton().alphabet().len() };
    size.check(Quantity::Words, size.inner())?;
    size.check(Quantity::Symbols, size.transition_cover(specification))?;
    let cover = reached(specification);
    let outside = leaving(specification, &cover);
    let most = usize::try_from(plan.most_words).unwrap_or(usize::MAX);
    let found = separate(specification, most)
        .map_err(|words| size.too_large(Quantity::Words, states as u128 * words as u128))?;
    let all: Vec<usize> = (0..found.words.len()).collect();
    let inner = size.inner().saturating_mul(all.len() as u128);
    size.check(Quantity::Words, inner)?;
    let after_last = match plan.method {
        SuiteMethod::W => vec![all.clone(); states],
        SuiteMethod::Wp => found.identifiers(),
    };
    let words = inner.saturating_add(size.outer(specification, &outside, &after_last));
    size.check(Quantity::Words, words)?;
    size.check(Quantity::Symbols, words.saturating_mul(size.longest(&cover, &found)))?;
    let (near, last) = outwards(specification, cover, outside, plan.extra);
    let ends = |reached: &ReachedState| after_last[reached.state.index()].clone();
    let mut words = concatenated(&near, |_| all.clone(), &found.words);
    words.extend(concatenated(&last, ends, &found.words));
    Ok(in_order(words))
}

/// Q·Σ^≤k, and what Q·Σ^≤(k+1) has beyond it.
fn outwards<O>(
    specification: &Minimal<O>,
    cover: Vec<ReachedState>,
    outside: Vec<ReachedState>,
    extra: usize,
) -> (Vec<ReachedState>, Vec<ReachedState>) {
    let (mut near, mut last) = (cover, outside);
    for _ in 0..extra {
        if last.is_empty() {
            break;
        }
        let next = further(specification, &last);
        near.append(&mut last);
        last = next;
    }
    (near, last)
}

fn concatenated(
    begins: &[ReachedState],
    ends: impl Fn(&ReachedState) -> Vec<usize>,
    words: &[Word],
) -> Vec<Word> {
    let all = |begin: &ReachedState| -> Vec<Word> {
        let join = |place: usize| [&begin.word[..], &words[place]].concat();
        ends(begin).into_iter().map(join).collect()
    };
    begins.iter().flat_map(all).collect()
}

/// How large a suite would be.
struct SuiteSize<'a> {
    plan: &'a SuiteConfig,
    states: usize,
    symbols: usize,
}

impl SuiteSize<'_> {
    /// Words of Q·Σ^≤k: those of Q, and so many behind each of R = P − Q.
    fn inner(&self) -> u128 {
        let (states, symbols) = (self.states as u128, self.symbols as u128);
        let outside = (states * symbols).saturating_sub(states - 1);
        states.saturating_add(outside.saturating_mul(geometric(symbols, self.plan.extra)))
    }

    /// Symbols of all words of P: a chain of n states has n² of them.
    fn transition_cover<O>(&self, specification: &Minimal<O>) -> u128 {
        let automaton = specification.automaton();
        let mut depths: Vec<Option<u128>> = vec![None; self.states];
        depths[automaton.start().index()] = Some(0);
        let mut total = 0;
        // Canonical numbers are breadth first, so that a state comes after the one it is met from.
        for state in automaton.states() {
            let depth = depths[state.index()].expect("met before");
            total += depth + self.symbols as u128 * (depth + 1);
            for to in automaton.successors(state) {
                depths[to.index()].get_or_insert(depth + 1);
            }
        }
        total
    }

    /// Words that begin in R·Σ^k, where so many follow each state.
    fn outer<O>(
        &self,
        specification: &Minimal<O>,
        outside: &[ReachedState],
        after: &[Vec<usize>],
    ) -> u128 {
        let automaton = specification.automaton();
        let mut ending = vec![0_u128; self.states];
        for reached in outside {
            ending[reached.state.index()] += 1;
        }
        // `inner` has been checked, and it grows with every extra state where R is not empty.
        for _ in 0..if outside.is_empty() { 0 } else { self.plan.extra } {
            let mut next = vec![0_u128; self.states];
            for state in automaton.states() {
                for to in automaton.successors(state) {
                    let count = &mut next[to.index()];
                    *count = count.saturating_add(ending[state.index()]);
                }
            }
            ending = next;
        }
        let words = ending.iter().zip(after).map(|(n, ends)| n.saturating_mul(ends.len() as u128));
        words.fold(0, u128::saturating_add)
    }

    /// Symbols of the longest word at most.
    fn longest(&self, cover: &[ReachedState], found: &Separation) -> u128 {
        let deepest = cover.iter().map(|reached| reached.word.len()).max().unwrap_or(0);
        let ends = found.words.iter().map(Word::len).max().unwrap_or(0);
        let extra = if self.symbols == 0 { 0 } else { self.plan.extra };
        [deepest, extra, 1, ends].iter().map(|&n| n as u128).sum()
    }

    fn check(&self, quantity: Quantity, needed: u128) -> Result<(), SuiteTooLarge> {
        match needed > u128::from(self.allowed(quantity)) {
            true => Err(self.too_large(quantity, needed)),
            false => Ok(()),
        }
    }

    fn allowed(&self, quantity: Quantity) -> u64 {
        match quantity {
            Quantity::Words => self.plan.most_words,
            Quantity::Symbols => self.plan.most_symbols,
        }
    }

    fn too_large(&self, quantity: Quantity, needed: u128) -> SuiteTooLarge {
        let (states, extra) = (self.states, self.plan.extra);
        SuiteTooLarge { quantity, needed, allowed: self.allowed(quantity), states, extra }
    }
}

/// 1 + r + r² + …, so many terms, as far as it can be counted.
fn geometric(ratio: u128, terms: usize) -> u128 {
    if ratio == 1 {
        return terms as u128;
    }
    let (mut sum, mut power) = (0_u128, 1_u128);
    for _ in 0..terms {
        if power == 0 || sum == u128::MAX {
            break;
        }
        sum = sum.saturating_add(power);
        power = power.saturating_mul(ratio);
    }
    sum
}

impl fmt::Display for SuiteTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SuiteTooLarge { needed, allowed, states, extra, .. } = self;
        let what = match self.quantity {
            Quantity::Words => "words or more (equal ones not merged)",
            Quantity::Symbols => "symbols in its words",
        };
        write!(
            f,
            "a suite for {states} states and {extra} more would have {needed} {what}, and \
             {allowed} are allowed; take fewer extra states, or allow more"
        )
    }
}

impl Error for SuiteTooLarge {}
