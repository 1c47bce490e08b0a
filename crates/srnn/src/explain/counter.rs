//! Finds units that count: from which a quantity, such as the nesting depth, can be read linearly,
//! also beyond the quantities that were fitted.

use super::least_squares::{DataPoint, Means, means, ridge};
use super::{Observation, Vector};
use serde::Serialize;
use std::collections::BTreeMap;

/// Options of [`counter`].
#[derive(Clone, Debug, PartialEq)]
pub struct CounterConfig {
    /// The vector to read from. Default c; a vanilla network may count in h.
    pub of: Vector,
    /// The largest quantity to fit on; negative quantities are not fitted on either. Default 5, the
    /// deepest nesting of the paper's training strings.
    pub fit_up_to: f64,
    /// The number of best units to return. Default 3.
    pub best: usize,
    /// The ridge of the read-out from all units, relative to their mean variance. Default 1e-6.
    pub ridge: f64,
}

impl Default for CounterConfig {
    fn default() -> Self {
        CounterConfig { of: Vector::C, fit_up_to: 5.0, best: 3, ridge: 1e-6 }
    }
}

/// Linear read-outs of a quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counter {
    /// The vector that was read.
    pub of: Vector,
    /// The number of steps fitted on.
    pub fitted_on: usize,
    /// The largest quantity fitted on.
    pub fit_up_to: f64,
    /// The best single units, the best first; at least one.
    pub best: Vec<CounterUnit>,
    /// The read-out from all units.
    pub readout: LinearReadout,
}

/// One unit v_j: `quantity ≈ slope·v_j + intercept`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterUnit {
    /// j.
    pub unit: usize,
    /// The change of the quantity per change of v_j. A counter with saturated gates, which adds ±1,
    /// has ±1.
    pub slope: f64,
    /// The quantity at v_j = 0.
    pub intercept: f64,
    /// The quality of the fit.
    pub fit: Fit,
}

/// All units: `quantity ≈ Σ_j weights_j·v_j + intercept`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinearReadout {
    /// `[D]`.
    pub weights: Vec<f64>,
    /// The quantity at v = 0.
    pub intercept: f64,
    /// The quality of the fit.
    pub fit: Fit,
}

/// The quality of a linear fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The root of the mean squared error on the steps fitted on.
    pub error: f64,
    /// The fraction of the variance explained on these steps: 1 is a perfect counter, 0 no better
    /// than the mean.
    pub r2: f64,
    /// The error at each quantity, also beyond those fitted on, in ascending order.
    pub by_quantity: Vec<QuantityError>,
}

/// The error at one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantityError {
    /// The quantity, rounded.
    pub quantity: i64,
    /// The number of steps with this quantity.
    pub steps: u64,
    /// The root of the mean squared error.
    pub error: f64,
    /// The fraction of these steps at which the fit is off by ½ or more, so that rounding gives
    /// another number.
    pub missed: f64,
}

/// Fits the quantity of each step on the vector. `None` if there is no step to fit on, or a number
/// is not finite.
///
/// # Panics
/// If an observation has the vector, but not a quantity for each step.
pub fn counter(observations: &[Observation], config: &CounterConfig) -> Option<Counter> {
    let all: Vec<DataPoint> =
        observations.iter().flat_map(|observation| points(observation, config.of)).collect();
    let is_fitted = |point: &&DataPoint| (0.0..=config.fit_up_to).contains(&point.1);
    let fitted: Vec<DataPoint> = all.iter().filter(is_fitted).copied().collect();
    let means = means(&fitted);
    let (weights, intercept) = ridge(&fitted, &means, config.ridge)?;
    let predict_all =
        |x: &[f64]| x.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + intercept;
    let fit_of_all = fit(&fitted, &all, &means, predict_all);
    let units = ranked(&fitted, &means).into_iter().take(config.best.max(1));
    let best: Vec<CounterUnit> = units.map(|line| unit(line, &fitted, &all, &means)).collect();
    (!best.is_empty()).then_some(Counter {
        of: config.of,
        fitted_on: fitted.len(),
        fit_up_to: config.fit_up_to,
        best,
        readout: LinearReadout { weights, intercept, fit: fit_of_all },
    })
}

/// Each step's vector and quantity.
fn points(observation: &Observation, of: Vector) -> impl Iterator<Item = DataPoint<'_>> {
    let steps = if observation.vector(of).is_empty() { 0 } else { observation.steps() };
    assert!(
        steps == 0 || observation.quantity.len() == steps,
        "{} quantities for {steps} steps",
        observation.quantity.len()
    );
    (0..steps).map(move |n| (observation.vector_at(of, n), observation.quantity[n]))
}

/// `quantity ≈ slope·v_unit + intercept`.
struct UnitLine {
    unit: usize,
    slope: f64,
    intercept: f64,
}

