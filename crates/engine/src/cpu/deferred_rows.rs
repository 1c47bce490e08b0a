//! Rows of a large embedding whose updates are deferred until the rows are read.
//!
//! A batch has few tokens of a large vocabulary. The rows of the others have a gradient of zero.
//! Their updates are replayed later (`deferred_updates`), to the same bits. Rows that never had a
//! gradient are not changed by such updates at all.

use super::deferred_updates::{DeferredUpdates, is_unaffected};
use super::thread_pool::Executor;
use super::update::{ParamSlice, UpdatePiece, gradient_norm, pieces};
use crate::Snapshot;
use crate::optimiser::{Rule, Update};
use pulp::{Simd, WithSimd};
use std::iter::once;

/// The deferred updates, and how many of them each row has had. The rows are the first parameters.
pub struct DeferredRows {
    /// E.
    width: usize,
    updates: DeferredUpdates,
    /// The number of `updates` that were applied to each row, or [`UNAFFECTED`].
    applied: Vec<u32>,
}

/// Marks a row that no update without a gradient changes.
const UNAFFECTED: u32 = u32::MAX;

/// After this many deferred updates they are applied to all rows, which bounds the list.
const MAX_DEFERRED: usize = 1 << 12;

/// Floats of the rows that one task updates.
const TASK_SIZE: usize = 1 << 14;

impl DeferredRows {
    /// A table of `rows` rows of `width` floats, which are the first parameters of `state`.
    pub fn new(rule: Rule, rows: usize, width: usize, state: &Snapshot<f32>) -> DeferredRows {
        let (updates, applied) = (DeferredUpdates::new(rule), vec![UNAFFECTED; rows]);
        let mut deferred = DeferredRows { width, updates, applied };
        deferred.reset(state);
        deferred
    }

    /// Continues from another state, in which no updates are deferred.
    pub fn reset(&mut self, state: &Snapshot<f32>) {
        self.updates.clear();
        for (row, applied) in self.applied.iter_mut().enumerate() {
            let at = row * self.width..(row + 1) * self.width;
            let moments = state.moments.iter().map(|moment| &moment[at.clone()]);
            *applied =
                if is_unaffected(&state.params[at.clone()], moments) { UNAFFECTED } else { 0 };
        }
    }

    /// Whether rows may have deferred updates.
    pub fn has_deferred(&self) -> bool {
        self.updates.count() > 0
    }

    /// Applies the deferred updates of these rows, given in ascending order.
    pub fn apply_deferred(
        &mut self,
        rows: &[u32],
        state: &mut Snapshot<f32>,
        executor: Executor<'_>,
    ) {
        let outdated = self.outdated(rows.iter().copied());
        self.replay(&outdated, state, executor);
        for (row, _) in outdated {
            self.applied[row as usize] = self.updates.count() as u32;
        }
    }

    /// Applies the deferred updates of all rows.
    pub fn apply_all_deferred(&mut self, state: &mut Snapshot<f32>, executor: Executor<'_>) {
        if self.has_deferred() {
            self.replay(&self.outdated(0..self.applied.len() as u32), state, executor);
            let affected = self.applied.iter_mut().filter(|applied| **applied != UNAFFECTED);
            affected.for_each(|applied| *applied = 0);
            self.updates.clear();
        }
    }

    /// A copy of the state with the deferred updates of all rows applied.
    pub fn with_deferred_applied(
        &self,
        state: &Snapshot<f32>,
        executor: Executor<'_>,
    ) -> Snapshot<f32> {
        let mut state = state.clone();
        self.replay(&self.outdated(0..self.applied.len() as u32), &mut state, executor);
        state
    }

    /// The rows that have deferred updates, each with the number of updates applied.
    fn outdated(&self, rows: impl Iterator<Item = u32>) -> Vec<(u32, usize)> {
        let count = self.updates.count() as u32;
        let applied = rows.map(|row| (row, self.applied[row as usize]));
        applied.filter(|&(_, n)| n < count).map(|(row, n)| (row, n as usize)).collect()
    }

    fn replay(&self, outdated: &[(u32, usize)], state: &mut Snapshot<f32>, executor: Executor<'_>) {
        let groups = row_groups(outdated, self.width, &mut ParamSlice::all(state));
        executor.pool.for_each(groups, |rows| {
            executor.level.run(ReplayRows { updates: &self.updates, rows });
        });
    }

