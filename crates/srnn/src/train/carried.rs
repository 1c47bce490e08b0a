//! States that are carried from one batch to the next: the rows of a batch continue those of the
//! batch before (truncated backpropagation through time).

use crate::engine::{Batch, LayerState, Real};
use crate::model::{Arch, Layer};

/// The state of every layer in every row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CarriedStates {
    layers: Vec<LayerState>,
}

impl CarriedStates {
    /// The zero states of `rows` rows.
    pub(super) fn zeros(arch: &Arch, rows: usize) -> CarriedStates {
        CarriedStates { layers: LayerState::zeros(arch, rows) }
    }

    /// The batch with its rows starting from these states. It may have fewer rows.
    pub(super) fn continued(&self, batch: Batch, arch: &Arch) -> Batch {
        let rows = batch.rows();
        let first = |(state, layer): (&LayerState, &Layer)| {
            let part = |values: &[f32]| values[..values.len().min(rows * layer.units)].to_vec();
            LayerState { h: part(&state.h), c: part(&state.c) }
        };
        Batch { initial: self.layers.iter().zip(&arch.layers).map(first).collect(), ..batch }
    }

    /// Keeps the states after the last steps of a batch, which may have fewer rows.
    pub(super) fn keep(&mut self, last: &[LayerState]) {
        for (into, from) in self.layers.iter_mut().zip(last) {
            into.h[..from.h.len()].copy_from_slice(&from.h);
            into.c[..from.c.len()].copy_from_slice(&from.c);
        }
    }

    /// How many numbers the states of `rows` rows have.
    pub(super) fn count(arch: &Arch, rows: usize) -> usize {
        let of = |layer: &Layer| layer.units * (1 + layer.cell.has_memory() as usize);
        rows * arch.layers.iter().map(of).sum::<usize>()
    }

    /// All numbers, for a checkpoint.
    pub(super) fn to_numbers<F: Real>(&self) -> Vec<F> {
        let numbers = self.layers.iter().flat_map(|state| state.h.iter().chain(&state.c));
        numbers.map(|&x| F::of(f64::from(x))).collect()
    }

    /// The states from the numbers of [`Self::to_numbers`].
    pub(super) fn from_numbers<F: Real>(arch: &Arch, rows: usize, numbers: &[F]) -> CarriedStates {
        let mut states = CarriedStates::zeros(arch, rows);
        let into =
            states.layers.iter_mut().flat_map(|state| state.h.iter_mut().chain(&mut state.c));
        into.zip(numbers).for_each(|(into, x)| *into = x.to() as f32);
        states
    }
}

/// Cuts `count` windows of a text into `rows` rows of consecutive windows. Batch `j` has window `j`
/// of every row. The last row that has windows may be shorter; rows after it have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowRows {
    count: usize,
    rows: usize,
}

impl WindowRows {
    /// # Panics
    /// If there are no windows or no rows.
    pub(super) fn new(count: usize, rows: usize) -> WindowRows {
        assert!(count > 0 && rows > 0, "windows and rows");
        WindowRows { count, rows }
    }

    /// The number of batches: the windows of the longest row.
    pub(super) fn batches(&self) -> usize {
        self.count.div_ceil(self.rows)
    }

    /// The windows of batch `j`, one per row.
    pub(super) fn windows(&self, j: usize) -> impl Iterator<Item = usize> + use<> {
        let (each, count) = (self.batches(), self.count);
        (0..self.rows).map(move |row| row * each + j).filter(move |&window| window < count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::arch;
    use super::*;

    #[test]
    fn every_window_is_in_one_batch_and_follows_the_window_before_in_its_row() {
        for (count, rows) in [(1, 1), (7, 3), (12, 4), (5, 8), (100, 7)] {
            let windows = WindowRows::new(count, rows);
            let batches: Vec<Vec<usize>> =
                (0..windows.batches()).map(|j| windows.windows(j).collect()).collect();
            let mut all = batches.concat();
            all.sort();
            assert_eq!(all, (0..count).collect::<Vec<_>>(), "{count} {rows}");
            for pair in batches.windows(2) {
                assert!(pair[1].len() <= pair[0].len(), "rows only end");
                assert!(pair[1].iter().zip(&pair[0]).all(|(next, before)| *next == before + 1));
            }
        }
    }

    #[test]
    fn states_survive_a_round_trip_through_numbers() {
        let arch = arch(3, 2);
        let mut states = CarriedStates::zeros(&arch, 2);
        states.layers[0].h.iter_mut().zip(0u8..).for_each(|(x, i)| *x = 0.1 * f32::from(i));
        let numbers: Vec<f64> = states.to_numbers();
        assert_eq!(numbers.len(), CarriedStates::count(&arch, 2));
        assert_eq!(CarriedStates::from_numbers(&arch, 2, &numbers), states);
    }

    #[test]
    fn a_batch_with_fewer_rows_continues_the_first_ones() {
        let arch = arch(3, 2);
        let mut states = CarriedStates::zeros(&arch, 3);
        let of = |x: f32, rows: usize| LayerState { h: vec![x; rows * 3], c: vec![] };
        states.keep(&[of(1.0, 3)]);
        states.keep(&[of(2.0, 1)]);
        let batch = Batch::of_words(&arch.input, [vec![0], vec![1]]);
        let batch = states.continued(batch, &arch);
        assert_eq!(batch.initial[0].h, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0]);
    }
}
