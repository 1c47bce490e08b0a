//! The specification: f64, one equation a line, forward and backward adjacent. Slow on purpose.

mod cell;
mod centroids;
mod linear;
mod network;

pub use centroids::{argmax, log_softmax};
pub use network::{Network, State};

use super::weights::Weights;
use super::{
    Batch, Engine, Fields, Gradients, LayerTrace, Loss, Mode, Regime, Snapshot, Step, Trace,
    Transition,
};
use crate::model::{Arch, Model};
use crate::train::Optimiser;
use network::LayerStep;

/// The reference engine.
pub struct Reference {
    weights: Weights<f64>,
}

impl Reference {
    /// An engine that starts from `model`.
    pub fn new(model: &Model<f64>, optimiser: Optimiser) -> Self {
        Reference { weights: Weights::new(model, optimiser) }
    }

    fn network(&self) -> Network<'_> {
        let Weights { arch, layout, state, .. } = &self.weights;
        Network { arch, layout, params: &state.params }
    }
}

impl Engine<f64> for Reference {
    fn model(&self) -> Model<f64> {
        self.weights.model()
    }

    fn arch(&self) -> Arch {
        self.weights.arch.clone()
    }

    fn snapshot(&self) -> Snapshot<f64> {
        self.weights.state.clone()
    }

    fn restore(&mut self, snapshot: &Snapshot<f64>) {
        self.weights.restore(snapshot);
    }

    fn trace(&mut self, batch: &Batch, mode: Mode, fields: Fields) -> Trace<f64> {
        let network = self.network();
        let mut trace = Trace {
            layers: vec![LayerTrace::default(); network.arch.layers.len()],
            logits: vec![],
        };
        for b in 0..batch.rows() {
            let run = network.forward(batch, b, mode);
            for (layer, (steps, out)) in run.layers.iter().zip(&mut trace.layers).enumerate() {
                let k = network.arch.layers[layer].centroids.map_or(0, |s| s.k);
                steps.iter().for_each(|step| record(step, k, fields, out));
            }
            trace.logits.extend(run.logits.iter().flatten());
        }
        trace
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Gradients<f64> {
        let network = self.network();
        let mut values = vec![0.0; network.layout.len];
        let mut loss = Loss::default();
        let mode = Mode { transition: Transition::Mixture, lambda: regime.lambda, tau: regime.tau };
        for b in 0..batch.rows() {
            let run = network.forward(batch, b, mode);
            network.backward(batch, b, regime, &run, &mut loss, &mut values);
        }
        loss.total = loss.task
            + regime.commitment * loss.commitment
            + regime.entropy * loss.entropy
            + regime.saturation * loss.saturation
            + regime.writing * loss.writing;
        Gradients { loss, values }
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Step {
        let gradients = self.gradients(batch, regime);
        self.weights.descend(&gradients, regime.learning_rate)
    }

    fn optimiser(&self) -> &Optimiser {
        &self.weights.optimiser
    }
}

fn record(step: &LayerStep, k: usize, fields: Fields, out: &mut LayerTrace<f64>) {
    if fields.alpha {
        match &step.moved {
            Some(moved) => out.alpha.extend(&moved.alpha),
            None => out.alpha.extend(std::iter::repeat_n(0.0, k)),
        }
    }
    for (wanted, values, into) in [
        (fields.u, &step.applied.u, &mut out.u),
        (fields.h, &step.h, &mut out.h),
        (fields.c, &step.applied.c, &mut out.c),
    ] {
        if wanted {
            into.extend(values);
        }
    }
}
