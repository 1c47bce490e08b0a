//! Where a network counts: which units tell a quantity, such as the nesting depth, and whether they
//! still do beyond what they were fitted on.

use super::least_squares::{Means, Point, means, ridge};
use super::{Observation, Vector};
use serde::Serialize;
use std::collections::BTreeMap;

/// How a counter is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where: c by default. A vanilla network may count in h.
    pub of: Vector,
    /// The largest quantity of the steps that lines are fitted on; 5 by default, the deepest nesting
    /// of the paper's training strings. Quantities below 0 are not fitted on either.
    pub fit_up_to: f64,
    /// How many of the best units are kept; 3 by default.
    pub best: usize,
    /// The ridge of the read-out from all units, relative to their mean variance; 1e-6 by default.
    pub ridge: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { of: Vector::C, fit_up_to: 5.0, best: 3, ridge: 1e-6 }
    }
}

/// What tells the quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counter {
    /// Where it was looked for.
    pub of: Vector,
    /// The steps that the lines were fitted on.
    pub fitted_on: usize,
    /// The largest quantity of these.
    pub fit_up_to: f64,
    /// The units that tell it best, the best first; there is at least one.
    pub best: Vec<Unit>,
    /// All units together.
    pub readout: Readout,
}

/// One unit v_j: `quantity ≈ slope·v_j + intercept`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unit {
    /// j.
    pub unit: usize,
    /// Quantity per unit of v_j: a counter with saturated gates, which adds ±1, has ±1.
    pub slope: f64,
    /// The quantity at v_j = 0.
    pub intercept: f64,
    /// How well it does.
    pub fit: Fit,
}

/// All units: `quantity ≈ Σ_j weights_j·v_j + intercept`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Readout {
    /// `[D]`.
    pub weights: Vec<f64>,
    /// The quantity at v = 0.
    pub intercept: f64,
    /// How well it does.
    pub fit: Fit,
}

/// How well a line tells the quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The root of the mean squared error on the steps fitted on.
    pub error: f64,
    /// The part of the variance explained there: 1 is a perfect counter, 0 no better than the mean.
    pub r2: f64,
    /// The error at every quantity seen, also beyond those fitted on; in order.
    pub by_quantity: Vec<At>,
}

/// The error at one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct At {
    /// The quantity, rounded.
    pub quantity: i64,
    /// The steps that had it.
    pub steps: u64,
    /// The root of the mean squared error.
    pub error: f64,
    /// The part of the steps at which the line is off by ½ or more, so that rounding it gives
    /// another number.
    pub missed: f64,
}

/// Looks for a counter in observations that have the vector and a quantity per step. `None` where no
/// step can be fitted on, or where the numbers are none.
///
/// # Panics
/// If an observation has the vector, but not one quantity per step.
pub fn counter(seen: &[Observation], config: &Config) -> Option<Counter> {
    let all: Vec<Point> = seen.iter().flat_map(|seen| points(seen, config.of)).collect();
    let known = |point: &&Point| (0.0..=config.fit_up_to).contains(&point.1);
    let fitted: Vec<Point> = all.iter().filter(known).copied().collect();
    let means = means(&fitted);
    let (weights, intercept) = ridge(&fitted, &means, config.ridge)?;
    let whole = |x: &[f64]| x.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + intercept;
    let fit_of_all = fit(&fitted, &all, &means, whole);
    let units = ranked(&fitted, &means).into_iter().take(config.best.max(1));
    let best: Vec<Unit> = units.map(|line| unit(line, &fitted, &all, &means)).collect();
    (!best.is_empty()).then_some(Counter {
        of: config.of,
        fitted_on: fitted.len(),
        fit_up_to: config.fit_up_to,
        best,
        readout: Readout { weights, intercept, fit: fit_of_all },
    })
}

