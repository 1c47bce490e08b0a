//! The theorem by brute force: every small machine that passes a suite equals the specification.

use super::*;
use crate::random::{random_dfa, stream};
use crate::{Alphabet, Dfa, Moore, State, Symbol, distinguish, shortlex};
use std::collections::BTreeSet;

const METHODS: [SuiteMethod; 2] = [SuiteMethod::W, SuiteMethod::Wp];

fn alphabet(symbols: usize) -> Alphabet {
    Alphabet::of_chars(&"abc"[..symbols]).unwrap()
}

fn config(method: SuiteMethod, extra: usize) -> SuiteConfig {
    SuiteConfig { method, extra, ..SuiteConfig::default() }
}

fn words<O: Eq + Hash>(specification: &Minimal<O>, method: SuiteMethod, extra: usize) -> Vec<Word> {
    suite(specification, &config(method, extra)).unwrap()
}

/// A random specification with exactly this number of states.
fn specification(states: usize, symbols: usize, bits: &mut impl FnMut() -> u64) -> Minimal<bool> {
    loop {
        let dfa = random_dfa(states as u32, &alphabet(symbols), 0.5, bits);
        if dfa.is_minimal() {
            return Minimal::of(&dfa);
        }
    }
}

fn passes<O: Eq>(machine: &Moore<O>, specification: &Moore<O>, words: &[Word]) -> bool {
    words.iter().all(|word| machine.output_of(word) == specification.output_of(word))
}

/// Every machine with this number of states and start state 0. Machines with fewer states are among
/// them, with unreachable states.
fn all_machines(states: u32, symbols: usize, outputs: u32) -> impl Iterator<Item = Moore<u32>> {
    let entries = states as usize * symbols;
    let tables = u64::from(states).pow(entries as u32);
    let labels = u64::from(outputs).pow(states);
    (0..tables * labels).map(move |number| {
        let (mut table, mut label) = (number / labels, number % labels);
        let digit = |rest: &mut u64, base: u32| {
            let digit = *rest % u64::from(base);
            *rest /= u64::from(base);
            digit as u32
        };
        let next = (0..entries).map(|_| State(digit(&mut table, states))).collect();
        let outputs = (0..states).map(|_| digit(&mut label, outputs)).collect();
        Moore::new(alphabet(symbols), State(0), outputs, next).unwrap()
    })
}

/// The number of machines with at most `states + extra` states that pass. All of them must be equal to
/// the specification.
fn check_all(
    specification: &Minimal<u32>,
    extra: usize,
    method: SuiteMethod,
    outputs: u32,
) -> usize {
    let automaton = specification.automaton();
    let words = words(specification, method, extra);
    let most = (automaton.state_count() + extra) as u32;
    let passing = all_machines(most, automaton.alphabet().len(), outputs)
        .filter(|machine| passes(machine, automaton, &words));
    let equal = |machine: Moore<u32>| {
        let word = distinguish(automaton, &machine).unwrap();
        assert_eq!(word, None, "{method:?}, {extra} extra: {machine:?} passes for {automaton:?}");
    };
    passing.map(equal).count()
}

#[test]
fn every_machine_within_the_bound_that_passes_is_equal() {
    for (states, symbols, extra, seeds) in [
        (1, 1, 1, 2),
        (1, 2, 1, 2),
        (1, 3, 1, 2),
        (2, 1, 0, 2),
        (2, 1, 2, 4),
        (2, 2, 0, 6),
        (2, 2, 1, 6),
        (2, 3, 1, 4),
        (3, 1, 1, 6),
        (3, 2, 0, 12),
        (3, 2, 1, 3),
        (3, 3, 0, 6),
        (4, 1, 1, 4),
        (4, 2, 0, 3),
    ] {
        for seed in 0..seeds {
            let mut bits = stream(seed * 1000 + states as u64 * 10 + symbols as u64);
            let dfa = specification(states, symbols, &mut bits);
            let named = Minimal::of(&dfa.automaton().map_outputs(|&accepts| u32::from(accepts)));
            for method in METHODS {
                assert!(check_all(&named, extra, method, 2) > 0, "the specification itself passes");
            }
        }
    }
}

