//! The suite's own test: the reference, rounded to single precision between its calls, passes.

use crate::agreement::{engine_agrees_with_reference, engines_agree_to_the_bit};
use srnn::engine::reference::Reference;
use srnn::engine::{
    Batch, Engine, Fields, Gradients, LayerTrace, Mode, Regime, Snapshot, Step, Trace,
};
use srnn::model::Model;
use srnn::train::Optimiser;

/// The reference in single precision between its calls.
struct Rounded(Reference);

impl Engine<f32> for Rounded {
    fn model(&self) -> Model<f32> {
        self.0.model().to_f32()
    }

    fn snapshot(&self) -> Snapshot<f32> {
        let Snapshot { params, moments, updates } = self.0.snapshot();
        let moments = moments.iter().map(|m| round(m)).collect();
        Snapshot { params: round(&params), moments, updates }
    }

    fn restore(&mut self, snapshot: &Snapshot<f32>) {
        let widen = |values: &[f32]| values.iter().map(|&value| value as f64).collect();
        let moments = snapshot.moments.iter().map(|m| widen(m)).collect();
        let (params, updates) = (widen(&snapshot.params), snapshot.updates);
        self.0.restore(&Snapshot { params, moments, updates });
    }

    fn trace(&mut self, batch: &Batch, mode: Mode, fields: Fields) -> Trace<f32> {
        let Trace { layers, logits } = self.0.trace(batch, mode, fields);
        let layer = |l: &LayerTrace<f64>| LayerTrace {
            alpha: round(&l.alpha),
            u: round(&l.u),
            h: round(&l.h),
            c: round(&l.c),
        };
        Trace { layers: layers.iter().map(layer).collect(), logits: round(&logits) }
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Gradients<f32> {
        let Gradients { loss, values } = self.0.gradients(batch, regime);
        Gradients { loss, values: round(&values) }
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Step {
        let step = self.0.step(batch, regime);
        let rounded = self.snapshot();
        self.restore(&rounded);
        step
    }

    fn optimiser(&self) -> &Optimiser {
        self.0.optimiser()
    }
}

fn round(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

fn rounded(model: &Model<f32>, optimiser: Optimiser) -> Rounded {
    Rounded(Reference::new(&model.to_f64(), optimiser))
}

#[test]
fn the_rounded_reference_passes_its_own_suite() {
    engine_agrees_with_reference(rounded);
    engines_agree_to_the_bit(rounded, rounded);
}
