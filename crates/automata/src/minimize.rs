//! Minimisation with canonical state numbers.
//!
//! Hopcroft's algorithm on the reachable states: O(n·m·log n) for n states and m symbols. It starts
//! from the partition by output, so it works for every [`Moore`]. States are numbered breadth first in
//! alphabet order, so minimal automata of equal languages are `==`.

use std::collections::HashMap;
use std::hash::Hash;

use crate::alphabet::Symbol;
use crate::moore::{Moore, State};

impl<O: Clone> Moore<O> {
    /// The automaton without its unreachable states; the others keep their order.
    pub fn trim(&self) -> Moore<O> {
        let mut keep = self.reachable();
        keep.sort_unstable();
        self.renumber(&keep)
    }

    /// The reachable states, numbered breadth first from the start in alphabet order. Automata that
    /// differ only in numbering become `==`.
    pub fn canonical(&self) -> Moore<O> {
        self.renumber(&self.reachable())
    }

    fn renumber(&self, keep: &[State]) -> Moore<O> {
        let mut new_number = vec![State(u32::MAX); self.state_count()];
        for (new, old) in keep.iter().enumerate() {
            new_number[old.index()] = State(new as u32);
        }
        let outputs = keep.iter().map(|&old| self.output(old).clone()).collect();
        let targets = keep.iter().flat_map(|&old| self.successors(old));
        let table = targets.map(|to| new_number[to.index()]).collect();
        Moore::new(self.alphabet().clone(), new_number[self.start().index()], outputs, table)
            .expect("the reachable part is closed under transitions")
    }
}

impl<O: Clone + Eq + Hash> Moore<O> {
    /// The smallest automaton with the same output on every word, canonically numbered.
    pub fn minimize(&self) -> Moore<O> {
        let part = self.canonical();
        let blocks = equivalence_classes(&part);
        let mut representatives = vec![None; part.state_count()];
        for state in part.states().rev() {
            representatives[blocks[state.index()]] = Some(state);
        }
        let chosen: Vec<State> = representatives.into_iter().flatten().collect();
        let class = |state: State| State(blocks[state.index()] as u32);
        let outputs = chosen.iter().map(|&s| part.output(s).clone()).collect();
        let targets = chosen.iter().flat_map(|&s| part.successors(s));
        let table = targets.map(|&to| class(to)).collect();
        Moore::new(part.alphabet().clone(), class(part.start()), outputs, table)
            .expect("blocks are numbered densely")
            .canonical()
    }

    /// Whether no automaton with fewer states has the same output on every word.
    pub fn is_minimal(&self) -> bool {
        self.minimize().state_count() == self.state_count()
    }
}

/// The block of every state in the coarsest partition that respects outputs and transitions. Blocks
/// are numbered densely.
fn equivalence_classes<O: Eq + Hash>(automaton: &Moore<O>) -> Vec<usize> {
    let inverse = InverseTransitions::new(automaton);
    let mut partition = Partition::by_output(automaton.outputs());
    let mut work = Worklist::new(automaton.alphabet().len());
    work.add_all_but_largest(&partition);
    let mut predecessors = Vec::new();
    while let Some((block, symbol)) = work.pop() {
        predecessors.clear();
        for &state in partition.members(block) {
            predecessors.extend_from_slice(inverse.predecessors(state, symbol));
        }
        for &state in &predecessors {
            partition.mark(state);
        }
        partition.split(|old, new, new_is_smaller| work.refine(old, new, new_is_smaller));
    }
    partition.block_of
}

/// The predecessors of every state under every symbol, in one array (CSR).
struct InverseTransitions {
    states: usize,
    /// Offset of the predecessors of `(symbol, state)`: `[symbols, states]`, plus one at the end.
    first: Vec<usize>,
    sources: Vec<u32>,
}

