//! The states that the single-precision engine computes lie in the enclosures.

use super::error_model::ErrorModel;
use super::interval::Interval;
use super::margin::{readout_margin, state_margin};
use super::network::EnclosedNetwork;
use super::random_networks::{self, KINDS, RandomNetwork, random_network};
use super::step_tests::{is_in_box, is_u_enclosed, may_contain};
use super::zonotope::{StateBox, StepEnclosure, Zonotope, step};
use crate::engine::Arithmetic;
use crate::engine::cpu::{Cpu, CpuTuning, SimdLevel};
use crate::engine::{Batch, Fields, Inputs, Mode, Runner as _, Targets, Trace};
use crate::key::{Key, Rng};

const LENGTH: usize = 6;
const WORDS: usize = 2;

/// The largest |computed − exact| / E that was observed.
#[derive(Default)]
struct ObservedError {
    alpha: f64,
    u: f64,
}

impl ObservedError {
    fn raise(&mut self, other: &ObservedError) {
        (self.alpha, self.u) = (self.alpha.max(other.alpha), self.u.max(other.u));
    }
}

/// The tokens of a word and the trace of the engine.
struct EngineRun<'a> {
    random: &'a RandomNetwork,
    network: &'a EnclosedNetwork,
    tokens: Vec<u32>,
    trace: Trace<f32>,
}

fn run<'a>(
    random: &'a RandomNetwork,
    network: &'a EnclosedNetwork,
    level: SimdLevel,
    word: &[u32],
) -> EngineRun<'a> {
    let input = &random.single.arch.input;
    let tokens: Vec<u32> =
        input.start().into_iter().chain(word.iter().copied()).chain(input.end()).collect();
    let batch = Batch {
        offsets: vec![0, tokens.len()],
        input: Inputs::Tokens(tokens.clone()),
        targets: Targets::None,
        class_weights: vec![],
        initial: vec![],
    };
    let tuning = CpuTuning { level, ..CpuTuning::default() };
    let mut engine = Cpu::tuned(&random.single, 1, tuning);
    let fields = Fields { alpha: true, u: true, ..Fields::default() };
    let Ok(trace) = engine.trace(&batch, Mode::default(), fields);
    EngineRun { random, network, tokens, trace }
}

