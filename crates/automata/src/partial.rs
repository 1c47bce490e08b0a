//! Automata with unknown transitions.
//!
//! Counting transitions leaves pairs of state and symbol that were never observed. [`Partial`] keeps
//! them as unknown. There are two conversions to a complete automaton: [`Partial::complete`] leads
//! them to a sink, [`Partial::to_moore`] fails and lists them.

use std::error::Error;
use std::fmt;

use crate::alphabet::{Alphabet, Symbol};
use crate::moore::{InvalidAutomaton, Moore, State, breadth_first, check_sizes, check_targets};

/// A deterministic automaton whose transitions may be unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partial<O> {
    alphabet: Alphabet,
    start: State,
    outputs: Vec<O>,
    /// `[states, symbols]`, row-major; `None` is unknown.
    table: Vec<Option<State>>,
}

/// An unknown transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnknownTransition {
    /// Its source.
    pub state: State,
    /// Its symbol.
    pub symbol: Symbol,
}

/// The unknown transitions that are reachable, so that the automaton is incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The transitions, in breadth-first order.
    pub unknown: Vec<UnknownTransition>,
    /// The names of their symbols, in the same order.
    pub names: Vec<String>,
}

impl<O> Partial<O> {
    /// An automaton with one output per state and the transition table `[states, symbols]`,
    /// row-major.
    pub fn new(
        alphabet: Alphabet,
        start: State,
        outputs: Vec<O>,
        table: Vec<Option<State>>,
    ) -> Result<Partial<O>, InvalidAutomaton> {
        check_sizes(&alphabet, start, outputs.len(), table.len())?;
        check_targets(&alphabet, outputs.len(), table.iter().copied())?;
        Ok(Partial { alphabet, start, outputs, table })
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

    /// The successor of a state under a symbol; `None` if it is unknown.
    ///
    /// # Panics
    /// If the state or the symbol is not part of this automaton.
    pub fn next(&self, state: State, symbol: Symbol) -> Option<State> {
        self.successors(state)[symbol.index()]
    }

    /// The successors of a state, in alphabet order.
    ///
    /// # Panics
    /// If the state is not a state of this automaton.
    pub fn successors(&self, state: State) -> &[Option<State>] {
        let symbols = self.alphabet.len();
        &self.table[state.index() * symbols..][..symbols]
    }

    /// The state in which a word ends; `None` if its run takes an unknown transition.
    pub fn run(&self, word: &[Symbol]) -> Option<State> {
        word.iter().try_fold(self.start, |state, &symbol| self.next(state, symbol))
    }

    /// The reachable states, in breadth-first order from the start.
    pub fn reachable(&self) -> Vec<State> {
        let visits = breadth_first(self.state_count(), self.start, |state| {
            self.alphabet.symbols().filter_map(move |a| Some((a, self.next(state, a)?)))
        });
        visits.into_iter().map(|visit| visit.state).collect()
    }

    /// The unknown transitions of the reachable states, in breadth-first order.
    pub fn unknown(&self) -> Vec<UnknownTransition> {
        let states = self.reachable().into_iter();
        let pairs = states.flat_map(|state| {
            self.alphabet.symbols().map(move |symbol| UnknownTransition { state, symbol })
        });
        pairs.filter(|pair| self.next(pair.state, pair.symbol).is_none()).collect()
    }

    /// The same automaton with `f` applied to its outputs.
    pub fn map_outputs<P>(&self, f: impl Fn(&O) -> P) -> Partial<P> {
        Partial {
            alphabet: self.alphabet.clone(),
            start: self.start,
            outputs: self.outputs.iter().map(f).collect(),
            table: self.table.clone(),
        }
    }

    /// Whether every word has a run, that is, no reachable transition is unknown.
    pub fn is_complete(&self) -> bool {
        self.unknown().is_empty()
    }
}

impl<O: Clone> Partial<O> {
    /// The automaton without its unreachable states; the others keep their order.
    pub fn trim(&self) -> Partial<O> {
        let mut keep = self.reachable();
        keep.sort_unstable();
        self.renumber(&keep)
    }

    /// The complete automaton in which unknown transitions lead to an added sink state with the output
    /// `sink`. No state is added if no transition is unknown.
    pub fn complete(&self, sink: O) -> Moore<O> {
        let mut outputs = self.outputs.clone();
        let mut table = self.table.clone();
        if table.contains(&None) {
            outputs.push(sink);
            table.resize(outputs.len() * self.alphabet.len(), None);
        }
        let sink = State(outputs.len() as u32 - 1);
        let table = table.into_iter().map(|to| to.unwrap_or(sink)).collect();
        Moore::new(self.alphabet.clone(), self.start, outputs, table).expect("the parts are valid")
    }

