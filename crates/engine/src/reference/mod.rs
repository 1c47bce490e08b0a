//! The specification: f64, one equation a line, forward and backward adjacent. Not optimised.

mod cell;
mod centroids;
mod inputs;
mod linear;
mod network;
mod row_states;

pub use crate::softmax::{argmax, log_softmax};
pub use network::{Network, NetworkState};

use super::weights::{EngineWeights, update_if_finite};
use super::{
    Batch, DeviceError, Dropout, Fields, Gradients, LayerState, LayerTrace, Loss, Mode, Regime,
    Runner, Snapshot, Step, Trace, Trainer, Transition,
};
use crate::layer_state::RowStart;
use crate::model::{Arch, Model};
use crate::optimiser::Optimiser;
use network::LayerStep;
use std::convert::Infallible;

/// Runs a model.
pub struct Reference {
    weights: EngineWeights<f64>,
}

/// Trains a model.
pub struct ReferenceTrainer {
    reference: Reference,
    optimiser: Optimiser,
    last: Vec<LayerState>,
}

impl ReferenceTrainer {
    /// A trainer that starts from `model`.
    pub fn new(model: &Model<f64>, optimiser: Optimiser) -> Self {
        let weights = EngineWeights::for_training(&optimiser, model);
        ReferenceTrainer { reference: Reference { weights }, optimiser, last: vec![] }
    }
}

impl Reference {
    /// An engine that runs `model`.
    pub fn new(model: &Model<f64>) -> Self {
        Reference { weights: EngineWeights::new(model) }
    }

    fn network(&self) -> Network<'_> {
        let EngineWeights { arch, layout, state, .. } = &self.weights;
        Network { arch, layout, params: &state.params }
    }
}

impl Runner<f64> for Reference {
    type Error = Infallible;

    fn arch(&self) -> &Arch {
        &self.weights.arch
    }

    fn model(&self) -> Result<Model<f64>, Infallible> {
        Ok(self.weights.model())
    }

    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f64>, Infallible> {
        let network = self.network();
        let mut trace = Trace {
            layers: vec![LayerTrace::default(); network.arch.layers.len()],
            logits: vec![],
            last: last_states(network.arch, batch),
        };
        for b in 0..batch.rows() {
            let run = network.forward(batch, b, mode, &Dropout::NONE);
            run.store_last(b, &mut trace.last);
            for (layer, (steps, out)) in run.layers.iter().zip(&mut trace.layers).enumerate() {
                let k = network.arch.layers[layer].centroids.map_or(0, |s| s.k);
                steps.iter().for_each(|step| record(step, k, fields, out));
            }
            trace.logits.extend(run.logits.iter().flatten());
        }
        Ok(trace)
    }
}

impl Runner<f64> for ReferenceTrainer {
    type Error = DeviceError;

    fn arch(&self) -> &Arch {
        self.reference.arch()
    }

    fn model(&self) -> Result<Model<f64>, DeviceError> {
        Ok(self.reference.weights.model())
    }

    fn trace(
        &mut self,
        batch: &Batch,
        mode: Mode,
        fields: Fields,
    ) -> Result<Trace<f64>, DeviceError> {
        let Ok(trace) = self.reference.trace(batch, mode, fields);
        Ok(trace)
    }
}

impl Trainer<f64> for ReferenceTrainer {
    fn snapshot(&self) -> Result<Snapshot<f64>, DeviceError> {
        Ok(self.reference.weights.state.clone())
    }

    fn restore(&mut self, snapshot: &Snapshot<f64>) -> Result<(), DeviceError> {
        self.reference.weights.restore(snapshot);
        Ok(())
    }

    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Result<Gradients<f64>, DeviceError> {
        let network = self.reference.network();
        let mut values = vec![0.0; network.layout.len];
        let mut loss = Loss::default();
        let mode = Mode { transition: Transition::Mixture, lambda: regime.lambda, tau: regime.tau };
        let mut last = last_states(network.arch, batch);
        for b in 0..batch.rows() {
            let run = network.forward(batch, b, mode, &regime.dropout);
            run.store_last(b, &mut last);
            network.backward(batch, b, regime, &run, &mut loss, &mut values);
        }
        self.last = last;
        Ok(Gradients { loss: loss.with_total(regime), values })
    }

    fn step(&mut self, batch: &Batch, regime: &Regime) -> Result<Step, DeviceError> {
        let gradients = self.gradients(batch, regime)?;
        Ok(update_if_finite(&mut self.reference.weights.state, &gradients, |state| {
            self.optimiser.update(state, &gradients.values, regime.learning_rate)
        }))
    }

    fn last_states(&self) -> Result<Vec<LayerState>, DeviceError> {
        Ok(self.last.clone())
    }

    fn optimiser(&self) -> &Optimiser {
        &self.optimiser
    }
}

/// Space for the last states of a batch; empty if its rows start from zero.
fn last_states(arch: &Arch, batch: &Batch) -> Vec<LayerState> {
    match batch.row_start(arch) {
        RowStart::Zero => vec![],
        RowStart::Given => LayerState::zeros(arch, batch.rows()),
    }
}

fn record(step: &LayerStep, k: usize, fields: Fields, out: &mut LayerTrace<f64>) {
    if fields.alpha {
        match &step.stochastic {
            Some(stochastic) => out.alpha.extend(&stochastic.alpha),
            None => out.alpha.extend(std::iter::repeat_n(0.0, k)),
        }
    }
    for (wanted, values, into) in [
        (fields.u, &step.output.u, &mut out.u),
        (fields.h, &step.h, &mut out.h),
        (fields.c, &step.output.c, &mut out.c),
    ] {
        if wanted {
            into.extend(values);
        }
    }
}
