//! The terms of the loss are means: what one step counts in them.

use super::Batch;
use crate::model::Arch;

/// One step's share in a mean over the steps.
#[derive(Clone, Copy)]
pub struct Share {
    /// Over all steps.
    pub all: f64,
    /// Over those that take the stochastic step.
    pub stochastic: f64,
}

impl Share {
    /// Of a batch.
    pub fn of(batch: &Batch, arch: &Arch) -> Share {
        let stochastic = batch.stochastic_steps(arch.input.end().is_some());
        let of = |steps: usize| 1.0 / steps.max(1) as f64;
        Share { all: of(batch.steps()), stochastic: of(stochastic) }
    }
}
