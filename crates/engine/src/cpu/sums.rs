//! Sums over the rows of a batch: gradients of the panels and of the classifier, and loss terms.

use super::group::{BatchContext, Group};
use super::head::{ReadoutSums, Readouts};
use super::large_head::HeadSums;
use super::padded_head::PaddedHead;
use super::panels::{Panels, add};
use super::prepare::{PreparedLayer, ReadSource, worth_copying};
use super::scan::RegularisationSums;
use super::simd::AlignedVec;
use super::thread_pool::ThreadPool;

/// Rows of a table that one thread sums at a time. A table of more rows is split over threads.
// PERF: few, so that they are still in a cache when the next chunk is added.
const ROWS_PER_THREAD: usize = 64;

/// Sums over the rows of one chunk of a batch.
#[derive(Default)]
pub struct ChunkSums {
    pub panels: Vec<Panels>,
    /// For each distinct token of the batch, its row in the bottom layer's table gradient;
    /// [`ABSENT`] where the chunk does not have the token. Empty without a table.
    pub table_rows: Vec<u32>,
    /// The gradients of the classifier; without those of the weights if they are summed in blocks.
    pub head: PaddedHead,
    /// The read-outs of each group, if the weights' gradients are summed in blocks.
    pub groups: Vec<Readouts>,
    pub readouts: ReadoutSums,
    pub regularisation: Vec<RegularisationSums>,
}

/// The table row of a token that the chunk does not have.
const ABSENT: u32 = u32::MAX;

impl ChunkSums {
    /// Zeros for some groups of a batch.
    // PERF: a table for the tokens of these groups alone. One for all tokens of the batch in every
    // chunk took a third of the time of a step of 32×300 tokens out of 10,000.
    pub fn clear(&mut self, context: &BatchContext<'_>, groups: &[Group]) {
        let (table_rows, mut count) = (&mut self.table_rows, 0);
        table_rows.clear();
        table_rows.resize(context.tokens.distinct.len(), ABSENT);
        for b in groups.iter().flat_map(|group| group.rows).flatten() {
            for &token in context.tokens.places.get(context.batch.row(b)).unwrap_or(&[]) {
                let row = &mut table_rows[token as usize];
                if *row == ABSENT {
                    *row = count as u32;
                    count += 1;
                }
            }
        }
        let kept = if context.head_sums == HeadSums::InBlocks { groups.len() } else { 0 };
        self.groups.resize_with(kept, Readouts::default);
        self.zero(context, count);
    }

    /// Zeros for all rows of a batch; without a table that is split over threads.
    fn clear_for_all(&mut self, context: &BatchContext<'_>) {
        let count = context.tokens.distinct.len();
        self.table_rows.clear();
        self.table_rows.extend(0..count as u32);
        self.zero(context, if self.splits_table() { 0 } else { count });
    }

    fn zero(&mut self, context: &BatchContext<'_>, tokens: usize) {
        self.panels.resize_with(context.layers.len(), Panels::default);
        for (panels, p) in self.panels.iter_mut().zip(context.layers) {
            panels.clear_like(
                &p.panels,
                match p.source {
                    ReadSource::Table => tokens * p.table_row(),
                    _ => p.panels.input.len(),
                },
            );
        }
        match context.head_sums {
            HeadSums::InChunks => self.head.clear(context.arch),
            HeadSums::InBlocks => self.head.clear_biases(context.arch),
        }
        self.readouts = ReadoutSums::default();
        self.regularisation.clear();
        self.regularisation.resize(context.layers.len(), RegularisationSums::default());
    }

    /// Assigns the sum of some chunks in their order; without a table that is split over threads.
    fn assign_sum(&mut self, chunks: &[&ChunkSums], context: &BatchContext<'_>) {
        self.clear_for_all(context);
        self.add_all_but_tables(chunks, context.layers);
        if !self.splits_table() && context.layers[0].source == ReadSource::Table {
            add_tables(&mut self.panels[0].input, 0, chunks, context.layers[0].table_row());
        }
    }

    /// Copies everything but a table with non-temporal stores, for another core to read.
    fn copy_non_temporal(&mut self, from: &ChunkSums, layers: &[PreparedLayer]) {
        self.panels.resize_with(from.panels.len(), Panels::default);
        for ((into, from), p) in self.panels.iter_mut().zip(&from.panels).zip(layers) {
            into.copy_non_temporal(from);
            if p.source != ReadSource::Table {
                into.input.copy_non_temporal(&from.input);
            }
        }
        self.head.copy_non_temporal(&from.head);
        self.readouts = from.readouts;
        self.regularisation.clone_from(&from.regularisation);
    }

