//! The states of the layers between two steps, and where the rows of a batch start.

use crate::model::{Arch, Layer};

/// The state of one layer between two steps, for every row of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerState {
    /// h `[B,D]`.
    pub h: Vec<f32>,
    /// c `[B,D]`; empty for a GRU.
    pub c: Vec<f32>,
}

impl LayerState {
    /// The zero states of `rows` rows, bottom layer first.
    pub fn zeros(arch: &Arch, rows: usize) -> Vec<LayerState> {
        let zeros = |layer: &Layer| LayerState {
            h: vec![0.0; rows * layer.units],
            c: vec![0.0; if layer.cell.has_memory() { rows * layer.units } else { 0 }],
        };
        arch.layers.iter().map(zeros).collect()
    }
}

/// Where the rows of a batch start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowStart {
    /// From the zero state.
    Zero,
    /// From the states in [`Batch::initial`](crate::Batch::initial).
    Given,
}
