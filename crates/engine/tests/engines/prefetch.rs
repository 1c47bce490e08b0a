//! Prefetching the next batch changes no bit, whether the prediction is right or not.

use crate::agreement::UNCLIPPED_ADAM;
use crate::cases::{self, Case};
use srnn_engine::Optimiser;
use srnn_engine::model::Model;
use srnn_engine::reference::ReferenceTrainer;
use srnn_engine::{
    Batch, Fields, Inputs, LayerState, Mode, NextBatch, Regime, Step, Targets, Trainer,
};
use std::fmt::Debug;
use std::sync::Arc;

/// The batch and the regime of a step, and those it announces for the next step.
type PrefetchStep = ((usize, usize), Option<(usize, usize)>);

/// By the indices of [`batches`] and [`regimes`]. They are repeated, so that an engine can replay
/// recorded work.
const STEPS: [PrefetchStep; 12] = [
    ((0, 0), Some((1, 0))),
    ((1, 0), Some((2, 0))),
    // The same batch again.
    ((2, 0), Some((2, 0))),
    ((2, 0), Some((0, 1))),
    // Another regime, as announced.
    ((0, 1), Some((0, 0))),
    // Another batch than announced.
    ((1, 0), Some((2, 0))),
    // An equal batch at another address.
    ((3, 0), Some((0, 1))),
    // Another regime than announced.
    ((0, 0), None),
    ((2, 0), Some((0, 2))),
    // An update that is not applied: its loss is NaN.
    ((0, 2), Some((1, 0))),
    ((1, 0), Some((0, 0))),
    ((0, 0), Some((1, 0))),
];
const ROUNDS: usize = 4;

/// Asserts that steps with prefetching have the bits of steps without.
pub fn prefetching_changes_no_bit<E: Trainer<f32>>(make: impl Fn(&Model<f32>, Optimiser) -> E) {
    for case in cases::all().into_iter().chain(cases::large_batches()) {
        steps_agree(&case, || make(&case.model, UNCLIPPED_ADAM));
    }
}

fn steps_agree<F: PartialEq + Debug, E: Trainer<F>>(case: &Case, make: impl Fn() -> E) {
    let (mut plain, mut prefetching) = (make(), make());
    let (batches, regimes, name) = (batches(case), regimes(&case.regime), &case.name);
    for round in 0..ROUNDS {
        for (i, &((batch, regime), announced)) in STEPS.iter().enumerate() {
            let (batch, regime) = (&batches[batch], &regimes[regime]);
            let mut calls = 0;
            let mut next = || {
                calls += 1;
                announced.map(|(b, r)| NextBatch { batch: batches[b].clone(), regime: regimes[r] })
            };
            let steps = [
                plain.step(batch, regime).unwrap(),
                prefetching.step_and_prefetch(batch, regime, &mut next).unwrap(),
            ];
            assert_eq!(calls, 1, "{name}: the next batch is requested once");
            let [want, got] = steps.each_ref().map(bits);
            assert_eq!(want, got, "{name}: round {round}, step {i}: {steps:?}");
            let [want, got] = [plain.snapshot().unwrap(), prefetching.snapshot().unwrap()];
            assert!(want == got, "{name}: round {round}, after step {i}");
        }
        // The last step announced batch 1. After a restore, work on it must be discarded.
        let mut other = plain.snapshot().unwrap();
        other.params.reverse();
        let [want, got] = [&mut plain, &mut prefetching].map(|engine| {
            engine.restore(&other).unwrap();
            bits(&engine.step(&batches[1], &regimes[0]).unwrap())
        });
        assert_eq!(want, got, "{name}: round {round}, after a restore");
        let gradients = |engine: &mut E| engine.gradients(&batches[1], &case.regime).unwrap();
        assert!(gradients(&mut plain) == gradients(&mut prefetching), "{name}: gradients");
        let trace =
            |engine: &mut E| engine.trace(&batches[2], Mode::default(), Fields::default()).unwrap();
        assert!(trace(&mut plain) == trace(&mut prefetching), "{name}: traces");
    }
}

/// The batch of a case, fewer rows of it, more rows, and the first one again at another address.
pub fn batches(case: &Case) -> [Arc<Batch>; 4] {
    let rows: Vec<usize> = (0..case.batch.rows()).collect();
    let more: Vec<usize> = rows.iter().rev().flat_map(|&b| [b, b, b]).collect();
    let batch_of = |chosen: &[usize]| Arc::new(chosen_rows(case, chosen));
    [batch_of(&rows), batch_of(&rows[rows.len() / 2..]), batch_of(&more), batch_of(&rows)]
}

/// Some rows of a case.
pub fn chosen_rows(case: &Case, rows: &[usize]) -> Batch {
    let (batch, width) = (&case.batch, case.model.arch.width_below(0));
    let steps = || rows.iter().flat_map(|&b| batch.row(b));
    let mut offsets = vec![0];
    offsets.extend(rows.iter().scan(0, |end, &b| {
        *end += batch.row(b).len();
        Some(*end)
    }));
    Batch {
        offsets,
        input: match &batch.input {
            Inputs::Tokens(ids) => Inputs::Tokens(steps().map(|n| ids[n]).collect()),
            Inputs::Real(x) => Inputs::Real(
                steps().flat_map(|n| x[n * width..(n + 1) * width].iter().copied()).collect(),
            ),
        },
        targets: match &batch.targets {
            Targets::None => Targets::None,
            Targets::Rows(ids) => Targets::Rows(rows.iter().map(|&b| ids[b]).collect()),
            Targets::Steps(ids) => Targets::Steps(steps().map(|n| ids[n]).collect()),
        },
        class_weights: batch.class_weights.clone(),
        initial: batch.initial.iter().map(|state| chosen_states(state, batch, rows)).collect(),
    }
}

/// The states of some rows.
fn chosen_states(all: &LayerState, batch: &Batch, rows: &[usize]) -> LayerState {
    let of = |values: &[f32]| {
        let width = values.len() / batch.rows();
        rows.iter().flat_map(|&b| &values[b * width..][..width]).copied().collect()
    };
    LayerState { h: of(&all.h), c: of(&all.c) }
}

/// The regime of a case, one that needs other kernels, and one whose loss is NaN.
pub fn regimes(regime: &Regime) -> [Regime; 3] {
    let lambda = if regime.lambda == 1.0 { 0.4 } else { 1.0 };
    let rate = regime.learning_rate / 2.0;
    let other = Regime { lambda, learning_rate: rate, ..*regime };
    [*regime, other, Regime { margin: f64::NAN, ..*regime }]
}

/// The bits of the norm and of the terms of the loss; all NaNs are equal.
fn bits(step: &Step) -> [u64; 7] {
    let loss = &step.loss;
    let [norm, task, total] = [step.gradient_norm, loss.task, loss.total];
    [norm, task, total, loss.commitment, loss.entropy, loss.saturation, loss.writing]
        .map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() })
}

#[test]
fn prefetching_changes_no_bit_of_the_reference() {
    for case in cases::all() {
        steps_agree(&case, || ReferenceTrainer::new(&case.model.to_f64(), UNCLIPPED_ADAM));
    }
}

/// Many cases have a single row, for which the batches would be equal.
#[test]
fn batches_of_most_cases_differ_in_rows_and_steps() {
    let different = |case: &&Case| {
        let [whole, fewer, more, _] = batches(case).map(|batch| (batch.rows(), batch.steps()));
        whole != fewer && more == (3 * whole.0, 3 * whole.1)
    };
    let cases = cases::all();
    assert!(2 * cases.iter().filter(different).count() > cases.len());
}
