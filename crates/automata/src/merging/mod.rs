//! State merging: the automaton with the minimum description length that is found for labelled words.
//!
//! Words are a [`PrefixTree`]. [`merge`] runs several searches and keeps the automaton with the
//! minimum [`DescriptionLength`], so that automata with different errors compare by one number:
//!
//! 1. red-blue merging without tolerance for errors, in several [orders](MergeOrder) (EDSM and RPNI
//!    among them); two that find the same automaton end the search;
//! 2. beams of increasing width, without noise and with some, whose automata are improved by local
//!    search; a width that brings no improvement ends the search.
//!
//! The evidence for a merge is the ratio of two likelihoods: how likely labels are if two states are
//! one, and if they are two. Nothing is proved: a language with rare exceptions looks like a simpler one
//! with wrong labels, and transitions that no word shows are guesses ([`Merged::unseen`]).
//!
//! ```
//! use srnn_automata::merging::{LabelledWords, MergeConfig, PrefixTree, merge};
//! use srnn_automata::{Alphabet, shortlex};
//!
//! let ones = |word: &[srnn_automata::Symbol]| word.iter().filter(|s| s.0 == 1).count() as u32;
//! let mut words = LabelledWords::default();
//! for word in shortlex(2, 6) {
//!     words.add(word.iter().copied(), ones(&word) % 3);
//! }
//! let tree = PrefixTree::new(2, 3, &words)?;
//! let merged = merge(&Alphabet::of_chars("01")?, &tree, &MergeConfig::default())?;
//! assert_eq!((merged.automaton.state_count(), merged.errors), (3, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod beam;
mod completion;
mod criterion;
mod description_length;
mod evidence;
mod graph;
mod local_search;
mod origin;
mod portfolio;
mod prefix_tree;
mod red_blue;
mod repair;
#[cfg(test)]
mod tests;

pub use description_length::DescriptionLength;
pub use prefix_tree::{LabelledWords, PrefixTree, TooManyPrefixes};
pub use red_blue::MergeOrder;
pub use repair::{AutomatonChange, Repaired, repair};

use crate::alphabet::{Alphabet, Symbol};
use crate::moore::{Moore, State};
use crate::partial::UnknownTransition;
use criterion::Criterion;
use portfolio::Portfolio;
use std::error::Error;
use std::fmt;

/// What [`merge`] looks for, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeConfig {
    /// Whether labels may be wrong. Default: they may.
    pub labels: LabelTrust,
    /// Widths of the beams, in order. Default 8, 32, 128, 512.
    pub widths: Vec<usize>,
    /// The share of wrong labels that the first beams assume beside none. Later ones assume what the
    /// best automaton contradicts. Default 0.05, which finds up to 0.1.
    pub noise: f64,
    /// Largest number of states while merging. Default 2,000.
    pub states: usize,
    /// Steps of all searches: pairs of prefixes merged or tried, and prefixes run. Default 2·10⁸: some
    /// five seconds.
    pub steps: u64,
    /// Bytes beside the prefix tree. Narrower beams are used if it does not suffice. Default 1 GiB.
    pub memory: usize,
}

/// Whether an automaton may contradict labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelTrust {
    /// The automaton with the minimum description length is looked for: it may contradict labels.
    MayBeWrong,
    /// The smallest automaton with the fewest errors is looked for. Only equal words with different
    /// labels make errors.
    Trusted,
}

/// The search that found an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMethod {
    /// One automaton, and no decision is taken back.
    RedBlue {
        /// The order of decisions.
        order: MergeOrder,
    },
    /// A beam search, and local search from its best automata.
    Beam {
        /// Number of partial automata.
        width: usize,
    },
    /// The automaton of one state: no search found another one within its limits.
    MostFrequentClass,
}

/// The result of merging.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The automaton: complete, minimal and canonical.
    pub automaton: Moore<u32>,
    /// Labels that it contradicts.
    pub errors: usize,
    /// Number of labels.
    pub labels: usize,
    /// Description length of the automaton and its errors.
    pub bits: f64,
    /// Description length without an automaton: the most frequent class and its exceptions.
    pub baseline_bits: f64,
    /// How many words end in each state.
    pub words_ending: Vec<usize>,
    /// How often the words take each transition: `[states, symbols]`.
    pub words_taking: Vec<usize>,
    /// Transitions that no word takes. Their targets are guesses: those of symbols that act alike.
    pub unseen: Vec<UnknownTransition>,
    /// The search that found it.
    pub method: MergeMethod,
    /// Number of automata compared.
    pub candidates: usize,
    /// Steps of all searches.
    pub steps: u64,
}

/// Why words cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// There are no words.
    NoWords,
    /// The tree and the alphabet have different numbers of symbols.
    Symbols {
        /// Symbols of the alphabet.
        alphabet: usize,
        /// Symbols of the tree.
        tree: usize,
    },
    /// One partial automaton needs more memory than allowed.
    Memory {
        /// Bytes needed.
        needed: usize,
        /// [`MergeConfig::memory`].
        allowed: usize,
        /// Distinct prefixes of the words.
        prefixes: usize,
    },
}

