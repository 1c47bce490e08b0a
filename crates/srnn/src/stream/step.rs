//! What both kernels have in common: the loop that notes where words end.

use super::bytes::LINE_END;

/// A way to move through an automaton, one byte at a time.
pub(super) trait Step: Copy {
    /// A state, as the kernel holds it.
    type At: Copy;
    /// From the state's number.
    fn enter(self, state: u32) -> Self::At;
    /// After a byte.
    fn step(self, at: Self::At, byte: u8) -> Self::At;
    /// Something from which [`Step::state`] knows the state.
    fn mark(self, at: Self::At) -> u32;
    /// The state's number; any where the way is lost.
    fn state(self, mark: u32) -> u32;
    /// Whether a byte was foreign.
    fn is_lost(self, at: Self::At) -> bool;
}

/// How a block of text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// How many words ended in it.
    pub words: usize,
    /// The state after it.
    pub state: u32,
}

/// Runs over `text`, and puts the state at the end of every word into the front of `ends`, which is
/// as long as the text; `None` where a byte is foreign. The text is cut into `N` pieces that begin with a word, in which the kernel
/// stands at once: the next step of one does not wait for the last step of another.
///
/// PERF: Every byte stores the state, and a line end moves the place to store to: there is no
/// branch that could be predicted wrong, so short words cost no more than long ones.
#[inline(always)]
pub(super) fn ends<K: Step, const N: usize>(
    kernel: K,
    from: u32,
    start: u32,
    text: &[u8],
    ends: &mut [u32],
) -> Option<Ended> {
    let cuts = cut::<N>(text);
    let stop = |piece: usize| cuts.get(piece + 1).copied().unwrap_or(text.len());
    let pieces: [&[u8]; N] = std::array::from_fn(|i| &text[cuts[i]..stop(i)]);
    let mut at: [K::At; N] =
        std::array::from_fn(|i| kernel.enter(if i == 0 { from } else { start }));
    let mut place = cuts;
    let shared = pieces.map(<[u8]>::len).into_iter().min().unwrap_or(0);
    let heads = pieces.map(|piece| &piece[..shared]);
    for i in 0..shared {
        for (lane, head) in heads.iter().enumerate() {
            let byte = head[i];
            ends[place[lane]] = kernel.mark(at[lane]);
            place[lane] += usize::from(byte == LINE_END);
            at[lane] = kernel.step(at[lane], byte);
        }
    }
    for lane in 0..N {
        for &byte in &pieces[lane][shared..] {
            ends[place[lane]] = kernel.mark(at[lane]);
            place[lane] += usize::from(byte == LINE_END);
            at[lane] = kernel.step(at[lane], byte);
        }
    }
    if at.into_iter().any(|at| kernel.is_lost(at)) {
        return None;
    }
    let mut words = place[0];
    for lane in 1..N {
        ends.copy_within(cuts[lane]..place[lane], words);
        words += place[lane] - cuts[lane];
    }
    for end in &mut ends[..words] {
        *end = kernel.state(*end);
    }
    let last = (0..N).rev().find(|&lane| !pieces[lane].is_empty()).unwrap_or(0);
    Some(Ended { words, state: kernel.state(kernel.mark(at[last])) })
}

/// Where `N` pieces begin: near equal parts, each after a line end. Where there is none, a piece
/// is empty.
fn cut<const N: usize>(text: &[u8]) -> [usize; N] {
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
        assert_eq!(cut::<2>(b"ab\ncd\nef"), [0, 6]);
        assert_eq!(cut::<2>(b"abcdef\n"), [0, 7]);
        assert_eq!(cut::<3>(b"abcdef"), [0, 6, 6]);
        assert_eq!(cut::<4>(b"\n\n\n\n"), [0, 2, 3, 4]);
        assert_eq!(cut::<2>(b""), [0, 0]);
    }
}
