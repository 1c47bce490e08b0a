//! From expression to automaton: Thompson's construction, then sets of its places.

use std::collections::HashMap;

use super::{Regex, RegexTooLarge};
use crate::alphabet::{Alphabet, Symbol};
use crate::limits::Limits;
use crate::moore::{Dfa, State};

impl Regex {
    /// The minimal automaton of the expression; an error where more states than the limit would be
    /// needed on the way, which can be exponentially many.
    ///
    /// # Panics
    /// If a symbol is not of the alphabet.
    pub fn to_dfa(&self, alphabet: &Alphabet, limits: &Limits) -> Result<Dfa, RegexTooLarge> {
        let mut nfa = Nfa { nodes: vec![NfaNode::End] };
        let start = nfa.add(self, END);
        Subsets::new(&nfa, start).determinize(alphabet, limits).map(|dfa| dfa.minimize())
    }
}

const END: u32 = 0;

enum NfaNode<'a> {
    /// A word may end here.
    End,
    /// Goes on at all of these without reading.
    Fork(Vec<u32>),
    /// Reads one of these symbols, then goes on there.
    Read(&'a [Symbol], u32),
}

struct Nfa<'a> {
    nodes: Vec<NfaNode<'a>>,
}

impl<'a> Nfa<'a> {
    /// Adds an expression that goes on at `after`, and gives the node where it begins.
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

    /// A body that may begin again when done: where the body begins, and where the choice stands.
    fn add_loop(&mut self, body: &'a Regex, after: u32) -> (u32, u32) {
        let choice = self.push(NfaNode::Fork(vec![]));
        let start = self.add(body, choice);
        self.nodes[choice as usize] = NfaNode::Fork(vec![start, after]);
        (start, choice)
    }

    fn push(&mut self, node: NfaNode<'a>) -> u32 {
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }
}

/// Sets of nodes, each the state of the automaton to come.
struct Subsets<'a> {
    nfa: &'a Nfa<'a>,
    numbers: HashMap<Vec<u32>, State>,
    sets: Vec<Vec<u32>>,
    /// Nodes in all sets together: what the sets cost.
    members: usize,
    /// The round in which a node was last met, so that closing a set need not clear marks.
    met: Vec<usize>,
    round: usize,
}

impl<'a> Subsets<'a> {
    fn new(nfa: &'a Nfa<'a>, start: u32) -> Subsets<'a> {
        let met = vec![0; nfa.nodes.len()];
        let mut subsets =
            Subsets { nfa, numbers: HashMap::new(), sets: vec![], members: 0, met, round: 0 };
        subsets.number(vec![start]);
        subsets
    }

    fn determinize(mut self, alphabet: &Alphabet, limits: &Limits) -> Result<Dfa, RegexTooLarge> {
        let mut table = Vec::new();
        let mut visited = 0;
        while visited < self.sets.len() {
            for nodes in self.after(visited, alphabet.len()) {
                table.push(self.number(nodes));
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
        Ok(Dfa::new(alphabet.clone(), State(0), outputs, table).expect("sets are numbered"))
    }

    /// Where each symbol leads from a set, not yet closed.
    fn after(&self, set: usize, symbols: usize) -> Vec<Vec<u32>> {
        let mut targets = vec![Vec::new(); symbols];
        for &node in &self.sets[set] {
            if let NfaNode::Read(set, next) = &self.nfa.nodes[node as usize] {
                set.iter().for_each(|symbol| targets[symbol.index()].push(*next));
            }
        }
        targets
    }

    fn number(&mut self, nodes: Vec<u32>) -> State {
        let set = self.close(nodes);
        let next = State(self.sets.len() as u32);
        if let Some(&known) = self.numbers.get(&set) {
            return known;
        }
        self.members += set.len();
        self.numbers.insert(set.clone(), next);
        self.sets.push(set);
        next
    }

    /// All nodes reached without reading, forks left out: they neither read nor end.
    fn close(&mut self, mut open: Vec<u32>) -> Vec<u32> {
        self.round += 1;
        let mut closed = Vec::new();
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut self.met[node as usize], self.round) == self.round {
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
