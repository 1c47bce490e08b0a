//! Complete deterministic automata with an output per state.
//!
//! A [`Dfa`] is a [`Moore`] machine with Boolean outputs. The table is complete by construction. An
//! automaton with unknown transitions is a [`Partial`](crate::Partial).

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

use crate::alphabet::{Alphabet, Symbol, Word};

/// A state: its row in the transition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State(pub u32);

/// A complete automaton with an output of type `O` at every state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Moore<O> {
    alphabet: Alphabet,
    start: State,
    outputs: Vec<O>,
    /// `[states, symbols]`, row-major.
    table: Vec<State>,
}

/// An acceptor: the output of a state says whether words that end there are in the language.
pub type Dfa = Moore<bool>;

/// Why some parts are not an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidAutomaton {
    /// There are no states.
    NoStates,
    /// More states than a [`State`] can number.
    TooManyStates {
        /// The number of outputs.
        states: usize,
    },
    /// The start is not a state.
    Start {
        /// The start.
        start: State,
        /// The number of states.
        states: usize,
    },
    /// The table does not have one entry per state and symbol.
    TableSize {
        /// The number of entries.
        entries: usize,
        /// The number of states.
        states: usize,
        /// The number of symbols.
        symbols: usize,
    },
    /// The target of a transition is not a state.
    Target {
        /// The source of the transition.
        from: State,
        /// The name of its symbol.
        symbol: String,
        /// Its target.
        to: State,
        /// The number of states.
        states: usize,
    },
}

/// Iterator of [`Moore::path`].
#[derive(Clone, Debug)]
pub struct StatePath<'a, O> {
    automaton: &'a Moore<O>,
    rest: std::slice::Iter<'a, Symbol>,
    next: Option<State>,
}

impl State {
    /// The state as an array index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl<O> Moore<O> {
    /// An automaton with one output per state and the transition table `[states, symbols]`,
    /// row-major.
    pub fn new(
        alphabet: Alphabet,
        start: State,
        outputs: Vec<O>,
        table: Vec<State>,
    ) -> Result<Moore<O>, InvalidAutomaton> {
        check_sizes(&alphabet, start, outputs.len(), table.len())?;
        check_targets(&alphabet, outputs.len(), table.iter().copied().map(Some))?;
        Ok(Moore { alphabet, start, outputs, table })
    }

    /// An automaton with `states` states, start state 0, and the given output and transition
    /// functions.
    pub fn from_fn(
        alphabet: Alphabet,
        states: u32,
        output: impl Fn(State) -> O,
        next: impl Fn(State, Symbol) -> State,
    ) -> Result<Moore<O>, InvalidAutomaton> {
        let outputs = (0..states).map(|s| output(State(s))).collect();
        let pairs = (0..states).flat_map(|s| alphabet.symbols().map(move |a| (State(s), a)));
        let table = pairs.map(|(s, a)| next(s, a)).collect();
        Moore::new(alphabet, State(0), outputs, table)
    }

    /// The names of the symbols.
    pub fn alphabet(&self) -> &Alphabet {
        &self.alphabet
    }

    /// The number of states.
    pub fn state_count(&self) -> usize {
        self.outputs.len()
    }