    /// The complete automaton without unreachable states; the others keep their order. Fails if a
    /// reachable transition is unknown.
    pub fn to_moore(&self) -> Result<Moore<O>, Incomplete> {
        let unknown = self.unknown();
        if !unknown.is_empty() {
            let names = unknown.iter().map(|u| self.alphabet.name(u.symbol).to_string()).collect();
            return Err(Incomplete { unknown, names });
        }
        let part = self.trim();
        let table = part.table.into_iter().map(|to| to.expect("no transition is unknown"));
        Ok(Moore::new(part.alphabet, part.start, part.outputs, table.collect())
            .expect("the parts are valid"))
    }

    fn renumber(&self, keep: &[State]) -> Partial<O> {
        let mut new_number = vec![None; self.state_count()];
        for (new, old) in keep.iter().enumerate() {
            new_number[old.index()] = Some(State(new as u32));
        }
        let rows = keep.iter().flat_map(|&old| self.successors(old));
        Partial {
            alphabet: self.alphabet.clone(),
            start: new_number[self.start.index()].expect("the start is reachable"),
            outputs: keep.iter().map(|&old| self.output(old).clone()).collect(),
            table: rows.map(|to| to.and_then(|to| new_number[to.index()])).collect(),
        }
    }
}

impl<O: Clone> From<&Moore<O>> for Partial<O> {
    fn from(moore: &Moore<O>) -> Partial<O> {
        let rows = moore.states().flat_map(|s| moore.successors(s));
        Partial {
            alphabet: moore.alphabet().clone(),
            start: moore.start(),
            outputs: moore.outputs().to_vec(),
            table: rows.map(|&to| Some(to)).collect(),
        }
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        write!(f, "{} transitions are unknown: ", self.unknown.len())?;
        for (i, (pair, name)) in self.unknown.iter().zip(&self.names).take(SHOWN).enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}state {} with symbol {name:?}", pair.state.0)?;
        }
        if self.unknown.len() > SHOWN {
            write!(f, ", …")?;
        }
        write!(f, "; observe more words or complete it with a sink")
    }
}

impl Error for Incomplete {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::shortlex;

    /// 0 -a-> 1, 1 -b-> 0; state 2 is unreachable and has no known transitions.
    fn alternating() -> Partial<bool> {
        let table = [None, Some(1), Some(0), None, None, None];
        Partial::new(
            Alphabet::of_chars("ba").unwrap(),
            State(0),
            vec![true, false, true],
            table.map(|t| t.map(State)).to_vec(),
        )
        .unwrap()
    }

    #[test]
    fn words_that_take_an_unknown_transition_have_no_run() {
        let automaton = alternating();
        let run = |text| automaton.run(&automaton.alphabet().word_of_chars(text).unwrap());
        assert_eq!(run("abab"), Some(State(0)));
        assert_eq!(run("aa"), None);
    }

    #[test]
    fn only_reachable_unknown_transitions_are_listed() {
        let error = alternating().to_moore().unwrap_err();
        let pairs: Vec<_> = error.unknown.iter().map(|u| (u.state.0, u.symbol.0)).collect();
        assert_eq!(pairs, [(0, 0), (1, 1)]);
        assert!(error.to_string().contains("state 0 with symbol \"b\", state 1 with symbol \"a\""));
        assert!(!alternating().is_complete());
    }

    #[test]
    fn completion_adds_a_sink_with_the_given_output_and_keeps_known_runs() {
        let partial = alternating();
        for sink in [true, false] {
            let whole = partial.complete(sink);
            assert_eq!(whole.state_count(), 4);
            for word in shortlex(2, 6) {
                let expected = partial.run(&word).map_or(sink, |s| *partial.output(s));
                assert_eq!(whole.accepts(&word), expected);
            }
        }
    }

    #[test]
    fn an_automaton_is_complete_if_its_reachable_transitions_are_known() {
        let table = [Some(2), None, Some(0)].map(|t| t.map(State)).to_vec();
        let outputs = vec!["a", "b", "c"];
        let alphabet = Alphabet::of_chars("x").unwrap();
        let partial = Partial::new(alphabet, State(0), outputs, table).unwrap();
        assert!(partial.is_complete());
        let moore = partial.to_moore().unwrap();
        assert_eq!(moore.outputs(), ["a", "c"]);
        assert_eq!(moore.successors(State(0)), [State(1)]);
        assert_eq!(Partial::from(&moore), partial.trim());
        assert_eq!(Partial::from(&moore).complete("sink"), moore);
    }
}