#[test]
fn machines_may_have_outputs_that_the_specification_never_has() {
    for (states, extra, seeds) in [(1, 1, 2), (2, 0, 4), (2, 1, 6), (3, 0, 6)] {
        for seed in 0..seeds {
            let mut bits = stream(seed);
            let machine = loop {
                let dfa = random_dfa(states, &alphabet(2), 0.5, &mut bits);
                let outputs: Vec<u32> = (0..states).map(|_| (bits() % 2) as u32).collect();
                let table = dfa.states().flat_map(|s| dfa.successors(s).to_vec()).collect();
                let machine = Moore::new(alphabet(2), State(0), outputs, table).unwrap();
                if machine.is_minimal() {
                    break machine;
                }
            };
            for method in METHODS {
                assert!(check_all(&Minimal::of(&machine), extra, method, 3) > 0);
            }
        }
    }
}

/// The specification with copies of some states and a few changed entries: it nearly passes.
fn near_miss(dfa: &Dfa, extra: usize, bits: &mut impl FnMut() -> u64) -> Dfa {
    let (states, symbols) = (dfa.state_count(), dfa.alphabet().len());
    let all = states + extra;
    let mut below = |n: usize| (bits() % n as u64) as usize;
    let origins: Vec<usize> =
        (0..all).map(|s| if s < states { s } else { below(states) }).collect();
    let copies = |of: State| -> Vec<u32> {
        (0..all).filter(|&s| origins[s] == of.index()).map(|s| s as u32).collect()
    };
    let mut table = Vec::new();
    for &origin in &origins {
        for to in dfa.successors(State(origin as u32)) {
            let copies = copies(*to);
            table.push(State(copies[below(copies.len())]));
        }
    }
    let mut outputs: Vec<bool> = origins.iter().map(|&s| *dfa.output(State(s as u32))).collect();
    for _ in 0..1 + below(2) {
        match below(symbols + 1) {
            0 => {
                let state = below(all);
                outputs[state] = !outputs[state];
            }
            _ => {
                let entry = below(table.len());
                table[entry] = State(below(all) as u32);
            }
        }
    }
    Dfa::new(dfa.alphabet().clone(), dfa.start(), outputs, table).unwrap()
}

#[test]
fn machines_that_nearly_equal_the_specification_are_rejected() {
    let (mut different, mut equal) = (0, 0);
    for seed in 0..600 {
        let mut bits = stream(seed);
        let (states, symbols) = (2 + seed as usize % 7, 1 + seed as usize % 3);
        let spec = specification(states, symbols, &mut bits);
        for extra in 0..=2 {
            let suites = METHODS.map(|method| words(&spec, method, extra));
            for _ in 0..60 {
                let machine = near_miss(spec.automaton(), extra, &mut bits);
                let same = distinguish(spec.automaton(), &machine).unwrap().is_none();
                for suite in &suites {
                    assert_eq!(passes(&machine, spec.automaton(), suite), same, "{spec:?}");
                }
                *if same { &mut equal } else { &mut different } += 1;
            }
        }
    }
    assert!(different > 50_000 && equal > 2_000, "{different} different, {equal} equal");
}

/// Every machine with the same number of states that differs in one entry.
fn mutants(dfa: &Dfa) -> Vec<Dfa> {
    let table: Vec<State> = dfa.states().flat_map(|s| dfa.successors(s).to_vec()).collect();
    let make = |outputs, table| Dfa::new(dfa.alphabet().clone(), dfa.start(), outputs, table);
    let mut mutants = Vec::new();
    for state in 0..dfa.state_count() {
        let mut outputs = dfa.outputs().to_vec();
        outputs[state] = !outputs[state];
        mutants.push(make(outputs, table.clone()).unwrap());
    }
    for entry in 0..table.len() {
        for to in dfa.states().filter(|&to| to != table[entry]) {
            let mut table = table.clone();
            table[entry] = to;
            mutants.push(make(dfa.outputs().to_vec(), table).unwrap());
        }
    }
    mutants
}

