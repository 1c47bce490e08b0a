//! The engine that classifies, and whether the run's certificate covers it.

use crate::runs::SavedModel;
use clap::ValueEnum;
use serde_json::{Value, json};
use srnn_check::check_files;

/// The engine of --engine.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineName {
    /// Single precision, SIMD and threads.
    Cpu,
    /// Double precision, written for clarity; slow.
    Reference,
}

impl EngineName {
    /// The name that certificates use.
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Cpu => "cpu",
            EngineName::Reference => "reference",
        }
    }
}

/// Whether the run's certificate covers an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateCoverage {
    /// The run has no certificate.
    NoCertificate,
    /// It covers this engine.
    Covered,
    /// It covers only these other engines.
    OtherEngines(Vec<String>),
    /// The checker refuses it, for this reason.
    Refused(String),
}

impl CertificateCoverage {
    /// Verifies the certificate of a saved model, and looks for `engine` in it.
    pub fn of(saved: &SavedModel, engine: EngineName) -> CertificateCoverage {
        let Some(path) = saved.certificate() else { return CertificateCoverage::NoCertificate };
        match check_files(&saved.folder, &path) {
            Err(refused) => CertificateCoverage::Refused(format!("{}: {refused}", path.display())),
            Ok(checked) if checked.engines.iter().any(|e| e == engine.name()) => {
                CertificateCoverage::Covered
            }
            Ok(checked) => CertificateCoverage::OtherEngines(checked.engines),
        }
    }

    /// One line for people; `None` without a certificate.
    pub fn text(&self, engine: EngineName) -> Option<String> {
        let engine = engine.name();
        match self {
            CertificateCoverage::NoCertificate => None,
            CertificateCoverage::Covered => Some(format!(
                "the certificate covers the engine {engine}: these classes are those of the proved automaton"
            )),
            CertificateCoverage::OtherEngines(covered) => Some(format!(
                "warning: the certificate covers the engine {}, not {engine}: these classes are \
                 not certified",
                covered.join(", ")
            )),
            CertificateCoverage::Refused(why) => {
                Some(format!("warning: {why}: these classes are not certified"))
            }
        }
    }

    /// As JSON, with the line that was shown to people.
    pub fn value(&self, engine: EngineName, note: Option<String>) -> Value {
        json!({
            "engine": engine.name(),
            "covered": *self == CertificateCoverage::Covered,
            "note": note,
        })
    }
}
