//! Networks with hand-made weights, whose automata are known.
//!
//! Gates are fixed (r = 1, z = 0), so that u = tanh(W x + R h + b). A unit stands for a pair
//! (state, token): it is on (+1) if that is the current state and the token read, and off (−1)
//! otherwise.

use crate::engine::reference::Reference;
use crate::key::Key;
use crate::model::{
    Arch, Cell, Centroids, Gate, Init, Input, Layer, Layout, Model, ReadFrom, Readout, Reset,
    Score, Temperature, When,
};
use srnn_automata::{Alphabet, Moore, State, Symbol, Word};

pub fn bits() -> Alphabet {
    Alphabet::of_chars("01").unwrap()
}

pub fn word(text: &str) -> Word {
    bits().word_of_chars(text).unwrap()
}

/// Words with an even number of 1s are of class 1.
pub fn parity() -> Moore<u32> {
    let next = |s: State, x: Symbol| State(s.0 ^ x.0);
    Moore::from_fn(bits(), 2, |s| 1 - s.0, next).unwrap()
}

/// TransitionCounts 1s modulo 3; the class is the remainder.
pub fn modulo_3() -> Moore<u32> {
    let next = |s: State, x: Symbol| State((s.0 + x.0) % 3);
    Moore::from_fn(bits(), 3, |s| s.0, next).unwrap()
}

/// Tomita 4: no 000.
pub fn no_three_zeros() -> Moore<u32> {
    let next = |s: State, x: Symbol| match (s.0, x.0) {
        (3, _) => State(3),
        (_, 1) => State(0),
        (n, _) => State(n + 1),
    };
    Moore::from_fn(bits(), 4, |s| u32::from(s.0 < 3), next).unwrap()
}

pub fn engine(model: &Model<f64>) -> Reference {
    Reference::new(model)
}

pub fn gru(units: usize, k: usize, tau: f64) -> Layer {
    let tau = Temperature::new(tau).unwrap();
    Layer {
        cell: Cell::Gru { reset: Reset::AfterMatrix },
        units,
        gate: Gate::Sigmoid,
        bias: true,
        centroids: Some(Centroids { k, score: Score::Dot, tau }),
    }
}

/// The same layer with the score of Eq. 4. Random networks visit more centroids with it, because
/// centroids of large norm do not win every comparison.
pub fn euclidean(mut layer: Layer) -> Layer {
    layer.centroids.as_mut().unwrap().score = Score::Euclidean;
    layer
}

/// Two symbols and two classes; the classifier reads `from` at the last step.
pub fn arch(layers: Vec<Layer>, start: bool, end: bool, from: ReadFrom) -> Arch {
    let input = Input::Tokens { symbols: 2, embedding: 4, start, end };
    Arch { input, layers, readout: Readout::new(from, When::Last), classes: 2 }
}

/// A random network with weights large enough to keep its states apart.
pub fn random(arch: Arch, seed: u64) -> Model<f64> {
    let init = Init { centroids: 1.0, embedding: 2.0, ..Init::default() };
    let mut model = Model::new(arch, &init, Key::new(seed)).unwrap().to_f64();
    model.params.iter_mut().for_each(|p| *p *= 3.0);
    model
}

/// Gain of the units: tanh(16) is 1 to thirteen digits.
const GAIN: f64 = 32.0;

/// A network with the transitions of `automaton`. Its centroids are the last (state, symbol) pair and
/// the start token. With an end token the classifier reads the units of the (state, end) pairs.
pub fn compiled(automaton: &Moore<u32>, end: bool, from: ReadFrom, tau: f64) -> Model<f64> {
    let (q, a) = (automaton.state_count(), automaton.alphabet().len());
    // Units: q·a pairs, the start token, q pairs with the end token.
    let (pairs, k, d) = (q * a, q * a + 1, q * a + 1 + q);
    let leads_to = |unit: usize| match unit {
        u if u < pairs => automaton.next(State((u / a) as u32), Symbol((u % a) as u32)),
        u if u == pairs => automaton.start(),
        u => State((u - k) as u32),
    };
    let classes = 1 + *automaton.outputs().iter().max().unwrap() as usize;
    let mut shape = arch(vec![gru(d, k, tau)], true, end, from);
    shape.classes = classes;
    let mut model = blank(shape);
    let weights = &mut WeightWriter::of(&mut model);
    for unit in 0..d {
        let (state, token) = match unit {
            u if u < pairs => (u / a, u % a),
            u if u == pairs => (usize::MAX, a),
            u => (u - k, a + 1),
        };
        weights.reads_token(unit, token);
        if state == usize::MAX {
            weights.bias(unit, 0.5);
        } else {
            // With the token: n − ½, where n is the number of units that are on and lead to `state`.
            weights.bias(unit, -0.5);
            for other in (0..k).filter(|&other| leads_to(other).index() == state) {
                weights.reads_unit(unit, other, 0.5);
                weights.bias(unit, 0.5);
            }
        }
        weights.votes(unit, *automaton.output(leads_to(unit)) as usize);
    }
    (0..k * d)
        .for_each(|n| weights.centroid(n / d, n % d, if n / d == n % d { 1.0 } else { -1.0 }));
    model
}

