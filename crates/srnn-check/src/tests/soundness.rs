//! Points of random cells of random networks, one and two steps later, computed in double precision
//! and in single precision with sums in random order. All lie inside the enclosures, in every
//! coordinate and in random directions, and their margins are at least the bound of the enclosure.

use super::common::Random;
use super::common::model::{Spec, random_model};
use super::common::simulate::{Simulated, Simulation};
use super::single_precision;
use crate::certificate::CertifiedCell;
use crate::error_model::Arithmetic;
use crate::network::{ClassifierInput, EnclosedNetwork};
use crate::step::{readout_margin, state_margin, step};
use crate::zonotope::{LayerZonotope, RoundedForm, Zonotope};
use crate::{config, weights};

/// Bound on the rounding error of the sums of the test itself.
const TINY: f64 = 1e-13;

struct Case {
    network: EnclosedNetwork,
    simulation: Simulation,
    arithmetic: Arithmetic,
}

fn case(spec: &Spec, seed: u64, arithmetic: Arithmetic) -> Case {
    let (config, weights) = random_model(spec, seed);
    let simulation = Simulation::new(&config, &weights);
    let config = config::parse(&config).unwrap();
    let weights = weights::parse(&weights, &config.arch).unwrap();
    let network = EnclosedNetwork::new(&config.arch, &weights, arithmetic.error_model());
    Case { network, simulation, arithmetic }
}

impl Case {
    fn advance(&self, state: &Simulated, token: usize, random: &mut Random) -> Simulated {
        match self.arithmetic {
            Arithmetic::F64 => self.simulation.step(state, token),
            Arithmetic::F32 => single_precision::step(&self.simulation, state, token, random),
        }
    }

    fn logits(&self, state: &Simulated, random: &mut Random) -> Vec<f64> {
        match self.arithmetic {
            Arithmetic::F64 => self.simulation.logits(state),
            Arithmetic::F32 => single_precision::logits(&self.simulation, state, random),
        }
    }
}

/// A random vector that sums to one, peaked or flat.
fn simplex_point(k: usize, random: &mut Random) -> Vec<f64> {
    let sharpness = 12.0 * random.unit();
    let e: Vec<f64> = (0..k).map(|_| (sharpness * random.sign()).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).collect()
}

fn random_cell(net: &Simulation, random: &mut Random) -> CertifiedCell {
    let scale = 10f64.powf(-6.0 * random.unit());
    let centre: Vec<f64> =
        net.layers.iter().flat_map(|layer| simplex_point(layer.s.len(), random)).collect();
    let radii = centre.iter().map(|_| scale * random.unit()).collect();
    CertifiedCell {
        centre,
        radii,
        depth: 1,
        decision: 0,
        margin: 0.0,
        successors: vec![],
        state: 0,
    }
}

/// A random point of the cell whose α sum to one, rounded to the arithmetic; `None` if rounding
/// moves it out of the cell.
fn point_of(cell: &CertifiedCell, case: &Case, random: &mut Random) -> Option<Simulated> {
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
        let sum = case.network.errors.simplex_error(k).get();
        if !inside || (point.iter().sum::<f64>() - 1.0).abs() > sum {
            return None;
        }
        alpha.push(point);
        at += k;
    }
    Some(Simulated { alpha, u: vec![] })
}

fn assert_inside(set: &LayerZonotope, alpha: &[f64], random: &mut Random) {
    let k = alpha.len();
    for (range, &x) in set.range.iter().zip(alpha) {
        assert!(range.lo <= x && x <= range.hi, "{x:e} outside {range:?}");
    }
    for _ in 0..4 {
        let along: Vec<f64> = (0..k).map(|_| random.sign()).collect();
        let dot = |x: &[f64]| x.iter().zip(&along).map(|(x, a)| x * a).sum::<f64>();
        let gap: Vec<f64> = (0..k).map(|i| alpha[i] - set.centre[i]).collect();
        let generators = &set.generators;
        let along_row = |g: usize| generators.entries(g).map(|(i, x, _)| x * along[i]).sum::<f64>();
        let reach: f64 = (0..generators.rows()).map(|g| along_row(g).abs()).sum();
        assert!(
            dot(&gap).abs() <= reach * (1.0 + TINY) + 1e-300,
            "{:e} beyond {reach:e}",
            dot(&gap)
        );
    }
}

fn assert_units_inside(form: &RoundedForm, u: &[f64]) {
    for (j, &x) in u.iter().enumerate() {
        let range = form.range[j].widen(form.error[j]);
        assert!(range.lo <= x && x <= range.hi, "u = {x:e} outside {range:?}");
    }
}

fn assert_margin(
    case: &Case,
    set: &Zonotope,
    u: &RoundedForm,
    state: &Simulated,
    random: &mut Random,
) {
    let margin = match case.network.classifier_input {
        ClassifierInput::LastStep => readout_margin(&case.network, u, 0).value,
        _ => state_margin(&case.network, set, 0).value,
    };
    let logits = case.logits(state, random);
    assert!(logits[0] - logits[1] >= margin - TINY, "the margin of {logits:?} is below {margin}");
}

/// Tests points of random cells of a network. Returns the number of points.
fn check_points(case: &Case, cells: usize, random: &mut Random) -> usize {
    let mut tried = 0;
    for _ in 0..cells {
        let cell = random_cell(&case.simulation, random);
        let (first, second) = (random.below(2), random.below(2));
        let (once, u_once) = step(&case.network, &Zonotope::of_cell(&cell, &case.network), first);
        let (twice, u_twice) = step(&case.network, &once, second);
        for _ in 0..20 {
            let Some(mut point) = point_of(&cell, case, random) else { continue };
            tried += 1;
            for (set, u, token) in [(&once, &u_once, first), (&twice, &u_twice, second)] {
                point = case.advance(&point, token, random);
                for (layer, alpha) in set.layers.iter().zip(&point.alpha) {
                    assert_inside(layer, alpha, random);
                }
                assert_units_inside(u, &point.u);
                assert_margin(case, set, u, &point, random);
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
            tried += check_points(&case(&spec, seed, arithmetic), 6, &mut random);
        }
    }
    assert!(tried > 10_000, "only {tried} points");
}
