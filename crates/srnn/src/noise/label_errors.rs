//! Labels that an automaton contradicts, and datasets with its labels instead.

use crate::task::{Dataset, Sequence, Split, Subset};
use srnn_automata::{Moore, Symbol, Word};

/// A label that an automaton contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectedLabel {
    /// The set of the sequence: training or validation.
    pub part: Subset,
    /// The index of the sequence in the set.
    pub index: usize,
    /// The class given in the data.
    pub given: u32,
    /// The automaton's class.
    pub predicted: u32,
}

/// The training and validation labels that an automaton contradicts, in order.
pub fn suspected_labels(automaton: &Moore<u32>, split: &Split) -> Vec<SuspectedLabel> {
    let of = |part: Subset, set: &Dataset| -> Vec<SuspectedLabel> {
        let labels = set.sequences.iter().map(|s| (s.label, predict(automaton, s))).enumerate();
        let wrong = labels.filter(|(_, (given, predicted))| given != predicted);
        let suspected =
            |(index, (given, predicted))| SuspectedLabel { part, index, given, predicted };
        wrong.map(suspected).collect()
    };
    [of(Subset::Train, &split.train), of(Subset::Valid, &split.valid)].concat()
}

/// The same sequences with the automaton's labels for training and validation. The test set is
/// unchanged: nothing may be fitted to it.
pub fn correct_labels(automaton: &Moore<u32>, split: &Split) -> Split {
    let relabelled = |set: &Dataset| {
        let label =
            |s: &Sequence| Sequence { label: predict(automaton, s), tokens: s.tokens.clone() };
        Dataset { sequences: set.sequences.iter().map(label).collect(), ..set.without_sequences() }
    };
    Split {
        train: relabelled(&split.train),
        valid: relabelled(&split.valid),
        test: split.test.clone(),
    }
}

fn predict(automaton: &Moore<u32>, sequence: &Sequence) -> u32 {
    let word: Word = sequence.tokens.iter().map(|&token| Symbol(token)).collect();
    *automaton.output_of(&word)
}
