//! Why a certificate proves nothing.

use std::fmt;
use std::path::PathBuf;

/// The first thing that does not hold, with its place and by how much.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The model's config is not one a certificate can speak of.
    #[error("config.json: {0}")]
    Config(String),
    /// The model's weights cannot be read.
    #[error("model.safetensors: {0}; copy the model again")]
    Weights(String),
    /// The certificate is not well formed.
    #[error("certificate: {0}; make it again with `srnn certify`")]
    Malformed(String),
    /// The certificate is of another model.
    #[error("the certificate is of another model: {what} is {found}, the model's is {expected}")]
    OtherModel {
        /// What differs.
        what: &'static str,
        /// In the certificate.
        found: String,
        /// In the model.
        expected: String,
    },
    /// The certificate says more than it proves.
    #[error("{what} is {found:?}, but of these cells it may only be {expected:?}")]
    Claims {
        /// Which claim.
        what: &'static str,
        /// In the certificate.
        found: String,
        /// What the checker would say.
        expected: String,
    },
    /// Condition 1 or 2: a set is not inside the cell it should lead to.
    #[error(
        "{place}: the state leaves cell {target} in layer {layer}, coordinate {coordinate}, by {excess:e}"
    )]
    Leaves {
        /// Where.
        place: Place,
        /// The cell it should lie in.
        target: usize,
        /// Layer, from 0 at the bottom.
        layer: usize,
        /// Coordinate of that layer's α.
        coordinate: usize,
        /// How far the enclosure sticks out.
        excess: f64,
    },
    /// Conditions 2 and 3: the class is not decided.
    #[error("{place}: class {decision} does not lead class {rival} surely; it lacks {missing:e}")]
    Undecided {
        /// Where.
        place: Place,
        /// The class that should be decided.
        decision: usize,
        /// The class that may win.
        rival: usize,
        /// How much the lead lacks to be above 0.
        missing: f64,
    },
    /// A margin larger than what can be proved.
    #[error("cell {cell} claims a margin of {claimed}, but only {proved} can be proved")]
    Margin {
        /// The cell.
        cell: usize,
        /// In the certificate.
        claimed: f64,
        /// What the conditions give.
        proved: f64,
    },
    /// The automaton is not the minimal form of the cells.
    #[error("the automaton: {0}")]
    Automaton(String),
    /// A file that cannot be read.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why, and the remedy.
        cause: String,
    },
}

/// Where a condition is checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Before or on the start token.
    Start,
    /// After reading `word` from a cell; empty on the cell itself.
    Cell {
        /// The cell.
        cell: usize,
        /// The symbols read.
        word: Vec<String>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Start => write!(f, "at the start"),
            Place::Cell { cell, word } if word.is_empty() => write!(f, "on cell {cell}"),
            Place::Cell { cell, word } => {
                write!(f, "from cell {cell} after {:?}", word.join(" "))
            }
        }
    }
}
