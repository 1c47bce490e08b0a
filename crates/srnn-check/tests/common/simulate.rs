//! The network of `docs/src/model-format.md` in plain doubles, independent of the checker.

use safetensors::SafeTensors;
use serde_json::Value;

/// A network in double precision.
pub struct Simulation {
    pub layers: Vec<SimulatedLayer>,
    pub embedding: Vec<Vec<f64>>,
    pub head: Vec<Vec<f64>>,
    pub head_bias: Vec<f64>,
    pub symbols: usize,
    pub start: Option<usize>,
    pub end: Option<usize>,
    pub reads_u: bool,
}

pub struct SimulatedLayer {
    pub w: Vec<Vec<f64>>,
    pub r: Vec<Vec<f64>>,
    pub b_ih: Vec<f64>,
    pub b_hh: Vec<f64>,
    pub s: Vec<Vec<f64>>,
    pub hard: bool,
    pub before: bool,
    pub euclidean: bool,
    pub tau: f64,
}

/// α of every layer and u of the top layer; 0 before the first step.
#[derive(Clone, Debug)]
pub struct Simulated {
    pub alpha: Vec<Vec<f64>>,
    pub u: Vec<f64>,
}

impl Simulation {
    pub fn new(config: &[u8], weights: &[u8]) -> Simulation {
        let config: Value = serde_json::from_slice(config).unwrap();
        let arch = &config["arch"];
        let file = SafeTensors::deserialize(weights).unwrap();
        let layers = arch["layers"].as_array().unwrap();
        let layer = |(l, shape): (usize, &Value)| SimulatedLayer {
            w: matrix(&file, &format!("rnn.weight_ih_l{l}")),
            r: matrix(&file, &format!("rnn.weight_hh_l{l}")),
            b_ih: bias(&file, &format!("rnn.bias_ih_l{l}"), shape),
            b_hh: bias(&file, &format!("rnn.bias_hh_l{l}"), shape),
            s: matrix(&file, &format!("centroids_l{l}")),
            hard: shape["gate"] == "hard-sigmoid",
            before: shape["cell"]["reset"] == "before-matrix",
            euclidean: shape["centroids"]["score"] == "euclidean",
            tau: shape["centroids"]["tau"].as_f64().unwrap(),
        };
        let symbols = arch["input"]["symbols"].as_u64().unwrap() as usize;
        let (start, end) = (arch["input"]["start"] == true, arch["input"]["end"] == true);
        Simulation {
            layers: layers.iter().enumerate().map(layer).collect(),
            embedding: matrix(&file, "embedding.weight"),
            head: matrix(&file, "head.weight"),
            head_bias: matrix(&file, "head.bias").concat(),
            symbols,
            start: start.then_some(symbols),
            end: end.then_some(symbols + start as usize),
            reads_u: arch["readout"]["from"] == "u",
        }
    }

    /// The state before the first symbol.
    pub fn start_state(&self) -> Simulated {
        let alpha = self.layers.iter().map(|layer| vec![0.0; layer.s.len()]).collect();
        let zero = Simulated { alpha, u: vec![0.0; self.head[0].len()] };
        self.start.map_or(zero.clone(), |token| self.step(&zero, token))
    }

    pub fn step(&self, state: &Simulated, token: usize) -> Simulated {
        let mut x = self.embedding[token].clone();
        let mut next = Simulated { alpha: vec![], u: vec![] };
        for (layer, alpha) in self.layers.iter().zip(&state.alpha) {
            let u = layer.units(&x, &layer.mix(alpha));
            let alpha = layer.softmax(&u);
            x = if Some(token) == self.end { u.clone() } else { layer.mix(&alpha) };
            next.alpha.push(alpha);
            next.u = u;
        }
        next
    }

    /// The logits at a state `[C]`.
    pub fn logits(&self, state: &Simulated) -> Vec<f64> {
        let top = self.layers.last().unwrap();
        let read = match self.end {
            Some(token) => self.step(state, token).u,
            None if self.reads_u => state.u.clone(),
            None => top.mix(state.alpha.last().unwrap()),
        };
        (self.head.iter().zip(&self.head_bias)).map(|(w, b)| dot(w, &read) + b).collect()
    }

    pub fn class(&self, state: &Simulated) -> usize {
        let logits = self.logits(state);
        (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best })
    }
}

impl SimulatedLayer {
    /// h = αS.
    pub fn mix(&self, alpha: &[f64]) -> Vec<f64> {
        let d = self.s[0].len();
        (0..d).map(|j| alpha.iter().zip(&self.s).map(|(a, s)| a * s[j]).sum()).collect()
    }

    fn gate(&self, x: f64) -> f64 {
        if self.hard { (0.2 * x + 0.5).clamp(0.0, 1.0) } else { 1.0 / (1.0 + (-x).exp()) }
    }

    pub fn units(&self, x: &[f64], h: &[f64]) -> Vec<f64> {
        let d = h.len();
        let a: Vec<f64> = (0..3 * d).map(|j| dot(&self.w[j], x) + self.b_ih[j]).collect();
        let q = |j: usize, h: &[f64]| dot(&self.r[j], h) + self.b_hh[j];
        let r: Vec<f64> = (0..d).map(|j| self.gate(a[j] + q(j, h))).collect();
        let z: Vec<f64> = (0..d).map(|j| self.gate(a[d + j] + q(d + j, h))).collect();
        let rh: Vec<f64> = (0..d).map(|j| r[j] * h[j]).collect();
        let candidate = |j: usize| match self.before {
            true => q(2 * d + j, &rh),
            false => r[j] * q(2 * d + j, h),
        };
        let n = (0..d).map(|j| (a[2 * d + j] + candidate(j)).tanh());
        n.enumerate().map(|(j, n)| (1.0 - z[j]) * n + z[j] * h[j]).collect()
    }

    pub fn softmax(&self, u: &[f64]) -> Vec<f64> {
        let score = |s: &Vec<f64>| match self.euclidean {
            true => -u.iter().zip(s).map(|(u, s)| (u - s) * (u - s)).sum::<f64>().sqrt(),
            false => dot(u, s),
        };
        let logits: Vec<f64> = self.s.iter().map(|s| score(s) / self.tau).collect();
        let largest = logits.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let e: Vec<f64> = logits.iter().map(|l| (l - largest).exp()).collect();
        let sum: f64 = e.iter().sum();
        e.iter().map(|e| e / sum).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn matrix(file: &SafeTensors<'_>, name: &str) -> Vec<Vec<f64>> {
    let view = file.tensor(name).unwrap();
    let cols = *view.shape().last().unwrap();
    let values: Vec<f64> = (view.data().as_chunks().0.iter())
        .map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
        .collect();
    values.chunks(cols).map(<[f64]>::to_vec).collect()
}

fn bias(file: &SafeTensors<'_>, name: &str, shape: &Value) -> Vec<f64> {
    match shape["bias"] == true {
        true => matrix(file, name).concat(),
        false => vec![0.0; 3 * shape["units"].as_u64().unwrap() as usize],
    }
}