#[test]
fn every_single_mutation_is_found_unless_it_changes_nothing() {
    let mut found = 0;
    for seed in 0..120 {
        let mut bits = stream(seed);
        let spec = specification(3 + seed as usize % 6, 1 + seed as usize % 3, &mut bits);
        let dfa = spec.automaton();
        for method in METHODS {
            let suite = words(&spec, method, 0);
            for mutant in mutants(dfa) {
                let same = distinguish(dfa, &mutant).unwrap().is_none();
                assert_eq!(passes(&mutant, dfa, &suite), same, "{method:?} {dfa:?} {mutant:?}");
                found += usize::from(!same);
            }
        }
    }
    assert!(found > 10_000, "{found}");
}

#[test]
fn a_machine_beyond_the_bound_may_pass_and_still_differ() {
    // Counts symbols modulo 3; the larger machine is wrong at the end of its longer cycle.
    let cycle = |n: u32, accepting: &'static [u32]| {
        let next = move |s: State, _: Symbol| State((s.0 + 1) % n);
        Dfa::from_fn(alphabet(1), n, |s| accepting.contains(&s.0), next).unwrap()
    };
    let spec = Minimal::of(&cycle(3, &[0]));
    let large = cycle(12, &[0, 3, 6]);
    let fooled = |extra| passes(&large, spec.automaton(), &words(&spec, SuiteMethod::Wp, extra));
    assert!(fooled(0) && fooled(1) && fooled(2));
    assert!(!fooled(9));
}

#[test]
fn the_wp_suite_is_a_subset_of_the_w_suite_and_mostly_smaller() {
    let mut fewer = 0;
    for seed in 0..200 {
        let mut bits = stream(seed);
        let spec = specification(1 + seed as usize % 8, 1 + seed as usize % 3, &mut bits);
        for extra in 0..3 {
            let [w, wp] = METHODS.map(|m| words(&spec, m, extra).into_iter().collect());
            let [w, wp]: [BTreeSet<Word>; 2] = [w, wp];
            assert!(wp.is_subset(&w));
            fewer += usize::from(wp.len() < w.len());
        }
    }
    assert!(fewer > 400, "{fewer} of 600");
}

#[test]
fn the_sets_have_the_properties_from_the_papers() {
    for seed in 0..300 {
        let mut bits = stream(seed);
        let spec = specification(1 + seed as usize % 9, 1 + seed as usize % 3, &mut bits);
        let dfa = spec.automaton();
        let (states, cover) = (dfa.state_count(), state_cover(&spec));
        let ends: BTreeSet<State> = cover.iter().map(|word| dfa.run(word)).collect();
        assert_eq!((ends.len(), cover.len(), cover[0].len()), (states, states, 0));
        let transitions: BTreeSet<Word> = transition_cover(&spec).into_iter().collect();
        let steps = cover
            .iter()
            .flat_map(|q| dfa.alphabet().symbols().map(move |a| [&q[..], &[a]].concat()));
        assert_eq!(transitions, cover.iter().cloned().chain(steps).collect());
        let w = characterization_set(&spec);
        assert!(w[0].is_empty() && w.len() <= states.max(1), "{w:?}");
        assert!(w.iter().skip(1).all(|word| w.contains(&word[1..].to_vec())), "{w:?}");
        for (s, identifier) in dfa.states().zip(state_identifiers(&spec)) {
            let distinguishes = |words: &[Word]| {
                dfa.states().filter(|&t| t != s).all(|t| {
                    words.iter().any(|word| output_from(dfa, s, word) != output_from(dfa, t, word))
                })
            };
            assert!(distinguishes(&w) && distinguishes(&identifier));
            assert!(identifier.iter().all(|word| w.contains(word)));
            for removed in 0..identifier.len() {
                let rest = [&identifier[..removed], &identifier[removed + 1..]].concat();
                assert!(!distinguishes(&rest), "{identifier:?}");
            }
        }
    }
}

fn output_from(dfa: &Dfa, state: State, word: &[Symbol]) -> bool {
    *dfa.output(word.iter().fold(state, |s, &a| dfa.next(s, a)))
}

