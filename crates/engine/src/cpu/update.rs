//! Updates on vectors and threads.

use super::idle::may_wait;
use super::lazy::Lazy;
use super::prepare::Machine;
use super::table::Rows;
use super::{Cpu, CpuTrainer};
use crate::optimiser::{Moments, Optimiser, Squares, Update, moments_mut};
use crate::tokens::Tokens;
use crate::weights::{Weights, descend};
use crate::{Batch, Regime, Snapshot, Step};
use pulp::{Simd, WithSimd};

/// Numbers of a piece of an update.
// PERF: fewer do not pay for going to another core's cache.
const UPDATE_PIECE: usize = 1 << 17;

/// The rows of an embedding of at least `least` numbers, if they may wait for their updates.
pub fn lazy_rows(weights: &Weights<f32>, optimiser: &Optimiser, least: usize) -> Option<Lazy> {
    let Weights { arch, layout, state } = weights;
    let size = layout.embedding.len();
    (size > 0 && size >= least && may_wait(optimiser))
        .then(|| Lazy::new(optimiser.rule, arch.input.vocabulary(), arch.input.width(), state))
}

impl CpuTrainer {
    /// The tokens of a batch, with rows that have missed nothing.
    pub(super) fn meet(&mut self, batch: &Batch) -> Tokens {
        self.cpu.workers.rouse();
        let CpuTrainer { cpu: Cpu { weights, tuning, workers, .. }, lazy, .. } = self;
        let tokens = Tokens::of(batch, weights.arch.input.vocabulary());
        if let Some(lazy) = lazy {
            let machine = Machine { level: tuning.level, workers };
            lazy.catch_up(&tokens.distinct, &mut weights.state, machine);
        }
        tokens
    }

    /// No row has missed anything.
    pub(super) fn catch_up(&mut self) {
        let CpuTrainer { cpu: Cpu { weights, tuning, workers, .. }, lazy, .. } = self;
        if let Some(lazy) = lazy {
            lazy.catch_up_all(&mut weights.state, Machine { level: tuning.level, workers });
        }
    }

    /// An update of all parameters.
    pub(super) fn step_densely(&mut self, batch: &Batch, regime: &Regime) -> Step {
        self.catch_up();
        let gradients = self.dense_gradients(batch, regime);
        let CpuTrainer { cpu: Cpu { weights, tuning, workers, .. }, optimiser, lazy, .. } = self;
        let machine = Machine { level: tuning.level, workers };
        let input = weights.layout.of_input();
        let step = descend(&mut weights.state, &gradients, |state| {
            let norm = norm(&gradients.values, input, machine);
            optimiser.update_by(state, norm, regime.learning_rate, |update, state| {
                apply(update, state, &gradients.values, input, machine);
            })
        });
        lazy.iter_mut().for_each(|lazy| lazy.begin(&weights.state));
        self.values = gradients.values;
        step
    }

    /// The same, but rows that the batch does not meet wait for it.
    pub(super) fn step_lazily(&mut self, batch: &Batch, regime: &Regime) -> Step {
        let tokens = self.meet(batch);
        let gradients = self.learn(batch, &tokens, regime, Rows::Met);
        let CpuTrainer { cpu: Cpu { weights, tuning, workers, .. }, optimiser, lazy, .. } = self;
        let (rows, machine) = (&tokens.distinct, Machine { level: tuning.level, workers });
        let lazy = lazy.as_mut().expect("rows that wait");
        let input = weights.layout.of_input();
        let step = descend(&mut weights.state, &gradients, |state| {
            let norm = lazy.norm(rows, &gradients.values, input, machine);
            optimiser.update_by(state, norm, regime.learning_rate, |update, state| {
                lazy.update(update, rows, state, &gradients.values, machine);
            })
        });
        self.values = gradients.values;
        step
    }
}

/// Some parameters in a row, with their moments.
#[derive(Default)]
pub struct Part<'a> {
    pub params: &'a mut [f32],
    pub moments: Moments<'a, f32>,
}

impl<'a> Part<'a> {
    /// All there are.
    pub fn all(state: &'a mut Snapshot<f32>) -> Part<'a> {
        Part { params: &mut state.params, moments: moments_mut(&mut state.moments) }
    }

    /// Takes the first `count` away.
    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Part<'a> {
        fn first<'a>(all: &mut &'a mut [f32], count: usize) -> &'a mut [f32] {
            let (first, later) = std::mem::take(all).split_at_mut(count);
            *all = later;
            first
        }
        let params = first(&mut self.params, count);
        // A moment that the rule does not have is empty.
        let moments = self.moments.each_mut().map(|all| first(all, count.min(all.len())));
        Part { params, moments }
    }
}

/// Applies an update piece by piece: which, changes no bit. The first `input` parameters, of what is
/// read, come last: where there are few, two workers take the parts they make something of.
fn apply(
    update: Update<f32>,
    state: &mut Snapshot<f32>,
    gradient: &[f32],
    input: usize,
    machine: Machine<'_>,
) {
    let mut others = Part::all(state);
    let part = others.take(input);
    let (of_input, of_others) = gradient.split_at(input);
    let mut all = pieces(update, others, of_others);
    all.extend(pieces(update, part, of_input));
    machine.workers.on_each(all, |piece| machine.level.run(piece));
}

/// The pieces of an update of some parameters.
pub fn pieces<'a>(update: Update<f32>, mut part: Part<'a>, gradient: &'a [f32]) -> Vec<Piece<'a>> {
    let gradients = gradient.chunks(UPDATE_PIECE);
    gradients.map(|gradient| Piece { update, part: part.take(gradient.len()), gradient }).collect()
}

/// A piece of an update.
// PERF: on its vectors; a build for any x86-64 has only four lanes (84,000 parameters: 37 µs, 62).
pub struct Piece<'a> {
    update: Update<f32>,
    part: Part<'a>,
    gradient: &'a [f32],
}

impl WithSimd for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.update.apply(self.part.params, self.part.moments, self.gradient);
    }
}

/// The norm of a gradient; the squares of the first `input` numbers by the worker who made them.
fn norm(gradient: &[f32], input: usize, machine: Machine<'_>) -> f64 {
    let [mut squares, mut of_input] = [Squares::default(); 2];
    let (read, others) = gradient.split_at(input);
    machine.workers.both(
        || machine.level.run(Squared { squares: &mut squares, first: input, values: others }),
        || machine.level.run(Squared { squares: &mut of_input, first: 0, values: read }),
    );
    squares.join(&of_input);
    squares.norm()
}

/// The squares of a gradient's numbers from place `first` on.
pub struct Squared<'a> {
    pub squares: &'a mut Squares,
    pub first: usize,
    pub values: &'a [f32],
}

impl WithSimd for Squared<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.squares.add(self.first, self.values);
    }
}
