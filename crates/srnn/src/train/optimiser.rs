//! Update rules, written once for every precision.

use crate::engine::Snapshot;
use serde::{Deserialize, Serialize};
use std::ops::{Add, Div, Mul, Sub};

/// A gradient step: clip, regularise, apply a rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimiser {
    /// The rule.
    pub rule: Rule,
    /// The gradient is scaled down to this norm where it is longer; infinity never clips.
    /// Default 1.
    pub clip: f64,
    /// L2: `l2 · parameter` is added to the gradient. Default 0.
    pub l2: f64,
}

/// An update rule. The step size comes with each update (`Regime::learning_rate`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Rule {
    /// `v = decay·v + (1 − decay)·g²` (centred: minus the squared mean of g),
    /// `m = momentum·m + g/√(v + epsilon)`, `p −= rate·m`.
    RmsProp {
        /// Memory of the squares.
        decay: f64,
        /// Momentum of the scaled gradient.
        momentum: f64,
        /// Added under the root.
        epsilon: f64,
        /// Whether the mean gradient's square is taken off.
        centred: bool,
    },
    /// Adam with bias correction.
    Adam {
        /// Memory of the gradient.
        beta1: f64,
        /// Memory of the squares.
        beta2: f64,
        /// Added to the root.
        epsilon: f64,
    },
    /// AdaDelta: steps scaled by the root of the mean squared past steps.
    AdaDelta {
        /// Memory of both averages.
        decay: f64,
        /// Added under both roots.
        epsilon: f64,
    },
}

impl Rule {
    /// Adam as usual.
    pub const ADAM: Rule = Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };

    /// How many vectors, as long as the parameters, the rule remembers.
    pub fn moments(&self) -> usize {
        match self {
            Rule::RmsProp { centred: true, .. } => 3,
            Rule::RmsProp { .. } | Rule::Adam { .. } | Rule::AdaDelta { .. } => 2,
        }
    }
}

/// The two precisions.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + 'static
{
    /// From double precision, rounded.
    fn of(x: f64) -> Self;
    /// To double precision, exactly.
    fn to(self) -> f64;
    /// √.
    fn sqrt(self) -> Self;
}

macro_rules! real {
    ($($float:ident)*) => {$(
        impl Real for $float {
            fn of(x: f64) -> $float {
                x as $float
            }
            fn to(self) -> f64 {
                self as f64
            }
            fn sqrt(self) -> $float {
                self.sqrt()
            }
        }
    )*};
}
real!(f32 f64);

impl Optimiser {
    /// Zero moments for `params`.
    pub fn begin<F: Real>(&self, params: Vec<F>) -> Snapshot<F> {
        let moments = vec![vec![F::default(); params.len()]; self.rule.moments()];
        Snapshot { params, moments, updates: 0 }
    }

    /// Applies one update in place and returns the gradient's norm before clipping. A gradient
    /// with a NaN or an infinity changes nothing.
    pub fn update<F: Real>(&self, state: &mut Snapshot<F>, gradient: &[F], rate: f64) -> f64 {
        self.update_by(state, norm(gradient), rate, |update, state| {
            let moments = state.moments.iter_mut().map(Vec::as_mut_slice).collect();
            update.apply(&mut state.params, moments, gradient);
        })
    }

    /// The same, of a gradient that has this [`norm`], where `apply` applies it to all parameters,
    /// in pieces of its own.
    pub fn update_by<F: Real>(
        &self,
        state: &mut Snapshot<F>,
        norm: f64,
        rate: f64,
        apply: impl FnOnce(Update, &mut Snapshot<F>),
    ) -> f64 {
        if norm.is_finite() {
            state.updates += 1;
            let scale = if norm > self.clip { self.clip / norm } else { 1.0 };
            let (rule, l2, number) = (self.rule, self.l2, state.updates);
            apply(Update { rule, scale, l2, rate, number }, state);
        }
        norm
    }
}

/// An update that is the same for every parameter: it may be applied piece by piece.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    rule: Rule,
    scale: f64,
    l2: f64,
    rate: f64,
    number: u64,
}

