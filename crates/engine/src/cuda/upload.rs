//! Uploads batches to the device.

use super::CudaError;
use super::chunks::TimeChunks;
use super::dropout::DeviceDropout;
use super::gpu::{Address, Buffer, Gpu, GpuStream, PinnedBuffer};
use super::layer::FirstState;
use super::matrix::NO_ROW;
use crate::tokens::BatchTokens;
use crate::{Batch, Inputs, Transition};
use std::sync::Arc;

/// Copies batches, and what may change with every update, to the device.
pub struct BatchUpload {
    batch_buffer: Buffer<u32>,
    words: Vec<u32>,
    /// Reusable once the words are in `batch_buffer`. By then the copies to and from `staging` have
    /// finished.
    pinned: PinnedBuffer<u32>,
    /// Copies words to the device while the other streams compute.
    copy_stream: GpuStream,
    /// Holds the words until `batch_buffer` is free.
    staging: Buffer<u32>,
    draws: Buffer<f32>,
}

/// A batch on the device: sizes, and addresses of its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceBatch {
    /// B.
    pub rows: usize,
    /// N.
    pub steps: usize,
    /// Distinct tokens, padded (see [`padded`]); 0 for real inputs.
    pub distinct: usize,
    /// Coefficients of this update: of each layer, of the head, of the optimiser, then the masks of
    /// the features and of the embedding.
    pub coefficients: Vec<Address>,
    /// `[B+1]`.
    pub offsets: Address,
    /// `[B]`: row numbers, longest first.
    pub order: Address,
    /// `[B]` or `[N]`.
    pub targets: Address,
    /// `[C]`, or 0.
    pub class_weights: Address,
    /// Token ids `[distinct]`.
    pub ids: Address,
    /// Index of each step's token in `ids`, `[N]`.
    pub places: Address,
    /// Steps sorted by token index `[N]`, and where each token starts `[distinct+1]`.
    pub by_place: Address,
    pub first: Address,
    /// The chunks of the bottom layer's scan.
    pub chunks: TimeChunks,
    /// Real inputs `[N,E]`, or 0.
    pub real: Address,
    /// Steps of the longest row; 0 where rows start from zero, so that such batches of similar size
    /// are the same step.
    pub longest: usize,
    /// The states before the first step, bottom layer first; empty where rows start from zero.
    pub first_states: Vec<FirstState>,
    /// What the update sets to zero.
    pub dropout: DeviceDropout,
}

/// Whether steps are sorted by token, for sums over the steps of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSort {
    ByToken,
    Skip,
}

/// `distinct` rounded up, so that batches with similar numbers of tokens are the same step.
pub fn padded(distinct: usize) -> usize {
    distinct.next_multiple_of((distinct.next_power_of_two() / 32).max(1))
}

impl DeviceBatch {
    /// Address of the ids of a range of the distinct tokens.
    pub fn ids_of(&self, tokens: &std::ops::Range<usize>) -> Address {
        self.ids + 4 * tokens.start as u64
    }
}

impl BatchUpload {
    /// Empty buffers on this GPU.
    pub fn new(gpu: &Arc<Gpu>) -> Result<BatchUpload, CudaError> {
        Ok(BatchUpload {
            batch_buffer: Buffer::default(),
            words: vec![],
            pinned: PinnedBuffer::default(),
            copy_stream: GpuStream::single(gpu)?,
            staging: Buffer::default(),
            draws: Buffer::default(),
        })
    }

