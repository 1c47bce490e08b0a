//! The fast engine: f32, four rows at a time through the whole sequence, on vectors and threads.
//!
//! `prepare` and `table` turn parameters into what the scan reads, `panels` (the low-rank form of
//! the recurrence where it is cheaper), `group` carries four rows through the network, `scan`
//! through one layer (`step_forward`, `step_backward`), `cells` and `centroids` are the two
//! components, `kernels` the three products and `functions` the transcendental functions. Rows are
//! independent: a batch is cut into a fixed number of chunks, whatever the number of `workers`, and
//! the chunks' `sums` are added in their order; so the same seed gives the same bits.

#![allow(unsafe_code)]

mod cells;
mod centroids;
mod crew;
mod functions;
mod group;
mod head;
mod kernels;
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
mod workers;

pub use simd::Level;

use super::share::Share;
use super::tokens::Tokens;
use super::weights::Weights;
use super::{
    Batch, Engine, Fields, Gradients, LayerTrace, Loss, Mode, Regime, Snapshot, Step, Trace,
    Transition,
};
use crate::model::Model;
use crate::train::{Optimiser, Update, norm};
use group::{Group, GroupSpace, Learn, Observe, RowTrace, Shared, groups};
use head::Head;
use prepare::{Machine, Prepared, finish, prepare};
use pulp::{Simd, WithSimd};
use scan::{Cut, Pressure};
use simd::Aligned;
use std::sync::{Mutex, MutexGuard};
use sums::Sums;
use workers::Workers;

/// A batch's gradients are summed in this many chunks (or as many as it has groups of rows).
const CHUNKS: usize = 8;

/// What changes how fast the engine is, and its last bits, but not what it computes.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// The instruction set. Default: the best there is.
    pub level: Level,
    /// The gates of a row's last steps, as many as need no more than this many bytes, are kept for
    /// backward; those of the steps before them are computed again, segment by segment. Default
    /// 8 MiB.
    // PERF: computing again costs more than a third-level cache, and less than main memory (T=784,
    // d=256: 182 ms if all is computed again, 174 with 8 MiB, 187 if nothing is).
    pub kept_bytes: usize,
    /// Bytes of a segment: it should stay in a second-level cache. Default 256 KiB.
    pub segment_bytes: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { level: Level::best(), kept_bytes: 8 << 20, segment_bytes: 256 << 10 }
    }
}

impl Tuning {
    fn cut(&self) -> Cut {
        Cut { kept: self.kept_bytes, segment: self.segment_bytes }
    }
}

/// The fast engine.
pub struct Cpu {
    weights: Weights<f32>,
    tuning: Tuning,
    workers: Workers,
    /// The memory of each worker.
    spaces: Vec<Mutex<GroupSpace>>,
    /// The sums of each chunk, and of halves of all; kept so that their memory is.
    sums: (Vec<Mutex<Sums>>, [Sums; 2]),
    /// The memory of the token table.
    // PERF: that of 6,000 tokens is 25 MB, which nobody has to clear before it is written.
    table: Aligned,
}

impl Cpu {
    /// An engine that starts from `model` and works with `threads` threads (at least one).
    pub fn new(model: &Model<f32>, optimiser: Optimiser, threads: usize) -> Self {
        Cpu::tuned(model, optimiser, threads, Tuning::default())
    }

    /// The same, tuned; for tests and comparisons.
    pub fn tuned(model: &Model<f32>, optimiser: Optimiser, threads: usize, tuning: Tuning) -> Self {
        keep_freed_memory();
        let weights = Weights::new(model, optimiser);
        let workers = Workers::new(threads);
        let spaces = (0..workers.count()).map(|_| Mutex::default()).collect();
        let (sums, table) = Default::default();
        Cpu { weights, tuning, workers, spaces, sums, table }
    }

    fn machine(&self) -> Machine<'_> {
        Machine { level: self.tuning.level, workers: &self.workers }
    }

    /// The memory of a worker, who alone asks for it.
    fn space(&self, worker: usize) -> MutexGuard<'_, GroupSpace> {
        self.spaces[worker].lock().expect("a worker that panicked takes the engine with it")
    }
}

/// Has the system's allocator keep what is freed for what is asked for next.
// PERF: glibc gives large pieces back to the system, and every step faults them in again, until
// the first large piece is freed: then it takes pieces of that size for common, and keeps twice
// as much (mallopt(3), M_MMAP_THRESHOLD). The piece is never touched, so it costs nothing.
fn keep_freed_memory() {
    const LARGEST_IT_LEARNS_FROM: usize = 32 << 20;
    std::hint::black_box(Vec::<u8>::with_capacity(LARGEST_IT_LEARNS_FROM - (64 << 10)));
}

impl Engine<f32> for Cpu {
    fn model(&self) -> Model<f32> {
        self.weights.model()
    }

    fn snapshot(&self) -> Snapshot<f32> {
        self.weights.state.clone()
    }

    fn restore(&mut self, snapshot: &Snapshot<f32>) {
        self.weights.restore(snapshot);
    }

