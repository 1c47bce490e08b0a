//! The parameters of an engine in host memory.

use super::{Gradients, Snapshot, Step};
use crate::model::{Arch, Layout, Model};
use crate::optimiser::{Optimiser, Real};

/// Parameters with their layout. `state` has moments only where the parameters are trained.
pub struct EngineWeights<F> {
    pub arch: Arch,
    pub layout: Layout,
    pub state: Snapshot<F>,
}

impl<F: Real> EngineWeights<F> {
    /// A model's parameters for inference, without moments.
    pub fn new(model: &Model<F>) -> Self {
        let state = Snapshot { params: model.params.clone(), moments: vec![], updates: 0 };
        EngineWeights { arch: model.arch.clone(), layout: model.layout(), state }
    }

    /// A model's parameters with zero moments.
    pub fn for_training(optimiser: &Optimiser, model: &Model<F>) -> Self {
        let state = optimiser.begin(model.params.clone());
        EngineWeights { arch: model.arch.clone(), layout: model.layout(), state }
    }

    /// The model with its current parameters.
    pub fn model(&self) -> Model<F> {
        Model { arch: self.arch.clone(), params: self.state.params.clone() }
    }

    /// Continues from a snapshot.
    ///
    /// # Panics
    /// If the snapshot is of another architecture or optimiser.
    pub fn restore(&mut self, snapshot: &Snapshot<F>) {
        let (found, expected) = (snapshot.params.len(), self.layout.len);
        assert_eq!(found, expected, "the snapshot has another number of parameters");
        let (found, expected) = (snapshot.moments.len(), self.state.moments.len());
        assert_eq!(found, expected, "the snapshot has another number of moments");
        self.state = snapshot.clone();
    }
}

/// Applies one update if the loss is finite. `apply` updates the state and returns the norm of the
/// gradient; without an update the norm is NaN.
pub fn update_if_finite<F>(
    state: &mut Snapshot<F>,
    gradients: &Gradients<F>,
    apply: impl FnOnce(&mut Snapshot<F>) -> f64,
) -> Step {
    let loss = gradients.loss;
    let gradient_norm = if loss.total.is_finite() { apply(state) } else { f64::NAN };
    Step { loss, gradient_norm }
}