/// A network with the transitions of `automaton` and two centroids, of which the first is always the
/// more probable: in state q, α₁ is `levels[q]`. States with α₁ above `accept` are of class 1.
pub fn in_the_mixture(automaton: &Moore<u32>, levels: &[f64], accept: f64) -> Model<f64> {
    let a = automaton.alphabet().len();
    let mut order: Vec<usize> = (0..levels.len()).collect();
    order.sort_by(|&p, &q| levels[p].total_cmp(&levels[q]));
    let after = |q: usize, x: usize| automaton.next(State(q as u32), Symbol(x as u32)).index();
    let score = |q: usize| (levels[q] / (1.0 - levels[q])).ln();
    // With s₁ = −s₂ = s: α₁ = σ(2 s·u) and h = (2α₁ − 1) s. Unit (r, x) is on iff x is read and α₁
    // is at least that of the r-th state. It adds to 2 s·u the difference between the scores of the
    // successors of the r-th and the (r−1)-th state. Two more units follow: that of the start token,
    // and one that is always on and weighs the sum of the others, so that units that are off (−1)
    // add nothing.
    let (start, always) = (order.len() * a, order.len() * a + 1);
    let mut s = vec![0.0; always + 1];
    for (r, x) in (0..order.len()).flat_map(|r| (0..a).map(move |x| (r, x))) {
        let before = if r > 0 { score(after(order[r - 1], x)) } else { 0.0 };
        s[r * a + x] = (score(after(order[r], x)) - before) / 4.0;
    }
    s[start] = score(automaton.start().index()) / 4.0;
    s[always] = s.iter().sum();
    let norm: f64 = s.iter().map(|s| s * s).sum();

    let mut model = blank(arch(vec![gru(s.len(), 2, 1.0)], true, false, ReadFrom::H));
    let weights = &mut WeightWriter::of(&mut model);
    for (r, x) in (0..order.len()).flat_map(|r| (0..a).map(move |x| (r, x))) {
        weights.reads_token(r * a + x, x);
        // With the token: α₁ minus the midpoint of two levels, scaled to ±¼ at the levels. The unit
        // is always on for r = 0.
        let (low, high) = (levels[order[r.max(1) - 1]], levels[order[r.max(1)]]);
        let scale = 0.5 / (high - low);
        let middle = if r == 0 { low - (high - low) } else { (low + high) / 2.0 };
        weights.bias(r * a + x, scale * (1.0 - 2.0 * middle) / 2.0);
        (0..s.len()).for_each(|j| weights.reads_unit(r * a + x, j, scale * s[j] / norm / 2.0));
    }
    weights.reads_token(start, a);
    weights.bias(start, 0.5);
    weights.bias(always, 1.0);
    for (j, &s) in s.iter().enumerate() {
        weights.centroid(0, j, s);
        weights.centroid(1, j, -s);
        weights.head(1, j, s / norm);
    }
    weights.head_bias(1, 1.0 - 2.0 * accept);
    model
}

/// One-hot embeddings and open gates; everything else zero.
fn blank(arch: Arch) -> Model<f64> {
    arch.validate().unwrap();
    let layout = Layout::of(&arch);
    let mut params = vec![0.0; layout.len];
    let (vocabulary, e) = (arch.input.vocabulary(), arch.input.width());
    (0..vocabulary).for_each(|v| params[layout.embedding.start + v * e + v] = 1.0);
    for (layer, slots) in arch.layers.iter().zip(&layout.layers) {
        let d = layer.units;
        params[slots.b_ih.start..][..d].fill(40.0);
        params[slots.b_ih.start + d..][..d].fill(-40.0);
    }
    Model { arch, params }
}

/// Named access to the weights of a one-layer network.
struct WeightWriter<'a> {
    layout: Layout,
    e: usize,
    d: usize,
    params: &'a mut [f64],
}

impl<'a> WeightWriter<'a> {
    fn of(model: &'a mut Model<f64>) -> Self {
        let (e, d) = (model.arch.input.width(), model.arch.top().units);
        WeightWriter { layout: model.layout(), e, d, params: &mut model.params }
    }

    /// Without its token the unit is off, whatever h is.
    fn reads_token(&mut self, unit: usize, token: usize) {
        let row = (2 * self.d + unit) * self.e;
        self.params[self.layout.layers[0].w_ih.start + row + token] = 8.0 * GAIN;
        self.bias(unit, -8.0);
    }

    fn reads_unit(&mut self, unit: usize, other: usize, weight: f64) {
        let row = (2 * self.d + unit) * self.d;
        self.params[self.layout.layers[0].w_hh.start + row + other] += GAIN * weight;
    }

    fn bias(&mut self, unit: usize, weight: f64) {
        self.params[self.layout.layers[0].b_hh.start + 2 * self.d + unit] += GAIN * weight;
    }

    fn centroid(&mut self, i: usize, unit: usize, value: f64) {
        self.params[self.layout.layers[0].centroids.start + i * self.d + unit] = value;
    }

    /// Adds 2 to a class's logit where the unit is on.
    fn votes(&mut self, unit: usize, class: usize) {
        self.head(class, unit, 1.0);
        self.head_bias(class, 1.0);
    }

    fn head(&mut self, class: usize, unit: usize, weight: f64) {
        self.params[self.layout.head_weight.start + class * self.d + unit] = weight;
    }

    fn head_bias(&mut self, class: usize, weight: f64) {
        self.params[self.layout.head_bias.start + class] += weight;
    }
}