    /// Copies a batch, its row order, tokens, chunk start times and `coefficients` to the device.
    /// `tokens_before` is the number of distinct tokens before each time step.
    pub fn send(
        &mut self,
        stream: &GpuStream,
        batch: &Batch,
        order: &[u32],
        (tokens, sorting): (&BatchTokens, TokenSort),
        (chunks, tokens_before): (TimeChunks, &[u32]),
        coefficients: &[Vec<u32>],
    ) -> Result<DeviceBatch, CudaError> {
        self.words.clear();
        let distinct = padded(tokens.distinct.len());
        let (by_place, first) = match sorting {
            TokenSort::ByToken => sorted(tokens, distinct),
            TokenSort::Skip => Default::default(),
        };
        let mut ids = tokens.distinct.clone();
        ids.resize(distinct, NO_ROW);
        let real: &[f32] = match &batch.input {
            Inputs::Real(x) => x,
            Inputs::Tokens(_) => &[],
        };
        let coefficients: Vec<usize> =
            coefficients.iter().map(|words| self.push_words(words)).collect();
        let offsets: Vec<u32> = batch.offsets.iter().map(|&offset| offset as u32).collect();
        let offsets = self.push_words(&offsets);
        let order = self.push_words(order);
        let targets = self.push_words(batch.target_ids());
        let class_weights = self.push_floats(&batch.class_weights);
        let (ids, places) = (self.push_words(&ids), self.push_words(&tokens.places));
        let (by_place, first) = (self.push_words(&by_place), self.push_words(&first));
        let states: Vec<[Option<usize>; 2]> = (batch.initial.iter())
            .map(|state| [&state.h, &state.c].map(|x| (!x.is_empty()).then(|| self.push_floats(x))))
            .collect();
        let times = self.push_words(&chunks.start_times_of(tokens_before));
        let (at, first_real) = (self.send_words(stream, real)?, self.words.len());
        let place = |word: usize| at + 4 * word as u64;
        Ok(DeviceBatch {
            rows: batch.rows(),
            steps: batch.steps(),
            distinct,
            coefficients: coefficients.into_iter().map(place).collect(),
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
            longest: match batch.initial.is_empty() {
                true => 0,
                false => (0..batch.rows()).map(|b| batch.row(b).len()).max().unwrap_or(0),
            },
            first_states: (states.into_iter().map(|part| part.map(|at| at.map_or(0, place))))
                .map(|[h, c]| FirstState { h, c })
                .collect(),
            dropout: DeviceDropout::default(),
        })
    }

    /// Copies the words, then the real inputs: to `staging` at once, and to `batch_buffer` when all
    /// work queued so far is done. Returns the address in `batch_buffer`.
    // PERF: one copy, from pinned memory; from other memory the driver would first copy block by
    // block while the device waits.
    fn send_words(&mut self, stream: &GpuStream, real: &[f32]) -> Result<Address, CudaError> {
        let (words, count) = (&self.words, self.words.len() + real.len());
        let all = self.pinned.reserve(stream, count)?;
        let (first, rest) = all.split_at_mut(words.len());
        first.copy_from_slice(words);
        rest.iter_mut().zip(real).for_each(|(word, x)| *word = x.to_bits());
        // The previous words are in `batch_buffer`, because `pinned` is free: `staging` is not in
        // use.
        self.staging.write(&self.copy_stream, all)?;
        stream.wait_for(&self.copy_stream)?;
        let at = self.batch_buffer.copy_from(stream, &self.staging, count)?;
        self.pinned.record_copies(stream)?;
        Ok(at)
    }

    /// Appends a part and returns its offset. Parts are padded to a power of two, at least 16
    /// bytes: batches of similar size have the same layout, and vector loads are aligned.
    fn push_words(&mut self, words: &[u32]) -> usize {
        let first = self.words.len();
        self.words.extend(words);
        self.words.resize(first + words.len().next_power_of_two().max(4), 0);
        first
    }

    fn push_floats(&mut self, numbers: &[f32]) -> usize {
        let first = self.words.len();
        self.words.extend(numbers.iter().map(|x| x.to_bits()));
        self.words.resize(first + numbers.len().next_multiple_of(4), 0);
        first
    }

    /// Uploads the random draws of a layer, one per step, for sampled transitions; 0 for others.
    pub fn draws(
        &mut self,
        stream: &GpuStream,
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
            let mut rng = transition.row_rng(b, l);
            let row = batch.row(b);
            let transitions = row.len() - (end && !row.is_empty()) as usize;
            draws[row][..transitions].fill_with(|| rng.unit() as f32);
        }
        // The layer below may still read its own draws.
        stream.synchronize()?;
        self.draws.write(stream, &draws)
    }
}

/// Steps sorted by token index, and where each of `places` tokens starts.
fn sorted(tokens: &BatchTokens, places: usize) -> (Vec<u32>, Vec<u32>) {
    // Counting sort. While steps are placed, `first[place + 1]` is the next free position of the
    // token; at the end it is where the next token starts.
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
    fn padded_tokens_have_no_steps() {
        let tokens = BatchTokens { distinct: vec![3, 5], places: vec![1, 0, 1] };
        let (by_place, first) = sorted(&tokens, 4);
        assert_eq!((by_place, first), (vec![1, 0, 2], vec![0, 1, 3, 3, 3]));
    }

    #[test]
    fn similar_numbers_of_tokens_are_padded_alike() {
        assert_eq!([0, 1, 15, 30].map(padded), [0, 1, 15, 30]);
        assert_eq!([6100, 6144, 6145].map(padded), [6144, 6144, 6400]);
    }
}
