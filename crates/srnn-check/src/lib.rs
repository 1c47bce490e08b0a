//! Checks certificates of srnn: proofs that a trained SR-GRU gives every word, of any length, the
//! class that an automaton gives it.
//!
//! The checker shares no code with the prover, and it does not search. It recomputes every
//! inequality of `docs/src/certificate.md` from the model and the file, with its own
//! outward-rounded arithmetic, and refuses the certificate at the first one that does not hold.
//!
//! The module `conditions` has the proof. `zonotope`, `step`, `gru` and `softmax` have the
//! enclosure of one step; `interval`, `functions` and `matrix` have the arithmetic.

#![forbid(unsafe_code)]

mod automaton;
mod certificate;
mod conditions;
mod config;
mod error_model;
mod functions;
mod gru;
mod interval;
mod matrix;
mod network;
mod refused;
mod softmax;
mod step;
#[cfg(test)]
mod tests;
mod weights;
mod zonotope;

// The helpers shared with the integration tests refer to the crate by its name.
#[cfg(test)]
extern crate self as srnn_check;

pub use error_model::Arithmetic;
pub use refused::{CheckLocation, Refused};

use certificate::Certificate;
use network::EnclosedNetwork;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// A certificate that was verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The theorem as a sentence, written by the checker.
    pub statement: String,
    /// The arithmetic that is covered besides real arithmetic.
    pub arithmetic: Arithmetic,
    /// Names of the engines that are covered.
    pub engines: Vec<String>,
    /// SHA-256 of the weights.
    pub digest: String,
    /// Number of states of the automaton.
    pub states: usize,
    /// Number of cells.
    pub cells: usize,
    /// Number of cells times number of symbols.
    pub edges: usize,
    /// Minimum logit margin over all words.
    pub smallest_margin: f64,
}

/// Files above this size are refused; in bytes.
const LARGEST_FILE: u64 = 1 << 30;

/// Checks a certificate against a model; the arguments are the contents of `config.json`,
/// `model.safetensors` and `certificate.json`.
pub fn check(config: &[u8], weights: &[u8], certificate: &[u8]) -> Result<Checked, Refused> {
    let certificate = certificate::parse(certificate)?;
    let config = config::parse(config)?;
    let weights = weights::parse(weights, &config.arch)?;
    certificate::check_model(&certificate.model, &config, &weights)?;
    certificate::check_shape(&certificate)?;
    automaton::check(&certificate)?;
    check_claims(&certificate)?;
    let errors = certificate.arithmetic.error_model();
    let network = EnclosedNetwork::new(&config.arch, &weights, errors);
    // Without threads, as in a browser, the number is unknown.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let smallest_margin = conditions::check(&network, &certificate, threads)?;
    Ok(Checked {
        statement: statement(&certificate),
        arithmetic: certificate.arithmetic,
        engines: certificate.engines,
        digest: weights.digest,
        states: certificate.automaton.outputs.len(),
        cells: certificate.cells.len(),
        edges: certificate.cells.len() * config.arch.input.symbols,
        smallest_margin,
    })
}

/// Checks the certificate at a path against the model in a folder.
pub fn check_files(model: &Path, certificate: &Path) -> Result<Checked, Refused> {
    let config = read(&model.join("config.json"))?;
    let weights = read(&model.join("model.safetensors"))?;
    check(&config, &weights, &read(certificate)?)
}

/// Compares statement and engines with those that the checker writes itself, so that a file cannot
/// claim more in words than its cells prove.
fn check_claims(certificate: &Certificate) -> Result<(), Refused> {
    let engines = certificate.arithmetic.engines();
    if certificate.engines != engines {
        let (found, expected) = (certificate.engines.join(", "), engines.join(", "));
        return Err(Refused::WrongClaim { what: "the list of engines", found, expected });
    }
    let expected = statement(certificate);
    if certificate.statement != expected {
        let found = certificate.statement.clone();
        return Err(Refused::WrongClaim { what: "the statement", found, expected });
    }
    Ok(())
}

/// The only statement that a certificate may have.
fn statement(certificate: &Certificate) -> String {
    // Quotes keep a symbol's name from reading as a part of the sentence.
    let alphabet: Vec<String> =
        certificate.model.alphabet.iter().map(|name| serde_json::json!(name).to_string()).collect();
    let alphabet = alphabet.join(", ");
    let states = match certificate.automaton.outputs.len() {
        1 => "1 state".to_string(),
        n => format!("{n} states"),
    };
    let engines = certificate.arithmetic.engines().join(", ");
    format!(
        "For every word over the alphabet {{{alphabet}}}, of any length, the network gives the \
         class that the automaton with {states} gives, in real arithmetic and in the \
         engines {engines}."
    )
}

fn read(path: &Path) -> Result<Vec<u8>, Refused> {
    let refuse = |cause: String| Refused::File { path: path.to_path_buf(), cause };
    let io = |error: std::io::Error| refuse(format!("{error}: check the path"));
    // Checked before opening: opening a pipe would block.
    let about = fs::metadata(path).map_err(io)?;
    if !about.is_file() {
        return Err(refuse("not a regular file: give the path of the file".into()));
    }
    let mut bytes = vec![];
    fs::File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
        .map_err(io)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(refuse(format!(
            "larger than {LARGEST_FILE} bytes: srnn does not write such a file"
        )));
    }
    Ok(bytes)
}
