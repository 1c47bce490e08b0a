//! The two forms of the recurrence.
//!
//! With `h = αS` the recurrence needs only `G = S·Rᵀ` (K rows instead of D): the low-rank form.
//! Where h is not a mixture of few centroids, a scan carries h itself and reads R: the direct form.

use crate::model::{Cell, Layer, Reset};

/// What a layer carries from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// α, K numbers.
    LowRank,
    /// h, D numbers.
    Direct,
}

/// Whether the low-rank form is the cheaper one (and exact): fewer centroids than break-even.
pub fn form(layer: &Layer, lambda: f64) -> Form {
    let (Some(centroids), true) = (layer.centroids, lambda == 1.0) else { return Form::Direct };
    let low_rank = match layer.cell {
        Cell::Gru { reset: Reset::AfterMatrix } => centroids.k < layer.units,
        Cell::Gru { reset: Reset::BeforeMatrix } => false,
        Cell::Lstm { .. } => 3 * centroids.k < 4 * layer.units,
    };
    if low_rank { Form::LowRank } else { Form::Direct }
}

/// D-wide blocks that the carried vector feeds: i, f, g, o; r, z, R_n h (and h itself in the
/// low-rank form); or r, z where the reset gate acts before the matrix.
pub fn state_blocks(cell: Cell, form: Form) -> usize {
    match (cell, form) {
        (Cell::Lstm { .. }, _) | (Cell::Gru { .. }, Form::LowRank) => 4,
        (Cell::Gru { reset: Reset::AfterMatrix }, Form::Direct) => 3,
        (Cell::Gru { reset: Reset::BeforeMatrix }, Form::Direct) => 2,
    }
}
