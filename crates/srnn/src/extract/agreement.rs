//! How often an automaton and a network give the same class, with the first word where they differ.

use super::ClassifiedWords;
use srnn_automata::{AlphabetMismatch, Moore, Partial, Word, distinguish};

/// How often an automaton and a network give the same class to the words of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Words to which both give a class.
    pub compared: usize,
    /// Words to which both give the same class.
    pub equal: usize,
    /// Words whose run takes an unknown transition of the automaton; not part of `compared`.
    pub unknown: usize,
    /// Words for which the network's logits are not finite; not part of `compared`.
    pub unanswered: usize,
    /// The first shortest word with different classes.
    pub difference: Option<Word>,
}

impl Agreement {
    /// The number of words tested: those compared, those with an unknown transition, and those
    /// without a class from the network.
    pub fn words(&self) -> usize {
        self.compared + self.unknown + self.unanswered
    }

    /// The fraction of the words tested to which both give the same class; 0 if there are none.
    pub fn rate(&self) -> f64 {
        self.equal as f64 / self.words().max(1) as f64
    }

    /// Whether at least one word was compared and both give the same class to every word.
    pub fn is_total(&self) -> bool {
        self.compared > 0 && self.equal == self.words()
    }

    /// The agreement on both sets of words together.
    pub fn and(&self, other: &Agreement) -> Agreement {
        let differences = [&self.difference, &other.difference].into_iter().flatten();
        Agreement {
            compared: self.compared + other.compared,
            equal: self.equal + other.equal,
            unknown: self.unknown + other.unknown,
            unanswered: self.unanswered + other.unanswered,
            difference: differences.min_by_key(|word| (word.len(), *word)).cloned(),
        }
    }

    fn add_difference(&mut self, word: Word) {
        if self.difference.as_ref().is_none_or(|old| (word.len(), &word) < (old.len(), old)) {
            self.difference = Some(word);
        }
    }
}

/// Compares an automaton over classes with a network's classes.
pub fn agreement(classified: &ClassifiedWords, automaton: &Partial<u32>) -> Agreement {
    let mut result = Agreement::default();
    for (word, class) in classified.words.iter().zip(&classified.classes) {
        match (class, automaton.run(&word)) {
            (None, _) => result.unanswered += 1,
            (_, None) => result.unknown += 1,
            (Some(class), Some(state)) => {
                result.compared += 1;
                match automaton.output(state) == class {
                    true => result.equal += 1,
                    false => result.add_difference(word),
                }
            }
        }
    }
    result
}

/// An exact comparison with the true automaton, on all words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruthComparison {
    /// Whether they are equal on every word.
    pub equal: bool,
    /// The first shortest word on which they differ.
    pub shortest_difference: Option<Word>,
}

impl TruthComparison {
    /// Fails if the alphabets have different names.
    pub fn of(automaton: &Moore<u32>, truth: &Moore<u32>) -> Result<Self, AlphabetMismatch> {
        let shortest_difference = distinguish(automaton, truth)?;
        Ok(TruthComparison { equal: shortest_difference.is_none(), shortest_difference })
    }
}
