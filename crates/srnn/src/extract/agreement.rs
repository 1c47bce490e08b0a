//! How far an automaton and a network agree, with the first word on which they do not.

use super::Answers;
use srnn_automata::{AlphabetMismatch, Moore, Partial, Word, distinguish};

/// How far an automaton and a network agree on a set of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Words on which both have an answer.
    pub compared: usize,
    /// Those with the same answer.
    pub equal: usize,
    /// Words whose run takes an unknown transition of the automaton; not among `compared`.
    pub unknown: usize,
    /// Words for which the network gives no number; not among `compared`.
    pub unanswered: usize,
    /// The shortest word with different answers, the first of equal length.
    pub difference: Option<Word>,
}

impl Agreement {
    /// Whether there was something to compare and every word has the same answer on both sides.
    pub fn is_total(&self) -> bool {
        let missed = self.unknown + self.unanswered + (self.compared - self.equal);
        self.compared > 0 && missed == 0
    }

    /// Both sets of words together.
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

    fn differs_on(&mut self, word: Word) {
        if self.difference.as_ref().is_none_or(|old| (word.len(), &word) < (old.len(), old)) {
            self.difference = Some(word);
        }
    }
}

/// Compares an automaton over classes with a network's answers.
pub fn agreement(answers: &Answers, automaton: &Partial<u32>) -> Agreement {
    let mut result = Agreement::default();
    for (word, answer) in answers.words.iter().zip(&answers.classes) {
        match (answer, automaton.run(&word)) {
            (None, _) => result.unanswered += 1,
            (_, None) => result.unknown += 1,
            (Some(class), Some(state)) => {
                result.compared += 1;
                match automaton.output(state) == class {
                    true => result.equal += 1,
                    false => result.differs_on(word),
                }
            }
        }
    }
    result
}

/// Whether an automaton is the true one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether they agree on every word.
    pub equal: bool,
    /// The shortest word on which they do not.
    pub shortest_difference: Option<Word>,
}

impl Verdict {
    /// Compares on all words, exactly.
    pub fn of(automaton: &Moore<u32>, truth: &Moore<u32>) -> Result<Verdict, AlphabetMismatch> {
        let shortest_difference = distinguish(automaton, truth)?;
        Ok(Verdict { equal: shortest_difference.is_none(), shortest_difference })
    }
}
