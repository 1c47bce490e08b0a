//! Up to 16 states in a vector register: the successors of all of them by one instruction.
//!
//! For every byte there is a vector whose lane `s` is the state after state `s`. `pshufb` with the
//! present states as indices looks 16 of them up at once, and takes two cycles (measured) where a
//! load takes seven.

use super::bytes::LINE_END;
use super::program::Rows;
use super::step::{Ended, Step, ends};
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
        let mut maps = Box::new([Map([0; MOST_STATES]); 256]);
        for (map, &column) in maps.iter_mut().zip(&rows.column) {
            for (lane, row) in map.0.iter_mut().zip(rows.next.chunks(rows.columns)) {
                *lane = row[column] as u8;
            }
        }
        Some(Shuffle { maps, simd })
    }

    /// The state after a text.
    pub(super) fn run(&self, from: u32, text: &[u8]) -> u32 {
        let running = self.running();
        self.simd.vectorize(
            #[inline(always)]
            || running.run(from, text),
        )
    }

    /// The states at the ends of words.
    pub(super) fn ends(&self, from: u32, start: u32, text: &[u8], out: &mut [u32]) -> Ended {
        let words = memchr::memchr_iter(LINE_END, text).count();
        if text.len() >= (words + 1) * LONG {
            return self.long_words(from, start, text, out);
        }
        let running = self.running();
        self.simd.vectorize(
            #[inline(always)]
            || ends::<_, 1>(running, from, start, text, out),
        )
    }

    fn long_words(&self, from: u32, start: u32, text: &[u8], out: &mut [u32]) -> Ended {
        let (mut state, mut begin, mut words) = (from, 0, 0);
        for end in memchr::memchr_iter(LINE_END, text) {
            out[words] = self.run(state, &text[begin..end]);
            (state, begin, words) = (start, end + 1, words + 1);
        }
        Ended { words, state: self.run(state, &text[begin..]) }
    }

    fn running(&self) -> Running<'_> {
        Running { maps: &self.maps, simd: self.simd }
    }
}

impl Running<'_> {
    /// Four functions of four parts, from every state; then one state through all of them.
    #[inline(always)]
    fn run(self, from: u32, text: &[u8]) -> u32 {
        let length = text.len() / PARTS;
        let parts: [&[u8]; PARTS] = std::array::from_fn(|i| &text[i * length..][..length]);
        let identity: [u8; MOST_STATES] = std::array::from_fn(|state| state as u8);
        let mut functions: [__m128i; PARTS] = [pulp::cast(identity); PARTS];
        for i in 0..length {
            for (function, part) in functions.iter_mut().zip(&parts) {
                *function = self.step(*function, part[i]);
            }
        }
        let apply = |state: u32, function: __m128i| {
            let function: [u8; MOST_STATES] = pulp::cast(function);
            u32::from(function[state as usize])
        };
        let state = functions.into_iter().fold(from, apply);
        let rest = &text[PARTS * length..];
        rest.iter()
            .fold(state, |state, &byte| u32::from(self.maps[usize::from(byte)].0[state as usize]))
    }
}

impl Step for Running<'_> {
    type At = __m128i;

    #[inline(always)]
    fn enter(self, state: u32) -> __m128i {
        pulp::cast([state as u8; MOST_STATES])
    }

    #[inline(always)]
    fn step(self, at: __m128i, byte: u8) -> __m128i {
        self.simd.ssse3._mm_shuffle_epi8(pulp::cast(self.maps[usize::from(byte)].0), at)
    }

    #[inline(always)]
    fn state(self, at: __m128i) -> u32 {
        self.simd.sse2._mm_cvtsi128_si32(at) as u32 & 0xff
    }
}
