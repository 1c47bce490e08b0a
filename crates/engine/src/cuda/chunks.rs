//! Splits the scan into chunks of time steps where few rows leave most of the GPU idle. The idle
//! multiprocessors compute the rows of x that later chunks read, and the gradients of chunks that
//! are done.
//!
//! Tokens are numbered by first use in time. So the steps of a chunk read only rows of `E·Wᵀ` of
//! this chunk and of earlier ones. Backward, the gradient of such a row is complete when the scan
//! has passed the row's chunk.

use super::gpu::Address;
use super::matrix::WriteMode;
use super::product_plan::{COLUMNS, ROWS};
use std::ops::Range;

/// Largest number of chunks; as in `kernels/scan_args.cuh`.
const MAX_CHUNKS: usize = 8;
/// Least average number of time steps per chunk.
const MIN_STEPS: usize = 16;
/// Least number of tile rows of x that the idle multiprocessors compute at a time.
const MIN_TILES: usize = 4;

/// The scans of this many engines together leave multiprocessors free for the producers they wait
/// for, in any launch order. (`reproduce` trains three networks at a time.)
const CONCURRENT_ENGINES: usize = 4;

/// When scans are split into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkPolicy {
    /// Where enough of the GPU is idle.
    WhenProfitable,
    /// Wherever possible; for tests.
    Always,
}

/// The chunks of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeChunks {
    /// Number of chunks; 0 for an unchunked scan.
    pub count: usize,
    /// The first token of each chunk, then the number of tokens.
    first: [usize; MAX_CHUNKS + 1],
    /// Multiprocessors that do not scan. Producers that the scan waits for run only on these, so
    /// they can always start.
    pub idle: usize,
    /// Address of the first time step of each chunk, `[count]`.
    start_times: Address,
}

/// `ChunkArgs` of `kernels/scan_args.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChunkArgs {
    count: i32,
    first: [i32; MAX_CHUNKS + 1],
    tiles: [i32; MAX_CHUNKS],
    start_times: Address,
    tiles_ready: Address,
    rows_passed: Address,
}

impl Default for ChunkArgs {
    /// An unchunked scan.
    fn default() -> ChunkArgs {
        let (first, tiles) = ([0; MAX_CHUNKS + 1], [0; MAX_CHUNKS]);
        ChunkArgs { count: 1, first, tiles, start_times: 0, tiles_ready: 0, rows_passed: 0 }
    }
}

impl ChunkArgs {
    /// Address of the counter of batch rows that have passed chunk i.
    pub fn rows_passed(&self, i: usize) -> Address {
        self.rows_passed + 4 * i as u64
    }

    /// The same, with all rows of x already computed.
    pub fn all_ready(self) -> ChunkArgs {
        ChunkArgs { tiles_ready: 0, ..self }
    }
}

/// Number of counters of a scan.
pub const COUNTERS: usize = 2 * MAX_CHUNKS;

impl TimeChunks {
    /// Chunks for `rows` rows of at most `longest` steps, and `distinct` tokens with rows of `wide`
    /// numbers in x. Each row is scanned by one of `processors` multiprocessors.
    pub fn of(
        (rows, longest): (usize, usize),
        (distinct, row_width): (usize, usize),
        processors: usize,
    ) -> TimeChunks {
        let idle = processors.saturating_sub(rows);
        // Tile rows that the idle multiprocessors compute at a time, and tile rows of x.
        let (tiles, all) = (idle / row_width.div_ceil(COLUMNS).max(1), distinct.div_ceil(ROWS[0]));
        if rows == 0 || CONCURRENT_ENGINES * rows > processors || tiles < MIN_TILES {
            return TimeChunks::default();
        }
        // PERF: the two products of a chunk run beside each other, each split over half of the idle
        // multiprocessors. On an H200, of which 100 are idle, 8 tiles are best, of 6 to 14.
        let each = (2 * tiles / 3).max(all.div_ceil(MAX_CHUNKS));
        let count = all.div_ceil(each);
        if count < 2 || count * MIN_STEPS > longest {
            return TimeChunks::default();
        }
        let first = std::array::from_fn(|i| distinct.min(i * each * ROWS[0]));
        TimeChunks { count, first, idle, start_times: 0 }
    }

    /// Several chunks regardless of cost, for tests.
    pub fn always(rows: usize, distinct: usize, processors: usize) -> TimeChunks {
        // All tokens of the first time step are in the first chunk.
        let tokens = distinct.div_ceil(MAX_CHUNKS).max(rows);
        let count = distinct.div_ceil(tokens.max(1));
        if count < 2 {
            return TimeChunks::default();
        }
        let first = std::array::from_fn(|i| distinct.min(i * tokens));
        TimeChunks { count, first, idle: processors.saturating_sub(rows), start_times: 0 }
    }

