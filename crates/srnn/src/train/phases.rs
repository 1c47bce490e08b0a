//! The networks that a run passes through: the plain network of the warm-up (λ = 0), the soft network
//! before hardening, and the hardened network.
//!
//! Each phase with a constant λ can keep the network of its best evaluation. The ramp keeps none: a
//! network with 0 < λ < 1 is neither a vanilla network nor the paper's.

use super::outcome::Run;
use super::progress::{Progress, Record};
use super::schedule::Phase;
use crate::engine::Real;
use crate::model::{Arch, Layer, Layout, Model};
use serde::{Deserialize, Serialize};

/// Whether a run keeps networks of its phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepPhases {
    /// Only the result is kept.
    #[default]
    Never,
    /// The network of every phase's evaluation with the lowest validation loss, the earliest of
    /// equal ones. Phases are also evaluated at their end. The ramp is left out.
    LowestLoss,
}

/// The network of a phase's best evaluation. It is not sharpened.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseNetwork<F> {
    /// Phase, update and λ of the evaluation, with its scores at this λ.
    pub record: Record,
    /// All parameters, the centroids included.
    pub params: Vec<F>,
}

/// A run, with the networks of its phases in the order of training.
#[derive(Clone, Debug, PartialEq)]
pub struct PhasedRun<F> {
    /// The run.
    pub run: Run,
    /// The networks of its phases; empty unless [`KeepPhases`] asks for them.
    pub phases: Vec<PhaseNetwork<F>>,
}

impl<F: Real> PhaseNetwork<F> {
    /// The network as it is deployed; `arch` is the architecture of the run. At λ = 0 the centroids
    /// have no effect, and the model is vanilla.
    pub fn model(&self, arch: &Arch) -> Model<F> {
        let model = Model { arch: arch.clone(), params: self.params.clone() };
        if self.record.lambda == 0.0 { without_centroids(&model) } else { model }
    }
}

/// The vanilla network with the weights of `model` and without its centroids: its logits are those
/// of `model` at λ = 0.
pub fn without_centroids<F: Copy>(model: &Model<F>) -> Model<F> {
    let vanilla = |layer: &Layer| Layer { centroids: None, ..layer.clone() };
    let layers = model.arch.layers.iter().map(vanilla).collect();
    let arch = Arch { layers, ..model.arch.clone() };
    let (all, kept) = (model.layout(), Layout::of(&arch));
    let params = kept.slots.iter().flat_map(|kept| {
        let same = all.slots.iter().find(|slot| slot.name == kept.name);
        model.params[same.expect("only centroids are removed").range.clone()].iter().copied()
    });
    let params = params.collect();
    Model { arch, params }
}

impl KeepPhases {
    /// Whether only the result is kept. Then it is not written to configuration files.
    pub(super) fn is_never(&self) -> bool {
        *self == KeepPhases::Never
    }
}

/// The updates of the best evaluation of every phase, in the order of training.
pub(super) fn best_of_phases(history: &[Record]) -> Vec<u64> {
    let mut best: Vec<&Record> = vec![];
    for record in history.iter().filter(|record| record.phase != Phase::Ramp) {
        match best.last_mut() {
            Some(last) if last.phase == record.phase => {
                if record.valid.loss < last.valid.loss {
                    *last = record;
                }
            }
            _ => best.push(record),
        }
    }
    best.into_iter().map(|record| record.update).collect()
}

/// Adds the parameters of the last evaluation if it is the best of its phase.
pub(super) fn keep_phase<F, E>(
    phases: &mut Vec<Vec<F>>,
    progress: &Progress,
    params: impl FnOnce() -> Result<Vec<F>, E>,
) -> Result<(), E> {
    if progress.phase_best.last() == Some(&progress.update) {
        phases.truncate(progress.phase_best.len() - 1);
        phases.push(params()?);
    }
    Ok(())
}

/// The networks of the phases: `phases` are their parameters, in the order of `phase_best`.
pub(super) fn phase_networks<F>(progress: &Progress, phases: Vec<Vec<F>>) -> Vec<PhaseNetwork<F>> {
    let records = progress.phase_best.iter().map(|update| {
        let record = progress.history.iter().find(|record| record.update == *update);
        *record.expect("the history has every evaluation")
    });
    records.zip(phases).map(|(record, params)| PhaseNetwork { record, params }).collect()
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
