//! Which architectures are valid.

use super::{Arch, Input, Layout};

/// An invalid architecture.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArchError {
    /// A temperature out of range.
    #[error(
        "temperature {tau}: must be above 0, and 1/τ a number in single precision (1 is the standard softmax)"
    )]
    Temperature {
        /// The given value.
        tau: f64,
    },
    /// A size that is too small.
    #[error("{what} is 0: give at least {least}")]
    TooSmall {
        /// The name of the size.
        what: &'static str,
        /// The smallest valid size.
        least: usize,
    },
    /// A read-out of the cell state of a GRU.
    #[error(
        "the read-out asks for the cell state c, but a GRU has none: read h or u, or use an LSTM"
    )]
    NoCellState,
    /// Classes or features that are not those of the embedding that is the head's weight.
    #[error(
        "the embedding cannot be the classifier's weight: it has {vocabulary} rows of {width}, and there are {classes} classes and {features} features: make them equal, or give the classifier its own weights"
    )]
    Untieable {
        /// V.
        vocabulary: usize,
        /// E.
        width: usize,
        /// C.
        classes: usize,
        /// The width of what the classifier reads.
        features: usize,
    },
    /// Too many parameters.
    #[error("the network would have more than {limit} parameters: lower units, k or embedding")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// The largest number of parameters of a valid architecture.
pub const MAX_PARAMETERS: usize = 1 << 31;

impl Arch {
    /// Checks sizes, read-out and number of parameters.
    pub fn validate(&self) -> Result<(), ArchError> {
        let at_least = |what, size: usize, least| {
            if size < least { Err(ArchError::TooSmall { what, least }) } else { Ok(()) }
        };
        at_least("the number of layers", self.layers.len(), 1)?;
        at_least("the number of classes", self.classes, 2)?;
        at_least("the input's width", self.input.width(), 1)?;
        if let Input::Tokens { symbols, .. } = self.input {
            at_least("the alphabet", symbols, 1)?;
        }
        for layer in &self.layers {
            at_least("the number of units", layer.units, 1)?;
            at_least("the number of centroids k", layer.centroids.map_or(1, |s| s.k), 1)?;
        }
        if self.readout.from.c() && !self.top().cell.has_memory() {
            return Err(ArchError::NoCellState);
        }
        let (vocabulary, width) = (self.input.vocabulary(), self.input.width());
        let (classes, features) = (self.classes, self.features());
        if self.is_tied() && (vocabulary, width) != (classes, features) {
            return Err(ArchError::Untieable { vocabulary, width, classes, features });
        }
        match Layout::checked(self) {
            Some(layout) if layout.len <= MAX_PARAMETERS => Ok(()),
            _ => Err(ArchError::TooLarge { limit: MAX_PARAMETERS }),
        }
    }
}
