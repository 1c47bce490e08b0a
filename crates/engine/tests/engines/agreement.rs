//! An engine in single precision against the reference, on every case.

use crate::cases::{self, Case};
use crate::hard_transitions::hard_transitions_agree;
use srnn_engine::model::Model;
use srnn_engine::reference::ReferenceTrainer;
use srnn_engine::{
    Fields, LayerState, LayerTrace, Loss, Mode, Regime, Runner, Trace, Trainer, Transition,
};
use srnn_engine::{Optimiser, Rule};

/// Largest error of a tensor, relative to its largest number: single precision (6e-8) with room
/// for sixty steps of recurrence.
const TOLERANCE: f64 = 1e-4;
/// The scale of a tensor whose largest number is smaller: its numbers are sums in which terms of size
/// one cancel, with rounding errors of 1e-7.
const FLOOR: f64 = 1e-3;

/// All fields of a trace.
pub const ALL: Fields = Fields { alpha: true, u: true, h: true, c: true };

/// The optimiser of tests that do not depend on it.
pub const UNCLIPPED_ADAM: Optimiser = Optimiser::new(Rule::ADAM, f64::INFINITY);

/// Asserts that an engine agrees with the reference: on every case traces, losses, gradients, updates
/// and hard transitions; on large batches traces, losses and gradients.
pub fn engine_agrees_with_reference<E: Trainer<f32>>(make: impl Fn(&Model<f32>, Optimiser) -> E) {
    let mut wrong = vec![];
    for case in cases::all() {
        let mut check = Check { case: &case, wrong: &mut wrong };
        check.trace_and_gradients(&make);
        check.updates(&make);
    }
    for case in cases::large_batches() {
        Check { case: &case, wrong: &mut wrong }.trace_and_gradients(&make);
    }
    hard_transitions_agree(&make, &mut wrong);
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
}

/// Asserts that two engines give the same bits: traces, loss, gradients and ten updates.
pub fn engines_agree_to_the_bit<A: Trainer<f32>, B: Trainer<f32>>(
    make_a: impl Fn(&Model<f32>, Optimiser) -> A,
    make_b: impl Fn(&Model<f32>, Optimiser) -> B,
) {
    for case in cases::all().into_iter().chain(cases::large_batches()) {
        let (mut a, mut b) =
            (make_a(&case.model, UNCLIPPED_ADAM), make_b(&case.model, UNCLIPPED_ADAM));
        let name = &case.name;
        let traces =
            [mode(&case.regime), with_transition(Transition::Sample(case.key()))].map(|mode| {
                [a.trace(&case.batch, mode, ALL).unwrap(), b.trace(&case.batch, mode, ALL).unwrap()]
            });
        assert!(traces.iter().all(|[a, b]| trace_bits(a) == trace_bits(b)), "{name}: traces");
        let gradients = [
            a.gradients(&case.batch, &case.regime).unwrap(),
            b.gradients(&case.batch, &case.regime).unwrap(),
        ];
        let [bits_a, bits_b] = gradients.each_ref().map(|g| bits(&g.values));
        assert!(bits_a == bits_b, "{name}: gradients");
        assert_eq!(loss_bits(&gradients[0].loss), loss_bits(&gradients[1].loss), "{name}: loss");
        for update in 0..10 {
            let steps = [
                a.step(&case.batch, &case.regime).unwrap(),
                b.step(&case.batch, &case.regime).unwrap(),
            ];
            let norms = steps.map(|step| step.gradient_norm.to_bits());
            assert_eq!(norms[0], norms[1], "{name}: norm at update {update}");
            assert!(
                bits(&a.model().unwrap().params) == bits(&b.model().unwrap().params),
                "{name}: update {update}"
            );
        }
    }
}

/// The rules to test. Their epsilons are large: with 1e-8, rounding errors of a gradient change a
/// parameter as much as a real gradient.
pub fn rules() -> Vec<(&'static str, Optimiser)> {
    let rms = |momentum, centred| Rule::RmsProp { decay: 0.9, momentum, epsilon: 1e-3, centred };
    let adam = Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-2 };
    let unclipped = |rule| Optimiser { rule, ..UNCLIPPED_ADAM };
    let shrinking = |rule| Optimiser { rule, clip: 0.1, l2: 0.01, weight_decay: 0.3 };
    vec![
        ("rmsprop", unclipped(rms(0.0, false))),
        ("rmsprop, momentum", unclipped(rms(0.9, false))),
        ("rmsprop, centred", unclipped(rms(0.0, true))),
        ("rmsprop, clipped, shrinking", shrinking(rms(0.5, true))),
        ("adam", unclipped(adam)),
        ("adam, clipped, shrinking", shrinking(adam)),
        ("adadelta", unclipped(Rule::AdaDelta { decay: 0.95, epsilon: 1e-4 })),
    ]
}

