//! The fast engine: f32, four rows at a time through the whole sequence, on vectors and threads.
//!
//! - `prepare` and `token_table` turn parameters into the `panels` that the scan reads, in the
//!   low-rank form of the recurrence where it is cheaper; `adjoint` turns the gradients of these
//!   into gradients of parameters. `products` and `add_product` are their matrix products.
//! - `group` carries four rows through the network, `scan` through one layer (`step_forward`,
//!   `step_backward`, `block_gradients`). `cells` and `centroids` are the two components of a layer, `head` is the
//!   classifier (`padded_head`, `head_products`, `cross_entropy`, `targets`; `large_head` sums the
//!   gradients of a large one). `kernels` holds the products of the scan, `lane_sums` their reductions,
//!   `functions` the transcendental functions.
//! - `inference` runs a model without gradients.
//! - `row_states` holds the states in which rows start and end, if the batch gives them.
//! - `gradients` sums over a batch. Rows are independent: a batch is cut into a fixed number of
//!   chunks, whatever the number of threads (`thread_pool`), and their `sums` are added in a fixed
//!   order. So the same seed gives the same bits.
//! - `update` applies a gradient to all parameters. Rows of a large embedding that a batch does not
//!   have defer their updates until they are read (`deferred_rows`); `deferred_updates` replays
//!   these to the same bits.

#![allow(unsafe_code)]

mod add_product;
mod adjoint;
mod block_gradients;
mod cells;
mod centroids;
mod cross_entropy;
mod deferred_rows;
mod deferred_updates;
mod functions;
mod gradients;
mod group;
mod head;
mod head_products;
mod inference;
mod kernels;
mod lane_sums;
mod large_head;
mod padded_head;
mod panels;
mod prepare;
mod products;
mod row_states;
mod scan;
mod scan_buffers;
mod simd;
mod step_backward;
mod step_forward;
mod sums;
mod targets;
mod thread_pool;
mod token_table;
mod update;

pub use simd::SimdLevel;

use super::weights::EngineWeights;
use super::{
    Batch, BatchLoss, DeviceError, Fields, Gradients, LayerState, Mode, Regime, Runner, Snapshot,
    Step, Trace, Trainer,
};
use crate::model::{Arch, Layout, Model};
use crate::optimiser::Optimiser;
use deferred_rows::DeferredRows;
use deferred_updates::is_deferrable;
use group::{BatchContext, GroupBuffers};
use padded_head::PaddedHead;
use prepare::PreparedLayer;
use scan_buffers::RecomputePolicy;
use std::sync::Mutex;
use sums::{ChunkSums, PairwiseSum};
use thread_pool::{Executor, ThreadPool};
use token_table::TokenTable;
use update::deferred_rows;

/// Settings that change the speed of the engine and its last bits, but not what it computes.
#[derive(Clone, Copy, Debug)]
pub struct CpuTuning {
    /// The instruction set. Default: the best one available.
    pub level: SimdLevel,
    /// The forward pass keeps the gates of a row's last steps, up to this many bytes. The backward
    /// pass recomputes those of the steps before, segment by segment. Where a step carries many
    /// numbers, up to four times as many bytes are kept. Default 8 MiB.
    // PERF: recomputing costs more than reading from a third-level cache, and less than reading from
    // main memory (T=784, d=256: 182 ms if everything is recomputed, 174 with 8 MiB, 187 if
    // nothing is).
    pub kept_bytes: usize,
    /// Bytes of a segment: it should stay in a second-level cache. Default 256 KiB.
    pub segment_bytes: usize,
    /// The smallest embedding, in numbers, whose rows defer updates until they are read, if the
    /// optimiser allows it. Rows of smaller ones are updated in every step. Default 2¹⁹.
    // PERF: on text-like token frequencies (32×100 tokens, one thread), deferring breaks even at
    // 200,000 numbers. ms per step, dense and deferred: 3,000×64 5.2, 5.2; 10,000×64 6.7, 5.9;
    // 100,000×64 14.1, 8.5.
    pub defer_from: usize,
    /// The smallest classifier, in weights, whose gradients are summed over the whole batch, block by
    /// block of classes. Those of smaller ones are summed in chunks of the batch. Default 2²⁰.
    // PERF: 1,280 read-outs, 128 units, two threads. ms per step in chunks and in blocks: 4,000 classes
    // 36.6, 39.5; 8,000 classes 77.2, 77.0; 33,278 classes 345, 300.
    pub block_head_from: usize,
}

