//! `config.json`, as far as a certificate can speak of it: tokens in, GRU layers with centroids,
//! a class after the last step. Anything else is refused while reading.

use crate::refused::Refused;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// What is read of `config.json`; described in `docs/model-format.md`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    format: String,
    version: u64,
    pub arch: Arch,
    pub alphabet: Vec<String>,
    /// Words over the alphabet have no unknown symbols.
    #[serde(rename = "unknown")]
    _unknown: Option<u32>,
    pub classes: Vec<String>,
    #[serde(default)]
    pub digest: Option<String>,
    /// What it guards is compared with the certificate field by field.
    #[serde(rename = "config_digest", default)]
    _config_digest: Option<String>,
}

/// The shape of a network.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arch {
    pub input: Input,
    pub layers: Vec<LayerShape>,
    pub readout: Readout,
    pub classes: usize,
}

/// What a step reads.
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
pub struct LayerShape {
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

/// Where the reset gate acts.
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

/// How u is compared with a centroid.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    Dot,
    Euclidean,
}

/// What the classifier reads.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readout {
    pub from: ReadFrom,
    when: When,
}

/// Which vector of the top layer.
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

/// No size may be larger. With [`TAU`] and the largest weight it keeps the running program away
/// from overflow, which the error model does not speak of.
const LARGEST_SIZE: usize = 1 << 13;
/// From 2⁻⁴⁰ to 2⁴⁰.
const TAU: RangeInclusive<f64> = 1.0 / (1u64 << 40) as f64..=(1u64 << 40) as f64;

impl Input {
    /// The token that leads every sequence in.
    pub fn start_token(&self) -> Option<usize> {
        self.start.then_some(self.symbols)
    }

    /// The token that closes every sequence.
    pub fn end_token(&self) -> Option<usize> {
        self.end.then_some(self.symbols + self.start as usize)
    }

    /// V: start and end token included.
    pub fn vocabulary(&self) -> usize {
        self.symbols + self.start as usize + self.end as usize
    }
}

/// Reads `config.json`.
pub fn parse(bytes: &[u8]) -> Result<Config, Refused> {
    let config: Config = serde_json::from_slice(bytes).map_err(|error| {
        Refused::Config(format!(
            "{error}; a certificate speaks of GRU layers with centroids that read tokens and give \
             one class after the last step"
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
    let different = names.iter().collect::<BTreeSet<_>>().len();
    if names.len() == expected && different == expected {
        return Ok(());
    }
    let found = format!("{} names of {what}, {different} of them different", names.len());
    Err(Refused::Config(format!("{found}, for {expected}: each needs a name of its own")))
}
