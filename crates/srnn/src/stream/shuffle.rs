//! Up to 16 states in a vector register: the successors of all of them by one instruction.
//!
//! For every byte there is a vector whose lane `s` is the state after state `s`. `pshufb` with the
//! present states as indices looks 16 of them up at once, and takes two cycles (measured) where a
//! load takes seven.

use super::bytes::LINE_END;
use super::program::Rows;
use super::step::{Ended, Step, ends};
use pulp::NullaryFnOnce;
use pulp::x86::V3;
use std::arch::x86_64::__m128i;

/// States that a vector can hold.
pub(super) const MOST_STATES: usize = 16;

/// Parts of a word whose functions are computed side by side. PERF: 1.85, 3.69, 4.32, 4.62 and
/// 4.41 G bytes/s with one to five.
const PARTS: usize = 4;

/// Words of this length or more, on average, are run one by one and in parts.
const LONG: usize = 256;

/// The function of every byte, on a machine that can apply it.
#[derive(Clone, Debug)]
pub(super) struct Shuffle {
    maps: Box<[Map; 256]>,
    simd: V3,
}

/// Lane `s` is the state after state `s`.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Map([u8; MOST_STATES]);

/// Where a foreign byte leads: to no state. The next byte leads on from there as if nothing were,
/// for an index with its highest bit set gives 0; so what was seen is kept.
const LOST: Map = Map([0x80; MOST_STATES]);

/// Where a state has led to, in every lane, or each state in its own; and all bits on the way.
#[derive(Clone, Copy)]
struct At {
    states: __m128i,
    seen: __m128i,
}

/// A kernel while it runs.
#[derive(Clone, Copy)]
struct Running<'a> {
    maps: &'a [Map; 256],
    simd: V3,
}

impl Shuffle {
    /// The functions of these rows; `None` where there are too many states, or the machine has no
    /// AVX2.
    pub(super) fn new(rows: &Rows) -> Option<Shuffle> {
        let simd = V3::try_new().filter(|_| rows.states() <= MOST_STATES)?;
        let mut maps = Box::new([LOST; 256]);
        for (map, &column) in maps.iter_mut().zip(&rows.column) {
            let Some(column) = column else { continue };
            *map = Map([0; MOST_STATES]);
            for (lane, row) in map.0.iter_mut().zip(rows.next.chunks(rows.columns)) {
                *lane = row[column] as u8;
            }
        }
        Some(Shuffle { maps, simd })
    }

    /// The state after a text; `None` where a byte is foreign.
    pub(super) fn run(&self, from: u32, text: &[u8]) -> Option<u32> {
        self.simd.vectorize(Run { kernel: self.running(), from, text })
    }

    /// The states at the ends of words; `None` where a byte is foreign.
    pub(super) fn ends(
        &self,
        from: u32,
        start: u32,
        text: &[u8],
        out: &mut [u32],
    ) -> Option<Ended> {
        let words = memchr::memchr_iter(LINE_END, text).count();
        if text.len() >= (words + 1) * LONG {
            return self.long_words(from, start, text, out);
        }
        self.simd.vectorize(Ends { kernel: self.running(), from, start, text, out })
    }

    fn long_words(&self, from: u32, start: u32, text: &[u8], out: &mut [u32]) -> Option<Ended> {
        let (mut state, mut begin, mut words) = (from, 0, 0);
        for end in memchr::memchr_iter(LINE_END, text) {
            out[words] = self.run(state, &text[begin..end])?;
            (state, begin, words) = (start, end + 1, words + 1);
        }
        Some(Ended { words, state: self.run(state, &text[begin..])? })
    }

    fn running(&self) -> Running<'_> {
        Running { maps: &self.maps, simd: self.simd }
    }
}

/// A run, to be compiled for the machine's vectors. PERF: A closure would not do, for the shim that
/// calls it is compiled without them.
struct Run<'a> {
    kernel: Running<'a>,
    from: u32,
    text: &'a [u8],
}

/// The loop over short words, in the same way.
struct Ends<'a> {
    kernel: Running<'a>,
    from: u32,
    start: u32,
    text: &'a [u8],
    out: &'a mut [u32],
}

impl NullaryFnOnce for Run<'_> {
    type Output = Option<u32>;

    #[inline(always)]
    fn call(self) -> Option<u32> {
        self.kernel.run(self.from, self.text)
    }
}

impl NullaryFnOnce for Ends<'_> {
    type Output = Option<Ended>;

    #[inline(always)]
    fn call(self) -> Option<Ended> {
        ends::<_, 1>(self.kernel, self.from, self.start, self.text, self.out)
    }
}

impl Running<'_> {
    /// Four functions of four parts, from every state; then one state through all of them.
    #[inline(always)]
    fn run(self, from: u32, text: &[u8]) -> Option<u32> {
        let length = text.len() / PARTS;
        let parts: [&[u8]; PARTS] = std::array::from_fn(|i| &text[i * length..][..length]);
        let identity: [u8; MOST_STATES] = std::array::from_fn(|state| state as u8);
        let mut at = [self.enter_all(identity); PARTS];
        for i in 0..length {
            for (at, part) in at.iter_mut().zip(&parts) {
                *at = self.step(*at, part[i]);
            }
        }
        let mut state = from;
        for function in at {
            if self.is_lost(function) {
                return None;
            }
            let function: [u8; MOST_STATES] = pulp::cast(function.states);
            state = u32::from(function[state as usize]);
        }
        let mut at = self.enter(state);
        for &byte in &text[PARTS * length..] {
            at = self.step(at, byte);
        }
        (!self.is_lost(at)).then(|| self.state(self.mark(at)))
    }

    #[inline(always)]
    fn enter_all(self, states: [u8; MOST_STATES]) -> At {
        At { states: pulp::cast(states), seen: pulp::cast([0u8; MOST_STATES]) }
    }
}

impl Step for Running<'_> {
    type At = At;

    #[inline(always)]
    fn enter(self, state: u32) -> At {
        self.enter_all([state as u8; MOST_STATES])
    }

    #[inline(always)]
    fn step(self, at: At, byte: u8) -> At {
        let map = pulp::cast(self.maps[usize::from(byte)].0);
        let states = self.simd.ssse3._mm_shuffle_epi8(map, at.states);
        At { states, seen: self.simd.sse2._mm_or_si128(at.seen, states) }
    }

    #[inline(always)]
    fn mark(self, at: At) -> u32 {
        self.simd.sse2._mm_cvtsi128_si32(at.states) as u32
    }

    #[inline(always)]
    fn state(self, mark: u32) -> u32 {
        mark & 0xff
    }

    #[inline(always)]
    fn is_lost(self, at: At) -> bool {
        self.simd.sse2._mm_movemask_epi8(at.seen) != 0
    }
}
