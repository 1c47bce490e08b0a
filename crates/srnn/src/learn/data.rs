//! Training data with its metadata.

use super::{NgramFile, NgramModel};
use crate::model::{Model, ModelFile};
use crate::task::files::{HeldOutIssues, LineNumbers, TokenRule};
use crate::task::tomita::{self, Grammar};
use crate::task::{Confusion, Dataset, Split};
use crate::train::Evaluation;
use serde_json::{Value, json};
use srnn_automata::Moore;

/// Sequences to learn from, with their metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnData {
    /// The origin: the name of a task, or a file's path.
    pub source: String,
    /// A title for pictures.
    pub title: String,
    /// The sequences.
    pub split: Split,
    /// The token id for tokens outside the vocabulary, if there is one.
    pub unknown: Option<u32>,
    /// How text is split into tokens.
    pub tokens: TokenRule,
    /// The line number of each sequence; empty if the data are not from a file.
    pub lines: LineNumbers,
    /// Validation sequences with unknown tokens.
    pub valid: HeldOutIssues,
    /// Test sequences with unknown tokens.
    pub test: HeldOutIssues,
    /// Number of sequences skipped because they have no label.
    pub unlabelled: usize,
    /// Number of training labels flipped as label noise.
    pub flipped: usize,
    /// The automaton that generated the labels, if known. Results are compared with it; selection
    /// does not use it.
    pub truth: Option<Moore<u32>>,
}

impl LearnData {
    /// Data without metadata; `source` is also the title.
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

    /// The paper's sets of a Tomita grammar, with the grammar's automaton as truth.
    pub fn tomita(grammar: Grammar) -> LearnData {
        let split = tomita::sets(grammar, &crate::key::Key::new(1));
        let truth = Some(Moore::from(&tomita::minimal_dfa(grammar)));
        LearnData { truth, ..LearnData::new(&format!("tomita:{}", grammar.number()), split) }
    }

    /// A model trained on these data, with their vocabulary.
    pub fn model_file(&self, model: Model<f32>) -> ModelFile {
        let Dataset { alphabet, classes, .. } = self.split.train.clone();
        let tokenizer = self.tokens.tokenizer();
        ModelFile { model, alphabet, unknown: self.unknown, classes, image: None, tokenizer }
    }

    /// A baseline fitted to these data, with their vocabulary.
    pub fn ngram_file(&self, model: NgramModel) -> NgramFile {
        let Dataset { alphabet, classes, .. } = self.split.train.clone();
        let (format, unknown) = (NgramFile::FORMAT.into(), self.unknown);
        NgramFile { format, alphabet, unknown, classes, model }
    }

    /// The confusion matrix of an evaluation on a held-out set. Sequences with unknown tokens count
    /// as errors.
    pub fn confusion(&self, evaluation: &Evaluation, issues: &HeldOutIssues) -> Confusion {
        let mut confusion = Confusion::new(self.split.train.classes.clone());
        confusion.counts = evaluation.confusion.clone();
        issues.unreadable.iter().for_each(|sequence| confusion.add_unreadable(sequence.label));
        confusion
    }

    /// Digests of the three sets as JSON; equal data have equal digests.
    pub fn digests(&self) -> Value {
        let Split { train, valid, test } = &self.split;
        let test = test.as_ref().map(Dataset::digest);
        json!({ "train": train.digest(), "valid": valid.digest(), "test": test })
    }
}
