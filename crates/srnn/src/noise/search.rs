//! Making an automaton shorter: states are replaced by others and transitions redirected as long
//! as the description length falls.
//!
//! It starts from an automaton of a network, which may have hundreds of states that each remember
//! one wrong label. It is greedy and deterministic, and ends at the latest when its work is spent.

use super::{Evidence, Length};
use srnn_automata::{Moore, State};

/// What a search may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Steps of the automata tried, over all prefixes. Default 5·10⁸: a second or two.
    pub steps: u64,
}

impl Default for Work {
    fn default() -> Self {
        Work { steps: 500_000_000 }
    }
}

/// An automaton, and what it makes of the labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortened {
    /// Minimal.
    pub automaton: Moore<u32>,
    /// Labels it gets wrong.
    pub errors: usize,
    /// The description length.
    pub bits: f64,
}

/// The shortest description found from `automaton`.
pub fn shorten(automaton: &Moore<u32>, evidence: &Evidence, work: Work) -> Shortened {
    let mut search = Search::new(automaton, evidence, work);
    loop {
        let before = search.best.bits;
        search.replace_states();
        search.redirect_transitions();
        if search.best.bits >= before || search.left == 0 {
            break;
        }
    }
    search.result(automaton)
}

/// A start and a table `[states, symbols]`; unreachable states are left where they are.
#[derive(Clone)]
struct Draft {
    start: u32,
    table: Vec<u32>,
}

/// What a draft is worth.
#[derive(Clone, Copy)]
struct Worth {
    bits: f64,
    errors: usize,
}

struct Search<'a> {
    evidence: &'a Evidence,
    length: Length,
    /// Runs over all prefixes that may still be made.
    left: u64,
    draft: Draft,
    best: Worth,
    /// Scratch: the state of every prefix, `[states, classes]`, and states met.
    states: Vec<u32>,
    counts: Vec<u32>,
    met: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(automaton: &Moore<u32>, evidence: &'a Evidence, work: Work) -> Search<'a> {
        let table = automaton.states().flat_map(|s| automaton.successors(s)).map(|s| s.0).collect();
        let n = automaton.state_count();
        let mut search = Search {
            evidence,
            length: Length::of(evidence),
            left: (work.steps / evidence.prefixes() as u64).max(1),
            draft: Draft { start: automaton.start().0, table },
            best: Worth { bits: f64::INFINITY, errors: evidence.labels },
            states: vec![],
            counts: vec![0; n * evidence.classes],
            met: vec![false; n],
        };
        let first = search.draft.clone();
        search.best = search.worth(&first);
        search
    }

    /// Every state gives the class that most of its words have.
    fn worth(&mut self, draft: &Draft) -> Worth {
        self.left = self.left.saturating_sub(1);
        self.evidence.run(draft.start, &draft.table, &mut self.states);
        self.evidence.count(&self.states, &mut self.counts);
        let right = self.counts.chunks(self.evidence.classes);
        let right: u32 = right.map(|counts| counts.iter().max().copied().unwrap_or(0)).sum();
        let errors = self.evidence.labels - right as usize;
        let reachable = self.reach(draft).len();
        Worth { bits: self.length.bits(reachable, errors), errors }
    }

    /// The states some word leads to, breadth first.
    fn reach(&mut self, draft: &Draft) -> Vec<u32> {
        self.met.fill(false);
        self.met[draft.start as usize] = true;
        let mut found = vec![draft.start];
        let mut next = 0;
        while next < found.len() {
            let row = found[next] as usize * self.evidence.symbols;
            for &to in &draft.table[row..][..self.evidence.symbols] {
                if !std::mem::replace(&mut self.met[to as usize], true) {
                    found.push(to);
                }
            }
            next += 1;
        }
        found
    }

    /// For every state, the one that fewest prefixes lead to first: whatever leads there is led to
    /// the state that is best in its stead.
    fn replace_states(&mut self) {
        for from in self.rarest_first() {
            let here = self.draft.clone();
            let reachable = self.reach(&here);
            if !reachable.contains(&from) {
                continue;
            }
            let others = reachable.into_iter().filter(|&to| to != from);
            self.take_best(others.map(|to| replaced(&here, from, to)));
        }
    }

    /// For every transition, the target that is best.
    fn redirect_transitions(&mut self) {
        let here = self.draft.clone();
        for from in self.reach(&here) {
            for symbol in 0..self.evidence.symbols {
                let here = self.draft.clone();
                let entry = from as usize * self.evidence.symbols + symbol;
                let targets = self.reach(&here).into_iter().filter(|&to| to != here.table[entry]);
                self.take_best(targets.map(|to| {
                    let mut other = here.clone();
                    other.table[entry] = to;
                    other
                }));
            }
        }
    }

    /// Goes on from the best of some drafts, if it is better than what there is.
    fn take_best(&mut self, drafts: impl Iterator<Item = Draft>) {
        for draft in drafts {
            if self.left == 0 {
                return;
            }
            let worth = self.worth(&draft);
            if worth.bits < self.best.bits {
                (self.best, self.draft) = (worth, draft);
            }
        }
    }

    fn rarest_first(&mut self) -> Vec<u32> {
        let here = self.draft.clone();
        self.evidence.run(here.start, &here.table, &mut self.states);
        let mut visits = vec![0usize; self.met.len()];
        for &state in &self.states {
            visits[state as usize] += 1;
        }
        let mut order = self.reach(&here);
        order.sort_by_key(|&state| (visits[state as usize], state));
        order
    }

    /// Minimal; a state in which no word ends keeps the class it had.
    fn result(mut self, origin: &Moore<u32>) -> Shortened {
        let draft = self.draft.clone();
        self.worth(&draft);
        let class = |(state, counts): (State, &[u32])| {
            let most = counts.iter().max().copied().unwrap_or(0);
            let before = *origin.output(state);
            match counts[before as usize] == most {
                true => before,
                false => counts.iter().position(|&n| n == most).expect("the largest") as u32,
            }
        };
        let outputs = origin.states().zip(self.counts.chunks(self.evidence.classes)).map(class);
        let outputs = outputs.collect();
        let table = draft.table.iter().map(|&s| State(s)).collect();
        let automaton = Moore::new(origin.alphabet().clone(), State(draft.start), outputs, table)
            .expect("as many states as before");
        let automaton = automaton.minimize();
        let bits = self.length.bits(automaton.state_count(), self.best.errors);
        Shortened { automaton, errors: self.best.errors, bits }
    }
}

