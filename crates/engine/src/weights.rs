//! The parameters of an engine on the host.

use super::{Gradients, Snapshot, Step};
use crate::model::{Arch, Layout, Model};
use crate::optimiser::{Optimiser, Real};

/// Parameters with their layout. `state` has moments only where they are trained.
pub struct Weights<F> {
    pub arch: Arch,
    pub layout: Layout,
    pub state: Snapshot<F>,
}

impl<F: Real> Weights<F> {
    /// A model's parameters, to be run only.
    pub fn new(model: &Model<F>) -> Self {
        let state = Snapshot { params: model.params.clone(), moments: vec![], updates: 0 };
        Weights { arch: model.arch.clone(), layout: model.layout(), state }
    }

    /// A model's parameters, to be trained; no updates made yet.
    pub fn trained_by(optimiser: &Optimiser, model: &Model<F>) -> Self {
        let state = optimiser.begin(model.params.clone());
        Weights { arch: model.arch.clone(), layout: model.layout(), state }
    }

    /// The model with its current parameters.
    pub fn model(&self) -> Model<F> {
        Model { arch: self.arch.clone(), params: self.state.params.clone() }
    }

    /// Continues from a snapshot.
    ///
    /// # Panics
    /// If it is of another architecture or optimiser.
    pub fn restore(&mut self, snapshot: &Snapshot<F>) {
        assert_eq!(snapshot.params.len(), self.layout.len, "a snapshot of another architecture");
        assert_eq!(snapshot.moments.len(), self.state.moments.len(), "of another optimiser");
        self.state = snapshot.clone();
    }
}

/// Applies one update, unless the loss is not finite. `apply` updates the state and returns the
/// gradient's norm.
pub fn descend<F>(
    state: &mut Snapshot<F>,
    gradients: &Gradients<F>,
    apply: impl FnOnce(&mut Snapshot<F>) -> f64,
) -> Step {
    let loss = gradients.loss;
    let gradient_norm = if loss.total.is_finite() { apply(state) } else { f64::NAN };
    Step { loss, gradient_norm }
}
