//! Sharpening: saturates gates that are nearly saturated.

use crate::engine::Real;
use crate::engine::{DeviceError, Snapshot, Trainer};
use crate::model::{LayerSlots, Layout};

/// Multiplies weights, biases and peepholes of all cells by `factor`. Embedding, centroids and
/// classifier do not change.
pub fn sharpen<F: Real, E: Trainer<F> + ?Sized>(
    engine: &mut E,
    factor: f64,
) -> Result<(), DeviceError> {
    if factor == 1.0 {
        return Ok(());
    }
    let mut snapshot = engine.snapshot()?;
    for slots in &Layout::of(engine.arch()).layers {
        scale(&mut snapshot, slots, factor);
    }
    engine.restore(&snapshot)
}

fn scale<F: Real>(snapshot: &mut Snapshot<F>, slots: &LayerSlots, factor: f64) {
    let LayerSlots { w_ih, w_hh, b_ih, b_hh, peephole, .. } = slots;
    for slot in [w_ih, w_hh, b_ih, b_hh, peephole] {
        for value in &mut snapshot.params[slot.clone()] {
            *value = F::of(value.to() * factor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::engine;
    use super::*;
    use crate::engine::Runner as _;

    #[test]
    fn only_the_weights_of_cells_are_multiplied() {
        let mut engine = engine(4, 2, 1);
        let before = engine.snapshot().unwrap();
        sharpen(&mut engine, 3.0).unwrap();
        let after = engine.snapshot().unwrap();
        let layout = Layout::of(engine.arch());
        let slots = &layout.layers[0];
        for (i, (a, b)) in after.params.iter().zip(&before.params).enumerate() {
            let kept =
                [&layout.embedding, &slots.centroids, &layout.head_weight, &layout.head_bias];
            let factor = if kept.iter().any(|slot| slot.contains(&i)) { 1.0 } else { 3.0 };
            assert_eq!(*a, b * factor, "parameter {i}");
        }
        assert!(after.params != before.params && after.moments == before.moments);
    }
}
