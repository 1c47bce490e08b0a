//! How fast an automaton runs over text: ours beside a plain table walk and the dense DFA of
//! regex-automata, all three of the same language, on one core.
//!
//! ```sh
//! cargo run --release -p srnn-bench --bin automaton_speed
//! ```
//!
//! Everybody is asked 2,000 words first, and what is timed, and must agree with the automaton
//! itself. Rounds alternate the order; a row has the median of all rounds, their quartiles and the
//! best, in G symbols/s (a symbol is a byte, and so is a line end), and how many times the time of
//! ours the others take, by the medians.

use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson::{self, Transition};
use regex_automata::util::look::Look;
use regex_automata::{Anchored, Input};
use srnn::key::{Key, Rng};
use srnn::stream::{ByteClasses, CompiledAutomaton, Kernel};
use srnn::task::tomita::{Grammar, truth};
use srnn_automata::{Alphabet, Dfa, State, Symbol, random_dfa};
use std::time::Instant;

const ROUNDS: usize = 25;
const WARM_UP: usize = 3;
const BYTES: usize = 8 << 20;

/// An automaton, and everybody who runs it.
struct Case {
    name: String,
    dfa: Dfa,
    ours: CompiledAutomaton,
    /// Ours on a machine without vectors, where that is another.
    scalar: Option<CompiledAutomaton>,
    plain: Plain,
    peer: dense::DFA<Vec<u32>>,
}

/// What one writes first: a row of 256 successors for every state.
struct Plain {
    next: Vec<[u16; 256]>,
    start: u16,
    accepting: Vec<bool>,
}

/// Says how many words of a text are in the language.
type Count<'a> = Box<dyn Fn(&[u8]) -> usize + 'a>;

/// Somebody's way to say it.
struct Contender<'a> {
    name: &'static str,
    count: Count<'a>,
}

fn main() {
    let mut stream = Key::new(2026).rng();
    let tomita = Grammar::ALL.into_iter().zip(1..).map(|(grammar, number)| {
        let table = truth(grammar);
        let next = table.next.iter().flatten().map(|&to| State(to)).collect();
        let dfa = Dfa::new(bits(), State(table.start), table.accept, next).expect("a table");
        (format!("Tomita {number}, {}", table.states), dfa)
    });
    let random = [16, 64, 1000].map(|states| {
        (format!("random {states}"), random_dfa(states, &bits(), 0.5, &mut || stream.bits()))
    });
    let mut stream = Key::new(2027).rng();
    for (name, dfa) in tomita.chain(random) {
        let case = Case::new(name, dfa);
        case.verify(&mut stream);
        let long = case.live_text(BYTES, &mut stream);
        case.compare("one word", &long, case.one_word());
        let lines = case.lines(39, &mut stream);
        case.compare("words ≤ 39", &lines, case.one_a_line());
        let lines = case.lines(1999, &mut stream);
        case.compare("words ≤ 1999", &lines, case.one_a_line());
    }
}

fn bits() -> Alphabet {
    Alphabet::of_chars("01").expect("two characters")
}

impl Case {
    fn new(name: String, dfa: Dfa) -> Case {
        let bytes = ByteClasses::of_characters(dfa.alphabet()).expect("characters");
        let ours = CompiledAutomaton::new(&dfa, &bytes);
        let scalar = CompiledAutomaton::with(Kernel::Table, &dfa, &bytes);
        let scalar = scalar.filter(|_| ours.kernel() != Kernel::Table);
        let (plain, peer) = (Plain::new(&dfa), dense_dfa(&dfa));
        Case { name, dfa, ours, scalar, plain, peer }
    }

