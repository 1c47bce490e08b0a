//! Repair: the fewest changes of a given automaton that explain labelled words.
//!
//! The code has two parts, as in [`merge`](super::merge()): the changes, then the labels that the
//! changed automaton gets wrong. So a change is made only if it explains more labels than it costs, and
//! what no word shows stays as it was given.

use super::criterion::Criterion;
use super::local_search::LocalSearch;
use super::origin::OriginalAutomaton;
use super::{DescriptionLength, MergeConfig, MergeError, PrefixTree, Support, check};
use crate::alphabet::Symbol;
use crate::moore::{Moore, State};

/// The result of a repair.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// The changed automaton. The states keep their numbers; added states come last, and states may
    /// have become unreachable or equivalent.
    pub automaton: Moore<u32>,
    /// What was changed, in the order of states and symbols.
    pub changes: Vec<AutomatonChange>,
    /// Labels that the given automaton contradicts.
    pub errors_before: usize,
    /// Labels that the changed automaton contradicts.
    pub errors: usize,
    /// Number of labels.
    pub labels: usize,
    /// How many words end in each state.
    pub words_ending: Vec<usize>,
    /// How often the words take each transition: `[states, symbols]`.
    pub words_taking: Vec<usize>,
}

/// A change of an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomatonChange {
    /// A transition leads to another state.
    Target {
        /// Where it starts.
        state: State,
        /// What it reads.
        symbol: Symbol,
        /// Its target in the given automaton.
        before: State,
        /// Its target now.
        now: State,
    },
    /// A state has another class.
    Class {
        /// The state.
        state: State,
        /// Its class in the given automaton.
        before: u32,
        /// Its class now.
        now: u32,
    },
    /// A state was added.
    Added {
        /// The state.
        state: State,
    },
}

/// Changes an automaton as far as the words of `tree` demand it. The tree must have the symbols of the
/// automaton and all of its classes. Deterministic.
pub fn repair(
    from: &Moore<u32>,
    tree: &PrefixTree,
    config: &MergeConfig,
) -> Result<Repaired, MergeError> {
    check(from.alphabet(), tree, config)?;
    let length = DescriptionLength::of(tree);
    let criterion = Criterion::new(&length, config.labels);
    let given = Table::of(from);
    let swapped = given.swapped(from.start());
    let origin = OriginalAutomaton {
        table: swapped.targets.clone(),
        classes: swapped.classes,
        states: from.state_count(),
    };
    let (targets, steps) = (swapped.targets, config.steps);
    let mut search = LocalSearch::from_origin(tree, criterion, targets, Some(origin), steps);
    search.descend();
    let errors = search.cost.errors;
    let origin = search.origin.as_ref().expect("the search has an origin");
    let mut found = Table {
        symbols: tree.symbols,
        classes: search.chosen_classes(origin),
        targets: search.table.clone(),
    };
    found.forget_unseen(origin, tree);
    let found = found.swapped(from.start());
    let changes = changes(&given, &found);
    let targets = found.targets.iter().map(|&state| State(state)).collect();
    let automaton = Moore::new(from.alphabet().clone(), from.start(), found.classes, targets)
        .expect("targets of a table are its states");
    let Support { ending: words_ending, taking: words_taking } = Support::of(&automaton, tree);
    Ok(Repaired {
        automaton,
        changes,
        errors_before: errors_of(from, tree),
        errors,
        labels: tree.labels,
        words_ending,
        words_taking,
    })
}

/// The targets `[states, symbols]` and the classes of an automaton.
struct Table {
    symbols: usize,
    classes: Vec<u32>,
    targets: Vec<u32>,
}

impl Table {
    fn of(automaton: &Moore<u32>) -> Table {
        let states = automaton.states();
        Table {
            symbols: automaton.alphabet().len(),
            classes: automaton.outputs().to_vec(),
            targets: states.flat_map(|s| automaton.successors(s)).map(|s| s.0).collect(),
        }
    }

