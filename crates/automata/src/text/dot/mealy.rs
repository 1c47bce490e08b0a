//! Mealy machines as Moore machines that remember the last output.

use super::super::{TextEdge, TextError, error, too_many};
use crate::limits::Limits;
use crate::moore::State;
use crate::partial::Partial;
use std::collections::HashMap;

/// The outputs of edges.
pub(super) struct EdgeOutputs {
    pub edges: Vec<TextEdge>,
    /// The output of each edge.
    pub of: Vec<u32>,
    /// The names of the outputs.
    pub names: Vec<String>,
}

/// The Moore machine whose states are pairs of a state and the last output, as far as they are
/// reachable, in breadth-first order. The output of the start is empty.
pub(super) fn to_moore(
    machine: &Partial<()>,
    outputs: &EdgeOutputs,
    limits: &Limits,
) -> Result<Partial<String>, TextError> {
    let given = table(machine, outputs)?;
    let symbols = machine.alphabet().len();
    // The last output is `names.len()` before the first one.
    let first = (machine.start().0, outputs.names.len() as u32);
    let mut numbers = HashMap::from([(first, 0u32)]);
    let mut states = vec![first];
    let mut next = vec![];
    let mut at = 0;
    while at < states.len() {
        let from = State(states[at].0);
        for (symbol, to) in machine.successors(from).iter().enumerate() {
            let pair = to.zip(given[from.index() * symbols + symbol]);
            let number = pair.map(|(to, output)| {
                *numbers.entry((to.0, output)).or_insert_with(|| {
                    states.push((to.0, output));
                    states.len() as u32 - 1
                })
            });
            next.push(number.map(State));
        }
        if states.len() > limits.states || next.len() > limits.entries {
            return Err(too_many(1, "pairs of a state and an output", limits.states));
        }
        at += 1;
    }
    let name = |&(_, output): &(u32, u32)| outputs.names.get(output as usize).cloned();
    let names = states.iter().map(|state| name(state).unwrap_or_default()).collect();
    Partial::new(machine.alphabet().clone(), State(0), names, next)
        .map_err(|e| error(1, e.to_string(), "give the text at least one state"))
}

/// The output of each transition `[states, symbols]`.
fn table(machine: &Partial<()>, outputs: &EdgeOutputs) -> Result<Vec<Option<u32>>, TextError> {
    let symbols = machine.alphabet().len();
    let mut given: Vec<Option<u32>> = vec![None; machine.state_count() * symbols];
    for (edge, &output) in outputs.edges.iter().zip(&outputs.of) {
        let entry = &mut given[edge.from as usize * symbols + edge.symbol as usize];
        if entry.is_some_and(|before| before != output) {
            let name = machine.alphabet().name(crate::alphabet::Symbol(edge.symbol));
            return Err(error(
                edge.line as usize,
                format!("a second output of the input {name:?} in the same state"),
                "make the machine deterministic first",
            ));
        }
        *entry = Some(output);
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::super::read_mealy;
    use super::*;

    #[test]
    fn the_class_of_a_word_is_the_output_of_its_last_transition() {
        let text = "digraph {
            s0 -> s1 [label=\"a/x\"]; s0 -> s0 [label=\"b/y\"];
            s1 -> s0 [label=\"a/y, b/z\"];
            __start0 [shape=none]; __start0 -> s0;
        }";
        let machine = read_mealy(text, &Limits::default()).unwrap();
        let output = |word: &str| {
            let word = machine.alphabet().word_of_chars(word).unwrap();
            machine.output(machine.run(&word).unwrap()).as_str()
        };
        let words = ["", "a", "b", "aa", "ab", "aba", "abb"];
        assert_eq!(words.map(output), ["", "x", "y", "y", "z", "x", "y"]);
        // (s0, nothing), (s1, x), (s0, y), (s0, z).
        assert_eq!(machine.state_count(), 4);
    }

    #[test]
    fn transitions_without_an_output_or_with_two_are_refused_with_their_line() {
        for (text, line, said) in [
            ("digraph {\n__start0 -> a\na -> b [label=\"x\"]}", 3, "no output"),
            (
                "digraph {\n__start0 -> a\na -> b [label=\"x/1\"]\na -> b [label=\"x/2\"]}",
                4,
                "second",
            ),
            (
                "digraph {\n__start0 -> a\na -> b [label=\"x/1\"]\na -> a [label=\"x/1\"]}",
                4,
                "second",
            ),
        ] {
            let error = read_mealy(text, &Limits::default()).unwrap_err();
            assert!(error.line == line && error.cause.contains(said), "{error}");
        }
    }
}
