//! The traits of engines: [`Runner`] runs a model, [`Trainer`] trains it.

use crate::device_error::DeviceError;
use crate::model::{Arch, Model};
use crate::softmax::{argmax, log_softmax};
use crate::{
    Batch, Fields, Gradients, IGNORE, LayerState, Loss, Mode, Optimiser, Real, Regime, Snapshot,
    Trace,
};
use std::sync::Arc;

/// Runs a model. Prediction, extraction and explanation need only this.
pub trait Runner<F> {
    /// A failure of the device; [`Infallible`](std::convert::Infallible) on a CPU.
    type Error: std::error::Error;
    /// The model's architecture.
    fn arch(&self) -> &Arch;
    /// The model with its current parameters.
    fn model(&self) -> Result<Model<F>, Self::Error>;
    /// Runs the model on a batch. `fields` selects what is recorded of every step.
    fn trace(&mut self, batch: &Batch, mode: Mode, fields: Fields)
    -> Result<Trace<F>, Self::Error>;
    /// The loss of a batch without regularisation terms, and the last states as in [`Trace::last`].
    /// Logits of many classes need not leave the device.
    fn loss(&mut self, batch: &Batch, mode: Mode) -> Result<BatchLoss, Self::Error>
    where
        F: Real,
    {
        let trace = self.trace(batch, mode, Fields::default())?;
        Ok((loss_of_logits(batch, &trace.logits, self.arch().classes), trace.last))
    }
}

/// The loss of a batch, and the last states as in [`Trace::last`].
pub type BatchLoss = (Loss, Vec<LayerState>);

/// Trains a model: owns its parameters and the optimiser's state. One instance per seed.
///
/// Methods fail only if the device does. After a failure the trainer must not be used again; a new
/// one can continue from the last snapshot.
pub trait Trainer<F>: Runner<F, Error = DeviceError> {
    /// Parameters and optimiser state.
    fn snapshot(&self) -> Result<Snapshot<F>, DeviceError>;
    /// Continues from a snapshot.
    ///
    /// # Panics
    /// If the snapshot is of another architecture or optimiser.
    fn restore(&mut self, snapshot: &Snapshot<F>) -> Result<(), DeviceError>;
    /// Loss and gradient, without an update.
    fn gradients(&mut self, batch: &Batch, regime: &Regime) -> Result<Gradients<F>, DeviceError>;
    /// One update.
    fn step(&mut self, batch: &Batch, regime: &Regime) -> Result<Step, DeviceError>;
    /// One update. Calls `next` once, during the update on a GPU and after it on a CPU. `next` returns
    /// what the following update will need; an engine may start on that batch early. If the following
    /// update is another one, the early work is discarded.
    fn step_and_prefetch(
        &mut self,
        batch: &Batch,
        regime: &Regime,
        next: &mut dyn FnMut() -> Option<NextBatch>,
    ) -> Result<Step, DeviceError> {
        let step = self.step(batch, regime)?;
        next();
        Ok(step)
    }
    /// The state after the last step of every row in the last [`step`](Trainer::step) or
    /// [`gradients`](Trainer::gradients), bottom layer first; empty unless that batch had initial
    /// states.
    fn last_states(&self) -> Result<Vec<LayerState>, DeviceError>;
    /// The optimiser.
    fn optimiser(&self) -> &Optimiser;
}

/// The weighted mean cross-entropy of logits `[readouts,C]`.
pub(crate) fn loss_of_logits<F: Real>(batch: &Batch, logits: &[F], classes: usize) -> Loss {
    let total = batch.total_weight();
    let mut loss = Loss::default();
    let predictions = batch.target_ids().iter().zip(logits.chunks_exact(classes));
    for (&target, logits) in predictions.filter(|&(&target, _)| target != IGNORE) {
        let logits: Vec<f64> = logits.iter().map(|x| x.to()).collect();
        loss.task -= batch.class_weight(target) / total * log_softmax(&logits)[target as usize];
        loss.counted += 1;
        loss.correct += (argmax(&logits) == target as usize) as usize;
    }
    Loss { total: loss.task, ..loss }
}

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The loss before the update.
    pub loss: Loss,
    /// The gradient's norm before clipping.
    pub gradient_norm: f64,
}

impl Step {
    /// Whether loss and gradient are finite. If not, the update was not applied.
    pub fn is_finite(&self) -> bool {
        self.loss.total.is_finite() && self.gradient_norm.is_finite()
    }
}

/// What the following update will need.
#[derive(Clone, Debug, PartialEq)]
pub struct NextBatch {
    /// The batch.
    pub batch: Arc<Batch>,
    /// The regime.
    pub regime: Regime,
}