    /// Undoes the changes of transitions that no word takes, and removes added states that no
    /// transition reaches any more.
    fn forget_unseen(&mut self, origin: &OriginalAutomaton, tree: &PrefixTree) {
        let mut states = vec![];
        tree.run(0, &self.targets, &mut states);
        let mut taken = vec![false; self.targets.len()];
        for node in 1..tree.prefixes() as u32 {
            let from = states[tree.parent(node) as usize] as usize;
            taken[from * self.symbols + tree.last_symbol(node) as usize] = true;
        }
        for (slot, target) in self.targets.iter_mut().enumerate().filter(|&(slot, _)| !taken[slot])
        {
            *target = origin.table[slot];
        }
        for state in (origin.states..self.classes.len()).rev() {
            if self.targets.contains(&(state as u32)) {
                continue;
            }
            self.classes.remove(state);
            self.targets.drain(state * self.symbols..(state + 1) * self.symbols);
            self.targets.iter_mut().for_each(|to| *to -= u32::from(*to as usize > state));
        }
    }

    /// The same automaton with the numbers 0 and `other` exchanged: the search starts in state 0.
    fn swapped(&self, other: State) -> Table {
        let number = |state: u32| match state {
            0 => other.0,
            state if state == other.0 => 0,
            state => state,
        };
        let order = (0..self.classes.len()).map(|state| number(state as u32) as usize);
        let row = |state: usize| &self.targets[state * self.symbols..(state + 1) * self.symbols];
        Table {
            symbols: self.symbols,
            classes: order.clone().map(|state| self.classes[state]).collect(),
            targets: order.flat_map(row).map(|&to| number(to)).collect(),
        }
    }
}

/// The labels that an automaton contradicts.
fn errors_of(automaton: &Moore<u32>, tree: &PrefixTree) -> usize {
    let mut states = vec![];
    tree.run(automaton.start().0, &Table::of(automaton).targets, &mut states);
    let wrong = |(node, &state): (usize, &u32)| -> usize {
        let class = *automaton.output(State(state));
        let labels = tree.labels_of(node as u32).iter().filter(|&&(label, _)| label != class);
        labels.map(|&(_, count)| count as usize).sum()
    };
    states.iter().enumerate().map(wrong).sum()
}

fn changes(given: &Table, found: &Table) -> Vec<AutomatonChange> {
    let mut changes = vec![];
    for (state, (&before, &now)) in given.classes.iter().zip(&found.classes).enumerate() {
        let number = State(state as u32);
        if before != now {
            changes.push(AutomatonChange::Class { state: number, before, now });
        }
        for symbol in 0..given.symbols {
            let slot = state * given.symbols + symbol;
            let (before, now) = (State(given.targets[slot]), State(found.targets[slot]));
            if before != now {
                let symbol = Symbol(symbol as u32);
                changes.push(AutomatonChange::Target { state: number, symbol, before, now });
            }
        }
    }
    let added = given.classes.len()..found.classes.len();
    changes.extend(added.map(|state| AutomatonChange::Added { state: State(state as u32) }));
    changes
}

#[cfg(test)]
mod tests {
    use super::super::tests::{noisy_words, random_automaton};
    use super::super::{LabelTrust, LabelledWords};
    use super::*;
    use crate::compare::distinguish;
    use crate::random::stream;

    /// The automaton with some transitions redirected, such that it is another language.
    fn damaged(truth: &Moore<u32>, wrong: usize, bits: &mut impl FnMut() -> u64) -> Moore<u32> {
        let (states, symbols) = (truth.state_count() as u64, truth.alphabet().len() as u64);
        let mut targets: Vec<State> =
            truth.states().flat_map(|s| truth.successors(s).to_vec()).collect();
        let mut slots: Vec<usize> = vec![];
        while slots.len() < wrong {
            let slot = (bits() % (states * symbols)) as usize;
            if !slots.contains(&slot) {
                slots.push(slot);
                targets[slot] = State(
                    ((u64::from(targets[slot].0) + 1 + bits() % (states - 1)) % states) as u32,
                );
            }
        }
        let outputs = truth.outputs().to_vec();
        Moore::new(truth.alphabet().clone(), truth.start(), outputs, targets).unwrap()
    }