/// Each step's vector and quantity.
fn points(seen: &Observation, of: Vector) -> impl Iterator<Item = Point<'_>> {
    let steps = if seen.vector(of).is_empty() { 0 } else { seen.steps() };
    assert!(steps == 0 || seen.quantity.len() == steps, "a quantity for each of {steps} steps");
    (0..steps).map(move |n| (seen.vector_at(of, n), seen.quantity[n]))
}

/// `quantity ≈ slope·v_unit + intercept`.
struct Line {
    unit: usize,
    slope: f64,
    intercept: f64,
}

/// The least-squares line of every unit, the one that explains most first.
fn ranked(points: &[Point], means: &Means) -> Vec<Line> {
    let mut lines: Vec<(f64, Line)> = (0..means.x.len())
        .map(|unit| {
            let (mut xx, mut xy) = (0.0, 0.0);
            for (x, y) in points {
                let x = x[unit] - means.x[unit];
                (xx, xy) = (xx + x * x, xy + x * (y - means.y));
            }
            let slope = if xx > 0.0 { xy / xx } else { 0.0 };
            let intercept = means.y - slope * means.x[unit];
            (slope * xy, Line { unit, slope, intercept })
        })
        .collect();
    lines.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.unit.cmp(&b.1.unit)));
    lines.into_iter().map(|(_, line)| line).collect()
}

fn unit(line: Line, fitted: &[Point], all: &[Point], means: &Means) -> Unit {
    let Line { unit, slope, intercept } = line;
    let fit = fit(fitted, all, means, |x| slope * x[unit] + intercept);
    Unit { unit, slope, intercept, fit }
}

fn fit(fitted: &[Point], all: &[Point], means: &Means, told: impl Fn(&[f64]) -> f64) -> Fit {
    let square = |(x, y): &Point| (told(x) - y).powi(2);
    let left: f64 = fitted.iter().map(square).sum();
    let total: f64 = fitted.iter().map(|(_, y)| (y - means.y).powi(2)).sum();
    let mut places: BTreeMap<i64, (u64, f64, u64)> = BTreeMap::new();
    for point in all {
        let (steps, squares, missed) = places.entry(point.1.round() as i64).or_default();
        let square = square(point);
        *steps += 1;
        *squares += square;
        *missed += u64::from(square >= 0.25);
    }
    let at = |(quantity, (steps, squares, missed)): (i64, (u64, f64, u64))| At {
        quantity,
        steps,
        error: (squares / steps as f64).sqrt(),
        missed: missed as f64 / steps as f64,
    };
    Fit {
        error: (left / fitted.len() as f64).sqrt(),
        r2: if total > 0.0 { 1.0 - left / total } else { 0.0 },
        by_quantity: places.into_iter().map(at).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three units over depths up to 9: noise, a counter that adds −2 per level until it saturates
    /// at 7, a constant.
    fn seen() -> Observation {
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
    fn the_unit_that_counts_is_found_and_where_it_stops_counting() {
        let counter = counter(&[seen()], &Config::default()).unwrap();
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
    fn nothing_to_fit_on_is_no_counter() {
        assert_eq!(counter(&[seen()], &Config { of: Vector::H, ..Config::default() }), None);
        assert_eq!(counter(&[seen()], &Config { fit_up_to: -1.0, ..Config::default() }), None);
        assert_eq!(counter(&[], &Config::default()), None);
    }

    #[test]
    fn a_quantity_that_is_spread_over_units_is_read_from_all_of_them() {
        let depths: Vec<f64> = (0..12).map(|t| (t % 6) as f64).collect();
        let split = |(t, &depth): (usize, &f64)| {
            let part = if t % 2 == 0 { 0.25 } else { 0.75 };
            [part * depth, (1.0 - part) * depth]
        };
        let seen = Observation {
            offsets: vec![0, 12],
            units: 2,
            c: depths.iter().enumerate().flat_map(split).collect(),
            quantity: depths,
            ..Observation::default()
        };
        let counter = counter(&[seen], &Config::default()).unwrap();
        assert!(counter.readout.fit.r2 > 0.999 && counter.best[0].fit.r2 < 0.9, "{counter:?}");
    }
}
