use super::*;
use crate::certify::{Distribution, check_proof, pac};
use crate::engine::Arithmetic;
use crate::engine::cpu::Cpu;
use crate::engine::reference::Reference;
use crate::key::{Key, Rng};
use srnn_automata::{Alphabet, Partial, State, distinguish};

/// A random automaton; its states may be unreachable or equivalent.
fn random_automaton(states: usize, symbols: usize, classes: usize, rng: &mut Rng) -> Moore<u32> {
    let names = (0..symbols).map(|symbol| format!("symbol {symbol}")).collect();
    let alphabet = Alphabet::new(names).expect("distinct names");
    let outputs = (0..states).map(|_| rng.below(classes) as u32).collect();
    let next = (0..states * symbols).map(|_| State(rng.below(states) as u32)).collect();
    Moore::new(alphabet, State(rng.below(states) as u32), outputs, next).expect("a complete table")
}

fn class_names(classes: usize) -> Vec<String> {
    (0..classes).map(|class| format!("class {class}")).collect()
}

#[test]
fn random_automata_are_certified_in_single_precision_and_the_checker_agrees() {
    let mut rng = Key::new(5).child("compiled automata", 0).rng();
    for i in 0..24 {
        let (states, symbols, classes) = (1 + i / 2, 1 + rng.below(4), 2 + rng.below(3));
        let automaton = random_automaton(states, symbols, classes, &mut rng);
        let network = compile(&automaton, &class_names(classes)).expect("a small automaton");
        assert_eq!(distinguish(&network.automaton, &automaton), Ok(None), "automaton {i}");
        let verdict = certify_compiled(&network);
        assert!(verdict.holds(Arithmetic::F32), "automaton {i}: {:?}", verdict.not_proved());
        let proof = verdict.proof().expect("a proof");
        assert!(proof.margin() > 15.0, "automaton {i}: {}", proof.margin());
        check_proof(&network.file, proof).unwrap_or_else(|refused| panic!("{i}: {refused}"));
    }
}

#[test]
fn both_engines_give_random_words_the_class_of_the_automaton() {
    let mut rng = Key::new(6).child("compiled automata", 0).rng();
    for i in 0..20 {
        let (states, symbols, classes) = (1 + 3 * i, 1 + rng.below(6), 2 + rng.below(4));
        let automaton = random_automaton(states, symbols, classes, &mut rng);
        let network = compile(&automaton, &class_names(classes)).expect("a small automaton");
        let words = Distribution { symbols, longest: 60 };
        let (key, partial) = (Key::new(i as u64), Partial::from(&automaton));
        let mut single = Cpu::new(&network.file.model, 1);
        assert_eq!(pac(&mut single, &partial, words, 200, 0.01, &key).first, None, "automaton {i}");
        let mut double = Reference::new(&network.file.model.to_f64());
        assert_eq!(pac(&mut double, &partial, words, 10, 0.01, &key).first, None, "automaton {i}");
    }
}

#[test]
fn a_sink_that_every_transition_leads_to_is_compiled_too() {
    let alphabet = Alphabet::of_chars("abcd").expect("four symbols");
    let next = (0..4 * 12).map(|i| State(if i % 4 == 0 { (i / 4 + 1).min(11) } else { 11 } as u32));
    let outputs = (0..12).map(|state| u32::from(state == 10)).collect();
    let automaton =
        Moore::new(alphabet, State(0), outputs, next.collect()).expect("a complete table");
    let network = compile(&automaton, &class_names(2)).expect("a small automaton");
    assert_eq!(network.automaton.state_count(), 12);
    assert!(certify_compiled(&network).holds(Arithmetic::F32));
}

#[test]
fn unreachable_and_equivalent_states_get_no_units() {
    let alphabet = Alphabet::of_chars("01").expect("two symbols");
    // Parity of the ones, twice over, and a state that nothing leads to.
    let next = [[0, 3], [3, 2], [2, 1], [1, 0], [4, 4]].concat().into_iter().map(State).collect();
    let automaton =
        Moore::new(alphabet, State(0), vec![0, 1, 0, 1, 1], next).expect("a complete table");
    let network = compile(&automaton, &class_names(2)).expect("a small automaton");
    assert_eq!(network.automaton.state_count(), 2);
    let layer = &network.file.model.arch.layers[0];
    assert_eq!((layer.units, layer.centroids.map(|s| s.k)), (6, Some(2)));
}

#[test]
fn what_cannot_be_compiled_is_refused_with_its_reason() {
    let automaton = |states: usize, symbols: usize| {
        let names = (0..symbols).map(|symbol| format!("{symbol}")).collect();
        let next = (0..states * symbols).map(|i| State(((i / symbols + 1) % states) as u32));
        let outputs = (0..states).map(|state| u32::from(state == 0)).collect();
        let alphabet = Alphabet::new(names).expect("distinct names");
        Moore::new(alphabet, State(0), outputs, next.collect()).expect("a complete table")
    };
    let refused = |automaton: Moore<u32>, classes| compile(&automaton, &class_names(classes));
    assert_eq!(refused(automaton(1, 0), 2), Err(CompileError::NoSymbols));
    assert_eq!(refused(automaton(3, 2), 1), Err(CompileError::Classes { found: 1 }));
    let too_large = CompileError::TooLarge { states: 2047, symbols: 3, units: 6143 };
    assert_eq!(refused(automaton(2047, 3), 2), Err(too_large));
}
