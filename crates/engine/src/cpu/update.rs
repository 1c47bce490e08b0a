//! Updates on vectors and threads.

use super::deferred_rows::DeferredRows;
use super::deferred_updates::allows_deferral;
use super::thread_pool::Executor;
use super::token_table::EmbeddingRows;
use super::{Cpu, CpuTrainer};
use crate::optimiser::{Moments, Optimiser, SquareSum, Update, moments_mut};
use crate::tokens::BatchTokens;
use crate::weights::{EngineWeights, update_if_finite};
use crate::{Batch, Regime, Snapshot, Step};
use pulp::{Simd, WithSimd};
use std::iter::once;

/// Floats of one piece of an update.
// PERF: for smaller pieces, moving the data to another core costs more than the update.
const UPDATE_PIECE: usize = 1 << 17;

/// The rows of an embedding of at least `least` floats, if the optimiser allows to defer updates.
pub fn deferred_rows(
    weights: &EngineWeights<f32>,
    optimiser: &Optimiser,
    least: usize,
) -> Option<DeferredRows> {
    let EngineWeights { arch, layout, state } = weights;
    let size = layout.embedding.len();
    // If the classifier's weights are the embedding, every batch has gradients for all its rows.
    let defers = !arch.is_tied() && allows_deferral(optimiser);
    (size > 0 && size >= least && defers).then(|| {
        DeferredRows::new(optimiser.rule, arch.input.vocabulary(), arch.input.width(), state)
    })
}

impl CpuTrainer {
    /// The tokens of a batch. Applies the deferred updates of their rows.
    pub(super) fn batch_tokens(&mut self, batch: &Batch) -> BatchTokens {
        self.cpu.pool.wake();
        let CpuTrainer { cpu: Cpu { weights, tuning, pool, .. }, deferred, .. } = self;
        let tokens = BatchTokens::of(batch, weights.arch.input.vocabulary());
        if let Some(deferred) = deferred {
            let executor = Executor { level: tuning.level, pool };
            deferred.apply_deferred(&tokens.distinct, &mut weights.state, executor);
        }
        tokens
    }

    /// Applies the deferred updates of all rows.
    pub(super) fn apply_all_deferred(&mut self) {
        let CpuTrainer { cpu: Cpu { weights, tuning, pool, .. }, deferred, .. } = self;
        if let Some(deferred) = deferred {
            let executor = Executor { level: tuning.level, pool };
            deferred.apply_all_deferred(&mut weights.state, executor);
        }
    }

    /// An update of all parameters.
    pub(super) fn step_dense(&mut self, batch: &Batch, regime: &Regime) -> Step {
        self.apply_all_deferred();
        let gradients = self.dense_gradients(batch, regime);
        let CpuTrainer { cpu: Cpu { weights, tuning, pool, .. }, optimiser, deferred, .. } = self;
        let executor = Executor { level: tuning.level, pool };
        let input_end = weights.layout.input_end();
        let step = update_if_finite(&mut weights.state, &gradients, |state| {
            let (input, rest) = gradients.values.split_at(input_end);
            let norm = gradient_norm(once((0, input)), (input_end, rest), executor);
            optimiser.update_with(state, norm, regime.learning_rate, |update, state| {
                apply(update, state, &gradients.values, input_end, executor);
            })
        });
        deferred.iter_mut().for_each(|deferred| deferred.reset(&weights.state));
        self.gradient_buffer = gradients.values;
        step
    }

    /// The same update. Embedding rows whose tokens are not in the batch defer it.
    pub(super) fn step_deferred(&mut self, batch: &Batch, regime: &Regime) -> Step {
        let tokens = self.batch_tokens(batch);
        let gradients = self.loss_and_gradients(batch, &tokens, regime, EmbeddingRows::InBatch);
        let CpuTrainer { cpu: Cpu { weights, tuning, pool, .. }, optimiser, deferred, .. } = self;
        let (rows, executor) = (&tokens.distinct, Executor { level: tuning.level, pool });
        let deferred = deferred.as_mut().expect("the trainer defers updates");
        let input_end = weights.layout.input_end();
        let step = update_if_finite(&mut weights.state, &gradients, |state| {
            let norm = deferred.norm(rows, &gradients.values, input_end, executor);
            optimiser.update_with(state, norm, regime.learning_rate, |update, state| {
                deferred.update(update, rows, state, &gradients.values, executor);
            })
        });
        self.gradient_buffer = gradients.values;
        step
    }
}

