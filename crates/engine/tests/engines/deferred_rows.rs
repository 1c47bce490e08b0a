//! Deferred updates of embedding rows give the bits of immediate updates.

use crate::agreement::UNCLIPPED_ADAM;
use srnn_engine::cpu::{CpuTrainer, CpuTuning, SimdLevel};
use srnn_engine::key::{Key, Rng};
use srnn_engine::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ReadFrom, Readout, Reset, Score,
    Temperature, When,
};
use srnn_engine::{Batch, Fields, Inputs, Mode, Regime, Runner, Snapshot, Targets, Trainer};
use srnn_engine::{Optimiser, Rule};

const SYMBOLS: usize = 50;
/// A token whose embedding has an infinity; only one batch has it.
const BAD: u32 = 49;

/// Rules whose moments decay slowly, fast and at once; the last two cannot be deferred.
fn optimisers() -> Vec<Optimiser> {
    let rms = |momentum, centred| Rule::RmsProp { decay: 0.9, momentum, epsilon: 1e-6, centred };
    let fast = Rule::Adam { beta1: 0.5, beta2: 0.7, epsilon: 1e-4 };
    let clipped = |rule| Optimiser::new(rule, 0.05);
    vec![
        clipped(Rule::ADAM),
        Optimiser { rule: fast, ..UNCLIPPED_ADAM },
        clipped(rms(0.0, false)),
        clipped(rms(0.9, true)),
        clipped(Rule::AdaDelta { decay: 0.9, epsilon: 1e-6 }),
        Optimiser { rule: Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 0.0 }, ..UNCLIPPED_ADAM },
        Optimiser { l2: 0.01, ..clipped(Rule::ADAM) },
    ]
}

/// A network with parameters that an update by zero could change: −0, denormals, an infinity.
fn model(embedding: usize) -> Model<f32> {
    let centroids = Centroids { k: 3, score: Score::Dot, tau: Temperature::ONE };
    let arch = Arch {
        input: Input::Tokens { symbols: SYMBOLS, embedding, start: true, end: false },
        layers: vec![Layer {
            cell: Cell::Gru { reset: Reset::AfterMatrix },
            units: 5,
            gate: Gate::Sigmoid,
            bias: true,
            centroids: Some(centroids),
        }],
        readout: Readout::new(ReadFrom::H, When::Last),
        classes: 2,
    };
    let mut model = Model::new(arch, &Init::default(), Key::new(1)).expect("a sound network");
    let last = embedding - 1;
    let special = [(4, 0, -0.0), (47, last, 1e-40), (46, 0, -1e-40), (6, 0, -1e-40)];
    for (id, j, value) in special.into_iter().chain([(BAD as usize, 0, f32::INFINITY)]) {
        model.params[id * embedding + j] = value;
    }
    for (id, value) in [(3, -0.0), (5, 0.0), (48, -0.0)] {
        model.params[id * embedding..][..embedding].fill(value);
    }
    model
}

/// The batch of update i: frequent tokens, tokens of a window that moves over the lower half, and now
/// and then a rare one.
fn batch(i: usize, rng: &mut Rng) -> Batch {
    let token = |rng: &mut Rng| match rng.below(8) {
        0..4 => rng.below(3) as u32,
        4..7 => 3 + (i / 40 * 4 + rng.below(6)) as u32 % 22,
        _ if i.is_multiple_of(31) => 25 + rng.below(15) as u32,
        _ => 0,
    };
    let mut row = |_| vec![SYMBOLS as u32, token(rng), token(rng), token(rng)];
    let rows = (0..3).map(&mut row).collect();
    of(rows, Targets::Rows((0..3).map(|_| rng.below(2) as u32).collect()))
}

fn of(rows: Vec<Vec<u32>>, targets: Targets) -> Batch {
    let steps = rows[0].len();
    Batch {
        offsets: (0..=rows.len()).map(|b| b * steps).collect(),
        input: Inputs::Tokens(rows.concat()),
        targets,
        class_weights: vec![],
        initial: vec![],
    }
}

