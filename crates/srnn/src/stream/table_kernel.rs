//! The table kernel: any number of states, any machine.

use super::compiled::ByteTransitions;
use super::kernel::{BlockEnd, ByteStep, end_states};

/// Pieces of a block that are advanced in turn. A step depends only on the last step of its own piece.
/// PERF: 0.58, 0.89 and 0.75 G bytes/s with one to three pieces; more need more registers than there
/// are.
const PIECES: usize = 2;

/// A transition table whose entries are offsets of rows.
#[derive(Clone, Debug)]
pub(super) struct TableKernel<E> {
    columns: Box<[E; 256]>,
    table: Vec<E>,
    /// A row has `2^shift` entries.
    shift: u32,
    /// The sink row that an invalid byte leads to.
    invalid: E,
}

/// An entry of the table, the offset of a row. With a smaller type more of the table fits the nearest cache.
pub(super) trait RowOffset: Copy + Eq {
    /// The entry for a number; `None` if it does not fit.
    fn of(number: usize) -> Option<Self>;
    /// As an index.
    fn index(self) -> usize;
}

impl RowOffset for u16 {
    fn of(number: usize) -> Option<u16> {
        number.try_into().ok()
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.into()
    }
}

impl RowOffset for u32 {
    fn of(number: usize) -> Option<u32> {
        number.try_into().ok()
    }

    #[inline(always)]
    fn index(self) -> usize {
        self as usize
    }
}

impl<E: RowOffset> TableKernel<E> {
    /// The table of these transitions; `None` if an offset does not fit an entry.
    pub(super) fn new(rows: &ByteTransitions) -> Option<TableKernel<E>> {
        let invalid_column = rows.columns;
        let shift = (rows.columns + 1).next_power_of_two().trailing_zeros();
        let invalid = E::of(rows.states() << shift)?;
        let mut table = vec![invalid; (rows.states() + 1) << shift];
        for (state, row) in rows.next.chunks(rows.columns).enumerate() {
            for (column, &to) in row.iter().enumerate() {
                table[(state << shift) + column] = E::of((to as usize) << shift)?;
            }
        }
        let column = |byte: u8| E::of(rows.column[usize::from(byte)].unwrap_or(invalid_column));
        let columns = (0..=u8::MAX).map(column).collect::<Option<Vec<E>>>()?;
        let columns = columns.try_into().ok().expect("one column per byte");
        Some(TableKernel { columns, table, shift, invalid })
    }

    /// The state after a text; `None` if a byte is invalid.
    pub(super) fn run(&self, from: u32, text: &[u8]) -> Option<u32> {
        let end = text.iter().fold(self.cursor(from), |at, &byte| self.step(at, byte));
        (!self.is_invalid(end)).then(|| self.decode(self.encode(end)))
    }

    /// The states at the ends of words; `None` if a byte is invalid.
    pub(super) fn end_states(
        &self,
        from: u32,
        start: u32,
        text: &[u8],
        out: &mut [u32],
    ) -> Option<BlockEnd> {
        end_states::<_, PIECES>(self, from, start, text, out)
    }
}

impl<E: RowOffset> ByteStep for &TableKernel<E> {
    type Cursor = E;

    #[inline(always)]
    fn cursor(self, state: u32) -> E {
        E::of((state as usize) << self.shift).expect("a state of the table")
    }

    #[inline(always)]
    fn step(self, at: E, byte: u8) -> E {
        // PERF: the state is added last, as part of the load: 0.61 instead of 0.52 G bytes/s.
        self.table[self.columns[usize::from(byte)].index()..][at.index()]
    }

    #[inline(always)]
    fn encode(self, at: E) -> u32 {
        at.index() as u32
    }

    #[inline(always)]
    fn decode(self, code: u32) -> u32 {
        code >> self.shift
    }

    #[inline(always)]
    fn is_invalid(self, at: E) -> bool {
        at == self.invalid
    }
}