fn mode(regime: &Regime) -> Mode {
    Mode { transition: Transition::Mixture, lambda: regime.lambda, tau: regime.tau }
}

/// The deployed network with another transition.
pub fn with_transition(transition: Transition) -> Mode {
    Mode { transition, ..Mode::default() }
}

/// A case, and the disagreements found so far.
pub struct Check<'a> {
    pub case: &'a Case,
    pub wrong: &'a mut Vec<String>,
}

impl Check<'_> {
    fn trace_and_gradients<E: Trainer<f32>>(
        &mut self,
        make: &impl Fn(&Model<f32>, Optimiser) -> E,
    ) {
        let mut engine = make(&self.case.model, UNCLIPPED_ADAM);
        let mut reference = ReferenceTrainer::new(&self.case.model.to_f64(), UNCLIPPED_ADAM);
        self.trace(&mut engine, &mut reference);
        self.gradients(&mut engine, &mut reference);
    }

    fn trace<E: Trainer<f32>>(&mut self, engine: &mut E, reference: &mut ReferenceTrainer) {
        let mode = mode(&self.case.regime);
        let got = engine.trace(&self.case.batch, mode, ALL).unwrap();
        let want = reference.trace(&self.case.batch, mode, ALL).unwrap();
        for (l, (got, want)) in got.layers.iter().zip(&want.layers).enumerate() {
            for (name, got, want) in fields(got, want) {
                self.close(&format!("{name} of layer {l}"), got, want);
            }
        }
        self.close("logits", &got.logits, &want.logits);
        self.states("trace", &got.last, &want.last);
        let got = engine.loss(&self.case.batch, mode).unwrap();
        let want = reference.loss(&self.case.batch, mode).unwrap();
        self.loss(&got.0, &want.0);
        self.states("loss", &got.1, &want.1);
        let want = reference.trace(&self.case.batch, mode, ALL).unwrap();
        let nothing = engine.trace(&self.case.batch, mode, Fields::default()).unwrap();
        self.close("logits of an empty trace", &nothing.logits, &want.logits);
        let unrequested = nothing.layers.iter().any(|layer| *layer != LayerTrace::default());
        if unrequested || nothing.layers.len() != want.layers.len() {
            self.wrong.push(format!("{}: fields that were not requested", self.case.name));
        }
    }

    fn gradients<E: Trainer<f32>>(&mut self, engine: &mut E, reference: &mut ReferenceTrainer) {
        let before = engine.snapshot().unwrap();
        let got = engine.gradients(&self.case.batch, &self.case.regime).unwrap();
        let want = reference.gradients(&self.case.batch, &self.case.regime).unwrap();
        self.loss(&got.loss, &want.loss);
        let states = [engine.last_states().unwrap(), reference.last_states().unwrap()];
        self.states("gradients", &states[0], &states[1]);
        for slot in &self.case.model.layout().slots {
            let (got, want) = (&got.values[slot.range.clone()], &want.values[slot.range.clone()]);
            self.close(&format!("gradient of {}", slot.name), got, want);
        }
        if engine.snapshot().unwrap() != before {
            self.wrong.push(format!("{}: gradients() changed the engine", self.case.name));
        }
    }

    fn states(&mut self, of: &str, got: &[LayerState], want: &[LayerState]) {
        assert_eq!(got.len(), want.len(), "{}: last states of {of}", self.case.name);
        for (l, (got, want)) in got.iter().zip(want).enumerate() {
            for (name, got, want) in [("h", &got.h, &want.h), ("c", &got.c, &want.c)] {
                let want: Vec<f64> = want.iter().map(|&x| x.into()).collect();
                self.close(&format!("last {name} of layer {l} in {of}"), got, &want);
            }
        }
    }

    fn loss(&mut self, got: &Loss, want: &Loss) {
        let parts = |loss: &Loss| {
            [loss.total, loss.task, loss.commitment, loss.entropy, loss.saturation, loss.writing]
        };
        let got_parts = parts(got).map(|part| part as f32);
        self.close("loss", &got_parts, &parts(want));
        // No case has a read-out so close to a tie that rounding decides it.
        let counts = |loss: &Loss| (loss.correct, loss.counted);
        if counts(got) != counts(want) {
            let (got, want) = (counts(got), counts(want));
            let name = &self.case.name;
            self.wrong.push(format!("{name}: {got:?} read-outs right and counted, not {want:?}"));
        }
    }

    /// Ten updates of every rule; compares the changes of the parameters.
    fn updates<E: Trainer<f32>>(&mut self, make: &impl Fn(&Model<f32>, Optimiser) -> E) {
        for (name, optimiser) in rules() {
            let mut engine = make(&self.case.model, optimiser);
            let mut reference = ReferenceTrainer::new(&self.case.model.to_f64(), optimiser);
            for _ in 0..10 {
                let got = engine.step(&self.case.batch, &self.case.regime).unwrap();
                let want = reference.step(&self.case.batch, &self.case.regime).unwrap();
                let norm = [got.gradient_norm as f32];
                self.within(10.0, &format!("{name}: norm"), &norm, &[want.gradient_norm]);
            }
            let begin = &self.case.model.params;
            let got: Vec<f32> =
                engine.model().unwrap().params.iter().zip(begin).map(|(p, q)| p - q).collect();
            let want: Vec<f64> = reference
                .model()
                .unwrap()
                .params
                .iter()
                .zip(begin)
                .map(|(p, q)| p - *q as f64)
                .collect();
            // Each of ten gradients has an error, and the division by its size magnifies it.
            self.within(10.0, &format!("{name}: change after ten updates"), &got, &want);
        }
    }

    /// Records a tensor that differs from the reference's by more than [`TOLERANCE`].
    pub fn close(&mut self, what: &str, got: &[f32], want: &[f64]) {
        self.within(1.0, what, got, want);
    }

    fn within(&mut self, times: f64, what: &str, got: &[f32], want: &[f64]) {
        if let Some(problem) = difference(got, want, times * TOLERANCE, self.floor()) {
            self.wrong.push(format!("{}: {what}: {problem}", self.case.name));
        }
    }

    /// [`FLOOR`] divided by the smallest temperature: where α is close to one-hot, the terms of
    /// α∘(dα − ⟨α,dα⟩) cancel, and their rounding errors are divided by τ.
    fn floor(&self) -> f64 {
        let taus = self.case.model.arch.layers.iter().filter_map(|layer| layer.centroids);
        let sharpest = taus.map(|s| s.tau.get() * self.case.regime.tau).fold(1.0, f64::min);
        FLOOR / sharpest
    }
}

