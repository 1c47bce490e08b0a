//! Automata of which some transitions are wrong, and how often words repair them.

use crate::languages::random_automaton;
use crate::words::{LabelledWord, below, distinct, stream, uniform_word, unit};
use srnn_automata::merging::{LabelTrust, LabelledWords, MergeConfig, PrefixTree, merge, repair};
use srnn_automata::{Moore, State, distinguish};
use std::time::Instant;

/// Training words, and the longest.
const TRAIN: usize = 2_000;
const LONGEST: usize = 20;

/// An automaton, a wrong version of it, and labelled words.
struct DamagedAutomaton {
    truth: Moore<u32>,
    given: Moore<u32>,
    words: Vec<LabelledWord>,
}

/// What one method made of all automata.
#[derive(Default)]
struct DamagedOutcome {
    exact: usize,
    seconds: Vec<f64>,
}

/// Prints how many of `count` automata repair and merging find exactly, from clean labels and with a
/// twentieth of them wrong.
pub fn measure(count: u64) {
    println!("labels wrong,automata,repaired exact,merged exact,seconds,seconds merging");
    for (row, noise, trust) in
        [("none", 0.0, LabelTrust::Trusted), ("5 %", 0.05, LabelTrust::MayBeWrong)]
    {
        let config = MergeConfig { labels: trust, ..MergeConfig::default() };
        let (mut repaired, mut merged) = (DamagedOutcome::default(), DamagedOutcome::default());
        for i in 0..count {
            let one = damaged(i, noise);
            let (symbols, truth) = (one.truth.alphabet().len(), &one.truth);
            let mut words = LabelledWords::default();
            for (word, class) in &one.words {
                words.add(word.iter().copied(), *class);
            }
            let tree = PrefixTree::new(symbols, 2, &words).expect("the words are few");
            repaired.add(truth, || repair(&one.given, &tree, &config).unwrap().automaton);
            merged.add(truth, || merge(truth.alphabet(), &tree, &config).unwrap().automaton);
        }
        println!(
            "{row},{count},{},{},{:.3},{:.3}",
            repaired.exact,
            merged.exact,
            repaired.median(),
            merged.median()
        );
    }
}

impl DamagedOutcome {
    fn add(&mut self, truth: &Moore<u32>, run: impl FnOnce() -> Moore<u32>) {
        let start = Instant::now();
        let found = run();
        self.seconds.push(start.elapsed().as_secs_f64());
        self.exact += usize::from(is_equal(&found, truth));
    }

    fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }
}

fn is_equal(left: &Moore<u32>, right: &Moore<u32>) -> bool {
    distinguish(left, right).expect("the same symbols").is_none()
}

/// Automaton `i`: 10 to 30 states, 2 to 4 symbols, 1 to 3 wrong transitions.
fn damaged(i: u64, noise: f64) -> DamagedAutomaton {
    let mut bits = stream(6_000 + i);
    let (states, symbols) = (10 + below(21, &mut bits), 2 + below(3, &mut bits));
    let truth = random_automaton(states, symbols, &mut bits);
    let wrong = 1 + i as usize % 3;
    let given = loop {
        let given = redirected(&truth, wrong, &mut bits);
        if !is_equal(&given, &truth) {
            break given;
        }
    };
    let mut words = distinct(&truth, TRAIN, || Some(uniform_word(symbols, LONGEST, &mut bits)));
    for (_, class) in &mut words {
        if unit(&mut bits) < noise {
            *class = 1 - *class;
        }
    }
    DamagedAutomaton { truth, given, words }
}

/// The automaton with `wrong` transitions that lead elsewhere.
fn redirected(truth: &Moore<u32>, wrong: usize, bits: &mut impl FnMut() -> u64) -> Moore<u32> {
    let states = truth.state_count();
    let mut targets: Vec<State> =
        truth.states().flat_map(|s| truth.successors(s).to_vec()).collect();
    let mut slots = vec![];
    while slots.len() < wrong {
        let slot = below(targets.len(), bits);
        if !slots.contains(&slot) {
            let other = (targets[slot].index() + 1 + below(states - 1, bits)) % states;
            targets[slot] = State(other as u32);
            slots.push(slot);
        }
    }
    Moore::new(truth.alphabet().clone(), truth.start(), truth.outputs().to_vec(), targets)
        .expect("targets are states")
}
