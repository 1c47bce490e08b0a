//! Labels as an automaton has them.

use crate::task::{Dataset, Part, Sequence, Split};
use srnn_automata::{Moore, Symbol, Word};

/// A label that an automaton contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// The set it is in: training or validation.
    pub part: Part,
    /// Its place there, counted from 0.
    pub index: usize,
    /// The class given.
    pub given: u32,
    /// The class the automaton has.
    pub believed: u32,
}

/// The training and validation labels that an automaton contradicts, in order.
pub fn suspects(automaton: &Moore<u32>, split: &Split) -> Vec<Suspect> {
    let of = |part: Part, set: &Dataset| -> Vec<Suspect> {
        let labels = set.sequences.iter().map(|s| (s.label, class(automaton, s))).enumerate();
        let wrong = labels.filter(|(_, (given, believed))| given != believed);
        wrong.map(|(index, (given, believed))| Suspect { part, index, given, believed }).collect()
    };
    [of(Part::Train, &split.train), of(Part::Valid, &split.valid)].concat()
}

/// The same sequences with the automaton's labels for training and validation. A test set stays as
/// it is: nothing may be fitted to it.
pub fn corrected(automaton: &Moore<u32>, split: &Split) -> Split {
    let relabelled = |set: &Dataset| {
        let label =
            |s: &Sequence| Sequence { label: class(automaton, s), tokens: s.tokens.clone() };
        Dataset { sequences: set.sequences.iter().map(label).collect(), ..set.emptied() }
    };
    Split {
        train: relabelled(&split.train),
        valid: relabelled(&split.valid),
        test: split.test.clone(),
    }
}

fn class(automaton: &Moore<u32>, sequence: &Sequence) -> u32 {
    let word: Word = sequence.tokens.iter().map(|&token| Symbol(token)).collect();
    *automaton.output_of(&word)
}
