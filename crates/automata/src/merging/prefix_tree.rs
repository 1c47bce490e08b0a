//! Labelled words as a prefix tree, so that an automaton runs over all of them in one pass.

use crate::alphabet::Symbol;
use std::error::Error;
use std::fmt;
use std::ops::Range;

/// The prefix tree of labelled words. Prefixes are numbered in lexicographic order, so the prefixes
/// that extend one another are a range of numbers. ε is prefix 0.
#[derive(Clone, Debug, PartialEq)]
pub struct PrefixTree {
    /// Size of the alphabet.
    pub symbols: usize,
    /// C: number of classes.
    pub classes: usize,
    /// Number of labels, including those of repeated words.
    pub labels: usize,
    /// The prefix without its last symbol, and that symbol; ε has itself and 0.
    parents: Vec<u32>,
    last_symbols: Vec<u32>,
    /// The first prefix after those that extend this one.
    ends: Vec<u32>,
    /// Of `word_labels`, for each prefix and one past the last.
    first_label: Vec<u32>,
    /// Class, and the number of words with this class.
    word_labels: Vec<(u32, u32)>,
}

/// More distinct prefixes than a prefix tree numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooManyPrefixes {
    /// Symbols of all words.
    pub tokens: usize,
}

/// Labelled words in one array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelledWords {
    tokens: Vec<u32>,
    /// Where each word ends in `tokens`, and its class.
    ends: Vec<(usize, u32)>,
}

impl LabelledWords {
    /// Adds a word.
    pub fn add(&mut self, word: impl IntoIterator<Item = Symbol>, class: u32) {
        self.tokens.extend(word.into_iter().map(|symbol| symbol.0));
        self.ends.push((self.tokens.len(), class));
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn word(&self, index: usize) -> &[u32] {
        let first = index.checked_sub(1).map_or(0, |before| self.ends[before].0);
        &self.tokens[first..self.ends[index].0]
    }
}

impl PrefixTree {
    /// The tree of `words` over an alphabet of size `symbols` with labels below `classes`.
    ///
    /// # Panics
    /// If a symbol or a label is out of range.
    pub fn new(
        symbols: usize,
        classes: usize,
        words: &LabelledWords,
    ) -> Result<PrefixTree, TooManyPrefixes> {
        let tokens = words.tokens.len();
        if tokens >= u32::MAX as usize / 2 {
            return Err(TooManyPrefixes { tokens });
        }
        assert!(words.tokens.iter().all(|&s| (s as usize) < symbols), "a symbol is out of range");
        assert!(words.ends.iter().all(|&(_, c)| (c as usize) < classes), "a label is out of range");
        let mut order: Vec<usize> = (0..words.len()).collect();
        order.sort_unstable_by_key(|&i| (words.word(i), words.ends[i].1));
        let mut tree = PrefixTree {
            symbols,
            classes,
            labels: words.len(),
            parents: vec![0],
            last_symbols: vec![0],
            ends: vec![],
            first_label: vec![0],
            word_labels: vec![],
        };
        let mut path = vec![0];
        for index in order {
            tree.add_next(words.word(index), words.ends[index].1, &mut path);
        }
        tree.close(&path);
        Ok(tree)
    }

    /// Adds the next word in lexicographic order. `path` holds the prefixes of the word before.
    fn add_next(&mut self, word: &[u32], class: u32, path: &mut Vec<u32>) {
        let steps = path[1..].iter().zip(word);
        let common = steps.take_while(|&(&node, &s)| self.last_symbols[node as usize] == s).count();
        path.truncate(common + 1);
        for &symbol in &word[common..] {
            let node = self.parents.len() as u32;
            self.parents.push(path[path.len() - 1]);
            self.last_symbols.push(symbol);
            self.first_label.push(self.word_labels.len() as u32);
            path.push(node);
        }
        let own = self.first_label[path[word.len()] as usize] as usize;
        match self.word_labels[own..].last_mut() {
            Some((last, count)) if *last == class => *count += 1,
            _ => self.word_labels.push((class, 1)),
        }
    }

