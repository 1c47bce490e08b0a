//! Complete deterministic automata with an output per state.
//!
//! A [`Dfa`] is the case of two outputs; several classes are a [`Moore`] over their labels. The
//! table is complete by construction: what is not known belongs into a [`Partial`](crate::Partial).

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
    /// `[states, symbols]`, row by row.
    table: Vec<State>,
}

/// An acceptor: the output says whether a word that ends here is in the language.
pub type Dfa = Moore<bool>;

/// Why parts do not make an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidAutomaton {
    /// There is no state, so there can be no start.
    NoStates,
    /// More states than a [`State`] can number.
    TooManyStates {
        /// How many outputs were given.
        states: usize,
    },
    /// The start is not one of the states.
    Start {
        /// The start given.
        start: State,
        /// How many states there are.
        states: usize,
    },
    /// The table does not hold one entry for every state and symbol.
    TableSize {
        /// How many entries were given.
        entries: usize,
        /// How many states there are.
        states: usize,
        /// How many symbols there are.
        symbols: usize,
    },
    /// A transition leads to no state.
    Target {
        /// Where the transition starts.
        from: State,
        /// The name of its symbol.
        symbol: String,
        /// Where it leads.
        to: State,
        /// How many states there are.
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
    /// The state's row, for indexing.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl<O> Moore<O> {
    /// An automaton from its parts: one output per state, and `table` as `[states, symbols]`, row
    /// by row.
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

    /// An automaton of `states` states, computed entry by entry, started in state 0.
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

    /// How many states there are.
    pub fn state_count(&self) -> usize {
        self.outputs.len()
    }

    /// All states in order.
    pub fn states(&self) -> impl DoubleEndedIterator<Item = State> + use<O> {
        (0..self.outputs.len() as u32).map(State)
    }

    /// Where every word begins.
    pub fn start(&self) -> State {
        self.start
    }

    /// The output of a state.
    ///
    /// # Panics
    /// If the state is not of this automaton.
    pub fn output(&self, state: State) -> &O {
        &self.outputs[state.index()]
    }

    /// The outputs of all states in order.
    pub fn outputs(&self) -> &[O] {
        &self.outputs
    }

    /// Where a symbol leads.
    ///
    /// # Panics
    /// If the state or the symbol is not of this automaton.
    pub fn next(&self, state: State, symbol: Symbol) -> State {
        self.successors(state)[symbol.index()]
    }

    /// Where each symbol leads, in alphabet order.
    ///
    /// # Panics
    /// If the state is not of this automaton.
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

    /// The states of a run: the start, then one per symbol.
    pub fn path<'a>(&'a self, word: &'a [Symbol]) -> StatePath<'a, O> {
        StatePath { automaton: self, rest: word.iter(), next: Some(self.start) }
    }

    /// The reachable states, breadth first from the start in alphabet order.
    pub fn reachable(&self) -> Vec<State> {
        self.search().into_iter().map(|visit| visit.state).collect()
    }

    /// For every state the first shortest word that leads there; `None` where none does.
    pub fn access_words(&self) -> Vec<Option<Word>> {
        let mut words: Vec<Option<Word>> = vec![None; self.state_count()];
        for visit in self.search() {
            words[visit.state.index()] = Some(match visit.reason {
                None => Word::new(),
                Some((from, symbol)) => {
                    let mut word = words[from.index()].clone().expect("visited before");
                    word.push(symbol);
                    word
                }
            });
        }
        words
    }

    /// The first shortest word whose output is wanted.
    pub fn shortest_word(&self, wanted: impl Fn(&O) -> bool) -> Option<Word> {
        let visits = self.search();
        let found = visits.iter().find(|visit| wanted(self.output(visit.state)))?;
        let mut reasons = vec![None; self.state_count()];
        for visit in &visits {
            reasons[visit.state.index()] = visit.reason;
        }
        let back =
            std::iter::successors(reasons[found.state.index()], |&(from, _)| reasons[from.index()]);
        let mut word: Word = back.map(|(_, symbol)| symbol).collect();
        word.reverse();
        Some(word)
    }

    /// The same transitions with other outputs.
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

    /// Whether words that end here are in the language.
    pub fn is_accepting(&self, state: State) -> bool {
        *self.output(state)
    }

    /// The automaton of all other words.
    pub fn complement(&self) -> Dfa {
        self.map_outputs(|&accepting| !accepting)
    }

    /// The first shortest word of the language; `None` is the proof that it is empty.
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

/// A state met by a breadth-first search, and the transition that met it first.
pub(crate) struct Visit {
    pub state: State,
    pub reason: Option<(State, Symbol)>,
}

/// States in the order in which their first shortest words come.
pub(crate) fn breadth_first<I: Iterator<Item = (Symbol, State)>>(
    states: usize,
    start: State,
    edges: impl Fn(State) -> I,
) -> Vec<Visit> {
    let mut seen = vec![false; states];
    seen[start.index()] = true;
    let mut queue = VecDeque::from([Visit { state: start, reason: None }]);
    let mut visits = Vec::new();
    while let Some(visit) = queue.pop_front() {
        for (symbol, to) in edges(visit.state) {
            if !std::mem::replace(&mut seen[to.index()], true) {
                queue.push_back(Visit { state: to, reason: Some((visit.state, symbol)) });
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
    fn construction_names_what_is_wrong() {
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
    fn access_words_lead_where_they_say() {
        let automaton = counter(5);
        for (state, word) in automaton.states().zip(automaton.access_words()) {
            assert_eq!(automaton.run(&word.unwrap()), state);
        }
        let stuck = Dfa::from_fn(bits(), 2, |_| true, |s, _| s).unwrap();
        assert_eq!(stuck.access_words(), [Some(vec![]), None]);
    }

    #[test]
    fn an_empty_alphabet_leaves_the_start() {
        let none = Alphabet::new(vec![]).unwrap();
        let dfa = Dfa::new(none, State(0), vec![true], vec![]).unwrap();
        assert!(dfa.accepts(&[]));
        assert_eq!(dfa.reachable(), [State(0)]);
    }
}
