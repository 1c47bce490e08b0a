//! The drift of states over time.

use super::{Observation, Vector};
use serde::Serialize;
use std::borrow::Borrow;

/// The drift of the state vectors on long rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// The drift of the hidden state; `None` if it was not observed on any long row.
    pub h: Option<Slope>,
    /// The drift of the cell state; `None` for cells without one.
    pub c: Option<Slope>,
}

/// The drift of one vector v. Each row has the slope b of the least-squares line `‖v_t‖ ≈ a + b·t`,
/// where t is the step of the row and ‖·‖ the Euclidean norm. A network whose states recur has slope
/// 0. A cell that counts has a slope on rows that end deeper or shallower than they begin, so rows
/// should end at the depth at which they begin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// The drift: the mean over rows of b, in units of the norm per step.
    pub mean: f64,
    /// The standard deviation over rows of b.
    pub spread: f64,
    /// The mean norm over all steps of the rows, for comparison with the slope.
    pub norm: f64,
    /// The number of rows.
    pub rows: usize,
}

/// The drift over all rows of at least `shortest` steps and at least two.
pub fn drift<O: Borrow<Observation>>(
    observations: impl IntoIterator<Item = O>,
    shortest: usize,
) -> Drift {
    let (mut h, mut c) = (SlopeSums::default(), SlopeSums::default());
    for observation in observations {
        let observation = observation.borrow();
        h.add(observation, Vector::H, shortest);
        c.add(observation, Vector::C, shortest);
    }
    Drift { h: h.slope(), c: c.slope() }
}

/// ‖v_t‖ of row `b`.
pub fn norms(observation: &Observation, which: Vector, b: usize) -> Vec<f64> {
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    observation.row(b).map(|n| norm(observation.vector_at(which, n))).collect()
}

/// The slopes of all rows so far, and sums over their steps.
#[derive(Default)]
struct SlopeSums {
    slopes: Vec<f64>,
    norms: f64,
    steps: usize,
}

impl SlopeSums {
    fn add(&mut self, observation: &Observation, which: Vector, shortest: usize) {
        if observation.vector(which).is_empty() {
            return;
        }
        for b in (0..observation.rows()).filter(|&b| observation.row(b).len() >= shortest.max(2)) {
            let norms = norms(observation, which, b);
            self.slopes.push(slope(&norms));
            self.norms += norms.iter().sum::<f64>();
            self.steps += norms.len();
        }
    }

    fn slope(&self) -> Option<Slope> {
        let rows = self.slopes.len();
        let mean = self.slopes.iter().sum::<f64>() / rows as f64;
        let variance = self.slopes.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / rows as f64;
        let norm = self.norms / self.steps as f64;
        (rows > 0).then(|| Slope { mean, spread: variance.sqrt(), norm, rows })
    }
}

/// b of the least-squares line `y_t ≈ a + b·t`.
fn slope(y: &[f64]) -> f64 {
    let count = y.len() as f64;
    let (middle, mean) = ((count - 1.0) / 2.0, y.iter().sum::<f64>() / count);
    let centred = || (0..y.len()).map(|t| t as f64 - middle);
    let covariance: f64 = centred().zip(y).map(|(t, y)| t * (y - mean)).sum();
    covariance / centred().map(|t| t * t).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two units, (3, 4) times a factor per step: the norm is five times the factor.
    fn observed(rows: &[&[f64]]) -> Observation {
        let mut observation = Observation { offsets: vec![0], units: 2, ..Observation::default() };
        for factor in rows.concat() {
            observation.h.extend([3.0 * factor, 4.0 * factor]);
        }
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        observation.offsets.extend(ends);
        observation
    }

    #[test]
    fn the_drift_is_the_growth_of_the_norm_per_step() {
        let observation = observed(&[&[1.0, 1.1, 1.2, 1.3], &[2.0, 1.7, 1.4], &[9.0]]);
        let Drift { h, c } = drift(&[observation], 3);
        let slope = h.unwrap();
        assert!((slope.mean - 5.0 * (0.1 - 0.3) / 2.0).abs() < 1e-12, "{slope:?}");
        assert!((slope.spread - 5.0 * 0.2).abs() < 1e-12, "{slope:?}");
        assert!((slope.norm - 5.0 * (4.6 + 5.1) / 7.0).abs() < 1e-12, "{slope:?}");
        assert_eq!((slope.rows, c), (2, None));
    }

    #[test]
    fn states_that_recur_do_not_drift() {
        let observation = observed(&[&[1.0, 2.0, 1.0, 2.0, 1.0], &[7.0; 4]]);
        let slope = drift(&[observation], 2).h.unwrap();
        assert!(slope.mean.abs() < 1e-12 && slope.spread < 1e-12, "{slope:?}");
    }

    #[test]
    fn rows_that_are_too_short_are_not_counted() {
        assert_eq!(drift(&[observed(&[&[1.0], &[]])], 0), Drift { h: None, c: None });
    }
}