#[test]
fn words_are_sorted_without_duplicates() {
    let spec = specification(6, 3, &mut stream(3));
    for method in METHODS {
        let words = words(&spec, method, 1);
        assert!(words.windows(2).all(|w| (w[0].len(), &w[0]) < (w[1].len(), &w[1])));
    }
}

#[test]
fn the_suite_of_one_state_has_all_words_that_reach_states_of_the_box() {
    let all = Minimal::of(&random_dfa(5, &alphabet(2), 1.0, &mut stream(1)));
    for extra in 0..4 {
        assert_eq!(words(&all, SuiteMethod::Wp, extra), shortlex(2, extra).collect::<Vec<_>>());
        assert_eq!(words(&all, SuiteMethod::W, extra), shortlex(2, extra + 1).collect::<Vec<_>>());
    }
}

#[test]
fn without_symbols_the_suite_is_the_empty_word() {
    let nothing = Alphabet::new(vec![]).unwrap();
    let spec = Minimal::of(&Dfa::new(nothing, State(0), vec![true], vec![]).unwrap());
    assert_eq!(words(&spec, SuiteMethod::Wp, usize::MAX), vec![Word::new()]);
}

#[test]
fn the_output_of_the_start_is_tested_although_no_word_leads_back_to_it() {
    // `a` and `b` distinguish all states, so a characterization set could do without ε.
    let next = |s: State, a: Symbol| State(if s.0 == 0 { 1 + a.0 } else { s.0 });
    let spec = Minimal::of(&Dfa::from_fn(alphabet(2), 3, |s| s.0 == 1, next).unwrap());
    let wrong = Dfa::from_fn(alphabet(2), 3, |s| s.0 < 2, next).unwrap();
    assert_eq!(spec.automaton().state_count(), 3);
    for method in METHODS {
        assert!(!passes(&wrong, spec.automaton(), &words(&spec, method, 0)));
    }
}

#[test]
fn the_word_count_with_duplicates_is_exact_at_the_limit() {
    let spec = specification(5, 2, &mut stream(9));
    for method in METHODS {
        for extra in 0..4 {
            let limited = |most_words| {
                suite(&spec, &SuiteConfig { most_words, ..config(method, extra) })
                    .map_err(|e| e.needed)
            };
            let needed = (0..).find(|&most| limited(most).is_ok()).unwrap();
            assert_eq!(limited(needed - 1), Err(u128::from(needed)));
            assert!(limited(needed).unwrap().len() as u64 <= needed);
        }
    }
}

#[test]
fn a_suite_that_is_too_large_is_refused_before_it_is_generated() {
    let spec = specification(4, 3, &mut stream(2));
    for extra in [30, 60, 200, usize::MAX] {
        let error = suite(&spec, &config(SuiteMethod::Wp, extra)).unwrap_err();
        assert_eq!((error.quantity, error.states, error.extra), (Quantity::Words, 4, extra));
        assert!(error.needed > 1_000_000 && error.to_string().contains("fewer extra states"));
    }
    let unary = specification(3, 1, &mut stream(2));
    assert!(suite(&unary, &config(SuiteMethod::Wp, usize::MAX)).is_err());
    let tight = SuiteConfig { most_symbols: 10, ..SuiteConfig::default() };
    assert_eq!(suite(&spec, &tight).unwrap_err().quantity, Quantity::Symbols);
}

#[test]
fn long_chains_are_refused_before_they_use_up_the_memory() {
    let refused = |n: u32| {
        let next = |s: State, a: Symbol| State(if a.0 == 0 { (s.0 + 1).min(n - 1) } else { s.0 });
        let chain = Dfa::from_fn(alphabet(2), n, |s| s.0 == n - 1, next).unwrap();
        suite(&Minimal::of(&chain), &SuiteConfig::default()).unwrap_err()
    };
    let error = refused(5_000);
    assert_eq!((error.quantity, error.needed), (Quantity::Words, 201 * 5_000));
    assert_eq!(refused(100_000).quantity, Quantity::Symbols);
}