    fn close(&mut self, path: &[u32]) {
        debug_assert!(!path.is_empty());
        self.first_label.push(self.word_labels.len() as u32);
        let nodes = self.parents.len();
        self.ends = (1..=nodes as u32).collect();
        for node in (1..nodes).rev() {
            let parent = self.parents[node] as usize;
            self.ends[parent] = self.ends[parent].max(self.ends[node]);
        }
    }

    /// The number of distinct prefixes, which is the cost of a run over all words.
    pub fn prefixes(&self) -> usize {
        self.parents.len()
    }

    /// The number of labels of each class.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes];
        self.word_labels.iter().for_each(|&(class, n)| counts[class as usize] += n as usize);
        counts
    }

    /// The number of labels of the most frequent class.
    pub fn majority_labels(&self) -> usize {
        self.class_counts().into_iter().max().unwrap_or(0)
    }

    /// Writes the state after every prefix to `states`, for a table `[states, symbols]`.
    pub fn run(&self, start: u32, table: &[u32], states: &mut Vec<u32>) {
        states.clear();
        states.push(start);
        for (&parent, &symbol) in self.parents.iter().zip(&self.last_symbols).skip(1) {
            let from = states[parent as usize] as usize;
            states.push(table[from * self.symbols + symbol as usize]);
        }
    }

    /// Writes to `counts` `[states, classes]` how many words end in each state with each label.
    pub fn count_labels(&self, states: &[u32], counts: &mut [u32]) {
        counts.fill(0);
        for (node, &state) in states.iter().enumerate() {
            for &(class, n) in self.labels_of(node as u32) {
                counts[state as usize * self.classes + class as usize] += n;
            }
        }
    }

    /// The prefix without its last symbol; ε for ε.
    pub fn parent(&self, node: u32) -> u32 {
        self.parents[node as usize]
    }

    /// The last symbol of a prefix; 0 for ε.
    pub fn last_symbol(&self, node: u32) -> u32 {
        self.last_symbols[node as usize]
    }

    /// The first prefix that is not an extension of this one.
    pub fn end(&self, node: u32) -> u32 {
        self.ends[node as usize]
    }

    /// The classes of the words that end at a prefix, with their numbers.
    pub fn labels_of(&self, node: u32) -> &[(u32, u32)] {
        let node = node as usize;
        let range: Range<usize> =
            self.first_label[node] as usize..self.first_label[node + 1] as usize;
        &self.word_labels[range]
    }
}

impl fmt::Display for TooManyPrefixes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the words have {} symbols, more than the {} supported; use fewer or shorter words",
            self.tokens,
            u32::MAX / 2
        )
    }
}

impl Error for TooManyPrefixes {}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(words: &[(&[u32], u32)]) -> PrefixTree {
        let mut all = LabelledWords::default();
        for &(word, class) in words {
            all.add(word.iter().map(|&s| Symbol(s)), class);
        }
        PrefixTree::new(2, 2, &all).unwrap()
    }

    #[test]
    fn prefixes_are_shared_and_ranges_hold_extensions() {
        let tree = tree(&[(&[1, 0], 1), (&[0, 0, 1], 0), (&[0], 1), (&[0], 1), (&[0], 0)]);
        // ε, 0, 00, 001, 1, 10.
        assert_eq!(tree.prefixes(), 6);
        assert_eq!((tree.end(0), tree.end(1), tree.end(4), tree.end(5)), (6, 4, 6, 6));
        assert_eq!(tree.labels_of(1), [(0, 1), (1, 2)]);
        assert_eq!(tree.labels_of(2), []);
        assert_eq!(tree.labels_of(5), [(1, 1)]);
        assert_eq!((tree.labels, tree.class_counts()), (5, vec![2, 3]));
    }

    #[test]
    fn a_run_counts_the_labels_of_every_state() {
        let tree = tree(&[(&[], 0), (&[1], 1), (&[1, 1], 0), (&[0, 1], 1)]);
        let (mut states, mut counts) = (vec![], vec![0; 4]);
        // The state is the parity of ones.
        tree.run(0, &[0, 1, 1, 0], &mut states);
        tree.count_labels(&states, &mut counts);
        assert_eq!(counts, [2, 0, 0, 2]);
        assert_eq!(super::tests::tree(&[]).prefixes(), 1);
    }
}
