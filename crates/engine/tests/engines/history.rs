//! What an engine went through before changes no bit of what it gives: it keeps memory from one batch
//! to the next, and nothing else but its parameters.

use crate::agreement::PLAIN;
use crate::ahead::{batches, chosen_rows, regimes};
use crate::cases;
use srnn_engine::Optimiser;
use srnn_engine::model::Model;
use srnn_engine::{Fields, Mode, Trainer};
use std::sync::Arc;

/// Demands of an engine that has seen batches of many rows and of one, in turns, the bits of one
/// that has seen nothing.
pub fn engines_forget_what_they_have_seen<E: Trainer<f32>>(
    make: impl Fn(&Model<f32>, Optimiser) -> E,
) {
    for case in cases::all().into_iter().chain(cases::crowds()) {
        let mut old = make(&case.model, PLAIN);
        let [some, _, many, _] = batches(&case);
        // The shortest that has a step, if one has.
        let by_length = |&b: &usize| (case.batch.row(b).is_empty(), case.batch.row(b).len());
        let shortest = (0..case.batch.rows()).min_by_key(by_length).expect("a row");
        let one = Arc::new(chosen_rows(&case, &[shortest]));
        let [regime, other, _] = regimes(&case.regime);
        let path =
            [(&many, regime), (&one, regime), (&some, other), (&one, other), (&many, regime)];
        for (i, (batch, regime)) in path.into_iter().enumerate() {
            let mut fresh = make(&case.model, PLAIN);
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
