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
/// Chunks of at least so many times are worth it, on average.
const SHORTEST: usize = 16;
/// So many of the largest products' tiles, one below the other, must be made at a time.
const LEAST_TILES: usize = 4;

/// Scans of so many engines leave multiprocessors idle where what they wait for is made, in whatever order
/// a GPU begins with them. (`reproduce` trains three networks at a time.)
const ENGINES: usize = 4;

/// When a scan is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Where enough of the GPU is idle.
    WhereItPays,
    /// Wherever it can be; for tests.
    Always,
}

/// How a scan is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// 0 where it is not.
    pub count: usize,
    /// The first token of each, and then how many there are.
    first: [usize; MOST + 1],
    /// Multiprocessors that do not scan: what others wait for while they scan is made by these, so that
    /// it is never kept from beginning.
    pub idle: usize,
    /// Where the times are at which chunks begin `[count]`.
    times: Address,
}

/// `Chunks` of `kernels/scan.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Chunked {
    count: i32,
    first: [i32; MOST + 1],
    tiles: [i32; MOST],
    times: Address,
    made: Address,
    through: Address,
}

impl Default for Chunked {
    /// A scan that is not cut.
    fn default() -> Chunked {
        let (first, tiles) = ([0; MOST + 1], [0; MOST]);
        Chunked { count: 1, first, tiles, times: 0, made: 0, through: 0 }
    }
}

impl Chunked {
    /// Where the rows of the batch are counted that are through chunk i.
    pub fn through(&self, i: usize) -> Address {
        self.through + 4 * i as u64
    }

    /// The same where all rows of x are there.
    pub fn made(self) -> Chunked {
        Chunked { made: 0, ..self }
    }
}

/// Counts that a scan needs.
pub const COUNTS: usize = 2 * MOST;

impl Chunks {
    /// For rows of `longest` steps at most and so many tokens, of which each has a row of `wide`
    /// numbers; each row is scanned by one of so many multiprocessors.
    pub fn of(
        (rows, longest): (usize, usize),
        (distinct, wide): (usize, usize),
        processors: usize,
    ) -> Chunks {
        let idle = processors.saturating_sub(rows);
        // Tiles one below the other: those that all idle multiprocessors make at a time, and all.
        let (tiles, all) = (idle / wide.div_ceil(COLUMNS).max(1), distinct.div_ceil(ROWS[0]));
        if rows == 0 || ENGINES * rows > processors || tiles < LEAST_TILES {
            return Chunks::default();
        }
        // PERF: a chunk's two products are made beside each other, each cut into parts for half of the idle
        // multiprocessors. On an H200, of which 100 are idle, 8 tiles are best, of 6 to 14.
        let each = (2 * tiles / 3).max(all.div_ceil(MOST));
        let count = all.div_ceil(each);
        if count < 2 || count * SHORTEST > longest {
            return Chunks::default();
        }
        let first = std::array::from_fn(|i| distinct.min(i * each * ROWS[0]));
        Chunks { count, first, idle, times: 0 }
    }

    /// A few chunks of tokens that rows read, whatever it costs.
    pub fn always(rows: usize, distinct: usize, processors: usize) -> Chunks {
        // All that are met first are in the first chunk.
        let tokens = distinct.div_ceil(MOST).max(rows);
        let count = distinct.div_ceil(tokens.max(1));
        if count < 2 {
            return Chunks::default();
        }
        let first = std::array::from_fn(|i| distinct.min(i * tokens));
        Chunks { count, first, idle: processors.saturating_sub(rows), times: 0 }
    }

    /// The same with its times at an address.
    pub fn at(self, times: Address) -> Chunks {
        Chunks { times: if self.is_cut() { times } else { 0 }, ..self }
    }

    /// The tokens of chunk i.
    pub fn tokens(&self, i: usize) -> Range<usize> {
        self.first[i]..self.first[i + 1]
    }

