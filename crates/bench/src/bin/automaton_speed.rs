//! Measures the throughput of automata on text, on one core: `srnn::stream`, a plain table lookup
//! and the dense DFA of regex-automata, for the same language.
//!
//! ```sh
//! cargo run --release -p srnn-bench --bin automaton_speed
//! ```
//!
//! Every implementation must agree with the automaton on 2,000 words and on the text that is timed.
//! The order alternates between rounds. A row has the median, the quartiles and the best of all
//! rounds in G symbols/s (a symbol is a byte, line ends included), and the median time relative to
//! ours.

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson::{self, Transition};
use regex_automata::util::look::Look;
use regex_automata::{Anchored, Input};
use srnn::engine::key::{Key, Rng};
use srnn::stream::{ByteClasses, CompiledAutomaton, Kernel};
use srnn::task::tomita::{Grammar, minimal_dfa};
use srnn_automata::{Alphabet, Dfa, State, Symbol, random_dfa};
use std::time::Instant;

const ROUNDS: usize = 25;
const WARM_UP: usize = 3;
const BYTES: usize = 8 << 20;

/// An automaton and its implementations.
struct SpeedCase {
    name: String,
    dfa: Dfa,
    ours: CompiledAutomaton,
    /// Our scalar kernel, if the default one is vectorised.
    scalar: Option<CompiledAutomaton>,
    table: TableDfa,
    peer: dense::DFA<Vec<u32>>,
}

/// A baseline: a row of 256 successors for every state.
struct TableDfa {
    next: Vec<[u16; 256]>,
    start: u16,
    accepting: Vec<bool>,
}

/// Counts the words of a text that are accepted.
type CountAccepted<'a> = Box<dyn Fn(&[u8]) -> usize + 'a>;

/// A named implementation.
struct Implementation<'a> {
    name: &'static str,
    count: CountAccepted<'a>,
}

fn main() {
    let mut rng = Key::new(2026).rng();
    let tomita = Grammar::ALL.into_iter().zip(1..).map(|(grammar, number)| {
        let table = minimal_dfa(grammar);
        let next = table.next.iter().flatten().map(|&to| State(to)).collect();
        let dfa = Dfa::new(bits(), State(table.start), table.accept, next).expect("a table");
        (format!("Tomita {number}, {}", table.states), dfa)
    });
    let random = [16, 64, 1000].map(|states| {
        (format!("random {states}"), random_dfa(states, &bits(), 0.5, &mut || rng.bits()))
    });
    let mut rng = Key::new(2027).rng();
    for (name, dfa) in tomita.chain(random) {
        let case = SpeedCase::new(name, dfa);
        case.verify(&mut rng);
        let long = case.live_text(BYTES, &mut rng);
        case.compare("one word", &long, case.one_word());
        let lines = case.lines(39, &mut rng);
        case.compare("words ≤ 39", &lines, case.word_per_line());
        let lines = case.lines(1999, &mut rng);
        case.compare("words ≤ 1999", &lines, case.word_per_line());
    }
}

fn bits() -> Alphabet {
    Alphabet::of_chars("01").expect("two characters")
}

impl SpeedCase {
    fn new(name: String, dfa: Dfa) -> SpeedCase {
        let bytes = ByteClasses::of_characters(dfa.alphabet()).expect("characters");
        let ours = CompiledAutomaton::new(&dfa, &bytes);
        let scalar = CompiledAutomaton::with(Kernel::Table, &dfa, &bytes);
        let scalar = scalar.filter(|_| ours.kernel() != Kernel::Table);
        let (table, peer) = (TableDfa::new(&dfa), dense_dfa(&dfa));
        SpeedCase { name, dfa, ours, scalar, table, peer }
    }

