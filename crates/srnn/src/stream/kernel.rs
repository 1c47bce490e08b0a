//! The loop shared by both kernels, which records the state at the end of every word.

use super::byte_classes::LINE_END;

/// The transition function of an automaton, one byte at a time.
pub(super) trait ByteStep: Copy {
    /// The kernel's representation of a state.
    type Cursor: Copy;
    /// The cursor of a state.
    fn cursor(self, state: u32) -> Self::Cursor;
    /// The cursor after a byte.
    fn step(self, at: Self::Cursor, byte: u8) -> Self::Cursor;
    /// A cheap encoding of the state, for [`ByteStep::decode`].
    fn encode(self, at: Self::Cursor) -> u32;
    /// The state; arbitrary after an invalid byte.
    fn decode(self, code: u32) -> u32;
    /// Whether a byte was invalid.
    fn is_invalid(self, at: Self::Cursor) -> bool;
}

/// The result of a block of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockEnd {
    /// The number of words that end in it.
    pub words: usize,
    /// The state after it.
    pub state: u32,
}

/// Runs over `text` and writes the state at the end of every word to the front of `ends`, which is as
/// long as the text. `None` if a byte is invalid. The text is cut into `N` pieces that begin with a
/// word. The kernel advances all pieces in turn, because steps of different pieces are independent.
///
/// PERF: every byte stores the state, and a line end advances the position of the store. There is no
/// branch that could be mispredicted, so short words cost no more than long ones.
#[inline(always)]
pub(super) fn end_states<K: ByteStep, const N: usize>(
    kernel: K,
    from: u32,
    start: u32,
    text: &[u8],
    ends: &mut [u32],
) -> Option<BlockEnd> {
    let cuts = split_at_lines::<N>(text);
    let stop = |piece: usize| cuts.get(piece + 1).copied().unwrap_or(text.len());
    let pieces: [&[u8]; N] = std::array::from_fn(|i| &text[cuts[i]..stop(i)]);
    let mut at: [K::Cursor; N] =
        std::array::from_fn(|i| kernel.cursor(if i == 0 { from } else { start }));
    let mut position = cuts;
    let shared = pieces.map(<[u8]>::len).into_iter().min().unwrap_or(0);
    let heads = pieces.map(|piece| &piece[..shared]);
    for i in 0..shared {
        for (lane, head) in heads.iter().enumerate() {
            let byte = head[i];
            ends[position[lane]] = kernel.encode(at[lane]);
            position[lane] += usize::from(byte == LINE_END);
            at[lane] = kernel.step(at[lane], byte);
        }
    }
    for lane in 0..N {
        for &byte in &pieces[lane][shared..] {
            ends[position[lane]] = kernel.encode(at[lane]);
            position[lane] += usize::from(byte == LINE_END);
            at[lane] = kernel.step(at[lane], byte);
        }
    }
    if at.into_iter().any(|at| kernel.is_invalid(at)) {
        return None;
    }
    let mut words = position[0];
    for lane in 1..N {
        ends.copy_within(cuts[lane]..position[lane], words);
        words += position[lane] - cuts[lane];
    }
    for end in &mut ends[..words] {
        *end = kernel.decode(*end);
    }
    let last = (0..N).rev().find(|&lane| !pieces[lane].is_empty()).unwrap_or(0);
    Some(BlockEnd { words, state: kernel.decode(kernel.encode(at[last])) })
}

/// The offsets of `N` pieces of nearly equal length, each after a line end. A piece is empty if there
/// is no line end for it.
fn split_at_lines<const N: usize>(text: &[u8]) -> [usize; N] {
    let mut cuts = [0; N];
    for i in 1..N {
        let near = cuts[i - 1].max(text.len() * i / N);
        let end = memchr::memchr(LINE_END, &text[near..]);
        cuts[i] = end.map_or(text.len(), |end| near + end + 1);
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_begin_after_line_ends() {
        assert_eq!(split_at_lines::<2>(b"ab\ncd\nef"), [0, 6]);
        assert_eq!(split_at_lines::<2>(b"abcdef\n"), [0, 7]);
        assert_eq!(split_at_lines::<3>(b"abcdef"), [0, 6, 6]);
        assert_eq!(split_at_lines::<4>(b"\n\n\n\n"), [0, 2, 3, 4]);
        assert_eq!(split_at_lines::<2>(b""), [0, 0]);
    }
}
