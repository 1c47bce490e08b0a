//! An automaton compiled for bytes.

use super::byte_classes::{ByteClass, ByteClasses};
use super::kernel::BlockEnd;
#[cfg(target_arch = "x86_64")]
use super::shuffle_kernel::ShuffleKernel;
use super::table_kernel::TableKernel;
use srnn_automata::{Moore, State};

/// Bytes per kernel call: enough to cut into pieces, few enough to scan again for an invalid byte.
const BLOCK: usize = 16 << 10;

/// A complete automaton that runs over bytes. Its states have the numbers of the original automaton.
#[derive(Clone, Debug)]
pub struct CompiledAutomaton {
    start: State,
    states: usize,
    bytes: ByteClasses,
    tables: Tables,
}

/// How a compiled automaton finds the next state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// By a shuffle of a vector register: up to 16 states, with AVX2.
    Shuffle,
    /// By a table look-up: any number of states, any machine.
    Table,
}

/// A byte that is neither a symbol nor a blank nor a line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {byte:#04x} at offset {offset} is not a symbol")]
pub struct InvalidByte {
    /// Its offset in the text, counted from 0.
    pub offset: usize,
    /// The byte.
    pub byte: u8,
}

/// The transitions of an automaton by columns: its symbols, the line end, which leads to the start, and
/// skipped bytes, which keep the state.
pub(super) struct ByteTransitions {
    /// The column of every byte; `None` if it is invalid.
    pub column: Vec<Option<usize>>,
    /// The number of columns.
    pub columns: usize,
    /// `[states, columns]`, row-major.
    pub next: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Tables {
    #[cfg(target_arch = "x86_64")]
    Shuffle(ShuffleKernel),
    Narrow(TableKernel<u16>),
    Wide(TableKernel<u32>),
}

impl CompiledAutomaton {
    /// Compiles for the fastest kernel that the automaton and this machine allow. Fewer states may be
    /// faster: call [`Moore::minimize`] first.
    pub fn new<O>(automaton: &Moore<O>, bytes: &ByteClasses) -> CompiledAutomaton {
        let shuffle = CompiledAutomaton::with(Kernel::Shuffle, automaton, bytes);
        let table = || CompiledAutomaton::with(Kernel::Table, automaton, bytes);
        shuffle.or_else(table).expect("every automaton has a table")
    }

    /// Compiles for a kernel; `None` if the automaton has too many states for it, or the machine lacks
    /// the instructions.
    pub fn with<O>(
        kernel: Kernel,
        automaton: &Moore<O>,
        bytes: &ByteClasses,
    ) -> Option<CompiledAutomaton> {
        let rows = ByteTransitions::of(automaton, bytes);
        let tables = match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Shuffle => ShuffleKernel::new(&rows).map(Tables::Shuffle),
            #[cfg(not(target_arch = "x86_64"))]
            Kernel::Shuffle => None,
            Kernel::Table => {
                let narrow = TableKernel::new(&rows).map(Tables::Narrow);
                narrow.or_else(|| TableKernel::new(&rows).map(Tables::Wide))
            }
        };
        let (start, states) = (automaton.start(), automaton.state_count());
        Some(CompiledAutomaton { start, states, bytes: bytes.clone(), tables: tables? })
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        match self.tables {
            #[cfg(target_arch = "x86_64")]
            Tables::Shuffle(_) => Kernel::Shuffle,
            Tables::Narrow(_) | Tables::Wide(_) => Kernel::Table,
        }
    }

    /// The start state.
    pub fn start(&self) -> State {
        self.start
    }

    /// The state after `text`, starting in `from`. A line end leads to the start state.
    ///
    /// # Panics
    /// If `from` is not a state of this automaton.
    pub fn run(&self, from: State, text: &[u8]) -> Result<State, InvalidByte> {
        self.check_state(from);
        let mut state = from.0;
        for (block, at) in text.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let after = match &self.tables {
                #[cfg(target_arch = "x86_64")]
                Tables::Shuffle(shuffle) => shuffle.run(state, block),
                Tables::Narrow(table) => table.run(state, block),
                Tables::Wide(table) => table.run(state, block),
            };
            state = after.ok_or_else(|| self.invalid_byte(text, at))?;
        }
        Ok(State(state))
    }

    /// Appends to `ends` the state before every line end of `text`, and returns the state after the
    /// text. The first word continues from `from`. Before an error, the words that end before the
    /// invalid byte are appended.
    ///
    /// # Panics
    /// If `from` is not a state of this automaton.
    pub fn end_states(
        &self,
        from: State,
        text: &[u8],
        ends: &mut Vec<State>,
    ) -> Result<State, InvalidByte> {
        self.check_state(from);
        let mut state = from.0;
        let mut out = vec![0; BLOCK.min(text.len())];
        for (block, at) in text.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let Some(ended) = self.block_ends(state, block, &mut out) else {
                let invalid = self.invalid_byte(text, at);
                self.end_states(State(state), &text[at..invalid.offset], ends)?;
                return Err(invalid);
            };
            ends.extend(out[..ended.words].iter().map(|&state| State(state)));
            state = ended.state;
        }
        Ok(State(state))
    }

    fn block_ends(&self, from: u32, text: &[u8], out: &mut [u32]) -> Option<BlockEnd> {
        let start = self.start.0;
        match &self.tables {
            #[cfg(target_arch = "x86_64")]
            Tables::Shuffle(shuffle) => shuffle.end_states(from, start, text, out),
            Tables::Narrow(table) => table.end_states(from, start, text, out),
            Tables::Wide(table) => table.end_states(from, start, text, out),
        }
    }

    /// The first invalid byte at or after an offset. There must be one.
    fn invalid_byte(&self, text: &[u8], from: usize) -> InvalidByte {
        let found = self.bytes.first_invalid(&text[from..]);
        let offset = from + found.expect("a kernel fails only on an invalid byte");
        InvalidByte { offset, byte: text[offset] }
    }

    fn check_state(&self, from: State) {
        let (state, states) = (from.0, self.states);
        assert!(from.index() < states, "state {state} of an automaton with {states}");
    }
}

impl ByteTransitions {
    fn of<O>(automaton: &Moore<O>, bytes: &ByteClasses) -> ByteTransitions {
        let symbols = automaton.alphabet().len();
        let (line_end, skip) = (symbols, symbols + 1);
        let column = |byte| match bytes.class(byte) {
            ByteClass::Symbol(symbol) => {
                assert!(symbol.index() < symbols, "byte classes of another alphabet");
                Some(symbol.index())
            }
            ByteClass::LineEnd => Some(line_end),
            ByteClass::Skip => Some(skip),
            ByteClass::Invalid => None,
        };
        let rows = automaton.states().flat_map(|state| {
            let symbols = automaton.successors(state).iter().map(|to| to.0);
            symbols.chain([automaton.start().0, state.0])
        });
        let column = (0..=u8::MAX).map(column).collect();
        ByteTransitions { column, columns: symbols + 2, next: rows.collect() }
    }

    /// The number of states.
    pub fn states(&self) -> usize {
        self.next.len() / self.columns
    }
}
