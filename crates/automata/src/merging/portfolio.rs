//! The searches of [`merge`](super::merge) in order, and the rule that ends them.

use super::beam::{BeamRule, beam_search};
use super::completion::{complete, usual_class};
use super::criterion::Criterion;
use super::evidence::LabelCode;
use super::graph::MergeGraph;
use super::local_search::LocalSearch;
use super::red_blue::{RedBlueRule, merge_all};
use super::{LabelTrust, MergeConfig, MergeMethod, MergeOrder, PrefixTree};
use crate::alphabet::Alphabet;
use crate::moore::{Moore, State};

/// An automaton that a search found.
#[derive(Clone)]
pub(super) struct MergeCandidate {
    /// Minimal.
    pub automaton: Moore<u32>,
    pub errors: usize,
    pub bits: f64,
    /// By the criterion: what candidates are compared by.
    pub score: f64,
    pub method: MergeMethod,
}

/// The searches so far.
pub(super) struct Portfolio<'a> {
    alphabet: &'a Alphabet,
    tree: &'a PrefixTree,
    config: &'a MergeConfig,
    criterion: Criterion<'a>,
    pub baseline_bits: f64,
    pub best: Option<MergeCandidate>,
    /// Automata compared.
    pub candidates: usize,
    pub steps: u64,
}

/// Frontier nodes compared with one another by red-blue merging.
const WINDOW: usize = 64;

/// Bits below the baseline at which an automaton is no coincidence.
const SIGNIFICANT_BITS: f64 = 32.0;

/// Automata of a beam that are improved by local search.
const IMPROVED: usize = 3;

