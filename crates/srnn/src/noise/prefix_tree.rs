//! Datasets as prefix trees, so that an automaton runs over all their words in one pass.

use crate::task::Dataset;
use srnn_automata::Symbol;
use srnn_automata::merging::{LabelledWords, PrefixTree};

/// The words of several sets over one alphabet.
///
/// # Panics
/// If they have more than 2³¹ tokens, which training would not have time for.
pub fn prefix_tree(sets: &[&Dataset]) -> PrefixTree {
    let mut words = LabelledWords::default();
    for sequence in sets.iter().flat_map(|set| &set.sequences) {
        words.add(sequence.tokens.iter().map(|&token| Symbol(token)), sequence.label);
    }
    let symbols = sets.first().map_or(0, |set| set.alphabet.len());
    let classes = sets.first().map_or(0, |set| set.classes.len());
    PrefixTree::new(symbols, classes, &words).expect("fewer than 2³¹ tokens")
}
