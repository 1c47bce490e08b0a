//! What of a batch the device needs.

use super::CudaError;
use super::chunks::Chunks;
use super::device::{Address, Device, Gpu, Pinned, Room};
use super::matrix::NO_ROW;
use crate::tokens::BatchTokens;
use crate::{Batch, Inputs, Transition};
use std::sync::Arc;

/// A batch on the device, and what may change with every update.
pub struct Upload {
    room: Room<u32>,
    words: Vec<u32>,
    /// Free when the words are in their room, and before `staged` in the order in which they end.
    pinned: Pinned<u32>,
    /// Brings words to the device while it computes.
    bringer: Device,
    /// Where they wait for their room to be free.
    staged: Room<u32>,
    draws: Room<f32>,
}

/// Where the parts of a batch are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// B.
    pub rows: usize,
    /// N.
    pub steps: usize,
    /// Distinct tokens, and some that are none (see [`padded`]); 0 for real inputs.
    pub distinct: usize,
    /// What may change with every update: one for each layer, then one for the head, one for the
    /// update.
    pub presses: Vec<Address>,
    /// `[B+1]`.
    pub offsets: Address,
    /// `[B]`: rows, the longest first.
    pub order: Address,
    /// `[B]` or `[N]`.
    pub targets: Address,
    /// `[C]`, or nothing.
    pub class_weights: Address,
    /// Ids `[distinct]`.
    pub ids: Address,
    /// The place of each step's token among them `[N]`.
    pub places: Address,
    /// The steps in the order of their places `[N]`, and where each place begins `[distinct+1]`.
    pub by_place: Address,
    pub first: Address,
    /// How the scan of the bottom layer is cut.
    pub chunks: Chunks,
    /// `[N,E]`, real inputs.
    pub real: Address,
}

/// Whether someone will sum steps by their tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorting {
    ByToken,
    Not,
}

/// So many places are there for `distinct` tokens: batches with about as many are the same work.
pub fn padded(distinct: usize) -> usize {
    distinct.next_multiple_of((distinct.next_power_of_two() / 32).max(1))
}

impl Placed {
    /// Where the ids of some of the distinct tokens are.
    pub fn ids_of(&self, tokens: &std::ops::Range<usize>) -> Address {
        self.ids + 4 * tokens.start as u64
    }
}

impl Upload {
    /// Nothing yet, on this GPU.
    pub fn new(gpu: &Arc<Gpu>) -> Result<Upload, CudaError> {
        Ok(Upload {
            room: Room::default(),
            words: vec![],
            pinned: Pinned::default(),
            bringer: Device::alone(gpu)?,
            staged: Room::default(),
            draws: Room::default(),
        })
    }

    /// Copies a batch, the order of its rows, its tokens, what chunks need to know and `presses`
    /// to the device; `met` is how many tokens are met before each time.
    pub fn write(
        &mut self,
        device: &Device,
        batch: &Batch,
        order: &[u32],
        (tokens, sorting): (&BatchTokens, Sorting),
        (chunks, met): (Chunks, &[u32]),
        presses: &[Vec<u32>],
    ) -> Result<Placed, CudaError> {
        self.words.clear();
        let distinct = padded(tokens.distinct.len());
        let (by_place, first) = match sorting {
            Sorting::ByToken => sorted(tokens, distinct),
            Sorting::Not => Default::default(),
        };
        let mut ids = tokens.distinct.clone();
        ids.resize(distinct, NO_ROW);
        let real: &[f32] = match &batch.input {
            Inputs::Real(x) => x,
            Inputs::Tokens(_) => &[],
        };
        let presses: Vec<usize> = presses.iter().map(|press| self.push(press)).collect();
        let offsets: Vec<u32> = batch.offsets.iter().map(|&offset| offset as u32).collect();
        let offsets = self.push(&offsets);
        let order = self.push(order);
        let targets = self.push(batch.target_ids());
        let class_weights = self.push_numbers(&batch.class_weights);
        let (ids, places) = (self.push(&ids), self.push(&tokens.places));
        let (by_place, first) = (self.push(&by_place), self.push(&first));
        let times = self.push(&chunks.beginnings(met));
        let (at, first_real) = (self.send(device, real)?, self.words.len());
        let place = |word: usize| at + 4 * word as u64;
        Ok(Placed {
            rows: batch.rows(),
            steps: batch.steps(),
            distinct,
            presses: presses.into_iter().map(place).collect(),
            offsets: place(offsets),
            order: place(order),
            targets: place(targets),
            class_weights: if batch.class_weights.is_empty() { 0 } else { place(class_weights) },
            ids: place(ids),
            places: place(places),
            by_place: place(by_place),
            first: place(first),
            chunks: chunks.at(place(times)),
            real: if real.is_empty() { 0 } else { place(first_real) },
        })
    }

