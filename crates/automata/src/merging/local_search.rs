//! Local search for the automaton with the minimum description length: transitions are redirected,
//! states replaced by others, and states split.

use super::PrefixTree;
use super::criterion::Criterion;
use super::graph::TransitionIndex;
use super::origin::{ClassChoice, OriginalAutomaton};

/// A complete transition table `[states, symbols]` with start state 0. Every state has the most
/// frequent class of the words that end in it, or, in a search from an [`OriginalAutomaton`], its class there
/// where that is shorter. Unreachable states keep their rows.
#[derive(Clone)]
pub(super) struct LocalSearch<'a> {
    tree: &'a PrefixTree,
    criterion: Criterion<'a>,
    pub table: Vec<u32>,
    /// What changes are counted from; `None` if the automaton itself is what counts.
    pub origin: Option<OriginalAutomaton>,
    /// The state after every prefix.
    states: Vec<u32>,
    /// Labels of the words that end in each state: `[states, classes]`.
    counts: Vec<u32>,
    /// For each slot, the prefixes whose last step it is, as ranges of `uses`.
    first_use: Vec<u32>,
    uses: Vec<u32>,
    pub cost: TableCost,
    /// Scratch: as `states` and `counts`, for a table that is tried.
    tried_states: Vec<u32>,
    tried_counts: Vec<u32>,
    changed: Vec<u32>,
    /// Steps of automata that are left.
    pub steps_left: u64,
}

/// The cost of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TableCost {
    /// By the criterion.
    pub bits: f64,
    pub errors: usize,
}

/// Smallest decrease of a description length that counts, so that rounding does not.
const LEAST_GAIN: f64 = 1e-7;

