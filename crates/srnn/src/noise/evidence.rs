//! Labelled words as a tree of their prefixes, so that an automaton runs over all in one pass.

use crate::task::Dataset;
use std::collections::BTreeMap;

/// Labelled words, any of which may have a wrong label.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Size of the alphabet.
    pub symbols: usize,
    /// C: classes.
    pub classes: usize,
    /// How many labels there are, repeated words included.
    pub labels: usize,
    /// Parent and last symbol of every prefix but ε; parents come first.
    edges: Vec<(u32, u32)>,
    /// Prefix, class, and how many words with this class end there.
    ends: Vec<(u32, u32, u32)>,
}

impl Evidence {
    /// All words of several sets over one alphabet.
    pub fn of(sets: &[&Dataset]) -> Evidence {
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
        Evidence {
            symbols: sets.first().map_or(0, |set| set.alphabet.len()),
            classes: sets.first().map_or(0, |set| set.classes.len()),
            labels: sets.iter().map(|set| set.sequences.len()).sum(),
            edges,
            ends: ends.into_iter().map(|((node, class), n)| (node, class, n)).collect(),
        }
    }

    /// Distinct prefixes: what a run over all words costs.
    pub fn prefixes(&self) -> usize {
        self.edges.len() + 1
    }

    /// How many labels are of the commonest class.
    pub fn commonest(&self) -> usize {
        let mut counts = vec![0; self.classes];
        self.ends.iter().for_each(|&(_, class, n)| counts[class as usize] += n as usize);
        counts.into_iter().max().unwrap_or(0)
    }

    /// The state of every prefix, into `states`, for a table `[states, symbols]`.
    pub(super) fn run(&self, start: u32, table: &[u32], states: &mut Vec<u32>) {
        states.clear();
        states.push(start);
        for &(parent, symbol) in &self.edges {
            let from = states[parent as usize] as usize;
            states.push(table[from * self.symbols + symbol as usize]);
        }
    }

    /// `[states, classes]`: how many words end in each state with each label, into `counts`.
    pub(super) fn count(&self, states: &[u32], counts: &mut [u32]) {
        counts.fill(0);
        for &(node, class, n) in &self.ends {
            counts[states[node as usize] as usize * self.classes + class as usize] += n;
        }
    }
}
