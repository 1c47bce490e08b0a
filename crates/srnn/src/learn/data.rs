//! What is learned from: sequences, and what is known about them.

use crate::model::{Model, ModelFile};
use crate::task::files::{HeldOutIssues, LineNumbers, TokenRule};
use crate::task::tomita::{self, Grammar};
use crate::task::{Dataset, Split};
use serde_json::{Value, json};
use srnn_automata::Moore;

/// Sequences to learn from, and what is known about them.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnData {
    /// Where they come from: the name of a task, or a file's path.
    pub source: String,
    /// A title for pictures.
    pub title: String,
    /// The sequences.
    pub split: Split,
    /// The id that stands for symbols outside the alphabet.
    pub unknown: Option<u32>,
    /// How texts are divided into tokens.
    pub tokens: TokenRule,
    /// The line each sequence begins in; empty if they are not from a file.
    pub lines: LineNumbers,
    /// Validation sequences that the network cannot read.
    pub valid: HeldOutIssues,
    /// Test sequences that the network cannot read.
    pub test: HeldOutIssues,
    /// Sequences left out because they have no label.
    pub unlabelled: usize,
    /// Training labels changed on purpose.
    pub flipped: usize,
    /// The automaton behind the data, if it is known. Results are compared with it, and never
    /// selected by it.
    pub truth: Option<Moore<u32>>,
}

impl LearnData {
    /// Sequences of unknown origin.
    pub fn new(source: &str, split: Split) -> LearnData {
        LearnData {
            source: source.into(),
            title: source.into(),
            split,
            unknown: None,
            tokens: TokenRule::Characters,
            lines: LineNumbers::default(),
            valid: HeldOutIssues::default(),
            test: HeldOutIssues::default(),
            unlabelled: 0,
            flipped: 0,
            truth: None,
        }
    }

    /// The sets of a Tomita grammar, made as the paper's, with the grammar's automaton as truth.
    pub fn tomita(grammar: Grammar) -> LearnData {
        let split = tomita::sets(grammar, &crate::key::Key::new(1));
        let truth = Some(Moore::from(&tomita::minimal_dfa(grammar)));
        LearnData { truth, ..LearnData::new(&format!("tomita:{}", grammar.number()), split) }
    }

    /// A network that was trained on the data, with their vocabulary.
    pub fn model_file(&self, model: Model<f32>) -> ModelFile {
        let Dataset { alphabet, classes, .. } = self.split.train.clone();
        ModelFile { model, alphabet, unknown: self.unknown, classes }
    }

    /// Digests of the three sets: equal as long as the data are.
    pub fn digests(&self) -> Value {
        let Split { train, valid, test } = &self.split;
        let test = test.as_ref().map(Dataset::digest);
        json!({ "train": train.digest(), "valid": valid.digest(), "test": test })
    }
}
