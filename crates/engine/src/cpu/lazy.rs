//! Rows of a large embedding that wait for their updates until somebody reads them.
//!
//! A batch meets few tokens of a large vocabulary. The rows of the others have a gradient of zero:
//! what updates do to them is made up for later (`idle`), to the same bits. Rows that no update
//! moves, because they never had a gradient, need nothing at all.

use super::idle::{Missed, are_still};
use super::prepare::Machine;
use super::update::{Part, Piece, Squared, pieces};
use crate::Snapshot;
use crate::optimiser::{Rule, Squares, Update};
use pulp::{Simd, WithSimd};

/// Which rows wait, and for what. They are the first parameters.
pub struct Lazy {
    /// E.
    width: usize,
    missed: Missed,
    /// How many of the missed updates each row has had, or [`STILL`].
    had: Vec<u32>,
}

/// Of a row that no update without a gradient changes.
const STILL: u32 = u32::MAX;

/// Updates after which all rows catch up: the list should not grow for ever.
const LONGEST_WAIT: usize = 1 << 12;

/// Numbers of rows that a thread takes at a time.
const PIECE: usize = 1 << 14;

impl Lazy {
    /// So many rows of `width` numbers, with the state they begin from.
    pub fn new(rule: Rule, rows: usize, width: usize, state: &Snapshot<f32>) -> Lazy {
        let mut lazy = Lazy { width, missed: Missed::new(rule), had: vec![STILL; rows] };
        lazy.begin(state);
        lazy
    }

    /// Begins again from another state, of which nothing was missed.
    pub fn begin(&mut self, state: &Snapshot<f32>) {
        self.missed.clear();
        for (row, had) in self.had.iter_mut().enumerate() {
            let at = row * self.width..(row + 1) * self.width;
            let moments = state.moments.iter().map(|moment| &moment[at.clone()]);
            *had = if are_still(&state.params[at.clone()], moments) { STILL } else { 0 };
        }
    }

    /// Whether there may be rows that have missed something.
    pub fn waits(&self) -> bool {
        self.missed.count() > 0
    }

    /// Makes up for what these rows have missed, in ascending order.
    pub fn catch_up(&mut self, rows: &[u32], state: &mut Snapshot<f32>, machine: Machine<'_>) {
        let behind = self.behind(rows.iter().copied());
        self.make_up(&behind, state, machine);
        for (row, _) in behind {
            self.had[row as usize] = self.missed.count() as u32;
        }
    }

    /// Makes up for everything.
    pub fn catch_up_all(&mut self, state: &mut Snapshot<f32>, machine: Machine<'_>) {
        if self.waits() {
            self.make_up(&self.behind(0..self.had.len() as u32), state, machine);
            self.had.iter_mut().filter(|had| **had != STILL).for_each(|had| *had = 0);
            self.missed.clear();
        }
    }

    /// A state as it is when everything is made up for.
    pub fn caught_up(&self, state: &Snapshot<f32>, machine: Machine<'_>) -> Snapshot<f32> {
        let mut state = state.clone();
        self.make_up(&self.behind(0..self.had.len() as u32), &mut state, machine);
        state
    }

    /// Those of some rows that have missed updates, each with those it had.
    fn behind(&self, rows: impl Iterator<Item = u32>) -> Vec<(u32, usize)> {
        let count = self.missed.count() as u32;
        let had = rows.map(|row| (row, self.had[row as usize]));
        had.filter(|&(_, had)| had < count).map(|(row, had)| (row, had as usize)).collect()
    }

    fn make_up(&self, behind: &[(u32, usize)], state: &mut Snapshot<f32>, machine: Machine<'_>) {
        let groups = groups(behind, self.width, &mut Part::all(state));
        machine.workers.on_each(groups, |rows| {
            machine.level.run(MakeUp { missed: &self.missed, rows });
        });
    }

