//! The sums over all rows of a batch, from those of its chunks.

use super::group::Shared;
use super::panels::add;
use super::prepare::{Source, worth_copying};
use super::simd::Aligned;
use super::sums::{Sums, WORTH_A_THREAD, add_tables};
use super::workers::Workers;

/// The sums of the first half of a batch's chunks, and then of all; those of the second half; and
/// what is handed from one to the other. Kept so that their memory is.
#[derive(Default)]
pub struct Halves {
    /// All sums, but for those of a small table.
    pub total: Sums,
    /// Of the second half; and a small table's of all.
    later: Sums,
    /// The second half, but for the table, as the caller reads it.
    sums: Sums,
    /// The first half of the table, as another worker reads it.
    table: Aligned,
}

impl Halves {
    /// Makes these the sums of all parts: of each half of them in their order, then of both.
    // PERF: the later parts by a thread that made some of them. What a core has read of another's,
    // that one clears slowly in the next step (T=16, d=100, k=50: 1.60 ms a step, 1.43 so).
    pub fn of_all(&mut self, parts: &[&Sums], shared: &Shared<'_>, workers: &Workers) {
        let Halves { total, later, sums, table } = self;
        let (first, second) = parts.split_at(parts.len().div_ceil(2));
        let (layers, is_table) = (shared.layers, shared.layers[0].source == Source::Table);
        if worth_copying(layers, workers) {
            let own = || {
                total.of_some(first, shared);
                if is_table {
                    table.receive(&total.panels[0].input);
                }
            };
            let other = || {
                later.of_some(second, shared);
                sums.receive(later, layers);
            };
            workers.both(own, other);
            let own = || total.add_in_order(&[sums], layers);
            let other = || {
                if is_table {
                    add(&mut later.panels[0].input, table);
                }
            };
            workers.both(own, other);
        } else {
            workers.both(|| total.of_some(first, shared), || later.of_some(second, shared));
            total.add_in_order(&[later], layers);
            if is_table {
                add(&mut later.panels[0].input, &total.panels[0].input);
            }
        }
        if total.shares_table() {
            let (into, width) = (&mut total.panels[0].input, layers[0].table_row());
            into.resize(total.places.len() * width);
            // PERF: few rows at a time, which are still in a cache when they are added to.
            workers.on_pieces(into, WORTH_A_THREAD * width, |piece, rows| {
                rows.fill(0.0);
                add_tables(rows, piece * WORTH_A_THREAD, parts, width);
            });
        }
    }

    /// The gradient of the table of tokens, if the bottom layer has one.
    pub fn table(&self) -> &[f32] {
        let of = if self.total.shares_table() { &self.total } else { &self.later };
        &of.panels[0].input
    }
}