/// Consecutive parameters with their moments.
#[derive(Default)]
pub struct ParamSlice<'a> {
    pub params: &'a mut [f32],
    pub moments: Moments<'a, f32>,
}

impl<'a> ParamSlice<'a> {
    /// All parameters.
    pub fn all(state: &'a mut Snapshot<f32>) -> ParamSlice<'a> {
        ParamSlice { params: &mut state.params, moments: moments_mut(&mut state.moments) }
    }

    /// Splits off the first `count` parameters.
    #[inline(always)]
    pub fn take(&mut self, count: usize) -> ParamSlice<'a> {
        fn first<'a>(all: &mut &'a mut [f32], count: usize) -> &'a mut [f32] {
            let (first, later) = std::mem::take(all).split_at_mut(count);
            *all = later;
            first
        }
        let params = first(&mut self.params, count);
        // A moment that the rule does not have is empty.
        let moments = self.moments.each_mut().map(|all| first(all, count.min(all.len())));
        ParamSlice { params, moments }
    }
}

/// Applies an update in pieces; the split changes no bit. Input parameters (the first `input_end`)
/// come last. If there are few, each of two workers updates the parameters it multiplies.
fn apply(
    update: Update<f32>,
    state: &mut Snapshot<f32>,
    gradient: &[f32],
    input_end: usize,
    executor: Executor<'_>,
) {
    let mut rest = ParamSlice::all(state);
    let input = rest.take(input_end);
    let (of_input, of_rest) = gradient.split_at(input_end);
    let mut all = pieces(update, rest, of_rest);
    all.extend(pieces(update, input, of_input));
    executor.pool.for_each(all, |piece| executor.level.run(piece));
}

/// The pieces of an update of consecutive parameters.
pub fn pieces<'a>(
    update: Update<f32>,
    mut params: ParamSlice<'a>,
    gradient: &'a [f32],
) -> Vec<UpdatePiece<'a>> {
    let piece = |gradient: &'a [f32]| {
        let params = params.take(gradient.len());
        UpdatePiece { update, params, gradient }
    };
    gradient.chunks(UPDATE_PIECE).map(piece).collect()
}

/// An update of consecutive parameters.
// PERF: on the vectors of the level; a build for any x86-64 has only four lanes (84,000 parameters:
// 37 µs, 62).
pub struct UpdatePiece<'a> {
    update: Update<f32>,
    params: ParamSlice<'a>,
    gradient: &'a [f32],
}

impl WithSimd for UpdatePiece<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.update.apply(self.params.params, self.params.moments, self.gradient);
    }
}

/// The gradient norm. `input` and `rest` are slices with the index of their first number. Worker 1
/// sums the squares of `input`, because it computed them.
pub fn gradient_norm<'a>(
    input: impl Iterator<Item = (usize, &'a [f32])> + Send,
    (rest_start, rest): (usize, &[f32]),
    executor: Executor<'_>,
) -> f64 {
    let [mut rest_squares, mut input_squares] = [SquareSum::default(); 2];
    let add = |sum: &mut SquareSum, first: usize, values: &[f32]| {
        executor.level.run(AddSquares { sum, first, values });
    };
    executor.pool.join(
        || add(&mut rest_squares, rest_start, rest),
        || input.for_each(|(first, values)| add(&mut input_squares, first, values)),
    );
    rest_squares.merge(&input_squares);
    rest_squares.norm()
}

/// Adds the squares of a gradient's numbers from index `first` on.
struct AddSquares<'a> {
    sum: &'a mut SquareSum,
    first: usize,
    values: &'a [f32],
}

impl WithSimd for AddSquares<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.sum.add(self.first, self.values);
    }
}