    /// Everybody, on a text that is one word.
    fn one_word(&self) -> Vec<Contender<'_>> {
        let run = |program: &CompiledAutomaton, text: &[u8]| {
            usize::from(self.dfa.is_accepting(program.run(program.start(), text).expect("bits")))
        };
        let mut all = vec![
            contender("ours", move |text| run(&self.ours, text)),
            contender("plain walk", |text| usize::from(self.plain.accepts(text))),
            contender("regex-automata", |text| usize::from(self.peer_accepts(text))),
        ];
        if let Some(scalar) = &self.scalar {
            all.push(contender("ours, scalar", move |text| run(scalar, text)));
        }
        all
    }

    /// Everybody, on a text of one word a line.
    fn one_a_line(&self) -> Vec<Contender<'_>> {
        let run = |program: &CompiledAutomaton, text: &[u8]| {
            let mut ends = Vec::new();
            let mut accepted = 0;
            // As a stream is read: answers are counted while they are in the cache.
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
            contender("ours", move |text| run(&self.ours, text)),
            contender("plain walk", move |text| lines(text, &|word| self.plain.accepts(word))),
            contender("regex-automata", move |text| lines(text, &|word| self.peer_accepts(word))),
        ];
        if let Some(scalar) = &self.scalar {
            all.push(contender("ours, scalar", move |text| run(scalar, text)));
        }
        all
    }

    fn peer_accepts(&self, word: &[u8]) -> bool {
        let input = Input::new(word).anchored(Anchored::Yes);
        self.peer.try_search_fwd(&input).expect("no byte gives up").is_some()
    }

    fn specified(&self, word: &[u8]) -> bool {
        let word: Vec<Symbol> = word.iter().map(|&byte| Symbol(u32::from(byte - b'0'))).collect();
        self.dfa.accepts(&word)
    }

    fn verify(&self, stream: &mut Rng) {
        for i in 0..2000 {
            let word: Vec<u8> = (0..i / 10).map(|_| b'0' + stream.below(2) as u8).collect();
            for contender in self.one_word() {
                let (said, name) = ((contender.count)(&word), &self.name);
                let expected = usize::from(self.specified(&word));
                assert_eq!(said, expected, "{name}, {}: {word:?}", contender.name);
            }
        }
    }

    /// A long word that stays where acceptance is possible: the peer stops where it is not.
    fn live_text(&self, length: usize, stream: &mut Rng) -> Vec<u8> {
        let live = self.live();
        let mut state = self.dfa.start();
        let step = |_| {
            let good = |symbol: &Symbol| live[self.dfa.next(state, *symbol).index()];
            let choices: Vec<Symbol> = self.dfa.alphabet().symbols().filter(good).collect();
            let symbol = choices[stream.below(choices.len())];
            state = self.dfa.next(state, symbol);
            b'0' + symbol.0 as u8
        };
        (0..length).map(step).collect()
    }

    fn lines(&self, longest: usize, stream: &mut Rng) -> Vec<u8> {
        let mut text = Vec::with_capacity(BYTES + longest);
        while text.len() < BYTES {
            let length = stream.below(longest + 1);
            text.extend(self.live_text(length, stream));
            text.push(b'\n');
        }
        text
    }

    /// The states from which some word is accepted.
    fn live(&self) -> Vec<bool> {
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

    fn compare(&self, what: &str, text: &[u8], contenders: Vec<Contender>) {
        let expected: usize = match what {
            "one word" => usize::from(self.specified(text)),
            _ => text.split_inclusive(|&b| b == b'\n').map(|w| self.said_of_line(w)).sum(),
        };
        let mut seconds = vec![Vec::new(); contenders.len()];
        for round in 0..ROUNDS + WARM_UP {
            for turn in 0..contenders.len() {
                let who = (round + turn) % contenders.len();
                let begin = Instant::now();
                let said = (contenders[who].count)(std::hint::black_box(text));
                let took = begin.elapsed().as_secs_f64();
                assert_eq!(said, expected, "{}", contenders[who].name);
                if round >= WARM_UP {
                    seconds[who].push(took);
                }
            }
        }
        seconds.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        for (contender, times) in contenders.iter().zip(&seconds) {
            let rate = |at: usize| text.len() as f64 / times[at] / 1e9;
            let ratio = times[ROUNDS / 2] / seconds[0][ROUNDS / 2];
            println!(
                "{:12} {what:13} {:15} {:6.3} ({:.3}–{:.3}), best {:.3}; {ratio:.2}×",
                self.name,
                contender.name,
                rate(ROUNDS / 2),
                rate(ROUNDS * 3 / 4),
                rate(ROUNDS / 4),
                rate(0),
            );
        }
    }

    fn said_of_line(&self, line: &[u8]) -> usize {
        usize::from(self.specified(&line[..line.len() - 1]))
    }
}

fn contender<'a>(name: &'static str, count: impl Fn(&[u8]) -> usize + 'a) -> Contender<'a> {
    Contender { name, count: Box::new(count) }
}

impl Plain {
    fn new(dfa: &Dfa) -> Plain {
        let row = |state: State| {
            let mut row = [0; 256];
            for symbol in dfa.alphabet().symbols() {
                row[usize::from(b'0') + symbol.index()] = dfa.next(state, symbol).0 as u16;
            }
            row
        };
        let next = dfa.states().map(row).collect();
        Plain { next, start: dfa.start().0 as u16, accepting: dfa.outputs().to_vec() }
    }

    fn accepts(&self, word: &[u8]) -> bool {
        let mut state = self.start;
        for &byte in word {
            state = self.next[usize::from(state)][usize::from(byte)];
        }
        self.accepting[usize::from(state)]
    }
}

/// The same automaton as regex-automata's: a state is a choice between its transitions and, where
/// it accepts, the end of the text.
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