impl<'a> Portfolio<'a> {
    pub fn new(
        alphabet: &'a Alphabet,
        tree: &'a PrefixTree,
        config: &'a MergeConfig,
        criterion: Criterion<'a>,
    ) -> Portfolio<'a> {
        let baseline_bits = criterion.length.bits(1, tree.labels - tree.majority_labels());
        Portfolio {
            alphabet,
            tree,
            config,
            criterion,
            baseline_bits,
            best: None,
            candidates: 0,
            steps: 0,
        }
    }

    /// Runs all searches until two agree or the budget is used up.
    pub fn run(&mut self) {
        if self.red_blue_runs() {
            return;
        }
        for (index, &width) in self.config.widths.iter().enumerate() {
            let before = self.best_score();
            for noise in self.assumed_noises(index == 0) {
                self.beam(width, noise);
            }
            let improved = self.best_score() < before;
            let settled = self.is_significant() || self.trusts() && index > 0;
            if settled && !improved || self.is_spent() {
                break;
            }
        }
        if !self.is_significant() && !self.trusts() {
            self.last_resort();
        }
    }

    /// Merges without noise in several orders. Returns whether two found the same automaton.
    fn red_blue_runs(&mut self) -> bool {
        let orders =
            [MergeOrder::Traffic, MergeOrder::Evidence, MergeOrder::Lead, MergeOrder::Shortlex];
        let mut found: Vec<Moore<u32>> = vec![];
        for order in orders {
            let Some(next) = self.red_blue(order, 0.0) else { continue };
            let agrees = next.errors == 0 && found.contains(&next.automaton);
            found.push(next.automaton);
            if agrees && (self.is_convincing() || self.trusts()) {
                return true;
            }
        }
        false
    }

    fn red_blue(&mut self, order: MergeOrder, noise: f64) -> Option<MergeCandidate> {
        let code = LabelCode::new(&self.tree.class_counts(), noise);
        let mut graph = MergeGraph::new(self.tree, &code);
        let rule = RedBlueRule {
            order,
            window: WINDOW,
            states: self.config.states,
            steps: self.config.steps / 20,
        };
        let complete = merge_all(&mut graph, &rule);
        self.steps += graph.steps;
        if !complete {
            return None;
        }
        let search = self.local_search(&graph, 0);
        Some(self.consider(&search, MergeMethod::RedBlue { order }))
    }

    /// The shares of wrong labels that beams assume: none and the configured one first, then what the
    /// best automaton contradicts.
    fn assumed_noises(&self, first: bool) -> Vec<f64> {
        let (none, some) = (0.0, self.config.noise);
        if self.trusts() {
            return vec![none];
        }
        match &self.best {
            Some(best) if self.is_significant() && !first => match best.errors {
                0 => vec![none],
                errors => vec![(errors as f64 / self.tree.labels as f64).clamp(0.01, 0.3)],
            },
            _ => vec![none, some / 3.0, some],
        }
    }

    fn beam(&mut self, width: usize, noise: f64) {
        let code = LabelCode::new(&self.tree.class_counts(), noise);
        let graph = MergeGraph::new(self.tree, &code);
        let rule = BeamRule {
            width: width.min(self.config.memory / (2 * super::graph_bytes(self.tree))).max(1),
            states: self.largest_useful(),
            steps: self.config.steps.saturating_sub(self.steps) / 2,
        };
        let (graphs, steps) = beam_search(graph, &rule);
        self.steps += steps;
        let mut searches: Vec<LocalSearch> =
            graphs.iter().map(|graph| self.local_search(graph, 0)).collect();
        searches.sort_by(|a, b| a.cost.bits.total_cmp(&b.cost.bits));
        searches.dedup_by(|a, b| a.cost == b.cost);
        for search in searches.into_iter().take(IMPROVED) {
            self.improve(search, MergeMethod::Beam { width });
        }
    }

    /// States above which an automaton is not worth finding: it alone is longer than the baseline, or,
    /// if labels are trusted, far longer or larger than the best so far.
    fn largest_useful(&self) -> usize {
        let useful = |&states: &usize| self.criterion.length.bits(states, 0) < self.baseline_bits;
        let shorter = (1..self.config.states).take_while(useful).last().unwrap_or(1);
        let best = self.best.as_ref().map_or(usize::MAX, |best| best.automaton.state_count());
        if self.trusts() { best.min(2 * shorter + 10) } else { shorter }
    }

    /// Merging that tolerates noise but takes nothing back, for words that no beam explains.
    fn last_resort(&mut self) {
        for order in [MergeOrder::Lead, MergeOrder::Traffic] {
            let code = LabelCode::new(&self.tree.class_counts(), self.config.noise);
            let mut graph = MergeGraph::new(self.tree, &code);
            let (states, steps) = (self.config.states, self.config.steps / 20);
            let rule = RedBlueRule { order, window: WINDOW, states, steps };
            if merge_all(&mut graph, &rule) {
                let search = self.local_search(&graph, 0);
                self.improve(search, MergeMethod::RedBlue { order });
            }
            self.steps += graph.steps;
        }
    }

    fn improve(&mut self, mut search: LocalSearch<'a>, method: MergeMethod) {
        let budget = self.config.steps / 20;
        search.steps_left = budget;
        search.descend();
        self.steps += budget - search.steps_left;
        self.consider(&search, method);
    }

    /// A local search that starts from a complete graph.
    fn local_search(&self, graph: &MergeGraph, steps: u64) -> LocalSearch<'a> {
        let entries = graph.states.len() * self.tree.symbols;
        let table: Vec<Option<u32>> = (0..entries).map(|index| graph.target(index)).collect();
        LocalSearch::new(self.tree, self.criterion, complete(self.tree.symbols, &table), steps)
    }

    /// Makes an automaton of the search's table, and keeps it if it is the best.
    fn consider(&mut self, search: &LocalSearch, method: MergeMethod) -> MergeCandidate {
        let candidate = self.candidate(search, method);
        self.candidates += 1;
        if candidate.score < self.best_score() {
            self.best = Some(candidate.clone());
        }
        candidate
    }

    fn candidate(&self, search: &LocalSearch, method: MergeMethod) -> MergeCandidate {
        let usual = usual_class(self.tree);
        let outputs = search.classes().into_iter().map(|class| class.unwrap_or(usual)).collect();
        let table = complete(self.tree.symbols, &search.seen_table());
        let table = table.into_iter().map(State).collect();
        let automaton = Moore::new(self.alphabet.clone(), State(0), outputs, table)
            .expect("targets of a table are its states")
            .minimize();
        let errors = search.cost.errors;
        let bits = self.criterion.length.bits(automaton.state_count(), errors);
        let score = self.criterion.bits(automaton.state_count(), errors);
        MergeCandidate { automaton, errors, bits, score, method }
    }

    fn best_score(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.score)
    }

    fn trusts(&self) -> bool {
        self.config.labels == LabelTrust::Trusted
    }

    /// Whether the best automaton is so short that it cannot have memorised wrong labels: an automaton
    /// that fits them all has states for each of them.
    fn is_convincing(&self) -> bool {
        const LARGEST_SHARE: f64 = 0.25;
        let best_bits = self.best.as_ref().map_or(f64::INFINITY, |best| best.bits);
        self.is_significant() && best_bits <= LARGEST_SHARE * self.baseline_bits
    }

    fn is_significant(&self) -> bool {
        let best_bits = self.best.as_ref().map_or(f64::INFINITY, |best| best.bits);
        best_bits < self.baseline_bits - SIGNIFICANT_BITS
    }

    fn is_spent(&self) -> bool {
        self.steps >= self.config.steps
    }
}
