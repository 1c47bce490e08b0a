//! The distinct tokens of a batch: a fast engine computes one row of `E·Wᵀ + b` for each.

use super::{Batch, Inputs};

/// The distinct tokens of a batch, and the index of each step's token among them.
#[derive(Default)]
pub struct BatchTokens {
    /// Token ids, each once.
    pub distinct: Vec<u32>,
    /// `[N]`: the index of each step's token in `distinct`.
    pub places: Vec<u32>,
}

impl BatchTokens {
    /// The tokens of a batch over a vocabulary of `size`, ids ascending; empty for real inputs.
    pub fn of(batch: &Batch, size: usize) -> BatchTokens {
        let Inputs::Tokens(ids) = &batch.input else {
            return BatchTokens::default();
        };
        let mut place = vec![u32::MAX; size];
        ids.iter().for_each(|&id| place[id as usize] = 0);
        let mut distinct = vec![];
        for (id, place) in place.iter_mut().enumerate().filter(|(_, place)| **place == 0) {
            *place = distinct.len() as u32;
            distinct.push(id as u32);
        }
        let places = ids.iter().map(|&id| place[id as usize]).collect();
        BatchTokens { distinct, places }
    }
}
