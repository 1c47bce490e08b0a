//! What can be wrong with a model file.

use super::ArchError;
use super::file::{CONFIG, FORMAT, VERSION, WEIGHTS};
use std::path::PathBuf;

/// A model file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The cause and the remedy.
    pub problem: Problem,
}

/// What is wrong with a model file. The message has the remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum Problem {
    #[error("no such file: name the folder that holds {CONFIG} and {WEIGHTS}")]
    Missing,
    #[error("not a plain file: put the file itself here")]
    NotAFile,
    #[error("{0}: check the permissions and the space on the disk")]
    Io(std::io::Error),
    #[error("{what} is {found}, more than the limit of {limit}: this is not a model of srnn")]
    TooLarge { what: &'static str, found: u64, limit: u64 },
    #[error("not a model's config: {0}; see docs/src/model-format.md for the fields")]
    Config(serde_json::Error),
    #[error("format {found:?}, but only {FORMAT:?} can be read: was this file made by srnn?")]
    Format { found: String },
    #[error("version {found}, but only {VERSION} can be read: use the srnn that wrote it")]
    Version { found: u64 },
    #[error("{0}")]
    Arch(#[from] ArchError),
    #[error("{what}: {found} names for {expected}; list one name for each, in order")]
    Names { what: &'static str, found: usize, expected: usize },
    #[error("{what}: {name:?} occurs twice; names must differ")]
    Twice { what: &'static str, name: String },
    #[error("the unknown symbol is {found}, but the alphabet has only {symbols} symbols")]
    Unknown { found: u32, symbols: usize },
    #[error("the image has no pixel or too many, or its order does not have each pixel once")]
    ImageLayout,
    #[error("an image is read as one number a step, but the input is another: remove \"image\"")]
    ImageInput,
    #[error("a tokenizer makes tokens, but the input is numbers: remove \"tokenizer\"")]
    TokenizerInput,
    #[error("damaged or not a safetensors file ({0}): copy or download it again")]
    Header(String),
    #[error("no tensor {name:?} of shape {expected:?}: {CONFIG} describes another model")]
    NoTensor { name: String, expected: Vec<usize> },
    #[error("a tensor {name:?} that {CONFIG} does not describe: remove it or describe it there")]
    ExtraTensor { name: String },
    #[error(
        "{name} has shape {found:?}, but {CONFIG} says {expected:?}: the files are of different models"
    )]
    Shape { name: String, found: Vec<usize>, expected: Vec<usize> },
    #[error("{name} is stored as {found}: convert it to F32 (F64 is read, too)")]
    Type { name: String, found: String },
    #[error("{name}[{at}] is {value}: weights must be finite in single precision")]
    NotFinite { name: String, at: usize, value: f64 },
    #[error(
        "the weights' digest is {found}, but {CONFIG} says {expected}: the two files are of different saves, or one is damaged"
    )]
    Digest { found: String, expected: String },
    #[error(
        "it was changed after it was written (its digest is {found}, not {expected}): restore it, or remove \"config_digest\" if the change is intended"
    )]
    Changed { found: String, expected: String },
}
