//! The engine that answers, and whether the run's certificate covers it.

use crate::runs::Saved;
use clap::ValueEnum;
use serde_json::{Value, json};
use srnn_check::check_files;

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
    /// It proves nothing of this network.
    Refused(String),
}

impl Standing {
    /// Of an engine that runs a saved model. What a file says counts only where the checker agrees.
    pub fn of(saved: &Saved, engine: EngineName) -> Standing {
        let Some(path) = saved.certificate() else { return Standing::None };
        match check_files(&saved.folder, &path) {
            Err(refused) => Standing::Refused(format!("{}: {refused}", path.display())),
            Ok(checked) if checked.engines.iter().any(|e| e == engine.name()) => Standing::Covered,
            Ok(checked) => Standing::OtherEngines(checked.engines),
        }
    }

    /// In words; nothing where there is nothing to say.
    pub fn words(&self, engine: EngineName) -> Option<String> {
        let engine = engine.name();
        match self {
            Standing::None => None,
            Standing::Covered => Some(format!(
                "the certificate covers the engine {engine}: these answers are those of the automaton that it proves"
            )),
            Standing::OtherEngines(covered) => Some(format!(
                "warning: the certificate covers the engine {}, not {engine}: these answers are \
                 not certified",
                covered.join(", ")
            )),
            Standing::Refused(why) => {
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
