//! How the training sequences support an automaton: a transition that none of them takes is a guess.

use crate::extract::json::NamedAutomaton;
use crate::format::plural;
use crate::notation::table_with_support;
use crate::render::transition_table::RowSupport;
use crate::task::Dataset;
use srnn_automata::{Moore, Symbol};

/// The rows of all states, in their order.
pub(super) fn support(automaton: &Moore<u32>, set: &Dataset) -> Vec<RowSupport> {
    let row = RowSupport { ends: 0, taken: vec![0; automaton.alphabet().len()] };
    let mut rows = vec![row; automaton.state_count()];
    for sequence in &set.sequences {
        let mut state = automaton.start();
        for &token in &sequence.tokens {
            rows[state.index()].taken[token as usize] += 1;
            state = automaton.next(state, Symbol(token));
        }
        rows[state.index()].ends += 1;
    }
    rows
}

/// The table of an automaton with its support, and a legend if something is not supported.
pub(super) fn text(named: &NamedAutomaton, rows: &[RowSupport]) -> String {
    let [untaken, silent] = unsupported(rows);
    let mut text = table_with_support(named, rows);
    if untaken > 0 {
        text += &format!(
            "in parentheses: {} that no training sequence takes, so where they lead is a guess\n",
            plural(untaken, "transition")
        );
    }
    if silent > 0 {
        text += &format!(
            "no training sequence ends in {}, so the class there is a guess\n",
            plural(silent, "state")
        );
    }
    text
}

/// The number of transitions that no sequence takes, and of states where none ends.
pub(super) fn unsupported(rows: &[RowSupport]) -> [usize; 2] {
    let untaken = rows.iter().flat_map(|row| &row.taken).filter(|&&n| n == 0).count();
    [untaken, rows.iter().filter(|row| row.ends == 0).count()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::dataset;
    use srnn_automata::{Alphabet, State};

    #[test]
    fn visits_and_ends_are_counted_along_every_sequence() {
        let set = dataset(&[("ab", "x"), ("", "y"), ("aa", "y")]);
        let names = set.alphabet.clone();
        let alphabet = Alphabet::new(names).unwrap();
        let turn = |s: State, a: Symbol| State((s.0 + 1 - a.0) % 2);
        let automaton = Moore::from_fn(alphabet, 2, |s| s.0, turn).unwrap();
        let rows = support(&automaton, &set);
        assert_eq!(rows[0], RowSupport { ends: 2, taken: vec![2, 0] });
        assert_eq!(rows[1], RowSupport { ends: 1, taken: vec![1, 1] });
        assert_eq!(unsupported(&rows), [1, 0]);
    }
}
