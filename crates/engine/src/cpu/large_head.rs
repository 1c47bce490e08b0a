//! The gradients of the weights of a large classifier. They are computed when all groups have run,
//! from their read-outs, one block of classes after the other. The sums are those of the chunks, in the
//! same order, so the result is bit-identical to [`HeadSums::InChunks`].

use super::head::Readouts;
use super::head_products::{CLASS_BLOCK, class_blocks};
use super::padded_head::is_read;
use super::panels::add;
use super::simd::{AlignedVec, padded};
use super::thread_pool::Executor;
use crate::Batch;
use crate::model::{Arch, When};

/// The most logits of a batch that are kept: 1 GiB.
const MOST_LOGITS: usize = 1 << 28;

/// Where the gradients of the classifier's weights are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadSums {
    /// In each chunk, group by group.
    InChunks,
    /// Over all chunks, when all groups have run.
    // PERF: the gradients of a block stay in a cache. In chunks, every group of rows reads and writes
    // all of them in main memory (1,280 read-outs of 33,278 classes and 128 units, two threads: 0.345 s a
    // step in chunks, 0.300 in blocks; with 300 units 266 MB less memory).
    InBlocks,
}

impl HeadSums {
    /// For classifiers of at least `least` weights: in blocks, if the logits fit in memory.
    pub fn of(arch: &Arch, batch: &Batch, least: usize) -> HeadSums {
        let readouts = if arch.readout.when == When::Last { batch.rows() } else { batch.steps() };
        let is_large = arch.classes * arch.features() >= least;
        match is_large && readouts * arch.classes <= MOST_LOGITS {
            true => HeadSums::InBlocks,
            false => HeadSums::InChunks,
        }
    }
}

/// Adds the sums over all chunks to `grads` `[C, features]`: the sums of the first and of the second
/// half of the chunks, each in order, then the sum of both.
pub fn add_weight_gradients(
    arch: &Arch,
    chunks: &[&[Readouts]],
    grads: &mut [f32],
    executor: Executor<'_>,
) {
    let features = arch.features();
    let blocks: Vec<(usize, usize)> = class_blocks(arch.classes).collect();
    executor.pool.for_each_chunk(grads, CLASS_BLOCK * features, |i, grads| {
        let mut sums = BlockSums::new(blocks[i], padded(arch.top().units));
        let d = arch.top().units;
        let parts = (0..3).filter(|&part| is_read(arch)[part]);
        for (j, part) in parts.enumerate() {
            let sum = sums.of_chunks(part, chunks, executor);
            for (into, from) in grads.chunks_exact_mut(features).zip(sum.chunks_exact(padded(d))) {
                add(&mut into[j * d..][..d], &from[..d]);
            }
        }
    });
}

/// The sums of the weights of one block of classes `[classes of the block, dp]`.
struct BlockSums {
    block: (usize, usize),
    width: usize,
    chunk: AlignedVec,
    halves: [AlignedVec; 2],
}

impl BlockSums {
    fn new(block: (usize, usize), width: usize) -> BlockSums {
        let zeros = || AlignedVec::zeros(block.1 * width);
        BlockSums { block, width, chunk: zeros(), halves: [zeros(), zeros()] }
    }

    /// The sum over all chunks of the gradients of the weights of a part of the features.
    fn of_chunks(
        &mut self,
        part: usize,
        chunks: &[&[Readouts]],
        executor: Executor<'_>,
    ) -> &AlignedVec {
        let BlockSums { block, width, chunk, halves } = self;
        let (first, second) = chunks.split_at(chunks.len().div_ceil(2));
        for (half, chunks) in halves.iter_mut().zip([first, second]) {
            half.fill(0.0);
            for groups in chunks {
                chunk.fill(0.0);
                for readouts in *groups {
                    executor.level.run(readouts.weight_gradients(part, *block, *width, chunk));
                }
                add(half, chunk);
            }
        }
        let [first, second] = halves;
        add(first, second);
        first
    }
}
