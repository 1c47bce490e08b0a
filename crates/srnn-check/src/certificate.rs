//! `certificate.json`: parsed strictly, compared with the model, sizes and indices checked. The
//! modules `conditions` and `automaton` verify its claims.

use crate::config::{Arch, ModelConfig};
use crate::error_model::Arithmetic;
use crate::refused::Refused;
use crate::weights::ModelWeights;
use serde::Deserialize;

/// The content of `certificate.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    format: String,
    version: u64,
    pub statement: String,
    pub model: CertifiedModel,
    pub arithmetic: Arithmetic,
    pub engines: Vec<String>,
    pub start: usize,
    pub cells: Vec<CertifiedCell>,
    pub automaton: CertifiedAutomaton,
}

/// The model that the certificate is about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedModel {
    pub digest: String,
    pub arch: Arch,
    pub alphabet: Vec<String>,
    pub classes: Vec<String>,
}

/// A cell: the set of all α within `radii` of `centre`, layers bottom first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedCell {
    pub centre: Vec<f64>,
    pub radii: Vec<f64>,
    pub depth: u32,
    pub decision: usize,
    pub margin: f64,
    pub successors: Vec<usize>,
    pub state: usize,
}

/// The minimal automaton of the cells.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedAutomaton {
    pub start: usize,
    pub transitions: Vec<Vec<usize>>,
    pub outputs: Vec<usize>,
}

/// Largest number of cells.
const MAX_CELLS: usize = 1 << 17;
/// Largest number of words of one cell.
const MAX_WORDS: usize = 4096;
/// Largest depth of a cell, also over an alphabet of one symbol.
const MAX_DEPTH: u32 = 64;

/// Parses the file. Unknown, missing or duplicate fields and numbers outside the range of doubles
/// are errors.
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

/// Checks that the certificate belongs to this model.
pub fn check_model(
    claim: &CertifiedModel,
    config: &ModelConfig,
    weights: &ModelWeights,
) -> Result<(), Refused> {
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

/// Checks all sizes and indices.
pub fn check_shape(certificate: &Certificate) -> Result<(), Refused> {
    let arch = &certificate.model.arch;
    let cells = certificate.cells.len();
    if cells > MAX_CELLS {
        return Err(Refused::Malformed(format!(
            "{cells} cells, more than the limit of {MAX_CELLS}"
        )));
    }
    if certificate.start >= cells {
        return Err(Refused::Malformed(format!("start is {} of {cells} cells", certificate.start)));
    }
    for (index, cell) in certificate.cells.iter().enumerate() {
        check_cell(cell, cells, arch)
            .map_err(|cause| Refused::Malformed(format!("cell {index}: {cause}")))?;
    }
    Ok(())
}

fn check_cell(cell: &CertifiedCell, cells: usize, arch: &Arch) -> Result<(), String> {
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
    let words = symbols.checked_pow(cell.depth).filter(|&words| words <= MAX_WORDS);
    if !(1..=MAX_DEPTH).contains(&cell.depth) || words.is_none() {
        let limits = format!("at least 1, at most {MAX_DEPTH}, at most {MAX_WORDS} words");
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
