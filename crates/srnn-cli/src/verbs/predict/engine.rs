//! The engine that answers, and whether the run's certificate covers it.

use crate::files;
use crate::runs::Saved;
use clap::ValueEnum;
use serde_json::{Value, json};
use srnn::certify::Certificate;
use srnn::model::digest;

/// What computes the answers.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineName {
    /// Single precision, vectors and threads.
    Cpu,
    /// Double precision, one equation a line: slow.
    Reference,
}

impl EngineName {
    /// As certificates name it.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Cpu => "cpu",
            EngineName::Reference => "reference",
        }
    }
}

/// What the run's certificate says of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is none.
    None,
    /// It names the engine.
    Covered,
    /// It names others.
    OtherEngines(Vec<String>),
    /// It is about another network, or cannot be read.
    Foreign(String),
}

impl Standing {
    /// Of an engine that runs a saved model.
    pub fn of(saved: &Saved, engine: EngineName) -> Standing {
        let Some(path) = saved.certificate() else { return Standing::None };
        let name = path.display();
        let certificate = files::read_text(&path)
            .map_err(|failure| failure.message)
            .and_then(|text| Certificate::from_json(&text).map_err(|e| format!("{name}: {e}")));
        let certificate = match certificate {
            Ok(certificate) => certificate,
            Err(message) => return Standing::Foreign(message),
        };
        let (model, file) = (&certificate.model, &saved.file);
        let same = model.digest == digest(&file.model) && model.arch == file.model.arch;
        if !same || model.alphabet != file.alphabet || model.classes != file.classes {
            return Standing::Foreign(format!("{name} is about another network"));
        }
        match certificate.engines.iter().any(|covered| covered == engine.name()) {
            true => Standing::Covered,
            false => Standing::OtherEngines(certificate.engines),
        }
    }

    /// In words; nothing where there is nothing to say.
    pub fn words(&self, engine: EngineName) -> Option<String> {
        let engine = engine.name();
        match self {
            Standing::None => None,
            Standing::Covered => Some(format!(
                "the certificate covers the engine {engine}: these answers are the automaton's \
                 (srnn check verifies it)"
            )),
            Standing::OtherEngines(covered) => Some(format!(
                "warning: the certificate covers the engine {}, not {engine}: these answers are \
                 not certified",
                covered.join(", ")
            )),
            Standing::Foreign(why) => {
                Some(format!("warning: {why}: these answers are not certified"))
            }
        }
    }

    /// As JSON.
    pub fn value(&self, engine: EngineName) -> Value {
        json!({
            "engine": engine.name(),
            "covered": *self == Standing::Covered,
            "note": self.words(engine),
        })
    }
}
