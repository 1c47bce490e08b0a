//! For every kind of network that certificates cover, one network is certified, and its automaton
//! agrees with the simulated network on long words.

mod common;

use common::certify::certify;
use common::model::{Spec, random_model};
use common::simulate::Simulation;
use common::{Files, Random};
use serde_json::Value;

/// The kinds of networks of `docs/src/certificate.md`.
fn variants() -> Vec<Spec> {
    let base = Spec::default;
    vec![
        base(),
        Spec { score: "euclidean", ..base() },
        Spec { gate: "hard-sigmoid", ..base() },
        Spec { gate: "hard-sigmoid", bias: false, ..base() },
        Spec { bias: false, ..base() },
        Spec { reset: "before-matrix", ..base() },
        Spec { reset: "before-matrix", bias: false, gate: "hard-sigmoid", ..base() },
        Spec { start: false, ..base() },
        Spec { end: true, ..base() },
        Spec { start: false, end: true, ..base() },
        Spec { read: "u", ..base() },
        Spec { read: "u", start: false, ..base() },
        Spec { read: "u", end: true, ..base() },
        Spec { layers: 2, ..base() },
        Spec { layers: 2, end: true, ..base() },
        Spec { layers: 2, start: false, score: "euclidean", ..base() },
        Spec { layers: 2, read: "u", reset: "before-matrix", ..base() },
        Spec { layers: 2, start: false, end: true, gate: "hard-sigmoid", ..base() },
        Spec { k: 2, d: 2, ..base() },
        Spec { k: 4, d: 6, ..base() },
        Spec { k: 1, d: 3, ..base() },
    ]
}

/// The certificate of the first random network whose automaton has two states or more.
fn first_certified(spec: &Spec, arithmetic: &str, depth: u32) -> Files {
    let mut any = None;
    for seed in 0..400 {
        let (config, weights) = random_model(spec, seed);
        let Some(files) = certify(&config, &weights, arithmetic, depth) else { continue };
        if files.check().unwrap().states > 1 || spec.k == 1 {
            return files;
        }
        any.get_or_insert(files);
    }
    panic!("no certified network of {spec:?} (with one state: {})", any.is_some());
}

/// The automaton's class of a word.
fn automaton_class(certificate: &Value, word: &[usize]) -> usize {
    let automaton = &certificate["automaton"];
    let index = |value: &Value| value.as_u64().unwrap() as usize;
    let start = index(&automaton["start"]);
    let end =
        word.iter().fold(start, |state, &symbol| index(&automaton["transitions"][state][symbol]));
    index(&automaton["outputs"][end])
}

fn check_on_words(files: &Files) {
    let simulation = Simulation::new(&files.config, &files.weights);
    let certificate: Value = serde_json::from_slice(&files.certificate).unwrap();
    let mut random = Random(7);
    for length in (0..40).chain([500]) {
        let word: Vec<usize> = (0..length).map(|_| random.below(2)).collect();
        let end = word
            .iter()
            .fold(simulation.start_state(), |state, &symbol| simulation.step(&state, symbol));
        assert_eq!(simulation.class(&end), automaton_class(&certificate, &word), "{word:?}");
    }
}

#[test]
fn every_variant_is_certified_in_both_arithmetics_and_agrees_on_words() {
    for spec in variants() {
        for arithmetic in ["f32", "f64"] {
            let files = first_certified(&spec, arithmetic, 1);
            let checked = files.check().unwrap();
            println!("{arithmetic} {} cells {} states {:?}", checked.cells, checked.states, spec);
            check_on_words(&files);
        }
    }
}

#[test]
fn depths_two_and_three_are_certified_too() {
    for depth in [2, 3] {
        for spec in [
            Spec::default(),
            Spec { end: true, ..Spec::default() },
            Spec { read: "u", start: false, ..Spec::default() },
            Spec { layers: 2, ..Spec::default() },
        ] {
            check_on_words(&first_certified(&spec, "f32", depth));
        }
    }
}