    /// The same, with the start times uploaded to an address.
    pub fn at(self, start_times: Address) -> TimeChunks {
        TimeChunks { start_times: if self.is_chunked() { start_times } else { 0 }, ..self }
    }

    /// The tokens of chunk i.
    pub fn tokens(&self, i: usize) -> Range<usize> {
        self.first[i]..self.first[i + 1]
    }

    /// The kernel arguments, with [`COUNTERS`] counters at an address. A row of x has `wide`
    /// numbers.
    pub fn args(&self, row_width: usize, counts: Address) -> ChunkArgs {
        let (down, across) = (|row: usize| row.div_ceil(ROWS[0]), row_width.div_ceil(COLUMNS));
        let tiles = |i: usize| across * (down(self.first[i + 1]) - down(self.first[i]));
        ChunkArgs {
            count: self.count as i32,
            first: self.first.map(|row| row as i32),
            tiles: std::array::from_fn(|i| tiles(i) as i32),
            start_times: self.start_times,
            tiles_ready: counts,
            rows_passed: counts + 4 * MAX_CHUNKS as u64,
        }
    }

    /// How a sum over the tokens of chunk i is written: the last chunk comes first and overwrites.
    pub fn write_mode(&self, i: usize) -> WriteMode {
        if i + 1 == self.count { WriteMode::Overwrite } else { WriteMode::Accumulate }
    }

    /// Whether there is more than one chunk.
    pub fn is_chunked(&self) -> bool {
        self.count > 1
    }

    /// The first time step of each chunk, from the number of tokens used before each time step.
    pub fn start_times_of(&self, tokens_before: &[u32]) -> Vec<u32> {
        if !self.is_chunked() {
            return vec![];
        }
        let start = |i: usize| {
            let known = self.tokens(i).start;
            (tokens_before.partition_point(|&tokens| tokens as usize <= known) - 1) as u32
        };
        let mut start_times: Vec<u32> = (0..self.count).map(start).collect();
        start_times[0] = 0;
        start_times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_long_rows_with_many_tokens_are_chunked() {
        let chunks = TimeChunks::of((32, 300), (6400, 1024), 132);
        assert_eq!((chunks.count, chunks.tokens(0), chunks.tokens(6)), (7, 0..1024, 6144..6400));
        assert!(
            TimeChunks::of((32, 100), (2304, 1024), 132).is_chunked(),
            "a case of the engines' tests"
        );
        assert_eq!(TimeChunks::of((32, 300), (20_000, 1024), 132).count, MAX_CHUNKS);
        assert!(!TimeChunks::of((128, 300), (6400, 1024), 132).is_chunked());
        assert!(!TimeChunks::of((32, 300), (30, 1024), 132).is_chunked());
        assert!(!TimeChunks::of((32, 40), (6400, 1024), 132).is_chunked());
        assert!(!TimeChunks::of((0, 0), (0, 1024), 132).is_chunked());
    }

    #[test]
    fn every_token_is_in_one_chunk_and_every_tile_in_the_one_of_its_first_row() {
        let cases = [(32, 6400), (20, 5000), (8, 3000)].map(|(rows, distinct)| {
            (TimeChunks::of((rows, 3000), (distinct, 1024), 132), rows, distinct)
        });
        for (chunks, rows, distinct) in cases
            .into_iter()
            .chain([3, 17, 300].map(|distinct| (TimeChunks::always(2, distinct, 132), 2, distinct)))
        {
            assert!(chunks.is_chunked() && chunks.tokens(0).len() >= rows, "{chunks:?}");
            let tokens: Vec<usize> = (0..chunks.count).flat_map(|i| chunks.tokens(i)).collect();
            assert_eq!(tokens, (0..distinct).collect::<Vec<_>>());
            let args = chunks.args(1024, 0);
            for i in 0..chunks.count {
                let rows = chunks.tokens(i).filter(|row| row % ROWS[0] == 0).count();
                assert_eq!(args.tiles[i] as usize, 8 * rows, "{chunks:?}");
            }
        }
    }

    #[test]
    fn a_chunk_starts_when_the_tokens_of_earlier_chunks_no_longer_suffice() {
        let first = std::array::from_fn(|i| 10.min(4 * i));
        let chunks = TimeChunks { count: 3, first, idle: 1, start_times: 0 };
        assert_eq!(chunks.start_times_of(&[0, 3, 4, 4, 6, 9, 10]), [0, 3, 4]);
        assert_eq!(chunks.start_times_of(&[0, 0, 1]), [0, 2, 2]);
        assert_eq!(TimeChunks::default().start_times_of(&[0]), [0u32; 0]);
    }
}
