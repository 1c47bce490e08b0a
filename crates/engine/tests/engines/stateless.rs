//! Earlier batches change no bit of later results: an engine reuses memory from one batch to the next,
//! and has no state but its parameters.

use crate::agreement::UNCLIPPED_ADAM;
use crate::cases;
use crate::prefetch::{batches, chosen_rows, regimes};
use srnn_engine::Optimiser;
use srnn_engine::model::Model;
use srnn_engine::{Fields, Mode, Trainer};
use std::sync::Arc;

/// Asserts that an engine that has processed batches of many rows and of one row has the bits of a new
/// engine.
pub fn engines_keep_no_state_but_parameters<E: Trainer<f32>>(
    make: impl Fn(&Model<f32>, Optimiser) -> E,
) {
    for case in cases::all().into_iter().chain(cases::large_batches()) {
        let mut old = make(&case.model, UNCLIPPED_ADAM);
        let [some, _, many, _] = batches(&case);
        // The shortest row that has a step, if there is one.
        let by_length = |&b: &usize| (case.batch.row(b).is_empty(), case.batch.row(b).len());
        let shortest = (0..case.batch.rows()).min_by_key(by_length).expect("a row");
        let one = Arc::new(chosen_rows(&case, &[shortest]));
        let [regime, other, _] = regimes(&case.regime);
        let sequence =
            [(&many, regime), (&one, regime), (&some, other), (&one, other), (&many, regime)];
        for (i, (batch, regime)) in sequence.into_iter().enumerate() {
            let mut fresh = make(&case.model, UNCLIPPED_ADAM);
            fresh.restore(&old.snapshot().unwrap()).unwrap();
            let name = format!("{}, batch {i}", case.name);
            assert!(
                old.gradients(batch, &regime).unwrap() == fresh.gradients(batch, &regime).unwrap(),
                "{name}"
            );
            let all = Fields { alpha: true, u: true, h: true, c: true };
            let trace = |engine: &mut E| engine.trace(batch, Mode::default(), all).unwrap();
            assert!(trace(&mut old) == trace(&mut fresh), "{name}: traces");
            old.step(batch, &regime).unwrap();
            fresh.step(batch, &regime).unwrap();
            assert!(old.snapshot().unwrap() == fresh.snapshot().unwrap(), "{name}: after its step");
        }
    }
}
