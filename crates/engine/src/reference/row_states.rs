//! The states in which rows start, and those after their last steps.

use super::network::{Network, NetworkState, RowForward};
use crate::{Batch, LayerState};

impl Network<'_> {
    /// h and c of layer `l` before the first step of row `b`.
    pub(super) fn row_start(&self, batch: &Batch, b: usize, l: usize) -> (Vec<f64>, Vec<f64>) {
        let Some(given) = batch.initial.get(l) else {
            let NetworkState { mut h, mut c, .. } = self.initial();
            return (h.swap_remove(l), c.swap_remove(l));
        };
        let d = self.arch.layers[l].units;
        let row = |all: &[f32]| all.iter().skip(b * d).take(d).map(|&x| x as f64).collect();
        (row(&given.h), row(&given.c))
    }
}

impl RowForward {
    /// Writes h and c after the last step to row `b` of `last`, which is empty if rows start from
    /// zero.
    pub fn store_last(&self, b: usize, last: &mut [LayerState]) {
        for (into, steps) in last.iter_mut().zip(&self.layers) {
            let step = steps.last().expect("rows with initial states have a step");
            for (into, from) in [(&mut into.h, &step.h), (&mut into.c, &step.output.c)] {
                let row = into.iter_mut().skip(b * from.len());
                row.zip(from).for_each(|(into, &x)| *into = x as f32);
            }
        }
    }
}