impl<'a> LocalSearch<'a> {
    pub fn new(
        tree: &'a PrefixTree,
        criterion: Criterion<'a>,
        table: Vec<u32>,
        steps: u64,
    ) -> LocalSearch<'a> {
        LocalSearch::from_origin(tree, criterion, table, None, steps)
    }

    /// A search that minimises the changes of an automaton, if one is given.
    pub fn from_origin(
        tree: &'a PrefixTree,
        criterion: Criterion<'a>,
        table: Vec<u32>,
        origin: Option<OriginalAutomaton>,
        steps: u64,
    ) -> LocalSearch<'a> {
        let mut search = LocalSearch {
            tree,
            criterion,
            table,
            origin,
            states: vec![],
            counts: vec![],
            first_use: vec![],
            uses: vec![],
            cost: TableCost { bits: f64::INFINITY, errors: tree.labels },
            tried_states: vec![],
            tried_counts: vec![],
            changed: vec![],
            steps_left: steps,
        };
        search.run_again();
        search
    }

    fn state_count(&self) -> usize {
        self.table.len() / self.tree.symbols.max(1)
    }

    /// Computes everything from the table.
    fn run_again(&mut self) {
        self.steps_left = self.steps_left.saturating_sub(self.tree.prefixes() as u64);
        self.tree.run(0, &self.table, &mut self.states);
        self.counts.resize(self.state_count().max(1) * self.tree.classes, 0);
        self.tree.count_labels(&self.states, &mut self.counts);
        self.tried_states.clone_from(&self.states);
        self.tried_counts.clone_from(&self.counts);
        self.index_uses();
        self.cost = self.cost_of(&self.counts);
    }

    fn index_uses(&mut self) {
        let slot = |node: u32| {
            let from = self.states[self.tree.parent(node) as usize] as usize;
            from * self.tree.symbols + self.tree.last_symbol(node) as usize
        };
        let nodes = 1..self.tree.prefixes() as u32;
        self.first_use.clear();
        self.first_use.resize(self.table.len() + 1, 0);
        for node in nodes.clone() {
            self.first_use[slot(node) + 1] += 1;
        }
        for i in 1..self.first_use.len() {
            self.first_use[i] += self.first_use[i - 1];
        }
        let mut free = self.first_use.clone();
        self.uses.resize(nodes.len(), 0);
        for node in nodes {
            let place = &mut free[slot(node)];
            self.uses[*place as usize] = node;
            *place += 1;
        }
    }

    /// The number of prefixes that end with a slot.
    fn use_count(&self, slot: TransitionIndex) -> u32 {
        self.first_use[slot + 1] - self.first_use[slot]
    }

    fn cost_of(&self, counts: &[u32]) -> TableCost {
        if let Some(origin) = &self.origin {
            let ClassChoice { errors, bits, .. } =
                origin.choose_classes(&self.table, counts, self.tree, &self.criterion);
            return TableCost { bits, errors };
        }
        let right = counts.chunks(self.tree.classes);
        let right: u32 = right.map(|counts| counts.iter().max().copied().unwrap_or(0)).sum();
        let errors = self.tree.labels - right as usize;
        TableCost { bits: self.criterion.bits(self.reachable().len(), errors), errors }
    }

    /// The states that transitions reach from the start.
    pub fn reachable(&self) -> Vec<u32> {
        let symbols = self.tree.symbols;
        let mut reached = vec![false; self.state_count().max(1)];
        reached[0] = true;
        let mut found = vec![0];
        let mut next = 0;
        while next < found.len() {
            for &to in &self.table[found[next] as usize * symbols..][..symbols] {
                if !std::mem::replace(&mut reached[to as usize], true) {
                    found.push(to);
                }
            }
            next += 1;
        }
        found
    }

    /// The states that a transition may be redirected to. A given automaton may need a state again that
    /// no transition leads to.
    fn targets(&self) -> Vec<u32> {
        match self.origin {
            None => self.reachable(),
            Some(_) => (0..self.state_count() as u32).collect(),
        }
    }

    /// The cost after some slots are redirected. The scratch then holds the runs; `keep` or `forget`
    /// must follow.
    fn redirected(&mut self, slots: &[TransitionIndex], to: u32) -> TableCost {
        let mut starts: Vec<u32> = vec![];
        for &slot in slots {
            let range = self.first_use[slot] as usize..self.first_use[slot + 1] as usize;
            starts.extend_from_slice(&self.uses[range]);
            self.table[slot] = to;
        }
        if slots.len() > 1 {
            starts.sort_unstable();
        }
        self.rerun(&starts);
        let counts = std::mem::take(&mut self.tried_counts);
        let cost = self.cost_of(&counts);
        self.tried_counts = counts;
        cost
    }

    /// Runs the words again that pass one of the prefixes `starts`. Where a run is back in the state
    /// it had before, the next prefixes of `starts` below are looked at only.
    fn rerun(&mut self, starts: &[u32]) {
        let (mut next, mut node) = (0, u32::MAX);
        let mut region = 0;
        let mut steps = 0;
        loop {
            if node >= region {
                while next < starts.len() && starts[next] < region {
                    next += 1;
                }
                let Some(&start) = starts.get(next) else { break };
                (node, region) = (start, self.tree.end(start));
            }
            steps += 1;
            while next < starts.len() && starts[next] <= node {
                next += 1;
            }
            let from = self.tried_states[self.tree.parent(node) as usize] as usize;
            let state = self.table[from * self.tree.symbols + self.tree.last_symbol(node) as usize];
            if state == self.states[node as usize] {
                let end = self.tree.end(node);
                node = starts.get(next).map_or(end, |&start| start.min(end));
                continue;
            }
            self.tried_states[node as usize] = state;
            self.changed.push(node);
            self.move_labels(node, state);
            node += 1;
        }
        self.steps_left = self.steps_left.saturating_sub(steps + 20);
    }

    fn move_labels(&mut self, node: u32, state: u32) {
        let (old, classes) = (self.states[node as usize] as usize, self.tree.classes);
        for &(class, n) in self.tree.labels_of(node) {
            self.tried_counts[old * classes + class as usize] -= n;
            self.tried_counts[state as usize * classes + class as usize] += n;
        }
    }

    /// Restores the scratch after `redirected`; the caller restores the table.
    fn forget(&mut self) {
        for node in self.changed.drain(..) {
            self.tried_states[node as usize] = self.states[node as usize];
        }
        self.tried_counts.clone_from(&self.counts);
    }

    fn keep(&mut self, cost: TableCost) {
        for node in self.changed.drain(..) {
            self.states[node as usize] = self.tried_states[node as usize];
        }
        self.counts.clone_from(&self.tried_counts);
        self.index_uses();
        self.cost = cost;
    }

    /// The best of some states to redirect the slots to, and the bits after it, if that is an
    /// improvement.
    fn best_target(&mut self, slots: &[TransitionIndex], targets: &[u32]) -> Option<(f64, u32)> {
        let before: Vec<u32> = slots.iter().map(|&slot| self.table[slot]).collect();
        let mut best = (self.cost.bits - LEAST_GAIN, None);
        for &to in targets {
            if before.iter().all(|&old| old == to) {
                continue;
            }
            let cost = self.redirected(slots, to);
            if cost.bits < best.0 {
                best = (cost.bits, Some(to));
            }
            slots.iter().zip(&before).for_each(|(&slot, &old)| self.table[slot] = old);
            self.forget();
            if self.steps_left == 0 {
                break;
            }
        }
        best.1.map(|to| (best.0, to))
    }

    /// Redirects the slots to the best of some states if that is an improvement.
    fn redirect_to_best(&mut self, slots: &[TransitionIndex], targets: &[u32]) -> bool {
        let Some((_, to)) = self.best_target(slots, targets) else { return false };
        let cost = self.redirected(slots, to);
        self.keep(cost);
        true
    }

    /// Finds the best target of every transition, and then redirects those that are still an
    /// improvement, the largest first: a wrong transition near the start would otherwise be made up
    /// for elsewhere.
    fn redirect_transitions(&mut self) -> bool {
        let targets = self.targets();
        let mut found: Vec<(f64, TransitionIndex, u32)> = vec![];
        for slot in 0..self.table.len() {
            if self.steps_left > 0 && self.use_count(slot) > 0 {
                let best = self.best_target(&[slot], &targets);
                found.extend(best.map(|(bits, to)| (bits, slot, to)));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        for &(_, slot, to) in &found {
            self.redirect_to_best(&[slot], &[to]);
        }
        !found.is_empty()
    }

    /// For every state, the least used first: redirects all transitions into it to the best other
    /// state if that is an improvement.
    fn replace_states(&mut self) -> bool {
        let mut visits = vec![0u32; self.state_count().max(1)];
        self.states.iter().for_each(|&state| visits[state as usize] += 1);
        let mut order = self.reachable();
        order.sort_by_key(|&state| (visits[state as usize], state));
        let mut improved = false;
        for state in order {
            let targets = self.reachable();
            if self.steps_left == 0 || state == 0 || !targets.contains(&state) {
                continue;
            }
            let slots: Vec<TransitionIndex> =
                (0..self.table.len()).filter(|&slot| self.table[slot] == state).collect();
            let others: Vec<u32> = targets.into_iter().filter(|&to| to != state).collect();
            improved |= self.redirect_to_best(&slots, &others);
        }
        improved
    }

    /// Gives one transition a state of its own, a copy of its target, whose transitions are then
    /// redirected. Tries transitions in order, the most used first, until one is an improvement.
    fn split_a_state(&mut self) -> bool {
        let mut slots: Vec<TransitionIndex> = (0..self.table.len()).collect();
        slots.sort_by_key(|&slot| std::cmp::Reverse(self.use_count(slot)));
        for slot in slots {
            if self.steps_left == 0 || self.use_count(slot) < LEAST_USES {
                return false;
            }
            let saved = self.clone();
            self.split(slot);
            if self.cost.bits < saved.cost.bits - LEAST_GAIN {
                return true;
            }
            let steps_left = self.steps_left;
            *self = saved;
            self.steps_left = steps_left;
        }
        false
    }

    fn split(&mut self, slot: TransitionIndex) {
        let symbols = self.tree.symbols;
        let new = self.state_count();
        let target = self.table[slot] as usize;
        self.table.extend_from_within(target * symbols..(target + 1) * symbols);
        self.table[slot] = new as u32;
        if let Some(origin) = &mut self.origin {
            origin.add_copy(target, symbols);
        }
        self.run_again();
        let targets = self.reachable();
        for own in new * symbols..(new + 1) * symbols {
            if self.use_count(own) > 0 {
                self.redirect_to_best(&[own], &targets);
            }
        }
    }

    /// Improves the table until no single change is an improvement.
    pub fn descend(&mut self) {
        while self.steps_left > 0 {
            let redirected = self.redirect_transitions();
            let replaced = self.replace_states();
            if !redirected && !replaced && !self.split_a_state() {
                return;
            }
        }
    }

    /// The classes of a search from an origin.
    pub fn chosen_classes(&self, origin: &OriginalAutomaton) -> Vec<u32> {
        origin.choose_classes(&self.table, &self.counts, self.tree, &self.criterion).classes
    }

    /// The table with `None` for transitions that no word takes.
    pub fn seen_table(&self) -> Vec<Option<u32>> {
        let seen = |(index, &to)| (self.use_count(index) > 0).then_some(to);
        self.table.iter().enumerate().map(seen).collect()
    }

    /// The most frequent class of the words that end in each state; `None` if no word does.
    pub fn classes(&self) -> Vec<Option<u32>> {
        let most = |counts: &[u32]| {
            let most = counts.iter().max().copied().filter(|&most| most > 0)?;
            counts.iter().position(|&n| n == most).map(|class| class as u32)
        };
        self.counts.chunks(self.tree.classes).map(most).collect()
    }
}

/// Transitions of fewer prefixes get no state of their own.
const LEAST_USES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::super::tests::{noisy_words, random_automaton};
    use super::super::{DescriptionLength, LabelTrust};
    use super::*;
    use crate::random::stream;

    #[test]
    fn running_the_changed_words_again_equals_running_all() {
        for seed in 0..30 {
            let mut bits = stream(seed);
            let truth = random_automaton(6, 3, &mut bits);
            let tree = noisy_words(&truth, 150, 12, 0.1, &mut bits).0;
            let length = DescriptionLength::of(&tree);
            let criterion = Criterion::new(&length, LabelTrust::MayBeWrong);
            let table = truth.states().flat_map(|s| truth.successors(s)).map(|s| s.0).collect();
            let mut search = LocalSearch::new(&tree, criterion, table, u64::MAX);
            for _ in 0..40 {
                let first = (bits() % 18) as usize;
                let slots: Vec<usize> =
                    (first..18.min(first + 1 + (bits() % 3) as usize)).collect();
                let cost = search.redirected(&slots, (bits() % 6) as u32);
                let again = LocalSearch::new(&tree, criterion, search.table.clone(), u64::MAX);
                assert_eq!((cost, &search.tried_states), (again.cost, &again.states));
                search.keep(cost);
                assert_eq!(search.uses, again.uses);
            }
        }
    }

    /// A table of five states with words of which some labels are wrong, and their number.
    fn example() -> (Vec<u32>, PrefixTree, usize) {
        let mut bits = stream(5);
        let truth = random_automaton(5, 2, &mut bits);
        let (tree, wrong) = noisy_words(&truth, 800, 12, 0.05, &mut bits);
        let table = truth.states().flat_map(|s| truth.successors(s)).map(|s| s.0).collect();
        (table, tree, wrong)
    }

    #[test]
    fn a_wrong_transition_is_redirected() {
        let (table, tree, wrong) = example();
        let length = DescriptionLength::of(&tree);
        let criterion = Criterion::new(&length, LabelTrust::MayBeWrong);
        let mut repaired = 0;
        for slot in 0..10 {
            let mut changed = table.clone();
            changed[slot] = (changed[slot] + 1) % 5;
            let mut search = LocalSearch::new(&tree, criterion, changed, u64::MAX);
            let all_reachable = search.reachable().len() == 5;
            assert!(search.cost.errors > wrong);
            search.descend();
            if all_reachable {
                assert_eq!((search.reachable().len(), search.cost.errors), (5, wrong), "{slot}");
                repaired += 1;
            }
        }
        assert!(repaired > 5);
    }

    #[test]
    fn a_state_that_stands_for_two_is_split() {
        let (table, tree, wrong) = example();
        let length = DescriptionLength::of(&tree);
        let criterion = Criterion::new(&length, LabelTrust::MayBeWrong);
        let joined = table.iter().map(|&s| if s == 4 { 3 } else { s }).collect();
        let mut search = LocalSearch::new(&tree, criterion, joined, u64::MAX);
        let before = search.cost;
        assert!(before.errors > wrong && search.reachable().len() == 4);
        assert!(search.split_a_state());
        assert!(search.cost.bits < before.bits && search.reachable().len() == 5);
    }

    #[test]
    fn states_that_act_alike_replace_each_other() {
        let (table, tree, wrong) = example();
        let length = DescriptionLength::of(&tree);
        let criterion = Criterion::new(&length, LabelTrust::MayBeWrong);
        // Two copies of every state; each transition leads to the other copy.
        let copies = (0..2).flat_map(|copy| table.iter().map(move |&s| s + 5 * (1 - copy)));
        let mut search = LocalSearch::new(&tree, criterion, copies.collect(), u64::MAX);
        assert!(search.reachable().len() > 5);
        assert!(search.replace_states());
        assert_eq!((search.reachable().len(), search.cost.errors), (5, wrong));
    }
}
