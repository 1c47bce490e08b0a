//! The program in single precision: what the engine computes lies in what the prover encloses.

use super::arithmetic::Errors;
use super::decide::{lead, lead_of_states};
use super::interval::Interval;
use super::network::Network;
use super::samples::{self, KINDS, Sample, sample};
use super::set::{Ball, Set, Step, step};
use super::step_tests::{is_in_box, is_u_enclosed, reaches};
use crate::engine::Arithmetic;
use crate::engine::cpu::{Cpu, CpuTuning, SimdLevel};
use crate::engine::{Batch, Fields, Inputs, Mode, Runner as _, Targets, Trace};
use crate::key::{Key, Rng};

const LENGTH: usize = 6;
const WORDS: usize = 2;

/// How much of the charged error was seen: |computed − exact| / E.
#[derive(Default)]
struct Used {
    alpha: f64,
    u: f64,
}

impl Used {
    fn raise(&mut self, other: &Used) {
        (self.alpha, self.u) = (self.alpha.max(other.alpha), self.u.max(other.u));
    }
}

/// A word as the engine reads it, and what it computed.
struct Run<'a> {
    sample: &'a Sample,
    network: &'a Network,
    tokens: Vec<u32>,
    trace: Trace<f32>,
}

fn run<'a>(sample: &'a Sample, network: &'a Network, level: SimdLevel, word: &[u32]) -> Run<'a> {
    let input = &sample.single.arch.input;
    let tokens: Vec<u32> =
        input.start().into_iter().chain(word.iter().copied()).chain(input.end()).collect();
    let batch = Batch {
        offsets: vec![0, tokens.len()],
        input: Inputs::Tokens(tokens.clone()),
        targets: Targets::None,
        class_weights: vec![],
    };
    let tuning = CpuTuning { level, ..CpuTuning::default() };
    let mut engine = Cpu::tuned(&sample.single, 1, tuning);
    let fields = Fields { alpha: true, u: true, ..Fields::default() };
    let Ok(trace) = engine.trace(&batch, Mode::default(), fields);
    Run { sample, network, tokens, trace }
}

impl Run<'_> {
    /// α of all layers after step t.
    fn alpha(&self, t: usize) -> Vec<f64> {
        let layers = self.trace.layers.iter().zip(self.sample.counts());
        layers.flat_map(|(layer, k)| layer.alpha[t * k..][..k].iter().map(|&a| a as f64)).collect()
    }

    /// u of the top layer after step t.
    fn u(&self, t: usize) -> Vec<f64> {
        let d = self.sample.single.arch.top().units;
        let top = self.trace.layers.last().expect("a layer");
        top.u[t * d..][..d].iter().map(|&u| u as f64).collect()
    }

    /// Steps that take the stochastic step.
    fn steps(&self) -> usize {
        self.tokens.len() - self.network.arch.input.end().is_some() as usize
    }

    /// Every step from the computed α as a point, and from a ball around it.
    fn check(&self, draw: &mut Rng) -> Used {
        let errors = Errors::of(Arithmetic::F32);
        let mut used = Used::default();
        let mut alpha = vec![0.0; self.network.width()];
        let mut last = None;
        for t in 0..self.steps() {
            let (token, next) = (self.tokens[t], self.alpha(t));
            let point = Ball { centre: alpha.clone(), radii: vec![0.0; alpha.len()] };
            let set = Set::of_ball(self.network, &point, errors);
            let stepped = step(self.network, &set, token, errors);
            self.demand(&stepped, t, &next, draw);
            used.raise(&self.used(&stepped, &alpha, t));
            if t > 0 {
                let set = Set::of_ball(self.network, &around(&alpha, draw), errors);
                self.demand(&step(self.network, &set, token, errors), t, &next, draw);
            }
            (alpha, last) = (next, Some(stepped));
        }
        self.demand_leads(&alpha, last);
        used
    }

    fn demand(&self, stepped: &Step, t: usize, next: &[f64], draw: &mut Rng) {
        let name = &self.sample.name;
        assert!(is_in_box(&stepped.set, next), "{name} step {t}: box");
        assert!(reaches(&stepped.set, next, draw), "{name} step {t}: zonotope");
        assert!(is_u_enclosed(&stepped.u, &self.u(t)), "{name} step {t}: u");
    }

    /// The engine's logits lead by no less than what is said of its last state.
    fn demand_leads(&self, alpha: &[f64], last: Option<Step>) {
        let errors = Errors::of(Arithmetic::F32);
        let logits: Vec<f64> = self.trace.logits.iter().map(|&l| l as f64).collect();
        let point = Ball { centre: alpha.to_vec(), radii: vec![0.0; alpha.len()] };
        let set = Set::of_ball(self.network, &point, errors);
        for class in 0..logits.len() {
            let least = match (self.network.reads_u_on_the_way(), &last) {
                (true, Some(last)) => lead(&self.network.head, &last.u, class as u32, errors),
                (true, None) => continue,
                (false, _) => lead_of_states(self.network, &set, class as u32, errors),
            };
            let found = samples::lead(&logits, class);
            assert!(found >= least, "{} class {class}: {found} < {least}", self.sample.name);
        }
    }

    /// From a point the box is the exact value, wider by E; u's is wider by what the layer below
    /// may be off.
    fn used(&self, stepped: &Step, from: &[f64], t: usize) -> Used {
        let exact = self.sample.advance(from, self.tokens[t]);
        let ratio =
            |(computed, exact): (&f64, f64), charged: f64| (computed - exact).abs() / charged;
        let width = |range: &Interval| 0.5 * (range.hi - range.lo);
        let charged = stepped.set.range.iter().map(width);
        let (next, u) = (self.alpha(t), self.u(t));
        let alpha = next.iter().zip(exact.alpha.concat()).zip(charged).map(|(p, e)| ratio(p, e));
        let charged = stepped.u.value.range.iter().map(width).zip(&stepped.u.error);
        let u = u.iter().zip(exact.u).zip(charged).map(|(p, (w, e))| ratio(p, w + e));
        Used { alpha: alpha.fold(0.0, f64::max), u: u.fold(0.0, f64::max) }
    }
}

/// A ball of random size that a computed α lies in.
fn around(alpha: &[f64], draw: &mut Rng) -> Ball {
    let size = 10f64.powf(draw.uniform(-9.0, -1.0));
    let radii: Vec<f64> = alpha.iter().map(|_| size * draw.uniform(0.1, 1.0)).collect();
    let off = radii.iter().map(|r| 0.9 * draw.uniform(-r, *r));
    let centre = alpha.iter().zip(off).map(|(a, off)| a + off).collect();
    Ball { centre, radii }
}

#[test]
fn the_cpu_engine_stays_in_the_enclosures_on_every_instruction_set() {
    let mut used = Used::default();
    for kind in 0..KINDS {
        let sample = sample(kind, 50);
        let network = Network::new(&sample.model);
        let mut draw = Key::new(24).child("words", kind as u64).rng();
        for level in SimdLevel::available() {
            for _ in 0..WORDS {
                let word: Vec<u32> = (0..LENGTH).map(|_| draw.below(2) as u32).collect();
                used.raise(&run(&sample, &network, level, &word).check(&mut draw));
            }
        }
    }
    let Used { alpha, u } = used;
    println!("|computed − exact| / E: at most {alpha:.3} for α, {u:.3} for u");
    // A model that charges thousands of times what is seen would prove little.
    assert!(alpha < 1.0 && u < 1.0 && alpha > 1e-3 && u > 1e-3, "{alpha} {u}");
}
