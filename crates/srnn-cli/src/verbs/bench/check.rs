//! Before anything is timed: does the engine compute what the reference computes?

use super::setting::Setting;
use crate::failure::Failure;
use srnn::engine::reference::ReferenceTrainer;
use srnn::engine::{Batch, Gradients, Trainer};
use srnn::engine::{Optimiser, Rule};
use srnn::key::Key;
use srnn::model::{Layout, Model};

/// Largest error of the loss and of each gradient, relative to its largest number.
pub const TOLERANCE: f64 = 1e-4;
/// A tensor whose largest number is smaller is measured against this instead: what is left of it
/// where terms cancel is rounding. Many centroids make gradients small: peepholes have 5e-6 at
/// `mnist-100`, and come within 1e-6 of themselves.
pub const SMALLEST: f64 = 1e-5;

/// The reference takes every row alone, so a few tell as much as all.
const ROWS: usize = 4;
/// Multiplications that the reference does in a few seconds.
const EFFORT: usize = 3_000_000_000;

/// A batch, and what the reference says of it.
pub struct Expected {
    /// At most [`ROWS`] rows, and of so many steps that the reference takes seconds.
    pub batch: Batch,
    /// In double precision.
    pub gradients: Gradients<f64>,
}

/// How near an engine came.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearness {
    /// Rows compared.
    pub rows: usize,
    /// Their steps.
    pub steps: usize,
    /// The relative error of the loss.
    pub loss: f64,
    /// The largest relative error of a gradient.
    pub gradient: f64,
    /// The tensor that has it.
    pub tensor: String,
}

/// What a setting's network should give, by the reference.
pub fn expected(setting: &Setting, model: &Model<f32>, seed: u64) -> Result<Expected, Failure> {
    let shape = setting.shape;
    let rows = shape.rows.min(ROWS);
    // Forward, and twice as much backward, of four blocks of the cell.
    let a_step = 3 * rows * 4 * shape.units * (shape.units + shape.width);
    let steps = shape.steps.min((EFFORT / a_step).max(2));
    let batch = setting.batch(rows, steps, Key::new(seed).child("check", 0));
    let nobody = Optimiser { rule: Rule::ADAM, clip: f64::INFINITY, l2: 0.0 };
    let mut reference = ReferenceTrainer::new(&model.to_f64(), nobody);
    let gradients = reference.gradients(&batch, &setting.regime())?;
    Ok(Expected { batch, gradients })
}

/// How near `engine`, which has not learned anything yet, comes to what is expected; an error
/// where that is not near enough.
pub fn check(
    engine: &mut dyn Trainer<f32>,
    expected: &Expected,
    setting: &Setting,
) -> Result<Nearness, Failure> {
    let Expected { batch, gradients: want } = expected;
    let got = engine.gradients(batch, &setting.regime())?;
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
            "the engine does not compute what the reference does: loss {loss:.1e} off, gradient \
             of {tensor} {gradient:.1e}; {TOLERANCE:.0e} is allowed"
        );
        return Err(Failure::new(
            message,
            "this is a bug of the engine: please report the command",
        ));
    }
    let (rows, steps) = (batch.rows(), batch.row(0).len());
    Ok(Nearness { rows, steps, loss, gradient, tensor })
}

/// The largest error relative to the largest number wanted. What is no number is infinitely wrong.
fn error(got: impl Iterator<Item = f64>, want: &[f64]) -> f64 {
    let scale = want.iter().fold(SMALLEST, |scale, want| scale.max(want.abs()));
    let off = got.zip(want).map(|(got, want)| (got - want).abs() / scale);
    off.map(|off| if off.is_nan() { f64::INFINITY } else { off }).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::OPTIMISER;
    use super::super::setting::CellName;
    use super::*;
    use srnn::engine::Hardware;

    #[test]
    fn an_error_is_relative_to_the_largest_number_and_nan_is_infinitely_wrong() {
        let of = |got: [f64; 2]| error(got.into_iter(), &[2.0, 1.0]);
        assert_eq!(of([2.0, 1.0]), 0.0);
        assert_eq!(of([2.0, 1.5]), 0.25);
        assert_eq!(of([f64::NAN, 1.0]), f64::INFINITY);
    }

    #[test]
    fn an_engine_that_is_off_in_the_loss_or_one_gradient_is_refused() {
        let setting = Setting::free(CellName::SrLstmP, "3,5,2,8,4".parse().unwrap());
        let model = setting.model(1).unwrap();
        let mut engine = Hardware::cpu(1).trainer(&model, OPTIMISER).unwrap();
        let mut said = |change: fn(&mut Gradients<f64>)| {
            let mut expected = expected(&setting, &model, 1).unwrap();
            change(&mut expected.gradients);
            check(&mut *engine, &expected, &setting).map_err(|failure| failure.message)
        };
        assert!(said(|_| ()).is_ok());
        assert!(said(|g| g.loss.total *= 1.001).is_err());
        assert!(said(|g| g.values[7] += 1e-3).unwrap_err().contains("rnn.weight_ih_l0"));
        assert!(said(|g| g.values[7] = f64::NAN).is_err());
    }
}