impl Default for CpuTuning {
    fn default() -> Self {
        CpuTuning {
            level: SimdLevel::best(),
            kept_bytes: 8 << 20,
            segment_bytes: 256 << 10,
            defer_from: 1 << 19,
            block_head_from: 1 << 20,
        }
    }
}

impl CpuTuning {
    fn recompute(&self) -> RecomputePolicy {
        RecomputePolicy { kept_bytes: self.kept_bytes, segment_bytes: self.segment_bytes }
    }
}

/// Runs a model.
pub struct Cpu {
    weights: EngineWeights<f32>,
    tuning: CpuTuning,
    pool: ThreadPool,
    /// One per worker.
    worker_memory: Vec<Mutex<WorkerMemory>>,
    /// Number of batches processed so far.
    batches: u64,
    /// The layers, for every worker but the caller to copy; empty if they are too large.
    layer_copies: Vec<PreparedLayer>,
    /// The token table; kept for its memory.
    // PERF: the table of 6,000 tokens takes 25 MB. Reusing it avoids clearing it.
    table: TokenTable,
    /// The classifier; kept for its memory.
    head: PaddedHead,
}

/// Trains a model.
pub struct CpuTrainer {
    cpu: Cpu,
    optimiser: Optimiser,
    /// The layout of all parameters but the embedding, counted from its end.
    rest_layout: Layout,
    /// The rows of a large embedding; `None` where all rows are updated in every step.
    deferred: Option<DeferredRows>,
    /// The sums of each chunk; kept for their memory.
    chunk_sums: Vec<Mutex<ChunkSums>>,
    /// The sum of all chunks; kept for its memory.
    batch_sum: PairwiseSum,
    /// The gradient that was last applied; kept for its memory.
    // PERF: memory that another thread has read is slow to clear, and malloc may return such memory
    // (T=16, d=100, k=50: 12 to 60 µs a gradient, 4 so).
    gradient_buffer: Vec<f32>,
    /// [`Trainer::last_states`].
    last: Vec<LayerState>,
}

impl CpuTrainer {
    /// A trainer that starts from `model` and computes with `threads` threads (at least one).
    pub fn new(model: &Model<f32>, optimiser: Optimiser, threads: usize) -> Self {
        CpuTrainer::tuned(model, optimiser, threads, CpuTuning::default())
    }

    /// A trainer with other settings than the defaults, for tests and comparisons.
    pub fn tuned(
        model: &Model<f32>,
        optimiser: Optimiser,
        threads: usize,
        tuning: CpuTuning,
    ) -> Self {
        let cpu = Cpu::with(EngineWeights::for_training(&optimiser, model), threads, tuning);
        let rest_layout = cpu.weights.layout.without_embedding();
        let deferred = deferred_rows(&cpu.weights, &optimiser, tuning.defer_from);
        let (chunk_sums, batch_sum, gradient_buffer, last) = Default::default();
        #[rustfmt::skip]
        return CpuTrainer {
            cpu, optimiser, rest_layout, deferred, chunk_sums, batch_sum, gradient_buffer, last,
        };
    }
}

impl Cpu {
    /// An engine that runs `model` with `threads` threads (at least one).
    pub fn new(model: &Model<f32>, threads: usize) -> Self {
        Cpu::tuned(model, threads, CpuTuning::default())
    }

    /// An engine with other settings than the defaults, for tests and comparisons.
    pub fn tuned(model: &Model<f32>, threads: usize, tuning: CpuTuning) -> Self {
        Cpu::with(EngineWeights::new(model), threads, tuning)
    }

    fn with(weights: EngineWeights<f32>, threads: usize, tuning: CpuTuning) -> Self {
        retain_freed_memory();
        let pool = ThreadPool::new(threads);
        let worker_memory = (0..pool.workers()).map(|_| Mutex::default()).collect();
        let (batches, layer_copies, table, head) = Default::default();
        Cpu { weights, tuning, pool, worker_memory, batches, layer_copies, table, head }
    }

