//! The checker of srnn's certificates: that one trained SR-GRU gives every word, of any length,
//! the class that one automaton gives it.
//!
//! It shares no code with the program that makes certificates, and it searches nothing: it
//! re-derives every inequality of `docs/certificate.md` from the model and the file, with
//! arithmetic of its own that rounds outwards, and refuses at the first that does not hold.
//!
//! Read `conditions` for the proof, `set`, `step`, `gru` and `softmax` for the enclosure of one
//! step, `interval`, `functions` and `balls` for the arithmetic.

mod arithmetic;
mod automaton;
mod balls;
mod certificate;
mod conditions;
mod config;
mod functions;
mod gru;
mod interval;
mod network;
mod refused;
mod set;
mod softmax;
mod step;
#[cfg(test)]
mod tests;
mod weights;

// What the suites share speaks of the crate by its name.
#[cfg(test)]
extern crate self as srnn_check;

pub use arithmetic::Arithmetic;
pub use refused::{Place, Refused};

use certificate::Certificate;
use network::Network;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// What has been proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// In words, made by the checker from what it verified.
    pub statement: String,
    /// Which rounding is covered besides real arithmetic.
    pub arithmetic: Arithmetic,
    /// The engines that compute within it.
    pub engines: Vec<String>,
    /// SHA-256 of the weights.
    pub digest: String,
    /// States of the automaton.
    pub states: usize,
    /// Cells of the cover.
    pub cells: usize,
    /// Cells times symbols.
    pub edges: usize,
    /// By how many logits the class leads at least, on any word.
    pub smallest_margin: f64,
}

/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 30;

/// Checks a certificate against the model's `config.json` and `model.safetensors`.
pub fn check(config: &[u8], weights: &[u8], certificate: &[u8]) -> Result<Checked, Refused> {
    let certificate = certificate::parse(certificate)?;
    let config = config::parse(config)?;
    let weights = weights::parse(weights, &config.arch)?;
    certificate::check_model(&certificate.model, &config, &weights)?;
    certificate::check_shape(&certificate)?;
    automaton::check(&certificate)?;
    check_claims(&certificate)?;
    let charges = certificate.arithmetic.charges();
    let network = Network::new(&config.arch, &weights, charges);
    let smallest_margin = conditions::check(&network, &certificate)?;
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

/// Checks the certificate in a file against the model in a folder.
pub fn check_files(model: &Path, certificate: &Path) -> Result<Checked, Refused> {
    let config = read(&model.join("config.json"))?;
    let weights = read(&model.join("model.safetensors"))?;
    check(&config, &weights, &read(certificate)?)
}

/// The words and the engines are the checker's own: a file cannot claim more in prose.
fn check_claims(certificate: &Certificate) -> Result<(), Refused> {
    let engines = certificate.arithmetic.engines();
    if certificate.engines != engines {
        let (found, expected) = (certificate.engines.join(", "), engines.join(", "));
        return Err(Refused::Claims { what: "the list of engines", found, expected });
    }
    let expected = statement(certificate);
    if certificate.statement != expected {
        let found = certificate.statement.clone();
        return Err(Refused::Claims { what: "the statement", found, expected });
    }
    Ok(())
}

/// The one sentence that a certificate may state.
fn statement(certificate: &Certificate) -> String {
    // Quoted, so that no symbol's name can read as a part of the sentence.
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
    // Asked before opening: a pipe would wait for a writer.
    let about = fs::metadata(path).map_err(io)?;
    if !about.is_file() {
        return Err(refuse("not a plain file: name the file itself".into()));
    }
    let mut bytes = vec![];
    fs::File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
        .map_err(io)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(refuse(format!("larger than {LARGEST_FILE} bytes: not a file of srnn")));
    }
    Ok(bytes)
}