    /// The norm of a gradient that has the gradients of these rows, then those of all other
    /// parameters. It has the bits of the norm of a gradient with all rows: zeros change no bit.
    pub fn norm(
        &self,
        rows: &[u32],
        gradient: &[f32],
        input_end: usize,
        executor: Executor<'_>,
    ) -> f64 {
        let (of_rows, rest) = gradient.split_at(rows.len() * self.width);
        let table_len = self.applied.len() * self.width;
        let (w, rest) = rest.split_at(input_end - table_len);
        let rows = rows.iter().map(|&row| row as usize * self.width);
        let input = rows.zip(of_rows.chunks_exact(self.width)).chain(once((table_len, w)));
        gradient_norm(input, (input_end, rest), executor)
    }

    /// An update by such a gradient. These rows must have no deferred updates.
    pub fn update(
        &mut self,
        update: Update<f32>,
        rows: &[u32],
        state: &mut Snapshot<f32>,
        gradient: &[f32],
        executor: Executor<'_>,
    ) {
        self.updates.push(&update);
        rows.iter().for_each(|&row| self.applied[row as usize] = self.updates.count() as u32);
        let (of_rows, of_rest) = gradient.split_at(rows.len() * self.width);
        let rows: Vec<_> = rows.iter().copied().zip(of_rows.chunks_exact(self.width)).collect();
        let mut rest = ParamSlice::all(state);
        let mut table = rest.take(self.applied.len() * self.width);
        let groups = row_groups(&rows, self.width, &mut table);
        let groups = groups.into_iter().map(|rows| UpdateTask::Rows(UpdateRows { update, rows }));
        let pieces = pieces(update, rest, of_rest).into_iter().map(UpdateTask::Piece);
        executor.pool.for_each(groups.chain(pieces).collect(), |task| match task {
            UpdateTask::Rows(rows) => executor.level.run(rows),
            UpdateTask::Piece(piece) => executor.level.run(piece),
        });
        if self.updates.count() == MAX_DEFERRED {
            self.apply_all_deferred(state, executor);
        }
    }
}

/// A part of an update that one thread applies.
enum UpdateTask<'a> {
    Rows(UpdateRows<'a>),
    Piece(UpdatePiece<'a>),
}

/// Some rows in ascending order, each with a value, and the part of the table that holds them.
struct RowGroup<'a, A> {
    rows: &'a [(u32, A)],
    /// The first row of the part.
    first: u32,
    width: usize,
    part: ParamSlice<'a>,
}

/// Splits ascending rows into groups for threads.
fn row_groups<'a, A>(
    rows: &'a [(u32, A)],
    width: usize,
    table: &mut ParamSlice<'a>,
) -> Vec<RowGroup<'a, A>> {
    let mut first = 0;
    let group = |rows: &'a [(u32, A)]| {
        let end = rows.last().expect("chunks are not empty").0 + 1;
        let part = table.take((end - first) as usize * width);
        RowGroup { rows, first: std::mem::replace(&mut first, end), width, part }
    };
    rows.chunks(TASK_SIZE.div_ceil(width)).map(group).collect()
}

impl<A: Copy> RowGroup<'_, A> {
    #[inline(always)]
    fn for_each(mut self, mut work: impl FnMut(ParamSlice<'_>, A)) {
        for &(row, value) in self.rows {
            self.part.take((row - self.first) as usize * self.width);
            work(self.part.take(self.width), value);
            self.first = row + 1;
        }
    }
}

/// Replays the deferred updates of rows, each with the number of updates applied.
struct ReplayRows<'a> {
    updates: &'a DeferredUpdates,
    rows: RowGroup<'a, usize>,
}

impl WithSimd for ReplayRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.rows.for_each(
            #[inline(always)]
            |row, applied| self.updates.replay(applied, row.params, row.moments),
        );
    }
}

/// An update of rows, each with its gradient.
struct UpdateRows<'a> {
    update: Update<f32>,
    rows: RowGroup<'a, &'a [f32]>,
}

impl WithSimd for UpdateRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.rows.for_each(
            #[inline(always)]
            |row, gradient| self.update.apply(row.params, row.moments, gradient),
        );
    }
}
