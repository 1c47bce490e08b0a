//! Trained networks, from data to the true automaton.

use super::test_networks::*;
use super::*;
use crate::engine::reference::ReferenceTrainer;
use crate::engine::{Batch, Optimiser, Regime, Rule, Runner as _, Targets, Trainer as _};
use crate::key::Key;
use crate::model::{Init, Input, Model, ReadFrom};
use srnn_automata::{Symbol, Word, shortlex};

/// 32 random words of at most `longest` symbols with their classes.
fn batch(truth: &Moore<u32>, input: &Input, longest: usize, key: Key) -> Batch {
    let mut draw = key.rng();
    let mut word = || -> Word {
        let length = draw.below(longest + 1);
        (0..length).map(|_| Symbol(draw.below(2) as u32)).collect()
    };
    let words: Vec<Word> = (0..32).map(|_| word()).collect();
    let ids = words.iter().map(|word| word.iter().map(|symbol| symbol.0));
    let classes = words.iter().map(|word| *truth.output_of(word)).collect();
    Batch { targets: Targets::Rows(classes), ..Batch::of_words(input, ids) }
}

/// The ramp of λ with the commitment loss, then the entropy phase.
fn train(model: &Model<f64>, truth: &Moore<u32>, updates: usize, key: Key) -> Model<f64> {
    let optimiser = Optimiser::new(Rule::ADAM, 1.0);
    let mut trainer = ReferenceTrainer::new(model, optimiser);
    for i in 0..updates {
        let progress = i as f64 / updates as f64;
        let lambda = ((progress - 0.3) / 0.3).clamp(0.0, 1.0);
        let entropy = if progress > 0.75 { 0.1 } else { 0.0 };
        let commitment = 0.3 * lambda;
        let regime = Regime { lambda, commitment, entropy, ..Regime::plain(0.01) };
        let longest = 1 + (progress * 20.0).min(7.0) as usize;
        let batch = batch(truth, &model.arch.input, longest, key.child("batch", i as u64));
        trainer.step(&batch, &regime).unwrap();
    }
    trainer.model().unwrap()
}

fn extraction(
    truth: &Moore<u32>,
    end: bool,
    updates: usize,
    seed: u64,
) -> (Model<f64>, Extraction) {
    let mut shape = arch(vec![gru(8, 5, 1.0)], true, end, ReadFrom::H);
    shape.classes = 1 + *truth.outputs().iter().max().unwrap() as usize;
    let fresh = Model::new(shape, &Init::default(), Key::new(seed)).unwrap().to_f64();
    let model = train(&fresh, truth, updates, Key::new(seed));
    let data: Vec<Word> = shortlex(2, 6).collect();
    let request = ExtractRequest { alphabet: &bits(), data: &data, truth: Some(truth) };
    let config = ExtractConfig { words: 10_000, ..ExtractConfig::default() };
    let found = extract(&mut engine(&model), &request, &config).unwrap();
    (model, found)
}

fn check_learned(truth: &Moore<u32>, end: bool, updates: usize, seed: u64) -> Extraction {
    let (model, found) = extraction(truth, end, updates, seed);
    let evaluated = found.cover_evaluated.as_ref().expect("a cover that closed");
    assert!(evaluated.on_words.is_total(), "{:?}", evaluated.on_words);
    assert!(evaluated.on_data.is_total(), "{:?}", evaluated.on_data);
    assert_eq!(evaluated.extracted.minimal, Ok(truth.minimize()));
    // Theorem 3.2, for a trained network.
    let alphabet = bits();
    let system = TransitionSystem::new(&model, &alphabet).unwrap();
    assert_eq!(first_divergence(&system, 1e-6, 8), None);
    found
}

#[test]
fn a_network_trained_on_parity_gives_the_minimal_automaton() {
    check_learned(&parity(), false, 600, 1);
}

#[test]
fn a_network_trained_on_three_classes_with_an_end_token_gives_the_minimal_automaton() {
    check_learned(&modulo_3(), true, 1000, 1);
}

#[test]
fn trained_networks_keep_states_in_the_mixture_weights_where_counting_misses_them() {
    let truth = no_three_zeros();
    let wrong = (1..=3).filter(|&seed| {
        let found = check_learned(&truth, false, 1000, seed);
        let counted = found.counted_soft.unwrap().evaluated;
        let difference = counted.truth.unwrap().shortest_difference;
        // The network equals the truth, so a word on which the automaton differs from the truth is one
        // on which it differs from the network.
        assert_eq!(counted.on_words.difference, difference);
        difference.is_some()
    });
    assert!(wrong.count() > 0, "counting was right for every seed");
}
