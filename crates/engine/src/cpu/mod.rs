//! The fast engine: f32, four rows at a time through the whole sequence, on vectors and threads.
//!
//! `prepare` and `table` turn parameters into what the scan reads, `panels` (the low-rank form of
//! the recurrence where it is cheaper), `group` carries four rows through the network, `scan`
//! through one layer (`step_forward`, `step_backward`), `cells` and `centroids` are the two
//! components, `kernels` the three products (`lanes` ends their sums) and `functions` the
//! transcendental functions. Rows are independent: a batch is cut into a fixed number of chunks,
//! whatever the number of `workers`, and the chunks' `sums` are added in their order (`halves`); so
//! the same seed gives the same bits. `adjoint` turns them into the gradients of parameters.
//! `update` applies a gradient to all parameters; the rows of a large embedding are `lazy`: they
//! wait until they are read, and then make up for their `idle` updates, to the same bits.

#![allow(unsafe_code)]

mod adjoint;
mod cells;
mod centroids;
mod crew;
mod functions;
mod group;
mod halves;
mod head;
mod idle;
mod kernels;
mod lanes;
mod lazy;
mod pack;
mod panels;
mod prepare;
mod products;
mod scan;
mod simd;
mod step_backward;
mod step_forward;
mod sums;
mod table;
mod update;
mod workers;

pub use simd::Level;

use super::share::Share;
use super::tokens::Tokens;
use super::weights::Weights;
use super::{
    Batch, DeviceError, Fields, Gradients, LayerTrace, Loss, Mode, Regime, Runner, Snapshot, Step,
    Trace, Trainer, Transition,
};
use crate::model::{Arch, Layout, Model};
use crate::optimiser::Optimiser;
use adjoint::finish;
use group::{Group, GroupSpace, Learn, Observe, RowTrace, Shared, groups};
use halves::Halves;
use head::Head;
use idle::is_plain;
use lazy::Lazy;
use prepare::{Machine, Prepared, hand_out, prepare};
use scan::{Cut, Pressure};
use std::convert::Infallible;
use std::sync::Mutex;
use sums::Sums;
use table::{RowGradients, Rows, Table};
use update::lazy_rows;
use workers::Workers;

/// A batch's gradients are summed in this many chunks (or as many as it has groups of rows).
const CHUNKS: usize = 8;

/// What changes how fast the engine is, and its last bits, but not what it computes.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// The instruction set. Default: the best there is.
    pub level: Level,
    /// The gates of a row's last steps, as many as need no more than this many bytes, are kept for
    /// backward; those of the steps before them are computed again, segment by segment. Up to four
    /// times as many where a step carries many numbers. Default 8 MiB.
    // PERF: computing again costs more than a third-level cache, and less than main memory (T=784,
    // d=256: 182 ms if all is computed again, 174 with 8 MiB, 187 if nothing is).
    pub kept_bytes: usize,
    /// Bytes of a segment: it should stay in a second-level cache. Default 256 KiB.
    pub segment_bytes: usize,
    /// Rows of an embedding of at least so many numbers are updated when they are next read, where
    /// the optimiser allows it; those of a smaller one in every step. Default 2¹⁹.
    // PERF: where words are as frequent as in a text (32×100 of them, one thread) it neither pays nor
    // costs at 200,000 numbers, and pays from there on: 3,000×64 5.2 ms a step either way,
    // 10,000×64 6.7 and 5.9, 100,000×64 14.1 and 8.5.
    pub lazy_from: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            level: Level::best(),
            kept_bytes: 8 << 20,
            segment_bytes: 256 << 10,
            lazy_from: 1 << 19,
        }
    }
}

impl Tuning {
    fn cut(&self) -> Cut {
        Cut { kept: self.kept_bytes, segment: self.segment_bytes }
    }
}

/// Runs a model.
pub struct Cpu {
    weights: Weights<f32>,
    tuning: Tuning,
    workers: Workers,
    /// Where each worker works.
    places: Vec<Mutex<Place>>,
    /// How many batches were gone through.
    count: u64,
    /// The layers, for every worker but the caller to copy; none if they are too large.
    handout: Vec<Prepared>,
    /// The memory of the token table.
    // PERF: that of 6,000 tokens is 25 MB, which nobody has to clear before it is written.
    table: Table,
}

