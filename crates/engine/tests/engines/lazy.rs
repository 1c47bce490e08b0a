//! Rows of an embedding that wait for their updates are, to whoever looks, those that do not.

use crate::agreement::PLAIN;
use srnn_engine::cpu::{CpuTrainer, CpuTuning, SimdLevel};
use srnn_engine::key::{Key, Rng};
use srnn_engine::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Model, ReadFrom, Readout, Reset, Score,
    Temperature, When,
};
use srnn_engine::{Batch, Fields, Inputs, Mode, Regime, Runner, Snapshot, Targets, Trainer};
use srnn_engine::{Optimiser, Rule};

const SYMBOLS: usize = 50;
/// A token that no good batch has.
const BAD: u32 = 49;

/// Rules that fade slowly, fast and at once; the last two may not wait.
fn optimisers() -> Vec<Optimiser> {
    let rms = |momentum, centred| Rule::RmsProp { decay: 0.9, momentum, epsilon: 1e-6, centred };
    let fast = Rule::Adam { beta1: 0.5, beta2: 0.7, epsilon: 1e-4 };
    let clipped = |rule| Optimiser { rule, clip: 0.05, l2: 0.0 };
    vec![
        clipped(Rule::ADAM),
        Optimiser { rule: fast, ..PLAIN },
        clipped(rms(0.0, false)),
        clipped(rms(0.9, true)),
        clipped(Rule::AdaDelta { decay: 0.9, epsilon: 1e-6 }),
        Optimiser { rule: Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 0.0 }, ..PLAIN },
        Optimiser { l2: 0.01, ..clipped(Rule::ADAM) },
    ]
}

/// A network with parameters that arithmetic could change: minus zeros, denormals, an infinity.
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
        readout: Readout { from: ReadFrom::H, when: When::Last },
        classes: 2,
    };
    let mut model = Model::new(arch, &Init::default(), Key::new(1)).expect("a sound network");
    let last = embedding - 1;
    let strange = [(4, 0, -0.0), (47, last, 1e-40), (46, 0, -1e-40), (6, 0, -1e-40)];
    for (id, j, value) in strange.into_iter().chain([(BAD as usize, 0, f32::INFINITY)]) {
        model.params[id * embedding + j] = value;
    }
    for (id, value) in [(3, -0.0), (5, 0.0), (48, -0.0)] {
        model.params[id * embedding..][..embedding].fill(value);
    }
    model
}

/// A batch of update i: a few tokens that are always there, some of a window that wanders over the
/// lower half, and now and then a rare one.
fn batch(i: usize, stream: &mut Rng) -> Batch {
    let token = |stream: &mut Rng| match stream.below(8) {
        0..4 => stream.below(3) as u32,
        4..7 => 3 + (i / 40 * 4 + stream.below(6)) as u32 % 22,
        _ if i.is_multiple_of(31) => 25 + stream.below(15) as u32,
        _ => 0,
    };
    let mut row = |_| vec![SYMBOLS as u32, token(stream), token(stream), token(stream)];
    let rows = (0..3).map(&mut row).collect();
    of(rows, Targets::Rows((0..3).map(|_| stream.below(2) as u32).collect()))
}

fn of(rows: Vec<Vec<u32>>, targets: Targets) -> Batch {
    let steps = rows[0].len();
    Batch {
        offsets: (0..=rows.len()).map(|b| b * steps).collect(),
        input: Inputs::Tokens(rows.concat()),
        targets,
        class_weights: vec![],
    }
}

/// A rate that changes: constant, falling, nothing for a while.
fn rate(i: usize) -> f64 {
    match i % 200 {
        0..100 => 1e-2,
        100..150 => 1e-2 * 0.97f64.powi(i as i32 % 50),
        150..160 => 0.0,
        _ => 3e-4,
    }
}

fn regime(learning_rate: f64) -> Regime {
    Regime {
        lambda: 1.0,
        commitment: 0.1,
        entropy: 0.0,
        saturation: 0.0,
        writing: 0.0,
        tau: 1.0,
        margin: 0.0,
        learning_rate,
    }
}

/// Of an engine whose rows do not wait.
const NEVER: usize = usize::MAX;

/// An engine whose rows do not wait, on one thread, and one whose rows do.
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

/// Every bit, but for which NaN it is.
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

/// Steps of both, which must be the same; nobody looks at the parameters.
fn step(dense: &mut CpuTrainer, lazy: &mut CpuTrainer, batch: &Batch, regime: &Regime) {
    let steps = [dense.step(batch, regime).unwrap(), lazy.step(batch, regime).unwrap()];
    let [a, b] = steps.map(|step| (step.gradient_norm.to_bits(), step.loss.total.to_bits()));
    assert!(a == b || steps.iter().all(|step| !step.is_finite()), "{steps:?}");
}

fn same(dense: &CpuTrainer, lazy: &CpuTrainer, when: &str) {
    let difference = first_difference(&dense.snapshot().unwrap(), &lazy.snapshot().unwrap());
    assert_eq!(difference, None, "{when}");
}

