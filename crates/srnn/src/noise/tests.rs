//! Labels that are wrong on purpose, and automata that have memorised them.

use super::*;
use crate::key::Key;
use crate::task::tomita::{self, Grammar};
use crate::task::{Dataset, Rate, Sequence, Split, Subset, label_noise};
use srnn_automata::{Alphabet, Moore, State, random_dfa, shortlex};

pub(super) fn truth(grammar: Grammar) -> Moore<u32> {
    Moore::from(&tomita::minimal_dfa(grammar))
}

/// All words up to a length with label noise, and the indices of the wrong labels.
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

/// The truth, except that it has memorised the labels of all words up to a length: one state each.
fn memorised(truth: &Moore<u32>, set: &Dataset, longest: usize) -> Moore<u32> {
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
fn memorised_labels_are_removed() {
    for grammar in Grammar::ALL {
        let (set, flipped) = noisy(grammar, 9, 0.05, 3);
        let truth = truth(grammar);
        let start = memorised(&truth, &set, 4);
        assert!(start.minimize().state_count() > truth.state_count(), "{grammar:?}");
        let found = simplify(&start, &prefix_tree(&[&set]), SearchBudget::default());
        assert_eq!(found.automaton, truth, "{grammar:?}");
        assert_eq!(found.errors, flipped.len());
    }
}

#[test]
fn simplification_never_increases_the_description_length_and_errors_are_counted_right() {
    let (set, _) = noisy(Grammar::T3, 6, 0.2, 1);
    let tree = prefix_tree(&[&set]);
    let split = Split { train: set, valid: Dataset::default(), test: None };
    let alphabet = Alphabet::of_chars("01").unwrap();
    let mut stream = Key::new(4).rng();
    for states in 1..20 {
        let start = random_dfa(states, &alphabet, 0.5, &mut || stream.bits());
        let start = start.map_outputs(|&accepts| u32::from(accepts)).minimize();
        let before = suspected_labels(&start, &split).len();
        let before = DescriptionLength::of(&tree).bits(start.state_count(), before);
        let found = simplify(&start, &tree, SearchBudget::default());
        assert!(found.bits <= before + 1e-9, "{states}: {} after {before}", found.bits);
        assert_eq!(found.errors, suspected_labels(&found.automaton, &split).len());
        let bits = DescriptionLength::of(&tree).bits(found.automaton.state_count(), found.errors);
        assert!((found.bits - bits).abs() < 1e-9);
        assert!(found.automaton.is_minimal());
    }
}

#[test]
fn a_search_without_budget_leaves_the_automaton_as_it_is() {
    let (set, _) = noisy(Grammar::T5, 7, 0.0, 1);
    let start = memorised(&truth(Grammar::T1), &set, 3).minimize();
    let found = simplify(&start, &prefix_tree(&[&set]), SearchBudget { steps: 0 });
    assert_eq!(found.automaton.state_count(), start.state_count());
}

#[test]
fn a_description_has_the_bits_counted_by_hand() {
    let (set, _) = noisy(Grammar::T1, 1, 0.0, 1);
    let length = DescriptionLength::of(&prefix_tree(&[&set, &set]));
    // Six labels, one of them wrong: its number is one of 7, its index one of 6.
    let labels = 7f64.log2() + 6f64.log2();
    assert!((length.bits(1, 1) - (1.0 + labels)).abs() < 1e-9);
    // Two states, each with two targets of one bit and a class of one bit.
    assert!((length.bits(2, 1) - (6.0 + labels)).abs() < 1e-9);
    assert!((length.bits(2, 0) - (6.0 + 7f64.log2())).abs() < 1e-9);
}

#[test]
fn the_selected_automaton_has_the_minimum_description_length() {
    let (set, flipped) = noisy(Grammar::T7, 9, 0.05, 2);
    let tree = prefix_tree(&[&set]);
    let start = |grammar| CandidateAutomaton {
        method: ExtractionMethod::HardTable,
        automaton: truth(grammar),
    };
    let networks = [(5, vec![start(Grammar::T1)]), (9, vec![start(Grammar::T7)])];
    let selection = select_by_mdl(&networks, &tree, SearchBudget::default()).unwrap();
    assert_eq!(
        (selection.seed, selection.candidates, selection.labels),
        (9, 2, set.sequences.len())
    );
    assert_eq!(selection.simplified.automaton, truth(Grammar::T7));
    assert_eq!(selection.simplified.errors, flipped.len());
    assert!(selection.baseline_bits > selection.simplified.bits);
    assert_eq!(select_by_mdl(&[(1, vec![])], &tree, SearchBudget::default()), None);
}

#[test]
fn suspected_labels_are_those_flipped_and_correction_flips_them_back() {
    let (clean, _) = noisy(Grammar::T6, 8, 0.0, 1);
    let (set, flipped) = noisy(Grammar::T6, 8, 0.1, 1);
    let split = Split { train: set.clone(), valid: set.clone(), test: Some(set.clone()) };
    let found = suspected_labels(&truth(Grammar::T6), &split);
    let indices = |part| found.iter().filter(move |s| s.part == part).map(|s| s.index);
    assert_eq!(indices(Subset::Train).collect::<Vec<_>>(), flipped);
    assert_eq!(indices(Subset::Valid).collect::<Vec<_>>(), flipped);
    assert!(found.iter().all(|s| s.given != s.predicted));
    let corrected = correct_labels(&truth(Grammar::T6), &split);
    assert_eq!(corrected.train, clean);
    assert_eq!(corrected.valid, clean);
    assert_eq!(corrected.test, Some(set), "the test set is unchanged");
}