/// How `got` differs from `want`, or `None` within the tolerance. A NaN always differs.
fn difference(got: &[f32], want: &[f64], tolerance: f64, floor: f64) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} numbers instead of {}", got.len(), want.len()));
    }
    let scale = want.iter().fold(floor, |scale, want| scale.max(want.abs()));
    let is_wrong = |(got, want): (&f32, &f64)| {
        let error = (*got as f64 - want).abs() / scale;
        error.is_nan() || error > tolerance
    };
    let at = got.iter().zip(want).position(is_wrong)?;
    Some(format!("{} instead of {} at {at}, largest {scale}", got[at], want[at]))
}

/// A field's name and the numbers of both engines.
type Pair<'a> = (&'static str, &'a [f32], &'a [f64]);

/// The fields of a layer's trace, side by side.
pub fn fields<'a>(got: &'a LayerTrace<f32>, want: &'a LayerTrace<f64>) -> [Pair<'a>; 4] {
    [
        ("α", &got.alpha, &want.alpha),
        ("u", &got.u, &want.u),
        ("h", &got.h, &want.h),
        ("c", &got.c, &want.c),
    ]
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn trace_bits(trace: &Trace<f32>) -> Vec<Vec<u32>> {
    let layers =
        trace.layers.iter().flat_map(|l| [&l.alpha, &l.u, &l.h, &l.c]).map(|values| bits(values));
    layers.chain([bits(&trace.logits)]).collect()
}

fn loss_bits(loss: &Loss) -> [u64; 8] {
    let Loss { total, task, commitment, entropy, saturation, writing, correct, counted } = *loss;
    let [total, task, commitment, entropy, saturation, writing] =
        [total, task, commitment, entropy, saturation, writing].map(f64::to_bits);
    [total, task, commitment, entropy, saturation, writing, correct as u64, counted as u64]
}

#[test]
fn wrong_missing_and_nan_numbers_are_detected() {
    assert_eq!(difference(&[1.0, 0.5], &[1.0, 0.5], TOLERANCE, FLOOR), None);
    for got in [&[1.0, 0.6][..], &[1.0, f32::NAN], &[1.0], &[f32::INFINITY, 0.5]] {
        assert!(difference(got, &[1.0, 0.5], TOLERANCE, FLOOR).is_some(), "{got:?} passed");
    }
}
