//! Description length: the criterion by which automata are compared where labels may be wrong.

use super::Evidence;

/// The bits it takes to write an automaton down, and then which labels it gets wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Length {
    symbols: usize,
    classes: usize,
    labels: usize,
    /// log₂ n! up to the number of labels.
    factorials: Vec<f64>,
}

impl Length {
    /// For these labels.
    pub fn of(evidence: &Evidence) -> Length {
        let Evidence { symbols, classes, labels, .. } = *evidence;
        let mut factorials = vec![0.0; labels + 1];
        for n in 1..=labels {
            factorials[n] = factorials[n - 1] + (n as f64).log2();
        }
        Length { symbols, classes, labels, factorials }
    }

    /// Of an automaton with so many reachable states and so many wrong labels: a target for every
    /// transition and a class for every state; how many labels are wrong, which ones, and what
    /// they should be.
    pub fn bits(&self, states: usize, errors: usize) -> f64 {
        let (n, e) = (self.labels, errors);
        let target = (states as f64).log2();
        let class = (self.classes.max(2) as f64).log2();
        let automaton = states as f64 * (self.symbols as f64 * target + class);
        let which = self.factorials[n] - self.factorials[e] - self.factorials[n - e];
        let other = (self.classes.max(2) as f64 - 1.0).log2();
        automaton + (n as f64 + 1.0).log2() + which + e as f64 * other
    }
}