    /// All states in order.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = State> + use<O> {
        (0..self.outputs.len() as u32).map(State)
    }

    /// The start state.
    pub fn start(&self) -> State {
        self.start
    }

    /// The output of a state.
    ///
    /// # Panics
    /// If the state is not a state of this automaton.
    pub fn output(&self, state: State) -> &O {
        &self.outputs[state.index()]
    }

    /// The outputs of all states in order.
    pub fn outputs(&self) -> &[O] {
        &self.outputs
    }

    /// The successor of a state under a symbol.
    ///
    /// # Panics
    /// If the state or the symbol is not part of this automaton.
    pub fn next(&self, state: State, symbol: Symbol) -> State {
        self.successors(state)[symbol.index()]
    }

    /// The successors of a state, in alphabet order.
    ///
    /// # Panics
    /// If the state is not a state of this automaton.
    pub fn successors(&self, state: State) -> &[State] {
        let symbols = self.alphabet.len();
        &self.table[state.index() * symbols..][..symbols]
    }

    /// The state in which a word ends.
    pub fn run(&self, word: &[Symbol]) -> State {
        word.iter().fold(self.start, |state, &symbol| self.next(state, symbol))
    }

    /// The output at the end of a word.
    pub fn output_of(&self, word: &[Symbol]) -> &O {
        self.output(self.run(word))
    }

    /// The states of a run: the start state, then one state per symbol.
    pub fn path<'a>(&'a self, word: &'a [Symbol]) -> StatePath<'a, O> {
        StatePath { automaton: self, rest: word.iter(), next: Some(self.start) }
    }

    /// The reachable states, in breadth-first order from the start.
    pub fn reachable(&self) -> Vec<State> {
        self.search().into_iter().map(|visit| visit.state).collect()
    }

    /// The first shortest word that leads to each state; `None` if the state is unreachable.
    pub fn access_words(&self) -> Vec<Option<Word>> {
        let mut words: Vec<Option<Word>> = vec![None; self.state_count()];
        for visit in self.search() {
            words[visit.state.index()] = Some(match visit.parent {
                None => Word::new(),
                Some((from, symbol)) => {
                    let mut word = words[from.index()].clone().expect("parents are visited first");
                    word.push(symbol);
                    word
                }
            });
        }
        words
    }

    /// The first shortest word whose output satisfies `wanted`.
    pub fn shortest_word(&self, wanted: impl Fn(&O) -> bool) -> Option<Word> {
        let visits = self.search();
        let found = visits.iter().find(|visit| wanted(self.output(visit.state)))?;
        let mut parents = vec![None; self.state_count()];
        for visit in &visits {
            parents[visit.state.index()] = visit.parent;
        }
        let back =
            std::iter::successors(parents[found.state.index()], |&(from, _)| parents[from.index()]);
        let mut word: Word = back.map(|(_, symbol)| symbol).collect();
        word.reverse();
        Some(word)
    }

    /// The same automaton with `f` applied to its outputs.
    pub fn map_outputs<P>(&self, f: impl Fn(&O) -> P) -> Moore<P> {
        Moore {
            alphabet: self.alphabet.clone(),
            start: self.start,
            outputs: self.outputs.iter().map(f).collect(),
            table: self.table.clone(),
        }
    }

    fn search(&self) -> Vec<Visit> {
        breadth_first(self.state_count(), self.start, |state| {
            self.alphabet.symbols().map(move |a| (a, self.next(state, a)))
        })
    }
}

impl Dfa {
    /// Whether a word is in the language.
    pub fn accepts(&self, word: &[Symbol]) -> bool {
        *self.output_of(word)
    }

    /// Whether words that end in this state are in the language.
    pub fn is_accepting(&self, state: State) -> bool {
        *self.output(state)
    }

    /// The automaton of the complement language.
    pub fn complement(&self) -> Dfa {
        self.map_outputs(|&accepting| !accepting)
    }

    /// The first shortest word of the language; `None` if the language is empty.
    pub fn shortest_accepted(&self) -> Option<Word> {
        self.shortest_word(|&accepting| accepting)
    }
}

impl<O> Iterator for StatePath<'_, O> {
    type Item = State;

    fn next(&mut self) -> Option<State> {
        let state = self.next?;
        self.next = self.rest.next().map(|&symbol| self.automaton.next(state, symbol));
        Some(state)
    }
}

impl fmt::Display for InvalidAutomaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidAutomaton::NoStates => write!(f, "an automaton needs at least one state"),
            InvalidAutomaton::TooManyStates { states } => {
                write!(f, "{states} states are more than the {} supported", u32::MAX)
            }
            InvalidAutomaton::Start { start, states } => {
                write!(f, "start state {} is not among the {states} states", start.0)
            }
            InvalidAutomaton::TableSize { entries, states, symbols } => write!(
                f,
                "{entries} transitions given where {states} states and {symbols} symbols need {}",
                states.saturating_mul(*symbols)
            ),
            InvalidAutomaton::Target { from, symbol, to, states } => write!(
                f,
                "state {} goes with symbol {symbol:?} to state {}, but there are {states} states",
                from.0, to.0
            ),
        }
    }
}

impl Error for InvalidAutomaton {}

/// A state found by breadth-first search, and the transition that found it.
pub(crate) struct Visit {
    pub state: State,
    pub parent: Option<(State, Symbol)>,
}