#[test]
fn rows_that_wait_have_the_bits_of_rows_that_do_not_after_hundreds_of_updates() {
    let levels = SimdLevel::available();
    for (which, optimiser) in optimisers().into_iter().enumerate() {
        for (embedding, threads) in [(7, 1), (16, 2), (70, 3)] {
            let (model, level) = (model(embedding), levels[which % levels.len()]);
            let (mut dense, mut lazy) = pair(&model, optimiser, level, threads);
            let mut stream = Key::new(2).rng();
            for i in 0..700 {
                step(&mut dense, &mut lazy, &batch(i, &mut stream), &regime(rate(i)));
                if [0, 1, 2, 97, 430, 699].contains(&i) {
                    same(&dense, &lazy, &format!("{optimiser:?}, E = {embedding}, update {i}"));
                }
            }
        }
    }
}

#[test]
fn rows_that_wait_thousands_of_updates_have_the_bits_of_rows_that_do_not() {
    for optimiser in optimisers() {
        let model = model(5);
        let (mut dense, mut lazy) = pair(&model, optimiser, SimdLevel::best(), 1);
        let mut stream = Key::new(3).rng();
        for i in 0..9_000 {
            let early = batch(if i < 50 { i } else { 0 }, &mut stream);
            let late = of(vec![vec![SYMBOLS as u32, 1, 2]], Targets::Rows(vec![1]));
            step(&mut dense, &mut lazy, if i < 50 { &early } else { &late }, &regime(rate(i)));
            if i == 1_500 || i == 8_999 {
                same(&dense, &lazy, &format!("{optimiser:?}, update {i}"));
            }
        }
    }
}

#[test]
fn whoever_looks_between_updates_sees_rows_that_have_not_waited() {
    for optimiser in optimisers() {
        let model = model(7);
        let (mut dense, mut lazy) = pair(&model, optimiser, SimdLevel::best(), 2);
        let (mut stream, mut kept) = (Key::new(4).rng(), None);
        let all = of((0..BAD).map(|id| vec![id]).collect(), Targets::Rows(vec![0; BAD as usize]));
        let bad = of(vec![vec![0, BAD, 1]], Targets::Rows(vec![0]));
        for i in 0..400 {
            let regime = regime(rate(i));
            step(&mut dense, &mut lazy, &batch(i, &mut stream), &regime);
            match i {
                40 | 41 => {
                    let sees = |e: &mut CpuTrainer| {
                        bits(e.gradients(&all, &regime).unwrap().values.iter())
                    };
                    assert!(sees(&mut dense) == sees(&mut lazy), "{optimiser:?}: gradients");
                }
                80 => {
                    let sees = |e: &mut CpuTrainer| {
                        bits(
                            e.trace(&all, Mode::default(), Fields::default())
                                .unwrap()
                                .logits
                                .iter(),
                        )
                    };
                    assert!(sees(&mut dense) == sees(&mut lazy), "{optimiser:?}: trace");
                }
                120 => step(&mut dense, &mut lazy, &bad, &regime),
                160 => kept = Some(lazy.snapshot().unwrap()),
                200 => {
                    let sees = |e: &CpuTrainer| bits(e.model().unwrap().params.iter());
                    assert!(sees(&dense) == sees(&lazy), "{optimiser:?}: model");
                }
                240 => {
                    let kept = kept.take().expect("of update 160");
                    dense.restore(&kept).unwrap();
                    lazy.restore(&kept).unwrap();
                }
                280 => {
                    (dense, lazy) = (swapped(&lazy, &dense, 1, NEVER), swapped(&dense, &lazy, 3, 0))
                }
                _ => {}
            }
        }
        same(&dense, &lazy, &format!("{optimiser:?}, at the end"));
    }
}

/// An engine with the state of one and the shape and rule of another.
fn swapped(from: &CpuTrainer, like: &CpuTrainer, threads: usize, defer_from: usize) -> CpuTrainer {
    let tuning = CpuTuning { defer_from, ..CpuTuning::default() };
    let mut engine = CpuTrainer::tuned(&like.model().unwrap(), *like.optimiser(), threads, tuning);
    engine.restore(&from.snapshot().unwrap()).unwrap();
    engine
}

#[test]
fn strange_rates_do_to_rows_that_wait_what_they_do_to_others() {
    for strange in [-1e-2, -0.0, 1e60, f64::NAN] {
        let model = model(7);
        let optimiser = optimisers()[0];
        let (mut dense, mut lazy) = pair(&model, optimiser, SimdLevel::best(), 1);
        let mut stream = Key::new(5).rng();
        for i in 0..60 {
            step(&mut dense, &mut lazy, &batch(i, &mut stream), &regime(rate(i)));
            if i % 20 == 10 {
                let first_met = of(vec![vec![40 + i as u32 / 20]], Targets::Rows(vec![1]));
                step(&mut dense, &mut lazy, &first_met, &regime(strange));
            }
        }
        same(&dense, &lazy, &format!("rate {strange}"));
    }
}
