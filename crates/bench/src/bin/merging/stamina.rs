//! Automata and words as in the StaMinA competition.
//!
//! Automata grow by forest fire: a new state hangs below a random state, and its transitions spread
//! from there to neighbours. Missing transitions lead to a rejecting sink. Accepted words are random
//! walks; rejected words are accepted ones with some edits.

use crate::languages::numbered;
use crate::words::{below, unit};
use srnn_automata::{Moore, Partial, State, Symbol, Word};

/// Probability of spreading along a transition, and against it.
const FORWARD: f64 = 0.31;
const BACKWARD: f64 = 0.385;
/// Probability of a self-loop, and of a second transition between the same states.
const LOOP: f64 = 0.2;
const PARALLEL: f64 = 0.2;

/// Transitions that grow: `rows[state][symbol]`.
struct ForestFire {
    rows: Vec<Vec<Option<u32>>>,
}

impl ForestFire {
    /// Adds a transition with a random unused symbol; none if only `spare` symbols are unused.
    fn connect(
        &mut self,
        (from, to): (usize, usize),
        spare: usize,
        bits: &mut impl FnMut() -> u64,
    ) -> bool {
        let row = &mut self.rows[from];
        let free: Vec<usize> = (0..row.len()).filter(|&symbol| row[symbol].is_none()).collect();
        if free.len() <= spare {
            return false;
        }
        row[free[below(free.len(), bits)]] = Some(to as u32);
        true
    }

    /// Adds a state below a random one and spreads from there. One symbol of every state is left for
    /// states below it.
    fn grow(&mut self, symbols: usize, bits: &mut impl FnMut() -> u64) {
        let new = self.rows.len();
        self.rows.push(vec![None; symbols]);
        let mut ambassador = below(new, bits);
        while !self.connect((ambassador, new), 0, bits) {
            ambassador = below(new, bits);
        }
        if unit(bits) < LOOP {
            self.connect((new, new), 1, bits);
        }
        let (mut burnt, mut next) = (vec![ambassador], 0);
        while next < burnt.len() {
            let state = burnt[next];
            next += 1;
            self.connect((new, state), 1, bits);
            if unit(bits) < PARALLEL {
                self.connect((new, state), 1, bits);
            }
            for other in 0..new {
                let along = self.rows[state].contains(&Some(other as u32));
                let against = self.rows[other].contains(&Some(state as u32));
                let spreads = along && unit(bits) < FORWARD || against && unit(bits) < BACKWARD;
                if spreads && !burnt.contains(&other) {
                    burnt.push(other);
                }
            }
        }
    }
}

/// An automaton with about this number of states, and a sink; minimal.
pub fn automaton(states: usize, symbols: usize, bits: &mut impl FnMut() -> u64) -> Moore<u32> {
    loop {
        let mut fire = ForestFire { rows: vec![vec![None; symbols]] };
        while fire.rows.len() < states {
            fire.grow(symbols, bits);
        }
        let outputs: Vec<bool> = (0..states).map(|_| unit(bits) < 0.5).collect();
        let table = fire.rows.concat().into_iter().map(|to| to.map(State)).collect();
        let partial =
            Partial::new(numbered(symbols), State(0), outputs, table).expect("targets are states");
        let found = partial.complete(false).minimize().map_outputs(|&accepts| u32::from(accepts));
        if found.state_count() >= states * 9 / 10 {
            return found;
        }
    }
}

/// A word of either class: a random walk, with edits for class 0. `None` if the attempt failed.
pub fn word(truth: &Moore<u32>, class: u32, bits: &mut impl FnMut() -> u64) -> Option<Word> {
    let mut word = walk(truth, bits)?;
    if class == 0 {
        for _ in 0..poisson(3.0, bits) {
            edit(&mut word, truth.alphabet().len(), bits);
        }
    }
    (*truth.output_of(&word) == class).then_some(word)
}

/// A random walk that ends in an accepting state. It never enters the sink.
fn walk(truth: &Moore<u32>, bits: &mut impl FnMut() -> u64) -> Option<Word> {
    let is_sink = |state: State| {
        *truth.output(state) == 0 && truth.successors(state).iter().all(|&to| to == state)
    };
    let (mut state, mut word) = (truth.start(), Word::new());
    for _ in 0..200 {
        let steps = truth.alphabet().symbols().map(|symbol| (symbol, truth.next(state, symbol)));
        let steps: Vec<(Symbol, State)> = steps.filter(|&(_, to)| !is_sink(to)).collect();
        let ends = unit(bits) * (1.0 + 2.0 * steps.len() as f64) < 1.0;
        if *truth.output(state) == 1 && ends || steps.is_empty() {
            break;
        }
        let (symbol, to) = steps[below(steps.len(), bits)];
        word.push(symbol);
        state = to;
    }
    (*truth.output(state) == 1).then_some(word)
}

fn edit(word: &mut Word, symbols: usize, bits: &mut impl FnMut() -> u64) {
    let symbol = Symbol(below(symbols, bits) as u32);
    let place = below(word.len() + 1, bits);
    match below(3, bits) {
        0 => word.insert(place, symbol),
        1 if place < word.len() => word[place] = symbol,
        2 if place < word.len() => _ = word.remove(place),
        _ => (),
    }
}

fn poisson(mean: f64, bits: &mut impl FnMut() -> u64) -> usize {
    let (limit, mut product, mut count) = ((-mean).exp(), unit(bits), 0);
    while product > limit {
        product *= unit(bits);
        count += 1;
    }
    count
}
