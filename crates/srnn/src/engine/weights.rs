//! What an engine on the host owns: a shape, its numbers, and how they are updated.

use super::{Gradients, Snapshot, Step};
use crate::model::{Arch, Layout, Model};
use crate::train::{Optimiser, Real, Update};

/// Parameters with their optimiser.
pub struct Weights<F> {
    pub arch: Arch,
    pub layout: Layout,
    pub optimiser: Optimiser,
    pub state: Snapshot<F>,
}

impl<F: Real> Weights<F> {
    /// Those of a model, with no updates made.
    pub fn new(model: &Model<F>, optimiser: Optimiser) -> Self {
        let state = optimiser.begin(model.params.clone());
        Weights { arch: model.arch.clone(), layout: model.layout(), optimiser, state }
    }

    /// The model as it is now.
    pub fn model(&self) -> Model<F> {
        Model { arch: self.arch.clone(), params: self.state.params.clone() }
    }

    /// Goes back to a snapshot.
    ///
    /// # Panics
    /// If it is of another architecture or optimiser.
    pub fn restore(&mut self, snapshot: &Snapshot<F>) {
        assert_eq!(snapshot.params.len(), self.layout.len, "a snapshot of another architecture");
        assert_eq!(snapshot.moments.len(), self.state.moments.len(), "of another optimiser");
        self.state = snapshot.clone();
    }

    /// One update, unless loss or gradient is not a number.
    pub fn descend(&mut self, gradients: &Gradients<F>, learning_rate: f64) -> Step {
        let apply = |state: &mut Snapshot<F>| {
            self.optimiser.update(state, &gradients.values, learning_rate)
        };
        step(&mut self.state, gradients, apply)
    }

    /// The same, with a norm of the gradient and an update, in pieces, of the engine's own.
    pub fn descend_by(
        &mut self,
        gradients: &Gradients<F>,
        learning_rate: f64,
        norm: impl FnOnce(&[F]) -> f64,
        apply: impl FnOnce(Update<F>, &mut Snapshot<F>),
    ) -> Step {
        let apply = |state: &mut Snapshot<F>| {
            let norm = norm(&gradients.values);
            self.optimiser.update_by(state, norm, learning_rate, apply)
        };
        step(&mut self.state, gradients, apply)
    }
}

/// An update that `apply` makes, and of which it gives the gradient's norm.
fn step<F>(
    state: &mut Snapshot<F>,
    gradients: &Gradients<F>,
    apply: impl FnOnce(&mut Snapshot<F>) -> f64,
) -> Step {
    let loss = gradients.loss;
    let gradient_norm = if loss.total.is_finite() { apply(state) } else { f64::NAN };
    Step { loss, gradient_norm }
}
