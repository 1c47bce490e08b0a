//! Products, Boolean operations, and equivalence of two automata.
//!
//! Symbols are matched by name, so the alphabets may have different orders. Results use the order of
//! the first automaton.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use crate::alphabet::{Alphabet, Symbol, Word};
use crate::moore::{Dfa, Moore, State};

/// Two automata over different symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlphabetMismatch {
    /// Names that only the first automaton has.
    pub only_left: Vec<String>,
    /// Names that only the second automaton has.
    pub only_right: Vec<String>,
}

/// The product automaton with combined outputs: only its reachable states, in canonical order.
pub fn product<A, B, C>(
    left: &Moore<A>,
    right: &Moore<B>,
    combine: impl Fn(&A, &B) -> C,
) -> Result<Moore<C>, AlphabetMismatch> {
    let mut pairs = PairSearch::new(left, right)?;
    let mut table = Vec::new();
    let mut outputs = Vec::new();
    while let Some((_, (p, q))) = pairs.visit(|_, _, to| table.push(to)) {
        outputs.push(combine(left.output(p), right.output(q)));
    }
    Ok(Moore::new(left.alphabet().clone(), State(0), outputs, table)
        .expect("every target is a numbered pair"))
}

/// The union of two languages.
pub fn union(left: &Dfa, right: &Dfa) -> Result<Dfa, AlphabetMismatch> {
    product(left, right, |&a, &b| a || b)
}

/// The intersection of two languages.
pub fn intersection(left: &Dfa, right: &Dfa) -> Result<Dfa, AlphabetMismatch> {
    product(left, right, |&a, &b| a && b)
}

/// The words of the first language that are not in the second.
pub fn difference(left: &Dfa, right: &Dfa) -> Result<Dfa, AlphabetMismatch> {
    product(left, right, |&a, &b| a && !b)
}

/// The words of exactly one of the languages.
pub fn symmetric_difference(left: &Dfa, right: &Dfa) -> Result<Dfa, AlphabetMismatch> {
    product(left, right, |&a, &b| a != b)
}

/// The shortest word on which the outputs differ; the first in the alphabet order of `left` if there
/// are several. `None` if the automata are equivalent.
pub fn distinguish<O: Eq>(
    left: &Moore<O>,
    right: &Moore<O>,
) -> Result<Option<Word>, AlphabetMismatch> {
    let mut pairs = PairSearch::new(left, right)?;
    let mut parents: Vec<(State, Symbol)> = vec![(State(0), Symbol(0))];
    let mut transitions = Vec::new();
    loop {
        let visit = pairs.visit(|from, symbol, to| transitions.push((from, symbol, to)));
        let Some((number, (p, q))) = visit else { return Ok(None) };
        if left.output(p) != right.output(q) {
            return Ok(Some(word_to(number, &parents)));
        }
        for (from, symbol, to) in transitions.drain(..) {
            if to.index() == parents.len() {
                parents.push((from, symbol));
            }
        }
    }
}

impl fmt::Display for AlphabetMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the automata have different symbols: only the first has {:?}, only the second {:?}; \
             rename the symbols or add the missing ones",
            self.only_left, self.only_right
        )
    }
}

impl Error for AlphabetMismatch {}

/// Breadth-first search over pairs of states, numbered in the order of discovery.
struct PairSearch<'a, A, B> {
    left: &'a Moore<A>,
    right: &'a Moore<B>,
    /// The symbol of `right` with the same name, for each symbol of `left`.
    right_symbols: Vec<Symbol>,
    numbers: HashMap<(State, State), State>,
    pairs: Vec<(State, State)>,
    visited: usize,
}

impl<'a, A, B> PairSearch<'a, A, B> {
    fn new(left: &'a Moore<A>, right: &'a Moore<B>) -> Result<Self, AlphabetMismatch> {
        let start = (left.start(), right.start());
        Ok(PairSearch {
            left,
            right,
            right_symbols: same_names(left.alphabet(), right.alphabet())?,
            numbers: HashMap::from([(start, State(0))]),
            pairs: vec![start],
            visited: 0,
        })
    }

    /// Visits the next pair and calls `transition` with its transitions in alphabet order.
    fn visit(
        &mut self,
        mut transition: impl FnMut(State, Symbol, State),
    ) -> Option<(State, (State, State))> {
        let &(p, q) = self.pairs.get(self.visited)?;
        let from = State(self.visited as u32);
        self.visited += 1;
        for symbol in self.left.alphabet().symbols() {
            let to =
                (self.left.next(p, symbol), self.right.next(q, self.right_symbols[symbol.index()]));
            let next =
                State(u32::try_from(self.pairs.len()).expect("the number of pairs fits 32 bits"));
            let number = *self.numbers.entry(to).or_insert(next);
            if number == next {
                self.pairs.push(to);
            }
            transition(from, symbol, number);
        }
        Some((from, (p, q)))
    }
}

fn same_names(left: &Alphabet, right: &Alphabet) -> Result<Vec<Symbol>, AlphabetMismatch> {
    let missing = |from: &Alphabet, names: &HashMap<&str, Symbol>| -> Vec<String> {
        from.names().iter().filter(|n| !names.contains_key(n.as_str())).cloned().collect()
    };
    let (lefts, rights) = (index(left), index(right));
    let (only_left, only_right) = (missing(left, &rights), missing(right, &lefts));
    if !only_left.is_empty() || !only_right.is_empty() {
        return Err(AlphabetMismatch { only_left, only_right });
    }
    Ok(left.names().iter().map(|name| rights[name.as_str()]).collect())
}