/// A rate that changes: constant, falling, zero for a while.
fn rate(i: usize) -> f64 {
    match i % 200 {
        0..100 => 1e-2,
        100..150 => 1e-2 * 0.97f64.powi(i as i32 % 50),
        150..160 => 0.0,
        _ => 3e-4,
    }
}

fn regime(learning_rate: f64) -> Regime {
    Regime { commitment: 0.1, ..Regime::plain(learning_rate) }
}

/// The threshold of an engine that defers no updates.
const NEVER: usize = usize::MAX;

/// An engine without deferred updates, on one thread, and one with them.
fn pair(
    model: &Model<f32>,
    optimiser: Optimiser,
    level: SimdLevel,
    threads: usize,
) -> (CpuTrainer, CpuTrainer) {
    let with = |defer_from| CpuTuning { level, defer_from, ..CpuTuning::default() };
    let dense = CpuTrainer::tuned(model, optimiser, 1, with(NEVER));
    (dense, CpuTrainer::tuned(model, optimiser, threads, with(0)))
}

/// The bits; all NaNs are equal.
fn bits<'a>(numbers: impl Iterator<Item = &'a f32>) -> Vec<u32> {
    numbers.map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
}

/// Moments, then parameters.
fn numbers(snapshot: &Snapshot<f32>) -> impl Iterator<Item = &f32> {
    snapshot.moments.iter().flatten().chain(&snapshot.params)
}

/// The first number that differs, for a message.
fn first_difference(a: &Snapshot<f32>, b: &Snapshot<f32>) -> Option<String> {
    assert_eq!(a.updates, b.updates);
    let at = bits(numbers(a)).iter().zip(&bits(numbers(b))).position(|(a, b)| a != b)?;
    let (vector, index) = (at / a.params.len(), at % a.params.len());
    let [a, b] = [a, b].map(|snapshot| numbers(snapshot).nth(at).expect("there"));
    Some(format!("vector {vector}, parameter {index}: {a} and {b}"))
}

/// A step of both engines. Asserts that losses and norms agree, without reading the parameters.
fn step(dense: &mut CpuTrainer, deferred: &mut CpuTrainer, batch: &Batch, regime: &Regime) {
    let steps = [dense.step(batch, regime).unwrap(), deferred.step(batch, regime).unwrap()];
    let [a, b] = steps.map(|step| (step.gradient_norm.to_bits(), step.loss.total.to_bits()));
    assert!(a == b || steps.iter().all(|step| !step.is_finite()), "{steps:?}");
}

fn same(dense: &CpuTrainer, deferred: &CpuTrainer, when: &str) {
    let difference = first_difference(&dense.snapshot().unwrap(), &deferred.snapshot().unwrap());
    assert_eq!(difference, None, "{when}");
}

#[test]
fn deferred_rows_have_the_same_bits_after_hundreds_of_updates() {
    let levels = SimdLevel::available();
    for (which, optimiser) in optimisers().into_iter().enumerate() {
        for (embedding, threads) in [(7, 1), (16, 2), (70, 3)] {
            let (model, level) = (model(embedding), levels[which % levels.len()]);
            let (mut dense, mut deferred) = pair(&model, optimiser, level, threads);
            let mut rng = Key::new(2).rng();
            for i in 0..700 {
                step(&mut dense, &mut deferred, &batch(i, &mut rng), &regime(rate(i)));
                if [0, 1, 2, 97, 430, 699].contains(&i) {
                    same(&dense, &deferred, &format!("{optimiser:?}, E = {embedding}, update {i}"));
                }
            }
        }
    }
}

