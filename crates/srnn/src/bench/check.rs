//! Compares an engine with the f64 reference before it is timed.

use super::setting::BenchSetting;
use super::without_remedy;
use crate::UserError;
use crate::key::Key;
use crate::model::{Layout, Model, When};
use srnn_engine::reference::ReferenceTrainer;
use srnn_engine::{Batch, Gradients, Optimiser, Rule, Trainer};

/// Maximum error of the loss and of each gradient, relative to the largest number of its tensor.
pub(super) const TOLERANCE: f64 = 1e-4;
/// Minimum scale of a relative error: in a tensor with smaller numbers, terms cancel and rounding
/// dominates. Many centroids make gradients small: peepholes have 5e-6 at `mnist-100`, with errors
/// within 1e-6 of that.
pub(super) const MIN_SCALE: f64 = 1e-5;

/// Rows to compare. The reference computes rows independently, so a few are enough.
const ROWS: usize = 4;
/// Multiplications that the reference computes in a few seconds.
const MAX_PRODUCTS: usize = 3_000_000_000;

/// A batch and the reference's gradients on it.
pub(super) struct Expected {
    /// At most [`ROWS`] rows, with as many steps as the reference computes in seconds.
    pub batch: Batch,
    pub gradients: Gradients<f64>,
}

/// The deviation of an engine from the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceDeviation {
    /// Rows compared.
    pub rows: usize,
    /// Steps of each row.
    pub steps: usize,
    /// The relative error of the loss.
    pub loss: f64,
    /// The largest relative error of a gradient.
    pub gradient: f64,
    /// The tensor with that error.
    pub tensor: String,
}

/// The reference's gradients of a setting's network.
pub(super) fn expected(
    setting: &BenchSetting,
    model: &Model<f32>,
    seed: u64,
) -> Result<Expected, UserError> {
    let shape = setting.shape;
    let rows = shape.rows.min(ROWS);
    // The forward pass and twice as much for the backward pass, of the cell's four blocks.
    let head = if shape.when == When::EveryStep { shape.classes * shape.units } else { 0 };
    let products_per_step = 3 * rows * (4 * shape.units * (shape.units + shape.width) + head);
    let steps = shape.steps.min((MAX_PRODUCTS / products_per_step).max(2));
    let batch = setting.batch(rows, steps, Key::new(seed).child("check", 0));
    let unused = Optimiser::new(Rule::ADAM, f64::INFINITY);
    let mut reference = ReferenceTrainer::new(&model.to_f64(), unused);
    let gradients = reference.gradients(&batch, &setting.regime()).map_err(without_remedy)?;
    Ok(Expected { batch, gradients })
}

/// The deviation of `engine`, which must have the initial weights. Fails above [`TOLERANCE`].
pub(super) fn check(
    engine: &mut dyn Trainer<f32>,
    expected: &Expected,
    setting: &BenchSetting,
) -> Result<ReferenceDeviation, UserError> {
    let Expected { batch, gradients: want } = expected;
    let got = engine.gradients(batch, &setting.regime()).map_err(without_remedy)?;
    let layout = Layout::of(engine.arch());
    let errors = layout.slots.iter().map(|slot| {
        let (got, want) = (&got.values[slot.range.clone()], &want.values[slot.range.clone()]);
        (error(got.iter().map(|&g| g as f64), want), slot.name.clone())
    });
    let (gradient, tensor) =
        errors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("a network has parameters");
    let loss = error([got.loss.total].into_iter(), &[want.loss.total]);
    if loss > TOLERANCE || gradient > TOLERANCE {
        let message = format!(
            "the engine deviates from the reference: relative error of the loss {loss:.1e}, of the \
             gradient of {tensor} {gradient:.1e}; {TOLERANCE:.0e} is allowed"
        );
        return Err(UserError::new(
            message,
            "this is a bug of the engine: please report the command",
        ));
    }
    let (rows, steps) = (batch.rows(), batch.row(0).len());
    Ok(ReferenceDeviation { rows, steps, loss, gradient, tensor })
}

/// The largest error relative to the largest number of `want`; infinite if one is NaN.
fn error(got: impl Iterator<Item = f64>, want: &[f64]) -> f64 {
    let scale = want.iter().fold(MIN_SCALE, |scale, want| scale.max(want.abs()));
    let off = got.zip(want).map(|(got, want)| (got - want).abs() / scale);
    off.map(|off| if off.is_nan() { f64::INFINITY } else { off }).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::OPTIMISER;
    use super::super::setting::{BenchCell, BenchShape};
    use super::*;
    use srnn_engine::Hardware;

    #[test]
    fn an_error_is_relative_to_the_largest_number_and_infinite_for_nan() {
        let of = |got: [f64; 2]| error(got.into_iter(), &[2.0, 1.0]);
        assert_eq!(of([2.0, 1.0]), 0.0);
        assert_eq!(of([2.0, 1.5]), 0.25);
        assert_eq!(of([f64::NAN, 1.0]), f64::INFINITY);
    }

    #[test]
    fn an_engine_that_is_off_in_the_loss_or_one_gradient_is_refused() {
        let setting = BenchSetting::free(BenchCell::SrLstmP, BenchShape::real(3, 5, 2, 8, 4));
        let model = setting.model(1).unwrap();
        let mut engine = Hardware::cpu(1).trainer(&model, OPTIMISER).unwrap();
        let mut checked = |change: fn(&mut Gradients<f64>)| {
            let mut expected = expected(&setting, &model, 1).unwrap();
            change(&mut expected.gradients);
            check(&mut *engine, &expected, &setting).map_err(|error| error.message)
        };
        assert!(checked(|_| ()).is_ok());
        assert!(checked(|g| g.loss.total *= 1.001).is_err());
        assert!(checked(|g| g.values[7] += 1e-3).unwrap_err().contains("rnn.weight_ih_l0"));
        assert!(checked(|g| g.values[7] = f64::NAN).is_err());
    }
}
