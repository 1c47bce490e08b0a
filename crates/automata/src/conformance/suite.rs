//! Test suites, whose size is checked before they are generated.

use super::cover::{AccessWord, access_words, extended, outside_cover};
use super::identify::{Separation, separate};
use super::{Minimal, sorted};
use crate::alphabet::Word;
use std::error::Error;
use std::fmt;
use std::hash::Hash;

/// How the words are chosen. Both methods find the same faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteMethod {
    /// Chow's W-method: the whole characterization set after every transition.
    W,
    /// The Wp-method of Fujiwara et al.: after the last transition only the identifier of the state
    /// reached.
    Wp,
}

/// The settings of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteConfig {
    /// How the words are chosen. Default [`SuiteMethod::Wp`].
    pub method: SuiteMethod,
    /// States that the box may have beyond those of the specification. Default 1.
    pub extra: usize,
    /// Maximum number of words, counted with duplicates. Default 1,000,000.
    pub most_words: u64,
    /// Maximum number of symbols in all words, checked with an upper bound. Default 2²⁸, which takes
    /// 1 GiB.
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

/// A quantity that is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Words, counted with duplicates.
    Words,
    /// Symbols in all words.
    Symbols,
}

/// A suite would be too large, so it was not generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteTooLarge {
    /// The quantity above its limit.
    pub quantity: Quantity,
    /// The amount needed. For words, a lower bound that counts duplicates; for symbols, an upper bound.
    pub needed: u128,
    /// The limit.
    pub allowed: u64,
    /// States of the specification.
    pub states: usize,
    /// Extra states of the box.
    pub extra: usize,
}

/// The words of a suite, in length-lexicographic order without duplicates. A deterministic machine with
/// at most `extra` more states than the specification equals it, if it gives the same outputs on these
/// words. Fails if the suite would be too large.
pub fn suite<O: Eq + Hash>(
    specification: &Minimal<O>,
    config: &SuiteConfig,
) -> Result<Vec<Word>, SuiteTooLarge> {
    let states = specification.automaton().state_count();
    let size = SuiteSize { config, states, symbols: specification.automaton().alphabet().len() };
    size.check(Quantity::Words, size.inner())?;
    size.check(Quantity::Symbols, size.transition_cover(specification))?;
    let cover = access_words(specification);
    let outside = outside_cover(specification, &cover);
    let most = usize::try_from(config.most_words).unwrap_or(usize::MAX);
    let found = separate(specification, most)
        .map_err(|words| size.too_large(Quantity::Words, states as u128 * words as u128))?;
    let all: Vec<usize> = (0..found.words.len()).collect();
    let inner = size.inner().saturating_mul(all.len() as u128);
    size.check(Quantity::Words, inner)?;
    let after_last = match config.method {
        SuiteMethod::W => vec![all.clone(); states],
        SuiteMethod::Wp => found.identifiers(),
    };
    let words = inner.saturating_add(size.outer(specification, &outside, &after_last));
    size.check(Quantity::Words, words)?;
    size.check(Quantity::Symbols, words.saturating_mul(size.longest(&cover, &found)))?;
    let (near, last) = extend_cover(specification, cover, outside, config.extra);
    let suffixes = |access: &AccessWord| after_last[access.state.index()].clone();
    let mut words = concatenated(&near, |_| all.clone(), &found.words);
    words.extend(concatenated(&last, suffixes, &found.words));
    Ok(sorted(words))
}

/// Q·Σ^≤k, and Q·Σ^≤(k+1) without it.
fn extend_cover<O>(
    specification: &Minimal<O>,
    cover: Vec<AccessWord>,
    outside: Vec<AccessWord>,
    extra: usize,
) -> (Vec<AccessWord>, Vec<AccessWord>) {
    let (mut near, mut last) = (cover, outside);
    for _ in 0..extra {
        if last.is_empty() {
            break;
        }
        let next = extended(specification, &last);
        near.append(&mut last);
        last = next;
    }
    (near, last)
}

/// Each prefix followed by each of its suffixes, which are given as indices into `words`.
fn concatenated(
    prefixes: &[AccessWord],
    suffixes: impl Fn(&AccessWord) -> Vec<usize>,
    words: &[Word],
) -> Vec<Word> {
    let all = |prefix: &AccessWord| -> Vec<Word> {
        let join = |i: usize| [&prefix.word[..], &words[i]].concat();
        suffixes(prefix).into_iter().map(join).collect()
    };
    prefixes.iter().flat_map(all).collect()
}

/// Computes the size of a suite.
struct SuiteSize<'a> {
    config: &'a SuiteConfig,
    states: usize,
    symbols: usize,
}

impl SuiteSize<'_> {
    /// Words of Q·Σ^≤k: those of Q, and the extensions of each word of R = P − Q.
    fn inner(&self) -> u128 {
        let (states, symbols) = (self.states as u128, self.symbols as u128);
        let outside = (states * symbols).saturating_sub(states - 1);
        states.saturating_add(outside.saturating_mul(geometric(symbols, self.config.extra)))
    }

    /// Symbols of all words of P. They are quadratic in the states of a chain.
    fn transition_cover<O>(&self, specification: &Minimal<O>) -> u128 {
        let automaton = specification.automaton();
        let mut depths: Vec<Option<u128>> = vec![None; self.states];
        depths[automaton.start().index()] = Some(0);
        let mut total = 0;
        // Canonical numbers are breadth first, so a state comes after its parent.
        for state in automaton.states() {
            let depth = depths[state.index()].expect("the parent comes first");
            total += depth + self.symbols as u128 * (depth + 1);
            for to in automaton.successors(state) {
                depths[to.index()].get_or_insert(depth + 1);
            }
        }
        total
    }

    /// Words with a prefix in R·Σ^k, where `after` has the suffixes for each state.
    fn outer<O>(
        &self,
        specification: &Minimal<O>,
        outside: &[AccessWord],
        after: &[Vec<usize>],
    ) -> u128 {
        let automaton = specification.automaton();
        let mut ending = vec![0_u128; self.states];
        for access in outside {
            ending[access.state.index()] += 1;
        }
        // The loop is bounded: `inner` was checked, and it grows with every extra state if R is not
        // empty.
        for _ in 0..if outside.is_empty() { 0 } else { self.config.extra } {
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

    /// An upper bound on the length of a word.
    fn longest(&self, cover: &[AccessWord], found: &Separation) -> u128 {
        let deepest = cover.iter().map(|access| access.word.len()).max().unwrap_or(0);
        let ends = found.words.iter().map(Word::len).max().unwrap_or(0);
        let extra = if self.symbols == 0 { 0 } else { self.config.extra };
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
            Quantity::Words => self.config.most_words,
            Quantity::Symbols => self.config.most_symbols,
        }
    }

    fn too_large(&self, quantity: Quantity, needed: u128) -> SuiteTooLarge {
        let (states, extra) = (self.states, self.config.extra);
        SuiteTooLarge { quantity, needed, allowed: self.allowed(quantity), states, extra }
    }
}

/// 1 + r + r² + … with `terms` terms; saturates.
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
            Quantity::Words => "words or more (counted with duplicates)",
            Quantity::Symbols => "symbols in its words",
        };
        write!(
            f,
            "a suite for {states} states and {extra} extra states would have {needed} {what}, but \
             {allowed} are allowed; use fewer extra states, or raise the limit"
        )
    }
}

impl Error for SuiteTooLarge {}
