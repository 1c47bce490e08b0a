//! What an engine is told of the next update changes no bit, whether it comes or not.

use crate::agreement::PLAIN;
use crate::cases::{self, Case};
use srnn_engine::Optimiser;
use srnn_engine::model::Model;
use srnn_engine::reference::ReferenceTrainer;
use srnn_engine::{Batch, Fields, Inputs, Mode, NextBatch, Regime, Step, Targets, Trainer};
use std::fmt::Debug;
use std::sync::Arc;

/// The batch and the regime of a step, and those it says come next.
type Said = ((usize, usize), Option<(usize, usize)>);

/// By the indices of [`batches`] and [`regimes`]. Twice over, a step is the same work as one before
/// it; three times, and an engine may know it by heart.
const STEPS: [Said; 12] = [
    ((0, 0), Some((1, 0))),
    ((1, 0), Some((2, 0))),
    // The same batch again.
    ((2, 0), Some((2, 0))),
    ((2, 0), Some((0, 1))),
    // Another regime, as was said.
    ((0, 1), Some((0, 0))),
    // Another batch than was said.
    ((1, 0), Some((2, 0))),
    // An equal batch at another address.
    ((3, 0), Some((0, 1))),
    // Another regime than was said.
    ((0, 0), None),
    ((2, 0), Some((0, 2))),
    // An update that is lost.
    ((0, 2), Some((1, 0))),
    ((1, 0), Some((0, 0))),
    ((0, 0), Some((1, 0))),
];
const ROUNDS: usize = 4;

/// Demands of an engine the bits of plain steps from steps that are told what comes next.
pub fn steps_agree_whatever_is_known_ahead<E: Trainer<f32>>(
    make: impl Fn(&Model<f32>, Optimiser) -> E,
) {
    for case in cases::all().into_iter().chain(cases::crowds()) {
        steps_agree(&case, || make(&case.model, PLAIN));
    }
}

fn steps_agree<F: PartialEq + Debug, E: Trainer<F>>(case: &Case, make: impl Fn() -> E) {
    let (mut plain, mut told) = (make(), make());
    let (batches, regimes, name) = (batches(case), regimes(&case.regime), &case.name);
    for round in 0..ROUNDS {
        for (i, &((batch, regime), said)) in STEPS.iter().enumerate() {
            let (batch, regime) = (&batches[batch], &regimes[regime]);
            let mut asked = 0;
            let mut next = || {
                asked += 1;
                said.map(|(b, r)| NextBatch { batch: batches[b].clone(), regime: regimes[r] })
            };
            let steps = [
                plain.step(batch, regime).unwrap(),
                told.step_and_prefetch(batch, regime, &mut next).unwrap(),
            ];
            assert_eq!(asked, 1, "{name}: what comes next is asked for once");
            let [want, got] = steps.each_ref().map(bits);
            assert_eq!(want, got, "{name}: round {round}, step {i}: {steps:?}");
            let [want, got] = [plain.snapshot().unwrap(), told.snapshot().unwrap()];
            assert!(want == got, "{name}: round {round}, after step {i}");
        }
        // The last step said that batch 1 comes next: with other parameters, it must not have begun.
        let mut other = plain.snapshot().unwrap();
        other.params.reverse();
        let [want, got] = [&mut plain, &mut told].map(|engine| {
            engine.restore(&other).unwrap();
            bits(&engine.step(&batches[1], &regimes[0]).unwrap())
        });
        assert_eq!(want, got, "{name}: round {round}, after a restore");
        let gradients = |engine: &mut E| engine.gradients(&batches[1], &case.regime).unwrap();
        assert!(gradients(&mut plain) == gradients(&mut told), "{name}: gradients");
        let trace =
            |engine: &mut E| engine.trace(&batches[2], Mode::default(), Fields::default()).unwrap();
        assert!(trace(&mut plain) == trace(&mut told), "{name}: traces");
    }
}

/// That of a case, fewer rows of it, more, and the first one again at another address.
pub fn batches(case: &Case) -> [Arc<Batch>; 4] {
    let rows: Vec<usize> = (0..case.batch.rows()).collect();
    let more: Vec<usize> = rows.iter().rev().flat_map(|&b| [b, b, b]).collect();
    let some = |chosen: &[usize]| Arc::new(chosen_rows(case, chosen));
    [some(&rows), some(&rows[rows.len() / 2..]), some(&more), some(&rows)]
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
    }
}

/// That of a case, one that asks for other kernels, and one whose loss is not a number.
pub fn regimes(regime: &Regime) -> [Regime; 3] {
    let lambda = if regime.lambda == 1.0 { 0.4 } else { 1.0 };
    let rate = regime.learning_rate / 2.0;
    let other = Regime { lambda, learning_rate: rate, ..*regime };
    [*regime, other, Regime { margin: f64::NAN, ..*regime }]
}

/// The norm and the parts of the loss; what is not a number is the same whatever it is called.
fn bits(step: &Step) -> [u64; 7] {
    let loss = &step.loss;
    let [norm, task, total] = [step.gradient_norm, loss.task, loss.total];
    [norm, task, total, loss.commitment, loss.entropy, loss.saturation, loss.writing]
        .map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() })
}

#[test]
fn the_reference_gives_the_same_bits_whatever_is_known_ahead() {
    for case in cases::all() {
        steps_agree(&case, || ReferenceTrainer::new(&case.model.to_f64(), PLAIN));
    }
}

/// Without it the suite would say little: the cases have one row now and then.
#[test]
fn batches_to_step_through_differ_in_their_rows_and_steps() {
    let different = |case: &&Case| {
        let [whole, fewer, more, _] = batches(case).map(|batch| (batch.rows(), batch.steps()));
        whole != fewer && more == (3 * whole.0, 3 * whole.1)
    };
    let cases = cases::all();
    assert!(2 * cases.iter().filter(different).count() > cases.len());
}