    fn exact(found: &Moore<u32>, truth: &Moore<u32>) -> bool {
        distinguish(found, truth).unwrap().is_none()
    }

    /// How many of some damaged automata are repaired exactly.
    fn repaired(noise: f64) -> (usize, usize) {
        let (mut right, mut all) = (0, 0);
        for seed in 0..20 {
            let mut bits = stream(seed);
            let truth = random_automaton(10 + seed as usize, 2 + seed as usize % 3, &mut bits);
            let given = damaged(&truth, 1 + seed as usize % 3, &mut bits);
            let (tree, _) = noisy_words(&truth, 2_000, 20, noise, &mut bits);
            let found = repair(&given, &tree, &MergeConfig::default()).unwrap();
            all += 1;
            right += usize::from(exact(&found.automaton, &truth));
        }
        (right, all)
    }

    #[test]
    fn wrong_transitions_are_repaired_from_clean_labels() {
        let (right, all) = repaired(0.0);
        assert!(10 * right >= 9 * all, "{right} of {all}");
    }

    #[test]
    fn wrong_transitions_are_repaired_though_a_twentieth_of_the_labels_is_wrong() {
        let (right, all) = repaired(0.05);
        assert!(10 * right >= 7 * all, "{right} of {all}");
    }

    #[test]
    fn a_right_automaton_is_not_changed_by_wrong_labels() {
        for seed in 0..10 {
            let mut bits = stream(seed);
            let truth = random_automaton(12, 3, &mut bits);
            let (tree, wrong) = noisy_words(&truth, 1_000, 15, 0.05, &mut bits);
            let found = repair(&truth, &tree, &MergeConfig::default()).unwrap();
            assert_eq!((&found.automaton, found.errors), (&truth, wrong), "seed {seed}");
            assert_eq!((found.changes, found.errors_before), (vec![], wrong));
        }
    }

    #[test]
    fn an_automaton_with_exchanged_classes_is_no_better_for_it() {
        let mut bits = stream(4);
        let truth = random_automaton(6, 2, &mut bits);
        let (tree, _) = noisy_words(&truth, 1_500, 14, 0.0, &mut bits);
        let given = truth.map_outputs(|&class| 1 - class);
        let found = repair(&given, &tree, &MergeConfig::default()).unwrap();
        assert!(found.errors < tree.labels / 2, "{found:?}");
        assert_eq!(found.errors_before, tree.labels);
    }

    #[test]
    fn equivalent_states_are_left_alone() {
        let mut bits = stream(9);
        let truth = random_automaton(8, 2, &mut bits);
        let (tree, _) = noisy_words(&truth, 3_000, 14, 0.0, &mut bits);
        // State 8 is a copy of state 5, and every second transition to state 5 leads there.
        let mut targets: Vec<State> =
            truth.states().flat_map(|s| truth.successors(s).to_vec()).collect();
        targets.extend(truth.successors(State(5)).to_vec());
        let to: Vec<usize> = (0..targets.len()).filter(|&slot| targets[slot] == State(5)).collect();
        to.iter().step_by(2).for_each(|&slot| targets[slot] = State(8));
        let mut outputs = truth.outputs().to_vec();
        outputs.push(outputs[5]);
        let slot = (0..16).find(|slot| !to.contains(slot)).expect("another transition");
        targets[slot] = State((targets[slot].0 + 3) % 8);
        let given = Moore::new(truth.alphabet().clone(), truth.start(), outputs, targets).unwrap();
        let config = MergeConfig { labels: LabelTrust::Trusted, ..MergeConfig::default() };
        let found = repair(&given, &tree, &config).unwrap();
        assert!(exact(&found.automaton, &truth));
        assert_eq!(found.changes.len(), 1, "{:?}", found.changes);
    }

