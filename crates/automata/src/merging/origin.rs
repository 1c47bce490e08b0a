//! The automaton that a repair starts from, and the bits of what is changed in it.

use super::PrefixTree;
use super::criterion::Criterion;

/// A complete transition table with start state 0 and the class of every state. States that were added
/// to it have the row and the class of the state that they are copies of.
#[derive(Clone, Debug)]
pub(super) struct OriginalAutomaton {
    pub table: Vec<u32>,
    pub classes: Vec<u32>,
    /// States that the automaton had.
    pub states: usize,
}

/// The classes of states that give the shortest code.
pub(super) struct ClassChoice {
    pub classes: Vec<u32>,
    pub errors: usize,
    /// Bits of the changes and of the wrong labels.
    pub bits: f64,
}

impl OriginalAutomaton {
    /// Adds a copy of a state.
    pub fn add_copy(&mut self, state: usize, symbols: usize) {
        self.table.extend_from_within(state * symbols..(state + 1) * symbols);
        self.classes.push(self.classes[state]);
    }

    /// Changes the classes of states as far as it makes the code shorter. `counts` are the labels of
    /// the words that end in each state.
    pub fn choose_classes(
        &self,
        table: &[u32],
        counts: &[u32],
        tree: &PrefixTree,
        criterion: &Criterion,
    ) -> ClassChoice {
        let of_state = |state: usize| &counts[state * tree.classes..(state + 1) * tree.classes];
        let kept = |state: usize| of_state(state)[self.classes[state] as usize] as usize;
        // By decreasing gain: the most frequent class instead of the present one.
        let mut gains: Vec<(usize, usize)> = (0..self.classes.len())
            .map(|state| {
                let most = of_state(state).iter().max().copied().unwrap_or(0) as usize;
                (most - kept(state), state)
            })
            .filter(|&(gain, _)| gain > 0)
            .collect();
        gains.sort_by_key(|&(gain, state)| (std::cmp::Reverse(gain), state));
        let right: usize = (0..self.classes.len()).map(kept).sum();
        let mut errors = tree.labels - right;
        let edits = self.edits(table);
        let code = |changes: usize, errors: usize| {
            self.change_bits(edits + changes, tree) + criterion.error_bits(errors)
        };
        let mut choice =
            ClassChoice { classes: self.classes.clone(), errors, bits: code(0, errors) };
        let mut classes = self.classes.clone();
        for (changes, &(gain, state)) in gains.iter().enumerate() {
            errors -= gain;
            classes[state] = most_frequent(of_state(state));
            let bits = code(changes + 1, errors);
            if bits < choice.bits {
                choice = ClassChoice { classes: classes.clone(), errors, bits };
            }
        }
        choice
    }

    /// Changed transitions and added states.
    fn edits(&self, table: &[u32]) -> usize {
        let added = self.classes.len() - self.states;
        added + table.iter().zip(&self.table).filter(|(now, before)| now != before).count()
    }

    /// The bits that name some of all single changes, and their number.
    fn change_bits(&self, edits: usize, tree: &PrefixTree) -> f64 {
        let (states, symbols) = (self.classes.len() as f64, tree.symbols as f64);
        let possible = states * symbols * states + states * tree.classes as f64;
        edits as f64 * (possible.log2() + CHANGE_BITS)
    }
}

/// Bits of a change beside those that name it. Of the thousands of possible changes, some explain two
/// or three wrong labels by chance.
const CHANGE_BITS: f64 = 3.0;

fn most_frequent(counts: &[u32]) -> u32 {
    let most = counts.iter().max().expect("there are classes");
    counts.iter().position(|n| n == most).expect("the largest is among them") as u32
}
