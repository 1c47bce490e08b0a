//! The file: read strictly, compared with the model it names, sizes and ranges checked. What it
//! claims about numbers is the business of `conditions` and `automaton`.

use crate::arithmetic::Arithmetic;
use crate::config::{Arch, Config};
use crate::refused::Refused;
use crate::weights::Weights;
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    version: u64,
    pub statement: String,
    pub model: ModelClaim,
    pub arithmetic: Arithmetic,
    pub engines: Vec<String>,
    pub start: usize,
    pub cells: Vec<Cell>,
    pub automaton: Automaton,
}

/// Which model it is about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelClaim {
    pub digest: String,
    pub arch: Arch,
    pub alphabet: Vec<String>,
    pub classes: Vec<String>,
}

/// One cell: all α within `radii` of `centre`, layers bottom first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    pub centre: Vec<f64>,
    pub radii: Vec<f64>,
    pub depth: u32,
    pub decision: usize,
    pub margin: f64,
    pub successors: Vec<usize>,
    pub state: usize,
}

/// The minimal automaton.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Automaton {
    pub start: usize,
    pub transitions: Vec<Vec<usize>>,
    pub outputs: Vec<usize>,
}

/// The most cells.
const CELLS: usize = 1 << 17;
/// The most words a cell may have.
const WORDS: usize = 4096;
/// The deepest a cell may look, also over an alphabet of one symbol.
const DEPTH: u32 = 64;

/// Reads the file. Fields that are unknown, missing or double and numbers beyond the doubles are
/// refused by the reader itself.
pub fn parse(bytes: &[u8]) -> Result<Certificate, Refused> {
    let certificate: Certificate =
        serde_json::from_slice(bytes).map_err(|error| Refused::Malformed(error.to_string()))?;
    let (format, version) = (&certificate.format, certificate.version);
    if format != "srnn-certificate" || version != 1 {
        let found = format!("format {format:?} version {version}");
        return Err(Refused::Malformed(format!(
            "{found}: expected \"srnn-certificate\" version 1"
        )));
    }
    Ok(certificate)
}

/// That the certificate is of this model.
pub fn check_model(claim: &ModelClaim, config: &Config, weights: &Weights) -> Result<(), Refused> {
    let differs = |what, found: String, expected: String| match found == expected {
        true => Ok(()),
        false => Err(Refused::OtherModel { what, found, expected }),
    };
    if let Some(digest) = &config.digest {
        differs("the digest in config.json", digest.clone(), weights.digest.clone())?;
    }
    differs("the weights' digest", claim.digest.clone(), weights.digest.clone())?;
    if claim.arch != config.arch {
        let (found, expected) = (format!("{:?}", claim.arch), format!("{:?}", config.arch));
        return Err(Refused::OtherModel { what: "the architecture", found, expected });
    }
    let list = |names: &[String]| format!("{names:?}");
    differs("the alphabet", list(&claim.alphabet), list(&config.alphabet))?;
    differs("the classes", list(&claim.classes), list(&config.classes))
}

/// That every size fits and every index points somewhere.
pub fn check_shape(certificate: &Certificate) -> Result<(), Refused> {
    let arch = &certificate.model.arch;
    let cells = certificate.cells.len();
    if cells > CELLS {
        return Err(Refused::Malformed(format!("{cells} cells, more than the limit of {CELLS}")));
    }
    if certificate.start >= cells {
        return Err(Refused::Malformed(format!("start is {}, of {cells}", certificate.start)));
    }
    for (index, cell) in certificate.cells.iter().enumerate() {
        check_cell(cell, cells, arch)
            .map_err(|cause| Refused::Malformed(format!("cell {index}: {cause}")))?;
    }
    Ok(())
}

fn check_cell(cell: &Cell, cells: usize, arch: &Arch) -> Result<(), String> {
    let n: usize = arch.layers.iter().map(|layer| layer.centroids.k).sum();
    if cell.centre.len() != n || cell.radii.len() != n {
        let found = format!("{} centres and {} radii", cell.centre.len(), cell.radii.len());
        return Err(format!("{found} for {n} centroids"));
    }
    if !cell.centre.iter().chain(&cell.radii).all(|x| x.is_finite()) {
        return Err("a number that is not finite".into());
    }
    if let Some(at) = cell.radii.iter().position(|&radius| radius < 0.0) {
        return Err(format!("radius {at} is {}", cell.radii[at]));
    }
    let symbols = arch.input.symbols;
    let words = symbols.checked_pow(cell.depth).filter(|&words| words <= WORDS);
    if !(1..=DEPTH).contains(&cell.depth) || words.is_none() {
        let limits = format!("at least 1, at most {DEPTH}, at most {WORDS} words");
        return Err(format!("depth {} over {symbols} symbols: {limits}", cell.depth));
    }
    if cell.decision >= arch.classes {
        return Err(format!("decision {} of {} classes", cell.decision, arch.classes));
    }
    if cell.successors.len() != symbols || cell.successors.iter().any(|&next| next >= cells) {
        return Err(format!("successors {:?} over {symbols} symbols", cell.successors));
    }
    Ok(())
}
