//! The result of learning for people and programs: text, JSON, advice.

mod advice;
mod json;
mod labels;
mod methods;
pub mod proof;
mod save;
mod text;

pub use methods::{COUNTED_HARD, COUNTED_SOFT, HARD_TABLE, MethodResult, methods};

use crate::engine::Mode;
use crate::engine::cpu::Cpu;
use crate::learn::{Labels, Learned};
use crate::task::Confusion;
use crate::task::files::HeldOutIssues;
use crate::train::{Evaluation, SeedOutcome, evaluate};
use labels::{automaton_of_labels, wrong_labels};
use methods::write_automata;
use serde_json::{Map, Value};
use srnn_automata::Alphabet;
use std::path::PathBuf;

/// A result with what is reported beside it.
#[derive(Clone, Debug)]
pub struct LearnReport<'a> {
    /// The result.
    pub learned: &'a Learned<'a>,
    /// The run's folder.
    pub run: PathBuf,
    /// What the result must reach.
    pub requirements: Requirements,
    /// Seconds of each stage.
    pub seconds: Map<String, Value>,
}

/// What a result must reach.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requirements {
    /// The least accuracy on the validation set.
    pub valid_accuracy: Option<f64>,
    /// Whether it must be proved equal to its automaton.
    pub proof: bool,
}

impl LearnReport<'_> {
    /// The result as one JSON object: what `result.json` holds.
    pub fn to_json(&self) -> Value {
        json::value(self)
    }

    /// The result as text for a terminal.
    pub fn to_text(&self) -> String {
        text::text(self)
    }

    /// The first requirement that is not met, in words.
    pub fn unmet(&self) -> Option<String> {
        if self.requirements.proof && !self.learned.is_proved() {
            return Some("not certified, and --must-certify asks for it".into());
        }
        let least = self.requirements.valid_accuracy?;
        let accuracy = self.validation().accuracy().unwrap_or(0.0);
        (accuracy < least)
            .then(|| format!("validation accuracy {accuracy} is below --fail-under {least}"))
    }

    /// The kept network on the validation set, by the labels given; what it cannot read counts as
    /// wrong.
    pub fn validation(&self) -> Confusion {
        self.confusion(&self.learned.valid, &self.learned.data.valid)
    }

    /// The same on the test set, where there is one.
    pub fn test(&self) -> Option<Confusion> {
        let test = self.learned.test.as_ref()?;
        Some(self.confusion(test, &self.learned.data.test))
    }

    /// The share of a seed's validation sequences that are right, by the labels it was trained with
    /// (those believed, where some are not); unreadable ones are not.
    pub fn valid_accuracy(&self, outcome: &SeedOutcome<f32>) -> Option<f64> {
        let end = outcome.run.final_evaluation.as_ref()?;
        self.confusion(&end.valid, &self.learned.data.valid).accuracy()
    }

    /// The same by the labels given, where they are not those believed.
    fn valid_accuracy_as_given(&self, outcome: &SeedOutcome<f32>) -> Option<f64> {
        let Labels::Corrected(_) = self.learned.labels else { return None };
        outcome.run.final_evaluation.as_ref()?;
        let data = self.learned.data;
        let mut engine = Cpu::new(&outcome.model, 1);
        let Ok(evaluation) = evaluate(&mut engine, &data.split.valid, Mode::default());
        self.confusion(&evaluation, &data.valid).accuracy()
    }

    /// The names of the symbols.
    pub fn alphabet(&self) -> Alphabet {
        let names = self.learned.data.split.train.alphabet.clone();
        Alphabet::new(names).expect("the network was trained with it")
    }

    fn confusion(&self, evaluation: &Evaluation, aside: &HeldOutIssues) -> Confusion {
        let mut confusion = Confusion::new(self.learned.data.split.train.classes.clone());
        confusion.counts = evaluation.confusion.clone();
        aside.unreadable.iter().for_each(|sequence| confusion.add_unreadable(sequence.label));
        confusion
    }
}

#[cfg(test)]
mod tests;