    /// Copies the words, and the numbers after them, to the device: at once as far as the stage,
    /// and to their room when everything asked so far is done. Returns where they are then.
    // PERF: one copy, from memory that the device reads by itself; the driver would first copy
    // anything else, block by block, while the device waits.
    fn send(&mut self, device: &Device, real: &[f32]) -> Result<Address, CudaError> {
        let (words, count) = (&self.words, self.words.len() + real.len());
        let all = self.pinned.fit(device, count)?;
        let (first, rest) = all.split_at_mut(words.len());
        first.copy_from_slice(words);
        rest.iter_mut().zip(real).for_each(|(word, x)| *word = x.to_bits());
        // Those before them are in their room, because `pinned` is free: nobody reads the stage.
        self.staged.write(&self.bringer, all)?;
        device.follow(&self.bringer)?;
        let at = self.room.take(device, &self.staged, count)?;
        self.pinned.asked(device)?;
        Ok(at)
    }

    /// Where the words will lie. Each part has room for as many as the next power of two, at least
    /// 16 bytes: batches of about the same size lie alike, and vectors can be loaded.
    fn push(&mut self, words: &[u32]) -> usize {
        let first = self.words.len();
        self.words.extend(words);
        self.words.resize(first + words.len().next_power_of_two().max(4), 0);
        first
    }

    fn push_numbers(&mut self, numbers: &[f32]) -> usize {
        let first = self.words.len();
        self.words.extend(numbers.iter().map(|x| x.to_bits()));
        self.words.resize(first + numbers.len().next_multiple_of(4), 0);
        first
    }

    /// The draws of a layer, a number for every step, where transitions are sampled.
    pub fn draws(
        &mut self,
        device: &Device,
        batch: &Batch,
        l: usize,
        end: bool,
        transition: Transition,
    ) -> Result<Address, CudaError> {
        if !matches!(transition, Transition::Sample(_)) {
            return Ok(0);
        }
        let mut draws = vec![0.0f32; batch.steps()];
        for b in 0..batch.rows() {
            let mut stream = transition.row_rng(b, l);
            let row = batch.row(b);
            let moves = row.len() - (end && !row.is_empty()) as usize;
            draws[row][..moves].fill_with(|| stream.unit() as f32);
        }
        // The layer below may still be reading its own.
        device.wait()?;
        self.draws.write(device, &draws)
    }
}

/// Steps in the order of their tokens' places, and where each of so many places begins.
fn sorted(tokens: &BatchTokens, places: usize) -> (Vec<u32>, Vec<u32>) {
    // While steps are put in their order, a place's next step is counted one further on; in the end
    // that is where the place after it begins.
    let mut first = vec![0u32; places + 2];
    tokens.places.iter().for_each(|&place| first[place as usize + 2] += 1);
    let mut sum = 0;
    for count in &mut first {
        sum += *count;
        *count = sum;
    }
    let mut by_place = vec![0u32; tokens.places.len()];
    for (step, &place) in tokens.places.iter().enumerate() {
        let next = &mut first[place as usize + 1];
        by_place[*next as usize] = step as u32;
        *next += 1;
    }
    first.truncate(places + 1);
    (by_place, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_are_none_have_no_steps() {
        let tokens = BatchTokens { distinct: vec![3, 5], places: vec![1, 0, 1] };
        let (by_place, first) = sorted(&tokens, 4);
        assert_eq!((by_place, first), (vec![1, 0, 2], vec![0, 1, 3, 3, 3]));
    }

    #[test]
    fn batches_with_about_as_many_tokens_have_as_many_places() {
        assert_eq!([0, 1, 15, 30].map(padded), [0, 1, 15, 30]);
        assert_eq!([6100, 6144, 6145].map(padded), [6144, 6144, 6400]);
    }
}
