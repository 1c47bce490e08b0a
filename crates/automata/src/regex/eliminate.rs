//! From automaton to expression, by removing one state after the other.

use std::collections::BTreeMap;

use super::{Regex, TooLarge};
use crate::alphabet::Symbol;
use crate::limits::Limits;
use crate::moore::{Dfa, State};

/// An expression for the language of an automaton. It is short where the automaton is simple, but
/// neither the shortest nor bounded by less than an exponential, hence the limit.
pub fn of_dfa(dfa: &Dfa, limits: &Limits) -> Result<Regex, TooLarge> {
    let mut graph = Graph::new(&dfa.minimize());
    while let Some(state) = graph.cheapest() {
        graph.eliminate(state, limits)?;
    }
    Ok(graph.take(graph.start(), graph.end()))
}

/// An edge, and the size that decides the order and the limits.
struct Edge {
    regex: Regex,
    size: usize,
}

/// States of the automaton that are left, one start before them and one end behind them.
struct Graph {
    states: u32,
    left: Vec<u32>,
    edges: BTreeMap<(u32, u32), Edge>,
}

impl Graph {
    fn new(dfa: &Dfa) -> Graph {
        let states = dfa.state_count() as u32;
        let alive = alive(dfa);
        let left: Vec<u32> = (0..states).filter(|&s| alive[s as usize]).collect();
        let mut graph = Graph { states, left, edges: BTreeMap::new() };
        for from in graph.left.clone() {
            let mut targets: BTreeMap<u32, Vec<Symbol>> = BTreeMap::new();
            for symbol in dfa.alphabet().symbols() {
                targets.entry(dfa.next(State(from), symbol).0).or_default().push(symbol);
            }
            for (to, symbols) in targets.into_iter().filter(|(to, _)| alive[*to as usize]) {
                graph.add(from, to, Regex::one_of(symbols));
            }
            if dfa.is_accepting(State(from)) {
                graph.add(from, graph.end(), Regex::Empty);
            }
        }
        if alive[dfa.start().index()] {
            graph.add(graph.start(), dfa.start().0, Regex::Empty);
        }
        graph
    }

    fn start(&self) -> u32 {
        self.states
    }

    fn end(&self) -> u32 {
        self.states + 1
    }

    fn add(&mut self, from: u32, to: u32, regex: Regex) {
        let regex = match self.edges.remove(&(from, to)) {
            Some(edge) => Regex::union(vec![edge.regex, regex]),
            None => regex,
        };
        let size = measure(&regex).0;
        self.edges.insert((from, to), Edge { regex, size });
    }

    /// The state whose removal adds least text (Delgado and Morais 2004), the first such one.
    fn cheapest(&self) -> Option<u32> {
        let size = |from, to| self.edges.get(&(from, to)).map_or(0, |edge: &Edge| edge.size);
        self.left.iter().copied().min_by_key(|&state| {
            let (ins, outs) = (self.before(state), self.after(state));
            let entering: usize = ins.iter().map(|&from| size(from, state)).sum();
            let leaving: usize = outs.iter().map(|&to| size(state, to)).sum();
            let own = size(state, state) * ins.len() * outs.len();
            entering * outs.len() + leaving * ins.len() + own
        })
    }

    fn eliminate(&mut self, state: u32, limits: &Limits) -> Result<(), TooLarge> {
        let (ins, outs) = (self.before(state), self.after(state));
        let ins: Vec<_> = ins.into_iter().map(|from| (from, self.take(from, state))).collect();
        let outs: Vec<_> = outs.into_iter().map(|to| (to, self.take(state, to))).collect();
        let own = self.take(state, state).star();
        self.left.retain(|&s| s != state);
        let mut total: usize = self.edges.values().map(|edge| edge.size).sum();
        for (from, before) in &ins {
            for (to, after) in &outs {
                let regex = Regex::concat(vec![before.clone(), own.clone(), after.clone()]);
                let (size, depth) = measure(&regex);
                total += size;
                check(total, depth, limits)?;
                self.add(*from, *to, regex);
            }
        }
        Ok(())
    }

    /// Removes an edge; a missing one is the expression of no word.
    fn take(&mut self, from: u32, to: u32) -> Regex {
        self.edges.remove(&(from, to)).map_or(Regex::Nothing, |edge| edge.regex)
    }

    /// Where edges come from, loops left out.
    fn before(&self, state: u32) -> Vec<u32> {
        let others = self.left.iter().copied().chain([self.start()]).filter(|&s| s != state);
        others.filter(|&from| self.edges.contains_key(&(from, state))).collect()
    }

    /// Where edges lead, loops left out.
    fn after(&self, state: u32) -> Vec<u32> {
        let edges = self.edges.range((state, 0)..=(state, u32::MAX));
        edges.map(|(&(_, to), _)| to).filter(|&to| to != state).collect()
    }
}

fn check(size: usize, depth: usize, limits: &Limits) -> Result<(), TooLarge> {
    if size > limits.expression {
        return Err(TooLarge { what: "symbols and operators", limit: limits.expression });
    }
    if depth > limits.depth {
        return Err(TooLarge { what: "groups within groups", limit: limits.depth });
    }
    Ok(())
}

/// Which states can still reach an accepting one.
fn alive(dfa: &Dfa) -> Vec<bool> {
    let mut before = vec![Vec::new(); dfa.state_count()];
    for from in dfa.states() {
        dfa.successors(from).iter().for_each(|to| before[to.index()].push(from));
    }
    let mut open: Vec<State> = dfa.states().filter(|&s| dfa.is_accepting(s)).collect();
    let mut alive = dfa.outputs().to_vec();
    while let Some(state) = open.pop() {
        for &from in &before[state.index()] {
            if !std::mem::replace(&mut alive[from.index()], true) {
                open.push(from);
            }
        }
    }
    alive
}

/// Symbols and operators, and how deep they nest.
fn measure(regex: &Regex) -> (usize, usize) {
    match regex {
        Regex::Nothing | Regex::Empty => (1, 0),
        Regex::OneOf(symbols) => (symbols.len(), 0),
        Regex::Concat(parts) | Regex::Union(parts) => {
            let parts = parts.iter().map(measure);
            let (size, depth) = parts.fold((0, 0), |(s, d), (t, e)| (s + t, d.max(e)));
            (size + 1, depth + 1)
        }
        Regex::Star(body) | Regex::Plus(body) | Regex::Maybe(body) => {
            let (size, depth) = measure(body);
            (size + 1, depth + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alphabet::Alphabet;
    use crate::random::{random, stream};
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
    fn a_long_chain_is_read_and_an_explosion_is_refused() {
        let bits = Alphabet::of_chars("ab").unwrap();
        let limits = Limits::default();
        let dfa = compile(&"a".repeat(500), &bits, &limits).unwrap();
        assert_eq!(of_dfa(&dfa, &limits).unwrap().to_text(&bits), "a".repeat(500));
        let error = of_dfa(&random(60, &bits, 0.5, &mut stream(1)), &limits).unwrap_err();
        assert_eq!(error.limit, limits.expression);
    }
}
