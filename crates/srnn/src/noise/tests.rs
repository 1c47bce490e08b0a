//! Wrong labels on purpose, and automata that have learned them by heart.

use super::*;
use crate::key::Key;
use crate::task::tomita::{self, Grammar};
use crate::task::{Dataset, Part, Rate, Sequence, Split, label_noise};
use srnn_automata::{Alphabet, Moore, State, random, shortlex};

pub(super) fn truth(grammar: Grammar) -> Moore<u32> {
    Moore::from(&tomita::truth(grammar))
}

/// All words up to a length, with a part of the labels wrong, and which.
pub(super) fn noisy(
    grammar: Grammar,
    longest: usize,
    noise: f64,
    seed: u64,
) -> (Dataset, Vec<usize>) {
    let truth = truth(grammar);
    let sequence = |word: srnn_automata::Word| Sequence {
        label: *truth.output_of(&word),
        tokens: word.iter().map(|symbol| symbol.0).collect(),
    };
    let mut set = Dataset {
        alphabet: ["0", "1"].map(String::from).to_vec(),
        classes: ["reject", "accept"].map(String::from).to_vec(),
        sequences: shortlex(2, longest).map(sequence).collect(),
    };
    let flipped = label_noise(&mut set, Rate::new(noise).unwrap(), &Key::new(seed));
    (set, flipped)
}

/// The truth, but for words up to a length, whose labels it has learned by heart: a state for each.
fn by_heart(truth: &Moore<u32>, set: &Dataset, longest: usize) -> Moore<u32> {
    let words: Vec<srnn_automata::Word> = shortlex(2, longest).collect();
    let n = words.len() as u32;
    let end = |i: u32| truth.run(&words[i as usize]);
    Moore::from_fn(
        truth.alphabet().clone(),
        n + truth.state_count() as u32,
        |s| match s.0 < n {
            true => set.sequences[s.index()].label,
            false => *truth.output(State(s.0 - n)),
        },
        |s, symbol| match s.0 < n {
            true if 2 * s.0 + symbol.0 + 1 < n => State(2 * s.0 + symbol.0 + 1),
            true => State(n + truth.next(end(s.0), symbol).0),
            false => State(n + truth.next(State(s.0 - n), symbol).0),
        },
    )
    .unwrap()
}

#[test]
fn what_was_learned_by_heart_is_unlearned() {
    for grammar in Grammar::ALL {
        let (set, flipped) = noisy(grammar, 9, 0.05, 3);
        let truth = truth(grammar);
        let start = by_heart(&truth, &set, 4);
        assert!(start.minimize().state_count() > truth.state_count(), "{grammar:?}");
        let found = shorten(&start, &Evidence::of(&[&set]), Work::default());
        assert_eq!(found.automaton, truth, "{grammar:?}");
        assert_eq!(found.errors, flipped.len());
    }
}

#[test]
fn no_description_gets_longer_and_errors_are_counted_right() {
    let (set, _) = noisy(Grammar::T3, 6, 0.2, 1);
    let evidence = Evidence::of(&[&set]);
    let split = Split { train: set, valid: Dataset::default(), test: None };
    let alphabet = Alphabet::of_chars("01").unwrap();
    let mut stream = Key::new(4).stream();
    for states in 1..20 {
        let start = random(states, &alphabet, 0.5, &mut || stream.bits());
        let start = start.map_outputs(|&accepts| u32::from(accepts)).minimize();
        let before = suspects(&start, &split).len();
        let before = Length::of(&evidence).bits(start.state_count(), before);
        let found = shorten(&start, &evidence, Work::default());
        assert!(found.bits <= before + 1e-9, "{states}: {} after {before}", found.bits);
        assert_eq!(found.errors, suspects(&found.automaton, &split).len());
        let bits = Length::of(&evidence).bits(found.automaton.state_count(), found.errors);
        assert!((found.bits - bits).abs() < 1e-9);
        assert!(found.automaton.is_minimal());
    }
}

#[test]
fn a_search_without_work_leaves_the_automaton_as_it_is() {
    let (set, _) = noisy(Grammar::T5, 7, 0.0, 1);
    let start = by_heart(&truth(Grammar::T1), &set, 3).minimize();
    let found = shorten(&start, &Evidence::of(&[&set]), Work { steps: 0 });
    assert_eq!(found.automaton.state_count(), start.state_count());
}

#[test]
fn a_description_has_the_bits_counted_by_hand() {
    let (set, _) = noisy(Grammar::T1, 1, 0.0, 1);
    let length = Length::of(&Evidence::of(&[&set, &set]));
    // Six labels. One of them wrong: how many, of 7 numbers, and which, of 6.
    let labels = 7f64.log2() + 6f64.log2();
    assert!((length.bits(1, 1) - (1.0 + labels)).abs() < 1e-9);
    // Two states: two targets of one bit and one class of one bit each.
    assert!((length.bits(2, 1) - (6.0 + labels)).abs() < 1e-9);
    assert!((length.bits(2, 0) - (6.0 + 7f64.log2())).abs() < 1e-9);
}

#[test]
fn the_automaton_believed_is_the_shortest_of_all_networks() {
    let (set, flipped) = noisy(Grammar::T7, 9, 0.05, 2);
    let evidence = Evidence::of(&[&set]);
    let start = |grammar| Candidate { way: Way::HardTable, automaton: truth(grammar) };
    let networks = [(5, vec![start(Grammar::T1)]), (9, vec![start(Grammar::T7)])];
    let belief = believe(&networks, &evidence, Work::default()).unwrap();
    assert_eq!((belief.seed, belief.tried, belief.labels), (9, 2, set.sequences.len()));
    assert_eq!(belief.shortened.automaton, truth(Grammar::T7));
    assert_eq!(belief.shortened.errors, flipped.len());
    assert!(belief.alone > belief.shortened.bits);
    assert_eq!(believe(&[(1, vec![])], &evidence, Work::default()), None);
}

#[test]
fn suspects_are_the_labels_changed_and_correcting_changes_them_back() {
    let (clean, _) = noisy(Grammar::T6, 8, 0.0, 1);
    let (set, flipped) = noisy(Grammar::T6, 8, 0.1, 1);
    let split = Split { train: set.clone(), valid: set.clone(), test: Some(set.clone()) };
    let found = suspects(&truth(Grammar::T6), &split);
    let places = |part| found.iter().filter(move |s| s.part == part).map(|s| s.index);
    assert_eq!(places(Part::Train).collect::<Vec<_>>(), flipped);
    assert_eq!(places(Part::Valid).collect::<Vec<_>>(), flipped);
    assert!(found.iter().all(|s| s.given != s.believed));
    let corrected = corrected(&truth(Grammar::T6), &split);
    assert_eq!(corrected.train, clean);
    assert_eq!(corrected.valid, clean);
    assert_eq!(corrected.test, Some(set), "a test set stays as it is");
}