/// The reachable states, ordered by their first shortest words.
pub(crate) fn breadth_first<I: Iterator<Item = (Symbol, State)>>(
    states: usize,
    start: State,
    edges: impl Fn(State) -> I,
) -> Vec<Visit> {
    let mut seen = vec![false; states];
    seen[start.index()] = true;
    let mut queue = VecDeque::from([Visit { state: start, parent: None }]);
    let mut visits = Vec::new();
    while let Some(visit) = queue.pop_front() {
        for (symbol, to) in edges(visit.state) {
            if !std::mem::replace(&mut seen[to.index()], true) {
                queue.push_back(Visit { state: to, parent: Some((visit.state, symbol)) });
            }
        }
        visits.push(visit);
    }
    visits
}

pub(crate) fn check_sizes(
    alphabet: &Alphabet,
    start: State,
    states: usize,
    entries: usize,
) -> Result<(), InvalidAutomaton> {
    let symbols = alphabet.len();
    if states == 0 {
        return Err(InvalidAutomaton::NoStates);
    }
    if u32::try_from(states).is_err() {
        return Err(InvalidAutomaton::TooManyStates { states });
    }
    if start.index() >= states {
        return Err(InvalidAutomaton::Start { start, states });
    }
    if states.checked_mul(symbols) != Some(entries) {
        return Err(InvalidAutomaton::TableSize { entries, states, symbols });
    }
    Ok(())
}

pub(crate) fn check_targets(
    alphabet: &Alphabet,
    states: usize,
    table: impl Iterator<Item = Option<State>>,
) -> Result<(), InvalidAutomaton> {
    for (entry, target) in table.enumerate() {
        if let Some(to) = target.filter(|to| to.index() >= states) {
            return Err(InvalidAutomaton::Target {
                from: State((entry / alphabet.len()) as u32),
                symbol: alphabet.names()[entry % alphabet.len()].clone(),
                to,
                states,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits() -> Alphabet {
        Alphabet::of_chars("01").unwrap()
    }

    /// Counts ones modulo `n`; the output is the count.
    fn counter(n: u32) -> Moore<u32> {
        Moore::from_fn(bits(), n, |s| s.0, |s, a| State((s.0 + a.0) % n)).unwrap()
    }

    #[test]
    fn a_run_visits_one_state_more_than_there_are_symbols() {
        let word = bits().word_of_chars("1101").unwrap();
        let automaton = counter(3);
        let path: Vec<u32> = automaton.path(&word).map(|s| s.0).collect();
        assert_eq!(path, [0, 1, 2, 2, 0]);
        assert_eq!(*automaton.output_of(&word), 0);
        assert_eq!(automaton.path(&[]).count(), 1);
    }

    #[test]
    fn invalid_parts_are_refused_with_the_reason() {
        let make = |start, outputs: &[bool], table: &[u32]| {
            let table = table.iter().map(|&s| State(s)).collect();
            Dfa::new(bits(), State(start), outputs.to_vec(), table).unwrap_err().to_string()
        };
        assert_eq!(make(0, &[], &[]), "an automaton needs at least one state");
        assert_eq!(make(2, &[true, false], &[0; 4]), "start state 2 is not among the 2 states");
        assert_eq!(
            make(0, &[true], &[0; 3]),
            "3 transitions given where 1 states and 2 symbols need 2"
        );
        assert_eq!(
            make(0, &[true, false], &[0, 1, 1, 2]),
            "state 1 goes with symbol \"1\" to state 2, but there are 2 states"
        );
    }

    #[test]
    fn shortest_words_are_first_in_length_then_alphabet_order() {
        let word = counter(4).shortest_word(|&count| count == 3).unwrap();
        assert_eq!(bits().format_word(&word), "111");
        assert_eq!(counter(4).shortest_word(|&count| count == 9), None);
        assert_eq!(counter(4).map_outputs(|_| false).shortest_accepted(), None);
        let start = counter(4).map_outputs(|&count| count == 0);
        assert_eq!(start.shortest_accepted(), Some(vec![]));
    }

    #[test]
    fn access_words_lead_to_their_states() {
        let automaton = counter(5);
        for (state, word) in automaton.states().zip(automaton.access_words()) {
            assert_eq!(automaton.run(&word.unwrap()), state);
        }
        let stuck = Dfa::from_fn(bits(), 2, |_| true, |s, _| s).unwrap();
        assert_eq!(stuck.access_words(), [Some(vec![]), None]);
    }

    #[test]
    fn with_an_empty_alphabet_only_the_start_is_reachable() {
        let none = Alphabet::new(vec![]).unwrap();
        let dfa = Dfa::new(none, State(0), vec![true], vec![]).unwrap();
        assert!(dfa.accepts(&[]));
        assert_eq!(dfa.reachable(), [State(0)]);
    }
}
