//! The walk through a table: any number of states, any machine.

use super::program::Rows;
use super::step::{Ended, Step, ends};

/// Pieces of a block that are walked at once: a step waits for the last one of its piece, and not
/// for those of others. PERF: 0.58, 0.89 and 0.75 G bytes/s with one to three; more of them need
/// more registers than there are.
const PIECES: usize = 2;

/// A transition table whose entries are places of rows in it.
#[derive(Clone, Debug)]
pub(super) struct Walk<E> {
    columns: Box<[E; 256]>,
    table: Vec<E>,
    /// A row has `2^shift` entries.
    shift: u32,
    /// The row that a foreign byte leads to, and that is never left.
    lost: E,
}

/// A number in a table: the smaller, the more of the table is in the nearest cache.
pub(super) trait Entry: Copy + Eq {
    /// The number, where it fits.
    fn of(number: usize) -> Option<Self>;
    /// As an index.
    fn index(self) -> usize;
}

impl Entry for u16 {
    fn of(number: usize) -> Option<u16> {
        number.try_into().ok()
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.into()
    }
}

impl Entry for u32 {
    fn of(number: usize) -> Option<u32> {
        number.try_into().ok()
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

impl<E: Entry> Walk<E> {
    /// The table of these rows, where its places fit into entries.
    pub(super) fn new(rows: &Rows) -> Option<Walk<E>> {
        let foreign = rows.columns;
        let shift = (rows.columns + 1).next_power_of_two().trailing_zeros();
        let lost = E::of(rows.states() << shift)?;
        let mut table = vec![lost; (rows.states() + 1) << shift];
        for (state, row) in rows.next.chunks(rows.columns).enumerate() {
            for (column, &to) in row.iter().enumerate() {
                table[(state << shift) + column] = E::of((to as usize) << shift)?;
            }
        }
        let column = |byte: u8| E::of(rows.column[usize::from(byte)].unwrap_or(foreign));
        let columns = (0..=u8::MAX).map(column).collect::<Option<Vec<E>>>()?;
        let columns = columns.try_into().ok().expect("a column for every byte");
        Some(Walk { columns, table, shift, lost })
    }

    /// The state after a text; `None` where a byte is foreign.
    pub(super) fn run(&self, from: u32, text: &[u8]) -> Option<u32> {
        let end = text.iter().fold(self.enter(from), |at, &byte| self.step(at, byte));
        (!self.is_lost(end)).then(|| self.state(self.mark(end)))
    }

    /// The states at the ends of words; `None` where a byte is foreign.
    pub(super) fn ends(
        &self,
        from: u32,
        start: u32,
        text: &[u8],
        out: &mut [u32],
    ) -> Option<Ended> {
        ends::<_, PIECES>(self, from, start, text, out)
    }
}

impl<E: Entry> Step for &Walk<E> {
    type At = E;

    #[inline(always)]
    fn enter(self, state: u32) -> E {
        E::of((state as usize) << self.shift).expect("a state of the table")
    }

    #[inline(always)]
    fn step(self, at: E, byte: u8) -> E {
        // PERF: The state is added last, by the load itself: 0.61 instead of 0.52 G bytes/s.
        self.table[self.columns[usize::from(byte)].index()..][at.index()]
    }

    #[inline(always)]
    fn mark(self, at: E) -> u32 {
        at.index() as u32
    }

    #[inline(always)]
    fn state(self, mark: u32) -> u32 {
        mark >> self.shift
    }

    #[inline(always)]
    fn is_lost(self, at: E) -> bool {
        at == self.lost
    }
}
