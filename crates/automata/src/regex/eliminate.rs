//! From automaton to expression, by state elimination.

use std::collections::{BTreeMap, BTreeSet};

use super::{Regex, RegexTooLarge};
use crate::alphabet::Symbol;
use crate::limits::Limits;
use crate::moore::{Dfa, State};

/// An expression for the language of an automaton. It is short for simple automata, but not the
/// shortest one. Its size can be exponential, so it is limited.
pub fn of_dfa(dfa: &Dfa, limits: &Limits) -> Result<Regex, RegexTooLarge> {
    let mut graph = EliminationGraph::new(&dfa.minimize());
    while let Some(state) = graph.cheapest() {
        graph.eliminate(state, limits)?;
    }
    let (start, end) = (graph.start(), graph.end());
    Ok(graph.take(start, end))
}

/// An edge with the size of its expression, which determines the elimination order.
struct RegexEdge {
    regex: Regex,
    size: usize,
}

/// The graph of the states that are left, with an added start and an added end.
struct EliminationGraph {
    states: u32,
    edges: BTreeMap<(u32, u32), RegexEdge>,
    /// The sources of the edges into each state.
    sources: Vec<BTreeSet<u32>>,
    /// The states that are left, ordered by weight, and the weight of each state.
    queue: BTreeSet<(usize, u32)>,
    weights: Vec<usize>,
    /// The total size of all edges.
    total: usize,
}

impl EliminationGraph {
    fn new(dfa: &Dfa) -> EliminationGraph {
        let states = dfa.state_count() as u32;
        let mut graph = EliminationGraph {
            states,
            edges: BTreeMap::new(),
            sources: vec![BTreeSet::new(); states as usize + 2],
            queue: BTreeSet::new(),
            weights: vec![0; states as usize],
            total: 0,
        };
        let productive = productive(dfa);
        for from in dfa.states().filter(|s| productive[s.index()]) {
            graph.add_state(dfa, from, &productive);
        }
        if productive[dfa.start().index()] {
            graph.add(graph.start(), dfa.start().0, Regex::Epsilon);
        }
        for state in (0..states).filter(|&s| productive[s as usize]) {
            graph.update_weight(state);
        }
        graph
    }

    fn start(&self) -> u32 {
        self.states
    }

    fn end(&self) -> u32 {
        self.states + 1
    }

    fn add_state(&mut self, dfa: &Dfa, from: State, productive: &[bool]) {
        let mut targets: BTreeMap<u32, Vec<Symbol>> = BTreeMap::new();
        for symbol in dfa.alphabet().symbols() {
            targets.entry(dfa.next(from, symbol).0).or_default().push(symbol);
        }
        for (to, symbols) in targets.into_iter().filter(|(to, _)| productive[*to as usize]) {
            self.add(from.0, to, Regex::one_of(symbols));
        }
        if dfa.is_accepting(from) {
            self.add(from.0, self.end(), Regex::Epsilon);
        }
    }

    fn add(&mut self, from: u32, to: u32, regex: Regex) {
        let regex = match self.take(from, to) {
            Regex::EmptySet => regex,
            known => Regex::union(vec![known, regex]),
        };
        let size = measure(&regex).0;
        self.total += size;
        self.edges.insert((from, to), RegexEdge { regex, size });
        self.sources[to as usize].insert(from);
    }

    /// Removes an edge and returns its expression; ∅ if there is no edge.
    fn take(&mut self, from: u32, to: u32) -> Regex {
        let Some(edge) = self.edges.remove(&(from, to)) else { return Regex::EmptySet };
        self.sources[to as usize].remove(&from);
        self.total -= edge.size;
        edge.regex
    }

    /// The state with the smallest weight; the first of several.
    fn cheapest(&self) -> Option<u32> {
        self.queue.first().map(|&(_, state)| state)
    }

    /// Updates the weight of a state: about the text that its elimination adds (Delgado and Morais
    /// 2004).
    fn update_weight(&mut self, state: u32) {
        let size = |from, to| self.edges.get(&(from, to)).map_or(0, |edge: &RegexEdge| edge.size);
        let (ins, outs) = (self.predecessors(state), self.successors(state));
        let entering: usize = ins.iter().map(|&from| size(from, state)).sum();
        let leaving: usize = outs.iter().map(|&to| size(state, to)).sum();
        let own = size(state, state) * ins.len() * outs.len();
        let weight = entering * outs.len() + leaving * ins.len() + own;
        let old = std::mem::replace(&mut self.weights[state as usize], weight);
        self.queue.remove(&(old, state));
        self.queue.insert((weight, state));
    }

