//! Where few rows leave most of a GPU idle, the scan is cut into chunks of times: products of what
//! later chunks read are made beside it, and those of the gradients that it has left.
//!
//! Tokens are numbered as time meets them, so the steps of a chunk read its own rows of `E·Wᵀ` and
//! those of the chunks before; and backward the gradient of such a row is complete when the scan has
//! gone through the row's chunk.

use super::device::Address;
use super::matrix::Into;
use super::plan::{COLUMNS, ROWS};
use std::ops::Range;

/// Chunks, at most.
const MOST: usize = 8;
/// Chunks of at least so many times are worth a launch.
const SHORTEST: usize = 16;
/// As many of the largest products' tiles, one below the other, are worth one.
const LEAST_TILES: usize = 4;

/// When a scan is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Where enough of the GPU is idle.
    WhereItPays,
    /// Wherever it can be; for tests.
    Always,
}

/// How a scan is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    pub count: usize,
    /// Tokens of a chunk; the last one has what is left.
    tokens: usize,
    /// Tokens of all.
    distinct: usize,
    /// Multiprocessors that do not scan.
    pub idle: usize,
    /// Where the times are at which chunks begin, and the end `[count+1]`.
    pub times: Address,
}

impl Default for Chunks {
    fn default() -> Chunks {
        Chunks { count: 1, tokens: 0, distinct: 0, idle: 0, times: 0 }
    }
}

impl Chunks {
    /// For rows of `longest` steps at most and so many tokens, of which each has a row of `wide`
    /// numbers; each row is scanned by one of so many multiprocessors.
    pub fn of(
        (rows, longest): (usize, usize),
        (distinct, wide): (usize, usize),
        processors: usize,
    ) -> Chunks {
        // A chunk's products have a tile for each multiprocessor that is idle, at most: those that
        // scan stay free for the next chunk's scan.
        let idle = processors.saturating_sub(rows);
        let tiles = idle / wide.div_ceil(COLUMNS).max(1);
        if rows == 0 || 2 * rows > processors || tiles < LEAST_TILES {
            return Chunks::default();
        }
        let count = distinct.div_ceil(ROWS[0] * tiles);
        if !(2..=MOST).contains(&count) || count * SHORTEST > longest {
            return Chunks::default();
        }
        let tokens = distinct.div_ceil(count).next_multiple_of(ROWS[0]);
        let count = distinct.div_ceil(tokens);
        Chunks { count, tokens, distinct, idle, times: 0 }
    }

    /// A few chunks, whatever it costs.
    pub fn always(distinct: usize, processors: usize) -> Chunks {
        if distinct < 2 {
            return Chunks::default();
        }
        let tokens = distinct.div_ceil(MOST);
        let count = distinct.div_ceil(tokens);
        Chunks { count, tokens, distinct, idle: processors, times: 0 }
    }

    /// The same with its times at an address.
    pub fn at(self, times: Address) -> Chunks {
        Chunks { times: if self.is_cut() { times } else { 0 }, ..self }
    }

    /// The tokens of chunk i.
    pub fn tokens(&self, i: usize) -> Range<usize> {
        let end = |i: usize| if i == self.count { self.distinct } else { i * self.tokens };
        end(i)..end(i + 1)
    }

    /// The chunks of each launch forward: a scan waits for its first rows alone, and takes longer than
    /// the rows of two chunks do, so that after the first they go in pairs.
    pub fn forward(&self) -> Vec<Range<usize>> {
        let pairs = (1..self.count).step_by(2).map(|i| i..self.count.min(i + 2));
        std::iter::once(0..1).chain(pairs).collect()
    }

    /// What becomes of a sum over the tokens of chunk i, where the last chunk's comes first.
    pub fn adds(&self, i: usize) -> Into {
        if i + 1 == self.count { Into::Place } else { Into::Sum }
    }

    /// Whether there is more than one.
    pub fn is_cut(&self) -> bool {
        self.count > 1
    }

    /// When chunks begin, and the end, from how many tokens are met before each time.
    pub fn begin(&self, met: &[u32]) -> Vec<u32> {
        if !self.is_cut() {
            return vec![];
        }
        let begin = |i: usize| {
            let known = self.tokens(i).start;
            (met.partition_point(|&tokens| tokens as usize <= known) - 1) as u32
        };
        let mut times: Vec<u32> = (0..self.count).map(begin).collect();
        times[0] = 0;
        times.push(i32::MAX as u32);
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_long_rows_with_many_tokens_are_cut() {
        let cut = Chunks::of((32, 300), (6656, 1024), 132);
        assert_eq!((cut.count, cut.tokens(0), cut.tokens(4)), (5, 0..1408, 5632..6656));
        assert!(!Chunks::of((128, 300), (6656, 1024), 132).is_cut());
        assert!(!Chunks::of((32, 300), (30, 1024), 132).is_cut());
        assert!(!Chunks::of((32, 40), (6656, 1024), 132).is_cut());
        assert!(!Chunks::of((0, 0), (0, 1024), 132).is_cut());
    }

    #[test]
    fn forward_has_the_first_chunk_alone_and_then_pairs() {
        let cut = |count| Chunks { count, tokens: 4, distinct: 4 * count, idle: 1, times: 0 };
        assert_eq!(cut(5).forward(), [0..1, 1..3, 3..5]);
        assert_eq!(cut(2).forward(), [0..1, 1..2]);
    }

    #[test]
    fn a_chunk_begins_when_the_tokens_of_those_before_are_no_longer_enough() {
        let cut = Chunks { count: 3, tokens: 4, distinct: 10, idle: 1, times: 0 };
        assert_eq!(cut.begin(&[0, 3, 4, 4, 6, 9, 10]), [0, 3, 4, i32::MAX as u32]);
        assert_eq!(cut.begin(&[0, 0, 1]), [0, 2, 2, i32::MAX as u32]);
        assert_eq!(Chunks::default().begin(&[0]), [0u32; 0]);
    }
}
