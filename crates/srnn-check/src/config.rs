//! The subset of `config.json` that certificates cover: token input, GRU layers with centroids, one
//! class after the last step. Anything else fails to parse.

use crate::refused::Refused;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The content of `config.json`, described in `docs/src/model-format.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    format: String,
    version: u64,
    pub arch: Arch,
    pub alphabet: Vec<String>,
    /// Not used: words over the alphabet have no unknown symbols.
    #[serde(rename = "unknown")]
    _unknown: Option<u32>,
    pub classes: Vec<String>,
    /// Not used: a certificate is about tokens, not about texts.
    #[serde(rename = "tokenizer", default)]
    _tokenizer: Option<String>,
    #[serde(default)]
    pub digest: Option<String>,
    /// Not used: every field that it covers is compared with the certificate.
    #[serde(rename = "config_digest", default)]
    _config_digest: Option<String>,
}

/// The architecture of a network.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arch {
    pub input: Input,
    pub layers: Vec<Layer>,
    pub readout: Readout,
    pub classes: usize,
}

/// The input of a step: a token.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    kind: InputKind,
    pub symbols: usize,
    pub embedding: usize,
    pub start: bool,
    pub end: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum InputKind {
    Tokens,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    pub cell: Cell,
    pub units: usize,
    pub gate: Gate,
    pub bias: bool,
    pub centroids: Centroids,
}

/// The recurrent component.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    kind: CellKind,
    pub reset: Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CellKind {
    Gru,
}

/// Whether the reset gate acts before or after the recurrent matrix.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    AfterMatrix,
    BeforeMatrix,
}

/// The nonlinearity of the gates.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    Sigmoid,
    HardSigmoid,
}

/// The stochastic component.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Centroids {
    pub k: usize,
    pub score: Score,
    pub tau: f64,
}

/// The similarity of u and a centroid.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    Dot,
    Euclidean,
}

/// The input of the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readout {
    pub from: ReadFrom,
    when: When,
}

/// The vector of the top layer that the classifier reads.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadFrom {
    H,
    U,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    Last,
}

/// Largest size. With [`TAU`] and the largest weight it excludes overflow in the running program,
/// which the error model does not cover.
const LARGEST_SIZE: usize = 1 << 13;
/// Permitted τ: 2⁻⁴⁰ to 2⁴⁰.
const TAU: RangeInclusive<f64> = 1.0 / (1u64 << 40) as f64..=(1u64 << 40) as f64;

impl Input {
    /// The token that begins every sequence.
    pub fn start_token(&self) -> Option<usize> {
        self.start.then_some(self.symbols)
    }

    /// The token that ends every sequence.
    pub fn end_token(&self) -> Option<usize> {
        self.end.then_some(self.symbols + self.start as usize)
    }

    /// V: the number of symbols, start and end token included.
    pub fn vocabulary(&self) -> usize {
        self.symbols + self.start as usize + self.end as usize
    }
}

/// Parses and validates `config.json`.
pub fn parse(bytes: &[u8]) -> Result<ModelConfig, Refused> {
    let config: ModelConfig = serde_json::from_slice(bytes).map_err(|error| {
        Refused::Config(format!(
            "{error}; certificates cover GRU layers with centroids that read tokens and give one \
             class after the last step"
        ))
    })?;
    if config.format != "srnn-model" || config.version != 1 {
        let found = format!("format {:?} version {}", config.format, config.version);
        return Err(Refused::Config(format!("{found}: expected \"srnn-model\" version 1")));
    }
    check_sizes(&config.arch)?;
    check_names("symbols", &config.alphabet, config.arch.input.symbols)?;
    check_names("classes", &config.classes, config.arch.classes)?;
    Ok(config)
}

fn check_sizes(arch: &Arch) -> Result<(), Refused> {
    let layers = arch.layers.iter().flat_map(|l| [(l.units, 1), (l.centroids.k, 1)]);
    let sizes = [(arch.input.symbols, 1), (arch.input.embedding, 1), (arch.classes, 2)];
    let sizes = sizes.into_iter().chain([(arch.layers.len(), 1)]).chain(layers);
    for (size, least) in sizes {
        if !(least..=LARGEST_SIZE).contains(&size) {
            let limits = format!("a size must be from {least} to {LARGEST_SIZE}");
            return Err(Refused::Config(format!("a size of {size}: {limits}")));
        }
    }
    match arch.layers.iter().find(|l| !TAU.contains(&l.centroids.tau)) {
        Some(l) => Err(Refused::Config(format!("tau is {}: outside {TAU:?}", l.centroids.tau))),
        None => Ok(()),
    }
}

fn check_names(what: &str, names: &[String], expected: usize) -> Result<(), Refused> {
    let distinct = names.iter().collect::<BTreeSet<_>>().len();
    if names.len() == expected && distinct == expected {
        return Ok(());
    }
    let found = format!("{} names of {what}, {distinct} of them distinct", names.len());
    Err(Refused::Config(format!("{found}; expected {expected} distinct names")))
}
