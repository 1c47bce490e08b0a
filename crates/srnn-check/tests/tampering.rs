//! A certificate that claims more than the checker recomputes is refused.

mod common;

use common::certify::{certify, certify_with};
use common::model::{Spec, random_model};
use common::tampering::tamperings;
use common::{Files, Random};
use srnn_check::Refused;

/// A certificate of a random network whose automaton has two states or more.
fn certified(spec: &Spec, arithmetic: &str, depth: u32) -> Files {
    let found = (0..400).find_map(|seed| {
        let (config, weights) = random_model(spec, seed);
        let files = certify(&config, &weights, arithmetic, depth)?;
        (files.check().unwrap().states > 1).then_some(files)
    });
    found.expect("a certified network")
}

fn assert_all_refused(files: &Files, draws: usize) -> usize {
    files.check().expect("the certificate itself holds");
    let all = tamperings(files, draws, 3);
    for tampering in &all {
        if tampering.files.check().is_ok() {
            let text = String::from_utf8_lossy(&tampering.files.certificate).into_owned();
            panic!("accepted: {}\n{text}", tampering.name);
        }
    }
    all.len()
}

#[test]
fn a_thousand_tamperings_of_each_certificate_are_refused() {
    let base = Spec::default;
    for (spec, arithmetic, depth) in [
        (base(), "f32", 1),
        (base(), "f64", 1),
        (Spec { end: true, score: "euclidean", ..base() }, "f32", 1),
        (Spec { start: false, layers: 2, ..base() }, "f32", 2),
        (Spec { read: "u", start: false, reset: "before-matrix", ..base() }, "f64", 1),
        (Spec { k: 4, d: 6, gate: "hard-sigmoid", ..base() }, "f64", 2),
    ] {
        let refused = assert_all_refused(&certified(&spec, arithmetic, depth), 800);
        println!("{refused} refused: {spec:?}");
        assert!(refused >= 1000, "only {refused} tamperings");
    }
}

#[test]
fn a_proof_for_double_precision_is_refused_for_single_precision() {
    let spec = Spec { tau: 0.02, ..Spec::default() };
    let mut tight = 0;
    for seed in 0..200 {
        let (config, weights) = random_model(&spec, seed);
        // Far above the rounding error of a step in double precision, far below that in single.
        let Some(files) = certify_with(&config, &weights, "f64", 1, &[1e-9]) else { continue };
        tight += 1;
        let all = tamperings(&files, 0, 3);
        let raised: Vec<_> = all.iter().filter(|t| t.name.starts_with("f32")).collect();
        assert!(!raised.is_empty(), "radii of 1e-9 do not cover single precision");
        for tampering in raised {
            let refused = tampering.files.check().expect_err("single precision claimed");
            assert!(matches!(refused, Refused::OutsideCell { .. }), "{refused}");
        }
    }
    assert!(tight > 0, "no tight certificate");
}

#[test]
fn random_bytes_do_not_panic() {
    let files = certified(&Spec::default(), "f32", 1);
    let mut random = Random(5);
    for _ in 0..3000 {
        let mut changed = files.clone();
        let part = random.below(3);
        let bytes = [&mut changed.config, &mut changed.weights, &mut changed.certificate];
        let bytes = bytes.into_iter().nth(part).unwrap();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = random.bits() as u8;
        }
        // A changed digit may leave all claims true, so only panics are tested.
        let _ = changed.check();
    }
}
