//! Description length: the criterion for automata where labels may be wrong.

use super::PrefixTree;

/// The bits of a two-part code: the automaton, then the labels it gets wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct DescriptionLength {
    symbols: usize,
    classes: usize,
    labels: usize,
    /// log₂ n! up to the number of labels.
    factorials: Vec<f64>,
}

impl DescriptionLength {
    /// The code for the labels of `tree`.
    pub fn of(tree: &PrefixTree) -> DescriptionLength {
        let PrefixTree { symbols, classes, labels, .. } = *tree;
        let mut factorials = vec![0.0; labels + 1];
        for n in 1..=labels {
            factorials[n] = factorials[n - 1] + (n as f64).log2();
        }
        DescriptionLength { symbols, classes, labels, factorials }
    }

    /// The bits for an automaton with `states` reachable states that gets `errors` labels wrong: a
    /// target per transition, a class per state, the number of wrong labels, which ones they are,
    /// and their right classes.
    pub fn bits(&self, states: usize, errors: usize) -> f64 {
        let target = (states as f64).log2();
        let class = (self.classes.max(2) as f64).log2();
        let automaton = states as f64 * (self.symbols as f64 * target + class);
        automaton + self.error_bits(errors)
    }

    /// Number of labels.
    pub(super) fn labels(&self) -> usize {
        self.labels
    }

    /// The bits for the wrong labels alone.
    pub fn error_bits(&self, errors: usize) -> f64 {
        let (n, e) = (self.labels, errors);
        let which = self.factorials[n] - self.factorials[e] - self.factorials[n - e];
        let other = (self.classes.max(2) as f64 - 1.0).log2();
        (n as f64 + 1.0).log2() + which + e as f64 * other
    }
}