/// Trains a model.
pub struct CpuTrainer {
    cpu: Cpu,
    optimiser: Optimiser,
    /// Where all but the embedding lies, from its end.
    others: Layout,
    /// The rows of a large embedding; `None` where all of them are updated in every step.
    lazy: Option<Lazy>,
    /// The sums of each chunk, and of all; kept so that their memory is.
    sums: (Vec<Mutex<Sums>>, Halves),
    /// The gradient that was last applied; kept for its memory.
    // PERF: memory that another thread has read is slow to clear, and what malloc finds may be such
    // (T=16, d=100, k=50: 12 to 60 µs a gradient, 4 so).
    values: Vec<f32>,
}

impl CpuTrainer {
    /// A trainer that starts from `model` and computes with `threads` threads (at least one).
    pub fn new(model: &Model<f32>, optimiser: Optimiser, threads: usize) -> Self {
        CpuTrainer::tuned(model, optimiser, threads, Tuning::default())
    }

    /// The same, tuned; for tests and comparisons.
    pub fn tuned(model: &Model<f32>, optimiser: Optimiser, threads: usize, tuning: Tuning) -> Self {
        let cpu = Cpu::with(Weights::trained_by(&optimiser, model), threads, tuning);
        let others = cpu.weights.layout.behind_embedding();
        let lazy = lazy_rows(&cpu.weights, &optimiser, tuning.lazy_from);
        let (sums, values) = Default::default();
        CpuTrainer { cpu, optimiser, others, lazy, sums, values }
    }
}

impl Cpu {
    /// An engine that runs `model` with `threads` threads (at least one).
    pub fn new(model: &Model<f32>, threads: usize) -> Self {
        Cpu::tuned(model, threads, Tuning::default())
    }

    /// The same, tuned; for tests and comparisons.
    pub fn tuned(model: &Model<f32>, threads: usize, tuning: Tuning) -> Self {
        Cpu::with(Weights::new(model), threads, tuning)
    }

    fn with(weights: Weights<f32>, threads: usize, tuning: Tuning) -> Self {
        keep_freed_memory();
        let workers = Workers::new(threads);
        let places = (0..workers.count()).map(|_| Mutex::default()).collect();
        let (count, handout, table) = Default::default();
        Cpu { weights, tuning, workers, places, count, handout, table }
    }

    fn machine(&self) -> Machine<'_> {
        Machine { level: self.tuning.level, workers: &self.workers }
    }

    /// Has a worker do something in his memory, with layers of his own: everyone but the caller, who
    /// made them, has a copy, if they are not too large.
    // PERF: what is in another core's cache is fetched from there again and again, as often as this
    // core's second-level cache lets go of it (T=16, d=100, k=50: 1.45 ms a step without, 1.27 so,
    // where the cores share no third-level cache; the copy takes 8 µs).
    fn at_work<A>(
        &self,
        worker: usize,
        shared: Shared<'_>,
        work: impl FnOnce(Shared<'_>, &mut GroupSpace) -> A,
    ) -> A {
        let Place { space, layers, count } = &mut *self.places[worker]
            .lock()
            .expect("a worker that panicked takes the engine with it");
        if worker == 0 || self.handout.is_empty() {
            return work(shared, space);
        }
        if *count != self.count {
            layers.clear();
            (*layers, *count) = (self.handout.clone(), self.count);
        }
        work(Shared { layers, ..shared }, space)
    }
}

/// A worker's memory, and the layers of the batch he copied last.
#[derive(Default)]
struct Place {
    space: GroupSpace,
    layers: Vec<Prepared>,
    count: u64,
}

/// Has the system's allocator keep what is freed for what is asked for next.
// PERF: glibc gives large pieces back to the system, and every step faults them in again, until
// the first large piece is freed: then it takes pieces of that size for common, and keeps twice
// as much (mallopt(3), M_MMAP_THRESHOLD). The piece is never touched, so it costs nothing.
fn keep_freed_memory() {
    const LARGEST_IT_LEARNS_FROM: usize = 32 << 20;
    std::hint::black_box(Vec::<u8>::with_capacity(LARGEST_IT_LEARNS_FROM - (64 << 10)));
}