    /// All implementations, on a text that is one word.
    fn one_word(&self) -> Vec<Implementation<'_>> {
        let run = |program: &CompiledAutomaton, text: &[u8]| {
            usize::from(self.dfa.is_accepting(program.run(program.start(), text).expect("bits")))
        };
        let mut all = vec![
            implementation("ours", move |text| run(&self.ours, text)),
            implementation("plain walk", |text| usize::from(self.table.accepts(text))),
            implementation("regex-automata", |text| usize::from(self.peer_accepts(text))),
        ];
        if let Some(scalar) = &self.scalar {
            all.push(implementation("ours, scalar", move |text| run(scalar, text)));
        }
        all
    }

    /// All implementations, on a text with one word per line.
    fn word_per_line(&self) -> Vec<Implementation<'_>> {
        let run = |program: &CompiledAutomaton, text: &[u8]| {
            let mut ends = Vec::new();
            let mut accepted = 0;
            // In chunks, as a stream is read: end states are counted while they are in the cache.
            let mut at = program.start();
            for chunk in text.chunks(256 << 10) {
                ends.clear();
                at = program.end_states(at, chunk, &mut ends).expect("bits");
                accepted += ends.iter().filter(|&&end| self.dfa.is_accepting(end)).count();
            }
            accepted
        };
        let lines = |text: &[u8], accepts: &dyn Fn(&[u8]) -> bool| {
            let (mut begin, mut accepted) = (0, 0);
            for end in memchr::memchr_iter(b'\n', text) {
                accepted += usize::from(accepts(&text[begin..end]));
                begin = end + 1;
            }
            accepted
        };
        let mut all = vec![
            implementation("ours", move |text| run(&self.ours, text)),
            implementation("plain walk", move |text| lines(text, &|word| self.table.accepts(word))),
            implementation("regex-automata", move |text| {
                lines(text, &|word| self.peer_accepts(word))
            }),
        ];
        if let Some(scalar) = &self.scalar {
            all.push(implementation("ours, scalar", move |text| run(scalar, text)));
        }
        all
    }

    fn peer_accepts(&self, word: &[u8]) -> bool {
        let input = Input::new(word).anchored(Anchored::Yes);
        self.peer.try_search_fwd(&input).expect("no quit bytes").is_some()
    }

    fn expected(&self, word: &[u8]) -> bool {
        let word: Vec<Symbol> = word.iter().map(|&byte| Symbol(u32::from(byte - b'0'))).collect();
        self.dfa.accepts(&word)
    }

    fn verify(&self, rng: &mut Rng) {
        for i in 0..2000 {
            let word: Vec<u8> = (0..i / 10).map(|_| b'0' + rng.below(2) as u8).collect();
            for implementation in self.one_word() {
                let (found, name) = ((implementation.count)(&word), &self.name);
                let expected = usize::from(self.expected(&word));
                assert_eq!(found, expected, "{name}, {}: {word:?}", implementation.name);
            }
        }
    }

    /// A long word that avoids dead states, because regex-automata stops there.
    fn live_text(&self, length: usize, rng: &mut Rng) -> Vec<u8> {
        let live = self.live_states();
        let mut state = self.dfa.start();
        let step = |_| {
            let good = |symbol: &Symbol| live[self.dfa.next(state, *symbol).index()];
            let choices: Vec<Symbol> = self.dfa.alphabet().symbols().filter(good).collect();
            let symbol = choices[rng.below(choices.len())];
            state = self.dfa.next(state, symbol);
            b'0' + symbol.0 as u8
        };
        (0..length).map(step).collect()
    }

    fn lines(&self, longest: usize, rng: &mut Rng) -> Vec<u8> {
        let mut text = Vec::with_capacity(BYTES + longest);
        while text.len() < BYTES {
            let length = rng.below(longest + 1);
            text.extend(self.live_text(length, rng));
            text.push(b'\n');
        }
        text
    }

    /// For each state, whether some word is accepted from it.
    fn live_states(&self) -> Vec<bool> {
        let mut live = self.dfa.outputs().to_vec();
        loop {
            let before = live.clone();
            for state in self.dfa.states() {
                live[state.index()] |=
                    self.dfa.successors(state).iter().any(|to| before[to.index()]);
            }
            if live == before {
                return live;
            }
        }
    }

    fn compare(&self, what: &str, text: &[u8], implementations: Vec<Implementation>) {
        let expected: usize = match what {
            "one word" => usize::from(self.expected(text)),
            _ => text.split_inclusive(|&b| b == b'\n').map(|w| self.accepted_line(w)).sum(),
        };
        let mut seconds = vec![Vec::new(); implementations.len()];
        for round in 0..ROUNDS + WARM_UP {
            for turn in 0..implementations.len() {
                let index = (round + turn) % implementations.len();
                let start = Instant::now();
                let found = (implementations[index].count)(std::hint::black_box(text));
                let took = start.elapsed().as_secs_f64();
                assert_eq!(found, expected, "{}", implementations[index].name);
                if round >= WARM_UP {
                    seconds[index].push(took);
                }
            }
        }
        seconds.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        for (implementation, times) in implementations.iter().zip(&seconds) {
            let rate = |at: usize| text.len() as f64 / times[at] / 1e9;
            let ratio = times[ROUNDS / 2] / seconds[0][ROUNDS / 2];
            println!(
                "{:12} {what:13} {:15} {:6.3} ({:.3}–{:.3}), best {:.3}; {ratio:.2}×",
                self.name,
                implementation.name,
                rate(ROUNDS / 2),
                rate(ROUNDS * 3 / 4),
                rate(ROUNDS / 4),
                rate(0),
            );
        }
    }

    fn accepted_line(&self, line: &[u8]) -> usize {
        usize::from(self.expected(&line[..line.len() - 1]))
    }
}