impl EngineRun<'_> {
    /// α of all layers after step t.
    fn alpha(&self, t: usize) -> Vec<f64> {
        let layers = self.trace.layers.iter().zip(self.random.counts());
        layers.flat_map(|(layer, k)| layer.alpha[t * k..][..k].iter().map(|&a| a as f64)).collect()
    }

    /// u of the top layer after step t.
    fn u(&self, t: usize) -> Vec<f64> {
        let d = self.random.single.arch.top().units;
        let top = self.trace.layers.last().expect("a layer");
        top.u[t * d..][..d].iter().map(|&u| u as f64).collect()
    }

    /// The number of steps with a softmax: all but the end token.
    fn steps(&self) -> usize {
        self.tokens.len() - self.network.arch.input.end().is_some() as usize
    }

    /// Encloses every step from the computed α as a point and from a box around it, and asserts
    /// that the next computed α lies inside.
    fn check(&self, rng: &mut Rng) -> ObservedError {
        let errors = ErrorModel::of(Arithmetic::F32);
        let mut observed = ObservedError::default();
        let mut alpha = vec![0.0; self.network.width()];
        let mut last = None;
        for t in 0..self.steps() {
            let (token, next) = (self.tokens[t], self.alpha(t));
            let point = StateBox { centre: alpha.clone(), radii: vec![0.0; alpha.len()] };
            let set = Zonotope::of_box(self.network, &point, errors);
            let stepped = step(self.network, &set, token, errors);
            self.assert_enclosed(&stepped, t, &next, rng);
            observed.raise(&self.observed(&stepped, &alpha, t));
            if t > 0 {
                let set = Zonotope::of_box(self.network, &box_around(&alpha, rng), errors);
                self.assert_enclosed(&step(self.network, &set, token, errors), t, &next, rng);
            }
            (alpha, last) = (next, Some(stepped));
        }
        self.assert_margins(&alpha, last);
        observed
    }

    fn assert_enclosed(&self, stepped: &StepEnclosure, t: usize, next: &[f64], rng: &mut Rng) {
        let name = &self.random.name;
        assert!(is_in_box(&stepped.set, next), "{name} step {t}: box");
        assert!(may_contain(&stepped.set, next, rng), "{name} step {t}: zonotope");
        assert!(is_u_enclosed(&stepped.u, &self.u(t)), "{name} step {t}: u");
    }

    /// Asserts that the engine's logits have no smaller margin than the bound at its last state.
    fn assert_margins(&self, alpha: &[f64], last: Option<StepEnclosure>) {
        let errors = ErrorModel::of(Arithmetic::F32);
        let logits: Vec<f64> = self.trace.logits.iter().map(|&l| l as f64).collect();
        let point = StateBox { centre: alpha.to_vec(), radii: vec![0.0; alpha.len()] };
        let set = Zonotope::of_box(self.network, &point, errors);
        for class in 0..logits.len() {
            let least = match (self.network.classifies_steps(), &last) {
                (true, Some(last)) => {
                    readout_margin(&self.network.head, &last.u, class as u32, errors)
                }
                (true, None) => continue,
                (false, _) => state_margin(self.network, &set, class as u32, errors),
            };
            let found = random_networks::logit_margin(&logits, class);
            assert!(found >= least, "{} class {class}: {found} < {least}", self.random.name);
        }
    }

    /// From a point the box is the exact value ± E; the range of u also contains the error of the
    /// layer below.
    fn observed(&self, stepped: &StepEnclosure, from: &[f64], t: usize) -> ObservedError {
        let exact = self.random.advance(from, self.tokens[t]);
        let ratio =
            |(computed, exact): (&f64, f64), charged: f64| (computed - exact).abs() / charged;
        let width = |range: &Interval| 0.5 * (range.hi - range.lo);
        let charged = stepped.set.range.iter().map(width);
        let (next, u) = (self.alpha(t), self.u(t));
        let alpha = next.iter().zip(exact.alpha.concat()).zip(charged).map(|(p, e)| ratio(p, e));
        let charged = stepped.u.value.range.iter().map(width).zip(&stepped.u.error);
        let u = u.iter().zip(exact.u).zip(charged).map(|(p, (w, e))| ratio(p, w + e));
        ObservedError { alpha: alpha.fold(0.0, f64::max), u: u.fold(0.0, f64::max) }
    }
}

/// A box of random size that contains a computed α.
fn box_around(alpha: &[f64], rng: &mut Rng) -> StateBox {
    let size = 10f64.powf(rng.uniform(-9.0, -1.0));
    let radii: Vec<f64> = alpha.iter().map(|_| size * rng.uniform(0.1, 1.0)).collect();
    let off = radii.iter().map(|r| 0.9 * rng.uniform(-r, *r));
    let centre = alpha.iter().zip(off).map(|(a, off)| a + off).collect();
    StateBox { centre, radii }
}

#[test]
fn the_cpu_engine_stays_in_the_enclosures_on_every_instruction_set() {
    let mut observed = ObservedError::default();
    for kind in 0..KINDS {
        let random = random_network(kind, 50);
        let network = EnclosedNetwork::new(&random.model);
        let mut rng = Key::new(24).child("words", kind as u64).rng();
        for level in SimdLevel::available() {
            for _ in 0..WORDS {
                let word: Vec<u32> = (0..LENGTH).map(|_| rng.below(2) as u32).collect();
                observed.raise(&run(&random, &network, level, &word).check(&mut rng));
            }
        }
    }
    let ObservedError { alpha, u } = observed;
    println!("|computed − exact| / E: at most {alpha:.3} for α, {u:.3} for u");
    // An error model thousands of times above the observed errors would prove little.
    assert!(alpha < 1.0 && u < 1.0 && alpha > 1e-3 && u > 1e-3, "{alpha} {u}");
}