impl InverseTransitions {
    fn new<O>(automaton: &Moore<O>) -> InverseTransitions {
        let states = automaton.state_count();
        let symbols = automaton.alphabet().len();
        let cell = |symbol: usize, to: State| symbol * states + to.index();
        let mut first = vec![0; symbols * states + 1];
        for (symbol, &to) in
            automaton.states().flat_map(|s| automaton.successors(s).iter().enumerate())
        {
            first[cell(symbol, to) + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut free = first.clone();
        let mut sources = vec![0; symbols * states];
        for from in automaton.states() {
            for (symbol, &to) in automaton.successors(from).iter().enumerate() {
                let offset = &mut free[cell(symbol, to)];
                sources[*offset] = from.0;
                *offset += 1;
            }
        }
        InverseTransitions { states, first, sources }
    }

    fn predecessors(&self, state: u32, symbol: Symbol) -> &[u32] {
        let cell = symbol.index() * self.states + state as usize;
        &self.sources[self.first[cell]..self.first[cell + 1]]
    }
}

/// A partition whose blocks are ranges of one permutation. The marked members of a block are at its
/// beginning, so the cost of a split is the number of marked members.
struct Partition {
    members: Vec<u32>,
    position: Vec<usize>,
    block_of: Vec<usize>,
    blocks: Vec<PartitionBlock>,
    touched: Vec<usize>,
}

struct PartitionBlock {
    first: usize,
    end: usize,
    marked: usize,
}

impl PartitionBlock {
    fn size(&self) -> usize {
        self.end - self.first
    }
}

impl Partition {
    fn by_output<O: Eq + Hash>(outputs: &[O]) -> Partition {
        let mut numbers = HashMap::new();
        let mut block_of = Vec::with_capacity(outputs.len());
        for output in outputs {
            let next = numbers.len();
            block_of.push(*numbers.entry(output).or_insert(next));
        }
        let mut members: Vec<u32> = (0..outputs.len() as u32).collect();
        members.sort_by_key(|&s| block_of[s as usize]);
        let mut position = vec![0; members.len()];
        let mut blocks: Vec<PartitionBlock> = Vec::new();
        for (i, &state) in members.iter().enumerate() {
            position[state as usize] = i;
            match blocks.get_mut(block_of[state as usize]) {
                Some(block) => block.end = i + 1,
                None => blocks.push(PartitionBlock { first: i, end: i + 1, marked: 0 }),
            }
        }
        Partition { members, position, block_of, blocks, touched: Vec::new() }
    }

    fn members(&self, block: usize) -> &[u32] {
        &self.members[self.blocks[block].first..self.blocks[block].end]
    }

    /// Moves a state to the marked beginning of its block. No state is marked twice between two
    /// splits, because it has one successor per symbol.
    fn mark(&mut self, state: u32) {
        let number = self.block_of[state as usize];
        let block = &mut self.blocks[number];
        if block.marked == 0 {
            self.touched.push(number);
        }
        let (from, to) = (self.position[state as usize], block.first + block.marked);
        block.marked += 1;
        self.members.swap(from, to);
        self.position[self.members[from] as usize] = from;
        self.position[state as usize] = to;
    }

    /// Splits every touched block into its marked and its other members, and calls `report` with
    /// `(old, new, new is the smaller)`. Blocks whose members are all marked stay.
    fn split(&mut self, mut report: impl FnMut(usize, usize, bool)) {
        while let Some(old) = self.touched.pop() {
            let new = self.blocks.len();
            let block = &mut self.blocks[old];
            let marked = std::mem::take(&mut block.marked);
            if marked == block.size() {
                continue;
            }
            let first = block.first;
            block.first += marked;
            let new_is_smaller = marked <= block.size();
            for &state in &self.members[first..first + marked] {
                self.block_of[state as usize] = new;
            }
            self.blocks.push(PartitionBlock { first, end: first + marked, marked: 0 });
            report(old, new, new_is_smaller);
        }
    }
}

/// The splitters that are still to be processed.
struct Worklist {
    symbols: usize,
    stack: Vec<(usize, Symbol)>,
    /// Whether a splitter is on the stack: `[blocks, symbols]`.
    pending: Vec<bool>,
}

impl Worklist {
    fn new(symbols: usize) -> Worklist {
        Worklist { symbols, stack: Vec::new(), pending: Vec::new() }
    }

    /// The largest block is not needed: the other blocks together give the same splits.
    fn add_all_but_largest(&mut self, partition: &Partition) {
        let sizes = || partition.blocks.iter().map(PartitionBlock::size).enumerate();
        let largest = sizes().max_by_key(|&(_, size)| size).map(|(block, _)| block);
        for block in (0..partition.blocks.len()).filter(|&block| Some(block) != largest) {
            for symbol in 0..self.symbols {
                self.add(block, symbol);
            }
        }
    }

    fn pop(&mut self) -> Option<(usize, Symbol)> {
        let (block, symbol) = self.stack.pop()?;
        self.pending[block * self.symbols + symbol.index()] = false;
        Some((block, symbol))
    }

    /// `new` was split off `old`. If `old` is pending, both must be processed; otherwise the smaller
    /// one suffices.
    fn refine(&mut self, old: usize, new: usize, new_is_smaller: bool) {
        for symbol in 0..self.symbols {
            let old_pending = self.pending.get(old * self.symbols + symbol) == Some(&true);
            self.add(if old_pending || new_is_smaller { new } else { old }, symbol);
        }
    }

    fn add(&mut self, block: usize, symbol: usize) {
        let index = block * self.symbols + symbol;
        if index >= self.pending.len() {
            self.pending.resize((block + 1) * self.symbols, false);
        }
        self.pending[index] = true;
        self.stack.push((block, Symbol(symbol as u32)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alphabet::Alphabet;
    use crate::moore::Dfa;
    use crate::random::{random_dfa, stream};
    use crate::words::shortlex;

    /// Moore's partition refinement: slow, and independent of the code above.
    fn moore_blocks<O: Eq>(automaton: &Moore<O>) -> Vec<usize> {
        let number = |keys: Vec<Vec<usize>>| -> Vec<usize> {
            keys.iter().map(|k| keys.iter().position(|l| l == k).unwrap()).collect()
        };
        let first = |o: &O| automaton.outputs().iter().position(|p| p == o).unwrap();
        let mut blocks = number(automaton.outputs().iter().map(|o| vec![first(o)]).collect());
        loop {
            let key = |s: State| {
                let after = automaton.successors(s).iter().map(|to| blocks[to.index()]);
                std::iter::once(blocks[s.index()]).chain(after).collect()
            };
            let finer = number(automaton.states().map(key).collect());
            if finer == blocks {
                return blocks;
            }
            blocks = finer;
        }
    }

    fn check_minimize<O: Clone + Eq + Hash + std::fmt::Debug>(
        automaton: &Moore<O>,
        longest: usize,
    ) {
        let minimal = automaton.minimize();
        for word in shortlex(automaton.alphabet().len() as u32, longest) {
            assert_eq!(minimal.output_of(&word), automaton.output_of(&word), "{word:?}");
        }
        let blocks = moore_blocks(automaton);
        let mut classes: Vec<usize> =
            automaton.reachable().iter().map(|s| blocks[s.index()]).collect();
        classes.sort_unstable();
        classes.dedup();
        assert_eq!(minimal.state_count(), classes.len(), "of {automaton:?}");
        assert_eq!(
            moore_blocks(&minimal),
            (0..classes.len()).collect::<Vec<_>>(),
            "two states are equivalent"
        );
        assert_eq!(minimal.minimize(), minimal);
        assert!(minimal.is_minimal());
    }

    /// Every DFA with `states` states over two symbols, started in state 0.
    fn all_dfas(states: u32) -> impl Iterator<Item = Dfa> {
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let tables = (states as usize).pow(2 * states);
        (0..tables << states).map(move |code| {
            let (accepting, mut table) = (code % (1 << states), code >> states);
            let digits = (0..2 * states).map(|_| {
                let digit = table % states as usize;
                table /= states as usize;
                State(digit as u32)
            });
            let outputs = (0..states).map(|s| accepting >> s & 1 == 1).collect();
            Dfa::new(alphabet.clone(), State(0), outputs, digits.collect()).unwrap()
        })
    }

    #[test]
    fn every_dfa_of_up_to_three_states_is_minimised_as_by_brute_force() {
        let mut count = 0;
        for dfa in (1..=3).flat_map(all_dfas) {
            // Two states of 3 + 3 differ, if at all, on a word of at most 4 symbols.
            check_minimize(&dfa, 5);
            count += 1;
        }
        assert_eq!(count, 2 + 16 * 4 + 729 * 8);
    }

    #[test]
    fn languages_are_equal_iff_their_minimal_automata_are() {
        let bits = |dfa: &Dfa| -> Vec<bool> { shortlex(2, 5).map(|w| dfa.accepts(&w)).collect() };
        let mut languages: HashMap<Vec<bool>, Dfa> = HashMap::new();
        for dfa in (1..=3).flat_map(all_dfas) {
            let minimal = dfa.minimize();
            assert_eq!(*languages.entry(bits(&dfa)).or_insert(minimal.clone()), minimal);
        }
        let mut automata: Vec<&Dfa> = languages.values().collect();
        automata.sort_by_key(|dfa| format!("{dfa:?}"));
        automata.dedup();
        assert_eq!(automata.len(), languages.len());
    }

    #[test]
    fn random_automata_of_many_shapes_are_minimised() {
        for seed in 0..400 {
            let mut bits = stream(seed);
            let alphabet = Alphabet::of_chars(&"abcde"[..1 + seed as usize % 5]).unwrap();
            let states = 1 + (bits() % 40) as u32;
            let dfa = random_dfa(states, &alphabet, 0.1 + (seed % 9) as f64 / 10.0, &mut bits);
            check_minimize(&dfa, 4);
            let classes: Vec<u64> = (0..states).map(|_| bits() % 4).collect();
            let table = dfa.states().flat_map(|s| dfa.successors(s).to_vec()).collect();
            check_minimize(&Moore::new(alphabet, State(0), classes, table).unwrap(), 4);
        }
    }

    #[test]
    fn copies_of_a_minimal_automaton_collapse_to_it() {
        for seed in 0..50 {
            let mut bits = stream(seed);
            let alphabet = Alphabet::of_chars("abc").unwrap();
            let minimal = random_dfa(30, &alphabet, 0.5, &mut bits).minimize();
            let n = minimal.state_count() as u32;
            let copies: Vec<u64> = (0..7 * n * 3).map(|_| bits() % 7).collect();
            let next = |s: State, a: Symbol| {
                let to = minimal.next(State(s.0 % n), a);
                State(to.0 + n * copies[(s.0 * 3 + a.0) as usize] as u32)
            };
            let output = |s: State| *minimal.output(State(s.0 % n));
            let large = Dfa::from_fn(alphabet, 7 * n, output, next).unwrap();
            assert_eq!(large.minimize(), minimal);
        }
    }

    #[test]
    fn trimming_keeps_the_order_of_states_and_canonical_numbers_are_breadth_first() {
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let table = [1, 2, 3, 3, 2, 0, 1, 3].map(State).to_vec();
        let moore = Moore::new(alphabet, State(1), vec!["w", "x", "y", "z"], table).unwrap();
        assert_eq!(moore.trim().outputs(), ["x", "z"]);
        assert_eq!(moore.trim().start(), State(0));
        let table = [1, 2, 3, 3, 2, 0, 1, 0].map(State).to_vec();
        let all = Moore::new(moore.alphabet().clone(), State(1), moore.outputs().to_vec(), table);
        let all = all.unwrap();
        assert_eq!(all.trim(), all);
        assert_eq!(all.canonical().outputs(), ["x", "z", "w", "y"]);
        assert_eq!(all.canonical().start(), State(0));
    }

    #[test]
    fn a_long_chain_is_minimised_in_far_less_than_quadratic_time() {
        let n = 100_000;
        let alphabet = Alphabet::of_chars("ab").unwrap();
        let next = |s: State, a: Symbol| State(if a.0 == 0 { (s.0 + 1).min(n - 1) } else { s.0 });
        let chain = Dfa::from_fn(alphabet, n, |s| s.0 == n - 1, next).unwrap();
        assert_eq!(chain.minimize().state_count(), n as usize);
    }
}