    fn eliminate(&mut self, state: u32, limits: &Limits) -> Result<(), RegexTooLarge> {
        let (ins, outs) = (self.predecessors(state), self.successors(state));
        let entering: Vec<Regex> = ins.iter().map(|&from| self.take(from, state)).collect();
        let leaving: Vec<Regex> = outs.iter().map(|&to| self.take(state, to)).collect();
        let own = self.take(state, state).star();
        self.queue.remove(&(self.weights[state as usize], state));
        for (&from, before) in ins.iter().zip(&entering) {
            for (&to, after) in outs.iter().zip(&leaving) {
                let regex = Regex::concat(vec![before.clone(), own.clone(), after.clone()]);
                let (size, depth) = measure(&regex);
                check(self.total + size, depth, limits)?;
                self.add(from, to, regex);
            }
        }
        let states = self.states;
        for neighbour in ins.into_iter().chain(outs).filter(|&s| s < states) {
            self.update_weight(neighbour);
        }
        Ok(())
    }

    /// The sources of incoming edges, without loops.
    fn predecessors(&self, state: u32) -> Vec<u32> {
        self.sources[state as usize].iter().copied().filter(|&from| from != state).collect()
    }

    /// The targets of outgoing edges, without loops.
    fn successors(&self, state: u32) -> Vec<u32> {
        let edges = self.edges.range((state, 0)..=(state, u32::MAX));
        edges.map(|(&(_, to), _)| to).filter(|&to| to != state).collect()
    }
}

fn check(size: usize, depth: usize, limits: &Limits) -> Result<(), RegexTooLarge> {
    if size > limits.expression {
        return Err(RegexTooLarge { what: "symbols and operators", limit: limits.expression });
    }
    if depth > limits.depth {
        return Err(RegexTooLarge { what: "nested groups", limit: limits.depth });
    }
    Ok(())
}

/// The states from which an accepting state is reachable.
fn productive(dfa: &Dfa) -> Vec<bool> {
    let mut predecessors = vec![Vec::new(); dfa.state_count()];
    for from in dfa.states() {
        dfa.successors(from).iter().for_each(|to| predecessors[to.index()].push(from));
    }
    let mut open: Vec<State> = dfa.states().filter(|&s| dfa.is_accepting(s)).collect();
    let mut productive = dfa.outputs().to_vec();
    while let Some(state) = open.pop() {
        for &from in &predecessors[state.index()] {
            if !std::mem::replace(&mut productive[from.index()], true) {
                open.push(from);
            }
        }
    }
    productive
}

/// The number of symbols and operators, and the nesting depth.
fn measure(regex: &Regex) -> (usize, usize) {
    match regex {
        Regex::EmptySet | Regex::Epsilon => (1, 0),
        Regex::OneOf(symbols) => (symbols.len(), 0),
        Regex::Concat(parts) | Regex::Union(parts) => {
            let parts = parts.iter().map(measure);
            let (size, depth) = parts.fold((0, 0), |(s, d), (t, e)| (s + t, d.max(e)));
            (size + 1, depth + 1)
        }
        Regex::Star(body) | Regex::Plus(body) | Regex::Optional(body) => {
            let (size, depth) = measure(body);
            (size + 1, depth + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alphabet::Alphabet;
    use crate::random::{random_dfa, stream};
    use crate::regex::compile;

    #[test]
    fn simple_languages_have_simple_expressions() {
        let bits = Alphabet::of_chars("01").unwrap();
        let limits = Limits::default();
        for text in ["1*", "(10)*", ".*", "∅", "ε", "(0|10*1)*", "0*1", "01?"] {
            let dfa = compile(text, &bits, &limits).unwrap();
            assert_eq!(of_dfa(&dfa, &limits).unwrap().to_text(&bits), text);
        }
    }

    #[test]
    fn long_chains_have_expressions_and_exponential_ones_are_refused() {
        let bits = Alphabet::of_chars("ab").unwrap();
        let limits = Limits::default();
        let dfa = compile(&"a".repeat(500), &bits, &limits).unwrap();
        assert_eq!(of_dfa(&dfa, &limits).unwrap().to_text(&bits), "a".repeat(500));
        let next = |s: State, a: Symbol| State(if a.0 == 0 { (s.0 + 1).min(4999) } else { s.0 });
        let chain = Dfa::from_fn(bits.clone(), 5000, |s| s.0 == 4999, next).unwrap();
        assert_eq!(of_dfa(&chain, &limits).unwrap().to_text(&bits), "b*a".repeat(4999) + ".*");
        let error = of_dfa(&random_dfa(60, &bits, 0.5, &mut stream(1)), &limits).unwrap_err();
        assert_eq!(error.limit, limits.expression);
    }
}
