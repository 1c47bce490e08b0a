//! Update rules: against PyTorch's (and one that PyTorch does not have, written by hand in the
//! fixtures' program), and against values computed by hand.

use crate::fixtures::{bytes, difference, doubles};
use safetensors::SafeTensors;
use srnn_engine::Snapshot;
use srnn_engine::{Optimiser, Rule};

const ADAM: Rule = Rule::ADAM;
const ADADELTA: Rule = Rule::AdaDelta { decay: 0.9, epsilon: 1e-6 };

fn rms(decay: f64, momentum: f64, epsilon: f64, centred: bool) -> Rule {
    Rule::RmsProp { decay, momentum, epsilon, centred }
}

fn unclipped(rule: Rule, l2: f64) -> Optimiser {
    Optimiser { l2, ..Optimiser::new(rule, f64::INFINITY) }
}

/// The parameters after each update.
fn trajectory(optimiser: Optimiser, begin: &[f64], gradients: &[&[f64]], rate: f64) -> Vec<f64> {
    let mut state = optimiser.begin(begin.to_vec());
    let mut all = vec![];
    for gradient in gradients {
        optimiser.update(&mut state, gradient, rate);
        all.extend(&state.params);
    }
    all
}

#[test]
fn ten_updates_of_every_rule_are_those_of_the_fixtures() {
    let bytes = bytes("optimisers.safetensors");
    let file = SafeTensors::deserialize(&bytes).expect("a fixture");
    let (begin, gradients) = (doubles(&file, "begin"), doubles(&file, "gradients"));
    let gradients: Vec<&[f64]> = gradients.chunks_exact(begin.len()).collect();
    let rate = doubles(&file, "rate")[0];
    for (name, optimiser) in [
        ("rmsprop", unclipped(rms(0.9, 0.0, 1e-6, false), 0.0)),
        ("rmsprop-momentum", unclipped(rms(0.95, 0.9, 1e-4, false), 0.0)),
        ("rmsprop-centred", unclipped(rms(0.9, 0.5, 1e-6, true), 0.0)),
        ("adam", unclipped(ADAM, 0.0)),
        ("adam-l2", unclipped(ADAM, 0.02)),
        ("adamw", Optimiser { weight_decay: 0.3, ..unclipped(ADAM, 0.0) }),
        ("adadelta", unclipped(ADADELTA, 0.0)),
    ] {
        let got = trajectory(optimiser, &begin, &gradients, rate);
        assert_eq!(difference(&got, &doubles(&file, name)), None, "{name}");
    }
}

#[test]
fn rmsprop_adds_epsilon_under_the_root() {
    // v = 0.5·4² = 8, and 8 + 1 under the root gives a step of 0.1·4/3.
    let got = trajectory(unclipped(rms(0.5, 0.0, 1.0, false), 0.0), &[1.0], &[&[4.0]], 0.1);
    assert_eq!(difference(&got, &[1.0 - 0.1 * 4.0 / 3.0]), None);
}

#[test]
fn centred_rmsprop_subtracts_the_squared_mean() {
    // v = 0.5·4² = 8, mean = 2, and 8 − 4 + 5 under the root gives 3.
    let got = trajectory(unclipped(rms(0.5, 0.0, 5.0, true), 0.0), &[1.0], &[&[4.0]], 0.1);
    assert_eq!(difference(&got, &[1.0 - 0.1 * 4.0 / 3.0]), None);
}

#[test]
fn momentum_keeps_the_scaled_gradient_not_the_gradient() {
    // First v = 8 and m = 4/3; a gradient of zero then leaves m = 0.5·4/3.
    let rule = rms(0.5, 0.5, 1.0, false);
    let got = trajectory(unclipped(rule, 0.0), &[0.0], &[&[4.0], &[0.0]], 1.0);
    assert_eq!(difference(&got, &[-4.0 / 3.0, -4.0 / 3.0 - 2.0 / 3.0]), None);
}

#[test]
fn adams_first_step_is_the_rate_whatever_the_gradient() {
    let rule = Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 0.0 };
    let got = trajectory(unclipped(rule, 0.0), &[0.0, 0.0], &[&[1e-5, -300.0]], 0.1);
    assert_eq!(difference(&got, &[-0.1, 0.1]), None);
}

#[test]
fn adadeltas_first_step_comes_from_epsilon_alone() {
    // v = 0.5·2² = 2; √(2 / (2 + 2))·2 = √2.
    let rule = Rule::AdaDelta { decay: 0.5, epsilon: 2.0 };
    let got = trajectory(unclipped(rule, 0.0), &[0.0], &[&[2.0]], 1.0);
    assert_eq!(difference(&got, &[-std::f64::consts::SQRT_2]), None);
}

#[test]
fn a_long_gradient_is_clipped_to_its_norm_and_a_short_one_left_alone() {
    let rule = Rule::AdaDelta { decay: 0.0, epsilon: 1e6 };
    let clipped = |clip| {
        let optimiser = Optimiser::new(rule, clip);
        trajectory(optimiser, &[0.0, 0.0], &[&[3.0, 4.0]], 1.0)
    };
    let given = |gradient: &[f64]| trajectory(unclipped(rule, 0.0), &[0.0, 0.0], &[gradient], 1.0);
    assert_eq!(difference(&clipped(1.0), &given(&[0.6, 0.8])), None);
    assert_eq!(difference(&clipped(5.0), &given(&[3.0, 4.0])), None);
}

#[test]
fn the_norm_returned_is_the_one_before_clipping() {
    let optimiser = Optimiser::new(ADAM, 1.0);
    let mut state = optimiser.begin(vec![0.0, 0.0]);
    assert_eq!(optimiser.update(&mut state, &[3.0, 4.0], 0.1), 5.0);
}

#[test]
fn a_gradient_with_a_nan_or_an_infinity_changes_nothing() {
    for rule in [ADAM, ADADELTA, rms(0.9, 0.5, 1e-6, true)] {
        for poison in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
            let optimiser = unclipped(rule, 0.1);
            let mut state: Snapshot<f64> = optimiser.begin(vec![1.0, 2.0]);
            optimiser.update(&mut state, &[0.5, 0.5], 0.1);
            let before = state.clone();
            let norm = optimiser.update(&mut state, &[0.5, poison], 0.1);
            assert!(!norm.is_finite(), "{rule:?} {poison}: {norm}");
            assert_eq!(state, before, "{rule:?} {poison}");
        }
    }
}
