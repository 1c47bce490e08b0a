//! The automaton in the file is the minimal form of the cells: `state` maps cells to states as a
//! homomorphism, every state is reached, and no two states are equivalent.

use crate::certificate::{Automaton, Certificate};
use crate::refused::Refused;
use std::collections::BTreeMap;

/// Checks all of it.
pub fn check(certificate: &Certificate) -> Result<(), Refused> {
    check_shape(certificate).map_err(Refused::Automaton)?;
    check_homomorphism(certificate).map_err(Refused::Automaton)?;
    check_reached(&certificate.automaton).map_err(Refused::Automaton)?;
    check_minimal(&certificate.automaton).map_err(Refused::Automaton)
}

fn check_shape(certificate: &Certificate) -> Result<(), String> {
    let Automaton { start, transitions, outputs } = &certificate.automaton;
    let arch = &certificate.model.arch;
    let states = outputs.len();
    if transitions.len() != states || *start >= states {
        let rows = transitions.len();
        return Err(format!("start {start}, {rows} rows of transitions, {states} outputs"));
    }
    let symbols = arch.input.symbols;
    let whole = |row: &Vec<usize>| row.len() == symbols && row.iter().all(|&next| next < states);
    if let Some(state) = transitions.iter().position(|row| !whole(row)) {
        return Err(format!("transitions of state {state} are {:?}", transitions[state]));
    }
    if let Some(state) = outputs.iter().position(|&output| output >= arch.classes) {
        return Err(format!("output {} of state {state}: no such class", outputs[state]));
    }
    match certificate.cells.iter().position(|cell| cell.state >= states) {
        Some(cell) => Err(format!("cell {cell} has no state of the {states}")),
        None => Ok(()),
    }
}

fn check_homomorphism(certificate: &Certificate) -> Result<(), String> {
    let Certificate { automaton, cells, .. } = certificate;
    let state = |cell: usize| cells[cell].state;
    if state(certificate.start) != automaton.start {
        return Err(format!("starts in {}, the cells in {}", automaton.start, certificate.start));
    }
    for (index, cell) in cells.iter().enumerate() {
        if cell.decision != automaton.outputs[cell.state] {
            return Err(format!("cell {index} does not decide as its state {}", cell.state));
        }
        for (symbol, &next) in cell.successors.iter().enumerate() {
            if state(next) != automaton.transitions[cell.state][symbol] {
                let here = format!("cell {index} leads to cell {next} on symbol {symbol}");
                return Err(format!("{here}, which its state {} does not follow", cell.state));
            }
        }
    }
    Ok(())
}

fn check_reached(automaton: &Automaton) -> Result<(), String> {
    let mut reached = vec![false; automaton.outputs.len()];
    let mut waiting = vec![automaton.start];
    while let Some(state) = waiting.pop() {
        if !std::mem::replace(&mut reached[state], true) {
            waiting.extend(&automaton.transitions[state]);
        }
    }
    match reached.iter().position(|reached| !reached) {
        Some(state) => Err(format!("no word reaches state {state}")),
        None => Ok(()),
    }
}

/// Splits states by output, then by where symbols lead, until nothing splits: states that stay
/// together are equivalent.
fn check_minimal(automaton: &Automaton) -> Result<(), String> {
    let mut class = numbered(automaton.outputs.iter().map(|&output| vec![output]));
    loop {
        let rows = automaton.transitions.iter().enumerate();
        let split = numbered(rows.map(|(state, row)| {
            [class[state]].into_iter().chain(row.iter().map(|&next| class[next])).collect()
        }));
        if split == class {
            break;
        }
        class = split;
    }
    let mut first = BTreeMap::new();
    for (state, class) in class.into_iter().enumerate() {
        if let Some(other) = first.insert(class, state) {
            return Err(format!("states {other} and {state} are equivalent: it is not minimal"));
        }
    }
    Ok(())
}

/// Each key's number in the order of first appearance.
fn numbered(keys: impl Iterator<Item = Vec<usize>>) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    let mut number = |key| {
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    };
    keys.map(&mut number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automaton(transitions: &[[usize; 2]], outputs: &[usize]) -> Automaton {
        let transitions = transitions.iter().map(|row| row.to_vec()).collect();
        Automaton { start: 0, transitions, outputs: outputs.to_vec() }
    }

    #[test]
    fn states_that_differ_only_after_two_symbols_are_told_apart() {
        let chain = automaton(&[[1, 0], [2, 0], [3, 0], [3, 3]], &[0, 0, 0, 1]);
        assert_eq!(check_minimal(&chain), Ok(()));
        assert_eq!(check_reached(&chain), Ok(()));
    }

    #[test]
    fn equivalent_states_and_states_that_no_word_reaches_are_named() {
        let doubled = automaton(&[[1, 2], [2, 1], [1, 2]], &[0, 1, 1]);
        assert_eq!(check_reached(&doubled), Ok(()));
        let refused = check_minimal(&doubled).unwrap_err();
        assert!(refused.contains("states 1 and 2"), "{refused}");
        let lonely = automaton(&[[0, 1], [1, 0], [1, 1]], &[0, 1, 0]);
        assert_eq!(check_minimal(&lonely), Ok(()));
        let refused = check_reached(&lonely).unwrap_err();
        assert!(refused.contains("state 2"), "{refused}");
    }
}