fn index(alphabet: &Alphabet) -> HashMap<&str, Symbol> {
    alphabet.symbols().map(|symbol| (alphabet.name(symbol), symbol)).collect()
}

fn word_to(number: State, parents: &[(State, Symbol)]) -> Word {
    let mut word = Word::new();
    let mut at = number;
    while at.0 > 0 {
        let (from, symbol) = parents[at.index()];
        word.push(symbol);
        at = from;
    }
    word.reverse();
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{random_dfa, stream};
    use crate::words::shortlex;

    fn pair(seed: u64) -> (Dfa, Dfa) {
        let mut bits = stream(seed);
        let alphabet = Alphabet::of_chars(&"abc"[..1 + seed as usize % 3]).unwrap();
        let mut make = || {
            let states = 1 + (bits() % 6) as u32;
            random_dfa(states, &alphabet, 0.5, &mut bits)
        };
        (make(), make())
    }

    #[test]
    fn boolean_operations_agree_with_their_meaning_on_every_short_word() {
        for (left, right) in (0..300).map(pair) {
            let operations = [
                union(&left, &right).unwrap(),
                intersection(&left, &right).unwrap(),
                difference(&left, &right).unwrap(),
                symmetric_difference(&left, &right).unwrap(),
                left.complement(),
            ];
            for word in shortlex(left.alphabet().len() as u32, 6) {
                let (a, b) = (left.accepts(&word), right.accepts(&word));
                let meanings = [a || b, a && b, a && !b, a != b, !a];
                assert_eq!(operations.each_ref().map(|dfa| dfa.accepts(&word)), meanings);
            }
        }
    }

    #[test]
    fn laws_of_sets_hold_for_languages() {
        for (left, right) in (0..300).map(pair) {
            let equal = |a: Dfa, b: Dfa| assert_eq!(distinguish(&a, &b), Ok(None));
            let (not_left, not_right) = (left.complement(), right.complement());
            equal(
                union(&left, &right).unwrap().complement(),
                intersection(&not_left, &not_right).unwrap(),
            );
            equal(difference(&left, &right).unwrap(), intersection(&left, &not_right).unwrap());
            equal(union(&left, &right).unwrap(), union(&right, &left).unwrap());
            equal(intersection(&left, &left).unwrap(), left.clone());
            equal(not_left.complement(), left.clone());
            let empty = intersection(&left, &not_left).unwrap();
            assert_eq!(empty.shortest_accepted(), None);
        }
    }

    #[test]
    fn the_distinguishing_word_is_the_first_that_differs() {
        let mut equal = 0;
        for (left, right) in (0..2000).map(pair) {
            // Automata of 6 + 6 states differ, if at all, within 11 symbols.
            let words = shortlex(left.alphabet().len() as u32, 11);
            let first = words.into_iter().find(|w| left.accepts(w) != right.accepts(w));
            equal += usize::from(first.is_none());
            let found = distinguish(&left, &right).unwrap();
            assert_eq!(found, first);
            let odd = symmetric_difference(&left, &right).unwrap();
            assert_eq!(odd.shortest_accepted(), found);
        }
        assert!(equal > 50, "only {equal} equal pairs were tried");
    }

    #[test]
    fn automata_are_equal_to_their_minimal_form_and_differ_after_one_flip() {
        for seed in 0..100 {
            let mut bits = stream(seed);
            let alphabet = Alphabet::of_chars("ab").unwrap();
            let dfa = random_dfa(40, &alphabet, 0.5, &mut bits);
            let minimal = dfa.minimize();
            assert_eq!(distinguish(&dfa, &minimal), Ok(None));
            let flip = State((bits() % minimal.state_count() as u64) as u32);
            let flipped = (0..).map(State).zip(minimal.outputs()).map(|(s, &o)| o ^ (s == flip));
            let table = minimal.states().flat_map(|s| minimal.successors(s).to_vec()).collect();
            let other = Dfa::new(alphabet, State(0), flipped.collect(), table).unwrap();
            let word = distinguish(&minimal, &other).unwrap().expect("one state differs");
            assert_eq!(minimal.run(&word), flip);
            assert_eq!(word, minimal.access_words()[flip.index()].clone().unwrap());
        }
    }

    #[test]
    fn symbols_are_matched_by_name() {
        let ab = Alphabet::of_chars("ab").unwrap();
        let ba = Alphabet::of_chars("ba").unwrap();
        let ends_in_a = |alphabet: &Alphabet| {
            let a = alphabet.symbol("a").unwrap();
            let next = |_, symbol| State(u32::from(symbol == a));
            Dfa::from_fn(alphabet.clone(), 2, |s| s.0 == 1, next).unwrap()
        };
        assert_eq!(distinguish(&ends_in_a(&ab), &ends_in_a(&ba)), Ok(None));
        assert_eq!(intersection(&ends_in_a(&ab), &ends_in_a(&ba)).unwrap(), ends_in_a(&ab));
    }

    #[test]
    fn different_symbols_are_refused_by_name() {
        let make = |chars| {
            Dfa::from_fn(Alphabet::of_chars(chars).unwrap(), 1, |_| true, |s, _| s).unwrap()
        };
        let error = distinguish(&make("abc"), &make("cd")).unwrap_err();
        assert_eq!(error.only_left, ["a", "b"]);
        assert_eq!(error.only_right, ["d"]);
        assert!(error.to_string().contains(r#"only the first has ["a", "b"]"#));
    }
}
