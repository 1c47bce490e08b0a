//! From expression to automaton: Thompson's construction, then the subset construction.

use std::collections::HashMap;

use super::{Regex, RegexTooLarge};
use crate::alphabet::{Alphabet, Symbol};
use crate::limits::Limits;
use crate::moore::{Dfa, State};

impl Regex {
    /// The minimal automaton of the expression. Fails if the subset construction exceeds a limit; it can
    /// need exponentially many states.
    ///
    /// # Panics
    /// If a symbol is not in the alphabet.
    pub fn to_dfa(&self, alphabet: &Alphabet, limits: &Limits) -> Result<Dfa, RegexTooLarge> {
        let mut nfa = Nfa { nodes: vec![NfaNode::End] };
        let start = nfa.add(self, END);
        Subsets::new(&nfa, start).determinize(alphabet, limits).map(|dfa| dfa.minimize())
    }
}

const END: u32 = 0;

enum NfaNode<'a> {
    /// The accepting node.
    End,
    /// ε-transitions to these nodes.
    Fork(Vec<u32>),
    /// A transition to a node under any of these symbols.
    Read(&'a [Symbol], u32),
}

struct Nfa<'a> {
    nodes: Vec<NfaNode<'a>>,
}

impl<'a> Nfa<'a> {
    /// Adds an expression that continues at node `after`, and returns its first node.
    fn add(&mut self, regex: &'a Regex, after: u32) -> u32 {
        match regex {
            Regex::EmptySet => self.push(NfaNode::Fork(vec![])),
            Regex::Epsilon => after,
            Regex::OneOf(symbols) => self.push(NfaNode::Read(symbols, after)),
            Regex::Concat(parts) => {
                parts.iter().rev().fold(after, |next, part| self.add(part, next))
            }
            Regex::Union(parts) => {
                let starts = parts.iter().map(|part| self.add(part, after)).collect();
                self.push(NfaNode::Fork(starts))
            }
            Regex::Optional(body) => {
                let start = self.add(body, after);
                self.push(NfaNode::Fork(vec![start, after]))
            }
            Regex::Star(body) => self.add_loop(body, after).1,
            Regex::Plus(body) => self.add_loop(body, after).0,
        }
    }

    /// Adds a loop. Returns the first node of the body and the fork that repeats or leaves it.
    fn add_loop(&mut self, body: &'a Regex, after: u32) -> (u32, u32) {
        let fork = self.push(NfaNode::Fork(vec![]));
        let start = self.add(body, fork);
        self.nodes[fork as usize] = NfaNode::Fork(vec![start, after]);
        (start, fork)
    }

    fn push(&mut self, node: NfaNode<'a>) -> u32 {
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }
}

/// The subset construction: each set of nodes is a state of the DFA.
struct Subsets<'a> {
    nfa: &'a Nfa<'a>,
    numbers: HashMap<Vec<u32>, State>,
    sets: Vec<Vec<u32>>,
    /// Nodes in all sets, which determine the memory.
    members: usize,
    /// The round in which each node was last visited, so that marks need not be cleared.
    visited_in: Vec<usize>,
    round: usize,
}

impl<'a> Subsets<'a> {
    fn new(nfa: &'a Nfa<'a>, start: u32) -> Subsets<'a> {
        let visited_in = vec![0; nfa.nodes.len()];
        let mut subsets = Subsets {
            nfa,
            numbers: HashMap::new(),
            sets: vec![],
            members: 0,
            visited_in,
            round: 0,
        };
        subsets.state_of(vec![start]);
        subsets
    }

    fn determinize(mut self, alphabet: &Alphabet, limits: &Limits) -> Result<Dfa, RegexTooLarge> {
        let mut table = Vec::new();
        let mut visited = 0;
        while visited < self.sets.len() {
            for nodes in self.after(visited, alphabet.len()) {
                table.push(self.state_of(nodes));
            }
            visited += 1;
            if self.sets.len() > limits.states {
                return Err(RegexTooLarge { what: "states", limit: limits.states });
            }
            if table.len().max(self.members) > limits.entries {
                return Err(RegexTooLarge {
                    what: "table entries or set members",
                    limit: limits.entries,
                });
            }
        }
        let outputs = self.sets.iter().map(|set| set.contains(&END)).collect();
        Ok(Dfa::new(alphabet.clone(), State(0), outputs, table)
            .expect("every target is a numbered set"))
    }

    /// The successors of a set under each symbol, before the ε-closure.
    fn after(&self, set: usize, symbols: usize) -> Vec<Vec<u32>> {
        let mut targets = vec![Vec::new(); symbols];
        for &node in &self.sets[set] {
            if let NfaNode::Read(set, next) = &self.nfa.nodes[node as usize] {
                set.iter().for_each(|symbol| targets[symbol.index()].push(*next));
            }
        }
        targets
    }

    fn state_of(&mut self, nodes: Vec<u32>) -> State {
        let set = self.epsilon_closure(nodes);
        let next = State(self.sets.len() as u32);
        if let Some(&known) = self.numbers.get(&set) {
            return known;
        }
        self.members += set.len();
        self.numbers.insert(set.clone(), next);
        self.sets.push(set);
        next
    }

    /// The ε-closure without forks, which neither read nor accept.
    fn epsilon_closure(&mut self, mut open: Vec<u32>) -> Vec<u32> {
        self.round += 1;
        let mut closed = Vec::new();
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut self.visited_in[node as usize], self.round) == self.round {
                continue;
            }
            match &self.nfa.nodes[node as usize] {
                NfaNode::Fork(next) => open.extend(next),
                NfaNode::End | NfaNode::Read(..) => closed.push(node),
            }
        }
        closed.sort_unstable();
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regex::compile;

    #[test]
    fn known_languages_have_their_known_number_of_states() {
        let bits = Alphabet::of_chars("01").unwrap();
        let check = |text: &str, states: usize| {
            let dfa = compile(text, &bits, &Limits::default()).unwrap();
            assert_eq!(dfa.state_count(), states, "{text}");
        };
        check("1*", 2);
        check("(10)*", 3);
        check("∅", 1);
        check(".*", 1);
        check("ε", 2);
        check("(1|01|001)*(0|00)?", 4);
        check("0*1*0*1*", 5);
        check(".*1...", 16);
    }
}
