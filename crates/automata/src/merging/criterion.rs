//! What searches minimise.

use super::{DescriptionLength, LabelTrust};

/// The description length, plus a penalty for every error if labels are trusted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Criterion<'a> {
    pub length: &'a DescriptionLength,
    error_bits: f64,
}

/// Bits of an error if labels are trusted: more than any automaton has.
const TRUSTED_ERROR_BITS: f64 = 1e9;

impl<'a> Criterion<'a> {
    pub fn new(length: &'a DescriptionLength, trust: LabelTrust) -> Criterion<'a> {
        let error_bits = match trust {
            LabelTrust::MayBeWrong => 0.0,
            LabelTrust::Trusted => TRUSTED_ERROR_BITS,
        };
        Criterion { length, error_bits }
    }

    pub fn bits(&self, states: usize, errors: usize) -> f64 {
        self.length.bits(states, errors) + self.error_bits * errors as f64
    }

    /// The bits of the errors alone. They grow with every error: to name the errors takes fewer bits
    /// again where most labels are wrong, but an automaton with exchanged classes explains nothing.
    pub fn error_bits(&self, errors: usize) -> f64 {
        let half = self.length.labels() / 2;
        let above = errors.saturating_sub(half) as f64;
        self.length.error_bits(errors.min(half)) + above + self.error_bits * errors as f64
    }
}