    /// Whether threads split the summation of the tables.
    fn splits_table(&self) -> bool {
        self.table_rows.len() > ROWS_PER_THREAD
    }

    /// Adds everything but tables, chunk by chunk.
    fn add_all_but_tables(&mut self, chunks: &[&ChunkSums], layers: &[PreparedLayer]) {
        for (l, (into, p)) in self.panels.iter_mut().zip(layers).enumerate() {
            for chunk in chunks {
                for (into, from) in into.parts_mut().into_iter().zip(chunk.panels[l].parts()) {
                    add(into, from);
                }
                if p.source != ReadSource::Table {
                    add(&mut into.input, &chunk.panels[l].input);
                }
            }
        }
        for chunk in chunks {
            self.head.add(&chunk.head);
            self.readouts.add(chunk.readouts);
            for (into, from) in self.regularisation.iter_mut().zip(&chunk.regularisation) {
                into.commitment += from.commitment;
                into.entropy += from.entropy;
                into.saturation += from.saturation;
                into.writing += from.writing;
            }
        }
    }
}

/// Adds the chunks' tables to `rows`: the rows of all tokens from `first` on, `width` numbers each.
fn add_tables(rows: &mut [f32], first: usize, chunks: &[&ChunkSums], width: usize) {
    for (token, row) in rows.chunks_exact_mut(width).enumerate() {
        for chunk in chunks {
            let table_row = chunk.table_rows[first + token];
            if table_row != ABSENT {
                add(row, &chunk.panels[0].input[table_row as usize * width..][..width]);
            }
        }
    }
}

/// The sum over all chunks of a batch: the sums of the first and of the second half of the chunks,
/// each in order, then the sum of both. Its buffers are reused.
#[derive(Default)]
pub struct PairwiseSum {
    /// First the sum of the first half, later of all chunks. Its table stays that of the first half
    /// unless the table is split over threads.
    pub total: ChunkSums,
    /// The sum of the second half; its table, if it is not split, becomes that of all chunks.
    second_half: ChunkSums,
    /// A copy of the second half without a table, for the caller's core.
    second_half_copy: ChunkSums,
    /// A copy of the first half's table, for worker 1's core.
    first_half_table: AlignedVec,
}

impl PairwiseSum {
    /// Computes the sum of all chunks.
    // PERF: the second half on a thread that computed some of it. Cache lines that another core has
    // read are slow to overwrite in the next step (T=16, d=100, k=50: 1.60 ms a step, 1.43 so).
    pub fn compute(
        &mut self,
        chunks: &[&ChunkSums],
        context: &BatchContext<'_>,
        pool: &ThreadPool,
    ) {
        let PairwiseSum { total, second_half, second_half_copy, first_half_table } = self;
        let (first, second) = chunks.split_at(chunks.len().div_ceil(2));
        let layers = context.layers;
        let has_table = layers[0].source == ReadSource::Table;
        if worth_copying(layers, pool) {
            let own = || {
                total.assign_sum(first, context);
                if has_table {
                    first_half_table.copy_non_temporal(&total.panels[0].input);
                }
            };
            let other = || {
                second_half.assign_sum(second, context);
                second_half_copy.copy_non_temporal(second_half, layers);
            };
            pool.join(own, other);
            let own = || total.add_all_but_tables(&[second_half_copy], layers);
            let other = || {
                if has_table {
                    add(&mut second_half.panels[0].input, first_half_table);
                }
            };
            pool.join(own, other);
        } else {
            let own = || total.assign_sum(first, context);
            pool.join(own, || second_half.assign_sum(second, context));
            total.add_all_but_tables(&[second_half], layers);
            if has_table {
                add(&mut second_half.panels[0].input, &total.panels[0].input);
            }
        }
        if total.splits_table() {
            let (into, width) = (&mut total.panels[0].input, layers[0].table_row());
            into.resize(total.table_rows.len() * width);
            pool.for_each_chunk(into, ROWS_PER_THREAD * width, |i, rows| {
                rows.fill(0.0);
                add_tables(rows, i * ROWS_PER_THREAD, chunks, width);
            });
        }
    }

    /// The gradient of the token table, if the bottom layer has one.
    pub fn table(&self) -> &[f32] {
        let of = if self.total.splits_table() { &self.total } else { &self.second_half };
        &of.panels[0].input
    }
}
