//! Reasons for refusing a certificate.

use std::fmt;
use std::path::PathBuf;

/// The first condition that does not hold, with its location and the excess.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Certificates do not cover a model with this config, or it cannot be read.
    #[error("config.json: {0}")]
    Config(String),
    /// The weights cannot be read.
    #[error("model.safetensors: {0}; copy the model again")]
    Weights(String),
    /// The certificate is malformed.
    #[error("certificate: {0}; make it again with `srnn certify`")]
    Malformed(String),
    /// The certificate belongs to another model.
    #[error("the certificate is of another model: {what} is {found}, the model's is {expected}")]
    OtherModel {
        /// The property that differs.
        what: &'static str,
        /// Its value in the certificate.
        found: String,
        /// Its value in the model.
        expected: String,
    },
    /// The statement or the list of engines claims more than the cells prove.
    #[error("{what} is {found:?}, but these cells only prove {expected:?}")]
    WrongClaim {
        /// The claim.
        what: &'static str,
        /// Its value in the certificate.
        found: String,
        /// The value that the checker computes.
        expected: String,
    },
    /// Condition 1 or 2: an image is not inside its target cell.
    #[error(
        "{location}: the image is outside cell {target} in layer {layer}, coordinate {coordinate}, \
         by {excess:e}"
    )]
    OutsideCell {
        /// The image.
        location: CheckLocation,
        /// The target cell.
        target: usize,
        /// EnclosedLayer, from 0 at the bottom.
        layer: usize,
        /// Index into that layer's α.
        coordinate: usize,
        /// Distance of the enclosure from the cell.
        excess: f64,
    },
    /// Condition 2 or 3: the class is not proved.
    #[error(
        "{location}: the logit margin of class {decision} over class {rival} may be as low as \
         {margin:e}"
    )]
    Undecided {
        /// The set.
        location: CheckLocation,
        /// The class of the cell.
        decision: usize,
        /// The class that the network may give instead.
        rival: usize,
        /// Lower bound on the margin; not above 0.
        margin: f64,
    },
    /// A claimed margin is larger than the proved one.
    #[error("cell {cell} claims a margin of {claimed}, but only {proved} can be proved")]
    Margin {
        /// The cell.
        cell: usize,
        /// The margin in the certificate.
        claimed: f64,
        /// The margin that the checker computes.
        proved: f64,
    },
    /// The automaton is not the minimal automaton of the cells.
    #[error("automaton: {0}")]
    Automaton(String),
    /// A file cannot be read.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason and the remedy.
        cause: String,
    },
}

/// The set on which a condition is checked.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckLocation {
    /// The state after the start token, or the initial state if there is none.
    Start,
    /// The image of a cell under `word`; the cell itself if `word` is empty.
    Cell {
        /// The cell.
        cell: usize,
        /// Names of the symbols.
        word: Vec<String>,
    },
}

impl fmt::Display for CheckLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckLocation::Start => write!(f, "at the start"),
            CheckLocation::Cell { cell, word } if word.is_empty() => write!(f, "on cell {cell}"),
            CheckLocation::Cell { cell, word } => {
                write!(f, "from cell {cell} after {:?}", word.join(" "))
            }
        }
    }
}