    fn executor(&self) -> Executor<'_> {
        Executor { level: self.tuning.level, pool: &self.pool }
    }

    /// Runs `work` with the worker's buffers. Every worker but the caller, which made the layers,
    /// reads its own copy of them, unless they are too large.
    // PERF: without the copy, a core refetches the layers from another core's cache after each L2
    // eviction. 1.45 ms per step without, 1.27 with (T=16, d=100, k=50; no shared L3). The copy
    // takes 8 µs.
    fn with_worker_memory<A>(
        &self,
        worker: usize,
        context: BatchContext<'_>,
        work: impl FnOnce(BatchContext<'_>, &mut GroupBuffers) -> A,
    ) -> A {
        let WorkerMemory { buffers, layers, batch } =
            &mut *self.worker_memory[worker].lock().expect("a worker that panics ends the engine");
        if worker == 0 || self.layer_copies.is_empty() {
            return work(context, buffers);
        }
        if *batch != self.batches {
            layers.clear();
            (*layers, *batch) = (self.layer_copies.clone(), self.batches);
        }
        work(BatchContext { layers, ..context }, buffers)
    }
}

/// A worker's buffers, and its copy of the layers.
#[derive(Default)]
struct WorkerMemory {
    buffers: GroupBuffers,
    layers: Vec<PreparedLayer>,
    /// The number of the batch that the copy is of.
    batch: u64,
}

/// Makes the system's allocator keep freed memory for the next allocation.
// PERF: glibc returns large allocations to the system until one has been freed; it then raises its
// threshold to that size (mallopt(3), M_MMAP_THRESHOLD). This frees one at the start. It is never
// touched, so it costs nothing.
fn retain_freed_memory() {
    const LARGEST_ADAPTIVE_THRESHOLD: usize = 32 << 20;
    std::hint::black_box(Vec::<u8>::with_capacity(LARGEST_ADAPTIVE_THRESHOLD - (64 << 10)));
}

impl Runner<f32> for CpuTrainer {
    type Error = DeviceError;

    fn arch(&self) -> &Arch {
        self.cpu.arch()
    }

    fn model(&self) -> Result<Model<f32>, DeviceError> {
        match &self.deferred {
            Some(deferred) if deferred.has_deferred() => {
                Ok(Model { arch: self.arch().clone(), params: self.snapshot()?.params })
            }
            _ => Ok(self.cpu.weights.model()),
        }
    }

    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f32>, DeviceError> {
        self.cpu.pool.wake();
        self.apply_all_deferred();
        let Ok(trace) = self.cpu.trace(batch, mode, fields);
        Ok(trace)
    }

    fn loss(&mut self, batch: &Batch, mode: Mode) -> Result<BatchLoss, DeviceError> {
        self.cpu.pool.wake();
        self.apply_all_deferred();
        let Ok(loss) = self.cpu.loss(batch, mode);
        Ok(loss)
    }
}

impl Trainer<f32> for CpuTrainer {
    fn snapshot(&self) -> Result<Snapshot<f32>, DeviceError> {
        Ok(match &self.deferred {
            Some(deferred) => {
                deferred.with_deferred_applied(&self.cpu.weights.state, self.cpu.executor())
            }
            None => self.cpu.weights.state.clone(),
        })
    }

    fn restore(&mut self, snapshot: &Snapshot<f32>) -> Result<(), DeviceError> {
        self.cpu.weights.restore(snapshot);
        self.deferred.iter_mut().for_each(|deferred| deferred.reset(snapshot));
        Ok(())
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Result<Gradients<f32>, DeviceError> {
        Ok(self.dense_gradients(batch, regime))
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Result<Step, DeviceError> {
        Ok(if self.deferred.is_some() && is_deferrable(regime.learning_rate) {
            self.step_deferred(batch, regime)
        } else {
            self.step_dense(batch, regime)
        })
    }

    fn last_states(&self) -> Result<Vec<LayerState>, DeviceError> {
        Ok(self.last.clone())
    }

    fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }
}
