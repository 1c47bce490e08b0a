//! A batch that lies on the device before its update is asked for.

use super::replay::{Half, Work};
use crate::{Batch, NextBatch, Regime};

/// What was copied for an update that is to come.
pub struct Prefetched {
    pub ahead: NextBatch,
    /// The number of the update, which is in what was copied.
    pub update: u64,
    pub work: Work,
    /// The half that the device has not begun with.
    pub from: Half,
}

impl Prefetched {
    /// Whether all of it is what this update needs.
    pub fn is_for(&self, batch: &Batch, regime: &Regime, update: u64) -> bool {
        // PERF: compared by value, while the GPU already works on the batch.
        *self.ahead.batch == *batch && self.ahead.regime == *regime && self.update == update
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::{Call, Keep};
    use super::super::upload::Placed;
    use super::*;
    use crate::{Inputs, Targets, Transition};
    use std::sync::Arc;

    const REGIME: Regime = Regime { lambda: 0.5, ..Regime::plain(0.1) };

    const CALL: Call = Call {
        transition: Transition::Mixture,
        lambda: 0.0,
        commits: false,
        weighs_entropy: false,
        presses: false,
        learns: true,
        press: 0,
        keep_h: Keep::Never,
        keep_u: Keep::Never,
        keep_c: Keep::Never,
    };

    #[test]
    fn what_waits_is_for_its_own_batch_regime_and_update_alone() {
        let batch = Arc::new(Batch {
            offsets: vec![0, 1],
            input: Inputs::Tokens(vec![0]),
            targets: Targets::Rows(vec![0]),
            class_weights: vec![],
        });
        let (equal, ahead) =
            (Batch::clone(&batch), NextBatch { batch: batch.clone(), regime: REGIME });
        let work = Work { placed: Placed::default(), call: CALL, updates: true, moves: 0 };
        let waiting = Prefetched { ahead, update: 7, work, from: Half::Forward };
        assert!(waiting.is_for(&batch, &REGIME, 7));
        assert!(waiting.is_for(&equal, &REGIME, 7), "an equal batch is the same work");
        let other = Batch { targets: Targets::Rows(vec![1]), ..equal };
        assert!(!waiting.is_for(&other, &REGIME, 7));
        assert!(!waiting.is_for(&batch, &Regime { lambda: 1.0, ..REGIME }, 7));
        assert!(!waiting.is_for(&batch, &REGIME, 6), "the update before it was lost");
    }
}