impl Update {
    /// Applies it to some parameters with their moments and gradient.
    // PERF: inlined, so that it is compiled for the vectors of whoever calls it.
    #[inline(always)]
    pub fn apply<F: Real>(&self, params: &mut [F], mut moments: Vec<&mut [F]>, gradient: &[F]) {
        let (scale, l2, rate) = (F::of(self.scale), F::of(self.l2), F::of(self.rate));
        let params = params.iter_mut().zip(gradient);
        match self.rule {
            Rule::RmsProp { decay, momentum, epsilon, centred } => {
                let (keep, momentum, epsilon) = (F::of(decay), F::of(momentum), F::of(epsilon));
                let take = F::of(1.0 - decay);
                let [squares, speeds, means @ ..] = &mut moments[..] else { unreachable!() };
                for (j, (p, &g)) in params.enumerate() {
                    let g = g * scale + l2 * *p;
                    squares[j] = keep * squares[j] + take * g * g;
                    let mut variance = squares[j];
                    if centred {
                        let mean = &mut means[0][j];
                        *mean = keep * *mean + take * g;
                        variance = at_least_zero(variance - *mean * *mean);
                    }
                    speeds[j] = momentum * speeds[j] + g / (variance + epsilon).sqrt();
                    *p = *p - rate * speeds[j];
                }
            }
            Rule::Adam { beta1, beta2, epsilon } => {
                let t = self.number as f64;
                let fix1 = F::of(1.0 / (1.0 - beta1.powf(t)));
                let fix2 = F::of(1.0 / (1.0 - beta2.powf(t)));
                let (keep1, take1) = (F::of(beta1), F::of(1.0 - beta1));
                let (keep2, take2, epsilon) = (F::of(beta2), F::of(1.0 - beta2), F::of(epsilon));
                let [means, squares] = &mut moments[..] else { unreachable!() };
                for (((p, &g), m), v) in params.zip(means.iter_mut()).zip(squares.iter_mut()) {
                    let g = g * scale + l2 * *p;
                    // PERF: all is read before anything is written: vectors at the same place of
                    // their pages would wait for one another.
                    let (mean, square) = (keep1 * *m + take1 * g, keep2 * *v + take2 * g * g);
                    *p = *p - rate * (mean * fix1) / ((square * fix2).sqrt() + epsilon);
                    (*m, *v) = (mean, square);
                }
            }
            Rule::AdaDelta { decay, epsilon } => {
                let (keep, take, epsilon) = (F::of(decay), F::of(1.0 - decay), F::of(epsilon));
                let [squares, steps] = &mut moments[..] else { unreachable!() };
                for (j, (p, &g)) in params.enumerate() {
                    let g = g * scale + l2 * *p;
                    squares[j] = keep * squares[j] + take * g * g;
                    let step = ((steps[j] + epsilon) / (squares[j] + epsilon)).sqrt() * g;
                    steps[j] = keep * steps[j] + take * step * step;
                    *p = *p - rate * step;
                }
            }
        }
    }
}

fn at_least_zero<F: Real>(x: F) -> F {
    if x < F::default() { F::default() } else { x }
}

/// The Euclidean norm, in double precision; sixteen sums so that it vectorises.
// PERF: inlined, as [`Update::apply`].
#[inline(always)]
pub fn norm<F: Real>(values: &[F]) -> f64 {
    let mut sums = [0.0; 16];
    let (whole, rest) = values.as_chunks::<16>();
    for chunk in whole {
        for j in 0..16 {
            sums[j] += chunk[j].to() * chunk[j].to();
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += x.to() * x.to();
    }
    sums.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RMSPROP: Rule =
        Rule::RmsProp { decay: 0.9, momentum: 0.9, epsilon: 1e-6, centred: false };
    const CENTRED: Rule = Rule::RmsProp { decay: 0.9, momentum: 0.0, epsilon: 1e-6, centred: true };
    const ADADELTA: Rule = Rule::AdaDelta { decay: 0.9, epsilon: 1e-6 };

    fn plain(rule: Rule) -> Optimiser {
        Optimiser { rule, clip: f64::INFINITY, l2: 0.0 }
    }

    #[test]
    fn the_first_updates_have_the_values_of_their_formulas() {
        let first = |rule: Rule| {
            let mut state = plain(rule).begin(vec![1.0f64]);
            plain(rule).update(&mut state, &[0.5], 0.01);
            1.0 - state.params[0]
        };
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        // Bias correction makes Adam's first step the whole rate.
        assert!(close(first(Rule::ADAM), 0.01 * 0.5 / (0.5 + 1e-8)));
        assert!(close(first(RMSPROP), 0.01 * 0.5 / (0.025f64 + 1e-6).sqrt()));
        assert!(close(first(CENTRED), 0.01 * 0.5 / (0.025f64 - 0.0025 + 1e-6).sqrt()));
        assert!(close(first(ADADELTA), 0.01 * (1e-6 / (0.025f64 + 1e-6)).sqrt() * 0.5));
    }

    #[test]
    fn every_rule_goes_down_a_bowl() {
        for (rule, rate) in
            [(Rule::ADAM, 0.01), (RMSPROP, 0.001), (CENTRED, 0.001), (ADADELTA, 1.0)]
        {
            let mut state = plain(rule).begin(vec![1.0f64, -2.0]);
            for _ in 0..2_000 {
                let gradient = state.params.clone();
                plain(rule).update(&mut state, &gradient, rate);
            }
            assert!(norm(&state.params) < 0.1, "{rule:?}: {:?}", state.params);
            assert_eq!(state.updates, 2_000);
        }
    }

    #[test]
    fn a_long_gradient_is_clipped_and_a_broken_one_changes_nothing() {
        let clipped = Optimiser { rule: RMSPROP, clip: 1.0, l2: 0.0 };
        let (mut a, mut b) = (clipped.begin(vec![0.0f64; 2]), clipped.begin(vec![0.0f64; 2]));
        assert_eq!(clipped.update(&mut a, &[300.0, 400.0], 0.1), 500.0);
        clipped.update(&mut b, &[0.6, 0.8], 0.1);
        assert!((a.params[0] - b.params[0]).abs() < 1e-12);
        let before = a.clone();
        for broken in [f64::NAN, f64::INFINITY] {
            assert!(!clipped.update(&mut a, &[broken, 1.0], 0.1).is_finite());
            assert_eq!(a, before);
        }
    }
}
