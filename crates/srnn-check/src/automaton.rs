//! Checks that the automaton in the file is the minimal automaton of the cells: `state` is a
//! homomorphism from cells to states, every state is reachable, and no two states are equivalent.

use crate::certificate::{Certificate, CertifiedAutomaton};
use crate::refused::Refused;
use std::collections::BTreeMap;

/// Fails with the first property that does not hold.
pub fn check(certificate: &Certificate) -> Result<(), Refused> {
    check_shape(certificate).map_err(Refused::Automaton)?;
    check_homomorphism(certificate).map_err(Refused::Automaton)?;
    check_reachable(&certificate.automaton).map_err(Refused::Automaton)?;
    check_minimal(&certificate.automaton).map_err(Refused::Automaton)
}

fn check_shape(certificate: &Certificate) -> Result<(), String> {
    let CertifiedAutomaton { start, transitions, outputs } = &certificate.automaton;
    let arch = &certificate.model.arch;
    let states = outputs.len();
    if transitions.len() != states || *start >= states {
        let rows = transitions.len();
        return Err(format!("start {start}, {rows} rows of transitions, {states} outputs"));
    }
    let symbols = arch.input.symbols;
    let valid = |row: &Vec<usize>| row.len() == symbols && row.iter().all(|&next| next < states);
    if let Some(state) = transitions.iter().position(|row| !valid(row)) {
        return Err(format!("transitions of state {state} are {:?}", transitions[state]));
    }
    if let Some(state) = outputs.iter().position(|&output| output >= arch.classes) {
        return Err(format!("output {} of state {state} is not a class", outputs[state]));
    }
    match certificate.cells.iter().position(|cell| cell.state >= states) {
        Some(cell) => Err(format!("the state of cell {cell} is not one of the {states} states")),
        None => Ok(()),
    }
}

fn check_homomorphism(certificate: &Certificate) -> Result<(), String> {
    let Certificate { automaton, cells, .. } = certificate;
    let state = |cell: usize| cells[cell].state;
    if state(certificate.start) != automaton.start {
        return Err(format!(
            "the start state {} is not the state of the start cell {}",
            automaton.start, certificate.start
        ));
    }
    for (index, cell) in cells.iter().enumerate() {
        if cell.decision != automaton.outputs[cell.state] {
            return Err(format!(
                "cell {index} and its state {} have different classes",
                cell.state
            ));
        }
        for (symbol, &next) in cell.successors.iter().enumerate() {
            if state(next) != automaton.transitions[cell.state][symbol] {
                let here = format!("cell {index} leads to cell {next} on symbol {symbol}");
                return Err(format!(
                    "{here}, but its state {} does not lead to that cell's state",
                    cell.state
                ));
            }
        }
    }
    Ok(())
}

fn check_reachable(automaton: &CertifiedAutomaton) -> Result<(), String> {
    let mut reached = vec![false; automaton.outputs.len()];
    let mut pending = vec![automaton.start];
    while let Some(state) = pending.pop() {
        if !std::mem::replace(&mut reached[state], true) {
            pending.extend(&automaton.transitions[state]);
        }
    }
    match reached.iter().position(|reached| !reached) {
        Some(state) => Err(format!("state {state} is unreachable")),
        None => Ok(()),
    }
}

/// Partition refinement by output, then by successors. States in one final block are equivalent.
fn check_minimal(automaton: &CertifiedAutomaton) -> Result<(), String> {
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
            return Err(format!("not minimal: states {other} and {state} are equivalent"));
        }
    }
    Ok(())
}

/// For each key, the number of distinct keys before its first appearance.
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

    fn automaton(transitions: &[[usize; 2]], outputs: &[usize]) -> CertifiedAutomaton {
        let transitions = transitions.iter().map(|row| row.to_vec()).collect();
        CertifiedAutomaton { start: 0, transitions, outputs: outputs.to_vec() }
    }

    #[test]
    fn states_that_differ_only_after_two_symbols_are_not_equivalent() {
        let chain = automaton(&[[1, 0], [2, 0], [3, 0], [3, 3]], &[0, 0, 0, 1]);
        assert_eq!(check_minimal(&chain), Ok(()));
        assert_eq!(check_reachable(&chain), Ok(()));
    }

    #[test]
    fn equivalent_states_and_unreachable_states_are_named() {
        let doubled = automaton(&[[1, 2], [2, 1], [1, 2]], &[0, 1, 1]);
        assert_eq!(check_reachable(&doubled), Ok(()));
        let refused = check_minimal(&doubled).unwrap_err();
        assert!(refused.contains("states 1 and 2"), "{refused}");
        let lonely = automaton(&[[0, 1], [1, 0], [1, 1]], &[0, 1, 0]);
        assert_eq!(check_minimal(&lonely), Ok(()));
        let refused = check_reachable(&lonely).unwrap_err();
        assert!(refused.contains("state 2"), "{refused}");
    }
}
