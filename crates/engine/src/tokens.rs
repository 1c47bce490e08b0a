//! The distinct tokens of a batch: a fast engine reads one row of `E·Wᵀ + b` for each.

use super::{Batch, Inputs};

/// The distinct tokens of a batch, and each step's place among them.
#[derive(Default)]
pub struct Tokens {
    /// Ids, each once.
    pub distinct: Vec<u32>,
    /// `[N]`: the place of each step's token in `distinct`.
    pub places: Vec<u32>,
}

impl Tokens {
    /// Of a batch over a vocabulary of `size`, ascending; nothing for real inputs.
    pub fn of(batch: &Batch, size: usize) -> Tokens {
        let Inputs::Tokens(ids) = &batch.input else {
            return Tokens::default();
        };
        let mut place = vec![u32::MAX; size];
        ids.iter().for_each(|&id| place[id as usize] = 0);
        let mut distinct = vec![];
        for (id, place) in place.iter_mut().enumerate().filter(|(_, place)| **place == 0) {
            *place = distinct.len() as u32;
            distinct.push(id as u32);
        }
        let places = ids.iter().map(|&id| place[id as usize]).collect();
        Tokens { distinct, places }
    }
}