fn replaced(draft: &Draft, from: u32, to: u32) -> Draft {
    let instead = |state: u32| if state == from { to } else { state };
    Draft {
        start: instead(draft.start),
        table: draft.table.iter().map(|&state| instead(state)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{noisy, truth};
    use super::*;
    use crate::task::tomita::Grammar;

    /// Of all short words of the other two hardly any is accepted: fewer than labels are wrong.
    const BALANCED: &[Grammar] = Grammar::ALL.split_at(2).1;

    #[test]
    fn states_that_do_the_same_replace_each_other() {
        for &grammar in BALANCED {
            let (truth, (set, _)) = (truth(grammar), noisy(grammar, 9, 0.05, 1));
            let n = truth.state_count() as u32;
            // Every state thrice; each symbol leads to the next set of states.
            let thrice = Moore::from_fn(
                truth.alphabet().clone(),
                3 * n,
                |s| *truth.output(State(s.0 % n)),
                |s, a| State((truth.next(State(s.0 % n), a).0 + n * (s.0 / n + 1)) % (3 * n)),
            );
            let evidence = Evidence::of(&[&set]);
            let mut search = Search::new(&thrice.unwrap(), &evidence, Work::default());
            let before = search.draft.clone();
            assert!(search.reach(&before).len() > n as usize);
            search.replace_states();
            let after = search.draft.clone();
            assert_eq!(search.reach(&after).len(), n as usize, "{grammar:?}");
        }
    }

    #[test]
    fn a_transition_that_leads_astray_is_redirected() {
        let (truth, (set, flipped)) = (truth(Grammar::T4), noisy(Grammar::T4, 9, 0.05, 1));
        // The last state is never left, but here it is.
        let astray = |s: State, a| if s.0 == 3 { State(2) } else { truth.next(s, a) };
        let alphabet = truth.alphabet().clone();
        let start = Moore::from_fn(alphabet, 4, |s| *truth.output(s), astray).unwrap();
        let evidence = Evidence::of(&[&set]);
        let mut search = Search::new(&start, &evidence, Work::default());
        assert!(search.best.errors > flipped.len());
        search.redirect_transitions();
        assert_eq!(search.best.errors, flipped.len());
    }
}
