//! The result of learning as files, JSON and text.

mod candidates;
mod examples;
mod json;
mod labels;
mod methods;
mod notes;
pub mod proof;
mod save;
mod support;
mod text;

pub use methods::{COUNTED_HARD, COUNTED_SOFT, HARD_TABLE};

use crate::engine::Mode;
use crate::engine::cpu::Cpu;
use crate::learn::{LabelVerdict, Learned};
use crate::task::Confusion;
use crate::task::files::HeldOutIssues;
use crate::train::{Evaluation, SeedOutcome, evaluate};
use serde_json::{Map, Value};
use srnn_automata::Alphabet;
use std::path::PathBuf;

/// A result, with the values that are reported beside it.
#[derive(Clone, Debug)]
pub struct LearnReport<'a> {
    /// The result.
    pub learned: &'a Learned<'a>,
    /// The run's folder.
    pub run: PathBuf,
    /// The requirements of the caller.
    pub requirements: Requirements,
    /// Seconds by stage.
    pub seconds: Map<String, Value>,
}

/// Requirements on a result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requirements {
    /// The minimum accuracy on the validation set.
    pub valid_accuracy: Option<f64>,
    /// Whether the network must be proved equal to its automaton.
    pub proof: bool,
}

impl LearnReport<'_> {
    /// The content of `result.json`.
    pub fn to_json(&self) -> Value {
        json::value(self)
    }

    /// The result as text for a terminal.
    pub fn to_text(&self) -> String {
        text::text(self)
    }

    /// Describes the first requirement that is not met.
    pub fn unmet(&self) -> Option<String> {
        if self.requirements.proof && !self.learned.is_proved() {
            return Some("not certified, which --must-certify requires".into());
        }
        let minimum = self.requirements.valid_accuracy?;
        let accuracy = self.validation().accuracy().unwrap_or(0.0);
        (accuracy < minimum)
            .then(|| format!("validation accuracy {accuracy} is below --fail-under {minimum}"))
    }

    /// The selected network on the validation set, with the labels as given. Sequences with unknown
    /// tokens count as errors.
    fn validation(&self) -> Confusion {
        self.confusion(&self.learned.valid, &self.learned.data.valid)
    }

    /// The same for the test set, if there is one.
    fn test(&self) -> Option<Confusion> {
        let test = self.learned.test.as_ref()?;
        Some(self.confusion(test, &self.learned.data.test))
    }

    /// A seed's validation accuracy on the labels it was trained with: corrected ones, if labels were
    /// corrected. Sequences with unknown tokens count as errors.
    fn valid_accuracy(&self, outcome: &SeedOutcome<f32>) -> Option<f64> {
        let end = outcome.run.final_evaluation.as_ref()?;
        self.confusion(&end.valid, &self.learned.data.valid).accuracy()
    }

    /// A seed's validation accuracy on the labels as given; `None` if no labels were corrected.
    fn valid_accuracy_as_given(&self, outcome: &SeedOutcome<f32>) -> Option<f64> {
        let LabelVerdict::Corrected(_) = self.learned.label_verdict else { return None };
        outcome.run.final_evaluation.as_ref()?;
        let data = self.learned.data;
        let mut engine = Cpu::new(&outcome.model, 1);
        let Ok(evaluation) = evaluate(&mut engine, &data.split.valid, Mode::default());
        self.confusion(&evaluation, &data.valid).accuracy()
    }

    fn alphabet(&self) -> Alphabet {
        let names = self.learned.data.split.train.alphabet.clone();
        Alphabet::new(names).expect("the network was trained with it")
    }

    fn confusion(&self, evaluation: &Evaluation, issues: &HeldOutIssues) -> Confusion {
        self.learned.data.confusion(evaluation, issues)
    }
}

#[cfg(test)]
mod tests;