    /// The norm of a gradient that has the gradients of these rows, then those of all other
    /// parameters: from two sums, as that of a gradient with all rows (`update::norm`), for its bits.
    pub fn norm(&self, rows: &[u32], gradient: &[f32], input: usize, machine: Machine<'_>) -> f64 {
        let (of_rows, of_others) = gradient.split_at(rows.len() * self.width);
        let all_rows = self.had.len() * self.width;
        let (w, others) = of_others.split_at(input - all_rows);
        let [mut squares, mut of_input] = [Squares::default(); 2];
        let own =
            || machine.level.run(Squared { squares: &mut squares, first: input, values: others });
        let other = || {
            let mut add = |first: usize, values: &[f32]| {
                machine.level.run(Squared { squares: &mut of_input, first, values });
            };
            for (&row, values) in rows.iter().zip(of_rows.chunks_exact(self.width)) {
                add(row as usize * self.width, values);
            }
            add(all_rows, w);
        };
        machine.workers.both(own, other);
        squares.join(&of_input);
        squares.norm()
    }

    /// An update by such a gradient, of rows that have missed nothing.
    pub fn update(
        &mut self,
        update: Update<f32>,
        rows: &[u32],
        state: &mut Snapshot<f32>,
        gradient: &[f32],
        machine: Machine<'_>,
    ) {
        self.missed.push(&update);
        rows.iter().for_each(|&row| self.had[row as usize] = self.missed.count() as u32);
        let (of_rows, of_others) = gradient.split_at(rows.len() * self.width);
        let rows: Vec<_> = rows.iter().copied().zip(of_rows.chunks_exact(self.width)).collect();
        let mut others = Part::all(state);
        let mut table = others.take(self.had.len() * self.width);
        let groups = groups(&rows, self.width, &mut table);
        let groups = groups.into_iter().map(|rows| Work::Rows(Updated { update, rows }));
        let pieces = pieces(update, others, of_others).into_iter().map(Work::Others);
        machine.workers.on_each(groups.chain(pieces).collect(), |work| match work {
            Work::Rows(rows) => machine.level.run(rows),
            Work::Others(piece) => machine.level.run(piece),
        });
        if self.missed.count() == LONGEST_WAIT {
            self.catch_up_all(state, machine);
        }
    }
}

/// What a thread does of an update.
enum Work<'a> {
    Rows(Updated<'a>),
    Others(Piece<'a>),
}

/// Some rows, ascending, each with something of its own, and the part of the table they are in.
struct Rows<'a, A> {
    rows: &'a [(u32, A)],
    /// The row that the part begins with.
    first: u32,
    width: usize,
    part: Part<'a>,
}

/// Ascending rows in groups that threads can share.
fn groups<'a, A>(rows: &'a [(u32, A)], width: usize, table: &mut Part<'a>) -> Vec<Rows<'a, A>> {
    let mut first = 0;
    let group = |rows: &'a [(u32, A)]| {
        let end = rows.last().expect("chunks are not empty").0 + 1;
        let part = table.take((end - first) as usize * width);
        Rows { rows, first: std::mem::replace(&mut first, end), width, part }
    };
    rows.chunks(PIECE.div_ceil(width)).map(group).collect()
}

impl<A: Copy> Rows<'_, A> {
    #[inline(always)]
    fn for_each(mut self, mut work: impl FnMut(Part<'_>, A)) {
        for &(row, own) in self.rows {
            self.part.take((row - self.first) as usize * self.width);
            work(self.part.take(self.width), own);
            self.first = row + 1;
        }
    }
}

/// Making up for what rows have missed.
struct MakeUp<'a> {
    missed: &'a Missed,
    rows: Rows<'a, usize>,
}

impl WithSimd for MakeUp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.rows.for_each(
            #[inline(always)]
            |row, had| self.missed.make_up(had, row.params, row.moments),
        );
    }
}

/// An update of rows, each by its gradient.
struct Updated<'a> {
    update: Update<f32>,
    rows: Rows<'a, &'a [f32]>,
}

impl WithSimd for Updated<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.rows.for_each(
            #[inline(always)]
            |row, gradient| self.update.apply(row.params, row.moments, gradient),
        );
    }
}
