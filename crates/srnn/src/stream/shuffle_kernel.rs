//! The shuffle kernel: up to 16 states in a vector register, advanced by one instruction.
//!
//! Every byte has a vector whose lane `s` is the successor of state `s`. `pshufb` with the current
//! states as indices looks up 16 of them at once. It takes two cycles (measured), a load takes seven.

use super::byte_classes::LINE_END;
use super::compiled::ByteTransitions;
use super::kernel::{BlockEnd, ByteStep, end_states};
use pulp::NullaryFnOnce;
use pulp::x86::V3;
use std::arch::x86_64::__m128i;

/// Lanes of a vector.
pub(super) const MOST_STATES: usize = 16;

/// Parts of a word whose functions are computed in parallel. PERF: 1.85, 3.69, 4.32, 4.62 and
/// 4.41 G bytes/s with one to five parts.
const PARTS: usize = 4;

/// If words have this average length or more, each is run by itself, in parts.
const LONG: usize = 256;

/// The transition function of every byte.
#[derive(Clone, Debug)]
pub(super) struct ShuffleKernel {
    maps: Box<[StateMap; 256]>,
    simd: V3,
}

/// Lane `s` is the successor of state `s`.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct StateMap([u8; MOST_STATES]);

/// The map of an invalid byte: its lanes have the highest bit set. The next shuffle turns such a lane
/// into 0, so the cursor keeps the bits of all states on the way.
const INVALID: StateMap = StateMap([0x80; MOST_STATES]);

/// The current states, one per lane, and the bitwise OR of all states on the way.
#[derive(Clone, Copy)]
struct LaneStates {
    states: __m128i,
    seen: __m128i,
}

/// The kernel by reference, as the compiled loops take it.
#[derive(Clone, Copy)]
struct ShuffleStep<'a> {
    maps: &'a [StateMap; 256],
    simd: V3,
}

impl ShuffleKernel {
    /// The maps of these transitions; `None` if there are too many states, or the machine has no AVX2.
    pub(super) fn new(rows: &ByteTransitions) -> Option<ShuffleKernel> {
        let simd = V3::try_new().filter(|_| rows.states() <= MOST_STATES)?;
        let mut maps = Box::new([INVALID; 256]);
        for (map, &column) in maps.iter_mut().zip(&rows.column) {
            let Some(column) = column else { continue };
            *map = StateMap([0; MOST_STATES]);
            for (lane, row) in map.0.iter_mut().zip(rows.next.chunks(rows.columns)) {
                *lane = row[column] as u8;
            }
        }
        Some(ShuffleKernel { maps, simd })
    }

    /// The state after a text; `None` if a byte is invalid.
    pub(super) fn run(&self, from: u32, text: &[u8]) -> Option<u32> {
        self.simd.vectorize(RunTask { kernel: self.step_fn(), from, text })
    }

    /// The states at the ends of words; `None` if a byte is invalid.
    pub(super) fn end_states(
        &self,
        from: u32,
        start: u32,
        text: &[u8],
        out: &mut [u32],
    ) -> Option<BlockEnd> {
        let words = memchr::memchr_iter(LINE_END, text).count();
        if text.len() >= (words + 1) * LONG {
            return self.long_words(from, start, text, out);
        }
        self.simd.vectorize(EndStatesTask { kernel: self.step_fn(), from, start, text, out })
    }

    fn long_words(&self, from: u32, start: u32, text: &[u8], out: &mut [u32]) -> Option<BlockEnd> {
        let (mut state, mut begin, mut words) = (from, 0, 0);
        for end in memchr::memchr_iter(LINE_END, text) {
            out[words] = self.run(state, &text[begin..end])?;
            (state, begin, words) = (start, end + 1, words + 1);
        }
        Some(BlockEnd { words, state: self.run(state, &text[begin..])? })
    }

    fn step_fn(&self) -> ShuffleStep<'_> {
        ShuffleStep { maps: &self.maps, simd: self.simd }
    }
}

/// A run, compiled for the machine's vector instructions. PERF: a closure does not work, because the
/// shim that calls it is compiled without them.
struct RunTask<'a> {
    kernel: ShuffleStep<'a>,
    from: u32,
    text: &'a [u8],
}

/// The loop over short words, compiled in the same way.
struct EndStatesTask<'a> {
    kernel: ShuffleStep<'a>,
    from: u32,
    start: u32,
    text: &'a [u8],
    out: &'a mut [u32],
}

impl NullaryFnOnce for RunTask<'_> {
    type Output = Option<u32>;

    #[inline(always)]
    fn call(self) -> Option<u32> {
        self.kernel.run(self.from, self.text)
    }
}

impl NullaryFnOnce for EndStatesTask<'_> {
    type Output = Option<BlockEnd>;

    #[inline(always)]
    fn call(self) -> Option<BlockEnd> {
        end_states::<_, 1>(self.kernel, self.from, self.start, self.text, self.out)
    }
}

impl ShuffleStep<'_> {
    /// Computes the functions of four parts from every state, then applies them to one state.
    #[inline(always)]
    fn run(self, from: u32, text: &[u8]) -> Option<u32> {
        let length = text.len() / PARTS;
        let parts: [&[u8]; PARTS] = std::array::from_fn(|i| &text[i * length..][..length]);
        let identity: [u8; MOST_STATES] = std::array::from_fn(|state| state as u8);
        let mut at = [self.cursor_of(identity); PARTS];
        for i in 0..length {
            for (at, part) in at.iter_mut().zip(&parts) {
                *at = self.step(*at, part[i]);
            }
        }
        let mut state = from;
        for function in at {
            if self.is_invalid(function) {
                return None;
            }
            let function: [u8; MOST_STATES] = pulp::cast(function.states);
            state = u32::from(function[state as usize]);
        }
        let mut at = self.cursor(state);
        for &byte in &text[PARTS * length..] {
            at = self.step(at, byte);
        }
        (!self.is_invalid(at)).then(|| self.decode(self.encode(at)))
    }

    #[inline(always)]
    fn cursor_of(self, states: [u8; MOST_STATES]) -> LaneStates {
        LaneStates { states: pulp::cast(states), seen: pulp::cast([0u8; MOST_STATES]) }
    }
}

impl ByteStep for ShuffleStep<'_> {
    type Cursor = LaneStates;

    #[inline(always)]
    fn cursor(self, state: u32) -> LaneStates {
        self.cursor_of([state as u8; MOST_STATES])
    }

    #[inline(always)]
    fn step(self, at: LaneStates, byte: u8) -> LaneStates {
        let map = pulp::cast(self.maps[usize::from(byte)].0);
        let states = self.simd.ssse3._mm_shuffle_epi8(map, at.states);
        LaneStates { states, seen: self.simd.sse2._mm_or_si128(at.seen, states) }
    }

    #[inline(always)]
    fn encode(self, at: LaneStates) -> u32 {
        self.simd.sse2._mm_cvtsi128_si32(at.states) as u32
    }

    #[inline(always)]
    fn decode(self, code: u32) -> u32 {
        code & 0xff
    }

    #[inline(always)]
    fn is_invalid(self, at: LaneStates) -> bool {
        self.simd.sse2._mm_movemask_epi8(at.seen) != 0
    }
}
