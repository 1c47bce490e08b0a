//! Random networks of every kind, random boxes of states and points in them, to test enclosures on.

use super::zonotope::StateBox;
use crate::engine::Mode;
use crate::engine::reference::{Network as Reference, NetworkState};
use crate::key::{Key, Rng};
use crate::model::{
    Arch, Cell, Centroids, Gate, Input, Layer, Layout, Model, ReadFrom, Readout, Reset, Score,
    Temperature, When,
};

/// A random network whose weights are single-precision numbers.
pub struct RandomNetwork {
    pub name: String,
    pub single: Model<f32>,
    pub model: Model<f64>,
    pub layout: Layout,
}

/// The number of kinds of networks: 8 options, one bit each.
pub const KINDS: usize = 1 << 8;

/// Network `index` of a kind. From bit 0 on: score, gate, bias, reset, layers, start, end,
/// read-out.
pub fn random_network(kind: usize, index: u64) -> RandomNetwork {
    let name = format!("kind {kind:#010b} number {index}");
    let mut rng = Key::new(21).child(&name, 0).rng();
    let option = |bit: usize| kind >> bit & 1 == 1;
    let layers = (0..1 + option(4) as usize).map(|_| layer(kind, &mut rng)).collect();
    let input =
        Input::Tokens { symbols: 2, embedding: 1 + rng.below(4), start: option(5), end: option(6) };
    let from = if option(7) { ReadFrom::U } else { ReadFrom::H };
    let readout = Readout::new(from, When::Last);
    let arch = Arch { input, layers, readout, classes: 2 + rng.below(2) };
    arch.validate().expect("a valid architecture");
    let scale = [0.1, 0.4, 1.0, 2.0, 5.0][rng.below(5)];
    let layout = Layout::of(&arch);
    let params = (0..layout.len).map(|_| (scale * rng.normal()) as f32).collect();
    let single = Model { arch, params };
    RandomNetwork { name, model: single.to_f64(), single, layout }
}

fn layer(kind: usize, rng: &mut Rng) -> Layer {
    let option = |bit: usize| kind >> bit & 1 == 1;
    let tau = [1.0, 0.3, 2.0, 0.05][rng.below(4)];
    let score = if option(0) { Score::Euclidean } else { Score::Dot };
    let reset = if option(3) { Reset::BeforeMatrix } else { Reset::AfterMatrix };
    Layer {
        cell: Cell::Gru { reset },
        units: 2 + rng.below(6),
        gate: if option(1) { Gate::HardSigmoid } else { Gate::Sigmoid },
        bias: option(2),
        centroids: Some(Centroids {
            k: 2 + rng.below(5),
            score,
            tau: Temperature::new(tau).expect("a valid temperature"),
        }),
    }
}

impl RandomNetwork {
    pub fn reference(&self) -> Reference<'_> {
        Reference { arch: &self.model.arch, layout: &self.layout, params: &self.model.params }
    }

    /// K of each layer.
    pub fn counts(&self) -> Vec<usize> {
        let layers = self.model.arch.layers.iter();
        layers.map(|layer| layer.centroids.expect("centroids").k).collect()
    }

    /// The state of the reference engine with these α, layers bottom first.
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

    /// The state after one step with `token`.
    pub fn advance(&self, alpha: &[f64], token: u32) -> NetworkState {
        self.reference().advance(&self.state(alpha), token, Mode::default())
    }

    /// Moves the top layer's first centroid to u after `token` from `alpha`, where the distance has
    /// its kink. The weight of that centroid in `alpha` must be 0.
    pub fn put_centroid_at_u(&mut self, alpha: &[f64], token: u32) {
        let u = self.advance(alpha, token).u;
        let first = self.layout.layers.last().expect("a layer").centroids.start;
        for (j, u) in u.into_iter().enumerate() {
            self.single.params[first + j] = u as f32;
        }
        self.model = self.single.to_f64();
    }

    /// The margin of `class` in the reference engine, at a state.
    pub fn margin(&self, state: &NetworkState, class: usize) -> f64 {
        let state = match self.model.arch.input.end() {
            Some(end) => self.reference().advance(state, end, Mode::default()),
            None => state.clone(),
        };
        logit_margin(&self.reference().logits(&state), class)
    }

    /// A random box. The α of its centre sum to one, and the first α of the top layer is 0.
    pub fn random_box(&self, rng: &mut Rng) -> StateBox {
        let (mut centre, counts) = (vec![], self.counts());
        for (l, &k) in counts.iter().enumerate() {
            let hardness = rng.uniform(0.0, 8.0);
            let mut own: Vec<f64> = (0..k).map(|_| (hardness * rng.normal()).exp()).collect();
            if l + 1 == counts.len() {
                own[0] = 0.0;
            }
            let sum: f64 = own.iter().sum();
            centre.extend(own.iter().map(|a| a / sum));
        }
        let size = 10f64.powf(rng.uniform(-9.0, -0.5));
        let radii = centre.iter().map(|_| size * rng.uniform(0.1, 1.0)).collect();
        StateBox { centre, radii }
    }

    /// A random state of a box, often near a corner. The α of each layer sum to one.
    pub fn point_in(&self, region: &StateBox, rng: &mut Rng) -> Vec<f64> {
        let mut first = 0;
        let mut point = vec![];
        for k in self.counts() {
            let at = first..first + k;
            point.extend(point_on_simplex(&region.centre[at.clone()], &region.radii[at], rng));
            first += k;
        }
        point
    }
}

/// The logit of `class` minus the largest other logit.
pub fn logit_margin(logits: &[f64], class: usize) -> f64 {
    let others = (0..logits.len()).filter(|&k| k != class);
    others.map(|k| logits[class] - logits[k]).fold(f64::INFINITY, f64::min)
}

fn point_on_simplex(centre: &[f64], radii: &[f64], rng: &mut Rng) -> Vec<f64> {
    let corner = rng.below(2) == 0;
    let mut v: Vec<f64> = radii
        .iter()
        .map(|r| r * if corner { rng.below(2) as f64 * 2.0 - 1.0 } else { rng.uniform(-1.0, 1.0) })
        .collect();
    let mut excess: f64 = centre.iter().zip(&v).map(|(c, v)| c + v).sum::<f64>() - 1.0;
    let mut order: Vec<usize> = (0..v.len()).collect();
    rng.shuffle(&mut order);
    for i in order {
        let moved = (v[i] - excess).clamp(-radii[i], radii[i]);
        excess -= v[i] - moved;
        v[i] = moved;
    }
    centre.iter().zip(&v).map(|(c, v)| c + v).collect()
}
