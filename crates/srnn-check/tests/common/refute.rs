//! Finds false certificates without the checker: it evaluates the simulated network at the centres
//! of the cells. It finds only some of the false claims.

use super::Files;
use super::certify::{index, list};
use super::simulate::{Simulated, Simulation};
use serde_json::Value;

/// Above the rounding error of the simulation.
const TOLERANCE: f64 = 1e-9;

struct Claims<'a> {
    simulation: Simulation,
    certificate: &'a Value,
    /// (K + ν)·ū for each coordinate: the smallest relative error of α in the error model.
    rounding: Vec<f64>,
}

/// Whether the simulation contradicts the certificate.
pub fn refuted(files: &Files, certificate: &Value) -> bool {
    let simulation = Simulation::new(&files.config, &files.weights);
    let single = certificate["arithmetic"] == "f32";
    let (unit, more) = if single { (2f64.powi(-24), 16) } else { (2f64.powi(-53), 80) };
    let rounding = simulation.layers.iter().flat_map(|layer| {
        let k = layer.s.len();
        vec![(k + more) as f64 * unit; k]
    });
    let rounding = rounding.collect();
    let claims = Claims { simulation, certificate, rounding };
    claims.start_is_false() || (0..claims.cells()).any(|cell| claims.cell_is_false(cell))
}

impl Claims<'_> {
    fn cells(&self) -> usize {
        self.certificate["cells"].as_array().unwrap().len()
    }

    fn cell(&self, cell: usize) -> &Value {
        &self.certificate["cells"][cell]
    }

    fn decision(&self, cell: usize) -> usize {
        index(&self.cell(cell)["decision"])
    }

    fn reads_steps(&self) -> bool {
        self.simulation.reads_u && self.simulation.end.is_none()
    }

    /// The margin of the cell's class at a state.
    fn margin(&self, state: &Simulated, cell: usize) -> f64 {
        let logits = self.simulation.logits(state);
        let decision = self.decision(cell);
        let rivals = (0..logits.len()).filter(|&k| k != decision).map(|k| logits[k]);
        logits[decision] - rivals.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Whether a state, or its rounded value, may be outside a cell.
    fn outside(&self, state: &Simulated, cell: usize) -> bool {
        let number = |x: &Value| x.as_f64().unwrap();
        let (centre, radii) = (&self.cell(cell)["centre"], &self.cell(cell)["radii"]);
        let (centre, radii) = (list(centre, number), list(radii, number));
        state.alpha.concat().into_iter().enumerate().any(|(i, x)| {
            let rounding = 0.9 * self.rounding[i] * x;
            (x - centre[i]).abs() > radii[i] + TOLERANCE || radii[i] < rounding
        })
    }

    fn start_is_false(&self) -> bool {
        let start = index(&self.certificate["start"]);
        let state = self.simulation.start_state();
        self.outside(&state, start) || self.margin(&state, start) < -TOLERANCE
    }

    fn cell_is_false(&self, cell: usize) -> bool {
        let claim = self.cell(cell);
        let mut alpha = vec![];
        let mut centre = list(&claim["centre"], |x| x.as_f64().unwrap()).into_iter();
        for layer in &self.simulation.layers {
            alpha.push(centre.by_ref().take(layer.s.len()).collect::<Vec<_>>());
        }
        let sums_to_one = |alpha: &Vec<f64>| {
            let sum: f64 = alpha.iter().sum();
            (sum - 1.0).abs() < 1e-14 || alpha.iter().all(|&x| x == 0.0)
        };
        if !alpha.iter().all(sums_to_one) {
            // The centre is not a state of the network.
            return false;
        }
        let state = Simulated { alpha, u: vec![] };
        let margin = claim["margin"].as_f64().unwrap();
        let undecided = !self.reads_steps() && self.margin(&state, cell) < margin - TOLERANCE;
        undecided || self.words_are_false(&state, cell, index(&claim["depth"]), margin)
    }

    fn words_are_false(&self, from: &Simulated, at: usize, left: usize, margin: f64) -> bool {
        (0..self.simulation.symbols).any(|symbol| {
            let next = self.simulation.step(from, symbol);
            let target = index(&self.cell(at)["successors"][symbol]);
            let read = self.reads_steps() || left > 1;
            (read && self.margin(&next, target) < margin - TOLERANCE)
                || (left == 1 && self.outside(&next, target))
                || (left > 1 && self.words_are_false(&next, target, left - 1, margin))
        })
    }
}