    fn trace(&mut self, batch: &Batch, mode: Mode, fields: Fields) -> Trace<f32> {
        self.workers.rouse();
        let table = std::mem::take(&mut self.table);
        let Weights { arch, layout, state, .. } = &self.weights;
        let tokens = Tokens::of(batch, arch.input.vocabulary());
        let (params, machine) = (&state.params, self.machine());
        let lambda = if mode.transition == Transition::Mixture { mode.lambda } else { 1.0 };
        let layers = prepare(arch, layout, params, &tokens, (lambda, mode.tau), table, machine);
        let head = Head::prepare(arch, layout, params);
        let shared = Shared {
            arch,
            batch,
            tokens: &tokens,
            layers: &layers,
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
                let space = &mut self.space(worker);
                self.tuning.level.run(Observe { shared, group, space, fields })
            })
            .into_iter()
            .flatten()
            .collect();
        rows.sort_by_key(|row| row.row);
        let trace = join(rows, layers.len());
        self.table = table_of(layers);
        trace
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Gradients<f32> {
        let (mut parts, mut halves) = std::mem::take(&mut self.sums);
        let table = std::mem::take(&mut self.table);
        self.workers.rouse();
        let Weights { arch, layout, state, .. } = &self.weights;
        let tokens = Tokens::of(batch, arch.input.vocabulary());
        let (params, machine) = (&state.params, self.machine());
        let (lambda, tau) = (regime.lambda, regime.tau);
        let layers = prepare(arch, layout, params, &tokens, (lambda, tau), table, machine);
        let head = Head::prepare(arch, layout, params);
        let share = Share::of(batch, arch);
        let shared = Shared {
            arch,
            batch,
            tokens: &tokens,
            layers: &layers,
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
            cut: self.tuning.cut(),
        };
        let sums = self.sum(shared, &mut parts, &mut halves);
        let mut values = vec![0.0; layout.len];
        let d = &sums.panels;
        finish(arch, layout, params, &tokens, &layers, d, machine, &mut values);
        sums.head.finish(arch, layout, &mut values);
        let loss = loss(sums, &layers, share, regime);
        self.sums = (parts, halves);
        self.table = table_of(layers);
        Gradients { loss, values }
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Step {
        let gradients = self.gradients(batch, regime);
        let (workers, level) = (&self.workers, self.tuning.level);
        let norm = |values: &[f32]| level.run(Norm(values));
        self.weights.descend_by(&gradients, regime.learning_rate, norm, |update, state| {
            apply(update, state, &gradients.values, workers, level);
        })
    }

    fn optimiser(&self) -> &Optimiser {
        &self.weights.optimiser
    }
}

impl Cpu {
    /// The sums over all rows of a batch: chunk by chunk, then of each half of the chunks in their
    /// order, then of both.
    fn sum<'a>(
        &self,
        shared: Shared<'_>,
        parts: &mut Vec<Mutex<Sums>>,
        [total, later]: &'a mut [Sums; 2],
    ) -> &'a mut Sums {
        let groups = groups(shared.arch, shared.batch);
        // Dealt out in turn, so that every chunk has long rows and short ones.
        let count = CHUNKS.min(groups.len()).max(1);
        let chunk = |i: usize| groups.iter().skip(i).step_by(count).copied().collect();
        let chunks: Vec<(usize, Vec<Group>)> = (0..count).map(|i| (i, chunk(i))).collect();
        parts.resize_with(count.max(parts.len()), Mutex::default);
        self.workers.map(&chunks, |worker, (i, chunk)| {
            let sums = &mut *parts[*i].lock().expect("one works on each");
            sums.clear(&shared, chunk);
            let space = &mut *self.space(worker);
            for &group in chunk {
                self.tuning.level.run(Learn { shared, group, space, sums });
            }
        });
        let parts: Vec<&Sums> = (parts[..count].iter_mut())
            .map(|part| &*part.get_mut().expect("nobody panicked"))
            .collect();
        total.of_all(&parts, later, &shared, &self.workers);
        total
    }
}

/// The memory of the bottom layer's token table.
fn table_of(layers: Vec<Prepared>) -> Aligned {
    layers.into_iter().next().map_or(Aligned::default(), Prepared::into_table)
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

/// Numbers of a piece of an update.
// PERF: fewer do not pay for going to another core's cache.
const UPDATE_PIECE: usize = 1 << 17;

/// Applies an update piece by piece: which, changes no bit.
fn apply(
    update: Update,
    state: &mut Snapshot<f32>,
    gradient: &[f32],
    workers: &Workers,
    level: Level,
) {
    let mut moments: Vec<_> =
        state.moments.iter_mut().map(|all| all.chunks_mut(UPDATE_PIECE)).collect();
    let params = state.params.chunks_mut(UPDATE_PIECE).zip(gradient.chunks(UPDATE_PIECE));
    let pieces: Vec<_> = params
        .map(|(params, gradient)| {
            let moments = moments.iter_mut().map(|all| all.next().expect("as many")).collect();
            (params, moments, gradient)
        })
        .collect();
    workers.on_each(pieces, |(params, moments, gradient)| {
        level.run(Applied { update, params, moments, gradient });
    });
}

/// A piece of an update.
// PERF: on its vectors; a build for any x86-64 has only four lanes (84,000 parameters: 37 µs, 62).
struct Applied<'a> {
    update: Update,
    params: &'a mut [f32],
    moments: Vec<&'a mut [f32]>,
    gradient: &'a [f32],
}

impl WithSimd for Applied<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.update.apply(self.params, self.moments, self.gradient);
    }
}

/// The norm of a gradient.
struct Norm<'a>(&'a [f32]);

impl WithSimd for Norm<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        norm(self.0)
    }
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
