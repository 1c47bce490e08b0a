//! An automaton compiled for bytes.

use super::bytes::{Bytes, Role};
#[cfg(target_arch = "x86_64")]
use super::shuffle::Shuffle;
use super::step::Ended;
use super::walk::Walk;
use srnn_automata::{Moore, State};

/// Bytes that a kernel is given at a time: enough to be cut into pieces, few enough to look at again.
const BLOCK: usize = 16 << 10;

/// A complete automaton that runs over bytes. Its states have the automaton's numbers.
#[derive(Clone, Debug)]
pub struct Program {
    start: State,
    states: usize,
    bytes: Bytes,
    tables: Tables,
}

/// How a program finds the next state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// In a vector register: up to 16 states, AVX2.
    Shuffle,
    /// In a table: any number of states, any machine.
    Walk,
}

/// A byte that is neither a symbol nor a blank nor a line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {byte:#04x} at place {offset} is no symbol")]
pub struct Foreign {
    /// Its place in the text, from 0.
    pub offset: usize,
    /// The byte.
    pub byte: u8,
}

/// The transitions of an automaton by columns: its symbols, a line end that leads to the start, and
/// what is skipped.
pub(super) struct Rows {
    /// The column of every byte that is not foreign.
    pub column: Vec<Option<usize>>,
    /// How many there are.
    pub columns: usize,
    /// `[states, columns]`, row by row.
    pub next: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Tables {
    #[cfg(target_arch = "x86_64")]
    Shuffle(Shuffle),
    Narrow(Walk<u16>),
    Wide(Walk<u32>),
}

impl Program {
    /// The fastest program for this automaton on this machine. Fewer states may be faster:
    /// [`Moore::minimize`] it first.
    pub fn new<O>(automaton: &Moore<O>, bytes: &Bytes) -> Program {
        let shuffle = Program::with(Kernel::Shuffle, automaton, bytes);
        let walk = || Program::with(Kernel::Walk, automaton, bytes);
        shuffle.or_else(walk).expect("every automaton can be walked")
    }

    /// A program of this kind; `None` where the automaton has too many states for it, or the
    /// machine lacks the instructions.
    pub fn with<O>(kernel: Kernel, automaton: &Moore<O>, bytes: &Bytes) -> Option<Program> {
        let rows = Rows::of(automaton, bytes);
        let tables = match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Shuffle => Shuffle::new(&rows).map(Tables::Shuffle),
            #[cfg(not(target_arch = "x86_64"))]
            Kernel::Shuffle => None,
            Kernel::Walk => {
                let narrow = Walk::new(&rows).map(Tables::Narrow);
                narrow.or_else(|| Walk::new(&rows).map(Tables::Wide))
            }
        };
        let (start, states) = (automaton.start(), automaton.state_count());
        Some(Program { start, states, bytes: bytes.clone(), tables: tables? })
    }

    /// How it finds the next state.
    pub fn kernel(&self) -> Kernel {
        match self.tables {
            #[cfg(target_arch = "x86_64")]
            Tables::Shuffle(_) => Kernel::Shuffle,
            Tables::Narrow(_) | Tables::Wide(_) => Kernel::Walk,
        }
    }

    /// Where every word begins.
    pub fn start(&self) -> State {
        self.start
    }

    /// The state after `text`, begun in `from`; after a line end it is the start again.
    ///
    /// # Panics
    /// If `from` is not of this automaton.
    pub fn run(&self, from: State, text: &[u8]) -> Result<State, Foreign> {
        self.check(from);
        let mut state = from.0;
        for (block, at) in text.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let after = match &self.tables {
                #[cfg(target_arch = "x86_64")]
                Tables::Shuffle(shuffle) => shuffle.run(state, block),
                Tables::Narrow(walk) => walk.run(state, block),
                Tables::Wide(walk) => walk.run(state, block),
            };
            state = after.ok_or_else(|| self.foreign(text, at))?;
        }
        Ok(State(state))
    }

    /// Appends the state at the end of every word that a line end of `text` ends, the first of
    /// which goes on from `from`. Gives the state after the text. Where there is a foreign byte,
    /// the words that end before it are appended.
    ///
    /// # Panics
    /// If `from` is not of this automaton.
    pub fn words(&self, from: State, text: &[u8], ends: &mut Vec<State>) -> Result<State, Foreign> {
        self.check(from);
        let mut state = from.0;
        let mut out = vec![0; BLOCK.min(text.len())];
        for (block, at) in text.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let Some(ended) = self.ends(state, block, &mut out) else {
                let foreign = self.foreign(text, at);
                self.words(State(state), &text[at..foreign.offset], ends)?;
                return Err(foreign);
            };
            ends.extend(out[..ended.words].iter().map(|&state| State(state)));
            state = ended.state;
        }
        Ok(State(state))
    }

    fn ends(&self, from: u32, text: &[u8], out: &mut [u32]) -> Option<Ended> {
        let start = self.start.0;
        match &self.tables {
            #[cfg(target_arch = "x86_64")]
            Tables::Shuffle(shuffle) => shuffle.ends(from, start, text, out),
            Tables::Narrow(walk) => walk.ends(from, start, text, out),
            Tables::Wide(walk) => walk.ends(from, start, text, out),
        }
    }

    /// The first foreign byte from a place on, where a kernel has met one.
    fn foreign(&self, text: &[u8], from: usize) -> Foreign {
        let found = self.bytes.first_foreign(&text[from..]);
        let offset = from + found.expect("a kernel is lost only by a foreign byte");
        Foreign { offset, byte: text[offset] }
    }

    fn check(&self, from: State) {
        let (state, states) = (from.0, self.states);
        assert!(from.index() < states, "state {state} of an automaton with {states}");
    }
}

impl Rows {
    fn of<O>(automaton: &Moore<O>, bytes: &Bytes) -> Rows {
        let symbols = automaton.alphabet().len();
        let (end, skip) = (symbols, symbols + 1);
        let column = |byte| match bytes.role(byte) {
            Role::Symbol(symbol) => {
                assert!(symbol.index() < symbols, "bytes of another alphabet");
                Some(symbol.index())
            }
            Role::End => Some(end),
            Role::Skip => Some(skip),
            Role::Foreign => None,
        };
        let rows = automaton.states().flat_map(|state| {
            let symbols = automaton.successors(state).iter().map(|to| to.0);
            symbols.chain([automaton.start().0, state.0])
        });
        let column = (0..=u8::MAX).map(column).collect();
        Rows { column, columns: symbols + 2, next: rows.collect() }
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.next.len() / self.columns
    }
}
