//! Random networks of every kind, balls of states, and points in them: what enclosures are tried on.

use super::set::Ball;
use crate::engine::Mode;
use crate::engine::reference::{Network as Reference, NetworkState};
use crate::key::{Key, Rng};
use crate::model::{
    Arch, Cell, Centroids, Gate, Input, Layer, Layout, Model, ReadFrom, Readout, Reset, Score,
    Temperature, When,
};

/// A network with numbers that single precision holds.
pub struct Sample {
    pub name: String,
    pub single: Model<f32>,
    pub model: Model<f64>,
    pub layout: Layout,
}

/// The options of a network, as bits.
pub const KINDS: usize = 1 << 8;

/// Network `index` of a kind: score, gate, bias, reset, layers, start, end, read-out.
pub fn sample(kind: usize, index: u64) -> Sample {
    let name = format!("kind {kind:#010b} number {index}");
    let mut draw = Key::new(21).child(&name, 0).rng();
    let option = |bit: usize| kind >> bit & 1 == 1;
    let layers = (0..1 + option(4) as usize).map(|_| layer(kind, &mut draw)).collect();
    let input = Input::Tokens {
        symbols: 2,
        embedding: 1 + draw.below(4),
        start: option(5),
        end: option(6),
    };
    let from = if option(7) { ReadFrom::U } else { ReadFrom::H };
    let readout = Readout { from, when: When::Last };
    let arch = Arch { input, layers, readout, classes: 2 + draw.below(2) };
    arch.validate().expect("a network of the table");
    let scale = [0.1, 0.4, 1.0, 2.0, 5.0][draw.below(5)];
    let layout = Layout::of(&arch);
    let params = (0..layout.len).map(|_| (scale * draw.normal()) as f32).collect();
    let single = Model { arch, params };
    Sample { name, model: single.to_f64(), single, layout }
}

fn layer(kind: usize, draw: &mut Rng) -> Layer {
    let option = |bit: usize| kind >> bit & 1 == 1;
    let tau = [1.0, 0.3, 2.0, 0.05][draw.below(4)];
    let score = if option(0) { Score::Euclidean } else { Score::Dot };
    let reset = if option(3) { Reset::BeforeMatrix } else { Reset::AfterMatrix };
    Layer {
        cell: Cell::Gru { reset },
        units: 2 + draw.below(6),
        gate: if option(1) { Gate::HardSigmoid } else { Gate::Sigmoid },
        bias: option(2),
        centroids: Some(Centroids {
            k: 2 + draw.below(5),
            score,
            tau: Temperature::new(tau).expect("a temperature of the table"),
        }),
    }
}

impl Sample {
    pub fn reference(&self) -> Reference<'_> {
        Reference { arch: &self.model.arch, layout: &self.layout, params: &self.model.params }
    }

    /// K of each layer.
    pub fn counts(&self) -> Vec<usize> {
        let layers = self.model.arch.layers.iter();
        layers.map(|layer| layer.centroids.expect("centroids").k).collect()
    }

    /// The reference's state with the α of all layers one after the other.
    pub fn state(&self, alpha: &[f64]) -> NetworkState {
        let mut state = self.reference().initial();
        let mut first = 0;
        for (l, k) in self.counts().into_iter().enumerate() {
            let own = &alpha[first..first + k];
            let d = self.model.arch.layers[l].units;
            let s = &self.model.params[self.layout.layers[l].centroids.clone()];
            state.h[l] = (0..d).map(|j| (0..k).map(|i| own[i] * s[i * d + j]).sum()).collect();
            state.alpha[l] = own.to_vec();
            first += k;
        }
        state
    }

    /// Where a token leads.
    pub fn advance(&self, alpha: &[f64], token: u32) -> NetworkState {
        self.reference().advance(&self.state(alpha), token, Mode::default())
    }

    /// Moves the top layer's first centroid to where `token` leads u from `alpha`, whose share of
    /// that centroid is 0: there the distance has its kink.
    pub fn put_centroid_at_u(&mut self, alpha: &[f64], token: u32) {
        let u = self.advance(alpha, token).u;
        let first = self.layout.layers.last().expect("a layer").centroids.start;
        for (j, u) in u.into_iter().enumerate() {
            self.single.params[first + j] = u as f32;
        }
        self.model = self.single.to_f64();
    }

    /// By how much `class` leads in the reference, at a state.
    pub fn lead(&self, state: &NetworkState, class: usize) -> f64 {
        let state = match self.model.arch.input.end() {
            Some(end) => self.reference().advance(state, end, Mode::default()),
            None => state.clone(),
        };
        lead(&self.reference().logits(&state), class)
    }

    /// A ball around a state that can be: its α sum to one, the first of the top layer is 0.
    pub fn ball(&self, draw: &mut Rng) -> Ball {
        let (mut centre, counts) = (vec![], self.counts());
        for (l, &k) in counts.iter().enumerate() {
            let hardness = draw.uniform(0.0, 8.0);
            let mut own: Vec<f64> = (0..k).map(|_| (hardness * draw.normal()).exp()).collect();
            if l + 1 == counts.len() {
                own[0] = 0.0;
            }
            let sum: f64 = own.iter().sum();
            centre.extend(own.iter().map(|a| a / sum));
        }
        let size = 10f64.powf(draw.uniform(-9.0, -0.5));
        let radii = centre.iter().map(|_| size * draw.uniform(0.1, 1.0)).collect();
        Ball { centre, radii }
    }

    /// A state of a ball: often a corner of it, and each layer sums to one.
    pub fn point(&self, ball: &Ball, draw: &mut Rng) -> Vec<f64> {
        let mut first = 0;
        let mut point = vec![];
        for k in self.counts() {
            let at = first..first + k;
            point.extend(balanced(&ball.centre[at.clone()], &ball.radii[at], draw));
            first += k;
        }
        point
    }
}

/// By how much a class leads.
pub fn lead(logits: &[f64], class: usize) -> f64 {
    let others = (0..logits.len()).filter(|&k| k != class);
    others.map(|k| logits[class] - logits[k]).fold(f64::INFINITY, f64::min)
}

fn balanced(centre: &[f64], radii: &[f64], draw: &mut Rng) -> Vec<f64> {
    let corner = draw.below(2) == 0;
    let mut v: Vec<f64> = radii
        .iter()
        .map(|r| {
            r * if corner { draw.below(2) as f64 * 2.0 - 1.0 } else { draw.uniform(-1.0, 1.0) }
        })
        .collect();
    let mut over: f64 = centre.iter().zip(&v).map(|(c, v)| c + v).sum::<f64>() - 1.0;
    let mut order: Vec<usize> = (0..v.len()).collect();
    draw.shuffle(&mut order);
    for i in order {
        let moved = (v[i] - over).clamp(-radii[i], radii[i]);
        over -= v[i] - moved;
        v[i] = moved;
    }
    centre.iter().zip(&v).map(|(c, v)| c + v).collect()
}
