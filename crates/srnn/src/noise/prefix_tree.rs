//! Labelled words as a prefix tree, so that an automaton runs over all of them in one pass.

use crate::task::Dataset;
use std::collections::BTreeMap;

/// The prefix tree of labelled words.
#[derive(Clone, Debug, PartialEq)]
pub struct PrefixTree {
    /// Size of the alphabet.
    pub symbols: usize,
    /// C: number of classes.
    pub classes: usize,
    /// Number of labels, including those of repeated words.
    pub labels: usize,
    /// Parent and last symbol of every prefix but ε; parents come first.
    edges: Vec<(u32, u32)>,
    /// Prefix, class, and the number of words with this class that end there.
    ends: Vec<(u32, u32, u32)>,
}

impl PrefixTree {
    /// The words of several sets over one alphabet.
    pub fn of(sets: &[&Dataset]) -> PrefixTree {
        let mut children: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut ends: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut edges = vec![];
        for sequence in sets.iter().flat_map(|set| &set.sequences) {
            let end = sequence.tokens.iter().fold(0, |node, &symbol| {
                *children.entry((node, symbol)).or_insert_with(|| {
                    edges.push((node, symbol));
                    edges.len() as u32
                })
            });
            *ends.entry((end, sequence.label)).or_default() += 1;
        }
        PrefixTree {
            symbols: sets.first().map_or(0, |set| set.alphabet.len()),
            classes: sets.first().map_or(0, |set| set.classes.len()),
            labels: sets.iter().map(|set| set.sequences.len()).sum(),
            edges,
            ends: ends.into_iter().map(|((node, class), n)| (node, class, n)).collect(),
        }
    }

    /// The number of distinct prefixes, which is the cost of a run over all words.
    pub fn prefixes(&self) -> usize {
        self.edges.len() + 1
    }

    /// The number of labels of the most frequent class.
    pub fn majority_labels(&self) -> usize {
        let mut counts = vec![0; self.classes];
        self.ends.iter().for_each(|&(_, class, n)| counts[class as usize] += n as usize);
        counts.into_iter().max().unwrap_or(0)
    }

    /// Writes the state after every prefix to `states`, for a table `[states, symbols]`.
    pub(super) fn run(&self, start: u32, table: &[u32], states: &mut Vec<u32>) {
        states.clear();
        states.push(start);
        for &(parent, symbol) in &self.edges {
            let from = states[parent as usize] as usize;
            states.push(table[from * self.symbols + symbol as usize]);
        }
    }

    /// Writes to `counts` `[states, classes]` how many words end in each state with each label.
    pub(super) fn count_labels(&self, states: &[u32], counts: &mut [u32]) {
        counts.fill(0);
        for &(node, class, n) in &self.ends {
            counts[states[node as usize] as usize * self.classes + class as usize] += n;
        }
    }
}
