//! `certificate.json`: the file format of a proof, described in `docs/src/certificate.md`.

use super::prove::{Proof, ProvedCell};
use crate::engine::Arithmetic;
use crate::model::{Arch, ModelFile, digest};
use serde::{Deserialize, Serialize};
use srnn_automata::Moore;
use srnn_check::{Refused, check};

/// The content of `certificate.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Always `srnn-certificate`.
    pub format: String,
    /// Version of the format: 1.
    pub version: u64,
    /// The theorem as a sentence; see [`statement`].
    pub statement: String,
    /// The network that is certified.
    pub model: CertifiedModel,
    /// The weakest arithmetic that is covered.
    pub arithmetic: Arithmetic,
    /// Names of the engines that are covered.
    pub engines: Vec<String>,
    /// Index of the start cell.
    pub start: usize,
    /// The cells of the proof.
    pub cells: Vec<CertifiedCell>,
    /// The minimal automaton of the cells.
    pub automaton: CertifiedAutomaton,
}

/// The network that a certificate is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedModel {
    /// SHA-256 of the weights.
    pub digest: String,
    /// The architecture, with τ of each layer.
    pub arch: Arch,
    /// Names of the symbols.
    pub alphabet: Vec<String>,
    /// Names of the classes.
    pub classes: Vec<String>,
}

/// A cell of a certificate: the set of all α within `radii` of `centre`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedCell {
    /// Centre `[n]`, layers bottom first.
    pub centre: Vec<f64>,
    /// Radius of each coordinate `[n]`.
    pub radii: Vec<f64>,
    /// m: the number of steps after which the images lie in cells again.
    pub depth: usize,
    /// Index of the class that is given to words ending here.
    pub decision: u32,
    /// Minimum logit margin of that class.
    pub margin: f64,
    /// Index of the next cell, for each symbol.
    pub successors: Vec<usize>,
    /// State of the minimal automaton.
    pub state: u32,
}

/// The minimal automaton of a certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedAutomaton {
    /// The start state.
    pub start: u32,
    /// Next state `[states][symbols]`.
    pub transitions: Vec<Vec<u32>>,
    /// Class of each state.
    pub outputs: Vec<u32>,
}

impl Certificate {
    /// The certificate of a proof about `model`.
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
            cells: proof.cells.iter().map(certified_cell).collect(),
            automaton: certified_automaton(&proof.automaton),
        }
    }

    /// The text of the file. Every double reads back to the same bits.
    pub fn to_json(&self) -> String {
        let mut text =
            serde_json::to_string_pretty(self).expect("a certificate has only string keys");
        text.push('\n');
        text
    }

    /// Parses the file. The claims are not verified: use the crate `srnn-check` for that.
    pub fn from_json(text: &str) -> Result<Certificate, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Minimum logit margin over all cells.
    pub fn margin(&self) -> f64 {
        self.cells.iter().map(|cell| cell.margin).fold(f64::INFINITY, f64::min)
    }
}

/// The certificate of a proof, if `srnn-check` accepts it. Only such a proof may be called proved.
pub fn check_proof(model: &ModelFile, proof: &Proof) -> Result<Certificate, Refused> {
    let certificate = Certificate::new(model, proof);
    let text = certificate.to_json();
    check(&model.config_bytes(), &model.weights_bytes(), text.as_bytes())?;
    Ok(certificate)
}

/// [`check_proof`] as an argument of [`certify_checked`](super::certify_checked).
pub fn proof_checker(model: &ModelFile) -> impl FnMut(&Proof) -> Result<(), String> {
    move |proof| check_proof(model, proof).map(drop).map_err(|refused| refused.to_string())
}

/// The theorem as a sentence.
pub fn statement(alphabet: &[String], automaton: &Moore<u32>, arithmetic: Arithmetic) -> String {
    // Quotes keep a symbol's name from reading as a part of the sentence.
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

fn certified_cell(cell: &ProvedCell) -> CertifiedCell {
    CertifiedCell {
        centre: cell.region.centre.clone(),
        radii: cell.region.radii.clone(),
        depth: cell.depth,
        decision: cell.decision,
        margin: cell.margin,
        successors: cell.successors.clone(),
        state: cell.state.0,
    }
}

fn certified_automaton(moore: &Moore<u32>) -> CertifiedAutomaton {
    let row = |state| moore.successors(state).iter().map(|next| next.0).collect();
    CertifiedAutomaton {
        start: moore.start().0,
        transitions: moore.states().map(row).collect(),
        outputs: moore.outputs().to_vec(),
    }
}