impl Runner<f32> for Cpu {
    type Error = Infallible;

    fn arch(&self) -> &Arch {
        &self.weights.arch
    }

    fn model(&self) -> Result<Model<f32>, Infallible> {
        Ok(self.weights.model())
    }

    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f32>, Infallible> {
        self.workers.rouse();
        self.count += 1;
        let mut table = std::mem::take(&mut self.table);
        let Weights { arch, layout, state } = &self.weights;
        let tokens = Tokens::of(batch, arch.input.vocabulary());
        let machine = Machine { level: self.tuning.level, workers: &self.workers };
        let params = &state.params;
        let lambda = if mode.transition == Transition::Mixture { mode.lambda } else { 1.0 };
        let (regime, into) = ((lambda, mode.tau), &mut table);
        let layers = prepare(arch, layout, params, &tokens, regime, into, machine);
        hand_out(&layers, &mut self.handout, &self.workers);
        let head = Head::prepare(arch, layout, params);
        let shared = Shared {
            arch,
            batch,
            tokens: &tokens,
            layers: &layers,
            table: table.read(),
            head: &head,
            mode,
            pressure: Pressure::default(),
            margin: 0.0,
            total_weight: 1.0,
            cut: self.tuning.cut(),
        };
        let mut rows: Vec<RowTrace> = self
            .workers
            .map(&groups(arch, batch), |worker, &group| {
                self.at_work(worker, shared, |shared, space| {
                    self.tuning.level.run(Observe { shared, group, space, fields })
                })
            })
            .into_iter()
            .flatten()
            .collect();
        rows.sort_by_key(|row| row.row);
        let trace = join(rows, layers.len());
        self.table = table;
        Ok(trace)
    }
}

impl Runner<f32> for CpuTrainer {
    type Error = DeviceError;

    fn arch(&self) -> &Arch {
        self.cpu.arch()
    }