fn implementation<'a>(
    name: &'static str,
    count: impl Fn(&[u8]) -> usize + 'a,
) -> Implementation<'a> {
    Implementation { name, count: Box::new(count) }
}

impl TableDfa {
    fn new(dfa: &Dfa) -> TableDfa {
        let row = |state: State| {
            let mut row = [0; 256];
            for symbol in dfa.alphabet().symbols() {
                row[usize::from(b'0') + symbol.index()] = dfa.next(state, symbol).0 as u16;
            }
            row
        };
        let next = dfa.states().map(row).collect();
        TableDfa { next, start: dfa.start().0 as u16, accepting: dfa.outputs().to_vec() }
    }

    fn accepts(&self, word: &[u8]) -> bool {
        let mut state = self.start;
        for &byte in word {
            state = self.next[usize::from(state)][usize::from(byte)];
        }
        self.accepting[usize::from(state)]
    }
}

/// The automaton in regex-automata. A state is a union of its transitions and, if it is accepting,
/// the end of the text.
fn dense_dfa(dfa: &Dfa) -> dense::DFA<Vec<u32>> {
    let mut builder = thompson::Builder::new();
    builder.start_pattern().expect("a first pattern");
    let accept = builder.add_match().expect("a state");
    let end = builder.add_look(accept, Look::End).expect("a state");
    let ids: Vec<_> = dfa.states().map(|_| builder.add_union(vec![]).expect("a state")).collect();
    for state in dfa.states() {
        let transition = |symbol: Symbol| {
            let byte = b'0' + symbol.0 as u8;
            Transition { start: byte, end: byte, next: ids[dfa.next(state, symbol).index()] }
        };
        let transitions = dfa.alphabet().symbols().map(transition).collect();
        let moves = builder.add_sparse(transitions).expect("a state");
        builder.patch(ids[state.index()], moves).expect("a choice");
        if dfa.is_accepting(state) {
            builder.patch(ids[state.index()], end).expect("a choice");
        }
    }
    let start = ids[dfa.start().index()];
    builder.finish_pattern(start).expect("a pattern was started");
    let nfa = builder.build(start, start).expect("an NFA");
    let config = dense::Config::new().start_kind(StartKind::Anchored);
    dense::Builder::new().configure(config).build_from_nfa(&nfa).expect("a DFA")
}