    #[test]
    fn what_no_word_takes_is_as_it_was_and_unused_states_are_removed() {
        let mut words = LabelledWords::default();
        words.add([Symbol(0)], 1);
        let tree = PrefixTree::new(2, 2, &words).unwrap();
        let table = vec![0, 0, 1, 1, 1, 1];
        let origin = OriginalAutomaton { table, classes: vec![0, 1, 1], states: 2 };
        let targets = vec![1, 2, 1, 1, 1, 1];
        let mut found = Table { symbols: 2, classes: vec![0, 1, 1], targets };
        found.forget_unseen(&origin, &tree);
        assert_eq!((found.targets, found.classes), (vec![1, 0, 1, 1], vec![0, 1]));
    }

    #[test]
    fn every_change_is_shown_by_a_word() {
        for seed in 0..60 {
            let mut bits = stream(100 + seed);
            let truth = random_automaton(4 + seed as usize % 5, 2, &mut bits);
            let given = damaged(&truth, 3, &mut bits);
            let (tree, _) = noisy_words(&truth, 40, 8, 0.0, &mut bits);
            let found = repair(&given, &tree, &MergeConfig::default()).unwrap();
            assert!(found.errors <= found.errors_before, "seed {seed}");
            assert_eq!(found.errors, errors_of(&found.automaton, &tree), "seed {seed}");
            for change in &found.changes {
                if let AutomatonChange::Target { state, symbol, .. } = change {
                    let slot = state.index() * 2 + symbol.0 as usize;
                    assert!(found.words_taking[slot] > 0, "seed {seed}: {change:?}");
                }
            }
        }
    }

    #[test]
    fn states_keep_their_numbers_whichever_is_the_start() {
        let mut bits = stream(3);
        let truth = random_automaton(9, 2, &mut bits);
        let (tree, _) = noisy_words(&truth, 2_000, 15, 0.0, &mut bits);
        let table = Table::of(&truth);
        let moved = table.swapped(State(5));
        let targets = |table: &Table| table.targets.iter().map(|&s| State(s)).collect::<Vec<_>>();
        let alphabet = truth.alphabet().clone();
        let mut wrong = targets(&moved);
        let (slot, right) = (2, moved.targets[2]);
        wrong[slot] = State((right + 4) % 9);
        let given = Moore::new(alphabet, State(5), moved.classes.clone(), wrong).unwrap();
        let found = repair(&given, &tree, &MergeConfig::default()).unwrap();
        let change = AutomatonChange::Target {
            state: State(1),
            symbol: Symbol(0),
            before: State((right + 4) % 9),
            now: State(right),
        };
        assert_eq!(found.changes, [change]);
        assert!(exact(&found.automaton, &truth));
    }

    #[test]
    fn a_wrong_class_and_a_missing_state_are_found() {
        let mut bits = stream(8);
        let truth = random_automaton(7, 2, &mut bits);
        let (tree, _) = noisy_words(&truth, 3_000, 14, 0.0, &mut bits);
        let mut outputs = truth.outputs().to_vec();
        outputs[4] = 1 - outputs[4];
        let targets: Vec<State> =
            truth.states().flat_map(|s| truth.successors(s).to_vec()).collect();
        let given = Moore::new(truth.alphabet().clone(), State(0), outputs, targets).unwrap();
        let found = repair(&given, &tree, &MergeConfig::default()).unwrap();
        let class = *truth.output(State(4));
        let change = AutomatonChange::Class { state: State(4), before: 1 - class, now: class };
        assert_eq!(found.changes, [change]);

        // The last state is joined with another one of its class.
        let last = truth.state_count() as u32 - 1;
        let same = |s: &State| s.0 < last && truth.output(*s) == truth.output(State(last));
        let other = truth.states().find(same).expect("another state of the class");
        let to = |s: &State| if s.0 == last { other } else { *s };
        let targets = truth.states().flat_map(|s| truth.successors(s)).map(to).collect();
        let outputs = truth.outputs().to_vec();
        let given =
            Moore::new(truth.alphabet().clone(), State(0), outputs, targets).unwrap().minimize();
        let found = repair(&given, &tree, &MergeConfig::default()).unwrap();
        assert!(exact(&found.automaton, &truth), "{:?}", found.changes);
        let added = |change: &AutomatonChange| matches!(change, AutomatonChange::Added { .. });
        assert_eq!(found.changes.iter().filter(|change| added(change)).count(), 1);
    }
}