    fn model(&self) -> Result<Model<f32>, DeviceError> {
        match &self.lazy {
            Some(lazy) if lazy.waits() => {
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
        self.cpu.workers.rouse();
        self.catch_up();
        let Ok(trace) = self.cpu.trace(batch, mode, fields);
        Ok(trace)
    }
}

impl Trainer<f32> for CpuTrainer {
    fn snapshot(&self) -> Result<Snapshot<f32>, DeviceError> {
        Ok(match &self.lazy {
            Some(lazy) => lazy.caught_up(&self.cpu.weights.state, self.cpu.machine()),
            None => self.cpu.weights.state.clone(),
        })
    }

    fn restore(&mut self, snapshot: &Snapshot<f32>) -> Result<(), DeviceError> {
        self.cpu.weights.restore(snapshot);
        self.lazy.iter_mut().for_each(|lazy| lazy.begin(snapshot));
        Ok(())
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Result<Gradients<f32>, DeviceError> {
        Ok(self.dense_gradients(batch, regime))
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Result<Step, DeviceError> {
        Ok(if self.lazy.is_some() && is_plain(regime.learning_rate) {
            self.step_lazily(batch, regime)
        } else {
            self.step_densely(batch, regime)
        })
    }

    fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }
}

impl CpuTrainer {
    /// Loss and gradient of every parameter.
    fn dense_gradients(&mut self, batch: &Batch, regime: &Regime) -> Gradients<f32> {
        let tokens = self.meet(batch);
        self.learn(batch, &tokens, regime, Rows::All)
    }

    /// Loss and gradient, with these rows of the embedding.
    fn learn(
        &mut self,
        batch: &Batch,
        tokens: &Tokens,
        regime: &Regime,
        rows: Rows,
    ) -> Gradients<f32> {
        let (mut parts, mut halves) = std::mem::take(&mut self.sums);
        let mut table = std::mem::take(&mut self.cpu.table);
        let mut values = std::mem::take(&mut self.values);
        let cpu = &mut self.cpu;
        cpu.count += 1;
        let Weights { arch, layout, state } = &cpu.weights;
        let machine = Machine { level: cpu.tuning.level, workers: &cpu.workers };
        let params = &state.params;
        let (lambda, tau) = (regime.lambda, regime.tau);
        let layers = prepare(arch, layout, params, tokens, (lambda, tau), &mut table, machine);
        hand_out(&layers, &mut cpu.handout, &cpu.workers);
        let head = Head::prepare(arch, layout, params);
        let share = Share::of(batch, arch);
        let shared = Shared {
            arch,
            batch,
            tokens,
            layers: &layers,
            table: table.read(),
            head: &head,
            mode: Mode { transition: Transition::Mixture, lambda, tau },
            pressure: Pressure {
                commitment: (share.stochastic * regime.commitment) as f32,
                entropy: (share.stochastic * regime.entropy) as f32,
                saturation: (share.all * regime.saturation) as f32,
                writing: (share.all * regime.writing) as f32,
            },
            margin: regime.margin as f32,
            total_weight: batch.total_weight(),
            cut: cpu.tuning.cut(),
        };
        cpu.sum(shared, &mut parts, &mut halves);
        let rows_len = rows.count(tokens, arch.input.vocabulary()) * arch.input.width();
        values.resize(rows_len + self.others.len, 0.0);
        let (d, params) =
            ((&halves.total.panels[..], halves.table()), params.split_at(layout.embedding.len()));
        let (row_values, others) = values.split_at_mut(rows_len);
        let into = (RowGradients { of: rows, values: row_values }, &mut *others);
        finish(arch, &self.others, params, tokens, &layers, d, machine, into);
        halves.total.head.finish(arch, &self.others, others);
        let loss = loss(&halves.total, &layers, share, regime);
        self.sums = (parts, halves);
        self.cpu.table = table;
        Gradients { loss, values }
    }
}

impl Cpu {
    /// The sums over all rows of a batch: chunk by chunk, then of each half of the chunks in their
    /// order, then of both.
    fn sum(&self, shared: Shared<'_>, parts: &mut Vec<Mutex<Sums>>, halves: &mut Halves) {
        let groups = groups(shared.arch, shared.batch);
        // Dealt out in turn, so that every chunk has long rows and short ones.
        let count = CHUNKS.min(groups.len()).max(1);
        let chunk = |i: usize| groups.iter().skip(i).step_by(count).copied().collect();
        let chunks: Vec<(usize, Vec<Group>)> = (0..count).map(|i| (i, chunk(i))).collect();
        parts.resize_with(count.max(parts.len()), Mutex::default);
        self.workers.map(&chunks, |worker, (i, chunk)| {
            let sums = &mut *parts[*i].lock().expect("one works on each");
            sums.clear(&shared, chunk);
            self.at_work(worker, shared, |shared, space| {
                for &group in chunk {
                    self.tuning.level.run(Learn { shared, group, space, sums });
                }
            });
        });
        let parts: Vec<&Sums> = (parts[..count].iter_mut())
            .map(|part| &*part.get_mut().expect("nobody panicked"))
            .collect();
        halves.of_all(&parts, &shared, &self.workers);
    }
}

fn loss(sums: &Sums, layers: &[Prepared], share: Share, regime: &Regime) -> Loss {
    let mut loss = Loss {
        task: sums.said.loss,
        correct: sums.said.correct,
        counted: sums.said.counted,
        ..Loss::default()
    };
    for (measured, layer) in sums.measured.iter().zip(layers) {
        loss.commitment += share.stochastic * measured.commitment / layer.d as f64;
        loss.entropy += share.stochastic * measured.entropy;
        if regime.saturation != 0.0 {
            loss.saturation += share.all * measured.saturation / layer.d as f64;
        }
        if regime.writing != 0.0 {
            loss.writing += share.all * measured.writing / layer.d as f64;
        }
    }
    loss.weighed(regime)
}

/// The rows' traces, in order, as one.
fn join(rows: Vec<RowTrace>, layers: usize) -> Trace<f32> {
    let mut trace = Trace { layers: vec![LayerTrace::default(); layers], logits: vec![] };
    for row in rows {
        for (into, from) in trace.layers.iter_mut().zip(row.layers) {
            into.alpha.extend(from.alpha);
            into.u.extend(from.u);
            into.h.extend(from.h);
            into.c.extend(from.c);
        }
        trace.logits.extend(row.logits);
    }
    trace
}
