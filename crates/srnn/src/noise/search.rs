//! Simplification of an automaton by local search: states are replaced by others and transitions are
//! redirected as long as the description length decreases.
//!
//! The search starts from an automaton of a network, which may have hundreds of states that each
//! memorise one wrong label. It is greedy and deterministic, and stops when its budget is used up.

use super::{DescriptionLength, PrefixTree};
use srnn_automata::{Moore, State};

/// The maximum cost of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBudget {
    /// Automaton steps, summed over all automata tried and all prefixes. Default 5·10⁸: a second or
    /// two.
    pub steps: u64,
}

impl Default for SearchBudget {
    fn default() -> Self {
        SearchBudget { steps: 500_000_000 }
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SimplifiedAutomaton {
    /// The automaton; it is minimal.
    pub automaton: Moore<u32>,
    /// Labels it gets wrong.
    pub errors: usize,
    /// The description length in bits.
    pub bits: f64,
}

/// The automaton with the smallest description length that local search finds from `automaton`.
pub fn simplify(
    automaton: &Moore<u32>,
    tree: &PrefixTree,
    budget: SearchBudget,
) -> SimplifiedAutomaton {
    let mut search = MdlSearch::new(automaton, tree, budget);
    loop {
        let before = search.best.bits;
        search.replace_states();
        search.redirect_transitions();
        if search.best.bits >= before || search.runs_left == 0 {
            break;
        }
    }
    search.result(automaton)
}

/// A start state and a table `[states, symbols]`. Unreachable states keep their rows.
#[derive(Clone)]
struct CandidateTable {
    start: u32,
    next: Vec<u32>,
}

/// The cost of a table.
#[derive(Clone, Copy)]
struct Cost {
    bits: f64,
    errors: usize,
}

struct MdlSearch<'a> {
    tree: &'a PrefixTree,
    length: DescriptionLength,
    /// Runs over all prefixes that the budget still allows.
    runs_left: u64,
    table: CandidateTable,
    best: Cost,
    /// Scratch: the state after every prefix, label counts `[states, classes]`, and reached states.
    states: Vec<u32>,
    counts: Vec<u32>,
    reached: Vec<bool>,
}

impl<'a> MdlSearch<'a> {
    fn new(automaton: &Moore<u32>, tree: &'a PrefixTree, budget: SearchBudget) -> MdlSearch<'a> {
        let next = automaton.states().flat_map(|s| automaton.successors(s)).map(|s| s.0).collect();
        let n = automaton.state_count();
        let mut search = MdlSearch {
            tree,
            length: DescriptionLength::of(tree),
            runs_left: (budget.steps / tree.prefixes() as u64).max(1),
            table: CandidateTable { start: automaton.start().0, next },
            best: Cost { bits: f64::INFINITY, errors: tree.labels },
            states: vec![],
            counts: vec![0; n * tree.classes],
            reached: vec![false; n],
        };
        let first = search.table.clone();
        search.best = search.cost(&first);
        search
    }

    /// The cost if every state outputs the most frequent label of the words that end there.
    fn cost(&mut self, table: &CandidateTable) -> Cost {
        self.runs_left = self.runs_left.saturating_sub(1);
        self.tree.run(table.start, &table.next, &mut self.states);
        self.tree.count_labels(&self.states, &mut self.counts);
        let right = self.counts.chunks(self.tree.classes);
        let right: u32 = right.map(|counts| counts.iter().max().copied().unwrap_or(0)).sum();
        let errors = self.tree.labels - right as usize;
        let reachable = self.reachable(table).len();
        Cost { bits: self.length.bits(reachable, errors), errors }
    }

    /// The reachable states, breadth first.
    fn reachable(&mut self, table: &CandidateTable) -> Vec<u32> {
        self.reached.fill(false);
        self.reached[table.start as usize] = true;
        let mut found = vec![table.start];
        let mut next = 0;
        while next < found.len() {
            let row = found[next] as usize * self.tree.symbols;
            for &to in &table.next[row..][..self.tree.symbols] {
                if !std::mem::replace(&mut self.reached[to as usize], true) {
                    found.push(to);
                }
            }
            next += 1;
        }
        found
    }

    /// For every state, least visited first: redirects all its incoming transitions to the state
    /// with the lowest cost, if that is an improvement.
    fn replace_states(&mut self) {
        for from in self.least_visited_first() {
            let current = self.table.clone();
            let reachable = self.reachable(&current);
            if !reachable.contains(&from) {
                continue;
            }
            let others = reachable.into_iter().filter(|&to| to != from);
            self.take_best(others.map(|to| replaced(&current, from, to)));
        }
    }

    /// For every transition: redirects it to the target with the lowest cost, if that is an
    /// improvement.
    fn redirect_transitions(&mut self) {
        let current = self.table.clone();
        for from in self.reachable(&current) {
            for symbol in 0..self.tree.symbols {
                let current = self.table.clone();
                let entry = from as usize * self.tree.symbols + symbol;
                let targets = self.reachable(&current).into_iter();
                let others = targets.filter(|&to| to != current.next[entry]);
                self.take_best(others.map(|to| {
                    let mut other = current.clone();
                    other.next[entry] = to;
                    other
                }));
            }
        }
    }

    /// Takes the best of some tables, if it is better than the current one.
    fn take_best(&mut self, tables: impl Iterator<Item = CandidateTable>) {
        for table in tables {
            if self.runs_left == 0 {
                return;
            }
            let cost = self.cost(&table);
            if cost.bits < self.best.bits {
                (self.best, self.table) = (cost, table);
            }
        }
    }

    fn least_visited_first(&mut self) -> Vec<u32> {
        let current = self.table.clone();
        self.tree.run(current.start, &current.next, &mut self.states);
        let mut visits = vec![0usize; self.reached.len()];
        for &state in &self.states {
            visits[state as usize] += 1;
        }
        let mut order = self.reachable(&current);
        order.sort_by_key(|&state| (visits[state as usize], state));
        order
    }

    /// The minimal automaton. A state in which no word ends keeps the class it has in `origin`.
    fn result(mut self, origin: &Moore<u32>) -> SimplifiedAutomaton {
        let table = self.table.clone();
        self.cost(&table);
        let class = |(state, counts): (State, &[u32])| {
            let most = counts.iter().max().copied().unwrap_or(0);
            let before = *origin.output(state);
            match counts[before as usize] == most {
                true => before,
                false => counts.iter().position(|&n| n == most).expect("the maximum") as u32,
            }
        };
        let outputs = origin.states().zip(self.counts.chunks(self.tree.classes)).map(class);
        let outputs = outputs.collect();
        let next = table.next.iter().map(|&s| State(s)).collect();
        let automaton = Moore::new(origin.alphabet().clone(), State(table.start), outputs, next)
            .expect("the number of states is unchanged");
        let automaton = automaton.minimize();
        let bits = self.length.bits(automaton.state_count(), self.best.errors);
        SimplifiedAutomaton { automaton, errors: self.best.errors, bits }
    }
}

fn replaced(table: &CandidateTable, from: u32, to: u32) -> CandidateTable {
    let replace = |state: u32| if state == from { to } else { state };
    CandidateTable {
        start: replace(table.start),
        next: table.next.iter().map(|&state| replace(state)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::prefix_tree;
    use super::super::tests::{noisy, truth};
    use super::*;
    use crate::task::tomita::Grammar;

    /// The other two accept hardly any short word: fewer than there are wrong labels.
    const BALANCED: &[Grammar] = Grammar::ALL.split_at(2).1;

    #[test]
    fn equivalent_states_replace_each_other() {
        for &grammar in BALANCED {
            let (truth, (set, _)) = (truth(grammar), noisy(grammar, 9, 0.05, 1));
            let n = truth.state_count() as u32;
            // Three copies of every state; each symbol leads to the next copy.
            let copies = Moore::from_fn(
                truth.alphabet().clone(),
                3 * n,
                |s| *truth.output(State(s.0 % n)),
                |s, a| State((truth.next(State(s.0 % n), a).0 + n * (s.0 / n + 1)) % (3 * n)),
            );
            let tree = prefix_tree(&[&set]);
            let mut search = MdlSearch::new(&copies.unwrap(), &tree, SearchBudget::default());
            let before = search.table.clone();
            assert!(search.reachable(&before).len() > n as usize);
            search.replace_states();
            let after = search.table.clone();
            assert_eq!(search.reachable(&after).len(), n as usize, "{grammar:?}");
        }
    }

    #[test]
    fn a_wrong_transition_is_redirected() {
        let (truth, (set, flipped)) = (truth(Grammar::T4), noisy(Grammar::T4, 9, 0.05, 1));
        // The last state of the truth is a sink; here it is left.
        let wrong = |s: State, a| if s.0 == 3 { State(2) } else { truth.next(s, a) };
        let alphabet = truth.alphabet().clone();
        let start = Moore::from_fn(alphabet, 4, |s| *truth.output(s), wrong).unwrap();
        let tree = prefix_tree(&[&set]);
        let mut search = MdlSearch::new(&start, &tree, SearchBudget::default());
        assert!(search.best.errors > flipped.len());
        search.redirect_transitions();
        assert_eq!(search.best.errors, flipped.len());
    }
}
