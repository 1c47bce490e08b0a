//! The files of a result.

use super::examples;
use super::labels::{MdlAutomaton, suspected_label_records};
use super::methods::write_automata;
use super::{LearnReport, Requirements};
use crate::UserError;
use crate::certify::{Certificate, Verdict};
use crate::files;
use crate::learn::{KeptModel, Learned};
use crate::notation::save_automaton;
use crate::run::{CERTIFICATE, EXAMPLES, RESULT, WRONG_LABELS, metrics_text};
use srnn_automata::Partial;
use std::path::Path;

impl Learned<'_> {
    /// Writes the result to a folder: `model/`, `automaton/`, `certificate.json` if there is a
    /// proof, `wrong_labels.jsonl` if labels were corrected, `examples.json`, `metrics.jsonl` and
    /// `result.json`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), UserError> {
        let run = folder.as_ref().to_path_buf();
        self.save_parts(&run)?;
        let requirements = Requirements::default();
        LearnReport { learned: self, run, requirements, seconds: Default::default() }.save()
    }

    /// Writes all files of [`save`](Learned::save) but `result.json`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save_parts(&self, folder: &Path) -> Result<(), UserError> {
        let model = self.model_file();
        let unsaved = |error: &dyn std::fmt::Display| UserError::new(error, "");
        match &self.model {
            KeptModel::Ngrams(ngrams) => {
                let file = self.data.ngram_file(ngrams.clone());
                file.save(&folder.join("model")).map_err(|error| unsaved(&error))?;
            }
            KeptModel::Network | KeptModel::Compiled { .. } => {
                model.save(&folder.join("model")).map_err(|error| unsaved(&error))?;
            }
        }
        let automata = folder.join("automaton");
        if let Ok(extraction) = &self.extraction {
            write_automata(&automata, extraction, &model.classes, &self.data.title)?;
        }
        if let Some(proof) = self.verdict.as_ref().and_then(Verdict::proof) {
            let certificate = Certificate::new(&model, proof).to_json();
            files::write(&folder.join(CERTIFICATE), &certificate)?;
        }
        // The automaton that is proved or was merged replaces that of the cover if they differ.
        let cover = self.extraction.as_ref().ok().and_then(|found| found.cover.kept.as_ref());
        if let Some(automaton) = self.automaton()
            && cover.is_none_or(|kept| kept.minimal != *automaton)
        {
            let stem = automata.join("automaton");
            save_automaton(&stem, Partial::from(automaton), &model.classes, &self.data.title)?;
        }
        self.save_labels(folder)?;
        files::write(&folder.join(EXAMPLES), &format!("{}\n", examples::value(self)))?;
        files::write(&folder.join("metrics.jsonl"), &metrics_text(self))
    }

    /// Writes the suspected labels and the automaton that was selected by description length.
    fn save_labels(&self, folder: &Path) -> Result<(), UserError> {
        if !self.suspects().is_empty() {
            let lines = suspected_label_records(self);
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            files::write(&folder.join(WRONG_LABELS), &text)?;
        }
        if let Some(MdlAutomaton { stem, title, automaton }) = MdlAutomaton::of(&self.label_verdict)
        {
            let title = format!("{}: {title}", self.data.title);
            let stem = folder.join("automaton").join(stem);
            let classes = &self.data.split.train.classes;
            save_automaton(&stem, Partial::from(automaton), classes, &title)?;
        }
        Ok(())
    }
}

impl LearnReport<'_> {
    /// Writes `result.json`, which marks the run as finished. Call it last.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self) -> Result<(), UserError> {
        files::write(&self.run.join(RESULT), &format!("{:#}\n", self.to_json()))
    }
}
