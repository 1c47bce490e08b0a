//! `certificate.json`: a proof as a file (`docs/certificate.md`).

use super::prove::{Proof, ProvedCell};
use crate::engine::Arithmetic;
use crate::model::{Arch, ModelFile, digest};
use serde::{Deserialize, Serialize};
use srnn_automata::Moore;
use srnn_check::{Refused, check};

/// A certificate, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// `srnn-certificate`.
    pub format: String,
    /// 1.
    pub version: u64,
    /// What it says, in words.
    pub statement: String,
    /// The network it is about.
    pub model: CertifiedModel,
    /// What it holds for.
    pub arithmetic: Arithmetic,
    /// The engines that are covered.
    pub engines: Vec<String>,
    /// The start cell.
    pub start: usize,
    /// The cells.
    pub cells: Vec<CertifiedCell>,
    /// Their minimal automaton.
    pub automaton: CertifiedAutomaton,
}

/// The network a certificate is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedModel {
    /// Of its weights.
    pub digest: String,
    /// Its shape, τ included.
    pub arch: Arch,
    /// Its symbols.
    pub alphabet: Vec<String>,
    /// Its classes.
    pub classes: Vec<String>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedCell {
    /// `[n]`.
    pub centre: Vec<f64>,
    /// `[n]`.
    pub radii: Vec<f64>,
    /// m.
    pub depth: usize,
    /// A class.
    pub decision: u32,
    /// In logits.
    pub margin: f64,
    /// A cell for each symbol.
    pub successors: Vec<usize>,
    /// A state of the automaton.
    pub state: u32,
}

/// The minimal automaton.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedAutomaton {
    /// A state.
    pub start: u32,
    /// `[states][symbols]`.
    pub transitions: Vec<Vec<u32>>,
    /// A class for each state.
    pub outputs: Vec<u32>,
}

impl Certificate {
    /// A proof about a model, as a file.
    pub fn new(model: &ModelFile, proof: &Proof) -> Certificate {
        let arithmetic = proof.arithmetic;
        Certificate {
            format: "srnn-certificate".into(),
            version: 1,
            statement: statement(&model.alphabet, &proof.automaton, arithmetic),
            model: CertifiedModel {
                digest: digest(&model.model),
                arch: model.model.arch.clone(),
                alphabet: model.alphabet.clone(),
                classes: model.classes.clone(),
            },
            arithmetic,
            engines: arithmetic.engines().iter().map(|&engine| engine.into()).collect(),
            start: 0,
            cells: proof.cells.iter().map(cell).collect(),
            automaton: automaton(&proof.automaton),
        }
    }

    /// As it is written: every double reads back to the same bits.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a certificate has no odd keys");
        text.push('\n');
        text
    }

    /// Reads what was written. What it says is not checked: that is the checker's work.
    pub fn from_json(text: &str) -> Result<Certificate, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The smallest margin of a cell.
    pub fn margin(&self) -> f64 {
        self.cells.iter().map(|cell| cell.margin).fold(f64::INFINITY, f64::min)
    }
}

/// Checks a proof as `srnn-check` checks a file: only what it accepts may be called proved.
pub fn check_proof(model: &ModelFile, proof: &Proof) -> Result<Certificate, Refused> {
    let certificate = Certificate::new(model, proof);
    let text = certificate.to_json();
    check(&model.config_bytes(), &model.weights_bytes(), text.as_bytes())?;
    Ok(certificate)
}

/// What is proved, in words.
pub fn statement(alphabet: &[String], automaton: &Moore<u32>, arithmetic: Arithmetic) -> String {
    // Quoted, so that no symbol's name can read as a part of the sentence.
    let quoted: Vec<String> =
        alphabet.iter().map(|name| serde_json::json!(name).to_string()).collect();
    let states = match automaton.state_count() {
        1 => "1 state".to_string(),
        n => format!("{n} states"),
    };
    format!(
        "For every word over the alphabet {{{}}}, of any length, the network gives the class that \
         the automaton with {states} gives, in real arithmetic and in the engines {}.",
        quoted.join(", "),
        arithmetic.engines().join(", "),
    )
}

fn cell(cell: &ProvedCell) -> CertifiedCell {
    CertifiedCell {
        centre: cell.ball.centre.clone(),
        radii: cell.ball.radii.clone(),
        depth: cell.depth,
        decision: cell.decision,
        margin: cell.margin,
        successors: cell.successors.clone(),
        state: cell.state.0,
    }
}

fn automaton(moore: &Moore<u32>) -> CertifiedAutomaton {
    let row = |state| moore.successors(state).iter().map(|next| next.0).collect();
    CertifiedAutomaton {
        start: moore.start().0,
        transitions: moore.states().map(row).collect(),
        outputs: moore.outputs().to_vec(),
    }
}