#[test]
fn rows_deferred_for_thousands_of_updates_have_the_same_bits() {
    for optimiser in optimisers() {
        let model = model(5);
        let (mut dense, mut deferred) = pair(&model, optimiser, SimdLevel::best(), 1);
        let mut rng = Key::new(3).rng();
        for i in 0..9_000 {
            let early = batch(if i < 50 { i } else { 0 }, &mut rng);
            let late = of(vec![vec![SYMBOLS as u32, 1, 2]], Targets::Rows(vec![1]));
            step(&mut dense, &mut deferred, if i < 50 { &early } else { &late }, &regime(rate(i)));
            if i == 1_500 || i == 8_999 {
                same(&dense, &deferred, &format!("{optimiser:?}, update {i}"));
            }
        }
    }
}

#[test]
fn reads_between_updates_see_deferred_updates_applied() {
    for optimiser in optimisers() {
        let model = model(7);
        let (mut dense, mut deferred) = pair(&model, optimiser, SimdLevel::best(), 2);
        let (mut rng, mut kept) = (Key::new(4).rng(), None);
        let all = of((0..BAD).map(|id| vec![id]).collect(), Targets::Rows(vec![0; BAD as usize]));
        let bad = of(vec![vec![0, BAD, 1]], Targets::Rows(vec![0]));
        for i in 0..400 {
            let regime = regime(rate(i));
            step(&mut dense, &mut deferred, &batch(i, &mut rng), &regime);
            match i {
                40 | 41 => {
                    let read = |e: &mut CpuTrainer| {
                        bits(e.gradients(&all, &regime).unwrap().values.iter())
                    };
                    assert!(read(&mut dense) == read(&mut deferred), "{optimiser:?}: gradients");
                }
                80 => {
                    let read = |e: &mut CpuTrainer| {
                        bits(
                            e.trace(&all, Mode::default(), Fields::default())
                                .unwrap()
                                .logits
                                .iter(),
                        )
                    };
                    assert!(read(&mut dense) == read(&mut deferred), "{optimiser:?}: trace");
                }
                120 => step(&mut dense, &mut deferred, &bad, &regime),
                160 => kept = Some(deferred.snapshot().unwrap()),
                200 => {
                    let read = |e: &CpuTrainer| bits(e.model().unwrap().params.iter());
                    assert!(read(&dense) == read(&deferred), "{optimiser:?}: model");
                }
                240 => {
                    let kept = kept.take().expect("of update 160");
                    dense.restore(&kept).unwrap();
                    deferred.restore(&kept).unwrap();
                }
                280 => {
                    (dense, deferred) =
                        (swapped(&deferred, &dense, 1, NEVER), swapped(&dense, &deferred, 3, 0))
                }
                _ => {}
            }
        }
        same(&dense, &deferred, &format!("{optimiser:?}, at the end"));
    }
}

/// An engine with the state of `from` and the model and optimiser of `like`.
fn swapped(from: &CpuTrainer, like: &CpuTrainer, threads: usize, defer_from: usize) -> CpuTrainer {
    let tuning = CpuTuning { defer_from, ..CpuTuning::default() };
    let mut engine = CpuTrainer::tuned(&like.model().unwrap(), *like.optimiser(), threads, tuning);
    engine.restore(&from.snapshot().unwrap()).unwrap();
    engine
}

#[test]
fn special_rates_give_the_same_bits_with_deferred_rows() {
    for special in [-1e-2, -0.0, 1e60, f64::NAN] {
        let model = model(7);
        let optimiser = optimisers()[0];
        let (mut dense, mut deferred) = pair(&model, optimiser, SimdLevel::best(), 1);
        let mut rng = Key::new(5).rng();
        for i in 0..60 {
            step(&mut dense, &mut deferred, &batch(i, &mut rng), &regime(rate(i)));
            if i % 20 == 10 {
                let new_token = of(vec![vec![40 + i as u32 / 20]], Targets::Rows(vec![1]));
                step(&mut dense, &mut deferred, &new_token, &regime(special));
            }
        }
        same(&dense, &deferred, &format!("rate {special}"));
    }
}
