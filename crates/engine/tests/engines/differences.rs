//! The reference's gradients against differences of its loss, in f64.

use crate::cases::{self, Case};
use crate::kinks::{self, Pattern};
use srnn_engine::key::Rng;
use srnn_engine::model::Model;
use srnn_engine::reference::ReferenceTrainer;
use srnn_engine::{Mode, Runner as _, Trainer, Transition};
use srnn_engine::{Optimiser, Rule};

/// Distance of the stencil's points. The error of the fourth-order stencil is STEP⁴ times a fifth
/// derivative (1e-15 times hundreds), plus rounding of about 1e-15 / STEP: both under 1e-10.
const STEP: f64 = 2e-4;
/// Largest error relative to the gradient.
const TOLERANCE: f64 = 1e-6;
/// For a smaller gradient the absolute tolerance is TOLERANCE · FLOOR = 1e-10, the stencil's error.
const FLOOR: f64 = 1e-4;
/// At a distance r from a centroid the fifth derivative is of order r⁻⁴. A stencil of ±2·STEP needs at
/// least this distance.
const NEAR: f64 = 100.0 * STEP;
/// Coordinates checked per case, spread evenly over its tensors.
const COORDINATES: usize = 200;

#[derive(Default)]
struct Count {
    checked: usize,
    at_a_kink: usize,
    hard_gates: usize,
    saturated: usize,
    failures: Vec<String>,
}

#[test]
fn gradients_of_the_reference_are_differences_of_its_loss() {
    let mut count = Count::default();
    cases::all().iter().for_each(|case| check(case, &mut count));
    let Count { checked, at_a_kink, hard_gates, saturated, failures } = count;
    println!("{checked} checked, {at_a_kink} at a kink, {saturated} of {hard_gates} saturated");
    assert!(
        failures.is_empty(),
        "{} of {checked} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(checked >= 10_000, "only {checked} coordinates were checked");
    assert!(saturated * 20 > hard_gates, "only {saturated} of {hard_gates} hard gates saturate");
    assert!(at_a_kink * 100 < checked, "{at_a_kink} at a kink against {checked} checked");
}

fn check(case: &Case, count: &mut Count) {
    let model = case.model.to_f64();
    let gradients = engine(&model).gradients(&case.batch, &case.regime).unwrap().values;
    let here = pattern(case, &model);
    count.hard_gates += here.gates.len();
    count.saturated += here.gates.iter().filter(|gate| **gate != 0).count();
    for index in coordinates(&model, case.key().child("coordinates", 0).rng()) {
        let Some(difference) = difference(case, &model, &here, index) else {
            count.at_a_kink += 1;
            continue;
        };
        count.checked += 1;
        let gradient = gradients[index];
        let error = (gradient - difference).abs() / gradient.abs().max(FLOOR);
        // Written so that a NaN fails.
        if error <= TOLERANCE {
            continue;
        }
        let slot = &model.layout().slot_of(index).name.clone();
        let name = &case.name;
        count.failures.push(format!("{name}, {slot}[{index}]: {gradient:e} but {difference:e}"));
    }
}

/// The derivative of the loss along one coordinate, or `None` where the stencil crosses a kink.
fn difference(case: &Case, model: &Model<f64>, here: &Pattern, index: usize) -> Option<f64> {
    let mut sum = 0.0;
    for (steps, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
        let mut moved = model.clone();
        moved.params[index] += steps * STEP;
        let there = pattern(case, &moved);
        if there != *here || there.at_a_centroid {
            return None;
        }
        sum += weight * engine(&moved).gradients(&case.batch, &case.regime).unwrap().loss.total;
    }
    Some(sum / (12.0 * STEP))
}

fn engine(model: &Model<f64>) -> ReferenceTrainer {
    let rule = Rule::ADAM;
    ReferenceTrainer::new(model, Optimiser::new(rule, f64::INFINITY))
}

fn pattern(case: &Case, model: &Model<f64>) -> Pattern {
    let (lambda, tau) = (case.regime.lambda, case.regime.tau);
    let mode = Mode { transition: Transition::Mixture, lambda, tau };
    let trace = engine(model).trace(&case.batch, mode, kinks::FIELDS).unwrap();
    kinks::pattern(model, &case.batch, &trace, NEAR)
}

/// Random coordinates, about equally many in each tensor.
fn coordinates(model: &Model<f64>, mut rng: Rng) -> Vec<usize> {
    let layout = model.layout();
    let share = COORDINATES.div_ceil(layout.slots.len());
    let mut all = vec![];
    for slot in &layout.slots {
        let mut indices: Vec<usize> = slot.range.clone().collect();
        rng.shuffle(&mut indices);
        indices.truncate(share);
        all.extend(indices);
    }
    all
}
