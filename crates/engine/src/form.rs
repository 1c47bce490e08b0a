//! The two forms of the recurrence.
//!
//! With `h = αS` the recurrence needs only `G = S·Rᵀ` (K rows instead of D): the low-rank form.
//! Where h is not a mixture of few centroids, a scan carries h itself and reads R: the direct form.

use crate::layer_state::RowStart;
use crate::model::{Cell, Layer, Reset};

/// What a layer carries from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recurrence {
    /// α, K numbers.
    LowRank,
    /// h, D numbers.
    Direct,
}

/// The cheaper form for a layer. The low-rank form is exact at λ = 1 and cheaper with fewer
/// centroids than break-even. A given initial h is no mixture of centroids: it needs the direct form.
pub fn recurrence(layer: &Layer, lambda: f64, start: RowStart) -> Recurrence {
    let (Some(centroids), true, RowStart::Zero) = (layer.centroids, lambda == 1.0, start) else {
        return Recurrence::Direct;
    };
    let low_rank = match layer.cell {
        Cell::Gru { reset: Reset::AfterMatrix } => centroids.k < layer.units,
        Cell::Gru { reset: Reset::BeforeMatrix } => false,
        Cell::Lstm { .. } => 3 * centroids.k < 4 * layer.units,
    };
    if low_rank { Recurrence::LowRank } else { Recurrence::Direct }
}

/// The number of D-wide blocks that the carried vector feeds: i, f, g, o; r, z, R_n h (and h itself
/// in the low-rank form); or r, z where the reset gate acts before the matrix.
pub fn state_blocks(cell: Cell, form: Recurrence) -> usize {
    match (cell, form) {
        (Cell::Lstm { .. }, _) | (Cell::Gru { .. }, Recurrence::LowRank) => 4,
        (Cell::Gru { reset: Reset::AfterMatrix }, Recurrence::Direct) => 3,
        (Cell::Gru { reset: Reset::BeforeMatrix }, Recurrence::Direct) => 2,
    }
}