/// The least-squares line of each unit, the best first.
fn ranked(points: &[DataPoint], means: &Means) -> Vec<UnitLine> {
    let mut lines: Vec<(f64, UnitLine)> = (0..means.x.len())
        .map(|unit| {
            let (mut xx, mut xy) = (0.0, 0.0);
            for (x, y) in points {
                let x = x[unit] - means.x[unit];
                (xx, xy) = (xx + x * x, xy + x * (y - means.y));
            }
            let slope = if xx > 0.0 { xy / xx } else { 0.0 };
            let intercept = means.y - slope * means.x[unit];
            (slope * xy, UnitLine { unit, slope, intercept })
        })
        .collect();
    lines.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.unit.cmp(&b.1.unit)));
    lines.into_iter().map(|(_, line)| line).collect()
}

fn unit(line: UnitLine, fitted: &[DataPoint], all: &[DataPoint], means: &Means) -> CounterUnit {
    let UnitLine { unit, slope, intercept } = line;
    let fit = fit(fitted, all, means, |x| slope * x[unit] + intercept);
    CounterUnit { unit, slope, intercept, fit }
}

fn fit(
    fitted: &[DataPoint],
    all: &[DataPoint],
    means: &Means,
    predict: impl Fn(&[f64]) -> f64,
) -> Fit {
    let square = |(x, y): &DataPoint| (predict(x) - y).powi(2);
    let residual: f64 = fitted.iter().map(square).sum();
    let total: f64 = fitted.iter().map(|(_, y)| (y - means.y).powi(2)).sum();
    let mut sums: BTreeMap<i64, (u64, f64, u64)> = BTreeMap::new();
    for point in all {
        let (steps, squares, missed) = sums.entry(point.1.round() as i64).or_default();
        let square = square(point);
        *steps += 1;
        *squares += square;
        *missed += u64::from(square >= 0.25);
    }
    let error_at = |(quantity, (steps, squares, missed)): (i64, (u64, f64, u64))| QuantityError {
        quantity,
        steps,
        error: (squares / steps as f64).sqrt(),
        missed: missed as f64 / steps as f64,
    };
    Fit {
        error: (residual / fitted.len() as f64).sqrt(),
        r2: if total > 0.0 { 1.0 - residual / total } else { 0.0 },
        by_quantity: sums.into_iter().map(error_at).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three units over depths up to 9: noise, a counter that adds −2 per level until it saturates
    /// at 7, a constant.
    fn observed() -> Observation {
        let depths: Vec<f64> = (0..40).map(|t| (t % 10) as f64).collect();
        let noise = |t: usize| ((t * 7919) % 13) as f64 / 13.0;
        let step = |(t, &depth): (usize, &f64)| [noise(t), 3.0 - 2.0 * depth.min(7.0), 4.0];
        Observation {
            offsets: vec![0, 40],
            units: 3,
            c: depths.iter().enumerate().flat_map(step).collect(),
            quantity: depths,
            ..Observation::default()
        }
    }

    #[test]
    fn the_unit_that_counts_is_found_with_the_depth_at_which_it_saturates() {
        let counter = counter(&[observed()], &CounterConfig::default()).unwrap();
        let best = &counter.best[0];
        assert_eq!((best.unit, counter.fitted_on, counter.best.len()), (1, 24, 3));
        assert!((best.slope + 0.5).abs() < 1e-12 && (best.intercept - 1.5).abs() < 1e-12);
        assert!(best.fit.r2 > 1.0 - 1e-12 && counter.best[1].fit.r2 < 0.5);
        for fit in [&best.fit, &counter.readout.fit] {
            let at = |depth: usize| &fit.by_quantity[depth];
            assert!(fit.by_quantity.len() == 10 && fit.error < 1e-4, "{fit:?}");
            assert!(at(7).error < 1e-3 && at(7).missed == 0.0 && at(7).steps == 4, "{fit:?}");
            assert!((at(9).error - 2.0).abs() < 1e-3 && at(9).missed == 1.0, "{fit:?}");
        }
    }

    #[test]
    fn without_steps_to_fit_on_there_is_no_counter() {
        assert_eq!(
            counter(&[observed()], &CounterConfig { of: Vector::H, ..CounterConfig::default() }),
            None
        );
        assert_eq!(
            counter(&[observed()], &CounterConfig { fit_up_to: -1.0, ..CounterConfig::default() }),
            None
        );
        assert_eq!(counter(&[], &CounterConfig::default()), None);
    }

    #[test]
    fn a_quantity_that_is_spread_over_units_is_read_from_all_of_them() {
        let depths: Vec<f64> = (0..12).map(|t| (t % 6) as f64).collect();
        let split = |(t, &depth): (usize, &f64)| {
            let part = if t % 2 == 0 { 0.25 } else { 0.75 };
            [part * depth, (1.0 - part) * depth]
        };
        let observation = Observation {
            offsets: vec![0, 12],
            units: 2,
            c: depths.iter().enumerate().flat_map(split).collect(),
            quantity: depths,
            ..Observation::default()
        };
        let counter = counter(&[observation], &CounterConfig::default()).unwrap();
        assert!(counter.readout.fit.r2 > 0.999 && counter.best[0].fit.r2 < 0.9, "{counter:?}");
    }
}