impl Default for MergeConfig {
    fn default() -> MergeConfig {
        MergeConfig {
            labels: LabelTrust::MayBeWrong,
            widths: vec![8, 32, 128, 512],
            noise: 0.05,
            states: 2_000,
            steps: 200_000_000,
            memory: 1 << 30,
        }
    }
}

/// The automaton with the minimum description length that is found for the words of `tree`. Deterministic.
pub fn merge(
    alphabet: &Alphabet,
    tree: &PrefixTree,
    config: &MergeConfig,
) -> Result<Merged, MergeError> {
    check(alphabet, tree, config)?;
    let length = DescriptionLength::of(tree);
    let criterion = Criterion::new(&length, config.labels);
    let mut portfolio = Portfolio::new(alphabet, tree, config, criterion);
    portfolio.run();
    Ok(result(alphabet, tree, portfolio))
}

fn check(alphabet: &Alphabet, tree: &PrefixTree, config: &MergeConfig) -> Result<(), MergeError> {
    if tree.labels == 0 {
        return Err(MergeError::NoWords);
    }
    if tree.symbols != alphabet.len() {
        return Err(MergeError::Symbols { alphabet: alphabet.len(), tree: tree.symbols });
    }
    let needed = 2 * graph_bytes(tree);
    match needed > config.memory {
        true => {
            Err(MergeError::Memory { needed, allowed: config.memory, prefixes: tree.prefixes() })
        }
        false => Ok(()),
    }
}

/// The memory of one partial automaton.
fn graph_bytes(tree: &PrefixTree) -> usize {
    tree.prefixes() * (24 + 4 * tree.classes)
}

fn result(alphabet: &Alphabet, tree: &PrefixTree, portfolio: Portfolio) -> Merged {
    let (baseline_bits, candidates, steps) =
        (portfolio.baseline_bits, portfolio.candidates, portfolio.steps);
    let best = portfolio.best.unwrap_or_else(|| baseline(alphabet, tree, baseline_bits));
    let support = Support::of(&best.automaton, tree);
    Merged {
        unseen: support.unseen(&best.automaton),
        words_ending: support.ending,
        words_taking: support.taking,
        automaton: best.automaton,
        errors: best.errors,
        labels: tree.labels,
        bits: best.bits,
        baseline_bits,
        method: best.method,
        candidates,
        steps,
    }
}

fn baseline(alphabet: &Alphabet, tree: &PrefixTree, bits: f64) -> portfolio::MergeCandidate {
    let class = completion::usual_class(tree);
    portfolio::MergeCandidate {
        automaton: Moore::from_fn(alphabet.clone(), 1, |_| class, |state, _| state)
            .expect("one state is an automaton"),
        errors: tree.labels - tree.majority_labels(),
        bits,
        score: bits,
        method: MergeMethod::MostFrequentClass,
    }
}

/// How many words support the parts of an automaton.
struct Support {
    ending: Vec<usize>,
    taking: Vec<usize>,
}

impl Support {
    fn of(automaton: &Moore<u32>, tree: &PrefixTree) -> Support {
        let table: Vec<u32> =
            automaton.states().flat_map(|s| automaton.successors(s)).map(|s| s.0).collect();
        let mut states = vec![];
        tree.run(automaton.start().0, &table, &mut states);
        let mut passing = vec![0; tree.prefixes()];
        let (mut ending, mut taking) = (vec![0; automaton.state_count()], vec![0; table.len()]);
        for node in (0..tree.prefixes() as u32).rev() {
            let own: usize = tree.labels_of(node).iter().map(|&(_, n)| n as usize).sum();
            ending[states[node as usize] as usize] += own;
            passing[node as usize] += own;
            if node > 0 {
                let (parent, symbol) = (tree.parent(node) as usize, tree.last_symbol(node));
                taking[states[parent] as usize * tree.symbols + symbol as usize] +=
                    passing[node as usize];
                passing[parent] += passing[node as usize];
            }
        }
        Support { ending, taking }
    }

    fn unseen(&self, automaton: &Moore<u32>) -> Vec<UnknownTransition> {
        let symbols = automaton.alphabet().len();
        let unseen = self.taking.iter().enumerate().filter(|&(_, &words)| words == 0);
        let transition = |(index, _)| UnknownTransition {
            state: State((index / symbols) as u32),
            symbol: Symbol((index % symbols) as u32),
        };
        unseen.map(transition).collect()
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::NoWords => write!(f, "there are no words to merge; give at least one"),
            MergeError::Symbols { alphabet, tree } => {
                write!(
                    f,
                    "the alphabet has {alphabet} symbols, but the words were read with {tree}"
                )
            }
            MergeError::Memory { needed, allowed, prefixes } => write!(
                f,
                "merging words with {prefixes} distinct prefixes needs {needed} bytes, more than \
                 the {allowed} allowed; raise the limit, or use fewer or shorter words"
            ),
        }
    }
}

impl Error for MergeError {}