    /// As kernels are told it, with [`COUNTS`] at an address; a row of x has so many numbers.
    pub fn counted(&self, wide: usize, counts: Address) -> Chunked {
        let (down, across) = (|row: usize| row.div_ceil(ROWS[0]), wide.div_ceil(COLUMNS));
        let tiles = |i: usize| across * (down(self.first[i + 1]) - down(self.first[i]));
        Chunked {
            count: self.count as i32,
            first: self.first.map(|row| row as i32),
            tiles: std::array::from_fn(|i| tiles(i) as i32),
            times: self.times,
            made: counts,
            through: counts + 4 * MOST as u64,
        }
    }

    /// What becomes of a sum over the tokens of chunk i, where the last chunk's comes first.
    pub fn adds(&self, i: usize) -> Into {
        if i + 1 == self.count { Into::Place } else { Into::Sum }
    }

    /// Whether there is more than one.
    pub fn is_cut(&self) -> bool {
        self.count > 1
    }

    /// When chunks begin, from how many tokens are met before each time.
    pub fn beginnings(&self, met: &[u32]) -> Vec<u32> {
        if !self.is_cut() {
            return vec![];
        }
        let begin = |i: usize| {
            let known = self.tokens(i).start;
            (met.partition_point(|&tokens| tokens as usize <= known) - 1) as u32
        };
        let mut times: Vec<u32> = (0..self.count).map(begin).collect();
        times[0] = 0;
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_long_rows_with_many_tokens_are_cut() {
        let cut = Chunks::of((32, 300), (6400, 1024), 132);
        assert_eq!((cut.count, cut.tokens(0), cut.tokens(6)), (7, 0..1024, 6144..6400));
        assert!(Chunks::of((32, 100), (2304, 1024), 132).is_cut(), "a case of the engines' tests");
        assert_eq!(Chunks::of((32, 300), (20_000, 1024), 132).count, MOST);
        assert!(!Chunks::of((128, 300), (6400, 1024), 132).is_cut());
        assert!(!Chunks::of((32, 300), (30, 1024), 132).is_cut());
        assert!(!Chunks::of((32, 40), (6400, 1024), 132).is_cut());
        assert!(!Chunks::of((0, 0), (0, 1024), 132).is_cut());
    }

    #[test]
    fn every_token_is_in_one_chunk_and_every_tile_in_the_one_of_its_first_row() {
        let cases = [(32, 6400), (20, 5000), (8, 3000)].map(|(rows, distinct)| {
            (Chunks::of((rows, 3000), (distinct, 1024), 132), rows, distinct)
        });
        for (cut, rows, distinct) in cases
            .into_iter()
            .chain([3, 17, 300].map(|distinct| (Chunks::always(2, distinct, 132), 2, distinct)))
        {
            assert!(cut.is_cut() && cut.tokens(0).len() >= rows, "{cut:?}");
            let tokens: Vec<usize> = (0..cut.count).flat_map(|i| cut.tokens(i)).collect();
            assert_eq!(tokens, (0..distinct).collect::<Vec<_>>());
            let counted = cut.counted(1024, 0);
            for i in 0..cut.count {
                let rows = cut.tokens(i).filter(|row| row % ROWS[0] == 0).count();
                assert_eq!(counted.tiles[i] as usize, 8 * rows, "{cut:?}");
            }
        }
    }

    #[test]
    fn a_chunk_begins_when_the_tokens_of_those_before_are_no_longer_enough() {
        let first = std::array::from_fn(|i| 10.min(4 * i));
        let cut = Chunks { count: 3, first, idle: 1, times: 0 };
        assert_eq!(cut.beginnings(&[0, 3, 4, 4, 6, 9, 10]), [0, 3, 4]);
        assert_eq!(cut.beginnings(&[0, 0, 1]), [0, 2, 2]);
        assert_eq!(Chunks::default().beginnings(&[0]), [0u32; 0]);
    }
}
