//! Points of random cells of random networks, taken one and two steps further in double precision
//! and in single precision with sums in random order: all inside the enclosures, in every
//! coordinate and in random directions, and decided at least as surely as the enclosure says.

use super::common::Random;
use super::common::model::{Spec, draw};
use super::common::simulate::{Simulated, Simulation};
use super::single;
use crate::arithmetic::Arithmetic;
use crate::certificate::Cell;
use crate::network::{Network, Reading};
use crate::set::{Form, Part, Set};
use crate::step::{lead, lead_on, step};
use crate::{config, weights};

/// What doubles may lose in the test's own sums.
const TINY: f64 = 1e-13;

struct Case {
    network: Network,
    simulation: Simulation,
    arithmetic: Arithmetic,
}

fn case(spec: &Spec, seed: u64, arithmetic: Arithmetic) -> Case {
    let (config, weights) = draw(spec, seed);
    let simulation = Simulation::new(&config, &weights);
    let config = config::parse(&config).unwrap();
    let weights = weights::parse(&weights, &config.arch).unwrap();
    let network = Network::new(&config.arch, &weights, arithmetic.charges());
    Case { network, simulation, arithmetic }
}

impl Case {
    fn advance(&self, state: &Simulated, token: usize, random: &mut Random) -> Simulated {
        match self.arithmetic {
            Arithmetic::F64 => self.simulation.step(state, token),
            Arithmetic::F32 => single::step(&self.simulation, state, token, random),
        }
    }

    fn logits(&self, state: &Simulated, random: &mut Random) -> Vec<f64> {
        match self.arithmetic {
            Arithmetic::F64 => self.simulation.logits(state),
            Arithmetic::F32 => single::logits(&self.simulation, state, random),
        }
    }
}

/// A vector that sums to one, peaked or flat.
fn simplex(k: usize, random: &mut Random) -> Vec<f64> {
    let sharpness = 12.0 * random.unit();
    let e: Vec<f64> = (0..k).map(|_| (sharpness * random.sign()).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).collect()
}

fn random_cell(net: &Simulation, random: &mut Random) -> Cell {
    let scale = 10f64.powf(-6.0 * random.unit());
    let centre: Vec<f64> =
        net.layers.iter().flat_map(|layer| simplex(layer.s.len(), random)).collect();
    let radii = centre.iter().map(|_| scale * random.unit()).collect();
    Cell { centre, radii, depth: 1, decision: 0, margin: 0.0, successors: vec![], state: 0 }
}

/// A point of the cell: a multiple of a random move with sum zero, so long as it stays inside.
/// In the numbers that the arithmetic has.
fn point_of(cell: &Cell, case: &Case, random: &mut Random) -> Option<Simulated> {
    let mut at = 0;
    let mut alpha = vec![];
    let rounded = |x: f64| match case.arithmetic {
        Arithmetic::F64 => x,
        Arithmetic::F32 => f64::from(x as f32),
    };
    for layer in &case.simulation.layers {
        let k = layer.s.len();
        let (centre, radii) = (&cell.centre[at..at + k], &cell.radii[at..at + k]);
        let mut v: Vec<f64> = radii.iter().map(|r| r * random.sign()).collect();
        let (i, mean) = (random.below(k), v.iter().sum::<f64>());
        v[i] -= mean;
        let fits = v.iter().zip(radii).map(|(v, r)| r / v.abs()).fold(1.0, f64::min);
        let v = v.iter().map(|v| v * fits * 0.999);
        let point: Vec<f64> = centre.iter().zip(v).map(|(c, v)| rounded(c + v)).collect();
        let inside = (0..k).all(|i| (point[i] - centre[i]).abs() <= radii[i]);
        let sum = case.network.charges.normalisation(k).get();
        if !inside || (point.iter().sum::<f64>() - 1.0).abs() > sum {
            return None;
        }
        alpha.push(point);
        at += k;
    }
    Some(Simulated { alpha, u: vec![] })
}

fn assert_inside(part: &Part, alpha: &[f64], random: &mut Random) {
    let k = alpha.len();
    for (range, &x) in part.range.iter().zip(alpha) {
        assert!(range.lo <= x && x <= range.hi, "{x:e} outside {range:?}");
    }
    for _ in 0..4 {
        let along: Vec<f64> = (0..k).map(|_| random.sign()).collect();
        let dot = |x: &[f64]| x.iter().zip(&along).map(|(x, a)| x * a).sum::<f64>();
        let gap: Vec<f64> = (0..k).map(|i| alpha[i] - part.centre[i]).collect();
        let reach: f64 = part.generators.mid.chunks_exact(k).map(|g| dot(g).abs()).sum();
        assert!(
            dot(&gap).abs() <= reach * (1.0 + TINY) + 1e-300,
            "{:e} beyond {reach:e}",
            dot(&gap)
        );
    }
}

fn assert_units_inside(form: &Form, u: &[f64]) {
    for (j, &x) in u.iter().enumerate() {
        let range = form.range[j].widen(form.error[j]);
        assert!(range.lo <= x && x <= range.hi, "u {x:e} outside {range:?}");
    }
}

fn assert_decided(case: &Case, set: &Set, u: &Form, state: &Simulated, random: &mut Random) {
    let by = match case.network.reading {
        Reading::Step => lead(&case.network, u, 0).by,
        _ => lead_on(&case.network, set, 0).by,
    };
    let logits = case.logits(state, random);
    assert!(logits[0] - logits[1] >= by - TINY, "{logits:?} lead by less than {by}");
}

/// From cells of a network; how many points were tried.
fn sample(case: &Case, cells: usize, random: &mut Random) -> usize {
    let mut tried = 0;
    for _ in 0..cells {
        let cell = random_cell(&case.simulation, random);
        let (first, second) = (random.below(2), random.below(2));
        let (once, u_once) = step(&case.network, &Set::of_cell(&cell, &case.network), first);
        let (twice, u_twice) = step(&case.network, &once, second);
        for _ in 0..20 {
            let Some(mut point) = point_of(&cell, case, random) else { continue };
            tried += 1;
            for (set, u, token) in [(&once, &u_once, first), (&twice, &u_twice, second)] {
                point = case.advance(&point, token, random);
                for (part, alpha) in set.parts.iter().zip(&point.alpha) {
                    assert_inside(part, alpha, random);
                }
                assert_units_inside(u, &point.u);
                assert_decided(case, set, u, &point, random);
            }
        }
    }
    tried
}

#[test]
fn steps_of_points_lie_in_the_steps_of_their_cells_in_both_arithmetics() {
    let mut random = Random(11);
    let mut tried = 0;
    for seed in 0..120 {
        let pick = |random: &mut Random, a, b| if random.bits() & 1 == 0 { a } else { b };
        let spec = Spec {
            k: 1 + random.below(4),
            d: 2 + random.below(5),
            layers: 1 + random.below(2),
            score: pick(&mut random, "dot", "euclidean"),
            gate: pick(&mut random, "sigmoid", "hard-sigmoid"),
            bias: random.bits() & 1 == 0,
            reset: pick(&mut random, "after-matrix", "before-matrix"),
            start: false,
            end: random.bits() & 1 == 0,
            read: pick(&mut random, "h", "u"),
            tau: 10f64.powf(-random.unit()),
            gain: 0.3 + 4.0 * random.unit(),
        };
        for arithmetic in [Arithmetic::F64, Arithmetic::F32] {
            tried += sample(&case(&spec, seed, arithmetic), 6, &mut random);
        }
    }
    assert!(tried > 10_000, "only {tried} points");
}
